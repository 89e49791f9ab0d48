"""``agenticiqa evaluate``, ``gate`` and ``report``: what is done with stored results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agenticiqa.cli import options
from agenticiqa.cli.options import finite
from agenticiqa.cli.terminal import (
    ExitCode,
    error_console,
    output_console,
    print_json,
    print_lines,
    print_result,
    print_table,
)

if TYPE_CHECKING:
    from agenticiqa.research.tables import Table

CELL_FRAME = 3
SHOWN = 20


def evaluate(
    results: options.ResultsArgument,
    other: Annotated[Path | None, typer.Argument(help="A second one over the same samples, to compare.")] = None,
    score: options.ScoreOption = "quality_score",
    other_score: Annotated[str | None, typer.Option(help="The same for the second file, if it differs.")] = None,
    truth: options.TruthOption = "mos",
    by: Annotated[
        list[str] | None, typer.Option(help="A column to group by; default: distortion, task, question_type, concern.")
    ] = None,
    resamples: options.ResamplesOption = 1000,
    cluster: Annotated[
        str | None, typer.Option(help="Draw samples of the same value together, e.g. reference_path, for intervals.")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    json_output: options.JsonOption = False,
) -> None:
    """Correlations and accuracies of a result file, with intervals; two files are compared sample by sample.

    Partial and failed samples are always counted. A failed sample is never an answer: it is not in the correlations,
    and not right in the accuracy.
    """
    from agenticiqa.research.agreement import FigureSettings
    from agenticiqa.research.evaluate import evaluate as run
    from agenticiqa.research.results import read_results
    from agenticiqa.research.tables import markdown as as_markdown
    from agenticiqa.research.tables import tables

    options.choose_one(json=json_output, markdown=markdown)
    if other_score is not None and other is None:
        raise typer.BadParameter("--other-score has no effect without a second result file.")
    settings = FigureSettings(resamples, cluster)
    with error_console().status("Evaluating"):
        first = read_results(results, score=score, truth=truth)
        second = read_results(other, score=other_score or score, truth=truth) if other else None
        evaluation = run(first, second, settings=settings, by=by or ())
    if json_output:
        print_json(evaluation.as_dict())
    elif markdown:
        typer.echo(as_markdown(evaluation))
    else:
        for table in tables(evaluation):
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


def gate(
    results: options.ResultsArgument,
    min_score: Annotated[
        float | None, typer.Option(callback=finite, help="Every picture must reach this score (1..5).")
    ] = None,
    max_regression: Annotated[
        Path | None, typer.Option(help="Results of an earlier run; no picture may be worse than there.")
    ] = None,
    tolerance: Annotated[
        float, typer.Option(callback=finite, min=0, help="Points by which a picture may be worse than before.")
    ] = 0.1,
    allow_failed: Annotated[int, typer.Option(min=0, help="Samples that may have failed or have no score.")] = 0,
    score: options.ScoreOption = "quality_score",
    junit_file: Annotated[Path | None, typer.Option("--junit", help="Also write the verdict as a JUnit file.")] = None,
    overwrite: options.OverwriteOption = False,
    json_output: options.JsonOption = False,
) -> None:
    """Exit with 0 when every picture passes, and with 3 when one is too bad, got worse, failed or is gone."""
    from agenticiqa.research.gate import Rules, judge, junit
    from agenticiqa.research.results import read_results
    from agenticiqa.runtime.files import write_atomic
    from agenticiqa.runtime.logs import in_one_line

    if min_score is None and max_regression is None:
        raise typer.BadParameter("nothing is demanded: give --min-score, --max-regression or both.")
    options.check_outputs(junit_file, inputs=[results, max_regression], overwrite=overwrite)
    baseline = read_results(max_regression, score=score) if max_regression else None
    verdict = judge(read_results(results, score=score), Rules(min_score, baseline, tolerance, allow_failed))
    if junit_file is not None:
        write_atomic(junit_file, junit(verdict, "agenticiqa.research.gate"))
    if json_output:
        print_json(verdict.as_dict())
    else:
        print_lines(in_one_line(f"{problem.sample_id}: {problem.message}") for problem in verdict.problems[:SHOWN])
        if len(verdict.problems) > SHOWN:
            print_lines([f"… and {len(verdict.problems) - SHOWN} more; --json or --junit lists all."])
        excused = [f"{len(verdict.excused)} failures are allowed."] if verdict.excused else []
        word = "Passed" if verdict.passed else f"Not passed: {len(verdict.problems)} problems"
        print_lines([*verdict.notes, *excused, f"{word}, {verdict.samples} samples."])
    raise typer.Exit(ExitCode.OK if verdict.passed else ExitCode.BELOW_THRESHOLD)


def report(
    results: options.ResultsArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Page to write (.html): one self-contained file.")
    ] = Path("report.html"),
    score: options.ScoreOption = "quality_score",
    truth: options.TruthOption = "mos",
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    cases: Annotated[int, typer.Option(min=0, max=50, help="Pictures shown of each kind of case.")] = 4,
    thumbnails: Annotated[
        bool, typer.Option("--thumbnails/--no-thumbnails", help="A small picture beside every sample of the table.")
    ] = True,
    overwrite: options.OverwriteOption = False,
    json_output: options.JsonOption = False,
) -> None:
    """Write a report: figures, charts, agreement with people, best and worst cases, errors.

    The page needs no network and prints well; a browser's print dialogue makes a PDF of it.
    """
    from rich.markup import escape

    from agenticiqa.research.report.page import prepare, render_page
    from agenticiqa.research.results import read_results
    from agenticiqa.runtime.config import load_settings
    from agenticiqa.runtime.files import write_atomic

    if output.suffix.lower() not in (".html", ".htm"):
        raise typer.BadParameter("--output ends in .html.")
    options.check_outputs(output, inputs=[results], overwrite=overwrite)
    with error_console().status("Reading the results") as status:
        prepared = prepare(read_results(results, score=score, truth=truth), title=title, cases=cases)
        limits = load_settings().pipeline.images
        text = render_page(
            prepared, lambda step: status.update(escape(f"Drawing {step}")), limits, thumbnails=thumbnails
        )
    write_atomic(output, text)
    print_result({"output": str(output), **prepared.as_dict()}, str(output), as_json=json_output)


def calibrate(
    results: Annotated[Path, typer.Argument(help="A result file of `agenticiqa batch --backends`, with opinions.")],
    truth: options.TruthOption = "mos",
    scale: Annotated[str, typer.Option(help="The worst and the best that an opinion can be.")] = "1,5",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for model_backends.yaml, to be named with --config.")
    ] = None,
    overwrite: options.OverwriteOption = False,
    json_output: options.JsonOption = False,
) -> None:
    """Fit how much each of several models counts in their joint answer to people's opinion of rated pictures."""
    from agenticiqa.research.joint_weights import fit_weights
    from agenticiqa.runtime.files import write_atomic
    from agenticiqa.runtime.layers import BACKENDS_FILE

    try:
        worst, best = map(float, scale.split(","))
    except ValueError:
        raise typer.BadParameter("--scale takes two numbers, for example 0,100.") from None
    file = output / BACKENDS_FILE if output is not None else None
    options.check_outputs(file, inputs=[results], overwrite=overwrite)
    fit = fit_weights(results, truth=truth, scale=(worst, best))
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, fit.as_yaml())
    if json_output:
        print_json({**vars(fit), "settings": fit.as_settings(), "output": str(file) if file else None})
        return
    rows = [
        [
            name,
            f"{fit.weights[name]:.3f}" if name in fit.weights else "",
            "" if rho is None else f"{rho:.3f}",
            f"{fit.rmse[name]:.3f}",
        ]
        for name, rho in fit.srcc.items()
    ]
    print_table(("Model", "Weight", "SRCC", "RMSE"), rows, title=f"{fit.samples} pictures, {fit.left_out} left out")
    print_lines(
        ["All alike and fitted: the models together; fitted is measured on pictures not fitted to (five folds)."]
    )
    used = (
        [f"Written: {file}. `--config {output}` uses it."]
        if file
        else [fit.as_yaml().rstrip(), "--output FOLDER keeps it."]
    )
    print_lines(used)
