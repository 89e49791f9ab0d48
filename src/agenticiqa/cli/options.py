"""Files that a command is to write, looked at before it spends anything."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from agenticiqa.runtime.files import is_stream, refuse_to_replace

if TYPE_CHECKING:
    from agenticiqa.pictures.inputs import Align
    from agenticiqa.state import RunMode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from agenticiqa.cli.terminal import (
    EXIT_BELOW_THRESHOLD,
    EXIT_ERROR,
    EXIT_INTERRUPTED,
    EXIT_OK,
    error_console,
    output_console,
    print_error,
    print_json,
    show_warnings,
)

if TYPE_CHECKING:
    from agenticiqa.api.assessor import AgenticIQA
    from agenticiqa.nodes.results import Assessment


def check_outputs(*outputs: Path | None, inputs: Iterable[str | Path | None] = (), overwrite: bool) -> None:
    """No output is an input, none is another one's file, and none that is there is replaced without --overwrite."""
    wanted = [output for output in outputs if output is not None]
    read = [given for given in inputs if given is not None]
    for output in wanted:
        refuse_to_replace(output, inputs=read, overwrite=overwrite)
    files = [os.path.realpath(output) for output in wanted if not is_stream(output)]
    if len(set(files)) < len(files):
        raise typer.BadParameter("two of the files to write are the same one: give each a name of its own.")


# --- Options that several commands share ---


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


# --- What commands about single pictures share ---


def open_assessor(
    backend: str | None,
    config: Path | None,
    *,
    no_cache: bool,
    quiet: bool,
    memory: str | None = None,
    profile: str | None = None,
) -> AgenticIQA:
    """The assessor a command works with; its warnings reach the terminal unless quiet."""
    from agenticiqa.api.assessor import AgenticIQA

    overrides = {"pipeline.cache.enabled": False if no_cache else None, "pipeline.memory": memory}
    assessor = AgenticIQA(backend, config_dir=config, overrides=overrides, profile=profile)
    if not quiet:
        show_warnings(assessor.settings.secrets)
    return assessor


def run_with_progress(assessor: AgenticIQA, *, quiet: bool, **request: Any) -> Assessment:
    """Run and, unless quiet, show each step on standard error as it happens."""
    from agenticiqa.cli.assess import StepLines

    if quiet:
        return assessor.assess(**request)
    with StepLines(error_console()) as steps:
        return assessor.assess(**request, on_event=steps.show)


@contextmanager
def interruptible(*, json_output: bool) -> Iterator[None]:
    """Ctrl-C ends the command with what is known by then and how to continue."""
    from agenticiqa.api.assessor import RunInterrupted
    from agenticiqa.cli.assess import print_evidence

    try:
        yield
    except RunInterrupted as stopped:
        known = stopped.known
        if json_output:
            print_json(known.model_dump(mode="json"))
        elif known.executor_evidence:
            print_evidence(output_console(), known.executor_evidence)
        run_id, calls = known.metadata["run_id"], known.metadata["calls"]
        said = f"Interrupted after {calls} calls. `agenticiqa runs resume {run_id}` continues the run."
        error_console().print(said, highlight=False, markup=False, soft_wrap=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None


def unless_full(code: int, assessor: AgenticIQA) -> int:
    """The exit code; where all went well but for the home, which has no room, that is the end of the command."""
    if code == EXIT_OK and assessor.home_full is not None:
        raise assessor.home_full
    return code


def show(result: Assessment, *, json_output: bool, quiet: bool) -> None:
    from agenticiqa.cli.assess import print_assessment

    if json_output:
        print_json(result.model_dump(mode="json"))
    elif quiet and result.status != "error":
        typer.echo(_short(result))
    elif result.status == "error":
        print_error(result.error or "The run failed.")
    else:
        print_assessment(output_console(), result)


def _short(result: Assessment) -> str:
    if result.conflict:
        low, high = result.conflict.interval
        return f"{result.answer} {low:.2f} to {high:.2f} (conflict)"
    return result.answer if result.score is None else f"{result.answer} {result.score:.2f}"


def exit_code(result: Assessment, fail_under: float | None) -> int:
    if result.status == "error":
        return EXIT_ERROR
    if fail_under is None:
        return EXIT_OK
    if result.gate_score is None:
        error_console().print(
            "--fail-under: this question has no score. Ask for a rating.", highlight=False, soft_wrap=True
        )
        return EXIT_ERROR
    return EXIT_BELOW_THRESHOLD if result.gate_score < fail_under else EXIT_OK
