"""``agenticiqa rescore``: recorded runs under another fusion, calibration or other thresholds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agenticiqa.cli.options import ConfigOption, JsonOption, OverwriteOption, ResultsArgument, finite
from agenticiqa.cli.outputs import check_outputs
from agenticiqa.cli.terminal import error_console, print_json

if TYPE_CHECKING:
    from agenticiqa.evaluation.rescoring import Rescoring

EtaOption = Annotated[
    float | None,
    typer.Option("--eta", callback=finite, help="Score anew: how closely weights follow the tool mean; usually 1."),
]
ClassConfidenceOption = Annotated[
    float | None,
    typer.Option(
        "--class-confidence", callback=finite, help="Score anew: share of a letter without probabilities; usually 0.8."
    ),
]
CurvesOption = Annotated[
    str | None,
    typer.Option(
        "--calibrations", help="Score anew: a file with curves, or 'printed', the paper's rows.", show_default=False
    ),
]
PrintedFormulaOption = Annotated[
    bool, typer.Option("--printed-formula", help="Score anew: the fusion as the paper prints it, not normalised.")
]


def rescore(
    results: ResultsArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Result file to write (.jsonl).")],
    eta: EtaOption = None,
    class_confidence: ClassConfidenceOption = None,
    thresholds: Annotated[
        str | None, typer.Option("--thresholds", help="Where levels begin: 1.5,2.5,3.5,4.5.", show_default=False)
    ] = None,
    calibrations: CurvesOption = None,
    printed_formula: PrintedFormulaOption = False,
    overwrite: OverwriteOption = False,
    json_output: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Score recorded runs anew without asking or measuring anything; `evaluate` then compares both files.

    Lines that hold no rating stay as they are. What was changed is in each line's metadata.
    """
    from agenticiqa.evaluation.rescoring import rescore_file

    check_outputs(output, inputs=[results], overwrite=overwrite)
    how = rescoring_asked(config, eta, class_confidence, thresholds, calibrations, printed_formula=printed_formula)
    if how is None:
        raise typer.BadParameter("nothing is to change: give --eta, --calibrations, --thresholds or another of these.")
    with error_console().status("Scoring anew"):
        found = rescore_file(results, output, how)
    if json_output:
        print_json(found.as_dict())
        return
    typer.echo(f"{found.rescored} lines scored anew: {found.output}")
    if found.unchanged:
        typer.echo(f"{found.unchanged} hold no rating and stay as they are.")
    if found.lacking:
        typer.echo(f"{found.lacking} hold too little to be scored anew and stay as they are.")


def rescoring_asked(
    config: Path | None,
    eta: float | None,
    class_confidence: float | None,
    thresholds: str | None,
    calibrations: str | None,
    *,
    printed_formula: bool,
) -> Rescoring | None:
    """What the options ask for, the rest as configured; None where they ask for nothing."""
    if (eta, class_confidence, thresholds, calibrations) == (None, None, None, None) and not printed_formula:
        return None
    from agenticiqa.evaluation.rescoring import Rescoring, calibrations_named
    from agenticiqa.runtime.config import load_settings

    overrides = {
        "pipeline.fusion.eta": eta,
        "pipeline.fusion.class_confidence": class_confidence,
        "pipeline.fusion.level_thresholds": _numbers(thresholds),
        "pipeline.fusion.normalize": False if printed_formula else None,
    }
    return Rescoring(load_settings(config, overrides).pipeline.fusion, calibrations_named(calibrations))


def _numbers(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise typer.BadParameter("--thresholds takes numbers: 1.5,2.5,3.5,4.5.") from None
