"""What ``see.py`` kept, by part and collection, with what is known of each picture."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from training.embedded import real_flaws
from training.embedded.generate import read_ratings
from training.embedded.real_flaws import FLAWS, SORTS, UNKNOWN, Example, known

Floats = npt.NDArray[np.floating[Any]]


@dataclass
class HeldOut:
    """Pictures of one part: rows of ``features`` go with ``examples``."""

    examples: list[Example]
    features: Floats
    cells: dict[int, Floats]
    focus: dict[int, Floats]

    def column(self, name: str) -> npt.NDArray[Any]:
        return np.array([getattr(one, name) for one in self.examples])

    def of(self, *collections: str) -> npt.NDArray[np.bool_]:
        return np.isin(self.column("collection"), collections)


def other_examples(data: Path) -> dict[str, Example]:
    """Pictures that are not in ``labels.csv``: pristine photographs have no flaw, rated ones an opinion."""
    clean = known(**dict.fromkeys(FLAWS, 0))
    found = {
        f"photos/{file.name}": Example(file.name, "photos", "", clean, 0, 0) for file in (data / "photos").glob("*.jpg")
    }
    for name, rating in read_ratings(data / "biq2021" / "scores.csv").items():
        found[f"biq2021/{name}"] = Example(name, "biq2021", "", known(), 0, 0, rating)
    for file in (data / "screens").glob("*.jpg"):
        found[f"screens/{file.name}"] = Example(file.name, "screens", "", known(), SORTS.index("screen"), 0)
    if (data / "csiq" / "scores.csv").exists():
        with (data / "csiq" / "scores.csv").open(newline="") as stream:
            for row in csv.DictReader(stream):
                found[f"csiq/{row['image']}"] = Example(row["image"], "csiq", "", known(), UNKNOWN, UNKNOWN,
                                                        -float(row["dmos_0_to_1"]), row["type"])  # fmt: skip
    return found


def load(files: Sequence[Path], data: Path) -> dict[str, HeldOut]:
    """All that some files of ``see.py`` hold."""
    examples = {one.image: one for one in real_flaws.read(data / "real_flaws")} | other_examples(data)
    parts: dict[str, HeldOut] = {}
    for file in files:
        stored: Mapping[str, np.ndarray] = np.load(file)
        names = [str(name) for name in stored["names"]]
        marked, features = set(stored), stored["features"]
        for part in sorted({name.split("/", 1)[0] for name in names}):
            places = [place for place, name in enumerate(names) if name.startswith(f"{part}/")]
            held = HeldOut([examples[names[place].split("/", 1)[1]] for place in places], features[places], {}, {})
            for row, place in enumerate(places):
                if f"cells/{names[place]}" in marked:
                    held.cells[row] = stored[f"cells/{names[place]}"].astype(np.float32)
                    held.focus[row] = stored[f"focus/{names[place]}"]
            parts[part] = held
    return parts
