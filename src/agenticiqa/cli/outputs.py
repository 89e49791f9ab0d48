"""Files that a command is to write, looked at before it spends anything."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import typer

from agenticiqa.runtime.files import is_stream, refuse_to_replace


def check_outputs(*outputs: Path | None, inputs: Iterable[str | Path | None] = (), overwrite: bool) -> None:
    """No output is an input, none is another one's file, and none that is there is replaced without --overwrite."""
    wanted = [output for output in outputs if output is not None]
    read = [given for given in inputs if given is not None]
    for output in wanted:
        refuse_to_replace(output, inputs=read, overwrite=overwrite)
    files = [os.path.realpath(output) for output in wanted if not is_stream(output)]
    if len(set(files)) < len(files):
        raise typer.BadParameter("two of the files to write are the same one: give each a name of its own.")
