"""Clipping probe: how much of the picture is blown out or crushed."""

from __future__ import annotations

import numpy as np

from agenticiqa.tools.metrics.base import Array, Measurement, MetricSpec
from agenticiqa.tools.metrics.filters import channel_extremes, strips
from agenticiqa.tools.metrics.views import Picture, Views

SPEC = MetricSpec(
    name="clipping",
    kind="probe",
    range=(0.0, 100.0),
    higher_is_better=False,
    variant="share of pixels whose three channels are all at least 253/255 (highlights) or at most 2/255 (shadows)",
    paper="no single source; a count",
    good_at=("Brightness change", "Contrast"),
    unit="percent",
    bytes_per_pixel=7,
)

WHITE, BLACK = 252.5 / 255, 2.5 / 255


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """Percent of pixels without detail at either end; the map marks them +1 (white) and -1 (black).

    >>> measure(np.array([[0.0, 1.0, 0.5, 0.5]])).value
    50.0
    """
    views = Views.of(test, reference, SPEC)
    picture = views.test
    kept = np.zeros(picture.size, np.float32)
    one_channel = 0
    for start, stop in strips(*picture.size):
        rgb = picture.rgb_rows(start, stop)
        high, low = channel_extremes(rgb)
        kept[start:stop] = (low >= WHITE).astype(np.float32) - (high <= BLACK)
        one_channel += int(np.count_nonzero(high >= WHITE))
    pixels = kept.size
    highlights = 100 * int(np.count_nonzero(kept > 0)) / pixels
    shadows = 100 * int(np.count_nonzero(kept < 0)) / pixels
    details = {
        "highlights": highlights,
        "shadows": shadows,
        "any_channel_highlights": 100 * one_channel / pixels,
    }
    return Measurement(highlights + shadows, map=kept, details=details)
