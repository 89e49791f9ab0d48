"""Printed calibration rows are repaired without changing their shape."""

from __future__ import annotations

import pytest
from training.printed_rows import stretched

from agenticiqa.tools.calibration import load_calibrations


def test_stretching_moves_both_ends() -> None:
    both = stretched(load_calibrations()["SSIM"], 4.5, 1.2)
    assert both.ends == pytest.approx((1.2, 4.5))
