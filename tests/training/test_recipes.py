import numpy as np
import pytest
from PIL import ImageFile
from training.distortions import UNCHANGED_OPINION
from training.embedded.extra_damage import EXTRA_DAMAGE, damage
from training.embedded.further_damage import FURTHER_CATEGORIES, FURTHER_DAMAGE
from training.embedded.kinds import CATEGORY_INDEX, EXTRA_KINDS, KIND_INDEX, joined, severity_of
from training.embedded.opinion_map import load, measured
from training.embedded.recipes import Recipe, amount_of, made, opinion_of, recipes_for

from agenticiqa.tools.metrics import Picture


@pytest.fixture(scope="module")
def photograph():
    rng = np.random.default_rng(3)
    y, x = np.mgrid[0:96, 0:128] / 96.0
    base = np.stack([0.5 + 0.4 * np.sin(7 * x + 3 * y), 0.5 + 0.3 * np.cos(9 * y), 0.3 + 0.4 * x], axis=2)
    return (base + 0.03 * rng.standard_normal(base.shape)).clip(0, 1).astype(np.float32)


def as_bytes(rgb):
    return np.rint(rgb * 255).astype(np.uint8)


def test_every_extra_kind_is_made_and_named():
    assert set(EXTRA_DAMAGE) == {kind.name for kind in EXTRA_KINDS}


def test_errors_of_transmission_leave_pillow_strict(photograph):
    found = damage(photograph, "transmission_errors", 5.0, np.random.default_rng(1))
    assert found.shape == photograph.shape
    assert not ImageFile.LOAD_TRUNCATED_IMAGES


def test_further_damage_has_categories_and_no_kind_of_its_own(photograph):
    assert set(FURTHER_CATEGORIES) == set(FURTHER_DAMAGE)
    assert not set(FURTHER_DAMAGE) & set(KIND_INDEX)
    reference = Picture(as_bytes(photograph), "reference")
    result = made(photograph, reference, Recipe((("compressed_noise", 5.0),), chain=1, seed=2))
    assert result.kind == -1
    low = result.category_opinions < 4.4
    assert {name for name, place in CATEGORY_INDEX.items() if low[place]} == {"Noise", "Compression"}


@pytest.mark.parametrize("name", sorted({*EXTRA_DAMAGE, *FURTHER_DAMAGE}))
def test_extra_damage_is_repeatable_and_grows(photograph, name):
    weak, strong = (damage(photograph, name, level, np.random.default_rng(7)) for level in (1, 5))
    again = damage(photograph, name, 5, np.random.default_rng(7))
    assert np.array_equal(strong, again)
    assert strong.dtype == np.float32
    assert 0 <= strong.min() <= strong.max() <= 1
    assert np.abs(strong - photograph).mean() > np.abs(weak - photograph).mean()


def test_targets_of_one_distortion(photograph):
    reference = Picture(as_bytes(photograph), "reference")
    result = made(photograph, reference, Recipe((("jpeg", 5.0),), chain=1, seed=2))
    assert result.kind == KIND_INDEX["jpeg"]
    assert severity_of(result.category_opinions[CATEGORY_INDEX["Compression"]]) >= 3
    others = np.delete(result.category_opinions, CATEGORY_INDEX["Compression"])
    assert np.allclose(others, UNCHANGED_OPINION)


def test_targets_of_two_distortions_are_below_each(photograph):
    reference = Picture(as_bytes(photograph), "reference")
    result = made(photograph, reference, Recipe((("white_noise", 4.0), ("jpeg", 4.0)), chain=1, seed=2))
    assert result.kind == -1
    assert result.opinion <= min(opinion_of("white_noise", 4), opinion_of("jpeg", 4)) + 0.1
    assert (result.category_opinions < 4.4).sum() == 2


def test_an_unchanged_level_is_called_unchanged(photograph):
    reference = Picture(as_bytes(photograph), "reference")
    result = made(photograph, reference, Recipe((("gaussian_blur", 1.0),), chain=1, seed=2))
    assert result.kind == KIND_INDEX["unchanged"]


def test_past_the_last_level_damage_grows_and_opinion_falls():
    assert amount_of("white_noise", 6) == pytest.approx(0.02)
    assert 1 < opinion_of("white_noise", 7) < opinion_of("white_noise", 6) < opinion_of("white_noise", 5)


def test_the_plan_of_a_check_set_is_every_kind_at_every_level():
    plan = recipes_for("chains", np.random.default_rng(0))
    assert len({recipe.steps for recipe in plan if recipe.steps}) == 125


def test_estimates_follow_damage(photograph):
    reference = Picture(as_bytes(photograph), "reference")
    noisy = [
        as_bytes((photograph + s * np.random.default_rng(0).standard_normal(photograph.shape)).clip(0, 1))
        for s in (0.02, 0.3)
    ]
    same, slight, strong = (
        float(load().estimate(measured(picture, reference))[0]) for picture in (reference.pixels, *noisy)
    )
    assert same > slight > strong
    assert same > 4.2


def test_joined_opinions():
    assert joined([UNCHANGED_OPINION, 3.0]) == pytest.approx(3.0)
    assert joined([3.0, 2.0]) < 2.0
