"""How a comparison looks in a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from agenticiqa.api.comparison import Comparison
from agenticiqa.cli.options import (
    BackendOption,
    ConfigOption,
    MemoryOption,
    NoCacheOption,
    OverwriteOption,
    check_outputs,
    interruptible,
    open_assessor,
    unless_full,
)
from agenticiqa.cli.terminal import EXIT_ERROR, EXIT_OK, error_console, output_console, print_error, print_json

if TYPE_CHECKING:
    from agenticiqa.api.assessor import AgenticIQA
    from agenticiqa.api.comparison import Comparison
    from agenticiqa.runtime.config import ImageLimits


_COLOURS = {"A": "blue", "B": "dark_orange", "tie": "dim"}


def print_comparison(console: Console, found: Comparison) -> None:
    """Verdict, reasons and the tools side by side."""
    console.print(Panel(f"[bold]{escape(found.verdict)}[/]", title="Verdict", title_align="left", expand=False))
    for reason in found.reasons:
        console.print(f"[dim]•[/] {escape(reason)}", highlight=False)
    if found.tools:
        console.print(_tools(found))
    for note in found.notes:
        console.print(f"[yellow]Note:[/] {escape(note)}", highlight=False)


def _tools(found: Comparison) -> Table:
    table = Table(title="Measured on both", title_justify="left")
    for column in ("Tool", f"A  {Path(found.image_a).name}", f"B  {Path(found.image_b).name}", "Better"):
        table.add_column(escape(column), overflow="fold")
    for row in found.tools:
        if row.error:
            table.add_row(row.tool, "", "", escape(row.error))
        else:
            better = row.better or ""
            cells = (_cell(row.raw_a, row.calibrated_a), _cell(row.raw_b, row.calibrated_b))
            table.add_row(row.tool, *cells, f"[{_COLOURS.get(better, '')}]{better}[/]" if better else "")
    table.caption = "raw value (on the 1..5 scale)"
    return table


def _cell(raw: float | None, points: float | None) -> str:
    return "" if raw is None or points is None else f"{raw:.4g}  ({points:.2f})"


# --- ``agenticiqa compare``: which of two pictures is better, and why ---


EXIT_NOT_BETTER = 3

PictureA = Annotated[Path, typer.Argument(help="One picture.", metavar="A", show_default=False)]
PictureB = Annotated[Path, typer.Argument(help="The other picture.", metavar="B", show_default=False)]
ReferenceOption = Annotated[Path | None, typer.Option("--reference", "-r", help="How both should look.")]
MapOption = Annotated[
    Path | None, typer.Option("--map", help="Write where they differ as a PNG: blue where A is better, orange where B.")
]
ReportOption = Annotated[Path | None, typer.Option("--report", help="Also write the comparison as one HTML page.")]
ExpectOption = Annotated[
    str | None, typer.Option("--expect", help="A or B: exit with code 3 unless this one is better.", metavar="A|B")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the whole comparison as JSON.")]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Print A, B or tie only.")]


def compare(
    a: PictureA,
    b: PictureB,
    reference: ReferenceOption = None,
    backend: BackendOption = None,
    map_file: MapOption = None,
    report: ReportOption = None,
    overwrite: OverwriteOption = False,
    expect: ExpectOption = None,
    json_output: JsonOption = False,
    quiet: QuietOption = False,
    no_cache: NoCacheOption = False,
    memory: MemoryOption = None,
    config: ConfigOption = None,
) -> None:
    """Say which of two pictures is better, how sure that is, where they differ, and why."""
    if json_output and quiet:
        raise typer.BadParameter("--json and --quiet contradict each other: choose one.")
    if expect is not None and expect.upper() not in ("A", "B"):
        raise typer.BadParameter("--expect takes A or B.")
    check_outputs(map_file, report, inputs=[a, b, reference], overwrite=overwrite)
    silent = quiet or json_output
    with (
        open_assessor(backend, config, no_cache=no_cache, quiet=silent, memory=memory) as assessor,
        interruptible(json_output=False),
    ):
        found = _run(assessor, a, b, reference, silent=silent)
    _show(found, json_output=json_output, quiet=quiet)
    if found.status != "error":
        _write_files(found, map_file, report, assessor.limits, silent=silent)
    raise typer.Exit(unless_full(_exit_code(found, expect), assessor))


def _run(assessor: AgenticIQA, a: Path, b: Path, reference: Path | None, *, silent: bool) -> Comparison:
    from agenticiqa.api.comparison import compare_pictures
    from agenticiqa.cli.assess import StepLines

    if silent:
        return compare_pictures(assessor, a, b, reference=reference)
    with StepLines(error_console()) as steps:
        return compare_pictures(
            assessor, a, b, reference=reference, on_event=lambda side, event: steps.show(event, prefix=side)
        )


def _show(found: Comparison, *, json_output: bool, quiet: bool) -> None:
    from agenticiqa.cli.compare import print_comparison

    if json_output:
        print_json(found.model_dump(mode="json"))
    elif found.status == "error":
        print_error(found.error or "The comparison failed.")
    elif quiet:
        typer.echo(found.winner)
    else:
        print_comparison(output_console(), found)


def _write_files(
    found: Comparison, map_file: Path | None, report: Path | None, limits: ImageLimits, *, silent: bool
) -> None:
    from agenticiqa.reports.comparison import write_difference, write_page

    lines = []
    if map_file is not None:
        if write_difference(found, map_file, limits):
            lines.append(f"Map: {map_file}")
        else:
            # Printed even if quiet: whoever asked for the file would look for it in vain.
            _print_line(f"No map can be made of these pictures; {map_file} was not written.")
    if report is not None:
        write_page(found, report, limits)
        lines.append(f"Report: {report}")
    for line in lines if not silent else ():
        _print_line(line)


def _print_line(line: str) -> None:
    error_console().print(line, highlight=False, markup=False, soft_wrap=True)


def _exit_code(found: Comparison, expect: str | None) -> int:
    if found.status == "error":
        return EXIT_ERROR
    return EXIT_OK if expect is None or found.winner == expect.upper() else EXIT_NOT_BETTER
