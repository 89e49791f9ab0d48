"""``agenticiqa evaluate``, ``gate``, ``report`` and ``rescore``: what is done with stored results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from agenticiqa.cli import options
from agenticiqa.cli.options import finite
from agenticiqa.cli.terminal import ExitCode, error_console, output_console, print_json, print_lines

if TYPE_CHECKING:
    from agenticiqa.research.rescoring import Rescoring
    from agenticiqa.research.tables import Table

CELL_FRAME = 3


def evaluate(
    results: options.ResultsArgument,
    other: Annotated[
        Path | None, typer.Argument(help="A second one over the same samples, to compare.", show_default=False)
    ] = None,
    score: options.ScoreOption = "quality_score",
    other_score: Annotated[str | None, typer.Option(help="The same for the second file, if it differs.")] = None,
    truth: options.TruthOption = "mos",
    by: Annotated[
        list[str] | None, typer.Option(help="A column to group by; default: distortion, task, question_type, concern.")
    ] = None,
    parameters: Annotated[int, typer.Option("--fit", help="Parameters of the fitted logistic: 4 or 5.")] = 5,
    resamples: options.ResamplesOption = 1000,
    cluster: Annotated[
        str | None, typer.Option(help="Draw samples of the same value together, e.g. reference_path, for intervals.")
    ] = None,
    ablate: Annotated[
        str | None, typer.Option(help="Re-score without parts: fusion,tools,replan or some of them.")
    ] = None,
    failed_as_worst: Annotated[
        bool, typer.Option("--failed-as-worst", help="Samples without a score get the worst one.")
    ] = False,
    dataset: Annotated[str | None, typer.Option(help="The dataset, where the results do not carry its name.")] = None,
    paper: Annotated[bool, typer.Option("--paper/--no-paper", help="Show the published figures beside ours.")] = True,
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

    if parameters not in (4, 5):
        raise typer.BadParameter("--fit is 4 or 5.")
    options.choose_one(json=json_output, markdown=markdown)
    if other_score is not None and other is None:
        raise typer.BadParameter("--other-score has no effect without a second result file.")
    if failed_as_worst and score.startswith("raw:"):
        raise typer.BadParameter("--failed-as-worst needs a score with a known worst end, not a raw one.")
    settings = FigureSettings(cast("Literal[4, 5]", parameters), resamples, failed_as_worst, cluster)
    with error_console().status("Evaluating"):
        first = read_results(results, score=score, truth=truth)
        second = read_results(other, score=other_score or score, truth=truth) if other else None
        evaluation = run(
            first, second, settings=settings, by=by or (), ablations=options.listed(ablate), dataset=dataset
        )
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


# --- ``agenticiqa gate``: fail a build when pictures are bad or got worse ---


SHOWN = 20


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


# --- ``agenticiqa report``: a result file as a page or as Markdown ---


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

    from agenticiqa.research.report import prepare, render_page
    from agenticiqa.research.results import read_results
    from agenticiqa.runtime.config import load_settings
    from agenticiqa.runtime.files import write_atomic

    if output.suffix.lower() not in (".html", ".htm"):
        raise typer.BadParameter("--output ends in .html.")
    options.check_outputs(output, inputs=[results], overwrite=overwrite)
    with error_console().status("Reading the results") as status:
        prepared = prepare(read_results(results, score=score, truth=truth), title=title, cases=cases)
        text = render_page(
            prepared,
            lambda step: status.update(escape(f"Drawing {step}")),
            load_settings().pipeline.images,
            thumbnails=thumbnails,
        )
    write_atomic(output, text)
    if json_output:
        print_json({"output": str(output), **prepared.as_dict()})
    else:
        typer.echo(str(output))


# --- ``agenticiqa rescore``: scores of recorded runs made anew ---


EtaOption = Annotated[
    float | None,
    typer.Option("--eta", callback=finite, help="Score anew: how closely weights follow the tool mean; usually 1."),
]
ClassConfidenceOption = Annotated[
    float | None,
    typer.Option(
        "--class-confidence",
        callback=finite,
        help="Score anew: share of a letter without probabilities; usually 0.8.",
    ),
]
CurvesOption = Annotated[
    str | None,
    typer.Option(
        "--calibrations", help="Score anew: a file with curves, or 'printed', the paper's rows.", show_default=False
    ),
]
PrintedFormulaOption = Annotated[
    bool, typer.Option("--printed-formula", help="Score anew: the fusion as the paper prints it, not normalised.")
]


def rescore(
    results: options.ResultsArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Result file to write (.jsonl).")],
    eta: EtaOption = None,
    class_confidence: ClassConfidenceOption = None,
    thresholds: Annotated[
        str | None, typer.Option(help="Where levels begin: 1.5,2.5,3.5,4.5.", show_default=False)
    ] = None,
    calibrations: CurvesOption = None,
    printed_formula: PrintedFormulaOption = False,
    overwrite: options.OverwriteOption = False,
    json_output: options.JsonOption = False,
    config: options.ConfigOption = None,
) -> None:
    """Score recorded runs anew without asking or measuring anything; `evaluate` then compares both files.

    Lines that hold no rating stay as they are. What was changed is in each line's metadata.
    """
    from agenticiqa.research.rescoring import rescore_file

    options.check_outputs(output, inputs=[results], overwrite=overwrite)
    how = rescoring_asked(config, eta, class_confidence, thresholds, calibrations, printed_formula=printed_formula)
    if how is None:
        raise typer.BadParameter("nothing is to change: give --eta, --calibrations, --thresholds or another of these.")
    with error_console().status("Scoring anew"):
        found = rescore_file(results, output, how)
    if json_output:
        print_json(found.as_dict())
        return
    typer.echo(f"{found.rescored} lines scored anew: {found.output}")
    if found.unchanged:
        typer.echo(f"{found.unchanged} hold no rating and stay as they are.")
    if found.lacking:
        typer.echo(f"{found.lacking} hold too little to be scored anew and stay as they are.")


def rescoring_asked(
    config: Path | None,
    eta: float | None,
    class_confidence: float | None,
    thresholds: str | None,
    calibrations: str | None,
    *,
    printed_formula: bool,
) -> Rescoring | None:
    """What the options ask for, the rest as configured; None where they ask for nothing."""
    if (eta, class_confidence, thresholds, calibrations) == (None, None, None, None) and not printed_formula:
        return None
    from agenticiqa.research.rescoring import Rescoring, calibrations_named
    from agenticiqa.runtime.config import load_settings

    levels = None if thresholds is None else options.numbers("--thresholds", thresholds, "1.5,2.5,3.5,4.5")
    overrides = {
        "pipeline.fusion.eta": eta,
        "pipeline.fusion.class_confidence": class_confidence,
        "pipeline.fusion.level_thresholds": levels,
        "pipeline.fusion.normalize": False if printed_formula else None,
    }
    return Rescoring(load_settings(config, overrides).pipeline.fusion, calibrations_named(calibrations))
