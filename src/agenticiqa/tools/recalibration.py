"""Fit a tool's curve to a user's own opinion scores, and show what that changes."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
from scipy.stats import pearsonr, spearmanr

from agenticiqa.runtime.files import write_atomic
from agenticiqa.tools.calibration import (
    HIGHEST,
    LOWEST,
    Calibration,
    CalibrationError,
    fit_calibration,
    load_calibrations,
    save_calibrations,
)
from agenticiqa.tools.registry import Tool

Floats = npt.NDArray[np.float64]

REQUIRED_COLUMNS = ("image", "score")
FOLDS = 5


@dataclass(frozen=True)
class Opinion:
    """One picture of a manifest and what people said about it."""

    image: Path
    score: float
    reference: Path | None = None


@dataclass(frozen=True)
class Scale:
    """The scores' own ends, worst first: (100, 0) where lower is better.

    >>> Scale(0, 100).opinion(75)
    4.0
    >>> Scale(100, 0).opinion(75)
    2.0
    """

    worst: float = LOWEST
    best: float = HIGHEST

    def opinion(self, score: float) -> float:
        return LOWEST + (HIGHEST - LOWEST) * (score - self.worst) / (self.best - self.worst)


@dataclass(frozen=True)
class CurveAgreement:
    """How well scores follow opinions: rank correlation, linear correlation, error on the 1..5 scale.

    None: not defined, because one side is constant or the scores are raw values on a scale of their own.
    """

    srcc: float | None
    plcc: float | None
    rmse: float | None

    @classmethod
    def of(cls, scores: Floats, opinions: Floats) -> CurveAgreement:
        """Of scores on the 1..5 scale.

        >>> CurveAgreement.of(np.array([1.0, 3.0, 5.0]), np.array([1.0, 3.0, 5.0])).rmse
        0.0
        """
        return replace(cls.of_raw(scores, opinions), rmse=float(np.sqrt(np.mean((scores - opinions) ** 2))))

    @classmethod
    def of_raw(cls, scores: Floats, opinions: Floats) -> CurveAgreement:
        """Of raw values that rise with quality."""
        if np.ptp(scores) == 0 or np.ptp(opinions) == 0:
            return cls(None, None, None)
        return cls(float(spearmanr(scores, opinions).statistic), float(pearsonr(scores, opinions).statistic), None)


@dataclass(frozen=True)
class Refit:
    """The new curve, and agreement before, after, and on pictures that the fit had not seen."""

    tool: str
    calibration: Calibration
    raw: Floats
    opinions: Floats
    before: CurveAgreement
    after: CurveAgreement
    unseen: CurveAgreement | None


def read_manifest(path: Path, scale: Scale | None = None) -> list[Opinion]:
    """Rows of a CSV file with columns image, score and perhaps reference; paths count from the file's folder."""
    scale = scale or Scale()
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream)
            missing = [name for name in REQUIRED_COLUMNS if name not in (reader.fieldnames or [])]
            if missing:
                raise CalibrationError(
                    f"{path.name} has no column {' and no column '.join(missing)}.",
                    hint="Needed: image, score; for tools that compare, also reference.",
                )
            return [_opinion(row, reader.line_num, path, scale) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CalibrationError(f"{str(path)!r} cannot be read: {error}.", hint="Give a CSV file.") from error


def _opinion(row: dict[str, str], line: int, path: Path, scale: Scale) -> Opinion:
    try:
        score = scale.opinion(float(row["score"]))
    except (TypeError, ValueError) as error:
        raise CalibrationError(
            f"{path.name}, line {line}: the score {row['score']!r} is no number.", hint=""
        ) from error
    if not LOWEST <= score <= HIGHEST:
        raise CalibrationError(
            f"{path.name}, line {line}: the score {row['score']} lies outside {scale.worst:g}..{scale.best:g}.",
            hint="Say which scale the scores are on, for example --scale 0,100.",
        )
    reference = (row.get("reference") or "").strip()
    return Opinion(path.parent / row["image"].strip(), score, path.parent / reference if reference else None)


def refit(tool: Tool, raw: Sequence[float], opinions: Sequence[float], groups: Sequence[str], source: str) -> Refit:
    """Fit the tool's curve; ``groups`` (the reference or the picture) keeps versions of a scene on one side."""
    direction = tool.spec.higher_is_better
    if direction is None:
        raise CalibrationError(f"{tool.name} has no better end, so it cannot be calibrated.", hint="Choose a metric.")
    x, y = np.asarray(raw, np.float64), np.asarray(opinions, np.float64)

    def fitted(rows: npt.NDArray[np.bool_]) -> Calibration:
        return fit_calibration(x[rows], y[rows], value_range=tool.spec.range, higher_is_better=direction, source=source)

    calibration = fitted(np.ones(x.size, bool))
    return Refit(
        tool=tool.name,
        calibration=calibration,
        raw=x,
        opinions=y,
        before=_before(tool, x, y),
        after=CurveAgreement.of(calibration.curve(x), y),
        unseen=_unseen(x, y, _folds(groups), fitted),
    )


def _before(tool: Tool, x: Floats, y: Floats) -> CurveAgreement:
    if tool.calibration:
        return CurveAgreement.of(tool.calibration.curve(x), y)
    return CurveAgreement.of_raw(x if tool.spec.higher_is_better else -x, y)


def _folds(groups: Sequence[str]) -> npt.NDArray[np.intp]:
    """Which fold each row belongs to; rows of one group share theirs."""
    names, member = np.unique(np.asarray(groups), return_inverse=True)
    order = np.random.default_rng(0).permutation(len(names))
    return np.asarray(order[member] % FOLDS, np.intp)


def _unseen(
    x: Floats, y: Floats, folds: npt.NDArray[np.intp], fitted: Callable[[npt.NDArray[np.bool_]], Calibration]
) -> CurveAgreement | None:
    """Each fold scored by a curve fitted without it; None where the rest is too little to fit."""
    if np.unique(folds).size < FOLDS:
        return None
    scores = np.empty_like(y)
    try:
        for fold in range(FOLDS):
            scores[folds == fold] = fitted(folds != fold).curve(x[folds == fold])
    except CalibrationError:
        return None
    return CurveAgreement.of(scores, y)


def add_to_file(path: Path, tool: str, calibration: Calibration) -> None:
    """Put one curve into a calibrations file, keeping the others in it."""
    kept = load_calibrations(path) if path.is_file() else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    save_calibrations({**kept, tool: calibration}, path)


# --- the plot --------------------------------------------------------------------------------------------

_WIDTH, _HEIGHT, _MARGIN = 900, 640, 70
_INK, _POINT, _OLD, _NEW = (40, 40, 40), (170, 140, 90), (150, 150, 150), (60, 60, 200)  # BGR


def plot(fit: Refit, old: Calibration | None, path: Path) -> None:
    """Opinions against raw values with the curve before (grey) and after (red), as PNG."""
    canvas = np.full((_HEIGHT, _WIDTH, 3), 255, np.uint8)
    low, high = float(fit.raw.min()), float(fit.raw.max())
    _axes(canvas, fit.tool, low, high)
    for raw, opinion in zip(fit.raw, fit.opinions, strict=True):
        cv2.circle(canvas, _place(raw, opinion, low, high), 3, _POINT, -1, cv2.LINE_AA)
    grid = np.linspace(low, high, 400)
    for calibration, colour in ((old, _OLD), (fit.calibration, _NEW)):
        if calibration is not None:
            points = [_place(raw, score, low, high) for raw, score in zip(grid, calibration.curve(grid), strict=True)]
            cv2.polylines(canvas, [np.array(points, np.int32)], False, colour, 2, cv2.LINE_AA)
    done, encoded = cv2.imencode(".png", canvas)
    if not done:
        raise CalibrationError("The plot could not be encoded.", hint="")
    write_atomic(path, encoded.tobytes())


def _place(raw: float, opinion: float, low: float, high: float) -> tuple[int, int]:
    across = (raw - low) / ((high - low) or 1.0)
    up = (opinion - LOWEST) / (HIGHEST - LOWEST)
    return (
        round(_MARGIN + across * (_WIDTH - 2 * _MARGIN)),
        round(_HEIGHT - _MARGIN - up * (_HEIGHT - 2 * _MARGIN)),
    )


def _axes(canvas: npt.NDArray[np.uint8], name: str, low: float, high: float) -> None:
    cv2.rectangle(canvas, _place(low, HIGHEST, low, high), _place(high, LOWEST, low, high), _INK, 1)
    for opinion in range(int(LOWEST), int(HIGHEST) + 1):
        x, y = _place(low, opinion, low, high)
        _write(canvas, str(opinion), (x - 22, y + 5))
    for raw in np.linspace(low, high, 5):
        x, y = _place(float(raw), LOWEST, low, high)
        _write(canvas, f"{raw:.3g}", (x - 20, y + 24))
    _write(canvas, f"{name}: raw value", (_WIDTH // 2 - 70, _HEIGHT - 18))
    _write(canvas, "opinion 1..5    grey: curve before    red: fitted", (_MARGIN, _MARGIN - 24))


def _write(canvas: npt.NDArray[np.uint8], text: str, at: tuple[int, int]) -> None:
    cv2.putText(canvas, text, at, cv2.FONT_HERSHEY_SIMPLEX, 0.5, _INK, 1, cv2.LINE_AA)
