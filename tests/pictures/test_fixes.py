"""What a fix does is what was done to the picture, undone."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from agenticiqa.pictures.fixes import WORKED_ON, fixed
from agenticiqa.state import Fix
from support.drawn import horizon
from support.pictures import scene

# A photograph is even over a few pixels.
PICTURE = cv2.GaussianBlur(np.asarray(scene(240, 320) // 2 + 60, np.uint8), (0, 0), 2)


def difference(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(one.astype(float) - other.astype(float)).mean())


@pytest.mark.parametrize(
    ("spoil", "kind", "amounts"),
    [
        (lambda rgb: (255 * ((rgb / 255) ** 2.2 / 4) ** (1 / 2.2)).astype(np.uint8), "exposure", (2.0,)),
        (lambda rgb: (rgb * 0.4 + 70).astype(np.uint8), "levels", (70, 172)),
        (lambda rgb: np.clip(rgb + np.random.default_rng(0).normal(0, 12, rgb.shape), 0, 255).astype(np.uint8),
         "denoise", (12.0,)),
    ],
)  # fmt: skip
def test_what_was_done_is_undone(spoil, kind, amounts):
    spoilt = spoil(PICTURE)
    assert difference(fixed(spoilt, Fix(kind=kind, amounts=amounts)), PICTURE) < difference(spoilt, PICTURE) / 2


def test_colours_lean_and_fade():
    grey = np.full((40, 60, 3), 128, np.uint8)
    leaning = fixed(grey, Fix(kind="white_balance", amounts=(20.0, 180.0)))
    assert leaning[..., 0].mean() > 140
    back = fixed(leaning, Fix(kind="white_balance", amounts=(20.0, 0.0)))
    assert difference(back, grey) < 2
    faded = fixed(PICTURE, Fix(kind="saturation", amounts=(0.3,)))
    assert np.ptp(faded.astype(int), axis=2).mean() < np.ptp(PICTURE.astype(int), axis=2).mean()


def test_sharpened_edges_are_steeper():
    step = np.repeat(np.linspace(60, 190, 40).astype(np.uint8)[None, :, None], 30, axis=0).repeat(3, axis=2)
    assert np.abs(np.diff(fixed(step, Fix(kind="sharpen", amounts=(1.0,))).astype(int), axis=1)).max() >= 3


@pytest.mark.parametrize("degrees", [5.0, -5.0])
def test_a_sloping_horizon_is_levelled_without_empty_corners(degrees):
    from agenticiqa.vision.appearance.symmetry import tilt

    sloping = horizon(3, degrees)
    found = tilt(sloping)
    assert found is not None
    level = fixed(sloping, Fix(kind="turn", amounts=(found.degrees,)))
    after = tilt(level)
    assert after is not None
    assert abs(after.degrees) < 1
    assert level.shape[1] / level.shape[0] == pytest.approx(sloping.shape[1] / sloping.shape[0], abs=0.02)
    assert min(level[0, 0].max(), level[-1, -1].max()) > 0


def test_a_crop_and_a_picture_that_is_too_large():
    large = np.zeros((4000, 4000, 3), np.uint8)
    cut = fixed(large, Fix(kind="crop", amounts=(1000, 1000, 2000, 1000)))
    scale = (WORKED_ON / large[..., 0].size) ** 0.5
    assert cut.shape[:2] == (round(1000 * scale), round(2000 * scale))
