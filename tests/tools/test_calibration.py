"""The curves from raw metric values to opinion: known values, direction, range and refusal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from training.recalibrate import save_calibrations

from agenticiqa.tools.calibration import (
    Calibration,
    CalibrationError,
    check,
    five_parameter_logistic,
    load_calibrations,
    paper_coefficients,
)

IN_USE = load_calibrations()
UNCHANGED_PICTURE = 4.6


@pytest.mark.parametrize(
    ("tool", "raw", "score"), [("SSIM", 0.9, 3.06), ("NIQE", 3.0, 3.39), ("TOPIQ_FR", 0.5, 2.81), ("QAlign", 5.0, 4.57)]
)
def test_printed_rows_give_the_known_scores(tool: str, raw: float, score: float) -> None:
    assert five_parameter_logistic(raw, *paper_coefficients()[tool]) == pytest.approx(score, abs=0.005)


def test_all_printed_rows_are_kept() -> None:
    assert len(paper_coefficients()) == 24


@pytest.mark.parametrize("tool", ["SSIM", "TOPIQ_FR", "QAlign"])
def test_usable_printed_rows_are_in_use(tool: str) -> None:
    assert IN_USE[tool].coefficients == paper_coefficients()[tool]
    assert IN_USE[tool].origin == "paper"


@pytest.mark.parametrize("tool", sorted(IN_USE))
def test_curves_in_use_are_monotone_and_on_the_scale(tool: str) -> None:
    calibration = IN_USE[tool]
    low, high = calibration.value_range
    raw = np.linspace(low, high, 5001)
    scores = calibration.curve(raw if calibration.higher_is_better else raw[::-1])
    assert np.diff(scores).min() >= -1e-9
    assert scores.min() >= 1
    assert scores.max() <= 5


@pytest.mark.parametrize("tool", sorted(IN_USE))
def test_curves_in_use_say_where_they_come_from(tool: str) -> None:
    assert len(IN_USE[tool].source) > 20


@pytest.mark.parametrize("tool", sorted(IN_USE))
def test_values_beyond_the_range_count_as_its_ends(tool: str) -> None:
    calibration = IN_USE[tool]
    low, high = calibration.value_range
    assert calibration(low - 1e6) == calibration(low)
    assert calibration(high + 1e6) == calibration(high)


@pytest.mark.parametrize("raw", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_is_none_is_refused(raw: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        IN_USE["SSIM"](raw)


@given(
    x=st.floats(-1e300, 1e300),
    b1=st.floats(-100, 100),
    b2=st.floats(-1e6, 1e6),
    b3=st.floats(-200, 200),
)
def test_the_logistic_never_overflows(x: float, b1: float, b2: float, b3: float) -> None:
    assert abs(five_parameter_logistic(x, b1, b2, b3, 0.0, 3.0) - 3.0) <= abs(b1) / 2 + 1e-9


def test_a_curve_that_runs_backwards_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    save_calibrations({"CKDN": Calibration(paper_coefficients()["CKDN"], "as printed", (0, 1), True)}, path)
    with pytest.raises(CalibrationError, match="CKDN"):
        load_calibrations(path)


def test_a_curve_that_cannot_reach_the_ends_is_refused() -> None:
    assert "spans only" in (check(Calibration(paper_coefficients()["NIQE"], "as printed", (0, 100), False)) or "")


@pytest.mark.parametrize(
    "change",
    [
        {"coefficients": (float("nan"), 1, 0, 0, 3)},
        {"value_range": (1.0, 1.0)},
        {"value_range": (1.0, 0.0)},
        {"span": (-2.0, 0.5)},
        {"higher_is_better": False},
    ],
)
def test_broken_curves_are_found(change: dict[str, object]) -> None:
    assert check(replace(IN_USE["SSIM"], **change)) is not None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "in_use: 3",
        "[",
        "in_use: {A: {coefficients: [1, 2]}}",
        "in_use: {A: {coefficients: [4, 9, 0.5, 0, 3], range: [0, 1], source: x, higher_is_better: maybe}}",
        "in_use: {A: {coefficients: [4, 9, 0.5, 0, 3], range: [0], source: x, higher_is_better: true}}",
    ],
)
def test_a_malformed_file_is_a_typed_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(CalibrationError):
        load_calibrations(path)


def test_a_missing_file_is_a_typed_error(tmp_path: Path) -> None:
    with pytest.raises(CalibrationError):
        load_calibrations(tmp_path / "none.yaml")
