"""Places of a large picture that differ from their surroundings as damage does: found in its own pixels, in one pass.

A small flaw in fifty megapixels is gone in any reduced picture. What gives it away is that a place is unlike what lies
around it: detail that stops, grain that begins, steps on a grid of eight pixels, a line a few pixels wide, a straight
border where neighbours do not fit. Candidates are proposed generously, from sums over tiles; a small judge, taught by
made flaws in photographs (``training/odd_places_judge.py``), says how likely each is one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from scipy import ndimage

from agenticiqa.pictures.images import Box, LoadedImage, UInt8Image
from agenticiqa.state import Oddity
from agenticiqa.vision.network import Floats, LRUCache, loaded_once
from agenticiqa.vision.odd_outlines import outline, pairs, unlike

JUDGE = Path(__file__).parent / "weights" / "odd_places.json"
TILE = 64
"""Pixels of a tile's side."""
LONG = 5
"""Tiles that a seam runs along."""
WIDEST, LEAST_CONTRAST = 7, 15.0
"""Pixels across a scratch, and levels between it and its ground."""
GRID = 8
"""Pixels between the steps of compression blocks."""
MOST_SHIFT = 20
"""Pixels by which one side of a seam may lie beside the other."""
RINGS = (5, 9)
"""Tiles from a place to what it is compared with."""
MOST_PLACES, MOST_SEAMS, MOST_LINES = 12, 40, 400
"""How many candidates of a map are looked at, seams of a direction, and lines."""
FAR = 512
"""Pixels from which on another candidate is elsewhere."""
OF_A_KIND = 2
"""How many places of one oddity are returned."""
MOST_REMAPPED = 32_766
"""Pixels of a side that OpenCV can follow a line in."""
SMALLEST = 4 * TILE
"""A shorter side than this has no surroundings to differ from."""


@dataclass(frozen=True)
class Candidate:
    """A place that may be odd, and what was measured of it; each oddity has its own measures."""

    oddity: Oddity
    box: Box
    features: tuple[float, ...]


@dataclass(frozen=True)
class OddPlace:
    """A place, what it looks like, how likely that is damage, and whether that is enough to be said."""

    oddity: Oddity
    box: Box
    chance: float
    sure: bool


_found = LRUCache[tuple[OddPlace, ...]](max_size=8)


def odd_places(image: LoadedImage) -> tuple[OddPlace, ...]:
    """The likeliest places of each oddity, likeliest first; kept a while."""
    return _found.get(image.sha256, lambda: find_odd_places(image.rgb))


def find_odd_places(rgb: UInt8Image) -> tuple[OddPlace, ...]:
    """As :func:`odd_places`; at most two places of an oddity, far from each other, and at most the first is sure."""
    judged = sorted(_judged(candidates(rgb)), key=lambda place: -place.chance)
    chosen: list[OddPlace] = []
    for place in judged:
        alike = [other for other in chosen if other.oddity == place.oddity]
        if len(alike) < OF_A_KIND and all(_apart(place.box, other.box) for other in alike):
            chosen.append(place)
    return tuple(chosen)


def candidates(rgb: UInt8Image) -> list[Candidate]:
    """Every place worth judging; none of a picture too narrow to have surroundings."""
    if min(rgb.shape[:2]) < SMALLEST:
        return []
    grey = np.asarray(cv2.cvtColor(np.ascontiguousarray(rgb), cv2.COLOR_RGB2GRAY), np.uint8)
    turned = np.asarray(cv2.transpose(grey), np.uint8)
    across, down = steps_along(grey), steps_along(turned)
    return [
        *_tiles(grey, across, down),
        *_seams(grey, across, upright=True),
        *_seams(turned, down, upright=False),
        *_scratches(rgb, grey),
    ]


# --- the judge ---


@loaded_once
def _judge() -> dict[str, dict[str, Any]]:
    judges: dict[str, dict[str, Any]] = json.loads(JUDGE.read_text(encoding="utf-8"))["judges"]
    return judges


def chances(judge: dict[str, Any], features: Floats) -> Floats:
    """How likely each row of measures is a flaw: the mean of some small networks with one hidden layer each."""
    given = ((features - np.asarray(judge["mean"])) / np.asarray(judge["scale"])).clip(-4, 4)
    said = []
    for network in judge["networks"]:
        hidden = np.tanh(given @ np.asarray(network["first"]) + np.asarray(network["first_bias"]))
        said.append(1 / (1 + np.exp(-(hidden @ np.asarray(network["last"]) + network["last_bias"]))))
    return np.asarray(np.mean(said, axis=0), np.float32)


def _judged(found: list[Candidate]) -> list[OddPlace]:
    out = []
    for oddity, judge in _judge().items():
        own = [each for each in found if each.oddity == oddity]
        if own:
            said = chances(judge, np.array([each.features for each in own], np.float32))
            best = int(said.argmax())
            out += [
                OddPlace(each.oddity, each.box, float(chance), number == best and float(chance) >= judge["bound"])
                for number, (each, chance) in enumerate(zip(own, said, strict=True))
            ]
    return out


def _apart(a: Box, b: Box) -> bool:
    """Whether two places are too far apart for one small flaw."""
    gap = np.hypot(a.x + a.width / 2 - b.x - b.width / 2, a.y + a.height / 2 - b.y - b.height / 2)
    return bool(gap > FAR)


# --- blur, grain and blocks: maps of tiles ---


def _tiles(grey: UInt8Image, across: Floats, down: Floats) -> list[Candidate]:
    rows, columns = (side // TILE for side in grey.shape)
    values = grey[: rows * TILE, : columns * TILE].astype(np.float32)
    details, diagonals = [], []
    cells: list[Any] = []
    cells_of = columns * 4, rows * 4
    for _ in range(5):
        values, detail, diagonal = _haar(values)
        if len(cells) < 4:
            cells.append(np.log(cv2.resize(detail, cells_of, interpolation=cv2.INTER_AREA) + 0.2))
            light_cells = values / 2 ** len(cells)
        details.append(np.log(cv2.resize(detail, (columns, rows), interpolation=cv2.INTER_AREA) + 0.2))
        diagonals.append(np.log(cv2.resize(diagonal, (columns, rows), interpolation=cv2.INTER_AREA) + 0.2))
    light = cv2.resize(values, (columns, rows), interpolation=cv2.INTER_AREA) / (32 * 64)
    wide, high = _grid_steps(across, columns), np.ascontiguousarray(_grid_steps(down, rows).T)
    fine, grain = details[1], diagonals[0]
    fall, deep_fall, white = details[0] - details[2] + fine - details[3], fine - details[4], grain - diagonals[1]
    maps = [fall, fine, deep_fall, grain, white, details[0], details[3], details[4], wide, high, light]
    rings = [[_ring(each, tiles) for tiles in RINGS] for each in maps]
    both = np.minimum(wide, high)

    def most(values: Floats) -> Floats:
        return np.asarray(ndimage.maximum_filter(values, 2, origin=-1), np.float32)

    # Several ways of standing out, for the candidates alone: the judge sees all measures.
    scores: dict[Oddity, tuple[Floats, ...]] = {
        "blur": (
            np.maximum(rings[0][0][1], rings[0][1][1]) - most(fall),
            rings[1][0][3] - most(fine),
            rings[2][0][3] - most(deep_fall),
        ),
        "noise": (-most(-grain) - rings[3][0][4], -most(-white) - rings[4][0][4]),
        "blocks": (-most(-both) - _ring(both, RINGS[1])[4],),
    }
    middles = [float(np.median(each)) for each in maps]
    followed = np.stack([cells[1] - cv2.blur(cells[3], (3, 3)), cells[1], cells[0], light_cells])
    likes = np.stack(
        [pairs(each) for each in (details[0], fine, details[3], details[4], grain, np.asarray(light * 64, np.float32))]
    )
    out = []
    for oddity, (score, *more) in scores.items():
        places = sorted({place for each in (score, *more) for place in _peaks(each)})
        for row, column in places:
            far = [score[y, x] for y, x in places if np.hypot(y - row, x - column) * TILE > FAR]
            lead = float(score[row, column] - max(far, default=score.min()))
            features = [float(score[row, column]), lead, float((score > score[row, column]).mean()) * 100]
            for each, around, middle in zip(maps, rings, middles, strict=True):
                own = float(each[row : row + 2, column : column + 2].mean())
                compared = [float(ring[rank, row, column]) - own for ring in around for rank in (1, 4, 6)]
                features += [own, middle - own, *compared]
            if oddity != "noise":
                features += [*outline(followed, 4 * row + 4, 4 * column + 4), *unlike(likes, row, column, FAR / TILE)]
            out.append(Candidate(oddity, Box(column * TILE, row * TILE, 2 * TILE, 2 * TILE), tuple(features)))
    return out


def _ring(values: Floats, tiles: int) -> Floats:
    """What lies so many tiles away in eight directions, the lowest first: 8 × rows × columns."""
    rows, columns = values.shape
    padded = np.pad(cv2.blur(values, (3, 3)), tiles, mode="edge")
    slanting = round(tiles * 0.7)
    steps = [(0, tiles), (tiles, 0), (slanting, slanting), (slanting, -slanting)]
    shifted = [
        padded[tiles + sign * y : tiles + sign * y + rows, tiles + sign * x : tiles + sign * x + columns]
        for y, x in steps
        for sign in (-1, 1)
    ]
    return np.sort(np.stack(shifted), axis=0)


def _peaks(score: Floats) -> list[tuple[int, int]]:
    """Rows and columns of the highest places of a map, no two of them close."""
    peak = np.where(ndimage.maximum_filter(score, 5) == score, score, -np.inf)
    order = np.argsort(-peak, axis=None)[:MOST_PLACES]
    found = ((int(at) // score.shape[1], int(at) % score.shape[1]) for at in order)
    return [place for place in found if np.isfinite(peak[place])]


def _haar(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Half-size sums, the mean of the three details, and the diagonal one alone; orthonormal."""
    a, b, c, d = values[0::2, 0::2], values[0::2, 1::2], values[1::2, 0::2], values[1::2, 1::2]
    ab, cd, a_b, c_d = a + b, c + d, a - b, c - d
    diagonal = np.abs(a_b - c_d) * np.float32(0.5)
    half = np.float32(0.5)
    details = np.asarray((np.abs(ab - cd) * half + np.abs(a_b + c_d) * half + diagonal) / 3, np.float32)
    return (ab + cd) * half, details, diagonal


def steps_along(grey: UInt8Image) -> Floats:
    """The mean step from each column to the next, in bands of rows: bands × (columns - 1)."""
    steps = cv2.absdiff(grey[:, 1:], grey[:, :-1])
    rows = steps.shape[0] // TILE * TILE
    return np.asarray(steps[:rows].reshape(-1, TILE, steps.shape[1]).sum(axis=1, dtype=np.uint16) / TILE, np.float32)


def _grid_steps(steps: Floats, tiles: int) -> Floats:
    """How far steps at one place of eight stand above the others, more than in the whole picture: bands × tiles."""
    filled = np.pad(steps, ((0, 0), (0, 1)), mode="edge")[:, : tiles * TILE]
    folded = cv2.blur(filled.reshape(len(steps), tiles, TILE // GRID, GRID).mean(axis=2), (3, 3))
    rest = (folded.sum(axis=2, keepdims=True) - folded) / (GRID - 1)
    above = (folded - rest) / (rest + 0.3)
    return np.asarray(np.log1p((above - np.median(above, axis=(0, 1))).max(axis=2).clip(0)), np.float32)


# --- seams ---


def _seams(grey: UInt8Image, steps: Floats, *, upright: bool) -> list[Candidate]:
    """Straight borders one pixel wide; of a turned picture the level ones."""
    usual = np.stack([np.roll(steps, shift, axis=1) for shift in (-4, -3, -2, 2, 3, 4)])
    level = np.median(usual, axis=0)
    near = np.maximum(np.roll(steps, 1, axis=1), np.roll(steps, -1, axis=1))
    # Edges of things go one way all along; where two parts do not fit, steps go both ways.
    sums = grey[: len(steps) * TILE].reshape(-1, TILE, grey.shape[1]).sum(axis=1, dtype=np.uint16)
    one_way = np.abs(np.diff(sums.astype(np.float32), axis=1)) / TILE
    excess = (steps - one_way / 2 - np.maximum(level, near)) / np.sqrt(level**2 / 8 + level + 0.5)
    excess = excess.clip(-0.5, 5)
    excess[:, :GRID] = excess[:, -GRID:] = 0
    run = ndimage.uniform_filter1d(excess, LONG, axis=0, origin=-(LONG // 2), mode="constant")
    peak = np.where(ndimage.maximum_filter(run, (LONG, 9)) == run, run, -1)
    order = np.argpartition(-peak, MOST_SEAMS, axis=None)[:MOST_SEAMS]
    places = [(int(at) // run.shape[1], int(at) % run.shape[1]) for at in order if peak.flat[at] > 0]
    strengths = sorted((float(run[place]) for place in places), reverse=True)
    out = []
    for row, column in places:
        own, bands = float(run[row, column]), excess[row : row + LONG, column]
        around = run[row, max(0, column - 40) : column + 41]
        periodic = max(float(run[row, (column + shift) % run.shape[1]]) for shift in (-GRID, GRID))
        others = sum(strength > 0.7 * own for strength in strengths)
        features = [
            own,
            float(bands.min()),
            own - max((each for each in strengths if each != own), default=0.0),
            float(np.log(others)),
            periodic,
            float(np.sort(around)[-3]),
            float(around.std()),
            float(np.log(level[row : row + LONG, column].mean() + 0.5)),
            *_misfit(grey[row * TILE : (row + LONG) * TILE, column - 1 : column + 3].astype(np.float32)),
        ]
        x, y, wide, high = column - 32, row * TILE, 64, LONG * TILE
        if not upright:
            x, y, wide, high = y, x, high, wide
        out.append(Candidate("seam", Box(max(0, x), max(0, y), wide, high), tuple(features)))
    return out


def _misfit(columns: Floats) -> list[float]:
    """Of four columns with a border in their middle: whether both sides fit, as they are or one moved along it."""
    before, left, right, after = columns.T
    inner = right[MOST_SHIFT:-MOST_SHIFT]
    beside = np.lib.stride_tricks.sliding_window_view(left, len(inner)) - inner
    moved = np.abs(beside).mean(axis=1)
    best = int(np.argmin(moved))
    still = float(moved[MOST_SHIFT])
    usual = float((np.abs(before - left).mean() + np.abs(right - after).mean()) / 2)
    middles = beside.mean(axis=1)
    fitted = float(np.abs(beside[MOST_SHIFT] - middles[MOST_SHIFT]).mean())
    one_way = abs(float(middles[MOST_SHIFT])) / max(still, 1e-6)
    return [
        float(np.log((still + 0.5) / (usual + 0.5))),
        float(np.log((moved[best] + 0.5) / (still + 0.5))),
        float(np.log((moved[best] + 0.5) / (usual + 0.5))),
        float(np.log((fitted + 0.5) / (usual + 0.5))),
        abs(best - MOST_SHIFT) / 10,
        one_way,
        float(np.log(left.std() + 1)),
        float(np.log((left.std() + 1) / (right.std() + 1))),
    ]


# --- scratches ---


def _scratches(rgb: UInt8Image, grey: UInt8Image) -> list[Candidate]:
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
    measured = [each for line in traced if (each := _along_line(rgb, grey, *line)) is not None]
    out = []
    for box, features in measured:
        # Wires, bars and blades come in numbers.
        others = [other for where, other in measured if _apart(where, box)]
        stronger = sum(other[0] > 0.6 * features[0] for other in others)
        lead = features[0] - max((other[0] for other in others), default=0)
        counts = [float(np.log1p(len(others))), float(np.log1p(stronger)), lead, float(np.log(marked.mean() + 1e-5))]
        out.append(Candidate("scratch", box, (*features, *counts)))
    return out


def _along_line(
    rgb: UInt8Image, grey: UInt8Image, x1: float, y1: float, x2: float, y2: float
) -> tuple[Box, list[float]] | None:
    """Measures of a line: how far off both its sides, how even, how straight, whether it ends; None if it is none."""
    length = float(np.hypot(x2 - x1, y2 - y1))
    beyond = 48 / length
    along = np.linspace(-beyond, 1 + beyond, int((length + 96) / 2), dtype=np.float32)[:, None]
    across = np.arange(-16, 17, dtype=np.float32)[None]
    left, top = (
        x1 + along * (x2 - x1) - across * (y2 - y1) / length,
        y1 + along * (y2 - y1) + across * (x2 - x1) / length,
    )
    # Cut out first: OpenCV takes no picture with a side above 32,766 pixels here.
    column, row = max(0, int(left.min()) - 1), max(0, int(top.min()) - 1)
    around = grey[row : int(top.max()) + 3, column : int(left.max()) + 3]
    if max(around.shape) > MOST_REMAPPED:
        return None
    places = ((left - column).astype(np.float32), (top - row).astype(np.float32))
    strip = cv2.remap(around, *places, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE).astype(np.float32)
    # It wanders by some pixels: at each point it is looked for within reach of the middle.
    middle, one, other = strip[:, 10:23], np.median(strip[:, :10], axis=1), np.median(strip[:, 23:], axis=1)
    ground, uneven = (one + other) / 2, np.abs(one - other) / 2
    grain = np.abs(np.concatenate([strip[:, :10] - one[:, None], strip[:, 23:] - other[:, None]], axis=1)).mean(axis=1)
    lighter = middle.max(axis=1) - ground, middle.max(axis=1), middle
    darker = ground - middle.min(axis=1), middle.min(axis=1), -middle
    inside = ((along >= 0) & (along <= 1))[:, 0]
    peak, own, risen = max(lighter, darker, key=lambda each: float(np.median(each[0][inside])))
    clear = (peak > LEAST_CONTRAST) & (peak > 2 * grain) & (peak > 2 * uneven)
    if clear[inside].mean() < 0.4:
        return None
    seen = clear & inside
    contrast, uniform = float(np.median(peak[seen])), float(np.std(own[seen]))
    at = risen.argmax(axis=1)[inside]
    thick = (risen[seen] > (risen[seen].max(axis=1) - peak[seen] / 2)[:, None]).sum(axis=1)
    # Paint and dust have a colour of their own, mostly grey; things of the scene are coloured as their likes are.
    colours = [
        rgb[
            top[seen, where].clip(0, grey.shape[0] - 1).astype(int),
            left[seen, where].clip(0, grey.shape[1] - 1).astype(int),
        ].astype(np.float32)
        for where in (risen.argmax(axis=1)[seen] + 10, 2, -3)
    ]
    chroma = [float(np.median(np.ptp(each, axis=1))) for each in colours]
    ends = [float(clear[part].mean()) for part in (along[:, 0] < 0, along[:, 0] > 1)]
    features = [
        float(clear[inside].mean()) * min(2.0, contrast / 50) * 12 / (6 + uniform),
        float(clear[inside].mean()),
        float(np.log(contrast)),
        float(np.log(uniform + 2)),
        float(np.log(np.std(ground[seen]) + 2)),
        float(np.log(grain[seen].mean() + 1)),
        float(np.log(uneven[seen].mean() + 1)),
        float(np.log(length)),
        float(np.median(thick)),
        float(np.std(thick)),
        float(np.abs(np.diff(at)).mean()),
        float(at.std()),
        max(ends),
        min(ends),
        float(np.median(own[seen])) / 64,
        float(own is lighter[1]),
        float(np.log(chroma[0] + 4)),
        float(np.log((chroma[1] + chroma[2]) / 2 + 4)),
        float(np.log(colours[0].std(axis=0).mean() + 2)),
        min(abs(x2 - x1), abs(y2 - y1)) / length,
    ]
    return Box(int(min(x1, x2)), int(min(y1, y2)), int(abs(x2 - x1)) + 1, int(abs(y2 - y1)) + 1), features
