"""What stands out of a picture, looked for once: several questions about one picture ask for it."""

from __future__ import annotations

import threading
from collections import OrderedDict

from agenticiqa.pictures.images import LoadedImage
from agenticiqa.vision.appearance.views import reduced
from agenticiqa.vision.locators import load_locators
from agenticiqa.vision.network import Floats

SIDE = 640
"""The network sees 320 pixels: a map of more holds nothing further."""
KEPT = 4

_maps: OrderedDict[str, Floats] = OrderedDict()
_lock = threading.Lock()


def saliency_map(image: LoadedImage) -> Floats:
    """How much each place stands out, 0..1, with the longer side at most 640 pixels."""
    with _lock:
        found = _maps.get(image.sha256)
    if found is None:
        found = load_locators().saliency(reduced(image.rgb, SIDE))
        found.flags.writeable = False
        with _lock:
            _maps[image.sha256] = found
            while len(_maps) > KEPT:
                _maps.popitem(last=False)
    return found
