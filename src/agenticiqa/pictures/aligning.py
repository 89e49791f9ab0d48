"""Pictures of one size, which comparing with a reference needs: others are refused, or scaled where that was asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import cv2
import numpy as np

from agenticiqa.errors import ImageError
from agenticiqa.pictures.images import LoadedImage, decode_image
from agenticiqa.runtime.config import ImageLimits

Align = Literal["none", "resize"]


def refuse_other_size(test: LoadedImage, reference: LoadedImage) -> None:
    """A picture and its reference are compared place by place."""
    if test.size != reference.size:
        sizes = [f"{width}×{height}" for width, height in (test.size, reference.size)]
        raise ImageError(
            f"The picture has {sizes[0]} pixels and its reference {sizes[1]}.",
            hint="Give a reference of the picture's size, or have the picture scaled to it (align: resize).",
        )


def aligned(test: LoadedImage, reference: LoadedImage) -> LoadedImage:
    """The picture at its reference's size, with a note where it had to be scaled."""
    if test.size == reference.size:
        return test
    (width, height), (wide, high) = test.size, reference.size
    note = f"scaled from {width}×{height} to its reference's {wide}×{high}"
    scaled = resized(test, reference.size)
    return replace(scaled, notes=(*test.notes, note))


def resized(image: LoadedImage, size: tuple[int, int]) -> LoadedImage:
    """The picture scaled to (width, height): an honest comparison only where the user asked for it.

    The samples are scaled as floats and kept in 16 bits, so that scaling adds no rounding of its own to the score.
    """
    shrinking = size[0] < image.size[0]
    samples = cv2.resize(image.pixels, size, interpolation=cv2.INTER_AREA if shrinking else cv2.INTER_CUBIC)
    deep = np.rint(np.clip(samples, 0, 1) * 65535).astype(np.uint16)
    data = cv2.imencode(".png", cv2.cvtColor(deep, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_PNG_COMPRESSION, 1])[1].tobytes()
    return decode_image(data, path=image.path, limits=ImageLimits(max_pixels=size[0] * size[1]))
