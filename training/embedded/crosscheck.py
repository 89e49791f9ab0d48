"""Does the score follow quality, or the source of a picture? A check without further opinion sets.

    python -m training.embedded.crosscheck --data DATA [--part validation] [--weights FOLDER] [--workers N] [--out FILE]

Pictures of both sources lose what tells their source (size, shape, file history) and are judged again; photographs as
taken are damaged; both sources are ranked together. Validation pictures unless told otherwise.
"""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from training.distortions import LEVELS, PROTOCOL, distort
from training.embedded import measure, splits
from training.embedded.evaluate import ways_of
from training.embedded.generate import read_ratings
from training.embedded.shipped import (
    WEIGHTS,
    Answer,
    Bytes,
    Workers,
    answer,
    collected,
    cores,
    read,
    stretched,
)

Change = Callable[[Bytes], Bytes]
WAYS_EACH = 1


def scaled(across: float, down: float) -> Change:
    def change(picture: Bytes) -> Bytes:
        height, width = picture.shape[:2]
        size = (round(width * across), round(height * down))
        return np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.BICUBIC))

    return change


def stored_again(picture: Bytes) -> Bytes:
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "JPEG", quality=88)
    return np.asarray(Image.open(buffer))


CHANGES: dict[str, Change] = {
    "as it is": lambda picture: picture,
    "squeezed": scaled(1.0, 0.75),
    "stretched": scaled(0.8, 1.07),
    "reduced": scaled(0.7, 0.7),
    "enlarged": scaled(1.5, 1.5),
    "stored again": stored_again,
}


def variants(path: Path, way: int | None, level: int, weights: Path) -> Answer:
    """One picture, damaged or not, in all changes."""
    picture = read(path)
    if way is not None:
        picture = distort(stretched(picture), PROTOCOL[way].name, level, full_range=True)
    return collected([answer(change(picture), weights) for change in CHANGES.values()])


def damaged_again(path: Path, way: int, weights: Path) -> Answer:
    """A photograph as taken with damage of the second and the fifth level."""
    return collected([answer(distort(read(path), PROTOCOL[way].name, level), weights) for level in (2, 5)])


def by_change(found: Answer, wanted: np.ndarray) -> dict[str, Any]:
    """``found``: pictures × changes."""
    figures = {}
    for place, name in enumerate(CHANGES):
        figures[name] = {
            head: round(measure.srcc(found[head][:, place], wanted), 4) for head in ("score", "damage", "opinion")
        }
        figures[name]["trust"] = round(float(found["trust"][:, place].mean()), 3)
        moved = abs(found["score"][:, place] - found["score"][:, 0])
        figures[name]["moved"] = round(float(moved.mean()), 3)
    return figures


def pristine_figures(found: Answer) -> dict[str, Any]:
    score, trust = found["score"], found["trust"]
    return {
        name: {
            "score": round(float(score[:, place].mean()), 3),
            "moved": round(float(abs(score[:, place] - score[:, 0]).mean()), 3),
            "trust": round(float(trust[:, place].mean()), 3),
        }
        for place, name in enumerate(CHANGES)
    }


def damaged_figures(before: Answer, after: Answer, ways: list[int]) -> dict[str, Any]:
    """Damage of photographs as taken must lower the score, the more the stronger it is."""
    drop = before["score"][:, :1] - after["score"]
    usual = np.array([[PROTOCOL[way].opinions[level - 1] for level in (2, 5)] for way in ways])
    return {
        "below_original_level_5": round(float((drop[:, 1] > 0)[usual[:, 1] < 4].mean()), 4),
        "clearly_below_level_5": round(float((drop[:, 1] > 0.3)[usual[:, 1] < 3.5].mean()), 4),
        "level_5_below_level_2": round(float((drop[:, 1] > drop[:, 0])[usual[:, 0] - usual[:, 1] > 0.5].mean()), 4),
        "score_level_5": round(float(after["score"][:, 1].mean()), 3),
        "trust": [round(float(after["trust"][:, place].mean()), 3) for place in (0, 1)],
    }


def stacked(parts: list[Answer]) -> Answer:
    return {head: np.stack([part[head] for part in parts]) for head in ("score", "damage", "opinion", "trust")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--part", choices=("validation", "test"), default="validation")
    parser.add_argument("--weights", type=Path, default=WEIGHTS)
    parser.add_argument("--workers", type=int, default=cores())
    parser.add_argument("--most", type=int, default=1000, help="at most so many pictures of each source")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    data, weights = arguments.data, arguments.weights
    ratings = read_ratings(data / "biq2021" / "scores.csv")
    rated = splits.load()["opinions"][arguments.part][: arguments.most]
    rating = np.array([ratings[name] for name in rated])
    paths = [data / "biq2021" / name for name in rated]
    photographs = [data / "photos" / name for name in splits.load()["photos"][arguments.part][: arguments.most]]
    ways = [place % len(PROTOCOL) for place in range(len(paths))]
    made = [
        (path, way, level, weights)
        for place, path in enumerate(photographs)
        for way in ways_of(place, WAYS_EACH)
        for level in LEVELS
    ]
    as_taken = [(path, None, 0, weights) for path in paths]
    untouched = [(path, None, 0, weights) for path in photographs]
    with Workers(arguments.workers) as workers:
        taken = stacked(workers.map("rated", variants, *zip(*as_taken, strict=True)))
        worse = stacked(workers.map("damaged", damaged_again, paths, ways, [weights] * len(paths)))
        processed = stacked(workers.map("processed", variants, *zip(*made, strict=True)))
        pristine = stacked(workers.map("pristine", variants, *zip(*untouched, strict=True)))
    opinions = np.array([PROTOCOL[way].opinions[level - 1] for _, way, level, _ in made])
    both = np.concatenate([taken["score"][:, 0], processed["score"][:, 0]])
    found = {
        "rated": by_change(taken, rating),
        "processed": by_change(processed, opinions),
        "pristine": pristine_figures(pristine),
        "damaged_photographs": damaged_figures(taken, worse, ways),
        "sources_together_srcc": round(measure.srcc(both, np.concatenate([rating, opinions])), 4),
    }
    print(json.dumps(found, indent=1))
    if arguments.out:
        arguments.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
