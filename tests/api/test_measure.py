"""Pictures scaled to their reference keep their precision."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from agenticiqa.pictures.images import LoadedImage, decode_image
from agenticiqa.pictures.inputs import resized


def deep_picture() -> LoadedImage:
    """A 16-bit ramp so gentle that 8 bits would turn it into steps."""
    ramp = np.linspace(20000, 21000, 160).astype(np.uint16)
    pixels = np.repeat(np.tile(ramp, (120, 1))[..., None], 3, axis=2)
    return decode_image(cv2.imencode(".png", pixels)[1].tobytes(), path="ramp.png")


@pytest.mark.parametrize("size", [(80, 60), (233, 177)])
def test_scaling_rounds_to_no_less_than_16_bits(size: tuple[int, int]) -> None:
    picture = deep_picture()
    found = resized(picture, size)
    assert found.size == size
    assert found.measurable.dtype == np.uint16
    method = cv2.INTER_AREA if size[0] < 160 else cv2.INTER_CUBIC
    expected = cv2.resize(picture.pixels, size, interpolation=method)
    assert np.abs(found.pixels - expected).max() < 1 / 65535


def test_scaling_an_8_bit_picture_keeps_what_lies_between_its_levels() -> None:
    pixels = np.zeros((64, 64, 3), np.uint8)
    pixels[::2] = 1
    picture = decode_image(cv2.imencode(".png", pixels)[1].tobytes(), path="lines.png")
    assert resized(picture, (32, 32)).pixels.mean() == pytest.approx(0.5 / 255, abs=1 / 65535)
