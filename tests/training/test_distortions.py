"""The distortion generator: types, repeatability, strength, and the numbers of the protocol."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from itertools import pairwise

import cv2
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from training.distortions import (
    DISTORTIONS,
    LEVELS,
    DistortionError,
    combine,
    distort,
    expected_opinion,
    find,
)

from agenticiqa.vocabulary import CATEGORIES
from support.command_line import CommandLine
from support.pictures import save

KINDS = sorted(DISTORTIONS)
# Of the amounts, opinions and deviations that Lin, Hosu and Saupe publish.
DIGEST = "284bcf60d9f2ad649aa19c072fd098f18e96c0d96dac97acd4f0f5083b6d0893"
Picture = npt.NDArray[np.uint8]


def scene(height: int = 96, width: int = 128) -> Picture:
    """Soft colour, hard edges and texture: something for every distortion to damage."""
    rng = np.random.default_rng(5)
    y, x = np.mgrid[:height, :width] / max(height, width)
    base = np.stack([0.2 + 0.6 * x, 0.3 + 0.4 * y, 0.7 - 0.5 * x], axis=2)
    base[height // 4 : height // 2, width // 4 : width // 2] = (0.85, 0.25, 0.15)
    texture = cv2.GaussianBlur(rng.standard_normal((height, width)), (0, 0), 1.2)
    base[:, width // 2 :] += 0.25 * texture[:, width // 2 :, None]
    base[0, 0], base[-1, -1] = 0, 1
    return np.rint(base.clip(0, 1) * 255).astype(np.uint8)


def damage(picture: Picture, kind: str, level: float) -> float:
    changed = distort(picture, kind, level, seed=1).astype(float)
    return float(np.mean((changed - picture) ** 2))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_shape_and_type_stay(kind: str, dtype: type) -> None:
    picture = scene() if dtype is np.uint8 else (scene() / 255).astype(dtype)
    before = picture.copy()
    changed = distort(picture, kind, 3)
    assert changed.shape == picture.shape
    assert changed.dtype == picture.dtype
    assert np.array_equal(picture, before)
    if dtype is not np.uint8:
        assert 0 <= changed.min() <= changed.max() <= 1


@pytest.mark.parametrize("kind", KINDS)
def test_equal_seeds_give_equal_pictures(kind: str) -> None:
    assert np.array_equal(distort(scene(), kind, 4, seed=7), distort(scene(), kind, 4, seed=7))


@pytest.mark.parametrize(
    "kind", ["motion_blur", "color_shift", "white_noise", "jitter", "color_block", "non_eccentricity_patch"]
)
def test_random_kinds_follow_the_seed(kind: str) -> None:
    assert not np.array_equal(distort(scene(), kind, 4, seed=1), distort(scene(), kind, 4, seed=2))


@pytest.mark.hard
@pytest.mark.parametrize("kind", [kind for kind in KINDS if DISTORTIONS[kind].neutral is None])
def test_a_stronger_level_changes_more(kind: str) -> None:
    errors = [damage(scene(384, 512), kind, level) for level in LEVELS]
    assert all(stronger >= 0.98 * weaker for weaker, stronger in pairwise(errors)), errors
    assert errors[-1] > 1.5 * errors[0]


def test_kinds_with_a_neutral_middle_change_least_there() -> None:
    assert damage(scene(), "mean_shift", 3) == 0
    assert damage(scene(), "mean_shift", 1) > damage(scene(), "mean_shift", 2) > 0
    assert damage(scene(), "contrast_change", 5) > damage(scene(), "contrast_change", 4) > 0


@pytest.mark.parametrize(("kind", "level"), [("color_saturation_2", 1), ("motion_blur", 1), ("gaussian_blur", 1)])
def test_levels_that_leave_the_picture_alone(kind: str, level: int) -> None:
    assert damage(scene(), kind, level) < 0.5


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [(1, 1), (1, 40), (7, 5), (33, 31)])
def test_odd_and_tiny_pictures_work(kind: str, size: tuple[int, int]) -> None:
    picture = np.random.default_rng(0).integers(0, 256, (*size, 3), dtype=np.uint8)
    assert distort(picture, kind, 5).shape == picture.shape


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [0, 255])
def test_constant_pictures_work(kind: str, value: int) -> None:
    assert distort(np.full((40, 48, 3), value, np.uint8), kind, 4).shape == (40, 48, 3)


@given(kind=st.sampled_from(KINDS), level=st.floats(1, 5), seed=st.integers(0, 2**40))
@settings(max_examples=60, deadline=None)
def test_fractional_levels_work(kind: str, level: float, seed: int) -> None:
    assert distort(scene(48, 64), kind, level, seed=seed).dtype == np.uint8


# --- what each kind means --------------------------------------------------------------------------------


def test_blur_removes_detail_and_sharpening_adds_it() -> None:
    def detail(picture: Picture) -> float:
        return float(cv2.Laplacian(picture.astype(np.float32), cv2.CV_32F).var())

    clear = detail(scene())
    assert detail(distort(scene(), "gaussian_blur", 4)) < 0.3 * clear
    assert detail(distort(scene(), "high_sharpen", 3)) > 2 * clear


def test_noise_has_the_stated_variance() -> None:
    grey = np.full((256, 256, 3), 0.5)
    assert distort(grey, "white_noise", 4).var() == pytest.approx(0.005, rel=0.03)
    assert distort(grey, "multiplicative_noise", 3).var() == pytest.approx(0.01 * 0.25, rel=0.03)
    hit = distort(grey, "impulse_noise", 5)
    assert np.mean(hit != 0.5) == pytest.approx(0.03, rel=0.1)
    assert set(np.unique(hit)) == {0.0, 0.5, 1.0}


def test_few_colours_are_few() -> None:
    colours = np.unique(distort(scene(), "color_quantization", 5).reshape(-1, 3), axis=0)
    assert len(colours) <= 8
    assert len(np.unique(distort(scene(), "quantization", 5))) <= 8


def test_saturation_without_colour_is_grey() -> None:
    grey = distort(scene(), "color_saturation_1", 4)
    assert np.array_equal(grey[..., 0], grey[..., 2])


def test_brightness_moves_the_right_way() -> None:
    mean = scene().mean()
    assert distort(scene(), "brighten", 3).mean() > mean > distort(scene(), "darken", 3).mean()


def test_brightening_moves_the_middle_by_half_the_amount() -> None:
    middle = np.full((4, 4, 3), 0.5)
    # Lightness takes a third of the curve and starts elsewhere, hence the tolerance.
    assert distort(middle, "brighten", 3).mean() == pytest.approx(0.7, abs=0.02)


def test_blocks_are_uniform_and_as_many_as_stated() -> None:
    changed = (distort(scene(384, 512), "color_block", 1) != scene(384, 512)).any(axis=2)
    assert 32 * 32 < changed.sum() <= 2 * 32 * 32


def test_full_range_reaches_black_and_white() -> None:
    dull = (64 + scene() // 4).astype(np.uint8)
    stretched = distort(dull, "mean_shift", 3, full_range=True)
    assert (stretched.min(), stretched.max()) == (0, 255)


# --- the protocol ----------------------------------------------------------------------------------------


def test_the_protocol_is_complete() -> None:
    assert [distortion.number for distortion in DISTORTIONS.values()] == list(range(1, 26))
    assert {distortion.category for distortion in DISTORTIONS.values()} == set(CATEGORIES)


@pytest.mark.parametrize(
    ("kind", "level", "opinion"),
    [("gaussian_blur", 1, 4.6122), ("jpeg", 5, 1.3502), ("mean_shift", 3, 4.603), ("contrast_change", 4, 4.1415)],
)
def test_published_opinions(kind: str, level: int, opinion: float) -> None:
    assert expected_opinion(kind, level) == opinion


def test_opinions_between_levels() -> None:
    assert expected_opinion("jpeg", 4.5) == pytest.approx((1.9454 + 1.3502) / 2)
    assert expected_opinion("mean shift", 2.5) == pytest.approx((4.5188 + 4.603) / 2)
    with pytest.raises(DistortionError, match="unchanged"):
        expected_opinion("contrast", 3.5)


def test_names_titles_and_aliases_are_found() -> None:
    assert find("White noise in colour component").name == "white_noise_color"
    assert find("  SALT-and-pepper ").name == "impulse_noise"


def test_two_distortions_combine() -> None:
    both = combine(scene(), [("blur", 3), ("noise", 2)], seed=3)
    assert not np.array_equal(both, distort(scene(), "blur", 3, seed=3))
    assert np.array_equal(combine(scene(), [], seed=3), scene())


@pytest.mark.parametrize("level", [0, 0.99, 5.01, -1, float("nan"), float("inf")])
def test_levels_outside_are_refused(level: float) -> None:
    with pytest.raises(DistortionError, match="level"):
        distort(scene(), "jpeg", level)


def test_unknown_kinds_are_refused_with_the_known_ones() -> None:
    with pytest.raises(DistortionError, match="gaussian_blur"):
        distort(scene(), "sepia", 1)


@pytest.mark.parametrize(
    "picture",
    [
        np.zeros((8, 8)),
        np.zeros((8, 8, 4)),
        np.zeros((0, 8, 3)),
        np.zeros((8, 8, 3), np.int64),
        np.full((8, 8, 3), 2.0),
        np.full((8, 8, 3), np.nan),
    ],
    ids=["grey", "alpha", "empty", "integers", "0..255 floats", "nan"],
)
def test_pictures_of_the_wrong_form_are_refused(picture: npt.NDArray[np.float64]) -> None:
    with pytest.raises(DistortionError):
        distort(picture, "jpeg", 1)


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(DistortionError, match="seed"):
        distort(scene(), "jpeg", 1, seed=-1)


def test_numbers_are_those_published() -> None:
    numbers = [value for each in DISTORTIONS.values() for value in (*each.amounts, *each.opinions, *each.deviations)]
    assert (len(DISTORTIONS), len(numbers)) == (25, 375)
    assert hashlib.sha256(repr([float(value) for value in numbers]).encode()).hexdigest() == DIGEST


def test_the_command_writes_a_damaged_picture(command_line: CommandLine) -> None:
    command_line = replace(command_line, module="training.distortions")
    save(command_line.folder / "a.png", scene())
    done = command_line("a.png", "--type", "jpeg", "--level", "4", "--json")
    assert json.loads(done.out)["opinion"] == pytest.approx(1.9454)
    assert (command_line.folder / "a_jpeg_4.png").is_file()
    assert command_line("a.png", "--output", "a.png", "--overwrite").code == 1
    assert command_line("a.png", "--type", "nonsense").code == 1
    assert "gaussian_blur" in command_line("--list").out
