"""Measure the shipped model, as users run it, on pictures that training has not seen.

    python -m training.embedded.evaluate --data DATA [--photographs 92] [--processes 2] [--out training/results.json]

``DATA`` holds photos/, biq2021/ and csiq/ (see ``prepare.py``). CSIQ was never trained on; of the other two the test
parts of ``splits.json`` are used. Figures come with 95 % intervals: by picture, or by photograph for the protocol set.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from training.embedded import measure, splits
from training.embedded.generate import read_ratings

from agenticiqa.backends.embedded.vision import Vision, load_vision
from agenticiqa.distortions import LEVELS, PROTOCOL, distort

Answer = dict[str, np.ndarray]
HEADS = ("score", "damage", "opinion", "trust", "levels", "severities", "kinds")


def read(path: Path) -> np.ndarray:
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB"))


def stretched(picture: np.ndarray) -> np.ndarray:
    low, high = int(picture.min()), int(picture.max())
    return np.asarray(np.rint((picture - float(low)) * (255 / max(high - low, 1))), np.uint8)


def answer(vision: Vision, picture: np.ndarray) -> Answer:
    found = vision.judge(vision.look(np.ascontiguousarray(picture)))
    return {head: getattr(found, head)[0] for head in HEADS}


def collected(answers: list[Answer]) -> Answer:
    return {head: np.stack([found[head] for found in answers]) for head in HEADS}


def whole_picture(path: Path) -> Answer:
    return answer(load_vision(), read(path))


def chain_of(path: Path) -> Answer:
    """All kinds and levels of one photograph, then the photograph unchanged."""
    picture = stretched(read(path))
    made = [distort(picture, kind.name, level, full_range=True) for kind in PROTOCOL for level in LEVELS]
    return collected([answer(load_vision(), some) for some in [*made, picture]])


def moved(path: Path, kind: str | None, level: int) -> tuple[float, float]:
    """Change of the score under a shift by two pixels, and under mirroring."""
    picture = read(path) if kind is None else distort(stretched(read(path)), kind, level, full_range=True)
    score: Callable[[np.ndarray], float] = lambda some: float(answer(load_vision(), some)["score"])  # noqa: E731
    return abs(score(picture[2:, 2:]) - score(picture[:-2, :-2])), abs(score(picture) - score(picture[:, ::-1]))


def agreement(found: Answer, opinion: np.ndarray) -> dict[str, Any]:
    return {
        head: {
            "srcc": measure.with_interval(measure.srcc, found[head], opinion),
            "plcc": measure.with_interval(measure.plcc, found[head], opinion),
        }
        for head in ("score", "damage", "opinion")
    }


def protocol(found: Answer, photographs: int) -> dict[str, Any]:
    row = np.tile(np.append(np.repeat(np.arange(len(PROTOCOL)), 5), -1), photographs)
    level = np.tile(np.append(np.tile(LEVELS, len(PROTOCOL)), 0), photographs)
    place = np.repeat(np.arange(photographs), len(PROTOCOL) * 5 + 1)
    return measure.protocol_figures(found, level, row, place)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--photographs", type=int, default=92)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    data: Path = arguments.data
    found: dict[str, Any] = {}
    with ProcessPoolExecutor(arguments.processes) as pool:
        names = splits.load()["opinions"]["test"]
        ratings = read_ratings(data / "biq2021" / "scores.csv")
        rating = np.array([ratings[name] for name in names])
        guess = collected(list(pool.map(whole_picture, [data / "biq2021" / name for name in names], chunksize=8)))
        error = measure.calibration_error(guess["levels"], measure.nearest_level(rating))
        found["biq2021"] = agreement(guess, rating) | {"level_calibration_error": round(error, 4)}
        print("biq2021", json.dumps(found["biq2021"]), flush=True)

        with (data / "csiq" / "scores.csv").open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        guess = collected(list(pool.map(whole_picture, [data / "csiq" / row["image"] for row in rows], chunksize=8)))
        found["csiq"] = agreement(guess, -np.array([float(row["dmos_0_to_1"]) for row in rows]))
        print("csiq", json.dumps(found["csiq"]), flush=True)

        photographs = [data / "photos" / name for name in splits.load()["photos"]["test"][: arguments.photographs]]
        chains = list(pool.map(chain_of, photographs))
        guess = {head: np.concatenate([chain[head] for chain in chains]) for head in HEADS}
        found["protocol"] = protocol(guess, len(photographs))
        print("protocol", json.dumps(found["protocol"]), flush=True)

        rng = np.random.default_rng(5)
        some = [(path, PROTOCOL[int(rng.integers(25))].name, int(rng.integers(1, 6))) for path in photographs]
        some += [(data / "biq2021" / name, None, 0) for name in names[: len(photographs)]]
        changes = np.array(list(pool.map(moved, *zip(*some, strict=True), chunksize=4)))
        for place, way in enumerate(("shift", "flip")):
            found[way] = {
                "p95": round(float(np.percentile(changes[:, place], 95)), 4),
                "within_0.1": measure.with_interval(measure.mean, (changes[:, place] <= 0.1).astype(float)),
            }
        print("robustness", json.dumps({way: found[way] for way in ("shift", "flip")}), flush=True)
    if arguments.out:
        arguments.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
