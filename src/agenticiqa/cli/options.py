"""Options that several commands share."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

if TYPE_CHECKING:
    from agenticiqa.pictures.aligning import Align
    from agenticiqa.state import RunMode


def finite(value: float | None) -> float | None:
    """For options that take a number: every comparison with "nan" is false, so that a limit would let all pass."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter("give a finite number.")
    return value


def chosen_align(word: str) -> Align:
    """What --align says."""
    if word not in ("none", "resize"):
        raise typer.BadParameter("--align is 'none' or 'resize'.")
    return "resize" if word == "resize" else "none"


def chosen_mode(word: str | None) -> RunMode | None:
    """What --mode says; None where it says nothing."""
    if word not in (None, "agents", "direct"):
        raise typer.BadParameter("--mode is 'agents' or 'direct'.")
    return cast("RunMode | None", word)


def parts_left_out(words: str | None) -> tuple[str, ...] | None:
    """The parts of --without; None where it says nothing."""
    from agenticiqa.state import known_parts

    return None if words is None else tuple(known_parts(words))


ReferenceOption = Annotated[Path | None, typer.Option("--reference", "-r", help="How the picture should look.")]
RegionsOption = Annotated[
    list[str] | None,
    typer.Option("--region", help="Where an object is: NAME=x,y,width,height, or NAME=mask.png.", show_default=False),
]
BackendOption = Annotated[
    str | None, typer.Option("--backend", "-b", help="Model for all agents, for example openai.gpt-4o.")
]
MaxReplanOption = Annotated[
    int | None,
    typer.Option("--max-replan", min=0, help="Replan limit N: at most max(1, N) passes. Default from pipeline.yaml."),
]
ModeOption = Annotated[
    str | None,
    typer.Option("--mode", help="'agents', or 'direct': the model alone, no agents, no tools.", show_default=False),
]
WithoutOption = Annotated[
    str | None,
    typer.Option(
        "--without",
        help="Parts to leave out: planner,executor,tools,detection,analysis,fusion,replan.",
        show_default=False,
    ),
]
ProfileOption = Annotated[
    str | None,
    typer.Option("--profile", help="'paper': its tools, printed calibrations and thresholds.", show_default=False),
]
MemoryOption = Annotated[
    str | None,
    typer.Option(
        "--memory",
        help="What may be taken, such as 4G; more waits or is refused. Default: 70 % of the machine or container.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Print the answer only.")]
MapsOption = Annotated[
    Path | None,
    typer.Option("--maps", help="Folder for the tools' maps: numbers (.npy), and colours over the picture (.png)."),
]
AlignOption = Annotated[
    str, typer.Option("--align", help="'resize' scales a picture to its reference's size; 'none' refuses.")
]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace files that are there already.")]
NoCacheOption = Annotated[bool, typer.Option("--no-cache", help="Ask and measure afresh.")]
ResultsArgument = Annotated[Path, typer.Argument(help="A result file of `agenticiqa batch`.", show_default=False)]
ScoreOption = Annotated[
    str,
    typer.Option("--score", help="What is judged: quality_score, tool:NAME (calibrated), raw:NAME, or a dotted path."),
]
TruthOption = Annotated[str, typer.Option("--truth", help="The column with people's opinion.")]
ResamplesOption = Annotated[int, typer.Option("--resamples", min=0, help="Bootstrap resamples; 0: no intervals.")]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", help="Folder with model_backends.yaml and pipeline.yaml.")
]
