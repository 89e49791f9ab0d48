"""Blockiness probe: steps on an 8×8 grid."""

from __future__ import annotations

import numpy as np

from agenticiqa.tools.metrics.base import Array, FloatArray, Measurement, MetricSpec
from agenticiqa.tools.metrics.views import Picture, Views

SPEC = MetricSpec(
    name="blockiness",
    kind="probe",
    range=(0.0, 100.0),
    higher_is_better=False,
    variant="mean step across the lines of the strongest 8×8 grid over the mean step elsewhere, minus one; "
    "steps are cut at 12 levels so that texture does not drown them; clean pictures stay below 0.1",
    paper="after Wang, Bovik and Evans, Blind measurement of blocking artifacts in images, ICIP, 2000",
    good_at=("Compression", "Spatial distortions"),
    minimum_size=(24, 24),
    bytes_per_pixel=18,
)

PERIOD = 8
LARGEST_STEP = np.float32(12 / 255)


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """Excess of steps on the block grid, 0 for none.

    >>> blocks = np.kron(np.random.default_rng(0).random((8, 8)) * 0.04, np.ones((8, 8)))
    >>> measure(blocks).value > 5
    True
    """
    views = Views.of(test, reference, SPEC)
    luma = views.test.luma()
    across, offset_x = _excess(luma, axis=1)
    down, offset_y = _excess(luma, axis=0)
    value = min(SPEC.range[1], (across + down) / 2)
    details = {"across": across, "down": down, "grid_x": float(offset_x), "grid_y": float(offset_y)}
    return Measurement(value, details=details)


def _excess(luma: FloatArray, axis: int) -> tuple[float, int]:
    steps = np.minimum(np.abs(np.diff(luma, axis=axis)), LARGEST_STEP).mean(axis=1 - axis, dtype=np.float64)
    by_phase = np.array([steps[phase::PERIOD].mean() for phase in range(PERIOD)])
    strongest = int(by_phase.argmax())
    others = np.delete(by_phase, strongest)
    # A tenth of a level keeps flat pictures from dividing dust by dust.
    floor = 0.1 / 255
    excess = (by_phase[strongest] - others.max()) / (others.mean() + floor)
    # Steps between columns 7 and 8 sit at phase 7: that grid starts at 0.
    return float(np.clip(excess, 0, SPEC.range[1])), (strongest + 1) % PERIOD
