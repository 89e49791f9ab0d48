"""What holds for every metric: declared facts, refusals, degenerate pictures, equality of input types."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from agenticiqa.tools.metrics import METRICS, Measurement, MetricInputError, Views
from pictures import as_bytes, blurred, noisy, scene

FULL_REFERENCE = [name for name in METRICS if METRICS[name].spec.kind == "FR"]
NO_REFERENCE = [name for name in METRICS if METRICS[name].spec.kind != "FR"]


def run(name: str, test: np.ndarray, reference: np.ndarray | None) -> Measurement:
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        if METRICS[name].spec.kind == "FR":
            return METRICS[name].measure(test, reference)
        return METRICS[name].measure(test)


def run_or_refuse(name: str, test: np.ndarray, reference: np.ndarray) -> None:
    """A number in range; metrics of natural statistics may say that a picture has none."""
    try:
        found = run(name, test, reference)
    except MetricInputError:
        assert name in {"NIQE", "BRISQUE"}
        return
    check(name, found)


def check(name: str, found: Measurement) -> None:
    low, high = METRICS[name].spec.range
    assert isinstance(found.value, float)
    assert low <= found.value <= high, f"{name} = {found.value} outside {low}..{high}"
    assert all(np.isfinite(value) for value in found.details.values()), (name, found.details)
    if found.map is not None:
        assert found.map.dtype == np.float32
        assert found.map.ndim == 2
        assert np.isfinite(found.map).all()


@pytest.mark.parametrize("name", METRICS)
def test_declared_facts_are_complete(name: str) -> None:
    spec = METRICS[name].spec
    assert spec.name == name
    assert spec.kind in {"FR", "NR", "probe"}
    assert spec.range[0] < spec.range[1]
    assert spec.variant
    assert spec.paper
    assert spec.good_at


@pytest.mark.parametrize("name", FULL_REFERENCE)
def test_identical_pictures_are_best_and_distortion_is_worse(name: str, picture: np.ndarray) -> None:
    sign = 1 if METRICS[name].spec.higher_is_better else -1
    same = sign * run(name, picture, picture).value
    slight = sign * run(name, blurred(noisy(picture, 3), 0.7), picture).value
    strong = sign * run(name, blurred(noisy(picture, 25), 2.5), picture).value
    assert same > slight > strong


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("seed", [1, 2])
def test_rounding_never_leaves_the_declared_range(name: str, seed: int, picture: np.ndarray) -> None:
    """Equal and unrelated random pictures: sums of float32 end a little beside the exact value."""
    chance = np.random.default_rng(seed)
    random = as_bytes(chance.random((192, 208, 3), np.float32))
    for equal in (random, picture, as_bytes(noisy(picture, 20, seed))):
        check(name, run(name, equal, equal))
    check(name, run(name, random, as_bytes(chance.random((192, 208, 3), np.float32))))


ODD_SIZES = [(97, 131), (161, 101), (256, 96), (211, 333)]


@pytest.mark.parametrize(
    ("name", "size"),
    [(name, size) for name in METRICS for size in ODD_SIZES if min(size) >= min(METRICS[name].spec.minimum_size)],
)
def test_odd_sizes(name: str, size: tuple[int, int]) -> None:
    reference = scene(*size, seed=3)
    check(name, run(name, noisy(reference, 8), reference))


DEGENERATE = {
    "black": np.zeros((200, 200, 3), np.float32),
    "white": np.ones((200, 200, 3), np.float32),
    "grey": np.full((200, 200), 0.5, np.float32),
    "one bright pixel": np.pad(np.ones((1, 1, 3), np.float32), ((99, 100), (120, 79), (0, 0))),
    "checkers": np.indices((200, 200)).sum(axis=0).astype(np.float32) % 2,
    "pure red": np.dstack([np.ones((200, 200)), np.zeros((200, 200)), np.zeros((200, 200))]),
}


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("kind", DEGENERATE)
def test_degenerate_pictures_give_a_number_in_range(name: str, kind: str) -> None:
    odd = DEGENERATE[kind]
    run_or_refuse(name, odd, odd)
    run_or_refuse(name, odd, DEGENERATE["black"])
    run_or_refuse(name, odd, scene(200, 200))
    run_or_refuse(name, scene(200, 200), odd)


@pytest.mark.parametrize("name", METRICS)
def test_a_single_pixel_is_measured_or_refused(name: str) -> None:
    pixel = np.full((1, 1, 3), 0.4)
    if METRICS[name].spec.minimum_size == (1, 1):
        check(name, run(name, pixel, pixel))
    else:
        with pytest.raises(MetricInputError, match="needs at least"):
            run(name, pixel, pixel)


@pytest.mark.parametrize("name", METRICS)
def test_smallest_declared_size_works(name: str) -> None:
    reference = scene(*METRICS[name].spec.minimum_size, seed=5)
    check(name, run(name, noisy(reference, 10), reference))


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_no_numbers_are_refused(name: str, bad: float, picture: np.ndarray) -> None:
    broken = picture.copy()
    broken[50, 60, 1] = bad
    with pytest.raises(MetricInputError, match="NaN"):
        run(name, broken, picture)


@pytest.mark.parametrize("name", METRICS)
def test_byte_float_and_view_inputs_agree(name: str, picture: np.ndarray) -> None:
    test = noisy(picture, 6)
    expected = run(name, test, picture).value
    assert run(name, as_bytes(test), as_bytes(picture)).value == pytest.approx(expected, rel=2e-4, abs=1e-6)
    views = Views(test, picture)
    # Not equality: vector instructions group sums by where an array happens to lie in memory.
    assert METRICS[name].measure(views).value == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert METRICS[name].measure(views).value == pytest.approx(expected, rel=1e-6, abs=1e-9)
    wide = as_bytes(test).astype(np.uint16) * 257, as_bytes(picture).astype(np.uint16) * 257
    assert run(name, *wide).value == pytest.approx(expected, rel=2e-4, abs=1e-6)


@pytest.mark.parametrize("name", METRICS)
def test_inputs_are_left_untouched(name: str, picture: np.ndarray) -> None:
    test, reference = noisy(picture, 6), picture.copy()
    before = test.copy()
    test.setflags(write=False)
    reference.setflags(write=False)
    run(name, test, reference)
    assert np.array_equal(test, before)


def test_different_sizes_are_refused_with_the_sizes_named(picture: np.ndarray) -> None:
    with pytest.raises(MetricInputError, match=r"256×192.*255×192"):
        METRICS["SSIM"].measure(picture, picture[:, 1:])


def test_wrong_shapes_types_and_scales_are_refused(picture: np.ndarray) -> None:
    for broken, word in [
        (np.zeros((8, 8, 4)), "alpha"),
        (np.zeros((8,)), "shape"),
        (np.zeros((0, 8, 3)), "empty"),
        (np.zeros((8, 8), np.int32), "type"),
        (picture * 255, "divide by 255"),
    ]:
        with pytest.raises(MetricInputError, match=word):
            METRICS["PSNR"].measure(broken, broken)


def test_missing_reference_is_refused(picture: np.ndarray) -> None:
    with pytest.raises(MetricInputError, match="reference"):
        METRICS["PSNR"].measure(picture)


def test_grey_input_equals_the_same_picture_in_three_channels(picture: np.ndarray) -> None:
    grey = picture[:, :, 1]
    test = noisy(picture, 9)[:, :, 1]
    for name in ("PSNR", "SSIM"):
        stacked = run(name, np.dstack([test] * 3), np.dstack([grey] * 3)).value
        assert run(name, test, grey).value == pytest.approx(stacked, rel=1e-4)
