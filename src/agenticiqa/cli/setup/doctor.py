"""``agenticiqa doctor``: what works here and what to install or set."""

from __future__ import annotations

import typer

from agenticiqa.cli.options import ConfigOption, JsonOption
from agenticiqa.cli.terminal import EXIT_ERROR, output_console, print_json

_MARK = {"ok": "[green]ok[/]", "missing": "[yellow]missing[/]", "wrong": "[red]wrong[/]"}


def doctor(json_output: JsonOption = False, config: ConfigOption = None) -> None:
    """Say what works on this machine and what to install or set for the rest."""
    from agenticiqa.api.diagnosis import diagnose

    findings = diagnose(config)
    if json_output:
        print_json([finding.as_dict() for finding in findings])
    else:
        from rich.markup import escape
        from rich.table import Table

        table = Table("", "What", "State", "What to do")
        for finding in findings:
            table.add_row(_MARK[finding.state], escape(finding.subject), escape(finding.detail), escape(finding.advice))
        output_console().print(table)
    if any(finding.state == "wrong" for finding in findings):
        raise typer.Exit(EXIT_ERROR)
