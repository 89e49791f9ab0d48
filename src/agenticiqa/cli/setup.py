"""``agenticiqa backends``, ``graph``, ``doctor`` and ``config``: what works here, how it is wired and set."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from agenticiqa.cli.options import ConfigOption, JsonOption
from agenticiqa.cli.terminal import ExitCode, output_console, print_json, print_result, print_table

app = typer.Typer(help="List and check model backends.", no_args_is_help=True)
graph_app = typer.Typer(help="Show how the agents are wired.", no_args_is_help=True)
config_app = typer.Typer(help="Show and check the configuration.", no_args_is_help=True)
_MARK = {"ok": "[green]ok[/]", "missing": "[yellow]missing[/]", "wrong": "[red]wrong[/]"}


@app.command("list")
def list_backends(json_output: JsonOption = False, config: ConfigOption = None) -> None:
    """List providers and say what each one needs to work here."""
    from agenticiqa.models.backends import find_provider, provider_names
    from agenticiqa.runtime.config import load_settings

    settings = load_settings(config)
    rows: list[dict[str, Any]] = []
    for name in provider_names():
        provider = find_provider(name)
        readiness = asdict(provider.readiness(settings.provider(name)))
        rows.append({"provider": name, **readiness, "local": provider.local, "description": provider.description})
    if json_output:
        print_json(rows)
        return
    from rich.markup import escape

    cells = []
    for row in rows:
        mark, needed = ("[green]yes[/]", "") if row["ready"] else ("[red]no[/]", escape(row["reason"]))
        cells.append([row["provider"], mark, escape(row["description"]), needed])
    print_table(("Provider", "Ready", "What it is", "What it needs"), cells)


@app.command("check")
def check(
    backend: Annotated[
        list[str] | None,
        typer.Argument(help="Backends to ask, such as compatible.MODEL, or a provider; default: those of the roles."),
    ] = None,
    json_output: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Ask each backend one tiny question with a picture and say how it went."""
    from agenticiqa.api.diagnosis import check_backend
    from agenticiqa.models.backends import choose_backend
    from agenticiqa.runtime.config import load_settings

    settings = load_settings(config)
    roles = [settings.role(role) for role in settings.roles]
    configured = [name for role in roles for name in (role.backend, role.fallback_backend) if name]
    names = (
        list(dict.fromkeys(choose_backend(role, settings).backend for role in settings.roles)) if not backend else []
    )
    for given in backend or ():
        # A provider alone means its configured model.
        names += [next((name for name in configured if name.partition(".")[0] == given), given)]
    started = time.perf_counter()
    results = [check_backend(name, settings) for name in names]
    lines = [f"{'ok    ' if result.ok else 'failed'} {result.backend}: {result.message}" for result in results]
    summary = f"{len(results)} checked in {time.perf_counter() - started:.1f} s"
    print_result([asdict(result) for result in results], *lines, summary, as_json=json_output)
    if not all(result.ok for result in results):
        raise typer.Exit(ExitCode.ERROR)


@graph_app.command("show")
def show(json_output: JsonOption = False) -> None:
    """Print the graph as Mermaid text."""
    from agenticiqa.nodes.diagram import visualize_graph

    text = visualize_graph()
    print_result({"mermaid": text}, text, as_json=json_output)


def doctor(json_output: JsonOption = False, config: ConfigOption = None) -> None:
    """Say what works on this machine and what to install or set for the rest."""
    from rich.markup import escape
    from rich.table import Table

    from agenticiqa.api.diagnosis import diagnose

    findings = list(diagnose(config))
    if json_output:
        print_json([asdict(finding) for finding in findings])
    else:
        # Three columns that fit every terminal: long texts are broken, none is cut.
        table = Table.grid(padding=(0, 2))
        for width in (7, 18, None):
            table.add_column(width=width, overflow="fold")
        for finding in findings:
            advice = f"\n[bold]{escape(finding.advice)}[/]" if finding.advice else ""
            table.add_row(_MARK[finding.state], escape(finding.subject), f"{escape(finding.detail)}{advice}")
        output_console().print(table)
    if any(finding.state == "wrong" for finding in findings):
        raise typer.Exit(ExitCode.ERROR)


@config_app.command("show")
def show_config(json_output: JsonOption = False, config: ConfigOption = None) -> None:
    """Print the settings in force after defaults, files and environment; keys are masked."""
    import yaml

    from agenticiqa.runtime.config import effective_settings, load_settings

    settings = effective_settings(load_settings(config))
    text = yaml.safe_dump(settings, sort_keys=False, allow_unicode=True).rstrip()
    print_result(settings, text, as_json=json_output)


@config_app.command("check")
def check_config(json_output: JsonOption = False, config: ConfigOption = None) -> None:
    """Check the configuration files; a wrong key is named with its file and line."""
    from agenticiqa.errors import ConfigError
    from agenticiqa.models.backends import BackendName, find_provider
    from agenticiqa.nodes.prompts import SHIPPED, read_prompts
    from agenticiqa.runtime.config import load_settings

    settings = load_settings(config)
    read_prompts(settings.pipeline.prompts, SHIPPED)
    for role in settings.roles:
        for backend in (settings.role(role).backend, settings.role(role).fallback_backend):
            if backend:
                try:
                    find_provider(BackendName.parse(backend).provider)
                except Exception as error:
                    raise ConfigError(f"{role}: {error}") from error
    print_result({"ok": True}, "The configuration is right.", as_json=json_output)


@config_app.command("prompts")
def prompts(
    folder: Annotated[Path, typer.Argument(help="A folder for the files; it may be new.")],
    json_output: JsonOption = False,
) -> None:
    """Write the shipped prompts as files, one for each step, to change and use with `prompts: FOLDER`."""
    from agenticiqa.nodes.prompts import SHIPPED, write_prompts

    files = [str(file) for file in write_prompts(folder, SHIPPED)]
    use = f"Use them with `prompts: {folder}` in pipeline.yaml. Delete those that you do not change."
    print_result({"files": files}, *files, use, as_json=json_output)
