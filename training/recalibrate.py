"""Fit a tool's curve to opinion scores of one's own, and show what that changes.

PYTHONPATH=src:. python -m training.recalibrate --data scores.csv --tool SSIM --scale 0,100 --output mine.yaml
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer
import yaml
from rich.progress import track
from scipy.optimize import least_squares
from scipy.stats import pearsonr, spearmanr

from agenticiqa.api.measure import Measurer, Pair
from agenticiqa.cli import options
from agenticiqa.cli.main import main
from agenticiqa.cli.terminal import error_console, print_json, print_message, print_table
from agenticiqa.runtime.config import Settings, load_settings
from agenticiqa.runtime.files import write_atomic
from agenticiqa.tools.calibration import (
    HIGHEST,
    LOWEST,
    Calibration,
    CalibrationError,
    check,
    five_parameter_logistic,
    load_calibrations,
)
from agenticiqa.tools.registry import Tool, default_registry

Floats = npt.NDArray[np.float64]

REQUIRED_COLUMNS = ("image", "score")
FEWEST_OPINIONS = 10
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


def save_calibrations(calibrations: Mapping[str, Calibration], path: str | Path) -> None:
    """Write a file that :func:`load_calibrations` reads; whole or not at all."""
    text = yaml.safe_dump(
        {"in_use": {name: as_fields(calibration) for name, calibration in sorted(calibrations.items())}},
        sort_keys=False,
        allow_unicode=True,
        width=120,
    )
    write_atomic(Path(path), text)


def as_fields(calibration: Calibration) -> dict[str, Any]:
    """A calibration as plain values for YAML or JSON."""
    fields: dict[str, Any] = {
        "origin": calibration.origin,
        "coefficients": [float(f"{value:.10g}") for value in calibration.coefficients],
        "range": [float(limit) for limit in calibration.value_range],
        "higher_is_better": calibration.higher_is_better,
        "source": calibration.source,
    }
    if calibration.span:
        fields["span"] = [float(limit) for limit in calibration.span]
    return fields


# --- The least-squares curve ---


def fit_calibration(
    raw: npt.ArrayLike,
    opinion: npt.ArrayLike,
    *,
    value_range: tuple[float, float],
    higher_is_better: bool,
    source: str = "fitted by fit_calibration",
    checked: bool = True,
) -> Calibration:
    """The least-squares logistic that never runs against the metric's direction.

    ``opinion`` is on the 1..5 scale, 5 best. Both the logistic and the linear part may only rise (or only fall),
    which keeps the whole curve monotone; ``checked`` refuses it where its ends do not reach far enough.

    >>> raw = np.linspace(20, 45, 50)
    >>> curve = fit_calibration(raw, 3 + 1.8 * np.tanh((raw - 31) / 6), value_range=(0, 100), higher_is_better=True)
    >>> round(curve(31), 2)
    3.0
    """
    x, y = _clean(raw, opinion, value_range)
    sign = 1.0 if higher_is_better else -1.0
    # Work on u = ±(x - middle) / scale, rising and of unit size, so that one set of bounds and starts fits all.
    middle = float(np.median(x))
    scale = float(np.subtract(*np.quantile(x, [0.9, 0.1]))) or float(np.ptp(x))
    u = sign * (x - middle) / scale
    b1, b2, b3, b4, b5 = _best_rising_fit(u, y)
    calibration = Calibration(
        (b1, sign * b2 / scale, middle + sign * scale * b3, sign * b4 / scale, b5 - sign * b4 * middle / scale),
        source,
        (float(value_range[0]), float(value_range[1])),
        higher_is_better,
    )
    problem = check(calibration) if checked else None
    if problem:
        raise CalibrationError(
            f"No usable calibration could be fitted: {problem}.",
            hint="The opinions need to span good and bad pictures, and the metric must follow them.",
        )
    return calibration


def _clean(raw: npt.ArrayLike, opinion: npt.ArrayLike, value_range: tuple[float, float]) -> tuple[Floats, Floats]:
    x, y = np.asarray(raw, np.float64).ravel(), np.asarray(opinion, np.float64).ravel()
    if x.size != y.size:
        raise CalibrationError(f"There are {x.size} raw scores but {y.size} opinions.", hint="Give one for one.")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise CalibrationError("A raw score or an opinion is not a finite number.", hint="Leave such rows out.")
    if x.size < FEWEST_OPINIONS or np.ptp(x) == 0:
        raise CalibrationError(
            f"{x.size} pictures with {np.unique(x).size} different raw scores are too few to fit five parameters.",
            hint=f"Give at least {FEWEST_OPINIONS}, better 50, of different quality.",
        )
    if y.min() < LOWEST or y.max() > HIGHEST:
        raise CalibrationError(
            f"The opinions lie in {y.min():g}..{y.max():g}, not in 1..5.", hint="Rescale them so that 5 is best."
        )
    return np.clip(x, *value_range), y


def _best_rising_fit(u: Floats, y: Floats) -> Floats:
    """The best of several starts: centres over the data, slopes from gentle to steep."""
    spread = max(float(np.ptp(y)), 0.1)
    lower = [0.0, 1e-3, u.min() - 3, 0.0, -50.0]
    # A steeper logistic would be a step that splits pictures which look the same.
    upper = [20.0, 30.0, u.max() + 3, 10.0, 50.0]
    best, lowest_cost = None, math.inf
    for centre in np.quantile(u, [0.1, 0.5, 0.9]):
        for slope in (2.0, 8.0):
            start = np.clip([spread, slope, centre, 0.1, y.mean()], lower, upper)
            found = least_squares(
                _residual, start, jac=_slopes, bounds=(lower, upper), x_scale="jac", args=(u, y), max_nfev=200
            )
            if found.cost < lowest_cost:
                best, lowest_cost = np.asarray(found.x, np.float64), float(found.cost)
    if best is None:
        raise CalibrationError("The least-squares fit did not start.", hint="Check the data.")
    return best


def _residual(parameters: Floats, u: Floats, y: Floats) -> Floats:
    return five_parameter_logistic(u, *(float(value) for value in parameters)) - y


def _slopes(parameters: Floats, u: Floats, _: Floats) -> Floats:
    """The residual's derivative by each parameter."""
    b1, b2, b3, _b4, _b5 = parameters
    half = np.tanh(0.5 * b2 * (u - b3))
    bend = 0.25 * b1 * (1 - half * half)
    return np.stack([0.5 * half, bend * (u - b3), -bend * b2, u, np.ones_like(u)], axis=1)


# --- The command ---


def numbers(option: str, text: str, example: str) -> list[float]:
    """Finite numbers with commas between them, as many as in the example."""
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = []
    if len(found) != len(example.split(",")) or not all(map(math.isfinite, found)):
        raise typer.BadParameter(f"{option} takes numbers with commas between them, for example {example}.")
    return found


def calibrate(
    data: Annotated[
        Path, typer.Option("--data", help="CSV with columns image, score and, for tools that compare, reference.")
    ],
    tool: Annotated[str, typer.Option("--tool", "-t", help="The tool to calibrate.")],
    scale: Annotated[str, typer.Option(help="Ends of the scores, as LOW,HIGH.")] = "1,5",
    lower_is_better: Annotated[
        bool, typer.Option("--lower-is-better", help="The scores are differences or error ratings (DMOS).")
    ] = False,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Calibrations file to write; other tools in it stay.")
    ] = Path("calibrations.yaml"),
    json_output: options.JsonOption = False,
    config: options.ConfigOption = None,
) -> None:
    """Fit a tool's way to the 1..5 scale on your own opinion scores.

    The file takes effect when `tools.calibrations` in pipeline.yaml (or AGENTICIQA_PIPELINE__TOOLS__CALIBRATIONS)
    names it.
    """
    settings = load_settings(config)
    chosen = default_registry(settings.pipeline.tools).find(tool)
    low, high = numbers("--scale", scale, "0,100")
    if not low < high:
        raise typer.BadParameter("--scale needs its lower end first; use --lower-is-better for the direction.")
    ends = Scale(high, low) if lower_is_better else Scale(low, high)
    opinions = read_manifest(data, ends)
    pictures = [path for each in opinions for path in (each.image, each.reference)]
    # The file with the curves is added to, not replaced: there it may be, an input it may not.
    options.check_outputs(output, inputs=[data, *pictures], overwrite=True)
    kept, raw = _measured(chosen, opinions, settings)
    groups = [str(each.reference or each.image) for each in kept]
    source = f"fitted on {len(kept)} opinion scores of {data.name}"
    fit = refit(chosen, raw, [each.score for each in kept], groups, source)
    add_to_file(output, chosen.name, fit.calibration)
    left_out = len(opinions) - len(kept)
    if json_output:
        print_json(
            {
                "tool": fit.tool,
                "pictures": int(fit.raw.size),
                "left_out": left_out,
                "before": asdict(fit.before),
                "after": asdict(fit.after),
                "unseen": asdict(fit.unseen) if fit.unseen else None,
                "coefficients": list(fit.calibration.coefficients),
                "output": str(output),
            }
        )
        return
    rows = []
    for name, agreement in {"before": fit.before, "after": fit.after, "after, on unseen pictures": fit.unseen}.items():
        figures = [getattr(agreement, figure, None) for figure in ("srcc", "plcc", "rmse")]
        rows.append([name, *("" if value is None else f"{value:.4f}" for value in figures)])
    title = f"{fit.tool}: {fit.raw.size} pictures{f', {left_out} left out' if left_out else ''}"
    print_table(("", "SRCC", "PLCC", "RMSE"), rows, title=title)
    typer.echo(f"Written to {output}. To use it, set tools.calibrations in pipeline.yaml to this file.")


def _measured(tool: Tool, opinions: list[Opinion], settings: Settings) -> tuple[list[Opinion], list[float]]:
    """The rows that could be measured and their raw values; the others are named on standard error."""
    measurer = Measurer.configured(settings, [tool], cached=True)
    kept, raw = [], []
    for opinion in track(opinions, "Measuring", console=error_console(), transient=True):
        (record,) = measurer.measure(Pair.of(opinion.image, opinion.reference))
        if record.raw is None:
            print_message(f"Left out: {opinion.image}: {record.error}")
        else:
            kept.append(opinion)
            raw.append(record.raw)
    return kept, raw


if __name__ == "__main__":
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(calibrate)
    main(app)
