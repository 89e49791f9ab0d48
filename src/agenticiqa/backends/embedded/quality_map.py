"""Where in a picture quality is lost: the vision model's score for every cell."""

from __future__ import annotations

from agenticiqa.backends.embedded.provider import shared_model
from agenticiqa.backends.embedded.vision import Floats
from agenticiqa.images import LoadedImage


def quality_map(image: LoadedImage) -> Floats:
    """Rows × columns of cells (32×32 pixels), 1 (bad) to 5 (excellent)."""
    return shared_model().see(image.rgb).score_map()
