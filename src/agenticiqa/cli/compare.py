"""``agenticiqa compare``: which of two pictures is better, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel

from agenticiqa.cli import options
from agenticiqa.cli.assess import assessing, step_lines, unless_full
from agenticiqa.cli.terminal import ExitCode, output_console, print_error, print_json, print_table, say

if TYPE_CHECKING:
    from agenticiqa.nodes.results import Comparison

_COLOURS = {"A": "blue", "B": "dark_orange", "tie": "dim"}


def print_comparison(console: Console, found: Comparison) -> None:
    """Verdict, reasons and the tools side by side."""
    console.print(Panel(f"[bold]{escape(found.verdict)}[/]", title="Verdict", title_align="left", expand=False))
    for reason in found.reasons:
        console.print(f"[dim]•[/] {escape(reason)}", highlight=False)
    rows = []
    for row in found.tools:
        better = f"[{_COLOURS[row.better]}]{row.better}[/]" if row.better else ""
        cells = [_cell(row.raw_a, row.calibrated_a), _cell(row.raw_b, row.calibrated_b), better]
        rows.append([row.tool, *(["", "", escape(row.error)] if row.error else cells)])
    if rows:
        a, b = (escape(Path(name).name) for name in (found.image_a, found.image_b))
        columns, caption = ("Tool", f"A  {a}", f"B  {b}", "Better"), "raw value (on the 1..5 scale)"
        print_table(columns, rows, console=console, title="Measured on both", caption=caption)
    for note in found.notes:
        console.print(f"[yellow]Note:[/] {escape(note)}", highlight=False)


def _cell(raw: float | None, points: float | None) -> str:
    return "" if raw is None or points is None else f"{raw:.4g}  ({points:.2f})"


def compare(
    a: Annotated[Path, typer.Argument(help="One picture.", metavar="A")],
    b: Annotated[Path, typer.Argument(help="The other picture.", metavar="B")],
    reference: Annotated[Path | None, typer.Option("--reference", "-r", help="How both should look.")] = None,
    backend: options.BackendOption = None,
    map_file: Annotated[
        Path | None,
        typer.Option("--map", help="Write where they differ as a PNG: blue where A is better, orange where B."),
    ] = None,
    report: options.ReportOption = None,
    overwrite: options.OverwriteOption = False,
    expect: Annotated[
        Literal["A", "B"] | None,
        typer.Option(help="Exit with code 3 unless this one is better.", case_sensitive=False),
    ] = None,
    json_output: options.JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print A, B or tie only.")] = False,
    no_cache: options.NoCacheOption = False,
    memory: options.MemoryOption = None,
    config: options.ConfigOption = None,
) -> None:
    """Say which of two pictures is better, how sure that is, where they differ, and why."""
    from agenticiqa.api.comparison import compare_pictures
    from agenticiqa.reports.comparison import write_difference, write_page

    options.choose_one(json=json_output, quiet=quiet)
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
    if found.status == "error":
        raise typer.Exit(ExitCode.ERROR)
    if map_file is not None:
        if not write_difference(found, map_file, assessor.limits):
            # Printed even if quiet: whoever asked for the file would look for it in vain.
            say(f"No map can be made of these pictures; {map_file} was not written.")
        elif not silent:
            say(f"Map: {map_file}")
    if report is not None:
        write_page(found, report, assessor.limits)
        if not silent:
            say(f"Report: {report}")
    code = ExitCode.OK if expect in (None, found.winner) else ExitCode.BELOW_THRESHOLD
    raise typer.Exit(unless_full(code, assessor))
