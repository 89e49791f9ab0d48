"""Weights for models that answer together, fitted to opinions of pictures that all of them rated."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from scipy.optimize import minimize

from agenticiqa.research.joint_weights import EVEN, FITTED, _weights, fit_weights
from agenticiqa.research.results import EvaluationError, read_results
from agenticiqa.runtime.config import load_settings
from support.result_lines import scored, write


def rated(sample: int, mos: float | None, scores: dict[str, float | None]):
    """A line of a batch in which several models answered."""
    models = [{"backend": name, "weight": 1 / len(scores), "quality_score": score} for name, score in scores.items()]
    line = scored(str(sample), mos, float(np.mean([each for each in scores.values() if each is not None])))
    line["summarizer_result"]["models"] = models
    return {**line, "metadata": {"backend": {"planner": "one.x", "executor": "one.x", "summarizer": "one.x"}}}


@pytest.fixture
def made(tmp_path):
    """Two models with errors of their own, and one that says anything."""
    rng = np.random.default_rng(7)
    truth = rng.uniform(1, 5, 200)
    scores = {
        "one.x": np.clip(truth + rng.normal(0, 0.4, 200), 1, 5),
        "two.y": np.clip(truth + rng.normal(0, 0.4, 200), 1, 5),
        "embedded": rng.uniform(1, 5, 200),
    }
    lines = [rated(i, truth[i], {name: float(own[i]) for name, own in scores.items()}) for i in range(200)]
    return write(tmp_path / "rated.jsonl", lines)


def test_a_model_that_guesses_counts_for_nothing(made):
    fit = fit_weights(made)
    assert sum(fit.weights.values()) == pytest.approx(1, abs=1e-3)
    assert fit.weights["embedded"] < 0.05
    assert min(fit.weights["one.x"], fit.weights["two.y"]) > 0.4
    assert fit.rmse[FITTED] < min(fit.rmse["one.x"], fit.rmse["two.y"]) < fit.rmse[EVEN]
    assert fit.srcc[FITTED] > fit.srcc[EVEN] > fit.srcc["embedded"]
    assert (fit.samples, fit.left_out) == (200, 0)


def test_the_weights_are_the_best_on_the_simplex():
    """As a general optimiser finds them, for models that are biased and alike."""
    rng = np.random.default_rng(3)
    truth = rng.uniform(1, 5, 60)
    scores = truth[:, None] * rng.uniform(0.5, 1, 4) + rng.normal(0, [0.3, 0.5, 0.8, 1.2], (60, 4)) + 0.5
    found = minimize(
        lambda w: float(np.square(scores @ w - truth).sum()),
        np.full(4, 0.25),
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        tol=1e-12,
    )
    assert _weights(scores, truth) == pytest.approx(found.x, abs=2e-3)


def test_the_written_settings_are_read_back(made, tmp_path):
    fit = fit_weights(made)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "model_backends.yaml").write_text(fit.as_yaml())
    settings = load_settings(tmp_path / "mine", environment={})
    assert list(settings.answering.values()) == ["one.x", "two.y", "embedded"]
    assert settings.summarizer.weight_of(settings.summarizer.backends) == pytest.approx(fit.weights, abs=1e-3)
    assert settings.planner.backend == "one.x"
    assert yaml.safe_load(fit.as_yaml()) == fit.as_settings()


def test_opinions_on_another_scale(made, tmp_path):
    lines = [{**result.line, "mos": 25 * (result.truth - 1)} for result in read_results(made).results]
    other = write(tmp_path / "other.jsonl", lines)
    assert fit_weights(other, scale=(0, 100)).weights == pytest.approx(fit_weights(made).weights, abs=1e-3)
    with pytest.raises(EvaluationError, match="beyond the scale 1,5"):
        fit_weights(other)


def test_samples_that_a_model_did_not_rate_are_left_out(made, tmp_path):
    lines = [result.line for result in read_results(made).results]
    lines += [rated(300, 3.0, {"one.x": 3.0, "two.y": None, "embedded": 2.0})]
    lines += [rated(301, None, {"one.x": 3.0, "two.y": 3.0, "embedded": 2.0})]
    fit = fit_weights(write(tmp_path / "more.jsonl", lines))
    assert (fit.samples, fit.left_out) == (200, 2)


def test_what_cannot_be_fitted_to_is_refused(tmp_path):
    with pytest.raises(EvaluationError, match="no answers of several models"):
        fit_weights(write(tmp_path / "one.jsonl", [scored("1", 3.0, 3.0)]))
    few = [rated(i, 3.0, {"a": 3.0, "b": 2.0}) for i in range(9)]
    with pytest.raises(EvaluationError, match="Only 9 pictures"):
        fit_weights(write(tmp_path / "few.jsonl", few))


def test_one_of_several_models_is_judged_by_name(made):
    by_name = read_results(made, score="model:embedded")
    assert by_name.results[0].score == by_name.results[0].line["summarizer_result"]["models"][2]["quality_score"]
    assert read_results(made, score="model:other").results[0].score is None
