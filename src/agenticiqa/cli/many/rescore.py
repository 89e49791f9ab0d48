"""``agenticiqa rescore``: recorded runs under another fusion, calibration or other thresholds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agenticiqa.cli.options import ConfigOption, JsonOption, OverwriteOption, ResultsArgument, finite
from agenticiqa.cli.outputs import check_outputs
from agenticiqa.cli.terminal import error_console, print_json


def rescore(
    results: ResultsArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Result file to write (.jsonl).")],
    eta: Annotated[
        float | None,
        typer.Option("--eta", callback=finite, help="How closely weights follow the tool mean; default 1."),
    ] = None,
    class_confidence: Annotated[
        float | None,
        typer.Option(
            "--class-confidence", callback=finite, help="Share of a letter without probabilities; default 0.8."
        ),
    ] = None,
    thresholds: Annotated[
        str | None, typer.Option("--thresholds", help="Where levels begin: 1.5,2.5,3.5,4.5.", show_default=False)
    ] = None,
    calibrations: Annotated[
        str | None,
        typer.Option("--calibrations", help="File with curves, or 'printed': the paper's rows.", show_default=False),
    ] = None,
    printed_formula: Annotated[
        bool, typer.Option("--printed-formula", help="The fusion as the paper prints it, not normalised.")
    ] = False,
    overwrite: OverwriteOption = False,
    json_output: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Score recorded runs anew without asking or measuring anything; `evaluate` then compares both files.

    Lines that hold no rating stay as they are. What was changed is in each line's metadata.
    """
    from agenticiqa.evaluation.rescoring import Rescoring, calibrations_named, rescore_file
    from agenticiqa.runtime.config import load_settings

    check_outputs(output, inputs=[results], overwrite=overwrite)
    overrides = {
        "pipeline.fusion.eta": eta,
        "pipeline.fusion.class_confidence": class_confidence,
        "pipeline.fusion.level_thresholds": _numbers(thresholds),
        "pipeline.fusion.normalize": False if printed_formula else None,
    }
    fusion = load_settings(config, overrides).pipeline.fusion
    with error_console().status("Scoring anew"):
        found = rescore_file(results, output, Rescoring(fusion, calibrations_named(calibrations)))
    if json_output:
        print_json(found.as_dict())
        return
    typer.echo(f"{found.rescored} lines scored anew: {found.output}")
    if found.unchanged:
        typer.echo(f"{found.unchanged} hold no rating and stay as they are.")
    if found.lacking:
        typer.echo(f"{found.lacking} hold too little to be scored anew and stay as they are.")


def _numbers(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise typer.BadParameter("--thresholds takes numbers: 1.5,2.5,3.5,4.5.") from None
