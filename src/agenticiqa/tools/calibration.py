"""From a metric's own number to the 1..5 opinion scale that all tools share.

Every tool has one curve: the five-parameter logistic of Sheikh, Sabir and Bovik (A statistical evaluation of recent
full reference image quality assessment algorithms, IEEE TIP, 2006). The curves in use, where each comes from and
why, stand in ``calibrations.yaml``; nothing there is used before it has been checked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeVar, overload

import numpy as np
import numpy.typing as npt
import yaml
from pydantic import BaseModel, ConfigDict, StrictBool, TypeAdapter, ValidationError

from agenticiqa._data import parse_yaml
from agenticiqa.errors import ToolError

T = TypeVar("T")
Floats = npt.NDArray[np.float64]
Coefficients = tuple[float, float, float, float, float]

LOWEST, HIGHEST = 1.0, 5.0
Origin = Literal["paper", "adapted", "fit"]
"""``paper``: printed by the AgenticIQA authors. ``adapted``: theirs, repaired as the source says. ``fit``: ours."""

# A curve that calls its best possible value mediocre, or its worst one fair, would mislead its reader.
BEST_END_AT_LEAST = 4.0
WORST_END_AT_MOST = 2.5
# Steps of 1/20,000 of the range see every turn of the printed rows (the sharpest is one of TReS).
CHECKED_POINTS = 20_001
ROUNDING = 1e-9
_DATA_FILE = "calibrations.yaml"


class CalibrationError(ToolError):
    """A calibration is wrong, or cannot be made from the data given."""

    default_hint = "Refit it with `python -m training.recalibrate`, in a checkout of the repository."


@overload
def five_parameter_logistic(x: float, b1: float, b2: float, b3: float, b4: float, b5: float) -> float: ...
@overload
def five_parameter_logistic(x: Floats, b1: float, b2: float, b3: float, b4: float, b5: float) -> Floats: ...
def five_parameter_logistic(x: float | Floats, b1: float, b2: float, b3: float, b4: float, b5: float) -> float | Floats:
    """``b1 (1/2 - 1 / (1 + exp(b2 (x - b3)))) + b4 x + b5``, without overflow however steep."""
    # 1/2 - 1/(1 + e^t) is tanh(t/2)/2, and tanh does not overflow.
    with np.errstate(over="ignore"):
        value = b1 * 0.5 * np.tanh(0.5 * b2 * (np.asarray(x, np.float64) - b3)) + b4 * np.asarray(x) + b5
    return value if isinstance(x, np.ndarray) else float(value)


@dataclass(frozen=True)
class Calibration:
    """One tool's curve; call it with a raw value.

    >>> ssim = Calibration((94.4202, 64.9155, 1.0664, 2.8744, 47.6819), "printed row", (0.0, 1.0), True)
    >>> round(ssim(0.9), 2)
    3.06
    >>> ssim(float("nan"))
    Traceback (most recent call last):
        ...
    ValueError: a raw score must be a finite number, not nan
    """

    coefficients: Coefficients
    source: str
    value_range: tuple[float, float]
    higher_is_better: bool
    origin: Origin = "fit"
    span: tuple[float, float] | None = None
    """The part of the range that the curve covers; raw values beyond it count as its ends. None: all of it."""

    @property
    def covered(self) -> tuple[float, float]:
        return self.span or self.value_range

    def __call__(self, raw: float) -> float:
        if not math.isfinite(raw):
            raise ValueError(f"a raw score must be a finite number, not {raw}")
        return float(self.curve(np.array([raw]))[0])

    def curve(self, raw: npt.ArrayLike) -> Floats:
        """Many raw values at once; NaN stays NaN."""
        clamped = np.clip(np.asarray(raw, np.float64), *self.covered)
        return np.clip(five_parameter_logistic(clamped, *self.coefficients), LOWEST, HIGHEST)

    @property
    def ends(self) -> tuple[float, float]:
        """The calibrated scores of the worst and of the best raw value.

        >>> Calibration((4, 100, 0, 0, 3), "toy", (-9.0, 9.0), False).ends
        (5.0, 1.0)
        """
        low, high = self.curve(self.covered)
        return (float(low), float(high)) if self.higher_is_better else (float(high), float(low))


@lru_cache(maxsize=256)
def check(calibration: Calibration) -> str | None:
    """What is wrong with a calibration, or None.

    >>> check(Calibration((4, 1, 0, 0, 3), "toy", (-9.0, 9.0), False))
    'it rises with the raw value although lower is better'
    """
    low, high = calibration.value_range
    start, stop = calibration.covered
    if not all(map(math.isfinite, (*calibration.coefficients, low, high, start, stop))):
        return "a coefficient or a limit is not a finite number"
    if not low <= start < stop <= high:
        return f"its range {low:g}..{high:g} or the covered part {start:g}..{stop:g} is empty or reversed"
    steps = np.diff(calibration.curve(np.linspace(start, stop, CHECKED_POINTS)))
    if calibration.higher_is_better and steps.min() < -ROUNDING:
        return "it falls with the raw value although higher is better"
    if not calibration.higher_is_better and steps.max() > ROUNDING:
        return "it rises with the raw value although lower is better"
    worst, best = calibration.ends
    if best < BEST_END_AT_LEAST or worst > WORST_END_AT_MOST:
        return f"it spans only {worst:.2f}..{best:.2f} of the scale"
    return None


def load_calibrations(path: str | Path | None = None) -> dict[str, Calibration]:
    """The checked curves in use, by tool name: the ones shipped, or those of a file that a user made."""
    calibrations = {
        name: Calibration(each.coefficients, each.source, each.range, each.higher_is_better, each.origin, each.span)
        for name, each in _section("in_use", _CURVES, path).items()
    }
    for name, calibration in calibrations.items():
        problem = check(calibration)
        if problem:
            raise CalibrationError(f"The calibration of {name} cannot be used: {problem}.")
    return calibrations


def paper_coefficients() -> dict[str, Coefficients]:
    """The 24 rows as the AgenticIQA authors print them, usable or not."""
    return _section("paper", _ROWS)


def printed_calibrations() -> dict[str, Calibration]:
    """All 24 rows exactly as printed, unchecked: some contradict their own direction (:func:`check` says which).

    Range and direction are those of the curves in use; raw values beyond the range count as its ends.
    """
    in_use = load_calibrations()
    source = "AgenticIQA (arXiv 2509.26006), as printed"
    return {
        name: replace(in_use[name], coefficients=row, source=source, origin="paper", span=None)
        for name, row in paper_coefficients().items()
    }


class _Stored(BaseModel):
    """A curve as a file holds it."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    coefficients: Coefficients
    range: tuple[float, float]
    higher_is_better: StrictBool
    source: str
    origin: Origin = "fit"
    span: tuple[float, float] | None = None


_CURVES, _ROWS = TypeAdapter(dict[str, _Stored]), TypeAdapter(dict[str, Coefficients])


def _section(name: str, content: TypeAdapter[T], path: str | Path | None = None) -> T:
    file = Path(path) if path is not None else Path(__file__).with_name(_DATA_FILE)
    try:
        return content.validate_python(parse_yaml(file.read_text(encoding="utf-8"))[name])
    except OSError as error:
        raise CalibrationError(f"The calibration file {str(path)!r} cannot be read: {error.strerror}.") from error
    except ValidationError as error:
        wrong = error.errors()[0]
        where = " of ".join(map(str, reversed(wrong["loc"])))
        raise CalibrationError(f"{file.name} is no calibration file: {where}: {wrong['msg']}.") from error
    except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise CalibrationError(f"{file.name} is no calibration file: {error}.") from error
