"""How a comparison looks in a terminal."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from agenticiqa.api.comparison import Comparison

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
