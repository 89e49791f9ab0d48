"""``agenticiqa gate``: fail a build when pictures are bad or got worse."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from agenticiqa.cli.options import JsonOption, OverwriteOption, ResultsArgument, ScoreOption, finite
from agenticiqa.cli.outputs import check_outputs
from agenticiqa.cli.terminal import EXIT_BELOW_THRESHOLD, EXIT_OK, output_console, print_json

SHOWN = 20


def gate(
    results: ResultsArgument,
    min_score: Annotated[
        float | None, typer.Option("--min-score", callback=finite, help="Every picture must reach this score (1..5).")
    ] = None,
    max_regression: Annotated[
        Path | None,
        typer.Option("--max-regression", help="Results of an earlier run; no picture may be worse than there."),
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option("--tolerance", callback=finite, min=0, help="Points by which a picture may be worse than before."),
    ] = 0.1,
    allow_failed: Annotated[
        int, typer.Option("--allow-failed", min=0, help="Samples that may have failed or have no score.")
    ] = 0,
    score: ScoreOption = "quality_score",
    junit_file: Annotated[Path | None, typer.Option("--junit", help="Also write the verdict as a JUnit file.")] = None,
    overwrite: OverwriteOption = False,
    json_output: JsonOption = False,
) -> None:
    """Exit with 0 when every picture passes, and with 3 when one is too bad, got worse, failed or is gone."""
    from agenticiqa.evaluation.gate import Rules, judge, junit
    from agenticiqa.evaluation.results import read_results
    from agenticiqa.runtime.files import write_whole
    from agenticiqa.runtime.shown_text import in_one_line

    if not all(math.isfinite(number) for number in (min_score or 0.0, tolerance)):
        # Nothing compares with NaN: it would let every picture pass.
        raise typer.BadParameter("--min-score and --tolerance are finite numbers.")
    if min_score is None and max_regression is None:
        raise typer.BadParameter("nothing is demanded: give --min-score, --max-regression or both.")
    check_outputs(junit_file, inputs=[results, max_regression], overwrite=overwrite)
    baseline = read_results(max_regression, score=score) if max_regression else None
    verdict = judge(read_results(results, score=score), Rules(min_score, baseline, tolerance, allow_failed))
    if junit_file is not None:
        write_whole(junit_file, junit(verdict, "agenticiqa.evaluation.gate"))
    if json_output:
        print_json(verdict.as_dict())
    else:
        console = output_console()
        for problem in verdict.problems[:SHOWN]:
            console.print(
                in_one_line(f"{problem.sample_id}: {problem.message}"), highlight=False, markup=False, soft_wrap=True
            )
        if len(verdict.problems) > SHOWN:
            console.print(f"… and {len(verdict.problems) - SHOWN} more; --json or --junit lists all.", highlight=False)
        for note in [*verdict.notes, *([f"{len(verdict.excused)} failures are allowed."] if verdict.excused else [])]:
            console.print(note, highlight=False, markup=False, soft_wrap=True)
        word = "Passed" if verdict.passed else f"Not passed: {len(verdict.problems)} problems"
        console.print(f"{word}, {verdict.samples} samples.", highlight=False)
    raise typer.Exit(EXIT_OK if verdict.passed else EXIT_BELOW_THRESHOLD)
