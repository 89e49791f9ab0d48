"""Where in a picture quality is lost: the vision model's score for every cell."""

from __future__ import annotations

import threading
from collections import OrderedDict

from agenticiqa.pictures.images import LoadedImage
from agenticiqa.vision.network import Floats, load_vision
from agenticiqa.vision.scene import Scene

KEPT = 8
"""Maps kept by the picture's content: a report and a comparison ask for the same one several times."""

_maps: OrderedDict[str, Floats] = OrderedDict()
_lock = threading.Lock()


def quality_map(image: LoadedImage, scene: Scene | None = None) -> Floats:
    """Rows × columns of cells (32×32 pixels), 1 (bad) to 5 (excellent); ``scene`` where it was looked at already."""
    with _lock:
        found = _maps.get(image.sha256)
    if found is None:
        found = (scene or Scene.of(load_vision(), image.rgb)).score_map()
        found.flags.writeable = False
        with _lock:
            _maps[image.sha256] = found
            while len(_maps) > KEPT:
                _maps.popitem(last=False)
    return found
