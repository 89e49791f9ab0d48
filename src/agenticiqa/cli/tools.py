"""``agenticiqa tools``: which measuring tools there are and what they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from agenticiqa.cli.assess import JsonOption
from agenticiqa.cli.measure import measure
from agenticiqa.cli.terminal import output_console, print_json

if TYPE_CHECKING:
    from agenticiqa.tools.registry import Tool

app = typer.Typer(help="List, explain and run measuring tools.", no_args_is_help=True)
app.command("run")(measure)


@app.command("list")
def list_tools(json_output: JsonOption = False) -> None:
    """List every tool with type, range and direction."""
    from agenticiqa.tools.registry import default_registry

    facts = [describe(tool) for tool in default_registry().all()]
    if json_output:
        print_json(facts)
        return
    from rich.table import Table

    table = Table("Tool", "Type", "Range", "Better is", "1..5 by", "Good at")
    for each in facts:
        low, high = each["range"]
        table.add_row(
            each["name"], each["type"], f"{low:g}..{high:g} {each['unit']}".strip(), each["better"],
            each["calibration"]["origin"] if each["calibration"] else "", ", ".join(each["good_at"]),
        )  # fmt: skip
    output_console().print(table)


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(help="The tool's name; case and hyphens do not matter.", show_default=False)],
    json_output: JsonOption = False,
) -> None:
    """Explain one tool: variant, paper, range, minimum size, calibration."""
    from agenticiqa.tools.registry import default_registry

    facts = describe(default_registry().find(name))
    if json_output:
        print_json(facts)
        return
    for key, value in facts.items():
        typer.echo(f"{key}: {value}")


def describe(tool: Tool) -> dict[str, Any]:
    """Everything a user should know about a tool, as plain data."""
    spec = tool.spec
    calibration = tool.calibration
    return {
        "name": tool.name,
        "type": tool.type,
        "kind": spec.kind,
        "range": list(spec.range),
        "unit": spec.unit,
        "better": {True: "higher", False: "lower", None: ""}[spec.higher_is_better],
        "variant": spec.variant,
        "paper": spec.paper,
        "good_at": list(spec.good_at),
        "minimum_size": list(spec.minimum_size),
        "version": spec.version,
        "calibration": None
        if calibration is None
        else {
            "origin": calibration.origin,
            "source": calibration.source,
            "coefficients": list(calibration.coefficients),
        },
    }
