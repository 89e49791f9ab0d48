"""``agenticiqa distort``: damage a picture in a known way and degree."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agenticiqa.cli.options import ConfigOption, JsonOption, OverwriteOption, finite
from agenticiqa.cli.outputs import check_outputs
from agenticiqa.cli.terminal import print_json


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
    seed: Annotated[int, typer.Option("--seed", help="For kinds with chance in them.")] = 0,
    overwrite: OverwriteOption = False,
    list_kinds: Annotated[bool, typer.Option("--list", help="List the kinds and exit.")] = False,
    json_output: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Apply one of the 25 distortions of the KADID-10k protocol and write the result as PNG, without further loss."""
    if list_kinds:
        _list_kinds(json_output=json_output)
        return
    if image is None:
        raise typer.BadParameter("name a picture, or --list.")
    target = output or image.with_name(f"{image.stem}_{kind}_{level:g}.png")
    check_outputs(target, inputs=[image], overwrite=overwrite)
    from PIL import Image

    from agenticiqa.pictures.distortions import distort as apply
    from agenticiqa.pictures.distortions import expected_opinion
    from agenticiqa.pictures.images import load_image, png_bytes
    from agenticiqa.runtime.config import load_settings
    from agenticiqa.runtime.files import write_whole

    loaded = load_image(image, load_settings(config).pipeline.images)
    damaged = apply(loaded.rgb, kind, level, seed=seed)
    write_whole(target, png_bytes(Image.fromarray(damaged)))
    opinion = expected_opinion(kind, level)
    if json_output:
        print_json({"image": str(image), "output": str(target), "type": kind, "level": level, "opinion": opinion})
    else:
        typer.echo(f"{target}: {kind}, level {level:g}; people rated this damage {opinion:.2f} of 5 on average.")


def _list_kinds(*, json_output: bool) -> None:
    from agenticiqa.pictures.distortions import PROTOCOL

    if json_output:
        print_json([{"type": each.name, "category": each.category} for each in PROTOCOL])
        return
    for each in PROTOCOL:
        typer.echo(f"{each.name:28} {each.category}")
