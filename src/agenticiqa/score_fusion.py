"""Fuse what the tools measured with what the model believes into one score.

Tool scores pull the result towards their mean through Gaussian weights over the quality levels; the model's level
probabilities say which of those levels it sees. The product of both is normalised, so that the score stays within
the levels (the printed formula of the paper, kept as ``normalize=False``, does not).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar, get_args

from agenticiqa.answers import parse_level
from agenticiqa.vocabulary import LETTER_LEVELS, LEVEL_LETTERS

logger = logging.getLogger(__name__)

DEFAULT_LEVELS = (1, 2, 3, 4, 5)
DEFAULT_THRESHOLDS = (1.5, 2.5, 3.5, 4.5)
# Below this, weights and probabilities have no level in common and the quotient would be noise.
NEGLIGIBLE = 1e-12

HARDLY_OVERLAP = 0.03
"""Common area of the tools' weights and the model's level below which the two contradict each other.

It is where fusion stops listening: around a bare letter each other level gets 0.05, and where the tools give the letter
itself less than about 0.03, those outweigh it, and a worse letter gives a *better* score. Measured by
benchmarks/accuracy/conflict_threshold.py; the figures are in docs/one-picture/result-format.md.
"""

K = TypeVar("K")
ProbabilityMode = Literal["auto", "logits", "classification", "uniform"]


class ScoreFusion:
    """Weighted fusion of calibrated tool scores and level probabilities.

    >>> fusion = ScoreFusion()
    >>> flat = fusion.extract_vlm_probabilities({}, mode="uniform")
    >>> round(fusion.fuse_scores([2.6], flat), 2)
    2.6
    """

    def __init__(
        self,
        eta: float = 1.0,
        quality_levels: Sequence[int] = DEFAULT_LEVELS,
        *,
        class_confidence: float = 0.8,
        level_thresholds: Sequence[float] = DEFAULT_THRESHOLDS,
        normalize: bool = True,
    ) -> None:
        if not (math.isfinite(eta) and eta > 0):
            raise ValueError(f"eta must be a positive number, not {eta}")
        if len(quality_levels) < 2 or len(set(quality_levels)) != len(quality_levels):
            raise ValueError("quality_levels needs at least two different levels")
        if not 0 < class_confidence < 1:
            raise ValueError("class_confidence must lie between 0 and 1")
        self.eta = eta
        self.quality_levels = sorted(quality_levels)
        self.class_confidence = class_confidence
        self.level_thresholds = tuple(level_thresholds)
        self.normalize = normalize

    # --- tools ---

    def tool_mean(self, tool_scores: Sequence[float]) -> float | None:
        """Mean of the usable scores; None when there is none."""
        usable = [float(score) for score in tool_scores if math.isfinite(score)]
        if len(usable) < len(tool_scores):
            logger.warning("Dropped %d tool score(s) that are not numbers", len(tool_scores) - len(usable))
        return math.fsum(usable) / len(usable) if usable else None

    def compute_perceptual_weights(self, tool_scores: Sequence[float]) -> dict[int, float]:
        """Gaussian weight of each level around the tool mean; flat when nothing was measured."""
        mean = self.tool_mean(tool_scores)
        if mean is None:
            return self._flat()
        return softmax({level: -self.eta * (mean - level) ** 2 for level in self.quality_levels})

    # --- model ---

    def extract_vlm_probabilities(
        self, vlm_output: Mapping[Any, Any] | str, mode: ProbabilityMode = "auto"
    ) -> dict[int, float]:
        """Level probabilities from a model's output.

        * ``logits``: ``vlm_output`` maps levels or letters to log-probabilities (also under the key ``logprobs``).
        * ``classification``: it is, or holds under ``final_answer``, one level; that level gets
          ``class_confidence`` and the others share the rest.
        * ``uniform``: every level alike.
        * ``auto``: the first of these that the output supports.

        A mode that is none of these gives a flat distribution too, with a warning.
        """
        if mode == "uniform":
            return self._flat()
        if mode in ("auto", "logits") and (logits := self._logits(vlm_output)) is not None:
            return softmax(logits)
        if mode in ("auto", "classification"):
            answer = vlm_output.get("final_answer") if isinstance(vlm_output, Mapping) else vlm_output
            level = parse_level(str(answer)) if answer is not None else None
            if level in self.quality_levels:
                rest = (1 - self.class_confidence) / (len(self.quality_levels) - 1)
                return {each: self.class_confidence if each == level else rest for each in self.quality_levels}
        what = "level log-probabilities" if mode == "logits" else "quality level"
        known = mode in get_args(ProbabilityMode)
        why = f"No {what} in the model's output" if known else f"{mode!r} is no way to read probabilities"
        logger.warning("%s; using a flat distribution", why)
        return self._flat()

    def _logits(self, vlm_output: Mapping[Any, Any] | str) -> dict[int, float] | None:
        source = vlm_output.get("logprobs", vlm_output) if isinstance(vlm_output, Mapping) else None
        if not isinstance(source, Mapping):
            return None
        found: dict[int, float] = {}
        for key, value in source.items():
            level = self._level_of_key(key)
            if level is not None and isinstance(value, (int, float)) and not math.isnan(value):
                found[level] = float(value)
        if not any(value > -math.inf for value in found.values()):
            return None
        return {level: found.get(level, -math.inf) for level in self.quality_levels}

    def _level_of_key(self, key: Any) -> int | None:
        if isinstance(key, int):
            return key if key in self.quality_levels else None
        text = str(key).strip()
        level = int(text) if text.isdecimal() else LETTER_LEVELS.get(text.upper()) or parse_level(text)
        return level if level in self.quality_levels else None

    # --- both ---

    def fuse_scores(self, tool_scores: Sequence[float], vlm_probabilities: Mapping[int, float]) -> float:
        """``Σ α·p·c / Σ α·p`` over the levels c; the tool mean where both have nothing in common."""
        weights = self.compute_perceptual_weights(tool_scores)
        products = {level: weights[level] * vlm_probabilities.get(level, 0.0) for level in self.quality_levels}
        weighted = math.fsum(level * product for level, product in products.items())
        if not self.normalize:
            return weighted
        total = math.fsum(products.values())
        if total < NEGLIGIBLE:
            mean = self.tool_mean(tool_scores)
            if mean is None:
                raise ValueError("neither tool scores nor level probabilities to fuse")
            return self._within_levels(mean)
        return self._within_levels(weighted / total)

    def overlap(self, tool_scores: Sequence[float], vlm_probabilities: Mapping[int, float]) -> float:
        """The area that the tools' weights and level probabilities have in common, 0 to 1.

        A letter without probabilities belongs in here as ``{level: 1.0}``: what is put around it is our invention.
        """
        weights = self.compute_perceptual_weights(tool_scores)
        return math.fsum(min(weights[level], vlm_probabilities.get(level, 0.0)) for level in self.quality_levels)

    def _within_levels(self, score: float) -> float:
        return min(max(score, self.quality_levels[0]), self.quality_levels[-1])

    # --- levels ---

    def level_of(self, score: float) -> int:
        """The level number of a score; a score on a threshold belongs to the better level."""
        if math.isnan(score):
            raise ValueError("a score that is not a number has no level")
        return 1 + sum(round(score, 9) >= threshold for threshold in self.level_thresholds)

    def map_to_level(self, score: float) -> str:
        """The letter of a score, A (excellent) to E (bad)."""
        return LEVEL_LETTERS[self.level_of(score)]

    def _flat(self) -> dict[int, float]:
        return {level: 1 / len(self.quality_levels) for level in self.quality_levels}


def softmax(logits: Mapping[K, float]) -> dict[K, float]:
    """Stable for any finite or minus-infinite input; an infinite one takes all."""
    top = max(logits.values())
    if math.isinf(top):
        winners = [level for level, value in logits.items() if value == top]
        return {level: 1 / len(winners) if level in winners else 0.0 for level in logits}
    exponentials = {level: math.exp(value - top) for level, value in logits.items()}
    total = math.fsum(exponentials.values())
    return {level: value / total for level, value in exponentials.items()}
