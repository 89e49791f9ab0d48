"""Which pictures show the same: fingerprints find pairs, and pictures laid over each other tell how alike they are.

A third question is whether the tones of two such pictures differ as those of two exposures do. What makes versions of a
file (encoding, scaling, cropping) leaves its tones alone, and plain brightening multiplies all of them by one number,
up to where they clip. A camera that exposes twice bends both exposures by its tone curve: highlights move less than
middle tones, and no single number leads from one to the other. So the tones of one picture are multiplied to fit the
other's, and what is left over, tone by tone, is the departure.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
import numpy.typing as npt

UNCLIPPED = 240
"""Tones up to here are compared: above, a copy that was brightened has lost them."""
DARKEST = 20
"""Tones from here on say by how much one picture is brighter; below, rounding does."""
TONE_SMOOTHING = 1.0
BANDS = 16
"""Tones are taken together in so many bands of equally many places: what is left of encoding then averages out."""
FEWEST = 200
"""Places that tell something of the tones; fewer, and nothing is said."""


def tone_departure(match: Match) -> float:
    """How far the tones are from a mere brightening, as a share of the contrast: 0 for any version of one file."""
    warp = match.warp.copy()
    warp[:, 2] *= FINE
    still = match.still.colours(FINE)
    laid, inside = moved_over(match.moved.colours(FINE), warp)
    moved = laid.clip(0, 255)
    clipped = np.maximum(still, moved).max(axis=2) > UNCLIPPED
    compared = inside & ~(cv2.dilate(clipped.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0)
    grey, grey_moved = (np.asarray(cv2.cvtColor(each, cv2.COLOR_BGR2GRAY), np.float32) for each in (still, moved))
    smooth = (cv2.GaussianBlur(each, (0, 0), TONE_SMOOTHING) for each in (grey, grey_moved))
    here, there = (np.asarray(each, np.float32)[compared] for each in smooth)
    clear = here > DARKEST
    if clear.sum() < FEWEST:
        return 0.0
    gain = float(np.median(there[clear] / here[clear]))
    contrast = np.sqrt(float(grey[inside].std() * grey_moved[inside].std()))
    if gain <= 0 or contrast == 0:
        return 0.0
    left_over = (there - gain * here).ravel()[np.argsort(here, axis=None)]
    by_band = np.array([band.mean() for band in np.array_split(left_over, BANDS)])
    # Half of the gain is taken back, so that either picture may be the one that is multiplied.
    return float(np.sqrt(np.mean(by_band**2)) / np.sqrt(gain) / contrast)


# --- A small fingerprint of how a picture looks ---


Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]
Fingerprints = npt.NDArray[np.int8]
"""views × numbers."""
Pairs = npt.NDArray[np.int64]

SIDE, WINDOW = 96, 88
"""The brightness that fingerprints are made of, and the windows in it."""
WINDOW_CORNERS = ((0, 0), (0, SIDE - WINDOW), (SIDE - WINDOW, 0), (SIDE - WINDOW, SIDE - WINDOW), (4, 4))
VIEWS = 1 + len(WINDOW_CORNERS)
FREQUENCIES = 6
NUMBERS = FREQUENCIES**2 - 1
FLAT = 128.0
"""Added to the norm: what is nearly flat has a short fingerprint instead of one of amplified noise."""
SCALE = 127
CLOSE = 0.36
"""Distance of the closest views up to which two pictures may show the same; copies cropped by a tenth are nearer."""
TREES, LEAF = 8, 128
NEAREST_IN_LEAF = 4
NEAREST = 12
"""Pictures that one is compared with at most: ten thousand that are all alike must not make a square of that."""


def fingerprints_of(luma: Bytes) -> Fingerprints:
    """Of a picture's brightness, scaled to :data:`SIDE` squared.

    >>> flat = np.full((SIDE, SIDE), 200, np.uint8)
    >>> bool(fingerprints_of(flat).any())
    False
    """
    windows = [luma[top : top + WINDOW, left : left + WINDOW] for top, left in WINDOW_CORNERS]
    return np.stack([_fingerprint(np.ascontiguousarray(view)) for view in (luma, *windows)])


def _fingerprint(luma: Bytes) -> Fingerprints:
    small = cv2.resize(luma, (32, 32), interpolation=cv2.INTER_AREA).astype(np.float32)
    low = np.asarray(cv2.dct(small))[:FREQUENCIES, :FREQUENCIES].ravel()[1:]
    return np.asarray(np.rint(low / (np.linalg.norm(low) + FLAT) * SCALE), np.int8)


def as_text(fingerprints: Fingerprints) -> str:
    return base64.b64encode(fingerprints.tobytes()).decode("ascii")


def from_text(text: str) -> Fingerprints:
    return np.frombuffer(base64.b64decode(text), np.int8).reshape(VIEWS, NUMBERS)


def close_pairs(fingerprints: npt.NDArray[np.int8], seed: int = 0) -> Pairs:
    """Pairs of pictures (first < second) that may show the same, the closest first.

    ``fingerprints`` is pictures × views × numbers.
    Points are divided at random hyperplanes until few are left together, several times over: the cost grows with
    N log N, and two that are close share a leaf of at least one tree almost surely.
    """
    count = len(fingerprints)
    points = np.divide(fingerprints.reshape(count * VIEWS, NUMBERS), SCALE, dtype=np.float32)
    owners = np.repeat(np.arange(count), VIEWS)
    found = [_close_in(points, owners, leaf) for leaf in _leaves(points, np.random.default_rng(seed))]
    return _nearest(np.concatenate(found) if found else np.empty((0, 3)), count)


def _leaves(points: Floats, random: np.random.Generator) -> Iterator[npt.NDArray[np.int64]]:
    for _ in range(TREES):
        undivided: list[npt.NDArray[np.int64]] = [np.arange(len(points))]
        while undivided:
            members = undivided.pop()
            if len(members) <= LEAF:
                yield members
                continue
            one, other = random.choice(members, 2, replace=False)
            along = points[members] @ (points[one] - points[other])
            half = len(members) // 2
            order = np.argpartition(along, half)
            undivided += [members[order[:half]], members[order[half:]]]


def _close_in(points: Floats, owners: npt.NDArray[np.int64], members: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Rows (first, second, distance) of the nearest in a leaf that belong to different pictures."""
    here, of = points[members], owners[members]
    products = here @ here.T
    lengths = np.diag(products)
    squares = lengths[:, None] + lengths[None] - 2 * products
    squares[of[:, None] == of[None]] = np.inf
    nearest = np.argsort(squares, axis=1)[:, :NEAREST_IN_LEAF]
    rows = np.repeat(np.arange(len(members)), nearest.shape[1])
    columns = nearest.ravel()
    distances = np.sqrt(np.maximum(squares[rows, columns], 0))
    close = distances < CLOSE
    first, second = of[rows[close]], of[columns[close]]
    return np.stack([np.minimum(first, second), np.maximum(first, second), distances[close]], axis=1)


def _nearest(found: npt.NDArray[np.float64], count: int) -> Pairs:
    """Each pair once, at most so many for each picture, the closest first."""
    by_distance = found[np.argsort(found[:, 2], kind="stable")]
    pairs = by_distance[:, :2].astype(np.int64)
    _, first_places = np.unique(pairs[:, 0] * count + pairs[:, 1], return_index=True)
    chosen = []
    partners = np.zeros(count, np.int64)
    for one, other in pairs[np.sort(first_places)]:
        if partners[one] < NEAREST or partners[other] < NEAREST:
            partners[[one, other]] += 1
            chosen.append((one, other))
    return np.array(chosen, np.int64).reshape(-1, 2)


# --- Do two pictures show the same thing? They are laid over each other as well as possible ---


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
    fingerprints: Fingerprints

    @cached_property
    def grey(self) -> npt.NDArray[np.uint8]:
        return self._decoded(cv2.IMREAD_GRAYSCALE)

    def scaled(self, side: int) -> Floats:
        """Squeezed into a square: two versions of one picture are squeezed alike."""
        return _squeezed(self.grey, side)

    def colours(self, side: int) -> Floats:
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
    start = _first_guess(one.fingerprints, other.fingerprints)
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
