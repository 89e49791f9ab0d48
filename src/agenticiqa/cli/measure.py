"""``agenticiqa measure``: tools on pictures, without any model."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agenticiqa.cli import options
from agenticiqa.cli.terminal import STANDARD_OUTPUT, ExitCode, error_console, print_json, print_table, say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agenticiqa.api.measure import Measurer, Pairing, Record
    from agenticiqa.pictures.images import Box


def measure(
    images: Annotated[
        list[str],
        typer.Argument(
            metavar="IMAGE...",
            help="Pictures, folders and patterns; - reads a list of paths from standard input.",
            show_default=False,
        ),
    ],
    reference: options.ReferenceOption = None,
    tool: options.ToolsOption = None,
    all_tools: Annotated[bool, typer.Option("--all", help="Every tool that can run on the picture.")] = False,
    region: options.RegionsOption = None,
    align: options.AlignOption = "none",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where measurements go: .jsonl or .csv; - prints JSON Lines."),
    ] = None,
    json_output: options.JsonOption = False,
    csv_output: Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")] = False,
    maps: options.MapsOption = None,
    overwrite: options.OverwriteOption = False,
    no_cache: options.NoCacheOption = False,
    memory: options.MemoryOption = None,
    config: options.ConfigOption = None,
) -> None:
    """Measure pictures: full-reference tools with a reference, no-reference tools without; --all for every one.

    Exit code 0 when every measurement worked, 2 when some did, 1 when none did.
    """
    from agenticiqa.api.measure import Measurer, choose_tools, find_pairs
    from agenticiqa.batch.outputs import format_of, write_table
    from agenticiqa.pictures.regions import parse_region
    from agenticiqa.runtime.config import load_settings
    from agenticiqa.tools.maps import MapFolder
    from agenticiqa.tools.registry import default_registry

    options.choose_one(json=json_output, csv=csv_output, output=output is not None)
    options.choose_one(tool=bool(tool), all=all_tools)
    # Found before anything is measured, so that a wrong name costs no work.
    table = None if output in (None, STANDARD_OUTPUT) else format_of(output)
    pairing = find_pairs(images, reference)
    pictures = [each for pair in pairing.pairs for each in (pair.image, pair.reference) if each is not None]
    inputs = [picture.name for picture in pictures]
    options.check_outputs(output if table else None, inputs=inputs, overwrite=overwrite)
    folder = MapFolder(maps, inputs=inputs, overwrite=overwrite) if maps else None
    settings = load_settings(config, {"pipeline.memory": memory})
    registry = default_registry(settings.pipeline.tools)
    chosen = choose_tools(registry, tool, all_tools=all_tools, has_reference=reference is not None)
    measurer = Measurer.configured(
        settings, chosen, cached=not no_cache, align=options.chosen_align(align), maps=folder
    )
    regions = dict(map(parse_region, region or []))
    if folder is not None:
        names = [pair.image.name for pair in pairing.pairs]
        folder.refuse_taken(names, [each.name for each in measurer.tools], list(regions) or [None])
    listener = _print_json_line if output == STANDARD_OUTPUT else None
    records = _with_progress(pairing, measurer, regions, quiet=json_output or csv_output, on_record=listener)
    if output is not None and table is not None:
        write_table(lambda: (record.as_dict() for record in records), output, table)
        say(f"{len(records)} measurements: {output}")
    elif listener is None:
        _print(records, json_output=json_output, csv_output=csv_output)
    for line in (*pairing.skipped.lines(), *(f"No partner by name: {path}" for path in pairing.without_partner)):
        say(line)
    failed = sum(record.error is not None for record in records)
    raise typer.Exit(ExitCode.OK if not failed else ExitCode.ERROR if failed == len(records) else ExitCode.SOME)


def _with_progress(
    pairing: Pairing,
    measurer: Measurer,
    regions: Mapping[str, Box],
    *,
    quiet: bool,
    on_record: Callable[[Record], None] | None,
) -> list[Record]:
    from rich.progress import Progress

    records: list[Record] = []
    with Progress(console=error_console(), transient=True, disable=quiet or len(pairing.pairs) < 2) as progress:
        task = progress.add_task("Measuring", total=len(pairing.pairs))
        for pair in pairing.pairs:
            for record in measurer.measure(pair, regions or None):
                records.append(record)
                if on_record:
                    on_record(record)
            progress.advance(task)
    return records


def _print_json_line(record: Record) -> None:
    sys.stdout.write(json.dumps(record.as_dict()) + "\n")
    sys.stdout.flush()


def _print(records: list[Record], *, json_output: bool, csv_output: bool) -> None:
    rows = [record.as_dict() for record in records]
    if json_output:
        print_json(rows)
    elif csv_output:
        writer = csv.DictWriter(sys.stdout, fieldnames=list(rows[0]) if rows else ["image"])
        writer.writeheader()
        writer.writerows(rows)
    else:
        _print_table(records)


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
    print_table(columns, rows, whole=["Tool"], title=title)
