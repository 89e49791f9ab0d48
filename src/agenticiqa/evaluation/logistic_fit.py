"""Map predictions to the scale of the opinions before a linear correlation, as VQEG and Sheikh do.

Whether a method's scale is bent says nothing about its worth, so PLCC and RMSE are usually given after a monotone
curve has been fitted from predictions to opinions:

* four parameters (VQEG 2000): ``b2 + (b1 - b2) / (1 + exp(-(x - b3) / |b4|))``
* five parameters (Sheikh, Sabir and Bovik 2006): ``b1 (1/2 - 1/(1 + exp(b2 (x - b3)))) + b4 x + b5``

The five-parameter curve contains every straight line, so its squared error is never above that of a line. It is not
forced to be monotone; with few samples it can bend to noise, so ``FEWEST_SAMPLES`` are required.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares
from scipy.special import expit

from agenticiqa.tools.calibration import five_parameter_logistic

Floats = npt.NDArray[np.float64]
Parameters = Literal[4, 5]
FEWEST_SAMPLES = 12
_MAX_EVALUATIONS = 100
_TOLERANCE = 1e-10
_STEEPEST = 20.0
_FAR = 100.0


@dataclass(frozen=True)
class LogisticFit:
    """A fitted curve; ``coefficients`` are b1 … b4 or b1 … b5 on the scales of the data."""

    coefficients: tuple[float, ...]
    squared_error: float

    def __call__(self, x: Floats) -> Floats:
        return _curve(np.asarray(self.coefficients), np.asarray(x, np.float64))


def _curve(b: Floats, x: Floats) -> Floats:
    if b.size == 5:
        return five_parameter_logistic(x, *(float(value) for value in b))
    return np.asarray(b[1] + (b[0] - b[1]) * expit((x - b[2]) / b[3]))


def fit_logistic(predictions: npt.ArrayLike, opinions: npt.ArrayLike, parameters: Parameters = 5) -> LogisticFit | None:
    """The least-squares curve over several starts; None where the data cannot carry one.

    >>> x = np.linspace(1, 5, 40)
    >>> curve = fit_logistic(x, 10 + 80 / (1 + np.exp(-(x - 3) / 0.5)), parameters=4)
    >>> [round(value, 4) for value in curve.coefficients]
    [90.0, 10.0, 3.0, 0.5]
    """
    x, y = np.asarray(predictions, np.float64), np.asarray(opinions, np.float64)
    if x.size < FEWEST_SAMPLES or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    # Both sides in units of their own spread: one set of starts then serves every scale.
    with np.errstate(over="ignore", under="ignore"):
        middle, spread, level, reach = x.mean(), x.std(), y.mean(), y.std()
    if not all(np.isfinite(size) and size > 0 for size in (spread, reach)):
        return None  # too large or too small for the squares that a fit is made of
    u, v = (x - middle) / spread, (y - level) / reach
    best = min((_descend(start, u, v) for start in _starts(u, v, parameters)), key=lambda found: float(found.cost))
    back = _on_original_scales(np.asarray(best.x), float(middle), float(spread), float(level), float(reach))
    return LogisticFit(tuple(float(value) for value in back), float(2 * best.cost * reach**2))


class _Solution(Protocol):
    """What we use of SciPy's untyped result."""

    x: Floats
    cost: float


def _descend(start: list[float], u: Floats, v: Floats) -> _Solution:
    lower, upper = _limits(len(start))
    found: _Solution = least_squares(
        lambda b: _curve(b, u) - v,
        np.clip(start, lower, upper),
        jac=lambda b: _slopes(b, u),
        bounds=(lower, upper),
        x_scale="jac",
        ftol=_TOLERANCE,
        xtol=_TOLERANCE,
        gtol=_TOLERANCE,
        max_nfev=_MAX_EVALUATIONS,
    )
    return found


def _limits(parameters: int) -> tuple[Floats, Floats]:
    """In units of the data's spread. A steeper curve would be a step that splits samples nobody can tell apart."""
    if parameters == 4:
        return np.array([-_FAR, -_FAR, -_FAR, 1 / _STEEPEST]), np.array([_FAR, _FAR, _FAR, _FAR])
    return np.array([-_FAR, 1e-3, -_FAR, -_FAR, -_FAR]), np.array([_FAR, _STEEPEST, _FAR, _FAR, _FAR])


def _slopes(b: Floats, u: Floats) -> Floats:
    """The curve's derivative by each coefficient."""
    if b.size == 4:
        share = expit((u - b[2]) / b[3])
        bend = (b[0] - b[1]) * share * (1 - share) / b[3]
        return np.stack([share, 1 - share, -bend, -bend * (u - b[2]) / b[3]], axis=1)
    half = np.tanh(0.5 * b[1] * (u - b[2]))
    bend = 0.25 * b[0] * (1 - half * half)
    return np.stack([0.5 * half, bend * (u - b[2]), -bend * b[1], u, np.ones_like(u)], axis=1)


def _starts(u: Floats, v: Floats, parameters: Parameters) -> list[list[float]]:
    sign = 1.0 if float((u * v).sum()) >= 0 else -1.0
    low, high = float(v.min()), float(v.max())
    # Where the curve bends, and how sharply.
    bends = [(float(np.quantile(u, share)), steep) for share, steep in ((0.5, 1.0), (0.5, 4.0), (0.2, 2.0), (0.8, 2.0))]
    if parameters == 4:
        top, bottom = (high, low) if sign > 0 else (low, high)
        return [[top, bottom, centre, 1 / steep] for centre, steep in bends]
    slope = float((u * v).mean())
    line = [0.0, 1.0, 0.0, slope, 0.0]
    return [line, *([sign * (high - low), steep, centre, 0.1 * slope, 0.0] for centre, steep in bends)]


def _on_original_scales(b: Floats, middle: float, spread: float, level: float, reach: float) -> list[float]:
    """Undo the change of units; the curve stays the same."""
    if b.size == 4:
        return [level + reach * b[0], level + reach * b[1], middle + spread * b[2], spread * b[3]]
    slope = reach * b[3] / spread
    return [reach * b[0], b[1] / spread, middle + spread * b[2], slope, level + reach * b[4] - slope * middle]
