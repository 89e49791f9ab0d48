"""Places of a large picture that differ from their surroundings as damage does: found in its own pixels, in one pass.

A small flaw in fifty megapixels is gone in any reduced picture. What gives it away is that a place is unlike what lies
around it: detail that stops, grain that begins, steps on a grid of eight pixels, a line a few pixels wide, a straight
border where neighbours do not fit. All is read from sums over tiles: cost grows with the pixels alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
import numpy.typing as npt
from scipy import ndimage

from agenticiqa.pictures.images import Box, LoadedImage, UInt8Image
from agenticiqa.state import Oddity
from agenticiqa.vision.network import Floats, LRUCache

TILE = 64
"""Pixels of a tile's side."""
AROUND = 13
"""Tiles across and down that a tile is compared with."""
LONG = 4
"""Tiles that a seam runs along."""
WIDEST, LEAST_CONTRAST = 7, 15.0
"""Pixels across a scratch, and levels between it and its ground."""
GRID = 8
"""Pixels between the steps of compression blocks."""
SURE: dict[Oddity, float] = {"blur": 0.52, "blocks": 0.65, "noise": 0.8, "scratch": 2.65, "seam": 1.25}
"""What each measure must reach to be said; of 140 photographs of 12 to 24 megapixels as they are, six do in one."""
ALIKE, FAR = 0.6, 512
"""Share of the clearest place's strength from which on another is like it; pixels from which on it is elsewhere."""
MOST_PEAKS, MOST_LINES = 24, 400
"""How many places of a map, and lines, are looked at."""
MOST_REMAPPED = 32_766
"""Pixels of a side that OpenCV can follow a line in."""
SMALLEST = 4 * TILE
"""A shorter side than this has no surroundings to differ from."""


@dataclass(frozen=True)
class OddPlace:
    """A place, what it looks like, and how clear that is: from 1 on it is said."""

    oddity: Oddity
    box: Box
    strength: float


_found = LRUCache[tuple[OddPlace, ...]](max_size=8)


def odd_places(image: LoadedImage) -> tuple[OddPlace, ...]:
    """The clearest place of each oddity, clearest first; kept a while."""
    return _found.get(image.sha256, lambda: find_odd_places(image.rgb))


def find_odd_places(rgb: UInt8Image) -> tuple[OddPlace, ...]:
    if min(rgb.shape[:2]) < SMALLEST:
        return ()
    grey = np.asarray(cv2.cvtColor(np.ascontiguousarray(rgb), cv2.COLOR_RGB2GRAY), np.uint8)
    turned = np.ascontiguousarray(grey.T)
    across, down = steps_along(grey), steps_along(turned)
    seams = _alone([*_seams(grey, across, upright=True), *_seams(turned, down, upright=False)])
    found = [*seams, *_alone(_blocks(across, down.T), FAR), *_soft_and_grainy(grey)]
    if scratches := _scratches(grey):
        found += _alone(scratches)
    best: dict[str, OddPlace] = {}
    for each in sorted(found, key=lambda place: -place.strength / SURE[place.oddity]):
        best.setdefault(each.oddity, replace(each, strength=each.strength / SURE[each.oddity]))
    return tuple(best.values())


def steps_along(grey: UInt8Image) -> Floats:
    """The mean step from each column to the next, in bands of rows: bands × (columns - 1)."""
    steps = cv2.absdiff(grey[:, 1:], grey[:, :-1])
    rows = steps.shape[0] // TILE * TILE
    return np.asarray(steps[:rows].reshape(-1, TILE, steps.shape[1]).sum(axis=1, dtype=np.uint16) / TILE, np.float32)


def _seams(grey: UInt8Image, steps: Floats, *, upright: bool) -> list[OddPlace]:
    usual = np.stack([np.roll(steps, shift, axis=1) for shift in (-4, -3, -2, 2, 3, 4)])
    level = np.median(usual, axis=0)
    near = np.maximum(np.roll(steps, 1, axis=1), np.roll(steps, -1, axis=1))
    excess = ((steps - np.maximum(level, near)) / (level + 1)).clip(-0.5, 2)
    excess[:, :GRID] = excess[:, -GRID:] = 0
    # All along, and nowhere not at all: edges of things begin and end.
    along = {"axis": 0, "origin": -(LONG // 2)}
    run = (ndimage.uniform_filter1d(excess, LONG, **along) + ndimage.minimum_filter1d(excess, LONG, **along)) / 2
    run = np.where(_periodic(excess), 0, run)
    out = []
    for at in np.argpartition(-run, 24, axis=None)[:24]:
        row, column = (int(each) for each in np.unravel_index(int(at), run.shape))
        rows = slice(row * TILE, (row + LONG) * TILE)
        signed = grey[rows, column + 1].astype(np.float32) - grey[rows, column]
        one_way = abs(float(signed.mean())) / max(float(np.abs(signed).mean()), 1e-6)
        x, y, w, h = column - 32, row * TILE, 64, LONG * TILE
        if not upright:
            x, y, w, h = y, x, h, w
        out.append(OddPlace("seam", Box(max(0, x), max(0, y), w, h), float(run[row, column]) * (1 - one_way)))
    return out


def _periodic(excess: Floats) -> npt.NDArray[np.bool_]:
    """Where steps come back after eight pixels: compression blocks."""
    return (np.roll(excess, GRID, axis=1) > 0.5 * excess) | (np.roll(excess, -GRID, axis=1) > 0.5 * excess)


def _phases(steps: Floats, tile: int) -> Floats:
    tiles = steps.shape[1] // tile
    folded = steps[:, : tiles * tile].reshape(steps.shape[0], tiles, tile // GRID, GRID).mean(axis=2)
    top = folded.max(axis=2)
    rest = (folded.sum(axis=2) - top) / (GRID - 1)
    return np.asarray((top - rest) / (rest + 0.5), np.float32)


def _blocks(across: Floats, down: Floats) -> list[OddPlace]:
    wide = _phases(across, TILE * 2)
    high = _phases(np.ascontiguousarray(down.T), TILE * 2).T
    rows, columns = min(wide.shape[0] // 2, high.shape[0]), min(wide.shape[1], high.shape[1] // 2)
    both = np.minimum(
        wide[: rows * 2, :columns].reshape(rows, 2, columns).mean(axis=1),
        high[:rows, : columns * 2].reshape(rows, columns, 2).mean(axis=2),
    )
    return _peaks("blocks", both - np.median(both), 2 * TILE, 1)


def _peaks(oddity: Oddity, values: Floats, tile: int, across: int) -> list[OddPlace]:
    """The places with the highest values of a map of tiles; each is so many tiles wide and high."""
    side, columns = tile * across, values.shape[1]
    highest = np.argpartition(-values, min(MOST_PEAKS, values.size - 1), axis=None)[:MOST_PEAKS]
    places = ((int(at) // columns, int(at) % columns) for at in highest)
    return [OddPlace(oddity, Box(x * tile, y * tile, side, side), float(values[y, x])) for y, x in places]


def _haar(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Half-size sums, the mean of the three details, and the diagonal one alone; orthonormal."""
    a, b, c, d = values[0::2, 0::2], values[0::2, 1::2], values[1::2, 0::2], values[1::2, 1::2]
    ab, cd, a_b, c_d = a + b, c + d, a - b, c - d
    diagonal = np.abs(a_b - c_d) * np.float32(0.5)
    half = np.float32(0.5)
    details = np.asarray((np.abs(ab - cd) * half + np.abs(a_b + c_d) * half + diagonal) / 3, np.float32)
    return (ab + cd) * half, details, diagonal


def _soft_and_grainy(grey: UInt8Image) -> list[OddPlace]:
    rows, columns = (side // TILE for side in grey.shape)
    values = grey[: rows * TILE, : columns * TILE].astype(np.float32)
    details, diagonals = [], []
    for _ in range(4):
        values, detail, diagonal = _haar(values)
        details.append(cv2.resize(detail, (columns, rows), interpolation=cv2.INTER_AREA))
        diagonals.append(cv2.resize(diagonal, (columns, rows), interpolation=cv2.INTER_AREA))
    grain = np.log((diagonals[0] + 0.5) / (ndimage.median_filter(diagonals[0], AROUND) + 0.5))
    white = diagonals[0] / (diagonals[1] + 0.3)
    grainy = ndimage.minimum_filter(np.where((white > 0.75), grain, 0), 2, origin=-1)
    fall = np.log((details[0] + 0.1) / (details[2] + 0.3)) + np.log((details[1] + 0.2) / (details[3] + 0.5))
    # A lone thing on calm ground has structure where the rest has none: that is no blur.
    alike = details[3] < 2.5 * ndimage.median_filter(details[3], 21)
    softer = np.where(alike, ndimage.percentile_filter(fall, 10, 21) - fall, 0)
    soft = ndimage.minimum_filter(softer, 2, origin=-1)
    return _alone(_peaks("noise", grainy, TILE, 2), FAR) + _alone(_peaks("blur", soft, TILE, 2), FAR)


def _scratches(grey: UInt8Image) -> list[OddPlace]:
    """Lines a few pixels wide, lighter or darker than both their sides, that run straight on."""
    narrow = np.zeros_like(grey)
    for kernel in (np.ones((1, WIDEST), np.uint8), np.ones((WIDEST, 1), np.uint8)):
        for operation in (cv2.MORPH_TOPHAT, cv2.MORPH_BLACKHAT):
            narrow = np.maximum(narrow, cv2.morphologyEx(grey, operation, kernel))
    # What is usual nearby: in grass every pixel is a narrow line.
    usual = cv2.blur(
        cv2.resize(narrow, None, fx=0.25, fy=0.25, interpolation=cv2.INTER_AREA).astype(np.float32), (25, 25)
    )
    small = cv2.dilate(narrow, np.ones((3, 3), np.uint8))[2::4, 2::4]
    height, width = (min(a, b) for a, b in zip(small.shape, usual.shape, strict=True))
    small, usual = small[:height, :width], usual[:height, :width]
    marked = ((small > 18) & (small > 3 * usual + 8)).astype(np.uint8)
    lines = cv2.HoughLinesP(marked, 1, np.pi / 180, 40, minLineLength=50, maxLineGap=8)
    if lines is None:
        return []
    traced = lines.reshape(-1, 4)[:MOST_LINES].astype(np.float32) * 4 + 2
    return [_scratch(grey, *line) for line in traced]


def _alone(found: list[OddPlace], far: int = 0) -> list[OddPlace]:
    """The clearest; others nearly as clear elsewhere speak against it: wires, bars and blades come in numbers."""
    first, *rest = sorted(found, key=lambda each: -each.strength)
    like_it: list[Box] = []
    for each in rest:
        if each.strength > ALIKE * first.strength and all(_apart(each.box, box, far) for box in (first.box, *like_it)):
            like_it.append(each.box)
    return [replace(first, strength=first.strength / (1 + len(like_it) / 2))]


def _apart(a: Box, b: Box, far: int) -> bool:
    """Whether two places are too far apart for one small flaw."""
    gap = np.hypot(a.x + a.width / 2 - b.x - b.width / 2, a.y + a.height / 2 - b.y - b.height / 2)
    return bool(gap > max(a.width, a.height) + far)


def _scratch(grey: UInt8Image, x1: float, y1: float, x2: float, y2: float) -> OddPlace:
    """How clearly a line is one: the same way off both its sides, which are alike, all along."""
    length = float(np.hypot(x2 - x1, y2 - y1))
    along = np.linspace(0, 1, int(length / 2), dtype=np.float32)[:, None]
    across = np.arange(-16, 17, dtype=np.float32)[None]
    left, top = (
        x1 + along * (x2 - x1) - across * (y2 - y1) / length,
        y1 + along * (y2 - y1) + across * (x2 - x1) / length,
    )
    # Cut out first: OpenCV takes no picture with a side above 32,766 pixels here.
    column, row = max(0, int(left.min()) - 1), max(0, int(top.min()) - 1)
    around = grey[row : int(top.max()) + 3, column : int(left.max()) + 3]
    box = Box(int(min(x1, x2)), int(min(y1, y2)), int(abs(x2 - x1)) + 1, int(abs(y2 - y1)) + 1)
    if max(around.shape) > MOST_REMAPPED:
        return OddPlace("scratch", box, 0.0)
    places = ((left - column).astype(np.float32), (top - row).astype(np.float32))
    strip = cv2.remap(around, *places, cv2.INTER_LINEAR).astype(np.float32)
    # It wanders by some pixels: at each point it is looked for within reach of the middle.
    middle, one, other = strip[:, 10:23], np.median(strip[:, :10], axis=1), np.median(strip[:, 23:], axis=1)
    ground, uneven = (one + other) / 2, np.abs(one - other) / 2
    grain = np.abs(np.concatenate([strip[:, :10] - one[:, None], strip[:, 23:] - other[:, None]], axis=1)).mean(axis=1)
    clearest = 0.0
    for own, peak in (
        (middle.max(axis=1), middle.max(axis=1) - ground),
        (middle.min(axis=1), ground - middle.min(axis=1)),
    ):
        clear = (peak > LEAST_CONTRAST) & (peak > 2 * grain) & (peak > 2 * uneven)
        if clear.mean() > 0.5:
            # One colour all along, over ground that changes: things of the scene change with their light.
            constant = 12 / (6 + float(np.std(own[clear])))
            value = float(clear.mean()) * min(2.0, float(np.median(peak[clear])) / 50) * constant
            clearest = max(clearest, value * min(1.5, length / 300))
    return OddPlace("scratch", box, clearest)
