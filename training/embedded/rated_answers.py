"""The product's own ratings of held-out pictures: do they order as people do, and do the intervals hold?

    python -m training.embedded.rated_answers --data DATA [--part test] [--kinds 4] [--out FILE]

``agenticiqa batch`` rates the photographs of both opinion sets, and CSIQ and photographs damaged by the protocol with
and without their reference; and photographs partly out of focus, of which no opinion was learnt. Beside the ratings
with a reference stands what AIQA_FR says alone. Intervals are counted where opinions are on the scale from 1 to 5.

    python -m training.embedded.rated_answers --data DATA --more MORE [--pictures 200] [--out FILE]

asks only about the intervals for FLIVE's opinions on VOC and COCO (26..93), put on the scale from 1 to 5 by the line
that the ordinary photographs were learnt with, and by two lines fitted on half of the pictures and counted on the
other: one that gives opinions the mean and the spread of the scores, and one for which the scores are what is expected
of them.
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image
from training.distortions import PROTOCOL, distort
from training.embedded import measure, real_flaws, splits
from training.embedded.evaluate import ways_of
from training.embedded.flaw_answers import results
from training.embedded.generate import read_ratings
from training.embedded.shipped import read, stretched

import agenticiqa

UNLEARNT = "partly out of focus"
OTHER_SCALES = ("csiq", UNLEARNT)
"""Sets whose opinions are only put in order."""
QUERY = "Rate the quality of the picture."
Row = dict[str, Any]


def opinion_sets(data: Path, part: str) -> Iterator[Row]:
    """Photographs as taken."""
    ratings = read_ratings(data / "biq2021" / "scores.csv")
    for name in splits.load()["opinions"][part]:
        yield {"set": "biq2021", "image_path": data / "biq2021" / name, "opinion": ratings[name]}
    held = set(real_flaws.load()[part])
    for one in real_flaws.read(data / "real_flaws"):
        if one.collection == "ordinary" and one.image in held:
            yield {"set": "ordinary", "image_path": data / "real_flaws" / one.image, "opinion": one.opinion}


def unlearnt(data: Path) -> Iterator[Row]:
    """Photographs partly out of focus, of which only the masks were learnt, not what people said of them (0..100)."""
    with (data / "real_flaws" / "labels.csv").open(newline="") as stream:
        for row in csv.DictReader(stream):
            if row["flaw"] == "defocus" and row["mos"]:
                yield {"set": UNLEARNT, "image_path": data / "real_flaws" / row["image"], "opinion": float(row["mos"])}


def csiq(data: Path) -> Iterator[Row]:
    with (data / "csiq" / "scores.csv").open(newline="") as stream:
        for row in csv.DictReader(stream):
            picture, reference = (data / "csiq" / row[name] for name in ("image", "reference"))
            quality = -float(row["dmos_0_to_1"])
            yield {"set": "csiq, with reference", "image_path": picture, "reference_path": reference,
                   "opinion": quality}  # fmt: skip
            yield {"set": "csiq", "image_path": picture, "opinion": quality}


def protocol(data: Path, part: str, kinds: int, folder: Path) -> Iterator[Row]:
    """Each photograph in some of the 25 ways, in turn, at the next level."""
    for place, name in enumerate(splits.load()["photos"][part]):
        photograph = stretched(read(data / "photos" / name))
        reference = folder / f"{place}.png"
        Image.fromarray(photograph).save(reference, compress_level=1)
        for step, way in enumerate(ways_of(place, kinds)):
            kind, level = PROTOCOL[way], 1 + (place + step) % 5
            picture = folder / f"{place}-{kind.name}-{level}.png"
            Image.fromarray(distort(photograph, kind.name, level, full_range=True)).save(picture, compress_level=1)
            common = {"image_path": picture, "opinion": kind.opinions[level - 1], "photograph": place}
            yield common | {"set": "protocol, with reference", "reference_path": reference}
            yield common | {"set": "protocol"}


def rated(rows: list[Row]) -> list[Row]:
    """Each row with the product's score and interval, and AIQA_FR's own score where there is a reference."""
    asked = [{"sample_id": str(number), "query": QUERY}
             | {name: str(row[name].absolute()) for name in ("image_path", "reference_path") if name in row}
             for number, row in enumerate(rows)]  # fmt: skip
    for row, line in zip(rows, results(asked), strict=True):
        summary = line["summarizer_result"]
        row["score"], row["interval"] = summary["quality_score"], summary["score_interval"]
    with_reference = [row for row in rows if "reference_path" in row]
    with ThreadPoolExecutor(2) as threads:
        for row, value in zip(with_reference, threads.map(alone, with_reference), strict=True):
            row["alone"] = value
    return rows


def alone(row: Row) -> float:
    found = agenticiqa.measure(row["image_path"], reference=row["reference_path"], tools=["AIQA_FR"])
    return float(found["AIQA_FR"].raw)


def figures(rows: list[Row]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in dict.fromkeys(row["set"] for row in rows):
        part = [row for row in rows if row["set"] == name]
        opinion, score = _column(part, "opinion"), _column(part, "score")
        groups = _column(part, "photograph") if "photograph" in part[0] else None
        one: dict[str, Any] = {
            "pictures": len(part), "srcc": measure.with_interval(measure.srcc, score, opinion, groups=groups)
        }  # fmt: skip
        if "alone" in part[0]:
            one["srcc_of_AIQA_FR_alone"] = measure.with_interval(
                measure.srcc, _column(part, "alone"), opinion, groups=groups
            )
        if not name.startswith(OTHER_SCALES):
            low, high = _column(part, "interval").T
            inside = ((low <= opinion) & (opinion <= high)).astype(float)
            one["within_the_interval"] = measure.with_interval(measure.mean, inside, groups=groups)
            one["width"] = round(float((high - low).mean()), 3)
        found[name] = one
    return found


def flive_rows(more: Path, count: int, learnt: set[str]) -> Iterator[Row]:
    """Some photographs of VOC and COCO, none of those that the networks learnt."""
    for name in ("voc", "coco"):
        with (more / name / "scores.csv").open(newline="") as stream:
            listed = [row for row in csv.DictReader(stream) if row["image"] not in learnt]
        for place in np.random.default_rng(2026).permutation(len(listed))[:count]:
            row = listed[place]
            yield {"set": name, "image_path": more / name / row["image"], "opinion": float(row["mos"])}


def interval_figures(rows: list[Row]) -> dict[str, Any]:
    """How many opinions lie within the intervals, by each of the three lines."""
    found: dict[str, Any] = {}
    for name in dict.fromkeys(row["set"] for row in rows):
        part = [row for row in rows if row["set"] == name]
        opinion, score = _column(part, "opinion"), _column(part, "score")
        low, high = _column(part, "interval").T
        fit = np.arange(len(part)) % 2 == 0
        spread = score[fit].std() / opinion[fit].std()
        expected, start = np.polyfit(score[fit], opinion[fit], 1)
        lines = {
            "as learnt": [real_flaws.flive_scale(each) for each in opinion],
            "same mean and spread": score[fit].mean() + spread * (opinion - opinion[fit].mean()),
            "scores are expected": (opinion - start) / expected,
        }
        one: dict[str, Any] = {"pictures": len(part), "srcc": measure.with_interval(measure.srcc, score, opinion)}
        one |= {"width": round(float((high - low).mean()), 3), "deviation of scores": round(float(score.std()), 3)}
        for line, mapped in lines.items():
            asked = np.ones(len(part), bool) if line == "as learnt" else ~fit
            inside = ((low <= mapped) & (mapped <= high)).astype(float)[asked]
            one[line] = measure.with_interval(measure.mean, inside) | {
                "below": round(float((mapped < low)[asked].mean()), 3),
                "deviation": round(float(np.std(mapped)), 3),
            }
        found[name] = one
    return found


def _column(rows: list[Row], name: str) -> npt.NDArray[np.float64]:
    return np.array([row[name] for row in rows], float)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--part", choices=("validation", "test"), default="test")
    parser.add_argument("--kinds", type=int, default=4, help="of the protocol's 25, on each photograph")
    parser.add_argument("--more", type=Path, help="a folder with voc/ and coco/")
    parser.add_argument("--pictures", type=int, default=200, help="of each")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    data: Path = arguments.data
    if arguments.more:
        learnt = {Path(one.image).name for one in real_flaws.read(data / "real_flaws") if one.collection == "ordinary"}
        found = interval_figures(rated(list(flive_rows(arguments.more, arguments.pictures, learnt))))
    else:
        with tempfile.TemporaryDirectory() as folder:
            rows = [*opinion_sets(data, arguments.part), *unlearnt(data), *csiq(data),
                    *protocol(data, arguments.part, arguments.kinds, Path(folder))]  # fmt: skip
            found = figures(rated(rows))
    for name, one in found.items():
        print(name, json.dumps(one), flush=True)
    if arguments.out:
        arguments.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
