"""Where in a picture quality is lost: the vision model's score for every cell."""

from __future__ import annotations

from agenticiqa.backends.embedded.scene import Scene
from agenticiqa.backends.embedded.vision import Floats, load_vision
from agenticiqa.images import LoadedImage


def quality_map(image: LoadedImage) -> Floats:
    """Rows × columns of cells (32×32 pixels), 1 (bad) to 5 (excellent)."""
    return Scene.of(load_vision(), image.rgb).score_map()
