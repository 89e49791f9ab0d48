"""Do two pictures show the same thing? They are laid over each other as well as possible, then their details compared.

Brightness agrees between any two landscapes; fine detail agrees only where it is the same place. What is compared is
therefore the part of the picture that a blur takes away, after one picture was shifted, scaled and turned onto the
other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
import numpy.typing as npt

from agenticiqa.pictures.likeness.fingerprints import SCALE, SIDE, WINDOW, WINDOW_CORNERS, Fingerprints

Floats = npt.NDArray[np.float32]

COARSE, FINE = 48, 96
STEPS = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 25, 1e-3)
SMOOTHING = 5
"""Pixels across which both are smoothed before they are laid over each other."""
WORTH_REFINING = 0.4
"""Of the coarse comparison: whatever is below is another scene."""
UNSURE_FROM, SURE_FROM = 0.85, 0.97
FINEST, COARSEST = 1.0, 3.0
"""Detail is what a blur of so many pixels leaves and one of so many takes away; anything finer is lost by scaling."""
AROUND, FAINT = 6.0, 1.5
"""How far around a place the strength of its detail is taken, in pixels; and the strength, in grey levels, below which
there is nothing to compare."""
LEAST_OVERLAP = 0.5
"""Of the frame: less is too little to judge by."""


@dataclass(frozen=True)
class SmallView:
    """A picture as it is compared: a small file of it, and its fingerprints."""

    thumbnail: bytes
    prints: Fingerprints

    @cached_property
    def grey(self) -> npt.NDArray[np.uint8]:
        return self._decoded(cv2.IMREAD_GRAYSCALE)

    def scaled(self, side: int) -> Floats:
        """Squeezed into a square: two versions of one picture are squeezed alike."""
        return _squeezed(self.grey, side)

    def colours(self, side: int) -> Floats:
        """The same with its three channels."""
        return _squeezed(self._decoded(cv2.IMREAD_COLOR), side)

    def _decoded(self, how: int) -> npt.NDArray[np.uint8]:
        return np.asarray(cv2.imdecode(np.frombuffer(self.thumbnail, np.uint8), how), np.uint8)


def _squeezed(picture: npt.NDArray[np.uint8], side: int) -> Floats:
    height, width = picture.shape[:2]
    # What the smaller size cannot hold is taken away first, evenly: averaging over whole pixels would shift edges.
    smooth = cv2.GaussianBlur(
        picture.astype(np.float32), (0, 0), sigmaX=max(width / side / 2, 0.3), sigmaY=max(height / side / 2, 0.3)
    )
    return np.asarray(cv2.resize(smooth, (side, side), interpolation=cv2.INTER_LINEAR), np.float32)


@dataclass(frozen=True)
class Match:
    """Two pictures laid over each other."""

    likeness: float
    """How well the details agree, up to 1 (the same): from 0.96 on the same shot, below 0.5 another scene."""
    still: SmallView
    moved: SmallView
    warp: Floats
    """Where a point of the still picture lies in the moved one, in the frame 0..1."""


def matched(one: SmallView, other: SmallView) -> Match:
    found = _laid_over(one, other)
    # Which of the two is moved matters a little; where that could decide, both ways are tried.
    if UNSURE_FROM < found.likeness < SURE_FROM:
        return max(found, _laid_over(other, one), key=lambda match: match.likeness)
    return found


def _laid_over(one: SmallView, other: SmallView) -> Match:
    start = _first_guess(one.prints, other.prints)
    found, warp = _compared(one, other, COARSE, start)
    if found < WORTH_REFINING:
        return Match(found, one, other, warp)
    refined, refined_warp = _compared(one, other, FINE, warp)
    return Match(found, one, other, warp) if found > refined else Match(refined, one, other, refined_warp)


def _first_guess(one: Fingerprints, other: Fingerprints) -> Floats:
    """Where the closest two views put the second picture on the first, as a transform in the frame 0..1."""
    distances = np.linalg.norm(one[:, None].astype(np.float32) - other[None], axis=2) / SCALE
    here, there = np.unravel_index(int(distances.argmin()), distances.shape)
    # A point of the first picture lies at the same share of its view as its image does of the other's.
    (left, top, side), (left_there, top_there, side_there) = _view(int(here)), _view(int(there))
    scale = side_there / side
    return np.array([[scale, 0, left_there - scale * left], [0, scale, top_there - scale * top]], np.float32)


def _view(number: int) -> tuple[float, float, float]:
    """Left, top and side of a view, of the frame 0..1."""
    if number == 0:
        return 0.0, 0.0, 1.0
    top, left = WINDOW_CORNERS[number - 1]
    return left / SIDE, top / SIDE, WINDOW / SIDE


def _compared(one: SmallView, other: SmallView, side: int, start: Floats) -> tuple[float, Floats]:
    """Likeness at a size, and the transform (in the frame 0..1) that was found from ``start``."""
    first, second = one.scaled(side), other.scaled(side)
    warp = start.copy()
    warp[:, 2] *= side
    everywhere = np.full((side, side), 255, np.uint8)
    try:
        _, moved = cv2.findTransformECC(first, second, warp, cv2.MOTION_AFFINE, STEPS, everywhere, SMOOTHING)
        warp = np.asarray(moved, np.float32)
    except cv2.error:
        # Nothing by which to move one over the other: they are compared as they lie.
        warp = start * np.array([1, 1, side], np.float32)
    found = _agreement(first, second, warp)
    shares = warp.copy()
    shares[:, 2] /= side
    return found, shares


def _agreement(first: Floats, second: Floats, warp: Floats) -> float:
    """Correlation of detail where both pictures are."""
    laid, inside = moved_over(second, warp)
    if inside.mean() < LEAST_OVERLAP:
        return 0.0
    here, over = _detail(first)[inside], _detail(laid)[inside]
    spread = float(here.std() * over.std())
    return float(np.mean((here - here.mean()) * (over - over.mean())) / spread) if spread > 1e-3 else 0.0


def moved_over(picture: Floats, warp: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """A square picture moved as ``warp`` (in pixels) says, and where in the frame it then is."""
    size = (picture.shape[1], picture.shape[0])
    # Beyond its border the picture goes on as it ended: black there would be the strongest detail of all.
    laid = cv2.warpAffine(
        picture, warp, size, flags=cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP, borderMode=cv2.BORDER_REPLICATE
    )
    everywhere = np.ones(picture.shape[:2], np.float32)
    there = cv2.warpAffine(everywhere, warp, size, flags=cv2.INTER_NEAREST | cv2.WARP_INVERSE_MAP)
    return np.asarray(laid, np.float32), cv2.erode(there, np.ones((5, 5), np.uint8)) > 0


def _detail(picture: Floats) -> Floats:
    """Even over the frame: a horizon, or one bright lamp, would else outweigh all the rest."""
    fine, coarse = (cv2.GaussianBlur(picture, (0, 0), sigma) for sigma in (FINEST, COARSEST))
    detail = np.asarray(fine - coarse, np.float32)
    strength = np.sqrt(cv2.GaussianBlur(detail * detail, (0, 0), AROUND))
    return np.asarray(detail / (strength + FAINT), np.float32)
