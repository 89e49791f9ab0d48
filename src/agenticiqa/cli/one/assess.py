"""``agenticiqa assess``: one question about one picture."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agenticiqa.cli.options import (
    AlignOption,
    BackendOption,
    ConfigOption,
    JsonOption,
    MapsOption,
    MaxReplanOption,
    MemoryOption,
    ModeOption,
    NoCacheOption,
    OverwriteOption,
    ProfileOption,
    QuietOption,
    ReferenceOption,
    RegionsOption,
    WithoutOption,
    chosen_align,
    chosen_mode,
    finite,
    parts_left_out,
)
from agenticiqa.cli.outputs import check_outputs
from agenticiqa.cli.running import exit_code, interruptible, open_assessor, run_with_progress, show, unless_full
from agenticiqa.cli.terminal import error_console
from agenticiqa.vocabulary import DEFAULT_QUERY

if TYPE_CHECKING:
    from agenticiqa.api.assessor import AgenticIQA
    from agenticiqa.nodes.results import Assessment
    from agenticiqa.pictures.images import Box
    from agenticiqa.pictures.inputs import PictureInput
    from agenticiqa.runtime.config import ImageLimits
    from agenticiqa.tools.maps import MapFolder

ImageArgument = Annotated[
    str,
    typer.Argument(
        help="The picture to judge: a file, an address (https://, s3://, …), or - for standard input.",
        show_default=False,
    ),
]
QueryOption = Annotated[
    str, typer.Option("--query", "-q", help="The question. Options may be part of it: 'Which? A. Blur B. Noise'.")
]
OptionsOption = Annotated[
    list[str] | None, typer.Option("--option", "-o", help="An answer option; give one for each.", show_default=False)
]
FailUnderOption = Annotated[
    float | None,
    typer.Option(
        "--fail-under",
        callback=finite,
        min=1,
        max=5,
        help="Exit with code 3 when the score is below this; in a conflict the lower reading counts.",
    ),
]
ReportOption = Annotated[Path | None, typer.Option("--report", help="Also write the result as one HTML page.")]


def assess(
    image: ImageArgument,
    query: QueryOption = DEFAULT_QUERY,
    reference: ReferenceOption = None,
    align: AlignOption = "none",
    option: OptionsOption = None,
    region: RegionsOption = None,
    backend: BackendOption = None,
    max_replan: MaxReplanOption = None,
    mode: ModeOption = None,
    without: WithoutOption = None,
    profile: ProfileOption = None,
    fail_under: FailUnderOption = None,
    json_output: JsonOption = False,
    quiet: QuietOption = False,
    report: ReportOption = None,
    maps: MapsOption = None,
    overwrite: OverwriteOption = False,
    no_cache: NoCacheOption = False,
    memory: MemoryOption = None,
    config: ConfigOption = None,
) -> None:
    """Answer a question about a picture: rate it, explain it, choose an option."""
    from agenticiqa.tools.maps import MapFolder

    if json_output and quiet:
        raise typer.BadParameter("--json and --quiet contradict each other: choose one.")
    if option is not None and len(option) < 2:
        raise typer.BadParameter("one --option leaves no choice: give at least two.")
    scaling, chosen, left_out = chosen_align(align), chosen_mode(mode), parts_left_out(without)
    inputs = [image, reference, *_mask_files(region or [])]
    check_outputs(report, inputs=inputs, overwrite=overwrite)
    with (
        open_assessor(backend, config, no_cache=no_cache, quiet=quiet, memory=memory, profile=profile) as assessor,
        interruptible(json_output=json_output),
    ):
        # Of a picture that is scaled, regions count in its reference's pixels.
        masked = str(reference) if reference and scaling == "resize" else image
        boxes = [_region(text, masked, assessor.limits) for text in region or []]
        regions = {name: box.as_list() for name, box in boxes}
        if len(regions) < len(boxes):
            raise typer.BadParameter("two --region options have the same name.")
        result = run_with_progress(
            assessor,
            quiet=quiet or json_output,
            image=_picture(image),
            query=query,
            reference=reference,
            options=option,
            regions=regions or None,
            max_replan_iterations=max_replan,
            align=scaling,
            mode=chosen,
            without=left_out,
        )
        # Shown first: an answer is not lost because a file cannot be written.
        show(result, json_output=json_output, quiet=quiet)
        if maps is not None:
            folder = MapFolder(maps, inputs=inputs, overwrite=overwrite)
            _write_maps(assessor, result, folder, quiet=quiet or json_output)
        if report is not None:
            _write_report(result, report, assessor.limits, quiet=quiet or json_output)
    raise typer.Exit(unless_full(exit_code(result, fail_under), assessor))


def _picture(image: str) -> PictureInput:
    """What the argument names; an address is fetched within the limits that batches have."""
    from agenticiqa.batch.manifest.remote_pictures import picture_at
    from agenticiqa.pictures.finding import STANDARD_INPUT

    if image == STANDARD_INPUT:
        return sys.stdin.buffer.read()
    return picture_at(image)


def _region(text: str, image: str, limits: ImageLimits) -> tuple[str, Box]:
    from agenticiqa.pictures.regions import parse_region, read_region

    # A mask is compared with the picture's size, which only a file gives before the run.
    return read_region(text, Path(image), limits) if Path(image).is_file() else parse_region(text)


def _mask_files(regions: list[str]) -> list[str]:
    """What stands behind NAME=; a box is no file, and matches none."""
    return [text.partition("=")[2] for text in regions]


def _write_report(result: Assessment, path: Path, limits: ImageLimits, *, quiet: bool) -> None:
    from agenticiqa.reports.assessment import report_item, write_report

    write_report(path, [report_item(result, limits)])
    if not quiet:
        error_console().print(f"Report: {path}", highlight=False, markup=False, soft_wrap=True)


def _write_maps(assessor: AgenticIQA, result: Assessment, maps: MapFolder, *, quiet: bool) -> None:
    from agenticiqa.reports.evidence_maps import write_maps

    written = write_maps(result, assessor.tools, maps, assessor.limits)
    if not quiet:
        line = f"Maps: {len(written)} in {maps.folder}" if written else "Maps: none of the tools that ran has one"
        error_console().print(line, highlight=False, markup=False, soft_wrap=True)
