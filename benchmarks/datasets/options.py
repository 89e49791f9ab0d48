"""Options that the commands about datasets share: which samples of a set count."""

from __future__ import annotations

from typing import Annotated

import typer

BlindOption = Annotated[bool, typer.Option("--blind", help="Judge pictures without their references.")]
PartialOption = Annotated[bool, typer.Option("--partial", help="Go on although pictures are missing.")]
DrawnSamplesOption = Annotated[
    int | None, typer.Option("--max-samples", min=1, help="Draw this many of a set, the same ones every time.")
]
