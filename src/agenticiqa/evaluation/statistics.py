"""The figures that quality assessment is judged by, each with its uncertainty.

Everything here is a thin, typed face of SciPy: a figure that the data do not define (one sample, a constant) is None
and never a number.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

Floats = npt.NDArray[np.float64]
Statistic = Callable[..., Floats]

CONFIDENCE = 0.95
DEFAULT_RESAMPLES = 1000
SEED = 20_25
# Fewer groups than this say next to nothing about how groups differ.
FEWEST_CLUSTERS = 5
# Resamples are drawn in portions, so that ten thousand pictures do not need a gigabyte.
_CELLS_A_BATCH = 2_000_000


@dataclass(frozen=True)
class IntervalEstimate:
    """A figure and its 95 % interval; any part is None where the data do not define it."""

    value: float | None
    low: float | None = None
    high: float | None = None

    def as_dict(self) -> dict[str, float | None]:
        return {"value": self.value, "low": self.low, "high": self.high}


# --- agreement of scores ---------------------------------------------------------------------------------


def pearson(x: Floats, y: Floats, axis: int = -1) -> Floats:
    """Linear correlation along an axis; NaN where one side is constant."""
    dx, dy = _deviations(x, axis), _deviations(y, axis)
    size = np.sqrt((dx * dx).sum(axis=axis) * (dy * dy).sum(axis=axis))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(_constant(x, axis) | _constant(y, axis), np.nan, (dx * dy).sum(axis=axis) / size))


def _deviations(values: Floats, axis: int) -> Floats:
    """From the mean, in units of the largest value: squares then neither overflow nor vanish."""
    largest = np.abs(values).max(axis=axis, keepdims=True)
    scaled = values / np.where(largest > 0, largest, 1.0)
    return np.asarray(scaled - scaled.mean(axis=axis, keepdims=True))


def _constant(values: Floats, axis: int) -> npt.NDArray[np.bool_]:
    return np.asarray(values.max(axis=axis) == values.min(axis=axis))


def spearman(x: Floats, y: Floats, axis: int = -1) -> Floats:
    """Rank correlation along an axis; ties share their mean rank."""
    return pearson(stats.rankdata(x, axis=axis), stats.rankdata(y, axis=axis), axis)


def kendall(x: Floats, y: Floats, axis: int = -1) -> Floats:
    """Kendall's τ-b along the last axis."""
    if x.ndim == 1:
        return np.asarray(stats.kendalltau(x, y).statistic)
    rows = np.broadcast_shapes(x.shape, y.shape)[:-1]
    pairs = zip(np.broadcast_to(x, (*rows, x.shape[-1])), np.broadcast_to(y, (*rows, y.shape[-1])), strict=True)
    return np.asarray([kendall(one, other, axis) for one, other in pairs])


def root_mean_square(x: Floats, y: Floats, axis: int = -1) -> Floats:
    """Root of the mean squared difference."""
    return np.asarray(np.sqrt(np.square(x - y).mean(axis=axis)))


def bootstrap(
    statistic: Statistic,
    *samples: Floats,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = SEED,
    clusters: Sequence[str] | None = None,
) -> IntervalEstimate:
    """A statistic of paired samples with its percentile bootstrap interval (pictures are drawn, not ratings).

    ``clusters`` names the group of each sample: whole groups are drawn then, because versions of one picture are not
    independent of each other.
    """
    value = float(statistic(*samples, axis=-1)) if samples[0].size > 1 else math.nan
    if not math.isfinite(value):
        return IntervalEstimate(None)
    if resamples < 1 or samples[0].size < 3:
        return IntervalEstimate(value)
    if clusters is not None:
        return _cluster_bootstrap(statistic, samples, value, clusters, resamples, seed)
    with warnings.catch_warnings():
        # A resample of a small file can be constant; its NaN makes the interval undefined, which is what we report.
        warnings.simplefilter("ignore")
        interval = stats.bootstrap(
            samples,
            statistic,
            paired=True,
            vectorized=True,
            n_resamples=resamples,
            batch=max(1, _CELLS_A_BATCH // samples[0].size),
            confidence_level=CONFIDENCE,
            method="percentile",
            random_state=np.random.default_rng(seed),
        ).confidence_interval
    return IntervalEstimate(value, _finite(interval.low), _finite(interval.high))


def _cluster_bootstrap(
    statistic: Statistic, samples: Sequence[Floats], value: float, clusters: Sequence[str], resamples: int, seed: int
) -> IntervalEstimate:
    _, groups = np.unique(np.asarray(clusters), return_inverse=True)
    members = [np.flatnonzero(groups == group) for group in range(int(groups.max()) + 1)]
    if len(members) < FEWEST_CLUSTERS:
        return IntervalEstimate(value)
    chance = np.random.default_rng(seed)
    values = []
    for _ in range(resamples):
        drawn = np.concatenate([members[group] for group in chance.integers(0, len(members), len(members))])
        values.append(float(statistic(*(sample[drawn] for sample in samples), axis=-1)))
    edge = (1 - CONFIDENCE) / 2
    low, high = np.quantile(values, [edge, 1 - edge])
    return IntervalEstimate(value, _finite(float(low)), _finite(float(high)))


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


# --- choices ---------------------------------------------------------------------------------------------


def proportion(right: int, total: int) -> IntervalEstimate:
    """A share with its Wilson interval.

    >>> share = proportion(8, 10)
    >>> share.value, round(share.low, 3), round(share.high, 3)
    (0.8, 0.49, 0.943)
    >>> proportion(0, 0)
    IntervalEstimate(value=None, low=None, high=None)
    """
    if total == 0:
        return IntervalEstimate(None)
    interval = stats.binomtest(right, total).proportion_ci(CONFIDENCE, method="wilson")
    return IntervalEstimate(right / total, float(interval.low), float(interval.high))


def mcnemar(only_first: int, only_second: int) -> float:
    """Exact two-sided p-value that two answerers are equally often right, from the samples where they differ.

    >>> mcnemar(1, 9), mcnemar(0, 0)
    (0.021484375, 1.0)
    """
    differing = only_first + only_second
    return float(stats.binomtest(only_first, differing, 0.5).pvalue) if differing else 1.0


# --- two correlations with the same opinions -------------------------------------------------------------


@dataclass(frozen=True)
class ZTest:
    z: float
    p: float


def steiger(first: float, second: float, between: float, count: int) -> ZTest | None:
    """Steiger's test whether two methods correlate alike with the same opinions.

    ``first`` and ``second`` are their correlations with the opinions, ``between`` that of the two methods with each
    other. The form is Z̄₁* of Steiger, Tests for comparing elements of a correlation matrix, Psychological Bulletin
    87, 1980 (equation 14), with the two correlations pooled. None where it is not defined.
    """
    if count < 4 or max(abs(first), abs(second)) >= 1 or first == second:
        return ZTest(0.0, 1.0) if first == second and count >= 4 else None
    pooled = ((first + second) / 2) ** 2
    covariance = between * (1 - 2 * pooled) - 0.5 * pooled * (1 - 2 * pooled - between**2)
    spread = 2 - 2 * covariance / (1 - pooled) ** 2
    if spread <= 0:
        return None
    z = (math.atanh(first) - math.atanh(second)) * math.sqrt((count - 3) / spread)
    return ZTest(z, float(2 * stats.norm.sf(abs(z))))
