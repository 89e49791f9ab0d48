"""``agenticiqa rate``: scores of any number of pictures, as fast as the machine allows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from agenticiqa.cli import options, terminal
from agenticiqa.cli.batch import SHOWN_IDS, exit_if_stopped, watched

if TYPE_CHECKING:
    from agenticiqa.batch.runner import BatchSummary


def rate(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="Pictures, folders, patterns; a list, CSV, JSONL; Parquet, tar shards, a Hugging Face dataset folder.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where scores go: .parquet, .csv or .jsonl.")],
    keep: Annotated[str | None, typer.Option(help='Which pictures survive: "score >= 3.5 and not generated".')] = None,
    kept: Annotated[
        Path | None, typer.Option(help="Where the paths of the survivors go. Default: OUTPUT with .kept.txt behind it.")
    ] = None,
    device: Annotated[Literal["auto", "cpu", "cuda"], typer.Option(help="Where the model runs.")] = "auto",
    engine: Annotated[
        Literal["processes", "ray"], typer.Option(help="What runs it: this machine, or Ray.")
    ] = "processes",
    resume: options.ResumeOption = False,
    overwrite: options.OverwriteOption = False,
    workers: options.WorkersOption = None,
    timeout: options.TimeoutOption = 600.0,
    memory: options.MemoryOption = None,
    json_output: options.JsonOption = False,
    config: options.ConfigOption = None,
) -> None:
    """Rate pictures: score, interval, flaws, sort, whether generated; no question is asked.

    The numbers are those of `agenticiqa assess`. Exit code 0 when every picture has a score, 2 when some have, 1 when
    none has, 130 after Ctrl-C.
    """
    from agenticiqa.batch.rating import Condition, check_table, write_kept, write_rated
    from agenticiqa.batch.rating_run import RatingRequest, run_rating
    from agenticiqa.errors import OutputError
    from agenticiqa.runtime.files import locked

    options.choose_one(resume=resume, overwrite=overwrite)
    if kept is not None and keep is None:
        raise typer.BadParameter("--kept belongs to --keep.")
    condition = Condition(keep) if keep is not None else None
    survivors = (kept or output.with_name(output.name + ".kept.txt")) if condition else None
    check_table(output)
    lines = output.with_name(output.name + ".part")
    options.check_outputs(output, survivors, inputs=sources, overwrite=overwrite or resume)
    options.check_outputs(output, survivors, lines, overwrite=True)
    if resume and output.exists() and not lines.exists():
        raise OutputError(f"{str(output)!r} is finished.", hint="--overwrite rates everything again.")
    request = RatingRequest(
        sources, lines, others=(output, survivors) if survivors else (output,), device=device, engine=engine,
        resume=resume, overwrite=overwrite, workers=workers, timeout_s=timeout, memory=memory, config=config,
    )  # fmt: skip
    terminal.print_message(f"On {request.place()}.")
    with locked(output):
        with watched(request.stop) as request.on_progress:
            summary = run_rating(request)
        exit_if_stopped(summary, resumable=True)
        count = write_kept(lines, condition, survivors) if condition and survivors else None
        write_rated(lines, output)
        lines.unlink()
    found = {
        **summary.as_dict(),
        "output": str(output),
        "kept": count,
        "kept_file": str(survivors) if condition else None,
    }
    told = [
        f"{summary.ok} of {summary.total} pictures have a score: {output}",
        *summary.skipped.lines(),
        *_failed(summary),
    ]
    if count is not None:
        told.append(f"{count} of {summary.total} stay by {keep!r}: {survivors}")
    told.append(f"{summary.seconds:.1f} s, {summary.samples_per_second:.2f} pictures a second")
    terminal.print_result(found, *told, as_json=json_output)
    raise typer.Exit(summary.exit_code)


def _failed(summary: BatchSummary) -> list[str]:
    if not summary.failed:
        return []
    kinds = ", ".join(f"{kind} {count}" for kind, count in summary.errors.items())
    more = summary.failed - SHOWN_IDS
    ids = ", ".join(summary.failed_ids[:SHOWN_IDS])
    return [
        f"{summary.failed} failed ({kinds}); the column `error` says why:",
        f"  {ids}{f' and {more} more' if more > 0 else ''}",
    ]
