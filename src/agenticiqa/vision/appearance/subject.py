"""What draws the eye: where it lies in the frame, how large it is, how clearly it stands out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agenticiqa.vision.appearance.views import Floats

STANDS_OUT = 0.5
LEAST_SHARE = 0.003


@dataclass(frozen=True)
class Subject:
    """By a map of what stands out."""

    x: float
    """Of the middle of what stands out, as a share of the width from the left."""
    y: float
    share: float
    """Of the frame."""
    clearness: float
    """How much more the subject stands out than the rest does, 0 to 1."""
    left: float
    top: float
    right: float
    bottom: float
    """Of the box that holds all but a fiftieth of it, as shares of the frame."""

    @property
    def from_centre(self) -> float:
        """0 in the middle of the frame, 1 at the nearest edge."""
        return 2 * max(abs(self.x - 0.5), abs(self.y - 0.5))

    @property
    def from_thirds(self) -> float:
        """Distance to the nearest crossing of the lines of thirds, as a share of the frame."""
        return min(float(np.hypot(self.x - x, self.y - y)) for x in (1 / 3, 2 / 3) for y in (1 / 3, 2 / 3))


def subject_of(saliency: Floats) -> Subject | None:
    """None where nothing stands out.

    >>> spot = np.zeros((90, 90), np.float32); spot[20:40, 50:70] = 1
    >>> found = subject_of(spot)
    >>> found is not None and (round(found.x, 2), round(found.y, 2))
    (0.67, 0.33)
    """
    stands_out = saliency >= STANDS_OUT
    share = float(stands_out.mean())
    if share < LEAST_SHARE:
        return None
    height, width = saliency.shape
    weight = np.where(stands_out, saliency, 0)
    across, down = weight.sum(axis=0), weight.sum(axis=1)
    total = float(weight.sum())
    x = float((across * (np.arange(width) + 0.5)).sum()) / total / width
    y = float((down * (np.arange(height) + 0.5)).sum()) / total / height
    left, right = _ends(across)
    top, bottom = _ends(down)
    rest = saliency[~stands_out]
    clear = float(saliency[stands_out].mean()) - (float(rest.mean()) if rest.size else 0.0)
    return Subject(x, y, share, max(0.0, clear), left, top, right, bottom)


def _ends(along: Floats) -> tuple[float, float]:
    """Where all but a fiftieth lies, as shares of the length."""
    below = np.cumsum(along) / along.sum()
    first, last = int(np.searchsorted(below, 0.01)), int(np.searchsorted(below, 0.99))
    return first / len(along), min(1.0, (last + 1) / len(along))
