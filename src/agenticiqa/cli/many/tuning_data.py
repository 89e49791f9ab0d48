"""``agenticiqa tuning-data``: runs and datasets as conversations to fine-tune a model on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agenticiqa.cli.options import ConfigOption, JsonOption, finite
from agenticiqa.cli.terminal import error_console, print_json


def tuning_data(
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Result files of `batch`, manifests of `datasets`.", show_default=False),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for train.jsonl and held_out.jsonl.")],
    scale: Annotated[
        str | None,
        typer.Option("--scale", help="Ends of people's opinions, as WORST,BEST; else they do not count."),
    ] = None,
    tolerance: Annotated[
        float, typer.Option("--tolerance", callback=finite, min=0, help="Levels a rating may be from people's opinion.")
    ] = 0.75,
    held_out: Annotated[
        float, typer.Option("--held-out", callback=finite, min=0, max=0.9, help="Share of pictures kept from training.")
    ] = 0.1,
    unjudged: Annotated[bool, typer.Option("--unjudged", help="Also take runs that nobody judged.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that are there already.")] = False,
    json_output: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Tell finished runs again as conversations of planner, executor and summarizer, as transformers and TRL read them.

    Runs count only where they agree with people (a right answer, or a rating near the opinion); a manifest's questions
    become conversations of the bare model. No model is asked.
    """
    from agenticiqa.evaluation.retelling import Reteller
    from agenticiqa.evaluation.tuning_data import HELD_OUT, TRAIN, TuningChoices, build_tuning_data
    from agenticiqa.nodes.prompt_templates import read_prompts
    from agenticiqa.nodes.prompts import SHIPPED
    from agenticiqa.runtime.config import load_settings
    from agenticiqa.tools.registry import default_registry

    taken = [output / name for name in (TRAIN, HELD_OUT) if (output / name).exists()]
    if taken and not overwrite:
        raise typer.BadParameter(f"{taken[0]} is there already: choose another folder, or --overwrite.")
    settings = load_settings(config)
    reteller = Reteller(
        settings, default_registry(settings.pipeline.tools), read_prompts(settings.pipeline.prompts, SHIPPED)
    )
    choices = TuningChoices(_ends(scale), tolerance, held_out, unjudged)
    with error_console().status("Telling runs again") as status:
        built = build_tuning_data(
            sources, output, reteller, choices, on_progress=lambda number: status.update(f"Telling run {number} again")
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
    try:
        worst, best = (float(end) for end in scale.split(","))
    except ValueError:
        raise typer.BadParameter("write --scale as WORST,BEST, for example 0,100.") from None
    if finite(worst) == finite(best):
        raise typer.BadParameter("--scale needs two different ends.")
    return worst, best
