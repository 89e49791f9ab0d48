"""What must hold whatever the picture: symmetry, independence of strips and threads, severity in order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import cv2
import numpy as np
import pytest
from pictures import block_quantised, blurred, noisy, scene

from agenticiqa.tools.metrics import METRICS, Views, filters

FULL_REFERENCE = [name for name in METRICS if METRICS[name].spec.kind == "FR"]
SYMMETRIC = ["PSNR", "SSIM", "MS-SSIM", "FSIM", "GMSD", "VSI", "NLPD", "HaarPSI", "PSNR-HVS-M", "CIEDE2000"]


@pytest.mark.parametrize("name", SYMMETRIC)
def test_symmetric_metrics_do_not_care_which_picture_is_the_reference(name: str, picture: np.ndarray) -> None:
    test = noisy(blurred(picture, 1), 5)
    forwards = METRICS[name].measure(test, picture).value
    assert METRICS[name].measure(picture, test).value == pytest.approx(forwards, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("name", METRICS)
def test_result_does_not_depend_on_strips_or_threads(
    name: str, picture: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = noisy(blurred(picture, 1), 5)
    expected = METRICS[name].measure(Views(test, picture)).value
    monkeypatch.setattr(filters, "STRIP_PIXELS", 1 << 12)
    monkeypatch.setattr(filters, "POOLED_PIXELS", 1 << 12)
    threads = cv2.getNumThreads()
    try:
        cv2.setNumThreads(1)
        found = METRICS[name].measure(Views(test, picture)).value
    finally:
        cv2.setNumThreads(threads)
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_metrics_asked_at_once_from_many_threads_agree_with_one_after_another(picture: np.ndarray) -> None:
    test = noisy(picture, 8)
    alone = {name: METRICS[name].measure(Views(test, picture)).value for name in METRICS}
    views = Views(test, picture)
    with ThreadPoolExecutor(8) as pool:
        values = list(pool.map(lambda name: METRICS[name].measure(views).value, METRICS))
    together = dict(zip(METRICS, values, strict=True))
    assert together == pytest.approx(alone, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", FULL_REFERENCE)
@pytest.mark.parametrize("kind", ["blur", "noise", "blocks"])
def test_stronger_distortion_never_scores_better(name: str, kind: str) -> None:
    reference = scene(192, 224, seed=21)
    distort = {
        "blur": lambda level: blurred(reference, 0.6 * level),
        "noise": lambda level: noisy(reference, 5.0 * level),
        "blocks": lambda level: block_quantised(reference, 4.0 * level),
    }[kind]
    sign = 1 if METRICS[name].spec.higher_is_better else -1
    scores = [sign * METRICS[name].measure(distort(level), reference).value for level in (1, 2, 3, 4)]
    assert scores == sorted(scores, reverse=True)
