"""Two small networks that say where things are: what stands out from its surroundings, and faces.

``saliency.onnx`` is U²-Net-p, ``faces.onnx`` BlazeFace for faces at any distance; where they come from stands in
``weights/locators/locators.json``, how they were converted in ``training/convert_locators.py``.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from agenticiqa.pictures.images import Box, LoadedImage, UInt8Image
from agenticiqa.vision.appearance.views import reduced
from agenticiqa.vision.network import Floats, LRUCache, checked_file, described, loaded_once, open_session

LOCATORS = Path(__file__).with_name("weights") / "locators"

SALIENCY_SIDE, FACE_SIDE, FACE_GRID = 320, 192, 48
MAP_SIDE = 640
"""The network sees 320 pixels: a map of more holds nothing further."""
# The means and deviations of ImageNet, which U²-Net was trained with.
_MEAN = np.array([0.485, 0.456, 0.406], np.float32)
_DEVIATION = np.array([0.229, 0.224, 0.225], np.float32)
SURE_FACE = 0.7
"""Chance from which a find counts as a face."""
SMALLEST_FACE = 32
"""In pixels: smaller finds are often none (windows, fruit), and hold too little to judge anyway."""
SAME_FACE = 0.3
"""Two finds that overlap by this share of their union are one face."""
TILES = 2
"""Small things are looked for in so many tiles across and down, beside the whole picture."""


@dataclass(frozen=True)
class FoundObject:
    """What a network takes it for, how sure it is, and where."""

    label: str
    chance: float
    box: Box


class Locators:
    """The loaded networks. Safe to use from several threads."""

    def __init__(self, folder: Path = LOCATORS) -> None:
        files = described(folder, "locators.json")["files"]
        self._sessions = {name: open_session(checked_file(folder / name, digest)) for name, digest in files.items()}

    def saliency(self, rgb: UInt8Image) -> Floats:
        """How much each pixel stands out, 0..1, in the picture's own size."""
        small = cv2.resize(rgb, (SALIENCY_SIDE, SALIENCY_SIDE), interpolation=cv2.INTER_AREA).astype(np.float32)
        scaled = (small / max(float(small.max()), 1.0) - _MEAN) / _DEVIATION
        found = self._run("saliency.onnx", scaled)[0][0, 0]
        low, high = float(found.min()), float(found.max())
        spread = (found - low) / max(high - low, 1e-6)
        height, width = rgb.shape[:2]
        # Without anything that stands out the map is flat: stretching it would invent a subject.
        full = cv2.resize(spread * high, (width, height), interpolation=cv2.INTER_LINEAR)
        return np.asarray(full.clip(0, 1), np.float32)

    def faces(self, rgb: UInt8Image) -> list[Box]:
        """Boxes of faces, the surest first."""
        height, width = rgb.shape[:2]
        windows = [Box(0, 0, width, height), *tiles(width, height, FACE_SIDE)]
        finds = [find for window in windows for find in self._faces_in(rgb, window)]
        return [find.box for find in distinct(finds, SAME_FACE)]

    def _faces_in(self, rgb: UInt8Image, window: Box) -> list[FoundObject]:
        part = rgb[window.rows, window.columns]
        side = max(part.shape[:2])
        square = np.zeros((side, side, 3), np.uint8)
        square[: part.shape[0], : part.shape[1]] = part
        small = cv2.resize(square, (FACE_SIDE, FACE_SIDE), interpolation=cv2.INTER_AREA).astype(np.float32)
        places, logits = self._run("faces.onnx", small / 127.5 - 1)
        chances = 1 / (1 + np.exp(-np.clip(logits[0, :, 0], -50, 50)))
        found = []
        for index in np.flatnonzero(chances >= SURE_FACE):
            row, column = divmod(int(index), FACE_GRID)
            centre = (np.array([column, row]) + 0.5) / FACE_GRID + places[0, index, :2] / FACE_SIDE
            x, y = (centre - places[0, index, 2:4] / FACE_SIDE / 2) * side
            wide, high = places[0, index, 2:4] / FACE_SIDE * side
            box = _inside(window.x + x, window.y + y, wide, high, rgb.shape[1], rgb.shape[0])
            if box and min(box.width, box.height) >= SMALLEST_FACE:
                found.append(FoundObject("face", float(chances[index]), box))
        return found

    def _run(self, name: str, pixels: Floats) -> list[Floats]:
        session = self._sessions[name]
        picture = np.ascontiguousarray(pixels.transpose(2, 0, 1)[None], np.float32)
        found: list[Floats] = session.run(None, {session.get_inputs()[0].name: picture})
        return found


def tiles(width: int, height: int, least: int) -> list[Box]:
    """Overlapping windows, two thirds of the picture each way; none where they would be smaller than the network."""
    wide, high = max(1, width * 2 // 3), max(1, height * 2 // 3)
    if min(wide, high) < least:
        return []
    lefts, tops = np.linspace(0, width - wide, TILES), np.linspace(0, height - high, TILES)
    return [Box(round(x), round(y), wide, high) for y in tops for x in lefts]


def _inside(x: float, y: float, wide: float, high: float, width: int, height: int) -> Box | None:
    left, top = max(0, round(x)), max(0, round(y))
    right, bottom = min(width, round(x + wide)), min(height, round(y + high))
    return Box(left, top, right - left, bottom - top) if right > left and bottom > top else None


def distinct(finds: Iterable[FoundObject], same: float) -> list[FoundObject]:
    """The surest first; of those that overlap by the share ``same`` of their union, the surest alone."""
    kept: list[FoundObject] = []
    for find in sorted(finds, key=lambda each: -each.chance):
        if all(overlap(find.box, other.box) < same for other in kept):
            kept.append(find)
    return kept


def overlap(a: Box, b: Box) -> float:
    """Intersection over union.

    >>> overlap(Box(0, 0, 10, 10), Box(5, 0, 10, 10)) == 50 / 150
    True
    """
    wide = min(a.x + a.width, b.x + b.width) - max(a.x, b.x)
    high = min(a.y + a.height, b.y + b.height) - max(a.y, b.y)
    shared = max(0, wide) * max(0, high)
    return shared / (a.width * a.height + b.width * b.height - shared)


@loaded_once
def load_locators() -> Locators:
    return Locators(LOCATORS)


_saliency = LRUCache[Floats](max_size=4)


def saliency_map(image: LoadedImage) -> Floats:
    """How much each place stands out, 0..1, with the longer side at most 640 pixels; several questions ask for it."""

    def make() -> Floats:
        found = load_locators().saliency(reduced(image.rgb, MAP_SIDE))
        found.flags.writeable = False
        return found

    return _saliency.get(image.sha256, make)
