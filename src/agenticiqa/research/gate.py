"""A gate for builds: does every picture reach a score, and did none get worse than before?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from xml.etree import ElementTree

from agenticiqa.research import results
from agenticiqa.runtime.logs import printable
from agenticiqa.vocabulary import same_name

Reason = Literal["failed", "no_score", "below", "regression", "missing"]
DEFAULT_TOLERANCE = 0.1
"""Points a score may fall before it counts: what re-encoding or a shift by a pixel may cause."""


@dataclass(frozen=True)
class Rules:
    """What is demanded. ``baseline`` holds the scores of an earlier run."""

    min_score: float | None = None
    baseline: results.ResultFile | None = None
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


def judge(file: results.ResultFile, rules: Rules) -> GateVerdict:
    """Hold every sample of a result file against the rules.

    Raises EvaluationError where there is nothing to judge by: no such score, a bound outside the scale, a raw value
    that falls with quality, a baseline without scores.
    """
    has_scale = file.score == results.FUSED or file.score.startswith(results.TOOL_PREFIX)
    if has_scale and rules.min_score is not None and not 1 <= rules.min_score <= 5:
        # Above the scale nothing passes, below it everything: neither can be meant.
        raise results.EvaluationError(
            f"--min-score {rules.min_score:g} lies outside the scale of {file.score}: 1 (bad) to 5 (excellent).",
            hint="Give a score from 1 to 5; --score raw:NAME judges by a tool's own value.",
        )
    file = _with_lower_readings(file)
    _refuse_scores_that_fall_with_quality(file)
    results.refuse_unknown_score(file, file.results)
    before: dict[str, results.Result] = {}
    if rules.baseline:
        baseline = _with_lower_readings(rules.baseline)
        results.refuse_unknown_score(baseline, baseline.results)
        if all(result.score is None for result in baseline.results):
            # Held against nothing, every picture would pass.
            raise results.EvaluationError(
                f"No sample of {baseline.path} has a score: there is nothing to compare with.",
                hint="Give the results of a run that worked as --max-regression.",
            )
        before = {result.sample_id: result for result in baseline.results}
    unscored: list[GateProblem] = []
    wrong: list[GateProblem] = []
    for result in file.results:
        if result.status == "error":
            unscored.append(GateProblem(result.sample_id, "failed", str(result.line.get("error") or "The run failed.")))
        elif result.score is None:
            message = "The result has no score: ask for a rating, or name --score."
            unscored.append(GateProblem(result.sample_id, "no_score", message))
        else:
            earlier = before.get(result.sample_id)
            wrong += _too_low(result.sample_id, result.score, earlier.score if earlier else None, rules)
    # A picture that is no longer there cannot hide that it got worse.
    gone = before.keys() - {result.sample_id for result in file.results}
    wrong += [
        GateProblem(sample_id, "missing", "The baseline has this sample, the results do not.")
        for sample_id in before
        if sample_id in gone
    ]
    # Where nothing at all could be judged, there is nothing to let pass.
    judged = len(unscored) < len(file.results)
    excused = unscored if judged and len(unscored) <= rules.allowed_failures else []
    return GateVerdict(
        samples=len(file.results),
        problems=[*([] if excused else unscored), *wrong],
        excused=excused,
        notes=list(_notes(file, before)) if before else [],
        scores={result.sample_id: result.score for result in file.results},
    )


def _with_lower_readings(file: results.ResultFile) -> results.ResultFile:
    """Where tools and model contradict each other, a fused score between the two vouches for nothing."""
    if file.score != results.FUSED:
        return file
    lowered = [
        result if result.score is None else replace(result, score=results.lower_reading(result.line) or result.score)
        for result in file.results
    ]
    return replace(file, results=lowered)


def _refuse_scores_that_fall_with_quality(file: results.ResultFile) -> None:
    """Of many raw values less is better: a gate that demands more of them would let damage through."""
    if not file.score.startswith(results.RAW_PREFIX):
        return
    tool = file.score.removeprefix(results.RAW_PREFIX)
    for entry in (entry for result in file.results for entry in results.tool_entries(result.line)):
        if same_name(str(entry.get("tool")), tool) and entry.get("higher_is_better") is not True:
            raise results.EvaluationError(
                f"Of {tool}'s raw value, higher is not better: a gate on it would pass bad pictures.",
                hint=f"--score {results.TOOL_PREFIX}{tool} is its score from 1 to 5, higher for better.",
            )


def _too_low(sample_id: str, score: float, before: float | None, rules: Rules) -> Iterator[GateProblem]:
    if rules.min_score is not None and score < rules.min_score:
        yield GateProblem(sample_id, "below", f"{score:.2f} is below {rules.min_score:.2f}.")
    if before is not None and before - score > rules.tolerance:
        fall = f"{before - score:.2f} worse, more than {rules.tolerance:.2f}"
        yield GateProblem(sample_id, "regression", f"{score:.2f} was {before:.2f}: {fall}.")


def _notes(file: results.ResultFile, before: Mapping[str, results.Result]) -> Iterator[str]:
    new = sum(result.sample_id not in before for result in file.results)
    if new:
        yield f"{new} samples are new; nothing is known of them from before."
    pairs = [(result.score, before[result.sample_id].score) for result in file.results if result.sample_id in before]
    changes = [now - then for now, then in pairs if now is not None and then is not None]
    if changes:
        yield f"Mean change over {len(changes)} samples: {sum(changes) / len(changes):+.3f} points."
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
