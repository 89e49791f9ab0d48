"""The pictures of a run, labelled for a model."""

from __future__ import annotations

from agenticiqa.models.client import REFERENCE_IMAGE_LABEL, TEST_IMAGE_LABEL, LabelledImage
from agenticiqa.nodes.run_context import RunContext
from agenticiqa.state import AgenticIQAState


def labelled_pictures(state: AgenticIQAState, context: RunContext) -> tuple[LabelledImage, ...]:
    """The test picture and, where there is one, the reference."""
    pictures = [LabelledImage(TEST_IMAGE_LABEL, context.image(state["image_path"]))]
    reference = state.get("reference_path")
    if reference:
        pictures.append(LabelledImage(REFERENCE_IMAGE_LABEL, context.image(reference)))
    return tuple(pictures)
