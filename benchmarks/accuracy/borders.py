"""How often bars along the sides are found: in pictures as they are, and in the same with bars added.

    python benchmarks/accuracy/borders.py PICTURES... [--count 300]

Bars of 4 to 40 pixels, all around, above and below, or left and right, in four colours, stored as JPEG again. Prints,
for each folder, the share of its pictures with a border as they are (look at those: some do have one), the share with
added bars in which one is found, and by how many pixels its width is missed.
"""

from __future__ import annotations

import argparse
import io
import json
import random
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from agenticiqa.vision.appearance.margins import margins_of

COLOURS = ((0, 0, 0), (255, 255, 255), (128, 30, 30), (240, 240, 235))


def with_bars(picture: Image.Image, rng: random.Random) -> tuple[Image.Image, int]:
    wide = rng.randint(4, 40)
    sides = rng.choice(((wide,) * 4, (0, wide, 0, wide), (wide, 0, wide, 0)))
    stored = io.BytesIO()
    ImageOps.expand(picture, sides, rng.choice(COLOURS)).save(stored, "JPEG", quality=rng.choice((70, 85, 95)))
    return Image.open(stored), wide


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", type=Path, nargs="+")
    parser.add_argument("--count", type=int, default=300)
    arguments = parser.parse_args()
    rng = random.Random(0)
    for folder in arguments.pictures:
        files = sorted(folder.glob("*.jpg"))
        as_they_are, found, missed_by = [], [], []
        for file in rng.sample(files, min(arguments.count, len(files))):
            picture = Image.open(file).convert("RGB")
            if border := margins_of(np.asarray(picture)).border:
                as_they_are.append((file.name, border))
            barred, wide = with_bars(picture, rng)
            border = margins_of(np.asarray(barred)).border
            found.append(border > 0)
            missed_by += [abs(border - wide)] if border else []
        row = {"folder": folder.name, "pictures": len(found), "found as they are": as_they_are}
        row |= {"found with bars": sum(found), "missed by, 95 %": float(np.percentile(missed_by, 95))}
        print(json.dumps(row))


if __name__ == "__main__":
    main()
