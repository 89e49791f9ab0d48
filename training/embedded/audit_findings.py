"""How often an audit finds something in good photographs, and how often a finding is right.

    python -m training.embedded.audit_findings --more MORE --data SHARED [--good 600] [--workers N] [--out FILE]

Good photographs are those of FLIVE on VOC and of BIQ2021 above the upper quartile of opinions, none of which the
networks learnt from; half of them (by a hash of their names) chose the bounds and are told apart from the other half.
Right or wrong is counted on real flaws that were held out, and on those that only measure.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import zlib
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from training.embedded import real_flaws, splits

from agenticiqa.auditing.findings import measured, measured_findings, seen
from agenticiqa.pictures.images import load_image

NO_FAULT = ("grayscale", "odd_aspect_ratio", "odd_size")
MEANT = {"motion_blur": "motion_blur", "blurry": "blurry", "dark": "too_dark", "light": "too_bright", "hazy": "hazy",
         "noisy": "noisy", "out_of_focus": "out_of_focus"}  # fmt: skip


def good_photographs(more: Path, count: int) -> list[Path]:
    learnt = set(splits.load()["opinions"]["train"])
    found = []
    for name in ("voc", "biq"):
        with (more / name / "scores.csv").open(newline="") as stream:
            rated = [(float(row["mos"]), row["image"]) for row in csv.DictReader(stream)]
        upper = float(np.quantile([opinion for opinion, _ in rated], 0.75))
        best = sorted(image for opinion, image in rated if opinion >= upper
                      and image.replace("(", "").replace(")", "") not in learnt)  # fmt: skip
        found += [more / name / image for image in random.Random(27).sample(best, min(count, len(best)))]
    return found


def findings_of(file: Path) -> list[str]:
    image = load_image(file)
    found = measured_findings(measured(image)[0], image.size) | seen(image)[1]
    return [name for name in found if name not in NO_FAULT]


def share_with_any(rows: Iterable[tuple[Path, list[str]]]) -> dict[str, Any]:
    listed = [found for _, found in rows]
    counted = Counter(name for found in listed for name in found)
    any_found = sum(map(bool, listed)) / len(listed)
    return {"pictures": len(listed), "any": round(any_found, 4)} | {
        name: round(count / len(listed), 4) for name, count in counted.most_common()
    }


def precision(rows: dict[str, list[str]], flaws: dict[str, tuple[int, ...]]) -> dict[str, Any]:
    figures = {}
    for name, flaw in MEANT.items():
        place = real_flaws.FLAWS.index(flaw)
        known = [(flaws[image][place], name in found) for image, found in rows.items() if flaws[image][place] >= 0]
        right, wrong = (sum(said and truth == value for truth, said in known) for value in (1, 0))
        there = sum(truth == 1 for truth, _ in known)
        figures[name] = {"there": there, "found": right, "wrongly found": wrong, "not there": len(known) - there,
                         "precision": round(right / (right + wrong), 3) if right + wrong else None}  # fmt: skip
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--more", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--good", type=int, default=600, help="of each collection")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    good = good_photographs(given.more, given.good)
    held = [name for part in ("test", "measure") for name in real_flaws.load()[part]]
    with ProcessPoolExecutor(given.workers) as pool:
        listed = list(pool.map(findings_of, [*good, *(given.data / "real_flaws" / name for name in held)], chunksize=8))
    rows = list(zip(good, listed, strict=False))
    chose = [zlib.crc32(f"{file.parent.name}/{file.name}".encode()) % 2 == 0 for file in good]
    figures: dict[str, Any] = {}
    for folder in ("voc", "biq"):
        own = [(row, told) for row, told in zip(rows, chose, strict=True) if row[0].parent.name == folder]
        figures[f"good, {folder}, never seen"] = share_with_any(row for row, told in own if not told)
        figures[f"good, {folder}, chose the bounds"] = share_with_any(row for row, told in own if told)
    flaws = {one.image: one.flaws for one in real_flaws.read(given.data / "real_flaws")}
    figures |= precision(dict(zip(held, listed[len(good) :], strict=True)), flaws)
    for name, value in figures.items():
        print(name, json.dumps(value), flush=True)
    if given.out:
        given.out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
