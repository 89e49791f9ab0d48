"""``agenticiqa tools calibrate``: a tool's curve from a user's own opinion scores."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agenticiqa.cli.options import ConfigOption, JsonOption, OverwriteOption
from agenticiqa.cli.outputs import check_outputs
from agenticiqa.cli.terminal import error_console, output_console, print_json

if TYPE_CHECKING:
    from agenticiqa.runtime.config import Settings
    from agenticiqa.tools.recalibration import CurveAgreement, Opinion, Refit, Scale
    from agenticiqa.tools.registry import Tool

DEFAULT_OUTPUT = Path("calibrations.yaml")


def calibrate(
    data: Annotated[
        Path, typer.Option("--data", help="CSV with columns image, score and, for tools that compare, reference.")
    ],
    tool: Annotated[str, typer.Option("--tool", "-t", help="The tool to calibrate.")],
    scale: Annotated[str, typer.Option("--scale", help="Ends of the scores, as LOW,HIGH.")] = "1,5",
    lower_is_better: Annotated[
        bool, typer.Option("--lower-is-better", help="The scores are differences or error ratings (DMOS).")
    ] = False,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Calibrations file to write; other tools in it stay.")
    ] = DEFAULT_OUTPUT,
    plot: Annotated[Path | None, typer.Option("--plot", help="PNG file for a picture of the fit.")] = None,
    overwrite: OverwriteOption = False,
    json_output: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Fit a tool's way to the 1..5 scale on your own opinion scores.

    The file takes effect when `tools.calibrations` in pipeline.yaml (or AGENTICIQA_PIPELINE__TOOLS__CALIBRATIONS)
    names it.
    """
    from agenticiqa.runtime.config import load_settings
    from agenticiqa.tools import recalibration
    from agenticiqa.tools.registry import default_registry

    settings = load_settings(config)
    chosen = default_registry(settings.pipeline.tools).find(tool)
    opinions = recalibration.read_manifest(data, _scale(scale, lower_is_better))
    pictures = [path for each in opinions for path in (each.image, each.reference)]
    # The file with the curves is added to, not replaced: there it may be, an input it may not.
    check_outputs(output, inputs=[data, *pictures], overwrite=True)
    check_outputs(plot, inputs=[data, output, *pictures], overwrite=overwrite)
    kept, raw = _measured(chosen, opinions, settings)
    groups = [str(each.reference or each.image) for each in kept]
    source = f"fitted on {len(kept)} opinion scores of {data.name}"
    fit = recalibration.refit(chosen, raw, [each.score for each in kept], groups, source)
    recalibration.add_to_file(output, chosen.name, fit.calibration)
    if plot is not None:
        recalibration.plot(fit, chosen.calibration, plot)
    if json_output:
        print_json(_as_json(fit, len(opinions) - len(kept), output))
    else:
        _print(fit, len(opinions) - len(kept), output)


def _scale(text: str, lower_is_better: bool) -> Scale:
    from agenticiqa.tools.recalibration import Scale

    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter("write --scale as LOW,HIGH, for example 0,100.") from None
    if not low < high:
        raise typer.BadParameter("--scale needs its lower end first; use --lower-is-better for the direction.")
    return Scale(high, low) if lower_is_better else Scale(low, high)


def _measured(tool: Tool, opinions: list[Opinion], settings: Settings) -> tuple[list[Opinion], list[float]]:
    """The rows that could be measured and their raw values; the others are named on standard error."""
    from rich.progress import track

    from agenticiqa.api.measure import Measurer, Pair
    from agenticiqa.runtime.cache import open_cache
    from agenticiqa.runtime.memory import process_budget

    pipeline = settings.pipeline
    cache = open_cache(settings.cache_folder, pipeline.cache.size_limit_mb) if pipeline.cache.enabled else None
    measurer = Measurer([tool], pipeline.tools, pipeline.images, cache, memory=process_budget(pipeline.memory))
    kept, raw = [], []
    for opinion in track(opinions, "Measuring", console=error_console(), transient=True):
        (record,) = measurer.measure(Pair.of(opinion.image, opinion.reference))
        if record.raw is None:
            typer.echo(f"Left out: {opinion.image}: {record.error}", err=True)
        else:
            kept.append(opinion)
            raw.append(record.raw)
    return kept, raw


def _as_json(fit: Refit, left_out: int, output: Path) -> dict[str, Any]:
    return {
        "tool": fit.tool,
        "pictures": int(fit.raw.size),
        "left_out": left_out,
        "before": asdict(fit.before),
        "after": asdict(fit.after),
        "unseen": asdict(fit.unseen) if fit.unseen else None,
        "coefficients": list(fit.calibration.coefficients),
        "output": str(output),
    }


def _print(fit: Refit, left_out: int, output: Path) -> None:
    from rich.table import Table

    def cells(agreement: CurveAgreement | None) -> list[str]:
        if agreement is None:
            return ["", "", ""]
        figures = (agreement.srcc, agreement.plcc, agreement.rmse)
        return ["" if figure is None else f"{figure:.4f}" for figure in figures]

    left = f", {left_out} left out" if left_out else ""
    table = Table("", "SRCC", "PLCC", "RMSE", title=f"{fit.tool}: {fit.raw.size} pictures{left}")
    table.add_row("before", *cells(fit.before))
    table.add_row("after", *cells(fit.after))
    table.add_row("after, on unseen pictures", *cells(fit.unseen))
    output_console().print(table)
    typer.echo(f"Written to {output}. To use it, set tools.calibrations in pipeline.yaml to this file.")
