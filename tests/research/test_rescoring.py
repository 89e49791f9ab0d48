"""Recorded runs scored anew: equal to runs under those settings, and nothing is asked."""

from __future__ import annotations

import json
import math

import pytest

from agenticiqa.research.rescoring import (
    Rescoring,
    calibrations_named,
    mean_behind,
    rescore_file,
    rescored_line,
)
from agenticiqa.research.results import EvaluationError
from agenticiqa.runtime.config import FusionSettings
from agenticiqa.score_fusion import ScoreFusion
from agenticiqa.tools.calibration import load_calibrations, save_calibrations
from support.scripted import RichScriptedClient, ScriptedClient

LOGPROBS = {"A": -3.0, "B": -1.2, "C": -0.6, "D": -2.0, "E": -5.0}


@pytest.fixture
def line(assessor, pair):
    """Of a run with probabilities and one tool."""
    return assessor(RichScriptedClient(LOGPROBS)).assess(pair.test).model_dump(mode="json")


def score(line) -> float:
    return line["summarizer_result"]["quality_score"]


def rescored(line, calibrations=None, **fusion):
    return rescored_line(line, Rescoring(FusionSettings(**fusion), calibrations))


def test_nothing_changed_gives_the_stored_score(line):
    new, outcome = rescored(line)
    assert outcome == "rescored"
    assert score(new) == pytest.approx(score(line), abs=1e-12)
    assert new["metadata"].pop("rescored")["eta"] == 1.0
    assert new["summarizer_result"]["used_evidence"]["fusion"]["alpha"] == pytest.approx(
        line["summarizer_result"]["used_evidence"]["fusion"]["alpha"]
    )


@pytest.mark.parametrize("changes", [{"eta": 0.3}, {"eta": 4.0}, {"level_thresholds": (1.2, 2.0, 2.4, 2.8)}])
def test_equals_a_run_under_those_settings(line, assessor, pair, changes):
    client = RichScriptedClient(LOGPROBS)
    overrides = {f"pipeline__fusion__{name}": value for name, value in changes.items()}
    run = assessor(client, **overrides).assess(pair.test).model_dump(mode="json")
    new, _ = rescored(line, **changes)
    assert score(new) == pytest.approx(score(run), abs=1e-9)
    letters = [each["summarizer_result"]["used_evidence"]["fusion"]["letter"] for each in (new, run)]
    assert letters[0] == letters[1]


def test_letter_without_probabilities_is_spread_anew(assessor, pair):
    stored = assessor(ScriptedClient()).assess(pair.test).model_dump(mode="json")
    run = assessor(ScriptedClient(), pipeline__fusion__class_confidence=0.5).assess(pair.test).model_dump(mode="json")
    assert score(rescored(stored, class_confidence=0.5)[0]) == pytest.approx(score(run), abs=1e-9)
    assert score(run) != pytest.approx(score(stored), abs=1e-3)


def test_another_curve_changes_what_the_tool_said(line, tmp_path):
    shipped = load_calibrations()
    file = tmp_path / "curves.yaml"
    save_calibrations({"noise": shipped["GMSD"]}, file)  # any other curve that falls
    curves = calibrations_named(str(file))
    new, _ = rescored(line, curves)
    [log] = line["executor_evidence"]["tool_logs"]
    mean = new["summarizer_result"]["used_evidence"]["fusion"]["tool_mean"]
    assert mean == pytest.approx(shipped["GMSD"](log["raw_score"]))
    assert mean != pytest.approx(log["calibrated_score"], abs=1e-3)


def test_printed_formula_leaves_the_levels(line):
    fusion = line["summarizer_result"]["used_evidence"]["fusion"]
    expected = sum(int(level) * fusion["alpha"][level] * fusion["p"][level] for level in fusion["p"])
    assert score(rescored(line, normalize=False)[0]) == pytest.approx(expected)
    assert expected < 1


def test_measured_lines_get_other_curves():
    measurement = {"tool": "SSIM", "raw": 0.9, "calibrated": 3.0, "region": None}
    stored = {"sample_id": "1", "status": "ok", "measurements": [measurement], "metadata": {}}
    new, outcome = rescored(stored, calibrations_named("printed"))
    assert outcome == "rescored"
    assert new["measurements"][0]["calibrated"] == pytest.approx(3.06, abs=0.01)
    assert rescored(stored)[1] == "unchanged"


@pytest.mark.parametrize("eta", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("mean", [1.0, 1.4, 2.5, 4.2, 5.0])
def test_weights_tell_the_mean_that_they_came_of(eta, mean):
    assert mean_behind(ScoreFusion(eta=eta).compute_perceptual_weights([mean])) == pytest.approx(mean, abs=1e-6)


def test_flat_and_vanished_weights_tell_no_mean():
    assert mean_behind(dict.fromkeys(range(1, 6), 0.2)) is None
    assert math.isnan(mean_behind({1: 0.0, 2: 0.0, 3: 1.0, 4: 0.0, 5: 0.0}))


def test_a_tool_that_does_not_count_twice_does_not_count_again(line):
    """The embedded backend's own tool stands in the account, but its weights are flat."""
    fusion = line["summarizer_result"]["used_evidence"]["fusion"]
    fusion["alpha"] = dict.fromkeys(fusion["alpha"], 0.2)
    new, _ = rescored(line, eta=5.0)
    expected = sum(int(level) * share for level, share in fusion["p"].items())
    assert score(new) == pytest.approx(expected)


def test_files_keep_what_cannot_be_scored_anew(line, tmp_path):
    choice = {"sample_id": "2", "status": "ok", "summarizer_result": {"final_answer": "A"}}
    failed = {"sample_id": "3", "status": "error", "summarizer_result": None}
    lacking = {"sample_id": "4", "status": "ok", "summarizer_result": {"final_answer": "C", "quality_score": 3.0}}
    source, output = tmp_path / "r.jsonl", tmp_path / "new.jsonl"
    given = [{"sample_id": "1", **line}, choice, failed, lacking]
    source.write_text("".join(json.dumps(each) + "\n" for each in given))
    found = rescore_file(source, output, Rescoring(FusionSettings(eta=3.0)))
    assert (found.rescored, found.unchanged, found.lacking) == (1, 2, 1)
    written = [json.loads(each) for each in output.read_text().splitlines()]
    assert written[1:] == given[1:]
    assert score(written[0]) != score(given[0])
    with pytest.raises(EvaluationError, match="There is no file"):
        rescore_file(tmp_path / "none.jsonl", output, Rescoring(FusionSettings()))
