"""``agenticiqa backends``: which models can be used here."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from agenticiqa.cli.options import ConfigOption, JsonOption
from agenticiqa.cli.terminal import EXIT_ERROR, output_console, print_json

app = typer.Typer(help="List and check model backends.", no_args_is_help=True)


@app.command("list")
def list_backends(json_output: JsonOption = False, config: ConfigOption = None) -> None:
    """List providers and say what each one needs to work here."""
    from agenticiqa.models.client import find_provider, provider_names
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
    from rich.table import Table

    table = Table("Provider", "Ready", "What it is", "What it needs")
    for row in rows:
        ready = "[green]yes[/]" if row["ready"] else "[red]no[/]"
        table.add_row(row["provider"], ready, escape(row["description"]), "" if row["ready"] else escape(row["reason"]))
    output_console().print(table)


@app.command("check")
def check(
    backend: Annotated[
        list[str] | None, typer.Argument(help="Backends to ask; default: those of the three roles.", show_default=False)
    ] = None,
    json_output: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Ask each backend one tiny question with a picture and say how it went."""
    from agenticiqa.api.backend_check import check_backend
    from agenticiqa.models.client import choose_backend
    from agenticiqa.runtime.config import ROLES, load_settings

    settings = load_settings(config)
    names = backend or list(dict.fromkeys(choose_backend(role, settings).backend for role in ROLES))
    started = time.perf_counter()
    results = [check_backend(name, settings) for name in names]
    if json_output:
        print_json([result.as_dict() for result in results])
    else:
        for result in results:
            mark = "ok    " if result.ok else "failed"
            typer.echo(f"{mark} {result.backend}: {result.message}")
        typer.echo(f"{len(results)} checked in {time.perf_counter() - started:.1f} s")
    if not all(result.ok for result in results):
        raise typer.Exit(EXIT_ERROR)
