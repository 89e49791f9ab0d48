"""Compression: the real codecs, encoded and decoded in memory."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image, features

from agenticiqa.pictures.distortions.colour_spaces import Pixels
from agenticiqa.pictures.distortions.eight_bit import from_bytes, to_bytes
from agenticiqa.pictures.distortions.failure import DistortionError


def jpeg(rgb: Pixels, quality: float, rng: np.random.Generator) -> Pixels:
    """Baseline JPEG with chroma at half resolution, as most encoders do by default."""
    del rng
    buffer = io.BytesIO()
    Image.fromarray(to_bytes(rgb)).save(buffer, "JPEG", quality=round(quality), subsampling="4:2:0")
    return _decoded(buffer)


def jpeg2000(rgb: Pixels, ratio: float, rng: np.random.Generator) -> Pixels:
    """JPEG 2000, lossy wavelet, at a ratio of raw size to compressed size."""
    del rng
    if not features.check_codec("jpg_2000"):
        raise DistortionError(
            "This Pillow was built without JPEG 2000.", hint="Install Pillow's wheel from PyPI, or choose another kind."
        )
    picture = Image.fromarray(to_bytes(rgb))
    # Five wavelet levels need 32 pixels; smaller pictures get as many as they have room for.
    resolutions = max(1, min(6, min(picture.size).bit_length()))
    buffer = io.BytesIO()
    picture.save(
        buffer,
        "JPEG2000",
        quality_mode="rates",
        quality_layers=[float(ratio)],
        irreversible=True,
        num_resolutions=resolutions,
    )
    return _decoded(buffer)


def _decoded(buffer: io.BytesIO) -> Pixels:
    buffer.seek(0)
    with Image.open(buffer) as picture:
        return from_bytes(np.asarray(picture.convert("RGB")))
