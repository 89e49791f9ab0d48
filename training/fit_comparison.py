"""How often a lead in score agrees with people, for two distorted versions of one photograph.

    PYTHONPATH=. python training/fit_comparison.py --photos PHOTOS --csiq CSIQ [--photographs 12]

Fits the slope of a logistic curve, chance = 1 / (1 + exp(-slope × lead)), on pairs of the KADID-10k protocol (the mean
opinions of its cells decide who is better; pairs closer than 0.2 points are left out), and checks it on pairs of CSIQ
with one reference. The slopes go into ``agenticiqa/api/comparison.py``, the table into docs/one-picture/comparison.md.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measurements import Bytes, Floats, chosen_photographs, read_rgb
from scipy.optimize import minimize_scalar
from training.distortions import LEVELS, PROTOCOL, distort

from agenticiqa.tools.metrics import Views
from agenticiqa.tools.registry import Tool, default_registry

TOOLS = ("AIQA_FR", "AIQA_NR")
CLEAR_POINTS = 0.2
CLEAR_DMOS = 0.05
BINS = (0.5, 0.65, 0.8, 0.9, 0.97, 1.0)


@dataclass(frozen=True)
class Pairs:
    """Leads of the first picture, and whether people prefer it."""

    lead: Floats
    preferred: Floats


def chance(slope: float, lead: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-slope * lead)))


def fitted_slope(pairs: Pairs) -> float:
    """The slope of greatest likelihood."""

    def surprise(slope: float) -> float:
        right = np.where(pairs.preferred > 0, chance(slope, pairs.lead), 1 - chance(slope, pairs.lead))
        return float(-np.log(np.clip(right, 1e-9, 1)).mean())

    return float(minimize_scalar(surprise, bounds=(0.1, 50), method="bounded").x)


def all_pairs(scores: Floats, opinions: Floats, clear: float) -> Pairs:
    couples = [
        (scores[i] - scores[j], float(opinions[i] > opinions[j]))
        for i, j in itertools.combinations(range(len(scores)), 2)
        if abs(opinions[i] - opinions[j]) >= clear
    ]
    lead, preferred = np.array(couples).T
    return Pairs(lead, preferred)


def together(pairs: list[Pairs]) -> Pairs:
    return Pairs(np.concatenate([p.lead for p in pairs]), np.concatenate([p.preferred for p in pairs]))


def scores_of(tools: list[Tool], picture: Bytes, reference: Bytes) -> list[float]:
    views = {True: Views(picture, reference), False: Views(picture)}
    raw = [tool.metric.measure(views[tool.needs_reference]).value for tool in tools]
    return [
        float(tool.calibration(value)) if tool.calibration else value for tool, value in zip(tools, raw, strict=True)
    ]


def protocol_pairs(tools: list[Tool], photographs: list[Path]) -> Iterator[list[Pairs]]:
    opinions = np.array([distortion.opinions for distortion in PROTOCOL]).ravel()
    for number, file in enumerate(photographs, start=1):
        photograph = read_rgb(file)
        damaged = [
            scores_of(tools, distort(photograph, kind.name, level, seed=0), photograph)
            for kind in PROTOCOL
            for level in LEVELS
        ]
        print(f"photograph {number} of {len(photographs)}", file=sys.stderr)
        yield [all_pairs(column, opinions, CLEAR_POINTS) for column in np.array(damaged).T]


def csiq_pairs(tools: list[Tool], folder: Path) -> Iterator[list[Pairs]]:
    with next(folder.glob("*.csv")).open(encoding="utf-8", newline="") as stream:
        rows = sorted(csv.DictReader(stream), key=lambda row: row["reference"])
    for name, group in itertools.groupby(rows, key=lambda row: row["reference"]):
        own = list(group)
        reference = read_rgb(folder / name)
        scores = np.array([scores_of(tools, read_rgb(folder / row["image"]), reference) for row in own])
        dmos = np.array([float(row["dmos_0_to_1"]) for row in own])
        print(f"CSIQ {name}", file=sys.stderr)
        yield [all_pairs(column, -dmos, CLEAR_DMOS) for column in scores.T]


def table(slope: float, pairs: Pairs) -> Iterator[str]:
    """How often the favourite was right, by the chance the curve gave it."""
    told = chance(slope, np.abs(pairs.lead))
    right = (pairs.lead > 0) == (pairs.preferred > 0)
    yield f"| all | {len(right)} | {told.mean():.3f} | {right.mean():.3f} |"
    for low, high in itertools.pairwise(BINS):
        inside = (told >= low) & ((told < high) | (high == BINS[-1]))
        if inside.any():
            means = f"{told[inside].mean():.3f} | {right[inside].mean():.3f}"
            yield f"| {low:.2f} to {high:.2f} | {inside.sum()} | {means} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=Path, required=True)
    parser.add_argument("--csiq", type=Path, required=True)
    parser.add_argument("--photographs", type=int, default=12)
    arguments = parser.parse_args()
    registry = default_registry()
    tools = [registry.find(name) for name in TOOLS]
    fitted = list(protocol_pairs(tools, chosen_photographs(arguments.photos, arguments.photographs)))
    checked = list(csiq_pairs(tools, arguments.csiq))
    for place, name in enumerate(TOOLS):
        slope = fitted_slope(together([pairs[place] for pairs in fitted]))
        print(f"\n{name}: slope {slope:.2f}\n\n| chance told | pairs | mean chance | right |\n|---|---|---|---|")
        for title, sets in (("protocol", fitted), ("CSIQ", checked)):
            print(f"| **{title}** | | | |")
            print("\n".join(table(slope, together([pairs[place] for pairs in sets]))))


if __name__ == "__main__":
    main()
