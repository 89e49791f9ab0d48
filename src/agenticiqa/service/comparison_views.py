"""A recorded comparison with its pictures where they are on this server: its difference map and its page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PIL import Image

from agenticiqa.comparison.comparing import difference_of, open_pictures
from agenticiqa.comparison.page import render_page
from agenticiqa.comparison.result import Comparison
from agenticiqa.images import ImageLimits, png_bytes
from agenticiqa.service.pipeline_work import assessment_of
from agenticiqa.service.problems import ServiceError
from agenticiqa.service.shelf import ShelvedPicture


def difference_picture(pictures: Mapping[str, ShelvedPicture], limits: ImageLimits) -> bytes:
    """The first picture in grey; blue where it is better, orange where the second is."""
    reference = pictures.get("reference")
    opened = open_pictures(
        pictures["image_a"].path, pictures["image_b"].path, reference.path if reference else None, limits
    )
    difference = difference_of(opened)
    if difference is None:
        raise ServiceError(409, "no_difference_map", "No difference map can be made of these pictures.")
    return png_bytes(Image.fromarray(difference.picture(opened.a.rgb)))


def comparison_page(result: Mapping[str, Any], pictures: Mapping[str, ShelvedPicture]) -> str:
    return render_page(_located(Comparison.model_validate(result), pictures))


def _located(found: Comparison, pictures: Mapping[str, ShelvedPicture]) -> Comparison:
    reference = pictures.get("reference")
    sides = {
        side: assessment_of(own.model_dump(mode="json"), {**pictures, "image": pictures[f"image_{side}"]})
        for side, own in (("a", found.a), ("b", found.b))
        if own is not None
    }
    return found.model_copy(
        update={
            "image_a": str(pictures["image_a"].path),
            "image_b": str(pictures["image_b"].path),
            "reference_path": str(reference.path) if reference else None,
            **sides,
        }
    )
