"""From tool scores and a model's letter to one score, or to the finding that the two contradict each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agenticiqa.runtime.config import FusionSettings
from agenticiqa.score_fusion import HARDLY_OVERLAP, ScoreFusion
from agenticiqa.score_interval import likely_interval
from agenticiqa.state import ScoreConflict
from agenticiqa.vocabulary import LETTER_LEVELS


@dataclass(frozen=True)
class Rating:
    """The fused score with its letter, how it came about, how sure it is, and the conflict where there is one."""

    score: float
    letter: str
    details: dict[str, Any]
    conflict: ScoreConflict | None = None
    interval: tuple[float, float] | None = None


def fusion_of(settings: FusionSettings) -> ScoreFusion:
    """As it is set, but always normalised: the printed form leaves the levels, so no answer is made of it."""
    return ScoreFusion(
        eta=settings.eta, class_confidence=settings.class_confidence, level_thresholds=settings.level_thresholds
    )


def rate(
    settings: FusionSettings,
    tool_scores: Sequence[float],
    letter: str,
    logprobs: Mapping[str, float] | None,
    counted: Sequence[float] | None = None,
) -> Rating:
    """Fuse what the tools measured with the letter that a model chose, or with its log-probabilities of all letters.

    ``counted`` are the scores that are fused, where that is not all of them: a tool that measures with the eye that the
    probabilities come from must not count twice.
    """
    fused = tool_scores if counted is None else counted
    fusion = fusion_of(settings)
    usable = any(math.isfinite(value) for value in (logprobs or {}).values())
    p = fusion.extract_vlm_probabilities({"logprobs": logprobs} if usable else letter)
    said = p if usable else {LETTER_LEVELS[letter]: 1.0}
    # A bare letter and no measurement: the spread of p would be our invention, so the letter's own level counts.
    bare = not usable and not tool_scores
    score = float(LETTER_LEVELS[letter]) if bare else fusion.fuse_scores(fused, p)
    fused_letter = fusion.map_to_level(score)
    alpha = fusion.compute_perceptual_weights(fused)
    details: dict[str, Any] = {
        "tool_scores": [round(each, 4) for each in tool_scores],
        "tool_mean": fusion.tool_mean(tool_scores),
        # Keys are texts, as JSON has no others: what is stored reads back the same.
        "alpha": {str(level): weight for level, weight in alpha.items()},
        "p": {str(level): probability for level, probability in p.items()},
        "p_source": "log-probabilities" if usable else "classification",
        "q": score,
        "letter": fused_letter,
        "overlap": round(fusion.overlap(tool_scores, said), 4),
    }
    if not settings.normalize:
        details["q_printed"] = _printed(settings, tool_scores, p)
    conflict = _conflict(fusion, tool_scores, said)
    likely = None if bare else likely_interval({level: alpha[level] * p.get(level, 0.0) for level in alpha})
    return Rating(score, fused_letter, details, conflict, conflict.interval if conflict else likely)


def _printed(settings: FusionSettings, tool_scores: Sequence[float], p: Mapping[int, float]) -> float:
    """For ablations: the formula as the paper prints it."""
    return ScoreFusion(eta=settings.eta, normalize=False).fuse_scores(tool_scores, p)


def _conflict(fusion: ScoreFusion, tool_scores: Sequence[float], said: Mapping[int, float]) -> ScoreConflict | None:
    mean = fusion.tool_mean(tool_scores)
    overlap = fusion.overlap(tool_scores, said)
    if mean is None or overlap >= HARDLY_OVERLAP:
        return None
    model = math.fsum(level * share for level, share in said.items())
    return ScoreConflict(tools=min(max(mean, 1), 5), model=min(max(model, 1), 5), overlap=overlap)
