"""How well scores agree with people: the package's correlations, with bootstrap intervals over pictures."""

from __future__ import annotations

import math
from dataclasses import dataclass

from agenticiqa.research.agreement import difference_of_ranks
from agenticiqa.research.statistics import Floats, Statistic, bootstrap, kendall, pearson, spearman

REPLICATES = 2000
SEED = 1


def srcc(scores: Floats, opinion: Floats) -> float:
    return float(spearman(scores, opinion))


def plcc(scores: Floats, opinion: Floats) -> float:
    return float(pearson(scores, opinion))


def krcc(scores: Floats, opinion: Floats) -> float:
    return float(kendall(scores, opinion))


@dataclass(frozen=True)
class Estimate:
    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4f} [{self.low:.3f}, {self.high:.3f}]"


def with_interval(statistic: Statistic, *samples: Floats) -> Estimate:
    """The statistic with its 95 % percentile interval over resampled pictures; NaN where it is not defined."""
    found = bootstrap(statistic, *samples, resamples=REPLICATES, seed=SEED)
    return Estimate(*(math.nan if each is None else each for each in (found.value, found.low, found.high)))


def difference(one: Floats, other: Floats, opinion: Floats) -> Estimate:
    """By how much ``one`` ranks better than ``other``, with its paired 95 % interval."""
    return with_interval(difference_of_ranks, one, other, opinion)
