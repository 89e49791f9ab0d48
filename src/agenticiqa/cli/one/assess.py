"""``agenticiqa assess``: one question about one picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agenticiqa.cli.terminal import (
    EXIT_BELOW_THRESHOLD,
    EXIT_ERROR,
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

ImageArgument = Annotated[Path, typer.Argument(help="The picture to judge.", show_default=False)]
QueryOption = Annotated[
    str, typer.Option("--query", "-q", help="The question. Options may be part of it: 'Which? A. Blur B. Noise'.")
]
ReferenceOption = Annotated[Path | None, typer.Option("--reference", "-r", help="How the picture should look.")]
OptionsOption = Annotated[
    list[str] | None, typer.Option("--option", "-o", help="An answer option; give one for each.", show_default=False)
]
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
FailUnderOption = Annotated[
    float | None, typer.Option("--fail-under", min=1, max=5, help="Exit with code 3 when the score is below this.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Print the answer only.")]
ReportOption = Annotated[Path | None, typer.Option("--report", help="Also write the result as one HTML page.")]
MapsOption = Annotated[
    Path | None,
    typer.Option("--maps", help="Folder for the tools' maps: numbers (.npy), and colours over the picture (.png)."),
]
NoCacheOption = Annotated[bool, typer.Option("--no-cache", help="Ask and measure afresh.")]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", help="Folder with model_backends.yaml and pipeline.yaml.")
]


def assess(
    image: ImageArgument,
    query: QueryOption = "Rate the perceptual quality of the image.",
    reference: ReferenceOption = None,
    option: OptionsOption = None,
    region: RegionsOption = None,
    backend: BackendOption = None,
    max_replan: MaxReplanOption = None,
    fail_under: FailUnderOption = None,
    json_output: JsonOption = False,
    quiet: QuietOption = False,
    report: ReportOption = None,
    maps: MapsOption = None,
    no_cache: NoCacheOption = False,
    config: ConfigOption = None,
) -> None:
    """Answer a question about a picture: rate it, explain it, choose an option."""
    from agenticiqa.pictures.regions import read_region

    if json_output and quiet:
        raise typer.BadParameter("--json and --quiet contradict each other: choose one.")
    if option is not None and len(option) < 2:
        raise typer.BadParameter("one --option leaves no choice: give at least two.")
    boxes = [read_region(text, image) for text in region or []]
    regions = {name: box.as_list() for name, box in boxes}
    if len(regions) < len(boxes):
        raise typer.BadParameter("two --region options have the same name.")
    with open_assessor(backend, config, no_cache=no_cache, quiet=quiet) as assessor:
        result = run_with_progress(
            assessor,
            quiet=quiet or json_output,
            image=image,
            query=query,
            reference=reference,
            options=option,
            regions=regions or None,
            max_replan_iterations=max_replan,
        )
        if maps is not None:
            _write_maps(assessor, result, maps, quiet=quiet or json_output)
    show(result, json_output=json_output, quiet=quiet)
    if report is not None:
        _write_report(result, report, quiet=quiet or json_output)
    raise typer.Exit(exit_code(result, fail_under))


def _write_report(result: Assessment, path: Path, *, quiet: bool) -> None:
    from agenticiqa.reports.assessment import report_item, write_report

    write_report(path, [report_item(result)])
    if not quiet:
        error_console().print(f"Report: {path}", highlight=False, markup=False, soft_wrap=True)


def _write_maps(assessor: AgenticIQA, result: Assessment, folder: Path, *, quiet: bool) -> None:
    from agenticiqa.reports.evidence_maps import write_maps

    written = write_maps(result, assessor.tools, folder)
    if not quiet:
        told = f"Maps: {len(written)} in {folder}" if written else "Maps: none of the tools that ran has one"
        error_console().print(told, highlight=False, markup=False, soft_wrap=True)


def open_assessor(backend: str | None, config: Path | None, *, no_cache: bool, quiet: bool) -> AgenticIQA:
    """The assessor a command works with; its warnings reach the terminal unless quiet."""
    from agenticiqa.api.assessor import AgenticIQA

    overrides = {"pipeline.cache.enabled": False} if no_cache else {}
    assessor = AgenticIQA(backend, config_dir=config, overrides=overrides)
    if not quiet:
        show_warnings(assessor.secrets)
    return assessor


def run_with_progress(assessor: AgenticIQA, *, quiet: bool, **request: Any) -> Assessment:
    """Run and, unless quiet, show each step on standard error as it happens."""
    from agenticiqa.cli.one.rendering import StepLines

    if quiet:
        return assessor.assess(**request)
    with StepLines(error_console()) as steps:
        return assessor.assess(**request, on_event=steps.show)


def show(result: Assessment, *, json_output: bool, quiet: bool) -> None:
    from agenticiqa.cli.one.rendering import print_assessment

    if json_output:
        print_json(result.model_dump(mode="json"))
    elif quiet and result.status != "error":
        typer.echo(result.answer if result.score is None else f"{result.answer} {result.score:.2f}")
    elif result.status == "error":
        print_error(result.error or "The run failed.")
    else:
        print_assessment(output_console(), result)


def exit_code(result: Assessment, fail_under: float | None) -> int:
    if result.status == "error":
        return EXIT_ERROR
    if fail_under is None:
        return EXIT_OK
    if result.score is None:
        error_console().print(
            "--fail-under: this question has no score. Ask for a rating.", highlight=False, soft_wrap=True
        )
        return EXIT_ERROR
    return EXIT_BELOW_THRESHOLD if result.score < fail_under else EXIT_OK
