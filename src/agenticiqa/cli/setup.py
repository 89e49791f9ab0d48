"""``agenticiqa backends``, ``graph`` and ``doctor``: which models can be used here, and what else works."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agenticiqa.cli.options import ConfigOption, JsonOption
from agenticiqa.cli.terminal import ExitCode, output_console, print_json, print_table

if TYPE_CHECKING:
    from rich.table import Table

    from agenticiqa.api.diagnosis import Diagnosis


app = typer.Typer(help="List and check model backends.", no_args_is_help=True)


@app.command("list")
def list_backends(json_output: JsonOption = False, config: ConfigOption = None) -> None:
    """List providers and say what each one needs to work here."""
    from agenticiqa.models.backends import find_provider, provider_names
    from agenticiqa.runtime.config import load_settings

    settings = load_settings(config)
    rows: list[dict[str, Any]] = []
    for name in provider_names():
        provider = find_provider(name)
        readiness = provider.readiness(settings.provider(name))
        rows.append(
            {
                "provider": name,
                "ready": readiness.ready,
                "reason": readiness.reason,
                "local": provider.local,
                "description": provider.description,
            }
        )
    if json_output:
        print_json(rows)
        return
    from rich.markup import escape

    cells = [
        [row["provider"], "[green]yes[/]", escape(row["description"]), ""]
        if row["ready"]
        else [row["provider"], "[red]no[/]", escape(row["description"]), escape(row["reason"])]
        for row in rows
    ]
    print_table(("Provider", "Ready", "What it is", "What it needs"), cells)


@app.command("check")
def check(
    backend: Annotated[
        list[str] | None, typer.Argument(help="Backends to ask; default: those of the three roles.", show_default=False)
    ] = None,
    json_output: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Ask each backend one tiny question with a picture and say how it went."""
    from agenticiqa.api.diagnosis import check_backend
    from agenticiqa.models.backends import choose_backend
    from agenticiqa.runtime.config import ROLES, load_settings

    settings = load_settings(config)
    names = backend or list(dict.fromkeys(choose_backend(role, settings).backend for role in ROLES))
    started = time.perf_counter()
    results = [check_backend(name, settings) for name in names]
    if json_output:
        print_json([asdict(result) for result in results])
    else:
        for result in results:
            mark = "ok    " if result.ok else "failed"
            typer.echo(f"{mark} {result.backend}: {result.message}")
        typer.echo(f"{len(results)} checked in {time.perf_counter() - started:.1f} s")
    if not all(result.ok for result in results):
        raise typer.Exit(ExitCode.ERROR)


# --- ``agenticiqa graph``: the agents' graph ---


graph_app = typer.Typer(help="Show how the agents are wired.", no_args_is_help=True)


@graph_app.command("show")
def show(
    plan_only: Annotated[bool, typer.Option("--plan-only", help="The planner alone.")] = False,
    no_summarizer: Annotated[bool, typer.Option("--no-summarizer", help="Planner and executor.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Print the graph as Mermaid text."""
    from agenticiqa.nodes.diagram import visualize_graph

    text = visualize_graph(include_executor=not plan_only, include_summarizer=not (plan_only or no_summarizer))
    if json_output:
        print_json({"mermaid": text})
    else:
        typer.echo(text)


# --- ``agenticiqa doctor``: what works here and what to install or set ---


_MARK = {"ok": "[green]ok[/]", "missing": "[yellow]missing[/]", "wrong": "[red]wrong[/]"}


def _table(findings: Sequence[Diagnosis]) -> Table:
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
        print_json([asdict(finding) for finding in findings])
    else:
        output_console().print(_table(findings))
    if any(finding.state == "wrong" for finding in findings):
        raise typer.Exit(ExitCode.ERROR)
