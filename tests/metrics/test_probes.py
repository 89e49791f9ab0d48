"""Each probe's quantity moves the right way, and by the right amount where the amount is known."""

from __future__ import annotations

import numpy as np
import pytest
from pictures import blurred, noisy, scene

from agenticiqa.tools.metrics import METRICS


def value(name: str, picture: np.ndarray) -> float:
    return METRICS[name].measure(picture).value


def details(name: str, picture: np.ndarray) -> dict[str, float]:
    return METRICS[name].measure(picture).details


def test_edge_width_grows_with_blur() -> None:
    picture = scene(256, 320, seed=2)
    widths = [value("sharpness", blurred(picture, sigma)) for sigma in (0.4, 1.0, 2.0, 4.0)]
    assert widths == sorted(widths)
    assert widths[-1] > 3 * widths[0]


@pytest.mark.parametrize("sigma", [1.5, 2.5, 4.0])
def test_edge_width_of_a_blurred_step_is_known(sigma: float) -> None:
    step = np.zeros((96, 128, 3), np.float32)
    step[:, 64:] = 1
    assert value("sharpness", blurred(step, sigma)) == pytest.approx(np.sqrt(2 * np.pi) * sigma, rel=0.05)


@pytest.mark.parametrize("sigma", [2.0, 5.0, 10.0, 20.0])
def test_noise_sigma_is_recovered_on_texture(sigma: float) -> None:
    picture = blurred(scene(384, 512, seed=4) * 0.6 + 0.2, 0.8)
    assert value("noise", noisy(picture, sigma)) == pytest.approx(sigma, rel=0.2, abs=0.5)


def test_noise_of_a_clean_picture_is_small() -> None:
    assert value("noise", blurred(scene(384, 512, seed=4), 0.8)) < 1.5
