"""Yes or no about quality as such: "Is the picture damaged?", "Is it visibly worse than the reference?"."""

from __future__ import annotations

import math
import re

from agenticiqa.models.offline.language.word_lists import word_set
from agenticiqa.models.offline.looking import Look
from agenticiqa.state import ExecutorOutput

_DAMAGED = word_set(
    "worse degraded degradation distorted distortion distortions damaged damage artifact artifacts artefacts problem "
    "problems issue issues flaw flaws flawed defect defects impaired impairment impairments corrupted deteriorated "
    "lower spoiled ruined changed altered visible wrong"
)
_BAD = word_set("bad poor terrible awful unacceptable unusable horrible low")
_GOOD = word_set("good acceptable fine decent usable high adequate satisfactory ok okay well great faithful same equal")
_EXCELLENT = word_set("excellent perfect pristine flawless undistorted undamaged outstanding superb clean")
_DENIED = re.compile(r"\b(?:not|no|without|free (?:of|from)|lack(?:s|ing)?)\b", re.IGNORECASE)

# An unchanged picture scores about 4.6 without a reference, near 5 with one; damage that people see lies below.
NOTICED_ALONE, SPREAD_ALONE = 4.0, 0.25
NOTICED_BESIDE, SPREAD_BESIDE = 4.3, 0.15


def overall_yes(text: str, look: Look, evidence: ExecutorOutput | None, *, beside_reference: bool) -> float | None:
    """The chance that "yes" is right; None when the question says nothing of quality."""
    words = set(re.findall(r"[a-z]+", text.casefold()))
    chance = _chance(words, look, _damage_chance(look, evidence, beside_reference=beside_reference))
    if chance is None:
        return None
    return 1 - chance if _DENIED.search(text) else chance


def says_quality(text: str) -> bool:
    """Whether a question asks how good or damaged the picture is."""
    return bool(set(re.findall(r"[a-z]+", text.casefold())) & (_DAMAGED | _BAD | _EXCELLENT | _GOOD))


def _chance(words: set[str], look: Look, damaged: float) -> float | None:
    levels = look.reading.level_probabilities
    if words & _DAMAGED:
        return damaged
    if words & _BAD:
        return levels[1] + levels[2]
    if words & _EXCELLENT:
        return levels[5]
    if words & _GOOD:
        return levels[4] + levels[5]
    return None


def _damage_chance(look: Look, evidence: ExecutorOutput | None, *, beside_reference: bool) -> float:
    """With a reference the tools' comparison decides, without one the model's own score."""
    compared = [log.calibrated_score for log in evidence.tool_logs] if evidence and beside_reference else []
    known = [score for score in compared if score is not None]
    if known:
        return _below(sum(known) / len(known), NOTICED_BESIDE, SPREAD_BESIDE)
    return _below(look.reading.score, NOTICED_ALONE, SPREAD_ALONE)


def _below(score: float, bound: float, spread: float) -> float:
    return 1 / (1 + math.exp(max(-50.0, min(50.0, (score - bound) / spread))))
