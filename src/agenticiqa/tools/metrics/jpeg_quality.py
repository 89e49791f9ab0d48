"""JPEG quality read from a file's own quantisation tables; nothing is estimated from pixels."""

from collections.abc import Mapping, Sequence
from io import BytesIO

import numpy as np

from agenticiqa.tools.metrics.base import Array, MetricInputError

# Annex K of ITU-T T.81: the luminance table that encoders scale by their quality setting, row by row.
STANDARD = np.array(
    [
        [16, 11, 10, 16, 24, 40, 51, 61],
        [12, 12, 14, 19, 26, 58, 60, 55],
        [14, 13, 16, 24, 40, 57, 69, 56],
        [14, 17, 22, 29, 51, 87, 80, 62],
        [18, 22, 37, 56, 68, 109, 103, 77],
        [24, 35, 55, 64, 81, 104, 113, 92],
        [49, 64, 78, 87, 103, 121, 120, 101],
        [72, 92, 95, 98, 112, 100, 103, 99],
    ]
)


def jpeg_quality(tables: Mapping[int, Sequence[int]]) -> float:
    """The 1..100 setting of the IJG encoder whose luminance table comes nearest; ``tables`` as Pillow gives them."""
    luminance = np.asarray(tables.get(0, ()), np.float64)
    if luminance.size != STANDARD.size:
        raise MetricInputError("a JPEG luminance table has 64 values; is this picture a JPEG file?")
    distances = [float(np.abs(_table(quality) - luminance).sum()) for quality in range(1, 101)]
    return float(1 + int(np.argmin(distances)))


def jpeg_quality_of_file(data: bytes) -> float | None:
    """The quality of an encoded picture, or ``None`` when it is no JPEG."""
    from PIL import Image

    with Image.open(BytesIO(data)) as image:
        tables = getattr(image, "quantization", None)
        return jpeg_quality(tables) if tables else None


def _table(quality: int) -> Array:
    scale = 5000 / quality if quality < 50 else 200 - 2 * quality
    return np.clip(np.floor((STANDARD.ravel() * scale + 50) / 100), 1, 255)
