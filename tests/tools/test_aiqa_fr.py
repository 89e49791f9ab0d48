"""AIQA_FR: monotone, explainable, exact about what lowered the score."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from training.distortions import distort

from agenticiqa.tools.aiqa_fr import SPEC, explain, fused_model, measure, read_model
from agenticiqa.tools.calibration import CalibrationError, load_calibrations
from agenticiqa.tools.metrics import METRICS, MetricInputError

Picture = npt.NDArray[np.uint8]


@pytest.fixture(scope="module")
def scene() -> Picture:
    rng = np.random.default_rng(2)
    y, x = np.mgrid[:192, :256] / 256
    picture = np.stack([0.2 + 0.6 * x, 0.3 + 0.5 * y, 0.8 - 0.5 * x], axis=2)
    picture[40:120, 50:130] = (0.8, 0.3, 0.2)
    picture += 0.08 * rng.standard_normal((192, 256, 1)).cumsum(axis=1) / 4
    return np.rint(picture.clip(0, 1) * 255).astype(np.uint8)


def test_an_unchanged_picture_gets_the_top(scene: Picture) -> None:
    result = measure(scene, scene)
    assert result.value == pytest.approx(fused_model().top, abs=0.02)
    assert explain(result) == [] or "took 0.0" in explain(result)[0]


@pytest.mark.parametrize("kind", ["gaussian_blur", "jpeg", "jpeg2000", "white_noise", "color_saturation_2", "darken"])
def test_more_damage_scores_lower(scene: Picture, kind: str) -> None:
    scores = [measure(distort(scene, kind, level), scene).value for level in (2, 3, 4, 5)]
    assert scores == sorted(scores, reverse=True)
    assert 1 <= scores[-1] < scores[0] - 0.3


def test_the_parts_add_up_to_the_loss(scene: Picture) -> None:
    result = measure(distort(scene, "jpeg", 4), scene)
    took = [points for key, points in result.details.items() if key.startswith("lowered_by_")]
    assert all(points >= 0 for points in took)
    assert sum(took) == pytest.approx(fused_model().top - result.value)
    assert len(explain(result)) >= 1


@pytest.mark.parametrize("name", list(fused_model().parts))
def test_a_worse_part_never_raises_the_score(name: str) -> None:
    model = fused_model()
    best = {
        part: max(curve.covered, key=curve) for part, curve in ((key, model.parts[key].curve) for key in model.parts)
    }
    low, high = model.parts[name].curve.covered
    values = np.linspace(low, high, 501) if model.parts[name].curve.higher_is_better else np.linspace(high, low, 501)
    scores = np.array([model.score(best | {name: float(value)}) for value in values])
    assert np.diff(scores).min() >= -1e-9
    assert scores[-1] == pytest.approx(model.top, abs=0.01)


def test_the_specification_is_like_that_of_other_metrics() -> None:
    assert (SPEC.name, SPEC.kind, SPEC.higher_is_better) == ("AIQA_FR", "FR", True)
    parts = fused_model().parts.values()
    assert all(SPEC.minimum_size[0] >= METRICS[part.metric].spec.minimum_size[0] for part in parts)


def test_its_calibration_leaves_the_score_as_it_is() -> None:
    curve = load_calibrations()["AIQA_FR"]
    assert curve(3.2) == pytest.approx(3.2)


def test_wider_edges_are_named_for_blur_and_not_for_noise(scene: Picture) -> None:
    blurred = measure(distort(scene, "gaussian_blur", 4), scene)
    noisy = measure(distort(scene, "white_noise", 4), scene)
    assert blurred.details["lowered_by_edge_widening"] > 0.05
    assert noisy.details["lowered_by_edge_widening"] == 0
    assert any("edges wider" in line for line in explain(blurred))


def test_sharper_edges_than_the_reference_take_nothing(scene: Picture) -> None:
    result = measure(scene, distort(scene, "gaussian_blur", 3))
    assert result.details["lowered_by_edge_widening"] == 0


def test_pictures_without_edges_work() -> None:
    flat = np.full((64, 64, 3), 120, np.uint8)
    assert measure(flat, flat).value == pytest.approx(fused_model().top, abs=0.02)


def test_a_reference_is_needed(scene: Picture) -> None:
    with pytest.raises(MetricInputError, match="AIQA_FR"):
        measure(scene)


@pytest.mark.parametrize(
    "fields",
    [
        None,
        {},
        {"exponent": 2, "top": 4.6, "parts": {}},
        {"exponent": 0.5, "top": 4.6, "parts": {}},
        {
            "exponent": 2,
            "top": 4.6,
            "parts": {
                "GMSD": {
                    "sees": "x",
                    "weight": -1,
                    "coefficients": [4, -9, 0.2, 0, 3],
                    "range": [0, 1],
                    "higher_is_better": False,
                }
            },
        },
    ],
)
def test_a_model_that_could_reward_damage_is_refused(fields: object) -> None:
    with pytest.raises(CalibrationError):
        read_model(fields)
