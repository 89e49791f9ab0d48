"""Measure the shipped model, as users run it, on pictures that training has not seen.

    python -m training.embedded.evaluate --data DATA [--kinds 25] [--workers N] [--out FILE]

``DATA`` holds photos/, biq2021/ and csiq/ (see ``prepare.py``). CSIQ was never trained on; of the other two the test
parts of ``splits.json`` are used. Figures come with 95 % intervals: by picture, or by photograph for the protocol set.
Each of the 92 photographs is damaged in 5 of the 25 ways, at all five levels, in turn, so that every way is seen on 18
or 19 photographs: under half an hour on two free cores. ``--kinds 25`` takes all ways for all photographs, two hours.
Where ``peers.py`` stands beside this file, NIQE, BRISQUE and PIQE are measured on the same data.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from training.distortions import LEVELS, PROTOCOL, distort
from training.embedded import measure, splits
from training.embedded.generate import read_ratings
from training.embedded.shipped import (
    WEIGHTS,
    Answer,
    Bytes,
    Workers,
    answer,
    collected,
    cores,
    joined,
    read,
    stretched,
)

KINDS_EACH = 5
MOVED_EACH = 46
"""So many pictures of each source are shifted and mirrored."""


def whole_picture(path: Path, weights: Path) -> Answer:
    return answer(read(path), weights)


def ways_of(place: int, kinds: int) -> list[int]:
    """Which rows of the protocol the photograph at this place shows: the next few, in turn.

    >>> ways_of(0, 3), ways_of(8, 3), len(ways_of(5, 25))
    ([0, 1, 2], [0, 1, 24], 25)
    """
    return sorted((place * kinds + step) % len(PROTOCOL) for step in range(kinds))


def chain_of(path: Path, ways: list[int], weights: Path) -> Answer:
    """All levels of some kinds on one photograph, then the photograph unchanged."""
    picture = stretched(read(path))
    made = (distort(picture, PROTOCOL[way].name, level, full_range=True) for way in ways for level in LEVELS)
    return collected([*(answer(some, weights) for some in made), answer(picture, weights)])


def moved(path: Path, kind: str | None, level: int, weights: Path) -> tuple[float, float]:
    """Change of the score under a shift by two pixels, and under mirroring."""
    picture = read(path) if kind is None else distort(stretched(read(path)), kind, level, full_range=True)

    def score(some: Bytes) -> float:
        return float(answer(some, weights)["score"])

    return abs(score(picture[2:, 2:]) - score(picture[:-2, :-2])), abs(score(picture) - score(picture[:, ::-1]))


def agreement(found: Answer, opinion: np.ndarray) -> dict[str, Any]:
    figures: dict[str, Any] = {
        head: {
            "srcc": measure.with_interval(measure.srcc, found[head], opinion),
            "plcc": measure.with_interval(measure.plcc, found[head], opinion),
        }
        for head in ("score", "damage", "opinion")
    }
    return figures | {"pictures": len(opinion), "trust": round(float(found["trust"].mean()), 3)}


def rated(data: Path, workers: Workers, weights: Path) -> dict[str, Any]:
    names = splits.load()["opinions"]["test"]
    ratings = read_ratings(data / "biq2021" / "scores.csv")
    rating = np.array([ratings[name] for name in names])
    paths = [data / "biq2021" / name for name in names]
    guess = collected(workers.map("BIQ2021", whole_picture, paths, [weights] * len(paths)))
    error = measure.calibration_error(guess["levels"], measure.nearest_level(rating))
    return agreement(guess, rating) | {"level_calibration_error": round(error, 4)}


def csiq(data: Path, workers: Workers, weights: Path) -> dict[str, Any]:
    with (data / "csiq" / "scores.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    paths = [data / "csiq" / row["image"] for row in rows]
    guess = collected(workers.map("CSIQ", whole_picture, paths, [weights] * len(paths)))
    quality, kinds = -np.array([float(row["dmos_0_to_1"]) for row in rows]), np.array([row["type"] for row in rows])
    by_kind = {
        str(kind): round(measure.srcc(guess["score"][kinds == kind], quality[kinds == kind]), 3)
        for kind in np.unique(kinds)
    }
    return agreement(guess, quality) | {"srcc_by_kind": by_kind}


def protocol(photographs: list[Path], kinds: int, workers: Workers, weights: Path) -> dict[str, Any]:
    ways = [ways_of(place, kinds) for place in range(len(photographs))]
    chains = workers.map("KADID protocol", chain_of, photographs, ways, [weights] * len(photographs))
    row = np.concatenate([np.append(np.repeat(chosen, 5), -1) for chosen in ways])
    level = np.tile(np.append(np.tile(LEVELS, kinds), 0), len(photographs))
    place = np.repeat(np.arange(len(photographs)), 5 * kinds + 1)
    figures = measure.protocol_figures(joined(chains), level, row, place)
    return {"photographs": len(photographs), "kinds_on_each": kinds} | figures


def robustness(data: Path, photographs: list[Path], workers: Workers, weights: Path) -> dict[str, Any]:
    rng = np.random.default_rng(5)
    some: list[tuple[Path, str | None, int, Path]] = [
        (path, PROTOCOL[int(rng.integers(25))].name, int(rng.integers(1, 6)), weights) for path in photographs
    ]
    some = some[:MOVED_EACH]
    some += [(data / "biq2021" / name, None, 0, weights) for name in splits.load()["opinions"]["test"][: len(some)]]
    changes = np.array(workers.map("Shifted and mirrored", moved, *map(list, zip(*some, strict=True))))
    return {
        way: {
            "pictures": len(some),
            "p95": round(float(np.percentile(changes[:, place], 95)), 4),
            "within_0.1": measure.with_interval(measure.mean, (changes[:, place] <= 0.1).astype(float)),
        }
        for place, way in enumerate(("shift", "flip"))
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--photographs", type=int, default=92)
    parser.add_argument("--kinds", type=int, default=KINDS_EACH, choices=range(1, 26), metavar="1..25")
    parser.add_argument("--workers", type=int, default=cores(), help="processes; all cores unless told otherwise")
    parser.add_argument("--weights", type=Path, default=WEIGHTS, help="another folder of exported files")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    data: Path = arguments.data
    photographs = [data / "photos" / name for name in splits.load()["photos"]["test"][: arguments.photographs]]
    found: dict[str, Any] = {}
    with Workers(arguments.workers) as workers:
        found["biq2021"] = rated(data, workers, arguments.weights)
        print("biq2021", json.dumps(found["biq2021"]), flush=True)
        if (data / "csiq" / "scores.csv").exists():
            found["csiq"] = csiq(data, workers, arguments.weights)
            print("csiq", json.dumps(found["csiq"]), flush=True)
        found["robustness"] = robustness(data, photographs, workers, arguments.weights)
        print("robustness", json.dumps(found["robustness"]), flush=True)
        found["protocol"] = protocol(photographs, arguments.kinds, workers, arguments.weights)
        print("protocol", json.dumps(found["protocol"]), flush=True)
    if arguments.out:
        arguments.out.write_text(json.dumps(found, indent=1) + "\n")
    if importlib.util.find_spec("training.embedded.peers"):
        command = [sys.executable, "-m", "training.embedded.peers", "--data", str(data)]
        subprocess.run([*command, "--processes", str(arguments.workers)], check=True)


if __name__ == "__main__":
    main()
