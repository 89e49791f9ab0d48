"""``agenticiqa encode``: the smallest file of each picture that stays good enough."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agenticiqa.cli import options, terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agenticiqa.api.encode import Encoded, Trial
    from agenticiqa.errors import AgenticIQAError

PLAIN_LINE_EVERY_S = 10.0


def encode(
    images: Annotated[list[str], typer.Argument(metavar="IMAGE...", help="Pictures, folders and patterns.")],
    min_score: Annotated[
        float | None,
        typer.Option(callback=options.finite, help="What a copy must keep, from 1 to 5. Default: 4.2 by SSIMULACRA2."),
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="The tool that compares, or a bound of its own: 'SSIMULACRA2>=80'.")
    ] = None,
    formats: Annotated[str, typer.Option("--format", help="Of jpeg, webp and avif.")] = "jpeg,webp,avif",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for the smallest file of each picture.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Also draw size against quality: an .svg file.")] = None,
    json_output: options.JsonOption = False,
    overwrite: options.OverwriteOption = False,
    config: options.ConfigOption = None,
) -> None:
    """Find the smallest JPEG, WebP or AVIF of each picture that stays above a bound of quality.

    Exit code 0 when every picture has one, 2 when some have, 1 when none has.
    """
    from agenticiqa.api.encode import FORMATS
    from agenticiqa.api.encode import encode as encode_one
    from agenticiqa.api.measure import find_pairs
    from agenticiqa.api.rate_quality import rate_quality_chart
    from agenticiqa.errors import AgenticIQAError
    from agenticiqa.runtime.config import load_settings
    from agenticiqa.runtime.files import write_atomic

    pairing, wanted = find_pairs(images, None), options.listed(formats)
    names = [Path(pair.image.name) for pair in pairing.pairs]
    if output and len({each.stem for each in names}) < len(names):
        raise typer.BadParameter("two pictures would get files of the same name: encode them into folders apart.")
    if plot and plot.suffix.lower() != ".svg":
        raise typer.BadParameter("--plot is a drawing: name it .svg.")
    targets = [output / (each.stem + FORMATS.get(form, "")) for each in names for form in wanted] if output else []
    for target in (*targets, *([plot] if plot else [])):
        options.check_outputs(target, inputs=names, overwrite=overwrite)
    limits = load_settings(config).pipeline.images
    search = partial(encode_one, min_score=min_score, metric=metric, formats=wanted, limits=limits)
    found: list[Encoded] = []
    failed: list[dict[str, Any]] = []
    for name, one in _searched(names, search):
        if isinstance(one, AgenticIQAError):
            failed.append({"image": str(name), "error": str(one)})
            continue
        found.append(one)
        if output and one.best and one.data:
            output.mkdir(parents=True, exist_ok=True)
            write_atomic(output / (name.stem + FORMATS[one.best.format]), one.data)
    if plot and found:
        write_atomic(plot, rate_quality_chart(found))
    if json_output:
        terminal.print_json([*(each.as_dict() for each in found), *failed])
    elif found:
        _print(found, wanted)
    told = [f"{each.image}: {note}" for each in found for note in each.notes]
    told += [f"{each.image}: smaller as it is" for each in found if each.best and each.best.bytes >= each.source_bytes]
    for line in (*pairing.skipped.lines(), *told, *(f"{each['image']}: {each['error']}" for each in failed)):
        terminal.print_message(line)
    good = sum(each.best is not None for each in found)
    if good < len(names):
        raise typer.Exit(terminal.ExitCode.SOME if good else terminal.ExitCode.ERROR)


def _searched(
    names: Sequence[Path], search: Callable[..., Encoded]
) -> Iterator[tuple[Path, Encoded | AgenticIQAError]]:
    """Each picture with what was found, or why nothing could be; what is tried meanwhile is shown."""
    from rich.markup import escape
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

    from agenticiqa.errors import AgenticIQAError, ConfigError

    columns = (SpinnerColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    console, due = terminal.error_console(), terminal.Interval(PLAIN_LINE_EVERY_S)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=len(names))
        for place, name in enumerate(names):

            def tell(trial: Trial, place: int = place, name: str = name.name) -> None:
                doing = f"{name}: {trial.format} at {trial.quality}"
                progress.update(task, description=escape(doing))
                if not console.is_terminal and due.passed():
                    terminal.print_message(f"{place}/{len(names)} {doing}")

            try:
                yield name, search(name, on_trial=tell)
            except ConfigError:
                raise
            except AgenticIQAError as error:
                yield name, error
            progress.advance(task)


def _print(found: Sequence[Encoded], formats: Sequence[str]) -> None:
    from rich.markup import escape

    rows = [
        [escape(Path(one.image).name), f"{one.source_bytes / 1024:.1f} KB", *(_cell(one, name) for name in formats)]
        for one in found
    ]
    terminal.print_table(("Picture", "As it is", *formats), rows, title=f"Smallest with {found[0].bound}")


def _cell(one: Encoded, name: str) -> str:
    if trial := one.of_format(name):
        text = f"{trial.bytes / 1024:.1f} KB at {trial.quality} ({one.bound.reached(trial):.4g})"
        return f"[green]{text}[/]" if trial == one.best else text
    # One try, at the highest setting, where the bound is out of reach; none where the format was left out.
    best = [one.bound.reached(each) for each in one.trials if each.format == name]
    return f"[yellow]reaches {best[-1]:.4g} only[/]" if best else ""
