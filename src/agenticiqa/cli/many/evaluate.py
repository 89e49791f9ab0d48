"""``agenticiqa evaluate``: how well stored results agree with people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from agenticiqa.cli.options import JsonOption, ResamplesOption, ResultsArgument, ScoreOption, TruthOption
from agenticiqa.cli.terminal import error_console, output_console, print_json

if TYPE_CHECKING:
    from agenticiqa.evaluation.tables import Table

CELL_FRAME = 3


def evaluate(
    results: ResultsArgument,
    other: Annotated[
        Path | None, typer.Argument(help="A second one over the same samples, to compare.", show_default=False)
    ] = None,
    score: ScoreOption = "quality_score",
    other_score: Annotated[
        str | None, typer.Option("--other-score", help="The same for the second file, if it differs.")
    ] = None,
    truth: TruthOption = "mos",
    by: Annotated[
        list[str] | None,
        typer.Option("--by", help="A column to group by; default: distortion, task, question_type, concern."),
    ] = None,
    parameters: Annotated[int, typer.Option("--fit", help="Parameters of the fitted logistic: 4 or 5.")] = 5,
    resamples: ResamplesOption = 1000,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", help="Draw samples of the same value together, e.g. reference_path, for intervals."),
    ] = None,
    ablate: Annotated[
        str | None, typer.Option("--ablate", help="Re-score without parts: fusion,tools,replan or some of them.")
    ] = None,
    failed_as_worst: Annotated[
        bool, typer.Option("--failed-as-worst", help="Samples without a score get the worst one.")
    ] = False,
    dataset: Annotated[
        str | None, typer.Option("--dataset", help="The dataset, where the results do not carry its name.")
    ] = None,
    paper: Annotated[bool, typer.Option("--paper/--no-paper", help="Show the published figures beside ours.")] = True,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Correlations and accuracies of a result file, with intervals; two files are compared sample by sample.

    Partial and failed samples are always counted. A failed sample is never an answer: it is not in the correlations,
    and not right in the accuracy.
    """
    from agenticiqa.evaluation.agreement import FigureSettings
    from agenticiqa.evaluation.evaluate import evaluate as run
    from agenticiqa.evaluation.results import read_results
    from agenticiqa.evaluation.tables import markdown as as_markdown
    from agenticiqa.evaluation.tables import tables

    if parameters not in (4, 5):
        raise typer.BadParameter("--fit is 4 or 5.")
    if json_output and markdown:
        raise typer.BadParameter("--json and --markdown contradict each other: choose one.")
    if other_score is not None and other is None:
        raise typer.BadParameter("--other-score has no effect without a second result file.")
    if failed_as_worst and score.startswith("raw:"):
        raise typer.BadParameter("--failed-as-worst needs a score with a known worst end, not a raw one.")
    settings = FigureSettings(cast("Literal[4, 5]", parameters), resamples, failed_as_worst, cluster)
    with error_console().status("Evaluating"):
        first = read_results(results, score=score, truth=truth)
        second = read_results(other, score=other_score or score, truth=truth) if other else None
        wanted = [name.strip() for name in (ablate or "").split(",") if name.strip()]
        evaluation = run(first, second, settings=settings, by=by or (), ablations=wanted, dataset=dataset)
    if json_output:
        print_json(evaluation.as_dict())
    elif markdown:
        typer.echo(as_markdown(evaluation, paper=paper))
    else:
        for table in tables(evaluation, paper=paper):
            show(table)


def show(table: Table) -> None:
    """One table on the terminal, its notes below."""
    from rich.markup import escape
    from rich.table import Table as Drawn

    drawn = Drawn(title=escape(table.title), title_justify="left", title_style="bold")
    for place, column in enumerate(table.columns):
        drawn.add_column(escape(column), justify="left" if place == 0 else "right", overflow="fold")
    console = output_console()
    # Where room is short, an interval stands below its figure.
    widths = [max(map(len, column)) for column in zip(table.columns, *table.rows, strict=True)]
    narrow = sum(widths) + CELL_FRAME * len(widths) + 1 > console.width
    for row in table.rows:
        drawn.add_row(*(escape(cell.replace(" [", "\n[") if narrow else cell) for cell in row))
    console.print(drawn)
    for note in table.notes:
        console.print(note, style="dim", highlight=False, markup=False)
    console.print()
