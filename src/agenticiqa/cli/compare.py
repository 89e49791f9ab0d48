"""``agenticiqa compare``: which of two pictures is better, and why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel

from agenticiqa.cli import options
from agenticiqa.cli.assess import assessing, step_lines, unless_full
from agenticiqa.cli.terminal import ExitCode, output_console, print_error, print_json, print_table, say

if TYPE_CHECKING:
    from agenticiqa.nodes.results import Comparison
    from agenticiqa.runtime.config import ImageLimits

_COLOURS = {"A": "blue", "B": "dark_orange", "tie": "dim"}


def print_comparison(console: Console, found: Comparison) -> None:
    """Verdict, reasons and the tools side by side."""
    console.print(Panel(f"[bold]{escape(found.verdict)}[/]", title="Verdict", title_align="left", expand=False))
    for reason in found.reasons:
        console.print(f"[dim]•[/] {escape(reason)}", highlight=False)
    if found.tools:
        a, b = (escape(Path(name).name) for name in (found.image_a, found.image_b))
        caption = "raw value (on the 1..5 scale)"
        columns = ("Tool", f"A  {a}", f"B  {b}", "Better")
        print_table(columns, _rows(found), console=console, title="Measured on both", caption=caption)
    for note in found.notes:
        console.print(f"[yellow]Note:[/] {escape(note)}", highlight=False)


def _rows(found: Comparison) -> Iterator[list[str]]:
    for row in found.tools:
        if row.error:
            yield [row.tool, "", "", escape(row.error)]
        else:
            better = f"[{_COLOURS[row.better]}]{row.better}[/]" if row.better else ""
            yield [row.tool, _cell(row.raw_a, row.calibrated_a), _cell(row.raw_b, row.calibrated_b), better]


def _cell(raw: float | None, points: float | None) -> str:
    return "" if raw is None or points is None else f"{raw:.4g}  ({points:.2f})"


PictureA = Annotated[Path, typer.Argument(help="One picture.", metavar="A", show_default=False)]
PictureB = Annotated[Path, typer.Argument(help="The other picture.", metavar="B", show_default=False)]
ReferenceOption = Annotated[Path | None, typer.Option("--reference", "-r", help="How both should look.")]
MapOption = Annotated[
    Path | None, typer.Option("--map", help="Write where they differ as a PNG: blue where A is better, orange where B.")
]
ExpectOption = Annotated[
    str | None, typer.Option("--expect", help="A or B: exit with code 3 unless this one is better.", metavar="A|B")
]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Print A, B or tie only.")]


def compare(
    a: PictureA,
    b: PictureB,
    reference: ReferenceOption = None,
    backend: options.BackendOption = None,
    map_file: MapOption = None,
    report: options.ReportOption = None,
    overwrite: options.OverwriteOption = False,
    expect: ExpectOption = None,
    json_output: options.JsonOption = False,
    quiet: QuietOption = False,
    no_cache: options.NoCacheOption = False,
    memory: options.MemoryOption = None,
    config: options.ConfigOption = None,
) -> None:
    """Say which of two pictures is better, how sure that is, where they differ, and why."""
    from agenticiqa.api.comparison import compare_pictures

    options.choose_one(json=json_output, quiet=quiet)
    if expect is not None and expect.upper() not in ("A", "B"):
        raise typer.BadParameter("--expect takes A or B.")
    options.check_outputs(map_file, report, inputs=[a, b, reference], overwrite=overwrite)
    silent = quiet or json_output
    with (
        assessing(backend, config, quiet=silent, no_cache=no_cache, memory=memory) as assessor,
        step_lines(quiet=silent) as listener,
    ):
        on_event = None if listener is None else lambda side, event: listener(event, prefix=side)
        found = compare_pictures(assessor, a, b, reference=reference, on_event=on_event)
    if json_output:
        print_json(found.model_dump(mode="json"))
    elif found.status == "error":
        print_error(found.error or "The comparison failed.")
    elif quiet:
        typer.echo(found.winner)
    else:
        print_comparison(output_console(), found)
    if found.status != "error":
        _write_files(found, map_file, report, assessor.limits, silent=silent)
    raise typer.Exit(unless_full(_exit_code(found, expect), assessor))


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
            say(f"No map can be made of these pictures; {map_file} was not written.")
    if report is not None:
        write_page(found, report, limits)
        lines.append(f"Report: {report}")
    for line in lines if not silent else ():
        say(line)


def _exit_code(found: Comparison, expect: str | None) -> int:
    if found.status == "error":
        return ExitCode.ERROR
    return ExitCode.OK if expect is None or found.winner == expect.upper() else ExitCode.BELOW_THRESHOLD
