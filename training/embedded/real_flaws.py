"""Pictures with flaws as they happen: what is known of each, and which of them train, calibrate or only measure.

    python -m training.embedded.real_flaws --folder REAL_FLAWS

writes ``flaw_splits.json``. Pictures of one scene and near-duplicates stay on one side, those that look like a picture
of another collection included. ``exposure`` and ``noise`` forbid commercial use: they only ever measure.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from training.embedded import splits

FILE = Path(__file__).with_name("flaw_splits.json")
FLAWS = ("motion_blur", "out_of_focus", "blurry", "too_dark", "too_bright", "noisy", "hazy", "compressed")
"""What the new heads tell of a photograph, each with a chance of its own."""
FLAW_CATEGORY = {
    "motion_blur": "Blurs",
    "out_of_focus": "Blurs",
    "blurry": "Blurs",
    "too_dark": "Brightness change",
    "too_bright": "Brightness change",
    "noisy": "Noise",
    "hazy": "Contrast",
    "compressed": "Compression",
}
SORTS = ("photograph", "painting", "drawing", "sketch", "screen")
SORT_OF = {"photo": "photograph", "art_painting": "painting", "cartoon": "drawing", "sketch": "sketch"}
MEASURE_ONLY = ("exposure", "noise")
TEST_SHARE, VALIDATION_SHARE = 0.2, 0.12
UNKNOWN = -1
# Exposure series by their mean brightness: what nobody would call right, and what is right; the rest is not asked.
DARK_BELOW, BRIGHT_ABOVE, RIGHT = 45.0, 185.0, (95.0, 140.0)
# FLIVE's opinions crowd near 73 of 100. On the common scale the middle stays Good and the worst hundredth is Bad. The
# network was trained with a middle of 3.7 and a slope of 0.1; on validation pictures its score, fitted to BIQ2021 as
# well, then lay 0.07 above and spread less, so that the two sets share a scale with these numbers.
FLIVE_MIDDLE, FLIVE_SLOPE = (73.0, 3.77), 0.08
LIKED = 76.0
"""From here up FLIVE's people had nothing to complain about."""


@dataclass(frozen=True)
class Example:
    """One picture with all that is known of it; ``UNKNOWN`` where nothing is."""

    image: str
    collection: str
    group: str
    flaws: tuple[int, ...]
    sort: int = UNKNOWN
    generated: int = UNKNOWN
    opinion: float = np.nan
    value: str = ""


def flive_scale(mos: float) -> float:
    """FLIVE's 0..100 on the scale from 1 to 5.

    >>> flive_scale(73), flive_scale(55), flive_scale(20)
    (3.77, 2.33, 1.0)
    """
    return float(np.clip(round(FLIVE_MIDDLE[1] + (mos - FLIVE_MIDDLE[0]) * FLIVE_SLOPE, 4), 1.0, 5.0))


def known(**given: int) -> tuple[int, ...]:
    """The flaws' labels in their order.

    >>> known(hazy=1, noisy=0)
    (-1, -1, -1, -1, -1, 0, 1, -1)
    """
    return tuple(given.get(name, UNKNOWN) for name in FLAWS)


def example(row: dict[str, str]) -> Example:
    """What one row of ``labels.csv`` tells.

    Of flaws that a collection is not about, "no" is said only where it is nearly always right.
    """
    flaw, value = row["flaw"], row["value"]
    base = {"image": row["image"], "group": row["group"], "value": value}
    if flaw == "motion":
        moving = known(motion_blur=1, blurry=1, hazy=0, compressed=0)
        still = known(motion_blur=0, out_of_focus=0, blurry=0, hazy=0, noisy=0, compressed=0)
        return Example(**base, collection=flaw, flaws=moving if value == "1" else still, sort=0, generated=0)
    if flaw == "dark":
        dark = int(value)
        labels = known(too_dark=dark, too_bright=0, hazy=0, motion_blur=0) if dark else known(
            too_dark=0, too_bright=0, hazy=0, motion_blur=0, noisy=0)  # fmt: skip
        return Example(**base, collection=flaw, flaws=labels, sort=0, generated=0)
    if flaw == "fogsmog":
        return Example(**base, collection="weather", flaws=known(hazy=1, motion_blur=0), sort=0, generated=0)
    if flaw == "sort":
        sort = SORTS.index(SORT_OF[value])
        labels = known(motion_blur=0, hazy=0, too_bright=UNKNOWN if sort else 0)
        return Example(**base, collection=flaw, flaws=labels, sort=sort, generated=0)
    if flaw == "generated":
        made = int(value == "generated")
        return Example(**base, collection=flaw, flaws=known(motion_blur=0, noisy=0), generated=made,
                       sort=UNKNOWN if made else 0)  # fmt: skip
    if flaw == "defocus":
        labels = known(motion_blur=0, hazy=0, out_of_focus=1 if float(value) >= 0.9 else UNKNOWN)
        return Example(**base, collection=flaw, flaws=labels, sort=0, generated=0)
    if flaw == "opinion":
        mos = float(row["mos"])
        labels = known(motion_blur=0, blurry=0, out_of_focus=0, noisy=0, hazy=0, compressed=0, too_dark=0, too_bright=0)
        return Example(**base, collection="ordinary", flaws=labels if mos >= LIKED else known(hazy=0), sort=0,
                       generated=0, opinion=flive_scale(mos))  # fmt: skip
    if flaw == "exposure":
        return Example(**base, collection=flaw, flaws=exposure_labels(float(value)))
    if flaw == "noise":
        return Example(**base, collection=flaw, flaws=known(noisy=int(value)))
    raise ValueError(flaw)


def exposure_labels(brightness: float) -> tuple[int, ...]:
    """
    >>> exposure_labels(30)[3:5], exposure_labels(120)[3:5], exposure_labels(70)[3:5]
    ((1, 0), (0, 0), (-1, -1))
    """
    if brightness < DARK_BELOW:
        return known(too_dark=1, too_bright=0)
    if brightness > BRIGHT_ABOVE:
        return known(too_dark=0, too_bright=1)
    return known(too_dark=0, too_bright=0) if RIGHT[0] <= brightness <= RIGHT[1] else known()


def read(folder: Path) -> list[Example]:
    with (folder / "labels.csv").open(newline="") as stream:
        return [example(row) for row in csv.DictReader(stream)]


@cache
def load(file: Path = FILE) -> dict[str, list[str]]:
    """train, validation, test and measure: pictures of each part."""
    stored: dict[str, list[str]] = json.loads(file.read_text())
    return stored


def part_of(examples: Sequence[Example], part: str, without: Sequence[str] = ()) -> list[Example]:
    names = set(load()[part])
    return [found for found in examples if found.image in names and found.collection not in without]


def linked(examples: Sequence[Example], hashes: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """A group number for each: near pictures of any collection together, and those of one scene."""
    group = splits.groups(hashes, [""] * len(examples))
    first: dict[str, int] = {}
    for place, found in enumerate(examples):
        if found.group:
            scene = first.setdefault(f"{found.collection}/{found.group}", int(group[place]))
            group[group == group[place]] = scene
    return group


def divided(examples: Sequence[Example], group: npt.NDArray[np.int64]) -> dict[str, list[str]]:
    """Each collection by its own shares, whole groups at a time; a group that spans collections goes by its first."""
    rng = np.random.default_rng(splits.SEED)
    parts: dict[str, list[str]] = {"test": [], "validation": [], "train": [], "measure": []}
    collections = [found.collection for found in examples]
    side: dict[int, str] = {}
    for collection in sorted(set(collections) - set(MEASURE_ONLY)):
        members = [place for place, name in enumerate(collections) if name == collection]
        counts = {part: sum(side.get(int(group[place])) == part for place in members) for part in parts}
        for number in rng.permutation(np.unique(group[members])):
            size = sum(int(group[place]) == number for place in members)
            if int(number) in side:
                continue
            part = "train"
            if counts["test"] < TEST_SHARE * len(members) and size <= 6:
                part = "test"
            elif counts["validation"] < VALIDATION_SHARE * len(members) and size <= 6:
                part = "validation"
            side[int(number)] = part
            counts[part] += size
    for place, found in enumerate(examples):
        parts["measure" if found.collection in MEASURE_ONLY else side[int(group[place])]].append(found.image)
    return {part: sorted(names) for part, names in parts.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    arguments = parser.parse_args()
    examples = read(arguments.folder)
    hashes = np.stack([splits.difference_hash(arguments.folder / found.image) for found in examples])
    # A sketch is mostly white: nearly all of its bits are equal by chance, and hashes say nothing.
    flat = hashes.mean(axis=1) < 0.1
    hashes[flat] = np.random.default_rng(0).random((int(flat.sum()), hashes.shape[1])) < 0.5
    found = divided(examples, linked(examples, hashes))
    FILE.write_text(json.dumps(found) + "\n")
    for collection in sorted({one.collection for one in examples}):
        counts = {part: sum(name.startswith(collection) for name in names) for part, names in found.items()}
        print(collection, counts)


if __name__ == "__main__":
    main()
