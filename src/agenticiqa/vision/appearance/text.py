"""Lines of letters in a picture: captions, watermarks and prices laid over it, and text of the scene alike.

Strokes that stand out from what is around them are joined to lines by height, colour and stroke width; a weighted sum
of a line's numbers tells letters from fences, leaves and windows. ``training/text_over_pictures.py`` made the weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from agenticiqa.pictures.images import UInt8Image

Floats = npt.NDArray[np.float64]
Pieces = npt.NDArray[np.void]

SIDE, MOST_ENLARGED = 896, 2.0
GROUND = 0.09
"""Of the shorter side: the window whose median is what is around a stroke."""
STEPS = (14, 32, 64)
"""Levels by which strokes stand out."""
LOWEST, HIGHEST, WIDEST = 7, 0.25, 2.2
"""Pixels that a letter is high at least; of the frame at most; its width by its height at most."""
FEWEST, MOST = 3, 3000
"""Letters of a line, and pieces of a picture that are looked at."""
WEIGHTS: dict[str, tuple[float, ...]] = {
    "length": (1.314, 0.54, 1.021, -0.004),
    "on_line": (0.425, 0.283, 0.907, 0.301),
    "gaps": (0.118, 0.325, -0.626, -0.196),
    "uneven_gaps": (0.289, 0.243, -0.89, 0.022),
    "narrowness": (0.835, 0.319, 0.244, -0.867),
    "uneven_strokes": (0.112, 0.07, -1.04, -0.038),
    "roundness": (-0.744, 0.212, 1.162, -0.051),
    "unevenness": (2.368, 0.531, -1.729, 0.229),
    "strength": (3.919, 0.474, 1.755, -0.16),
    "height": (-3.356, 0.526, 1.867, -0.537),
}
"""Of each number of a line: its usual value, its spread, what it counts, and what its square counts."""
OFFSET = -3.242
FARTHEST = 3.0
"""Spreads from the usual value, beyond which a number counts no more."""


def text_chance(rgb: UInt8Image) -> float:
    """How likely there is a line of letters in it, 0 to 1, by the likeliest."""
    best = max((line_weight(line.numbers) for line in lines_in(rgb)), default=-np.inf)
    return float(1 / (1 + np.exp(-best)))


def line_weight(numbers: Mapping[str, float]) -> float:
    """The weighted sum of a line's numbers: above 0 where letters are likelier than not."""
    total = OFFSET
    for name, (usual, spread, weight, of_square) in WEIGHTS.items():
        place = min(max((numbers[name] - usual) / spread, -FARTHEST), FARTHEST)
        total += weight * place + of_square * place**2
    return total


@dataclass(frozen=True)
class Line:
    """Pieces side by side that may be letters."""

    numbers: dict[str, float]
    labels: npt.NDArray[np.int32]
    members: npt.NDArray[np.intp]

    @property
    def mask(self) -> npt.NDArray[np.bool_]:
        """Where its strokes are, in the picture as it was looked at."""
        return np.isin(self.labels, self.members)


def lines_in(rgb: UInt8Image) -> Iterator[Line]:
    """Whatever might be a line of letters, light or dark, faint or strong."""
    scale = min(SIDE / max(rgb.shape[:2]), MOST_ENLARGED)
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    resized = cv2.resize(rgb, None, fx=scale, fy=scale, interpolation=how)
    lab = np.asarray(cv2.cvtColor(resized, cv2.COLOR_RGB2LAB), np.uint8)
    light = np.ascontiguousarray(lab[..., 0])
    around = np.asarray(cv2.medianBlur(light, int(GROUND * min(light.shape)) | 1), np.int16)
    stands_out = light.astype(np.int16) - around
    for step in STEPS:
        for sign in (1, -1):
            labels, pieces = _pieces(stands_out * np.int16(sign), lab, step)
            for group in _joined(pieces):
                yield Line(_numbers(pieces[group], light.shape[0]), labels, group + 1)


PIECE = np.dtype([(name, np.float64) for name in (
    "left", "top", "width", "height", "stroke", "roundness", "light", "red", "blue", "unevenness", "strength",
)])  # fmt: skip
"""What is known of one connected piece; colours are those of CIE L*a*b*, 0 to 255."""


def _pieces(stands_out: npt.NDArray[np.int16], lab: UInt8Image, step: int) -> tuple[npt.NDArray[np.int32], Pieces]:
    """Connected strokes of the size and shape of letters, and where each is: numbers from 1 on."""
    mask = (stands_out > step).astype(np.uint8)
    count, found_labels, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=8)
    labels = np.asarray(found_labels, np.int32)
    left, top, width, height, area = (stats[:, column] for column in range(5))
    fill = area / (width * height)
    fits = (height >= LOWEST) & (height <= HIGHEST * mask.shape[0]) & (width >= 2) & (width <= WIDEST * height)
    # Bars are no letters, but for those that stand upright.
    fits &= (fill > 0.18) & ~((fill > 0.85) & (2 * width > height))
    fits &= (left > 0) & (top > 0) & (left + width < mask.shape[1]) & (top + height < mask.shape[0])
    fits[0] = False
    kept = np.flatnonzero(fits)
    if not FEWEST <= len(kept) <= MOST:
        return labels, np.empty(0, PIECE)
    number = np.zeros(count, np.int32)
    number[kept] = np.arange(1, len(kept) + 1)
    labels = number[labels]
    inside = labels > 0
    owner = labels[inside] - 1
    depth = np.asarray(cv2.distanceTransform(mask, cv2.DIST_L2, 3))[inside]
    deepest = np.zeros(len(kept), np.float32)
    np.maximum.at(deepest, owner, depth)
    # The middle of strokes, where their edges do not shine in.
    core = depth >= np.minimum(1.5, 0.6 * deepest[owner])

    def mean(values: npt.NDArray[Any], of: npt.NDArray[Any] = owner[core]) -> Floats:
        return np.bincount(of, values, minlength=len(kept)) / np.bincount(of, minlength=len(kept))

    found = np.empty(len(kept), PIECE)
    found["left"], found["top"], found["width"], found["height"] = left[kept], top[kept], width[kept], height[kept]
    # The mean depth of an even stroke is a quarter of its width.
    found["stroke"] = 4 * mean(depth, owner)
    found["roundness"] = found["stroke"] / 4 / deepest
    for channel, name in enumerate(("light", "red", "blue")):
        found[name] = mean(lab[..., channel][inside][core])
    squares = mean(lab[..., 0][inside][core].astype(np.float64) ** 2)
    found["unevenness"] = np.sqrt(np.maximum(squares - found["light"] ** 2, 0))
    found["strength"] = mean(stands_out[inside][core])
    return labels, found


def _joined(pieces: Pieces) -> Iterator[npt.NDArray[np.intp]]:
    """Pieces that stand beside each other and are alike, from left to right."""
    right, foot, thin = pieces["left"] + pieces["width"], pieces["top"] + pieces["height"], _is_thin(pieces)
    group = np.arange(len(pieces))
    for at in np.flatnonzero(thin):
        one = pieces[at]
        higher, lower = np.maximum(pieces["height"], one["height"]), np.minimum(pieces["height"], one["height"])
        shared = np.minimum(foot, foot[at]) - np.maximum(pieces["top"], one["top"])
        beside = thin & (pieces["left"] >= one["left"]) & (pieces["left"] - right[at] < 0.9 * higher)
        beside &= (shared > 0.55 * lower) & (higher < 2.1 * lower)
        beside &= np.abs(pieces["stroke"] - one["stroke"]) < 0.4 * np.maximum(pieces["stroke"], one["stroke"])
        alike = np.abs(pieces["light"] - one["light"]) < 26
        # What shines through is as much lighter than its ground everywhere.
        alike |= np.abs(pieces["strength"] - one["strength"]) < 18
        beside &= alike & (np.abs(pieces["red"] - one["red"]) < 16) & (np.abs(pieces["blue"] - one["blue"]) < 16)
        joined = np.unique(group[beside | (np.arange(len(pieces)) == at)])
        group[np.isin(group, joined)] = joined[0]
    for name in np.unique(group[thin]):
        members = np.flatnonzero((group == name) & thin)
        if len(members) >= FEWEST:
            yield members[np.argsort(pieces["left"][members])]


def _is_thin(pieces: Pieces) -> npt.NDArray[np.bool_]:
    return np.asarray(pieces["stroke"] < 0.45 * pieces["height"])


def _numbers(letters: Pieces, frame: int) -> dict[str, float]:
    """What tells a line of letters from other things in a row."""
    height = float(np.median(letters["height"]))
    feet, right = letters["top"] + letters["height"], letters["left"] + letters["width"]
    gaps = letters["left"][1:] - right[:-1]
    on_line = np.abs(feet - np.median(feet)) <= max(1.0, 0.08 * height)
    return {
        "length": float(np.log((right.max() - letters["left"].min()) / height)),
        "on_line": float(on_line.mean()),
        "gaps": float(gaps.mean() / height),
        "uneven_gaps": float(gaps.std() / height),
        "narrowness": float((letters["width"] / letters["height"]).mean()),
        "uneven_strokes": float(letters["stroke"].std() / letters["stroke"].mean()),
        "roundness": float(np.log(letters["roundness"].mean())),
        "unevenness": float(np.log1p(letters["unevenness"].mean())),
        "strength": float(np.log1p(letters["strength"].mean())),
        "height": float(np.log(height / frame)),
    }
