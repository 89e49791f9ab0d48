"""The gate: bad, worse, failed and vanished pictures close it; nothing else does."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from agenticiqa.research.gate import Rules, judge, junit
from agenticiqa.research.results import EvaluationError, read_results


@pytest.fixture
def written(tmp_path: Path):
    def write(name: str, scores: dict[str, float | str | None]) -> Path:
        lines = []
        for sample_id, score in scores.items():
            failed = isinstance(score, str)
            lines.append(
                {
                    "sample_id": sample_id,
                    "status": "error" if failed else "ok",
                    "error": score if failed else None,
                    # A failed run may leave an old number behind; it must not count.
                    "summarizer_result": {"final_answer": "A", "quality_score": 5.0 if failed else score},
                }
            )
        path = tmp_path / name
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return path

    return write


def reasons(verdict):
    return {problem.sample_id: problem.reason for problem in verdict.problems}


def test_each_way_to_fail_is_named(written):
    file = read_results(written("now", {"good": 4.2, "bad": 3.0, "worse": 4.0, "broken": "gone", "mute": None}))
    baseline = read_results(written("then", {"good": 4.25, "bad": 3.0, "worse": 4.5, "vanished": 4.0}))
    verdict = judge(file, Rules(min_score=3.5, baseline=baseline))
    assert reasons(verdict) == {
        "bad": "below",
        "worse": "regression",
        "broken": "failed",
        "mute": "no_score",
        "vanished": "missing",
    }
    assert not verdict.passed
    assert any("2 samples are new" in note for note in verdict.notes)


def test_it_opens_when_nothing_is_wrong(written):
    now = read_results(written("now", {"a": 4.2, "b": 3.95}))
    then = read_results(written("then", {"a": 4.2, "b": 4.0}))
    assert judge(now, Rules(min_score=3.5, baseline=then)).passed
    assert not judge(now, Rules(baseline=then, tolerance=0.01)).passed


def test_allowed_failures_are_excused_together_or_not_at_all(written):
    file = read_results(written("now", {"a": 4.2, "b": "x", "c": "y"}))
    assert judge(file, Rules(min_score=1, allowed_failures=2)).passed
    assert len(judge(file, Rules(min_score=1, allowed_failures=1)).problems) == 2


def test_a_gate_that_judged_nothing_does_not_open(written):
    file = read_results(written("now", {"b": "x", "c": "y"}))
    assert reasons(judge(file, Rules(min_score=1, allowed_failures=2))) == {"b": "failed", "c": "failed"}


def test_a_baseline_without_scores_is_refused(written):
    now = read_results(written("now", {"a": 4.2, "b": 3.95}))
    for scores in ({"a": "failed", "b": "failed"}, {"a": None, "b": None}):
        with pytest.raises(EvaluationError, match=r"then.*score"):
            judge(now, Rules(baseline=read_results(written("then", scores))))


def test_a_score_that_no_result_has_is_refused(written):
    file = read_results(written("now", {"a": 4.2}), score="tool:NIX")
    with pytest.raises(EvaluationError, match="tool:NIX"):
        judge(file, Rules(min_score=1))


def test_excused_samples_of_any_name_leave_valid_xml(written):
    file = read_results(written("now", {"a": 4.2, "b---c-\ufffe": "x"}))
    verdict = judge(file, Rules(min_score=1, allowed_failures=1))
    assert verdict.excused
    assert ElementTree.fromstring(junit(verdict, "gate")).get("failures") == "0"


def test_junit_names_every_sample_and_survives_hostile_text(written):
    name = 'x" <b>\x01 & --'
    verdict = judge(read_results(written("now", {name: 2.0, "good": 4.5})), Rules(min_score=3))
    suite = ElementTree.fromstring(junit(verdict, "gate"))
    assert suite.get("tests") == "2"
    assert suite.get("failures") == "1"
    failures = {case.get("name"): case.find("failure") for case in suite.iter("testcase")}
    assert failures["good"] is None
    assert failures['x" <b>\ufffd & --'].get("type") == "below"
