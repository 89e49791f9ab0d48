"""Options that several commands have, and checks of what is given."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from agenticiqa.runtime.files import is_stream, refuse_to_replace

if TYPE_CHECKING:
    from agenticiqa.state import Part


def check_outputs(*outputs: Path | None, inputs: Iterable[str | Path | None] = (), overwrite: bool) -> None:
    """No output is an input, none is another one's file, and none that is there is replaced without --overwrite."""
    wanted = [output for output in outputs if output is not None]
    read = [given for given in inputs if given is not None]
    for output in wanted:
        refuse_to_replace(output, inputs=read, overwrite=overwrite)
    files = [os.path.realpath(output) for output in wanted if not is_stream(output)]
    if len(set(files)) < len(files):
        raise typer.BadParameter("two of the files to write are the same one: give each a name of its own.")


def choose_one(**given: bool) -> None:
    """Refuse options that contradict each other, named like their parameters."""
    if sum(given.values()) > 1:
        *names, last = (f"--{name.replace('_', '-')}" for name in given)
        raise typer.BadParameter(f"{', '.join(names)} and {last} contradict each other: choose one.")


def listed(text: str | None) -> list[str]:
    """The parts of an option that takes several with commas between them."""
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def finite(value: float | None) -> float | None:
    """For options that take a number: every comparison with "nan" is false, so that a limit would let all pass."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter("give a finite number.")
    return value


def parts_left_out(words: str | None) -> tuple[Part, ...] | None:
    """The parts of --without; None where it says nothing."""
    from agenticiqa.state import known_parts

    return None if words is None else tuple(known_parts(words))


ReferenceOption = Annotated[Path | None, typer.Option("--reference", "-r", help="How the picture should look.")]
RegionsOption = Annotated[list[str] | None, typer.Option("--region", help="Where an object is: NAME=x,y,width,height.")]
BackendOption = Annotated[
    str | None, typer.Option("--backend", "-b", help="Model for all agents, for example openai.gpt-4o.")
]
BackendsOption = Annotated[
    str | None,
    typer.Option(help="Models that answer together, with commas; the first (or --backend) collects the evidence."),
]
MaxReplanOption = Annotated[
    int | None, typer.Option(min=0, help="Replan limit N: at most max(1, N) passes. Default from pipeline.yaml.")
]
ModeOption = Annotated[
    Literal["agents", "direct"] | None,
    typer.Option(help="'agents', or 'direct': the model alone, no agents, no tools."),
]
WithoutOption = Annotated[
    str | None, typer.Option(help="Parts to leave out: planner,executor,tools,detection,analysis,fusion,replan,views.")
]
ViewsOption = Annotated[
    Literal["off", "auto", "ask"] | None,
    typer.Option(help="Closer looks at pictures that a model sees reduced; 'ask': the model may ask for more."),
]
ProfileOption = Annotated[
    str | None, typer.Option(help="'paper': its tools, printed calibrations, thresholds and modes.")
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Refuse to start where a tool of the profile, or of tools.allow, is missing.")
]
MemoryOption = Annotated[
    str | None,
    typer.Option(
        help="What may be taken, such as 4G; more waits or is refused. Default: 70 % of the machine or container."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")]
MapsOption = Annotated[
    Path | None, typer.Option(help="Folder for the tools' maps: numbers (.npy), and colours over the picture (.png).")
]
AlignOption = Annotated[
    Literal["none", "resize"], typer.Option(help="'resize' scales a picture to its reference's size; 'none' refuses.")
]
ReportOption = Annotated[Path | None, typer.Option(help="Also write the result as one HTML page.")]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Keep what is done there, and do the rest.")]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace files that are there already.")]
NoCacheOption = Annotated[bool, typer.Option("--no-cache", help="Ask and measure afresh.")]
AnswersOption = Annotated[list[str] | None, typer.Option("--option", "-o", help="An answer option; give one for each.")]
WorkersOption = Annotated[int | None, typer.Option("--workers", "-w", min=1, help="Pictures worked on at once.")]
TimeoutOption = Annotated[float, typer.Option(callback=finite, min=0.1, help="Seconds a picture may take.")]
RpmOption = Annotated[str | None, typer.Option(help="Requests per minute: 500, or openai=500,anthropic=50.")]
TpmOption = Annotated[str | None, typer.Option(help="Tokens per minute, written likewise.")]
ResultsArgument = Annotated[Path, typer.Argument(help="A result file of `agenticiqa batch`.")]
ScoreOption = Annotated[
    str,
    typer.Option(help="What is judged: quality_score, tool:NAME (calibrated), raw:NAME, model:NAME, or a dotted path."),
]
TruthOption = Annotated[str, typer.Option(help="The column with people's opinion.")]
ResamplesOption = Annotated[int, typer.Option(min=0, help="Bootstrap resamples; 0: no intervals.")]
ConfigOption = Annotated[Path | None, typer.Option(help="Folder with model_backends.yaml and pipeline.yaml.")]
