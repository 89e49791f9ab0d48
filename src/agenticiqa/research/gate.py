"""A gate for builds: does every picture reach a score, and did none get worse than before?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from xml.etree import ElementTree

from agenticiqa.research.results import (
    FUSED,
    RAW_PREFIX,
    TOOL_PREFIX,
    EvaluationError,
    Result,
    ResultFile,
    lower_reading,
    refuse_unknown_score,
    tool_entries,
)
from agenticiqa.runtime.logs import printable
from agenticiqa.vocabulary import same_name

Reason = Literal["failed", "no_score", "below", "regression", "missing"]
DEFAULT_TOLERANCE = 0.1
"""Points a score may fall before it counts: what re-encoding or a shift by a pixel may cause."""


@dataclass(frozen=True)
class Rules:
    """What is demanded. ``baseline`` holds the scores of an earlier run."""

    min_score: float | None = None
    baseline: ResultFile | None = None
    tolerance: float = DEFAULT_TOLERANCE
    allowed_failures: int = 0
    """Samples that may fail or have no score without closing the gate."""


@dataclass(frozen=True)
class GateProblem:
    """Why one sample does not pass."""

    sample_id: str
    reason: Reason
    message: str


@dataclass(frozen=True)
class GateVerdict:
    """What the gate decided; ``excused`` are failures within the allowance."""

    samples: int
    problems: list[GateProblem]
    excused: list[GateProblem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    scores: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        return not self.problems

    def as_dict(self) -> dict[str, Any]:
        return {
            "passed": self.passed,
            "samples": self.samples,
            "problems": [vars(problem) for problem in self.problems],
            "excused": [vars(problem) for problem in self.excused],
            "notes": self.notes,
        }


def judge(file: ResultFile, rules: Rules) -> GateVerdict:
    """Hold every sample of a result file against the rules."""
    file = _with_lower_readings(file)
    if rules.baseline:
        rules = replace(rules, baseline=_with_lower_readings(rules.baseline))
    _refuse_scores_that_fall_with_quality(file)
    refuse_unknown_score(file, file.results)
    if rules.baseline:
        _refuse_empty_baseline(rules.baseline)
    before = {result.sample_id: result for result in rules.baseline.results} if rules.baseline else {}
    unscored: list[GateProblem] = []
    wrong: list[GateProblem] = []
    for result in file.results:
        gap = _without_score(result)
        if gap is not None:
            unscored.append(gap)
        else:
            wrong += _too_low(result, rules, before.get(result.sample_id))
    lost = list(_missing(file, before))
    # Where nothing at all could be judged, there is nothing to let pass.
    judged = len(unscored) < len(file.results)
    excused = unscored if judged and len(unscored) <= rules.allowed_failures else []
    return GateVerdict(
        samples=len(file.results),
        problems=[*([] if excused else unscored), *wrong, *lost],
        excused=excused,
        notes=list(_notes(file, before)),
        scores={result.sample_id: result.score for result in file.results},
    )


def _with_lower_readings(file: ResultFile) -> ResultFile:
    """Where tools and model contradict each other, a fused score between the two vouches for nothing."""
    if file.score != FUSED:
        return file
    lowered = [
        result if result.score is None else replace(result, score=lower_reading(result.line) or result.score)
        for result in file.results
    ]
    return replace(file, results=lowered)


def _refuse_scores_that_fall_with_quality(file: ResultFile) -> None:
    """Of many raw values less is better: a gate that demands more of them would let damage through."""
    if not file.score.startswith(RAW_PREFIX):
        return
    tool = file.score.removeprefix(RAW_PREFIX)
    for result in file.results:
        for entry in tool_entries(result):
            if same_name(str(entry.get("tool")), tool) and entry.get("higher_is_better") is not True:
                raise EvaluationError(
                    f"Of {tool}'s raw value, higher is not better: a gate on it would pass bad pictures.",
                    hint=f"--score {TOOL_PREFIX}{tool} is its score from 1 to 5, higher for better.",
                )


def _refuse_empty_baseline(baseline: ResultFile) -> None:
    """Held against nothing, every picture would pass."""
    refuse_unknown_score(baseline, baseline.results)
    if all(result.score is None for result in baseline.results):
        raise EvaluationError(
            f"No sample of {baseline.path} has a score: there is nothing to compare with.",
            hint="Give the results of a run that worked as --max-regression.",
        )


def _without_score(result: Result) -> GateProblem | None:
    if result.status == "error":
        return GateProblem(result.sample_id, "failed", str(result.line.get("error") or "The run failed."))
    if result.score is None:
        return GateProblem(result.sample_id, "no_score", "The result has no score: ask for a rating, or name --score.")
    return None


def _too_low(result: Result, rules: Rules, before: Result | None) -> Iterator[GateProblem]:
    score = result.score
    if score is None:
        return
    if rules.min_score is not None and score < rules.min_score:
        yield GateProblem(result.sample_id, "below", f"{score:.2f} is below {rules.min_score:.2f}.")
    if before is not None and before.score is not None and before.score - score > rules.tolerance:
        fall = before.score - score
        yield GateProblem(
            result.sample_id,
            "regression",
            f"{score:.2f} was {before.score:.2f}: {fall:.2f} worse, more than {rules.tolerance:.2f}.",
        )


def _missing(file: ResultFile, before: Mapping[str, Result]) -> Iterator[GateProblem]:
    """A picture that is no longer there cannot hide that it got worse."""
    here = {result.sample_id for result in file.results}
    for sample_id in before:
        if sample_id not in here:
            yield GateProblem(sample_id, "missing", "The baseline has this sample, the results do not.")


def _notes(file: ResultFile, before: Mapping[str, Result]) -> Iterator[str]:
    if not before:
        return
    new = [result.sample_id for result in file.results if result.sample_id not in before]
    if new:
        yield f"{len(new)} samples are new; nothing is known of them from before."
    pairs = [(result.score, before[result.sample_id].score) for result in file.results if result.sample_id in before]
    changes = [now - then for now, then in pairs if now is not None and then is not None]
    if changes:
        mean = sum(changes) / len(changes)
        yield f"Mean change over {len(changes)} samples: {mean:+.3f} points."
    unknown = sum(then is None for _, then in pairs)
    if unknown:
        yield f"{unknown} samples had no score in the baseline and were not compared."


def junit(verdict: GateVerdict, name: str) -> str:
    """The verdict as a JUnit file, one test case for each sample."""
    problems: dict[str, list[GateProblem]] = {}
    for problem in verdict.problems:
        problems.setdefault(problem.sample_id, []).append(problem)
    ids = list(dict.fromkeys([*verdict.scores, *problems]))
    suite = ElementTree.Element("testsuite", name=name, tests=str(len(ids)), failures=str(len(problems)), errors="0")
    for sample_id in ids:
        case = ElementTree.SubElement(suite, "testcase", classname=name, name=printable(sample_id))
        for problem in problems.get(sample_id, []):
            failure = ElementTree.SubElement(case, "failure", type=problem.reason, message=printable(problem.message))
            failure.text = printable(problem.message)
        score = verdict.scores.get(sample_id)
        if score is not None:
            ElementTree.SubElement(case, "system-out").text = f"score {score:.4f}"
    for problem in verdict.excused:
        # No two hyphens may stand together in a comment.
        suite.append(ElementTree.Comment(printable(f" excused: {problem.sample_id} ").replace("-", "\u2010")))
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"
