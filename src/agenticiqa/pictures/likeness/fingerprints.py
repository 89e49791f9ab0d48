"""A small fingerprint of how a picture looks, and which of many pictures have fingerprints that are close.

The fingerprint holds the lowest frequencies of the picture's brightness, without its mean and its contrast: encoding,
scaling and brightening hardly move it. Cropping does, so a picture has six of them: of the whole, and of five windows
as a slight crop would leave them. A copy's whole then lies close to one of the original's windows.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator

import cv2
import numpy as np
import numpy.typing as npt

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


def as_text(prints: Fingerprints) -> str:
    return base64.b64encode(prints.tobytes()).decode("ascii")


def from_text(text: str) -> Fingerprints:
    return np.frombuffer(base64.b64decode(text), np.int8).reshape(VIEWS, NUMBERS)


def close_pairs(prints: npt.NDArray[np.int8], seed: int = 0) -> Pairs:
    """Pairs of pictures (first < second) that may show the same, the closest first.

    ``prints`` is pictures × views × numbers.
    Points are divided at random hyperplanes until few are left together, several times over: the cost grows with
    N log N, and two that are close share a leaf of at least one tree almost surely.
    """
    count = len(prints)
    points = np.divide(prints.reshape(count * VIEWS, NUMBERS), SCALE, dtype=np.float32)
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
