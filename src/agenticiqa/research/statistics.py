"""The figures that quality assessment is judged by, through SciPy; one that the data do not define is None."""

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats
from scipy.optimize import least_squares

from agenticiqa.research.results import Result
from agenticiqa.tools.calibration import five_parameter_logistic

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


# --- agreement of scores ---------------------------------------------------------------------------------


def pearson(x: Floats, y: Floats, axis: int = -1) -> Floats:
    """Linear correlation along an axis; NaN where one side is constant."""
    constant = (x.max(axis=axis) == x.min(axis=axis)) | (y.max(axis=axis) == y.min(axis=axis))
    dx, dy = _deviations(x, axis), _deviations(y, axis)
    size = np.sqrt((dx * dx).sum(axis=axis) * (dy * dy).sum(axis=axis))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(constant, np.nan, (dx * dy).sum(axis=axis) / size))


def _deviations(values: Floats, axis: int) -> Floats:
    """From the mean, in units of the largest value: squares then neither overflow nor vanish."""
    largest = np.abs(values).max(axis=axis, keepdims=True)
    scaled = values / np.where(largest > 0, largest, 1.0)
    return np.asarray(scaled - scaled.mean(axis=axis, keepdims=True))


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
    data, of = samples, statistic
    if clusters is not None:
        _, groups = np.unique(np.asarray(clusters), return_inverse=True)
        members = [np.flatnonzero(groups == group) for group in range(int(groups.max()) + 1)]
        if len(members) < FEWEST_CLUSTERS:
            return IntervalEstimate(value)
        data = (np.arange(len(members), dtype=np.float64),)

        def of(drawn: Floats) -> Floats:
            places = np.concatenate([members[int(group)] for group in drawn])
            return statistic(*(sample[places] for sample in samples), axis=-1)

    with warnings.catch_warnings():
        # A resample of a small file can be constant; its NaN makes the interval undefined, which is what we report.
        warnings.simplefilter("ignore")
        interval = stats.bootstrap(
            data,
            of,
            paired=True,
            vectorized=clusters is None,
            n_resamples=resamples,
            batch=max(1, _CELLS_A_BATCH // samples[0].size),
            confidence_level=CONFIDENCE,
            method="percentile",
            random_state=np.random.default_rng(seed),
        ).confidence_interval
    return IntervalEstimate(value, _finite(interval.low), _finite(interval.high))


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


# --- choices ---------------------------------------------------------------------------------------------


def proportion(right: int, total: int) -> IntervalEstimate:
    """A share with its Wilson interval."""
    if total == 0:
        return IntervalEstimate(None)
    interval = stats.binomtest(right, total).proportion_ci(CONFIDENCE, method="wilson")
    return IntervalEstimate(right / total, float(interval.low), float(interval.high))


def mcnemar(only_first: int, only_second: int) -> float:
    """Exact two-sided p-value that two answerers are equally often right, from the samples where they differ."""
    differing = only_first + only_second
    return float(stats.binomtest(only_first, differing, 0.5).pvalue) if differing else 1.0


# --- Map predictions to the scale of the opinions before a linear correlation ---


FEWEST_SAMPLES = 12
_TOLERANCE = 1e-10
# Bounds of the coefficients, in units of the data's spread: a steeper curve would be a step that splits samples
# which look the same.
_FAR, _STEEPEST = 100.0, 20.0
_LOWER = np.array([-_FAR, 1e-3, -_FAR, -_FAR, -_FAR])
_UPPER = np.array([_FAR, _STEEPEST, _FAR, _FAR, _FAR])


@dataclass(frozen=True)
class LogisticFit:
    """A fitted five-parameter logistic; ``coefficients`` are b1 … b5 on the scales of the data."""

    coefficients: tuple[float, ...]
    squared_error: float = math.nan

    def __call__(self, x: Floats) -> Floats:
        return five_parameter_logistic(np.asarray(x, np.float64), *self.coefficients)


def fit_logistic(predictions: npt.ArrayLike, opinions: npt.ArrayLike) -> LogisticFit | None:
    """The least-squares curve over several starts; None where the data cannot carry one."""
    x, y = np.asarray(predictions, np.float64), np.asarray(opinions, np.float64)
    if x.size < FEWEST_SAMPLES or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    # Both sides in units of their own spread: one set of starts then serves every scale.
    with np.errstate(over="ignore", under="ignore"):
        middle, spread, level, reach = (float(each) for each in (x.mean(), x.std(), y.mean(), y.std()))
    if not all(math.isfinite(size) and size > 0 for size in (spread, reach)):
        return None  # too large or too small for the squares that a fit is made of
    u, v = (x - middle) / spread, (y - level) / reach
    tries = [
        least_squares(
            lambda b: five_parameter_logistic(u, *b) - v,
            np.clip(start, _LOWER, _UPPER),
            jac=lambda b: _slopes(b, u),
            bounds=(_LOWER, _UPPER),
            x_scale="jac",
            ftol=_TOLERANCE,
            xtol=_TOLERANCE,
            gtol=_TOLERANCE,
            max_nfev=100,
        )
        for start in _starts(u, v)
    ]
    best = min(tries, key=lambda found: float(found.cost))
    # Back to the units of the data; the curve stays the same.
    b1, b2, b3, b4, b5 = (float(value) for value in best.x)
    slope = reach * b4 / spread
    found = (reach * b1, b2 / spread, middle + spread * b3, slope, level + reach * b5 - slope * middle)
    return LogisticFit(found, float(2 * best.cost * reach**2))


def _slopes(b: Floats, u: Floats) -> Floats:
    """The curve's derivative by each coefficient."""
    half = np.tanh(0.5 * b[1] * (u - b[2]))
    bend = 0.25 * b[0] * (1 - half * half)
    return np.stack([0.5 * half, bend * (u - b[2]), -bend * b[1], u, np.ones_like(u)], axis=1)


def _starts(u: Floats, v: Floats) -> list[list[float]]:
    """A straight line, and curves that bend in several places, more or less sharply."""
    height, slope = math.copysign(float(np.ptp(v)), float((u * v).sum())), float((u * v).mean())
    bends = ((0.5, 1.0), (0.5, 4.0), (0.2, 2.0), (0.8, 2.0))
    curves = [[height, steep, float(np.quantile(u, share)), 0.1 * slope, 0.0] for share, steep in bends]
    return [[0.0, 1.0, 0.0, slope, 0.0], *curves]


# --- Accuracy of answers to questions with a known right one ---


@dataclass(frozen=True)
class Accuracy:
    """``accuracy`` counts a sample without an answer as not right; ``accuracy_of_answered`` leaves it out."""

    asked: int
    answered: int
    right: int
    accuracy: IntervalEstimate
    accuracy_of_answered: IntervalEstimate


def accuracy(results: Iterable[Result]) -> Accuracy:
    """Count the results that have a right answer."""
    choices = [result for result in results if result.is_choice]
    answered, right = sum(result.choice is not None for result in choices), sum(result.correct for result in choices)
    return Accuracy(len(choices), answered, right, proportion(right, len(choices)), proportion(right, answered))
