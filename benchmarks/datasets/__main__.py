"""Public quality datasets as manifests for `agenticiqa batch`, from a checkout of the repository.

PYTHONPATH=src:. python -m benchmarks.datasets manifest kadid10k /data/kadid10k --output kadid.jsonl
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from benchmarks.datasets.catalogue import ALL, find
from benchmarks.datasets.checking import Check, check_folder, write_manifest
from benchmarks.datasets.options import BlindOption, DrawnSamplesOption, PartialOption
from rich.box import SIMPLE_HEAD

from agenticiqa.cli import options
from agenticiqa.cli.main import main
from agenticiqa.cli.terminal import ExitCode, error_console, output_console, print_json, print_lines, print_table

app = typer.Typer(
    help="Read public quality datasets as their authors publish them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="A name of `list`.", show_default=False)]
FolderArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the dataset lies.", show_default=False)]
SubsetOption = Annotated[str | None, typer.Option("--subset", help="A part of the set; `info` names them.")]
NAMED_AT_MOST = 20


@app.command("list")
def list_datasets(json_output: options.JsonOption = False) -> None:
    """List the datasets that can be read."""

    if json_output:
        print_json([dataset.as_dict() for dataset in ALL])
        return
    rows = [[each.name, each.title, each.kind, f"{each.counts[each.default_subset]:>7,}"] for each in ALL]
    print_table(("Name", "Dataset", "Kind", "Samples"), rows, box=SIMPLE_HEAD, pad_edge=False)
    parts = [f"{each.name} ({', '.join(each.counts)})" for each in ALL if len(each.counts) > 1]
    output_console().print(f"In parts (--subset): {'; '.join(parts)}.", highlight=False)
    print_lines(["`info NAME` tells layout, scale and source."])


@app.command()
def info(name: NameArgument, json_output: options.JsonOption = False) -> None:
    """Show a dataset's layout, scale and source."""
    dataset = find(name)
    if json_output:
        print_json(dataset.as_dict())
        return
    subsets = ", ".join(f"{subset} ({count})" for subset, count in dataset.counts.items())
    lines = {
        "Dataset": f"{dataset.title} ({dataset.kind})",
        "Samples": subsets,
        "Layout": dataset.layout,
        "Scores": dataset.scale,
        "Paper": dataset.citation,
        "Where": dataset.obtain,
        "Note": dataset.caution,
    }
    print_lines(f"{label + ':':9}{text}" for label, text in lines.items())


@app.command()
def manifest(
    name: NameArgument,
    folder: FolderArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Manifest to write (JSON Lines).")] = Path(
        "manifest.jsonl"
    ),
    subset: SubsetOption = None,
    partial: PartialOption = False,
    max_samples: DrawnSamplesOption = None,
    blind: BlindOption = False,
    overwrite: options.OverwriteOption = False,
    json_output: options.JsonOption = False,
) -> None:
    """Write a dataset as a manifest for `agenticiqa batch`: opinions with higher meaning better."""
    dataset = find(name)
    options.check_outputs(output, inputs=_files_of_dataset(folder, output), overwrite=overwrite)
    check = _with_progress(
        lambda report: write_manifest(
            dataset,
            folder,
            output,
            subset=subset,
            partial=partial,
            max_samples=max_samples,
            blind=blind,
            on_sample=report,
        )
    )
    written = min(check.present, max_samples or check.present)
    if json_output:
        print_json({**check.as_dict(), "written": written, "output": str(output)})
        return
    _show(check)
    typer.echo(f"{written} samples written to {output}.")


def _files_of_dataset(folder: Path, output: Path) -> list[Path]:
    """The output itself where it is a file of the dataset: labels or a picture, but not an earlier manifest."""
    inside = output.resolve().is_relative_to(folder.resolve())
    return [output] if inside and output.suffix.lower() != ".jsonl" else []


@app.command()
def check(
    name: NameArgument, folder: FolderArgument, subset: SubsetOption = None, json_output: options.JsonOption = False
) -> None:
    """Hold a folder against its label files and the official count.

    Exit code 0 when it is complete, 1 when something is missing, empty or there twice.
    """
    dataset = find(name)
    found = _with_progress(lambda report: check_folder(dataset, folder, subset, report))
    if json_output:
        print_json(found.as_dict())
    else:
        _show(found)
    raise typer.Exit(ExitCode.OK if found.complete else ExitCode.ERROR)


def _with_progress(work: Callable[[Callable[[int], None]], Check]) -> Check:
    with error_console().status("Reading") as status:

        def report(place: int) -> None:
            if place % 200 == 0:
                status.update(f"Reading: {place} samples")

        return work(report)


def _show(check: Check) -> None:
    word = "complete" if check.complete else "not complete"
    lines = [
        f"{check.dataset.title}, {check.subset}: {word}. {check.listed} samples listed (official: {check.expected}), "
        f"{check.present} with all their pictures."
    ]
    for label, names in (("Missing", check.missing), ("Empty", check.empty), ("Twice", check.duplicates)):
        lines += [f"{label}: {name}" for name in names[:NAMED_AT_MOST]]
        if len(names) > NAMED_AT_MOST:
            lines.append(f"{label}: {len(names) - NAMED_AT_MOST} more (--json names all)")
    print_lines(lines)


if __name__ == "__main__":
    main(app)
