"""Damage a picture in a known way and degree.

PYTHONPATH=src:. python -m training.distortions photo.jpg --type motion_blur --level 4 --output damaged.png
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from PIL import Image
from training.distortions import PROTOCOL, distort, expected_opinion

from agenticiqa.cli import options
from agenticiqa.cli.main import main
from agenticiqa.cli.options import finite
from agenticiqa.cli.terminal import print_json
from agenticiqa.pictures.images import load_image, png_bytes
from agenticiqa.runtime.config import load_settings
from agenticiqa.runtime.files import write_atomic


def damage(
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
    loaded = load_image(image, load_settings(config).pipeline.images)
    damaged = distort(loaded.rgb, kind, level, seed=seed)
    write_atomic(target, png_bytes(Image.fromarray(damaged)))
    opinion = expected_opinion(kind, level)
    if json_output:
        print_json({"image": str(image), "output": str(target), "type": kind, "level": level, "opinion": opinion})
    else:
        typer.echo(f"{target}: {kind}, level {level:g}; people rated this damage {opinion:.2f} of 5 on average.")


if __name__ == "__main__":
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(damage)
    main(app)
