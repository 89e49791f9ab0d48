"""Score recorded runs anew: other fusion, other calibration, other thresholds; nothing is asked or measured again.

A rated line keeps every tool's own value, the weights α that came of the scores, and the level probabilities p of the
model. That is all that a score is made of, so it can be made again by the same code under other settings.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

from agenticiqa.batch.results import read_results
from agenticiqa.nodes.rating import rate
from agenticiqa.research.results import EvaluationError, fusion_in
from agenticiqa.runtime.config import FusionSettings
from agenticiqa.runtime.files import atomic_file
from agenticiqa.tools.calibration import Calibration, load_calibrations, printed_calibrations
from agenticiqa.vocabulary import LEVEL_LETTERS

PRINTED = "printed"
# Scores in the account of a fusion are rounded to this many digits.
DIGITS = 4
SAME_MEAN = 1e-3
MOST_TOOLS = 12
FLAT = 1e-9


@dataclass(frozen=True)
class Rescoring:
    """How scores are to be made. ``calibrations`` replaces the curves of the tools that it names."""

    fusion: FusionSettings
    calibrations: Mapping[str, Calibration] | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            **self.fusion.model_dump(mode="json"),
            "calibrations": sorted(self.calibrations) if self.calibrations is not None else None,
        }


@dataclass(frozen=True)
class Rescored:
    """How a file was scored anew. ``unchanged`` lines hold no rating, ``lacking`` ones too little to make it again."""

    output: str
    rescored: int
    unchanged: int
    lacking: int

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


def calibrations_named(name: str | None) -> dict[str, Calibration] | None:
    """The curves of a file, or with ``printed`` the rows of the paper as they stand there."""
    if name is None:
        return None
    return printed_calibrations() if name == PRINTED else load_calibrations(name)


def rescore_file(source: Path, output: Path, how: Rescoring) -> Rescored:
    """Write a result file anew, whole or not at all; every line that cannot be scored anew stays as it is."""
    counts = {"rescored": 0, "unchanged": 0, "lacking": 0}
    if not source.is_file():
        raise EvaluationError(f"There is no file {source}.", hint="Give a result file of `agenticiqa batch`.")
    with atomic_file(output) as stream:
        for stored in read_results(source):
            line, outcome = rescored_line(stored.record, how)
            counts[outcome] += 1
            stream.write(json.dumps(line, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace") + b"\n")
    return Rescored(str(output), **counts)


def rescored_line(line: Mapping[str, Any], how: Rescoring) -> tuple[dict[str, Any], str]:
    """A line under other settings, and whether it is ``rescored``, ``unchanged`` or ``lacking``."""
    if line.get("status") == "error":
        return dict(line), "unchanged"
    if line.get("measurements"):
        return _measured(line, how)
    result = line.get("summarizer_result") or {}
    if result.get("quality_score") is None:
        return dict(line), "unchanged"
    given = _given(line, how)
    return (dict(line), "lacking") if given is None else (_rated(line, given, how), "rescored")


def _measured(line: Mapping[str, Any], how: Rescoring) -> tuple[dict[str, Any], str]:
    """A line of tools alone has curves and no fusion."""
    if not how.calibrations:
        return dict(line), "unchanged"
    new = deepcopy(dict(line))
    curve = _curves(how)
    for entry in new["measurements"]:
        if entry.get("raw") is not None and entry.get("calibrated") is not None:
            entry["calibrated"] = curve(str(entry["tool"]), float(entry["raw"]), float(entry["calibrated"]))
    new["metadata"] = {**(new.get("metadata") or {}), "rescored": how.as_dict()}
    return new, "rescored"


# --- what a rating is made of ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Given:
    """Scores of all tools, those of them that are fused, and what the model said."""

    tool_scores: list[float]
    counted: list[float]
    letter: str
    logprobs: dict[str, float] | None


def _given(line: Mapping[str, Any], how: Rescoring) -> _Given | None:
    fusion = fusion_in(line)
    alpha, p, listed = fusion.get("alpha"), fusion.get("p"), fusion.get("tool_scores")
    if not alpha or not p or listed is None:
        return None
    levels = {int(level): float(share) for level, share in p.items()}
    logs = (line.get("executor_evidence") or {}).get("tool_logs") or []
    old = _exact(listed, logs)
    if old is None:
        return None
    which = _counted([score for _, _, score in old], {int(level): float(weight) for level, weight in alpha.items()})
    if which is None:
        return None
    curve = _curves(how)
    new = [curve(tool, raw, score) for tool, raw, score in old]
    real = fusion.get("p_source") == "log-probabilities"
    return _Given(
        tool_scores=new,
        counted=[new[place] for place in which],
        letter=LEVEL_LETTERS[max(levels, key=lambda level: levels[level])],
        logprobs={LEVEL_LETTERS[level]: math.log(share) if share > 0 else -math.inf for level, share in levels.items()}
        if real
        else None,
    )


def _curves(how: Rescoring) -> Callable[[str, float, float], float]:
    known = {name.casefold(): calibration for name, calibration in (how.calibrations or {}).items()}

    def calibrated(tool: str, raw: float, before: float) -> float:
        return float(known[tool.casefold()](raw)) if tool.casefold() in known else before

    return calibrated


def _exact(listed: Sequence[float], logs: Iterable[Mapping[str, Any]]) -> list[tuple[str, float, float]] | None:
    """(tool, raw, calibrated) of the scores that entered; the account of the fusion has them rounded."""
    left = [log for log in logs if log.get("calibrated_score") is not None and log.get("raw_score") is not None]
    found = []
    for score in listed:
        place = next((i for i, log in enumerate(left) if round(log["calibrated_score"], DIGITS) == score), None)
        if place is None:
            return None
        log = left.pop(place)
        found.append((str(log["tool"]), float(log["raw_score"]), float(log["calibrated_score"])))
    return found


def _counted(scores: Sequence[float], alpha: Mapping[int, float]) -> tuple[int, ...] | None:
    """Which of the scores the weights came of: a tool that sees with the model's own eye does not count twice.

    log α is a parabola over the levels whose middle is the mean of the counted scores; flat where none counted.
    """
    mean = mean_behind(alpha)
    if mean is None:
        return ()
    # The largest group first: that all count is the rule.
    for size in range(len(scores), 0, -1) if len(scores) <= MOST_TOOLS else (len(scores),):
        for which in combinations(range(len(scores)), size):
            if abs(sum(scores[place] for place in which) / size - mean) < SAME_MEAN:
                return which
    return None


def mean_behind(alpha: Mapping[int, float]) -> float | None:
    """The tool mean that gave these weights; None where they are flat, not a number where it cannot be told.

    >>> from agenticiqa.score_fusion import ScoreFusion
    >>> round(mean_behind(ScoreFusion(eta=0.7).compute_perceptual_weights([2.0, 2.6])), 6)
    2.3
    """
    levels = sorted(level for level, weight in alpha.items() if weight > 0)
    if len(levels) < 3:
        return math.nan
    # Three neighbours around the largest weight: the others may be too small to be exact.
    start = min(max(levels.index(max(levels, key=lambda level: alpha[level])) - 1, 0), len(levels) - 3)
    near = levels[start : start + 3]
    first, second = (math.log(alpha[high]) - math.log(alpha[low]) for low, high in pairwise(near))
    if abs(second - first) < FLAT:
        return None
    # log α(c) = k - η (m - c)²: differences of neighbours are η (2 (m - c) - 1), and they differ by -2 η.
    eta = (first - second) / 2
    return near[0] + (first / eta + 1) / 2


def _rated(line: Mapping[str, Any], given: _Given, how: Rescoring) -> dict[str, Any]:
    rating = rate(how.fusion, given.tool_scores, given.letter, given.logprobs, given.counted)
    new = deepcopy(dict(line))
    result = new["summarizer_result"]
    result["quality_score"] = rating.score if how.fusion.normalize else rating.details["q_printed"]
    result["used_evidence"]["fusion"] = rating.details
    result["conflict"] = rating.conflict.model_dump(mode="json") if rating.conflict else None
    if rating.conflict and new["status"] == "ok":
        new["status"] = "partial"
    new["metadata"] = {**(new.get("metadata") or {}), "rescored": how.as_dict()}
    return new
