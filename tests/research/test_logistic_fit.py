"""The fitted curve: published ones, known parameters, and the limits that the module promises."""

from __future__ import annotations

import numpy as np
import pytest

from agenticiqa.research.statistics import FEWEST_SAMPLES, fit_logistic
from agenticiqa.tools.calibration import five_parameter_logistic, load_calibrations, paper_coefficients


@pytest.mark.parametrize(
    "coefficients", [(60, 2.5, 3.1, 4, 40), (-3, 1.7, 2.5, -0.2, 3), (1.2, 3, 2, 0.6, 1), (8, 0.9, 3, 0.1, -4)]
)
def test_five_parameters_are_recovered(coefficients):
    x = np.linspace(1, 5, 60)
    y = five_parameter_logistic(x, *coefficients)
    fit = fit_logistic(x, y)
    assert fit.squared_error < 1e-9
    assert fit(x) == pytest.approx(y, abs=1e-5)
    assert fit.coefficients == pytest.approx(coefficients, rel=1e-3, abs=1e-3)


def test_five_parameters_are_recovered_about_from_noisy_opinions():
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 5, 800)
    truth = five_parameter_logistic(x, 60, 2.5, 3.1, 4, 40)
    fit = fit_logistic(x, truth + rng.normal(0, 5, x.size))
    assert np.sqrt(np.mean((fit(x) - truth) ** 2)) < 1.0


@pytest.mark.parametrize("seed", range(5))
def test_five_parameters_are_never_worse_than_a_line(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=50)
    y = rng.normal(0, 2, 50) + x
    line = np.polyval(np.polyfit(x, y, 1), x)
    assert fit_logistic(x, y).squared_error <= np.sum((line - y) ** 2) * (1 + 1e-9)


def test_units_do_not_matter():
    rng = np.random.default_rng(1)
    x = rng.uniform(1, 5, 200)
    y = np.tanh(x - 3) + rng.normal(0, 0.1, 200)
    plain, scaled = fit_logistic(x, y), fit_logistic(100 * x - 7, 1400 + 30 * y)
    assert scaled(100 * x - 7) == pytest.approx(1400 + 30 * plain(x), abs=1e-3)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (np.arange(FEWEST_SAMPLES - 1.0), np.arange(FEWEST_SAMPLES - 1.0)),
        (np.ones(40), np.arange(40.0)),
        (np.arange(40.0), np.ones(40)),
    ],
)
def test_data_that_carry_no_curve_give_none(x, y):
    assert fit_logistic(x, y) is None


PUBLISHED = ("SSIM", "FSIM", "GMSD", "LPIPS", "DISTS", "MUSIQ", "HyperIQA", "BRISQUE")


@pytest.mark.parametrize("tool", PUBLISHED)
def test_five_parameters_give_the_curves_that_the_agenticiqa_authors_printed(tool):
    """Points on a printed curve are fitted by that curve again: the same form, found without knowing its numbers."""
    printed = paper_coefficients()[tool]
    low, high = load_calibrations()[tool].value_range
    raw = np.linspace(low, high, 60)
    opinions = five_parameter_logistic(raw, *printed)
    fit = fit_logistic(raw, opinions)
    assert fit is not None
    assert fit(raw) == pytest.approx(opinions, abs=2e-3 * float(np.ptp(opinions)))
