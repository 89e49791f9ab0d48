"""Which pictures train, which choose and calibrate, and which only measure.

    python -m training.embedded.splits --photos PHOTOS --opinions BIQ2021

Photographs that look alike (a difference hash) or carry names of one series stay on one side. The lists are kept in
``splits.json``, so that every later run and every check uses the same ones.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

FILE = Path(__file__).with_name("splits.json")
SEED = 2026
TEST_SHARE = 0.1
VALIDATION_SHARE = 0.05
NEAR_BITS = 38
"""Two 16×16 difference hashes (256 bits) at most so many bits apart are taken for one scene."""


@cache
def load(file: Path = FILE) -> dict[str, dict[str, list[str]]]:
    stored: dict[str, dict[str, list[str]]] = json.loads(file.read_text())
    return stored


def difference_hash(path: Path) -> npt.NDArray[np.bool_]:
    """256 bits: is a pixel of the shrunken picture brighter than its left neighbour?"""
    with Image.open(path) as picture:
        small = np.asarray(picture.convert("L").resize((17, 16), Image.Resampling.BOX), np.int16)
    return np.asarray(small[:, 1:] > small[:, :-1]).ravel()


def series_of(name: str) -> str:
    """What remains of a file's name without numbers and version words.

    >>> series_of("0002_mint-backgrounds_maya_fiji.jpg"), series_of("beach-03.png") == series_of("beach_4.jpg")
    ('mintbackgroundsmayafiji', True)
    """
    return re.sub(r"[^a-z]+", "", name.rsplit(".", 1)[0].lower())


def groups(hashes: npt.NDArray[np.bool_], series: Sequence[str]) -> npt.NDArray[np.int64]:
    """A group number for each picture: near hashes, and equal series names of some length, are joined."""
    parent = list(range(len(hashes)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    bits = hashes.astype(np.float32)
    distance = bits @ (1 - bits).T + (1 - bits) @ bits.T
    mirrored = hashes.reshape(-1, 16, 16)[:, :, ::-1].reshape(len(hashes), -1).astype(np.float32)
    mirrored = 1 - mirrored  # looking from the other side, brighter to the right becomes darker
    flipped = bits @ (1 - mirrored).T + (1 - bits) @ mirrored.T
    for left, right in np.argwhere(np.triu(np.minimum(distance, flipped) <= NEAR_BITS, 1)):
        parent[root(int(left))] = root(int(right))
    first: dict[str, int] = {}
    for index, name in enumerate(series):
        if len(name) >= 6:
            parent[root(index)] = root(first.setdefault(name, index))
    return np.array([root(index) for index in range(len(hashes))])


def divided(names: Sequence[str], group: npt.NDArray[np.int64]) -> dict[str, list[str]]:
    """Whole groups, in random order, to test and validation until each has its share; the rest trains."""
    rng = np.random.default_rng(SEED)
    parts: dict[str, list[str]] = {"test": [], "validation": [], "train": []}
    for number in rng.permutation(np.unique(group)):
        members = [names[index] for index in np.flatnonzero(group == number)]
        if len(parts["test"]) < TEST_SHARE * len(names) and len(members) <= 8:
            parts["test"] += members
        elif len(parts["validation"]) < VALIDATION_SHARE * len(names) and len(members) <= 8:
            parts["validation"] += members
        else:
            parts["train"] += members
    return {part: sorted(members) for part, members in parts.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=Path, required=True)
    parser.add_argument("--opinions", type=Path, required=True)
    arguments = parser.parse_args()
    found: dict[str, Any] = {}
    with (arguments.photos / "manifest.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    # CID22's files are numbered, not named: numbers alone say nothing about a series.
    series = [series_of(row["original"]) if "codec-corpus" not in row["source"] else "" for row in rows]
    names = [row["image"] for row in rows]
    group = groups(np.stack([difference_hash(arguments.photos / name) for name in names]), series)
    found["photos"] = divided(names, group)
    print(f"{len(names)} photographs in {len(np.unique(group))} groups, the largest {np.bincount(group).max()}")
    with (arguments.opinions / "scores.csv").open(newline="") as stream:
        names = sorted(row["image"] for row in csv.DictReader(stream))
    group = groups(np.stack([difference_hash(arguments.opinions / name) for name in names]), [""] * len(names))
    found["opinions"] = divided(names, group)
    print(f"{len(names)} rated pictures in {len(np.unique(group))} groups, the largest {np.bincount(group).max()}")
    print({part: {side: len(members) for side, members in sides.items()} for part, sides in found.items()})
    FILE.write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
