"""``agenticiqa datasets``, ``tuning-data`` and ``distort``: public datasets and what is made of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agenticiqa.cli import options
from agenticiqa.cli.options import finite
from agenticiqa.cli.terminal import ExitCode, error_console, output_console, print_json, print_lines, print_table

if TYPE_CHECKING:
    from agenticiqa.research.datasets.checking import Check

# --- ``agenticiqa datasets``: public quality datasets as manifests ---


app = typer.Typer(help="Read public quality datasets as their authors publish them.", no_args_is_help=True)
NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="A name of `agenticiqa datasets list`.", show_default=False)
]
FolderArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the dataset lies.", show_default=False)]
SubsetOption = Annotated[str | None, typer.Option("--subset", help="A part of the set; `info` names them.")]
NAMED_AT_MOST = 20


@app.command("list")
def list_datasets(json_output: options.JsonOption = False) -> None:
    """List the datasets that can be read."""
    from rich.box import SIMPLE_HEAD

    from agenticiqa.research.datasets.catalogue import ALL

    if json_output:
        print_json([dataset.as_dict() for dataset in ALL])
        return
    rows = [[each.name, each.title, each.kind, f"{each.counts[each.default_subset]:>7,}"] for each in ALL]
    print_table(("Name", "Dataset", "Kind", "Samples"), rows, box=SIMPLE_HEAD, pad_edge=False)
    parts = [f"{each.name} ({', '.join(each.counts)})" for each in ALL if len(each.counts) > 1]
    output_console().print(f"In parts (--subset): {'; '.join(parts)}.", highlight=False)
    print_lines(["`agenticiqa datasets info NAME` tells layout, scale and source."])


@app.command()
def info(name: NameArgument, json_output: options.JsonOption = False) -> None:
    """Show a dataset's layout, scale and source."""
    from agenticiqa.research.datasets.catalogue import find

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
    partial: options.PartialOption = False,
    max_samples: options.DrawnSamplesOption = None,
    blind: options.BlindOption = False,
    overwrite: options.OverwriteOption = False,
    json_output: options.JsonOption = False,
) -> None:
    """Write a dataset as a manifest for `agenticiqa batch`: opinions with higher meaning better."""
    from agenticiqa.research.datasets.catalogue import find
    from agenticiqa.research.datasets.checking import write_manifest

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
    from agenticiqa.research.datasets.catalogue import find
    from agenticiqa.research.datasets.checking import check_folder

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


# --- ``agenticiqa tuning-data``: runs and datasets as conversations to fine-tune a model on ---


def tuning_data(
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Result files of `batch`, manifests of `datasets`.", show_default=False),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for train.jsonl and held_out.jsonl.")],
    scale: Annotated[
        str | None, typer.Option(help="Ends of people's opinions, as WORST,BEST; else they do not count.")
    ] = None,
    tolerance: Annotated[
        float, typer.Option(callback=finite, min=0, help="Levels a rating may be from people's opinion.")
    ] = 0.75,
    held_out: Annotated[
        float, typer.Option(callback=finite, min=0, max=0.9, help="Share of pictures kept from training.")
    ] = 0.1,
    unjudged: Annotated[bool, typer.Option("--unjudged", help="Also take runs without a known answer.")] = False,
    overwrite: options.OverwriteOption = False,
    json_output: options.JsonOption = False,
    config: options.ConfigOption = None,
) -> None:
    """Tell finished runs again as conversations of planner, executor and summarizer, as transformers and TRL read them.

    Runs count only where they agree with people (a right answer, or a rating near the opinion); a manifest's questions
    become conversations of the bare model. No model is asked.
    """
    from agenticiqa.nodes.prompts import SHIPPED, read_prompts
    from agenticiqa.research.tuning_data import HELD_OUT, TRAIN, ConversationBuilder, TuningChoices, build_tuning_data
    from agenticiqa.runtime.config import load_settings
    from agenticiqa.tools.registry import default_registry

    taken = [output / name for name in (TRAIN, HELD_OUT) if (output / name).exists()]
    if taken and not overwrite:
        raise typer.BadParameter(f"{taken[0]} is there already: choose another folder, or --overwrite.")
    settings = load_settings(config)
    builder = ConversationBuilder(
        settings, default_registry(settings.pipeline.tools), read_prompts(settings.pipeline.prompts, SHIPPED)
    )
    choices = TuningChoices(_ends(scale), tolerance, held_out, unjudged)
    with error_console().status("Telling runs again") as status:
        built = build_tuning_data(
            sources, output, builder, choices, on_progress=lambda number: status.update(f"Telling run {number} again")
        )
    if json_output:
        print_json({**built.as_dict(), "folder": str(output)})
        return
    for name, counts in ((TRAIN, built.train), (HELD_OUT, built.held_out)):
        parts = ", ".join(f"{step} {count}" for step, count in sorted(counts.items())) or "nothing"
        typer.echo(f"{output / name}: {sum(counts.values())} conversations ({parts})")
    for reason, count in built.left_out.most_common():
        typer.echo(f"left out: {count} because {reason}")


def _ends(scale: str | None) -> tuple[float, float] | None:
    if scale is None:
        return None
    worst, best = options.numbers("--scale", scale, "0,100")
    if worst == best:
        raise typer.BadParameter("--scale needs two different ends.")
    return worst, best


# --- ``agenticiqa distort``: damage a picture in a known way and degree ---


def distort(
    image: Annotated[
        Path | None, typer.Argument(help="The picture to damage; it is not changed.", show_default=False)
    ] = None,
    kind: Annotated[str, typer.Option("--type", "-t", help="The kind, for example jpeg; --list shows all.")] = "jpeg",
    level: Annotated[
        float, typer.Option("--level", "-l", callback=finite, min=1, max=5, help="1 (slight) to 5 (extreme).")
    ] = 3,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="PNG file to write. Default: NAME_TYPE_LEVEL.png beside it.")
    ] = None,
    seed: Annotated[int, typer.Option(help="For kinds with chance in them.")] = 0,
    overwrite: options.OverwriteOption = False,
    list_kinds: Annotated[bool, typer.Option("--list", help="List the kinds and exit.")] = False,
    json_output: options.JsonOption = False,
    config: options.ConfigOption = None,
) -> None:
    """Apply one of the 25 distortions of the KADID-10k protocol and write the result as PNG, without further loss."""
    from agenticiqa.research.distortions import PROTOCOL, expected_opinion
    from agenticiqa.research.distortions import distort as apply

    if list_kinds:
        if json_output:
            print_json([{"type": each.name, "category": each.category} for each in PROTOCOL])
        else:
            for each in PROTOCOL:
                typer.echo(f"{each.name:28} {each.category}")
        return
    if image is None:
        raise typer.BadParameter("name a picture, or --list.")
    target = output or image.with_name(f"{image.stem}_{kind}_{level:g}.png")
    options.check_outputs(target, inputs=[image], overwrite=overwrite)
    from PIL import Image

    from agenticiqa.pictures.images import load_image, png_bytes
    from agenticiqa.runtime.config import load_settings
    from agenticiqa.runtime.files import write_atomic

    loaded = load_image(image, load_settings(config).pipeline.images)
    damaged = apply(loaded.rgb, kind, level, seed=seed)
    write_atomic(target, png_bytes(Image.fromarray(damaged)))
    opinion = expected_opinion(kind, level)
    if json_output:
        print_json({"image": str(image), "output": str(target), "type": kind, "level": level, "opinion": opinion})
    else:
        typer.echo(f"{target}: {kind}, level {level:g}; people rated this damage {opinion:.2f} of 5 on average.")
