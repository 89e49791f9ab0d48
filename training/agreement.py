"""How well scores agree with people: rank and linear correlation with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

Floats = npt.NDArray[np.float64]

REPLICATES = 2000
SEED = 1


def srcc(scores: Floats, opinion: Floats) -> float:
    return float(stats.spearmanr(scores, opinion).statistic)


def plcc(scores: Floats, opinion: Floats) -> float:
    return float(stats.pearsonr(scores, opinion).statistic)


def krcc(scores: Floats, opinion: Floats) -> float:
    return float(stats.kendalltau(scores, opinion).statistic)


@dataclass(frozen=True)
class Estimate:
    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4f} [{self.low:.3f}, {self.high:.3f}]"


def with_interval(statistic: Callable[[Floats, Floats], float], scores: Floats, opinion: Floats) -> Estimate:
    """The statistic with its 95 % percentile interval over resampled pictures."""
    draws = [statistic(scores[pick], opinion[pick]) for pick in _resamples(len(scores))]
    return Estimate(statistic(scores, opinion), *np.quantile(draws, [0.025, 0.975]).tolist())


def difference(one: Floats, other: Floats, opinion: Floats) -> Estimate:
    """By how much ``one`` ranks better than ``other``, with its paired 95 % interval."""
    draws = [srcc(one[pick], opinion[pick]) - srcc(other[pick], opinion[pick]) for pick in _resamples(len(one))]
    return Estimate(srcc(one, opinion) - srcc(other, opinion), *np.quantile(draws, [0.025, 0.975]).tolist())


def _resamples(count: int) -> npt.NDArray[np.int64]:
    return np.random.default_rng(SEED).integers(0, count, (REPLICATES, count))
