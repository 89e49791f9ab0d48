"""``agenticiqa report``: a result file as a page or as Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agenticiqa.cli.options import JsonOption, OverwriteOption, ResultsArgument, ScoreOption, TruthOption
from agenticiqa.cli.outputs import check_outputs
from agenticiqa.cli.terminal import error_console, print_json


def report(
    results: ResultsArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File to write: .html (one self-contained page) or .md.")
    ] = Path("report.html"),
    score: ScoreOption = "quality_score",
    truth: TruthOption = "mos",
    title: Annotated[str | None, typer.Option("--title", help="Title of the page.")] = None,
    cases: Annotated[int, typer.Option("--cases", min=0, max=50, help="Pictures shown of each kind of case.")] = 4,
    thumbnails: Annotated[
        bool, typer.Option("--thumbnails/--no-thumbnails", help="A small picture beside every sample of the table.")
    ] = True,
    overwrite: OverwriteOption = False,
    json_output: JsonOption = False,
) -> None:
    """Write a report: figures, charts, agreement with people, best and worst cases, errors.

    The page needs no network and prints well; a browser's print dialogue makes a PDF of it.
    """
    from rich.markup import escape

    from agenticiqa.evaluation.report import prepare, render_markdown, render_page
    from agenticiqa.evaluation.results import read_results
    from agenticiqa.runtime.config import load_settings
    from agenticiqa.runtime.files import write_whole

    if output.suffix.lower() not in (".html", ".htm", ".md"):
        raise typer.BadParameter("--output ends in .html or .md.")
    check_outputs(output, inputs=[results], overwrite=overwrite)
    with error_console().status("Reading the results") as status:
        prepared = prepare(read_results(results, score=score, truth=truth), title=title, cases=cases)
        if output.suffix.lower() == ".md":
            text = render_markdown(prepared)
        else:
            text = render_page(
                prepared,
                lambda step: status.update(escape(f"Drawing {step}")),
                load_settings().pipeline.images,
                thumbnails=thumbnails,
            )
    write_whole(output, text)
    if json_output:
        print_json({"output": str(output), **prepared.as_dict()})
    else:
        typer.echo(str(output))
