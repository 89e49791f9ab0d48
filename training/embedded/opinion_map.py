"""What people would say of damage that nobody asked them about, estimated from full-reference metrics.

    python -m training.embedded.opinion_map --photos PHOTOS [--check CSIQ]

A ridge regression from metric values to the published mean opinions of the 125 protocol cells, and for each cell the
mean and spread of that estimate over photographs: a photograph that a metric says suffers more than most from the
same damage gets a lower training target. ``--check`` compares the estimate with CSIQ's opinions and changes nothing.
"""

from __future__ import annotations

import argparse
import csv
import json
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image
from training.distortions import LEVELS, PROTOCOL, UNCHANGED_OPINION, distort

from agenticiqa.tools.metrics import METRICS, Picture, Views

Floats = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]

FILE = Path(__file__).with_name("opinion_map.json")
PENALTY = 3.0
# How far people agree with the metrics about which photograph suffers more from the same damage (a correlation).
AGREEMENT = 0.5


def measured(test: Bytes, reference: Picture) -> Floats:
    """What the regression sees of a pair: three metrics, and changes of brightness, contrast and colour."""
    views = Views(test, reference)
    haar, mdsi, gmsd = (METRICS[name].measure(views).value for name in ("HaarPSI", "MDSI", "GMSD"))
    brightness, contrast, colour = _tones(test)
    brightness_0, contrast_0, colour_0 = reference.share("tones", lambda: _tones(reference.pixels))
    lighter = brightness - brightness_0
    flatter = np.log((contrast + 0.02) / (contrast_0 + 0.02))
    greyer = np.log((colour + 0.02) / (colour_0 + 0.02))
    return np.array(
        [
            haar, haar**2, haar**4, mdsi, mdsi**2, gmsd, gmsd**0.5,
            max(lighter, 0), max(-lighter, 0), max(flatter, 0), max(-flatter, 0), max(greyer, 0), max(-greyer, 0),
        ]
    )  # fmt: skip


def _tones(rgb: npt.NDArray[np.generic]) -> tuple[float, float, float]:
    """Mean and deviation of lightness, and mean colourfulness, on every fourth pixel."""
    some = np.asarray(rgb[::2, ::2], np.float32) / 255
    grey = some.mean(axis=2)
    return float(grey.mean()), float(grey.std()), float((some.max(axis=2) - some.min(axis=2)).mean())


@dataclass(frozen=True)
class OpinionMap:
    """The fitted numbers."""

    mean: Floats
    deviation: Floats
    weights: Floats
    cell_mean: Floats
    cell_deviation: Floats

    def estimate(self, values: Floats) -> Floats:
        """Opinion of pairs with these metric values, 1..4.6."""
        scaled = (np.atleast_2d(values) - self.mean) / self.deviation
        return np.asarray((self.weights[0] + scaled @ self.weights[1:]).clip(1, UNCHANGED_OPINION), np.float64)

    def for_photograph(self, kind: int, level: float, opinion: float, values: Floats) -> float:
        """The mean opinion of a protocol cell, moved by what the metrics say of this photograph."""
        if not 1 <= level <= 5:
            return opinion
        rows = np.arange(1, 6)
        usual = float(np.interp(level, rows, self.cell_mean[kind]))
        spread = float(np.interp(level, rows, self.cell_deviation[kind]))
        human = float(np.interp(level, rows, PROTOCOL[kind].deviations))
        away = np.clip((float(self.estimate(values)[0]) - usual) / max(spread, 0.05), -2, 2)
        return float(np.clip(opinion + AGREEMENT * human * away, 1, UNCHANGED_OPINION + 0.1))


@cache
def load(file: Path = FILE) -> OpinionMap:
    stored = json.loads(file.read_text())
    return OpinionMap(**{name: np.array(values) for name, values in stored.items()})


def fitted(values: Floats) -> OpinionMap:
    """``values``: photographs × kinds × levels × measurements."""
    opinions = np.array([distortion.opinions for distortion in PROTOCOL])
    flat = values.reshape(-1, values.shape[-1])
    mean, deviation = flat.mean(axis=0), flat.std(axis=0)
    scaled = (flat - mean) / deviation
    target = np.broadcast_to(opinions, values.shape[:3]).reshape(-1)
    design = np.column_stack([np.ones(len(scaled)), scaled])
    penalty = PENALTY * len(scaled) / 1000 * np.eye(design.shape[1])
    penalty[0, 0] = 0
    weights = np.linalg.solve(design.T @ design + penalty, design.T @ target)
    guess = (design @ weights).clip(1, UNCHANGED_OPINION).reshape(values.shape[:3])
    return OpinionMap(mean, deviation, weights, guess.mean(axis=0), guess.std(axis=0))


def _photograph(path: Path) -> Floats:
    cv2.setNumThreads(1)
    picture = np.asarray(Image.open(path).convert("RGB"))
    low, high = int(picture.min()), int(picture.max())
    picture = np.asarray(np.rint((picture - float(low)) * (255 / max(high - low, 1))), np.uint8)
    reference = Picture(picture, "reference")
    return np.array(
        [
            [measured(distort(picture, kind.name, level, full_range=True), reference) for level in LEVELS]
            for kind in PROTOCOL
        ]
    )


def _check(folder: Path, found: OpinionMap) -> None:
    from scipy.stats import pearsonr, spearmanr

    with (folder / "scores.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    references = {row["reference"] for row in rows}
    opened = {name: Picture(np.asarray(Image.open(folder / name).convert("RGB")), "reference") for name in references}
    guesses = np.array(
        [
            float(found.estimate(measured(np.asarray(Image.open(folder / row["image"]).convert("RGB")),
                                          opened[row["reference"]]))[0])
            for row in rows
        ]
    )  # fmt: skip
    dmos = np.array([float(row["dmos_0_to_1"]) for row in rows])
    print(f"CSIQ: SRCC {-spearmanr(guesses, dmos)[0]:.4f}, PLCC {-pearsonr(guesses, dmos)[0]:.4f}")
    for kind in sorted({row["type"] for row in rows}):
        chosen = np.array([row["type"] == kind for row in rows])
        rank = -spearmanr(guesses[chosen], dmos[chosen])[0]
        print(f"  {kind}: SRCC {rank:.3f}, mean guess {guesses[chosen].mean():.2f}, DMOS {dmos[chosen].mean():.2f}")


def main() -> None:
    from training.embedded.splits import load as load_splits

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=Path, required=True)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--check", type=Path)
    arguments = parser.parse_args()
    names = load_splits()["photos"]["train"]
    chosen = [arguments.photos / names[index] for index in np.random.default_rng(0).permutation(len(names))]
    with ProcessPoolExecutor(arguments.processes) as pool:
        values = np.stack(list(pool.map(_photograph, chosen[: arguments.count])))
    found = fitted(values)
    guess = found.estimate(values.reshape(-1, values.shape[-1]))
    target = np.broadcast_to([kind.opinions for kind in PROTOCOL], values.shape[:3]).reshape(-1)
    print(f"correlation with the mean opinions: {np.corrcoef(guess, target)[0, 1]:.4f}")
    FILE.write_text(json.dumps({name: np.round(value, 6).tolist() for name, value in vars(found).items()}) + "\n")
    if arguments.check:
        _check(arguments.check, found)


if __name__ == "__main__":
    main()
