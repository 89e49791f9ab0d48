"""``agenticiqa measure``: tools on pictures, without any model."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agenticiqa.cli.options import (
    AlignOption,
    ConfigOption,
    JsonOption,
    MapsOption,
    MemoryOption,
    NoCacheOption,
    OverwriteOption,
    ReferenceOption,
    RegionsOption,
    check_outputs,
    chosen_align,
)
from agenticiqa.cli.terminal import (
    EXIT_ERROR,
    EXIT_OK,
    EXIT_USAGE,
    STANDARD_OUTPUT,
    error_console,
    output_console,
    print_json,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agenticiqa.api.measure import Measurer, Pairing, Record
    from agenticiqa.batch.outputs import Format
    from agenticiqa.pictures.images import Box
    from agenticiqa.pictures.inputs import Align
    from agenticiqa.runtime.config import ImageLimits
    from agenticiqa.tools.maps import MapFolder

ToolsOption = Annotated[
    list[str] | None, typer.Option("--tool", "-t", help="A tool to run; give one for each.", show_default=False)
]
ExitCodes = {"all": EXIT_OK, "some": EXIT_USAGE, "none": EXIT_ERROR}


def measure(
    images: Annotated[
        list[str],
        typer.Argument(
            metavar="IMAGE...",
            help="Pictures, folders and patterns; - reads a list of paths from standard input.",
            show_default=False,
        ),
    ],
    reference: ReferenceOption = None,
    tool: ToolsOption = None,
    all_tools: Annotated[bool, typer.Option("--all", help="Every tool that can run on the picture.")] = False,
    region: RegionsOption = None,
    align: AlignOption = "none",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where measurements go: .jsonl, .csv or .parquet; - prints JSON Lines."),
    ] = None,
    json_output: JsonOption = False,
    csv_output: Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")] = False,
    maps: MapsOption = None,
    overwrite: OverwriteOption = False,
    no_cache: NoCacheOption = False,
    memory: MemoryOption = None,
    config: ConfigOption = None,
) -> None:
    """Measure pictures: full-reference tools with a reference, no-reference tools without; --all for every one.

    Exit code 0 when every measurement worked, 2 when some did, 1 when none did.
    """
    from agenticiqa.api.measure import find_pairs
    from agenticiqa.tools.maps import MapFolder

    if sum((json_output, csv_output, output is not None)) > 1:
        raise typer.BadParameter("--json, --csv and --output contradict each other: choose one.")
    if tool and all_tools:
        raise typer.BadParameter("--tool and --all contradict each other: choose one.")
    table = _table_format(output)
    pairing = find_pairs(images, reference)
    inputs = _files_read(pairing, region or [])
    check_outputs(output if table else None, inputs=inputs, overwrite=overwrite)
    folder = MapFolder(maps, inputs=inputs, overwrite=overwrite) if maps else None
    measurer = _measurer(
        tool, all_tools, reference, chosen_align(align), config, no_cache=no_cache, maps=folder, memory=memory
    )
    regions = _regions(region or [], pairing, measurer.limits)
    if folder is not None:
        pictures = [pair.image.name for pair in pairing.pairs]
        folder.refuse_taken(pictures, [each.name for each in measurer.tools], list(regions) or [None])
    listener = _print_json_line if output == STANDARD_OUTPUT else None
    records = _with_progress(pairing, measurer, regions, quiet=json_output or csv_output, on_record=listener)
    if output is not None and table is not None:
        _write(records, output, table)
    elif listener is None:
        _print(records, json_output=json_output, csv_output=csv_output)
    for line in pairing.skipped.lines():
        error_console().print(line, highlight=False, markup=False, soft_wrap=True)
    for path in pairing.without_partner:
        error_console().print(f"No partner by name: {path}", highlight=False, markup=False, soft_wrap=True)
    raise typer.Exit(_exit_code(records))


def _table_format(output: Path | None) -> Format | None:
    """The format of the file to write; found before anything is measured, so that a wrong name costs no work."""
    from agenticiqa.batch.outputs import format_of

    return None if output in (None, STANDARD_OUTPUT) else format_of(output)


def _files_read(pairing: Pairing, regions: list[str]) -> list[str]:
    pictures = [each for pair in pairing.pairs for each in (pair.image, pair.reference) if each is not None]
    # What stands behind NAME=; a box is no file, and matches none.
    return [*(picture.name for picture in pictures), *(text.partition("=")[2] for text in regions)]


def _regions(texts: list[str], pairing: Pairing, limits: ImageLimits) -> dict[str, Box]:
    from agenticiqa.pictures.regions import read_region

    # A mask is compared with the first picture; a box that leaves another one is that picture's error.
    first = [Path(pair.image.name) for pair in pairing.pairs[:1]]
    return dict(read_region(text, picture, limits) for picture in first for text in texts)


def _measurer(
    names: list[str] | None,
    all_tools: bool,
    reference: Path | None,
    align: Align,
    config: Path | None,
    *,
    no_cache: bool,
    maps: MapFolder | None,
    memory: str | None,
) -> Measurer:
    from agenticiqa.api.measure import Measurer, choose_tools
    from agenticiqa.runtime.cache import open_cache
    from agenticiqa.runtime.config import load_settings
    from agenticiqa.runtime.memory import process_budget
    from agenticiqa.tools.registry import default_registry

    settings = load_settings(config, {"pipeline.memory": memory})
    cached = settings.pipeline.cache.enabled and not no_cache
    return Measurer(
        tools=choose_tools(
            default_registry(settings.pipeline.tools), names, all_tools=all_tools, has_reference=reference is not None
        ),
        tool_settings=settings.pipeline.tools,
        limits=settings.pipeline.images,
        cache=open_cache(settings.cache_folder, settings.pipeline.cache.size_limit_mb) if cached else None,
        align=align,
        maps=maps,
        memory=process_budget(settings.pipeline.memory),
    )


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


def _write(records: list[Record], output: Path, form: Format) -> None:
    from agenticiqa.batch.outputs import write_table

    write_table(lambda: (record.as_dict() for record in records), output, form)
    said = f"{len(records)} measurements: {output}"
    error_console().print(said, highlight=False, markup=False, soft_wrap=True)


def _print(records: list[Record], *, json_output: bool, csv_output: bool) -> None:
    rows = [record.as_dict() for record in records]
    if json_output:
        print_json(rows)
    elif csv_output:
        writer = csv.DictWriter(sys.stdout, fieldnames=list(rows[0]) if rows else ["image"])
        writer.writeheader()
        writer.writerows(rows)
    else:
        output_console().print(_table(records))


def _table(records: list[Record]) -> object:
    from rich.markup import escape
    from rich.table import Table

    with_regions = any(record.region for record in records)
    pictures = {record.image for record in records}
    many = len(pictures) > 1
    table = Table(title=None if many else escape(Path(next(iter(pictures), "")).name), title_justify="left")
    first = (*(["Picture"] if many else []), *(["Region"] if with_regions else []))
    for column in (*first, "Tool", "Type", "Raw", "1..5", "Better is", "Seconds"):
        table.add_column(column, no_wrap=column == "Tool", overflow="fold")
    for record in records:
        better = {True: "higher", False: "lower", None: ""}[record.higher_is_better]
        raw = f"[red]{escape(record.error)}[/]" if record.error else "" if record.raw is None else f"{record.raw:.5g}"
        cells = [escape(Path(record.image).name)] if many else []
        cells += [escape(record.region or "")] if with_regions else []
        score = "" if record.calibrated is None else f"{record.calibrated:.2f}"
        table.add_row(*cells, record.tool, record.type, raw, score, better, f"{record.seconds:.3f}")
    return table


def _exit_code(records: list[Record]) -> int:
    failed = sum(record.error is not None for record in records)
    return ExitCodes["all" if not failed else "none" if failed == len(records) else "some"]
