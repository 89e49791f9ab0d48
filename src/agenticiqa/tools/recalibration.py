"""Fit a tool's curve to a user's own opinion scores, and show what that changes."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.stats import pearsonr, spearmanr

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
    if tool.calibration:
        before = CurveAgreement.of(tool.calibration.curve(x), y)
    else:
        before = CurveAgreement.of_raw(x if direction else -x, y)
    return Refit(
        tool=tool.name,
        calibration=calibration,
        raw=x,
        opinions=y,
        before=before,
        after=CurveAgreement.of(calibration.curve(x), y),
        unseen=_unseen(x, y, groups, fitted),
    )


def _unseen(
    x: Floats, y: Floats, groups: Sequence[str], fitted: Callable[[npt.NDArray[np.bool_]], Calibration]
) -> CurveAgreement | None:
    """Each fold scored by a curve fitted without it; None where the rest is too little to fit."""
    names, member = np.unique(np.asarray(groups), return_inverse=True)
    folds = np.random.default_rng(0).permutation(len(names))[member] % FOLDS
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
