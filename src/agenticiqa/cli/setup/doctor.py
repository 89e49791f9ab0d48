"""``agenticiqa doctor``: what works here and what to install or set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from agenticiqa.cli.options import ConfigOption, JsonOption
from agenticiqa.cli.terminal import EXIT_ERROR, output_console, print_json

if TYPE_CHECKING:
    from rich.table import Table

    from agenticiqa.api.diagnosis import Finding

_MARK = {"ok": "[green]ok[/]", "missing": "[yellow]missing[/]", "wrong": "[red]wrong[/]"}


def _table(findings: Sequence[Finding]) -> Table:
    """Three columns that fit every terminal: long texts are broken, none is cut."""
    from rich.markup import escape
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(width=7)
    table.add_column(width=18, overflow="fold")
    table.add_column(overflow="fold")
    for finding in findings:
        advice = f"\n[bold]{escape(finding.advice)}[/]" if finding.advice else ""
        table.add_row(_MARK[finding.state], escape(finding.subject), f"{escape(finding.detail)}{advice}")
    return table


def doctor(json_output: JsonOption = False, config: ConfigOption = None) -> None:
    """Say what works on this machine and what to install or set for the rest."""
    from agenticiqa.api.diagnosis import diagnose

    findings = diagnose(config)
    if json_output:
        print_json([finding.as_dict() for finding in findings])
    else:
        output_console().print(_table(findings))
    if any(finding.state == "wrong" for finding in findings):
        raise typer.Exit(EXIT_ERROR)
