"""``agenticiqa tools bench``: time per tool on this machine."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Annotated

import typer

from agenticiqa.cli.one.measure import ToolsOption
from agenticiqa.cli.options import ConfigOption, JsonOption
from agenticiqa.cli.terminal import error_console, output_console, print_json

MOST_PIXELS = 120_000_000


def bench(
    size: Annotated[str, typer.Option("--size", help="Width and height of the made picture.")] = "512x384",
    repeats: Annotated[int, typer.Option("--repeats", min=1, max=100, help="The fastest of these counts.")] = 3,
    tool: ToolsOption = None,
    json_output: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Time every tool that runs here, alone and without cache.

    The ratio is to a mean squared difference of the same two pictures in plain NumPy, in the same run.
    """
    from rich.progress import track

    from agenticiqa.runtime.config import load_settings
    from agenticiqa.tools.registry import default_registry
    from agenticiqa.tools.timing import YARDSTICK, time_tools

    width_height = _parsed(size)
    registry = default_registry(load_settings(config).pipeline.tools)
    tools = [registry.find(name) for name in tool] if tool else registry.all()
    timings = list(
        track(
            time_tools(tools, width_height, repeats), "Timing", len(tools),
            console=error_console(), transient=True, disable=json_output,
        )
    )  # fmt: skip
    if json_output:
        print_json({"size": list(width_height), "repeats": repeats, "tools": [asdict(each) for each in timings]})
        return
    from rich.table import Table

    table = Table("Tool", "Milliseconds", f"Times plain {YARDSTICK}", "")
    for each in sorted(timings, key=lambda timing: timing.seconds or float("inf")):
        milliseconds = "" if each.seconds is None else f"{1000 * each.seconds:.2f}"
        table.add_row(each.tool, milliseconds, "" if each.ratio is None else f"{each.ratio:.1f}", each.error or "")
    output_console().print(table)


def _parsed(size: str) -> tuple[int, int]:
    found = re.fullmatch(r"\s*(\d{1,6})\s*[x×,]\s*(\d{1,6})\s*", size)
    width, height = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 0 < width * height <= MOST_PIXELS:
        raise typer.BadParameter("write --size as WIDTHxHEIGHT, for example 1920x1080.")
    return width, height
