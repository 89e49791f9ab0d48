"""What must hold whatever the picture: symmetry, independence of strips and threads, severity in order."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import cv2
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from agenticiqa.tools.calibration import load_calibrations
from agenticiqa.tools.metrics import METRICS, Views, filters
from pictures import as_bytes, blurred, noisy, scene

# The same metrics many times over: not traced.
pytestmark = pytest.mark.no_cover

FULL_REFERENCE = [name for name in METRICS if METRICS[name].spec.kind == "FR"]
SYMMETRIC = ["PSNR", "SSIM", "MS-SSIM", "FSIM", "GMSD", "VSI", "NLPD", "HaarPSI", "PSNR-HVS-M", "CIEDE2000"]
# These judge the test picture by what the reference holds: its information (VIF, VIFp), its edges as against those of
# the mean of both (MDSI), or edges that the test picture lost as against edges that it gained (SSIMULACRA2).
ONE_WAY = ["VIF", "VIFp", "MDSI", "SSIMULACRA2"]
PROBES = {"sharpness": "blur", "noise": "noise", "blockiness": "compression"}
POINTS = 0.05
"""How much better, on the 1..5 scale, a more damaged picture may score: below what anybody sees."""

# Without shrinking: a failing example is as good as a simpler one, which takes minutes to find.
few = settings(
    deadline=None,
    max_examples=5,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
# NIQE needs 192 pixels either way, the most of all.
pictures = st.builds(scene, st.integers(192, 224), st.integers(192, 224), st.integers(0, 10_000))
damages = st.sampled_from(["blur", "noise", "compression"])


def damaged(picture: np.ndarray, kind: str, strength: float) -> np.ndarray:
    """``strength`` from 0 (hardly visible) to 1 (very strong)."""
    if kind == "blur":
        return blurred(picture, 0.5 + 3.5 * strength)
    if kind == "noise":
        return noisy(picture, 3 + 37 * strength)
    quality = round(90 - 80 * strength)
    encoded = cv2.imencode(".jpg", as_bytes(picture)[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
    return (cv2.imdecode(encoded, cv2.IMREAD_COLOR)[..., ::-1] / 255).astype(np.float32)


@contextmanager
def worked_with(threads: int, strip_pixels: int) -> Iterator[None]:
    before = cv2.getNumThreads()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(filters, "STRIP_PIXELS", strip_pixels)
        cv2.setNumThreads(threads)
        try:
            yield
        finally:
            cv2.setNumThreads(before)


def values(test: np.ndarray, reference: np.ndarray, names: list[str]) -> dict[str, float]:
    views = Views(test, reference)
    return {name: METRICS[name].measure(views).value for name in names}


def calibrated(found: dict[str, float]) -> dict[str, float]:
    curves = load_calibrations()
    return {name: float(curves[name](value)) for name, value in found.items()}


def test_every_full_reference_metric_is_declared_symmetric_or_not() -> None:
    assert sorted(SYMMETRIC + ONE_WAY) == sorted(FULL_REFERENCE)


@few
@given(picture=pictures, kind=damages, strength=st.floats(0, 1))
def test_symmetric_metrics_do_not_care_which_picture_is_the_reference(
    picture: np.ndarray, kind: str, strength: float
) -> None:
    test = damaged(picture, kind, strength)
    forwards = values(test, picture, SYMMETRIC)
    assert values(picture, test, SYMMETRIC) == pytest.approx(forwards, rel=1e-5, abs=1e-6)


@pytest.mark.hard
@few
@given(picture=pictures, kind=damages, strength=st.floats(0, 1))
def test_identical_pictures_score_best(picture: np.ndarray, kind: str, strength: float) -> None:
    same = values(picture, picture, FULL_REFERENCE)
    other = values(damaged(picture, kind, strength), picture, FULL_REFERENCE)
    for name in FULL_REFERENCE:
        sign = 1 if METRICS[name].spec.higher_is_better else -1
        assert sign * same[name] >= sign * other[name], name


@pytest.mark.hard
@settings(few, max_examples=9)
@given(picture=pictures, kind=damages, weak=st.floats(0, 0.9), more=st.floats(0.02, 1))
def test_stronger_damage_never_scores_better_by_more_than_nobody_sees(
    picture: np.ndarray, kind: str, weak: float, more: float
) -> None:
    names = FULL_REFERENCE + [name for name, made_for in PROBES.items() if made_for == kind]
    before = calibrated(values(damaged(picture, kind, weak), picture, names))
    after = calibrated(values(damaged(picture, kind, min(1.0, weak + more)), picture, names))
    for name in names:
        assert after[name] <= before[name] + POINTS, (name, before[name], after[name])


@pytest.mark.hard
@few
@given(
    picture=pictures,
    kind=damages,
    strength=st.floats(0, 1),
    strip=st.integers(1 << 8, 1 << 17),
)
def test_result_depends_neither_on_threads_nor_on_strips(
    picture: np.ndarray, kind: str, strength: float, strip: int
) -> None:
    test = damaged(picture, kind, strength)
    with worked_with(4, filters.STRIP_PIXELS):
        expected = values(test, picture, list(METRICS))
    with worked_with(1, filters.STRIP_PIXELS):
        assert values(test, picture, list(METRICS)) == pytest.approx(expected, rel=1e-5, abs=1e-6)
    with worked_with(4, strip):
        assert values(test, picture, list(METRICS)) == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_metrics_asked_at_once_from_many_threads_agree_with_one_after_another(picture: np.ndarray) -> None:
    test = noisy(picture, 8)
    alone = {name: METRICS[name].measure(Views(test, picture)).value for name in METRICS}
    views = Views(test, picture)
    with ThreadPoolExecutor(8) as pool:
        values = list(pool.map(lambda name: METRICS[name].measure(views).value, METRICS))
    together = dict(zip(METRICS, values, strict=True))
    assert together == pytest.approx(alone, rel=1e-6, abs=1e-9)
