"""A batch's progress on standard error: a live line on a terminal, plain lines now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

if TYPE_CHECKING:
    from agenticiqa.batch.runner import Tally
import os
import signal
import sys
from contextlib import ExitStack, redirect_stdout, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, cast

import typer

from agenticiqa.api.interrupts import on_signals
from agenticiqa.cli.options import (
    AlignOption,
    BackendOption,
    ConfigOption,
    JsonOption,
    MaxReplanOption,
    MemoryOption,
    ModeOption,
    ProfileOption,
    WithoutOption,
    chosen_align,
    chosen_mode,
    finite,
    parts_left_out,
)
from agenticiqa.cli.terminal import (
    EXIT_ERROR,
    EXIT_OK,
    EXIT_SOME,
    STANDARD_OUTPUT,
    error_console,
    output_stream,
    print_json,
)

if TYPE_CHECKING:
    from agenticiqa.batch.manifest import Manifest
    from agenticiqa.batch.outputs import BatchOutput, Format
    from agenticiqa.batch.runner import Batch, BatchSummary, StopSwitch
    from agenticiqa.batch.work import BatchJob


PLAIN_LINE_EVERY_S = 10.0
LIVE_EVERY_S = 0.2


@contextmanager
def progress_display(console: Console) -> Iterator[Callable[[Tally], None]]:
    """A function to call with the tally, as often as one likes."""
    if not console.is_terminal:
        yield _PlainLines(console)
        return
    columns = (TextColumn("Batch"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[pace]}"))
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("Batch", total=None, pace="")
        last = 0.0

        def show(tally: Tally) -> None:
            nonlocal last
            if time.monotonic() - last >= LIVE_EVERY_S:
                last = time.monotonic()
                progress.update(task, total=tally.total, completed=tally.finished, pace=described(tally))

        yield show


class _PlainLines:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = time.monotonic()

    def __call__(self, tally: Tally) -> None:
        if time.monotonic() - self._last < PLAIN_LINE_EVERY_S:
            return
        self._last = time.monotonic()
        self._console.print(
            f"{tally.finished}/{tally.total} {described(tally)}", highlight=False, markup=False, soft_wrap=True
        )


def described(tally: Tally) -> str:
    """Rate, time left, errors by type and cost, in one line."""
    parts = [f"{tally.rate:.1f}/s"]
    if tally.seconds_left is not None:
        parts.append(f"{timedelta(seconds=round(tally.seconds_left))} left")
    parts += [f"{kind} {count}" for kind, count in tally.errors.most_common(4)]
    if tally.calls:
        parts.append(f"${tally.cost_usd:.4f}" if tally.cost_known else "cost unknown")
    return ", ".join(parts)


# --- ``agenticiqa batch``: many samples, streamed, resumable ---


SHOWN_IDS = 20
STANDARD_ERROR = 2


def batch(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...",
            help="A JSONL or CSV manifest, or pictures, folders and patterns; - reads a manifest or a list of paths.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where results go: .jsonl, .csv or .parquet; - prints JSON Lines."),
    ] = None,
    output_format: Annotated[
        str | None, typer.Option("--format", help="'jsonl', 'csv' or 'parquet', whatever the output's name says.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Keep what succeeded, try again what failed.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace results that are there.")] = False,
    measure: Annotated[
        str | None, typer.Option("--measure", help="Tools to run instead of the agents: PSNR,SSIM,…")
    ] = None,
    align: AlignOption = "none",
    backend: BackendOption = None,
    query: Annotated[str | None, typer.Option("--query", "-q", help="The question of rows that have none.")] = None,
    max_replan: MaxReplanOption = None,
    mode: ModeOption = None,
    without: WithoutOption = None,
    profile: ProfileOption = None,
    workers: Annotated[int | None, typer.Option("--workers", "-w", min=1, help="Samples worked on at once.")] = None,
    engine: Annotated[str, typer.Option("--engine", help="'local' or 'ray'.")] = "local",
    address: Annotated[str | None, typer.Option("--address", help="The Ray cluster; default: one made here.")] = None,
    rpm: Annotated[
        str | None, typer.Option("--rpm", help="Requests per minute: 500, or openai=500,anthropic=50.")
    ] = None,
    tpm: Annotated[str | None, typer.Option("--tpm", help="Tokens per minute, written likewise.")] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", callback=finite, min=0.1, help="Seconds a sample may take.")
    ] = 600.0,
    budget_usd: Annotated[
        float | None,
        typer.Option("--budget-usd", callback=finite, min=0, help="Start nothing that would probably exceed this."),
    ] = None,
    max_samples: Annotated[int | None, typer.Option("--max-samples", min=1, help="At most so many samples.")] = None,
    sample_range: Annotated[
        str | None, typer.Option("--sample-range", help="FIRST:LAST, counted from 0, LAST left out.")
    ] = None,
    memory: MemoryOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, estimate calls and cost.")] = False,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Ask and measure afresh.")] = False,
    json_output: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Assess or measure many pictures; each result is written whole, at once.

    Exit code 0 when every sample has an answer, 2 when some have, 1 when none has, 130 after Ctrl-C.
    """
    from agenticiqa.batch.manifest import open_manifest
    from agenticiqa.batch.preparing import BatchRequest, prepare_job, replaced_backends
    from agenticiqa.batch.rate_limits import RateLimits, parse_limit

    _check_words(engine, resume=resume, overwrite=overwrite)
    place = None if dry_run else _output(output, output_format, resume=resume, overwrite=overwrite, json=json_output)
    of_agents: dict[str, object] = {
        "--backend": backend,
        "--query": query,
        "--max-replan": max_replan,
        "--mode": mode,
        "--without": without,
    }
    _check_measuring(measure, of_agents)
    request = BatchRequest(
        backend=backend,
        config=config,
        query=query,
        max_replan=max_replan,
        mode=chosen_mode(mode),
        without=parts_left_out(without),
        profile=profile,
        tools=tools_named(measure),
        align=chosen_align(align),
        timeout_s=timeout,
        limits=RateLimits(parse_limit(rpm), parse_limit(tpm)),
        memory=memory,
        use_cache=False if no_cache else None,
    )
    job = prepare_job(request)
    for note in replaced_backends(job):
        error_console().print(f"Warning: {note}", highlight=False, markup=False, soft_wrap=True)
    manifest = open_manifest(*sources)
    try:
        if place is None:
            code = _dry_run(manifest, job, sample_range, max_samples, json_output=json_output)
        else:
            code = _run(
                manifest,
                job,
                place,
                json_output=json_output,
                engine=engine,
                workers=workers,
                address=address,
                sample_range=sample_range,
                max_samples=max_samples,
                resume=resume,
                overwrite=overwrite,
                budget_usd=budget_usd,
            )
    finally:
        manifest.close()
    raise typer.Exit(code)


def _check_words(engine: str, *, resume: bool, overwrite: bool) -> None:
    if engine not in ("local", "ray"):
        raise typer.BadParameter("--engine is 'local' or 'ray'.")
    if resume and overwrite:
        raise typer.BadParameter("--resume and --overwrite contradict each other: choose one.")


def _output(
    output: Path | None, output_format: str | None, *, resume: bool, overwrite: bool, json: bool
) -> BatchOutput | BinaryIO:
    """The file for the results, or a stream: standard output, a pipe, a device."""
    from agenticiqa.batch.outputs import BatchOutput
    from agenticiqa.runtime.files import is_stream

    if output_format not in (None, "jsonl", "csv", "parquet"):
        raise typer.BadParameter("--format is 'jsonl', 'csv' or 'parquet'.")
    if output is None:
        raise typer.BadParameter("--output is missing: name the file for the results, or - for standard output.")
    if output != STANDARD_OUTPUT and not is_stream(output):
        return BatchOutput.named(output, cast("Format | None", output_format))
    if resume or overwrite or json or output_format not in (None, "jsonl"):
        raise typer.BadParameter(
            f"--output {output} prints JSON Lines: --resume, --overwrite and other formats need a file, "
            "--json the same place."
        )
    return output_stream(output)


def _check_measuring(measure: str | None, of_agents: dict[str, object]) -> None:
    useless = [name for name, value in of_agents.items() if value is not None]
    if measure is not None and useless:
        raise typer.BadParameter(f"{useless[0]} has no effect with --measure: no model is asked.")


def tools_named(measure: str | None) -> tuple[str, ...]:
    """The tools of --measure. An empty list is a mistake: without tools the agents would run, and might cost money."""
    names = tuple(name.strip() for name in (measure or "").split(",") if name.strip())
    if measure is not None and not names:
        raise typer.BadParameter("--measure names no tool: write, for example, --measure PSNR,SSIM.")
    return names


# --- running ---------------------------------------------------------------------------------------------


def _run(
    manifest: Manifest,
    job: BatchJob,
    output: BatchOutput | BinaryIO,
    *,
    json_output: bool,
    engine: str,
    workers: int | None,
    address: str | None,
    sample_range: str | None,
    max_samples: int | None,
    resume: bool,
    overwrite: bool,
    budget_usd: float | None,
) -> int:
    from agenticiqa.batch.manifest_checks import SampleRange
    from agenticiqa.batch.outputs import BatchOutput
    from agenticiqa.batch.preparing import engine_factory, expected_cost
    from agenticiqa.batch.runner import Batch
    from agenticiqa.runtime.files import ScratchFolder

    with ExitStack() as stack:
        if isinstance(output, BatchOutput):
            stack.enter_context(output.held(resume=resume, overwrite=overwrite))
            lines, table, stream = output.lines, output.table, None
        else:
            # Results wait there for those before them.
            folder = stack.enter_context(ScratchFolder("batch"))
            lines, table, stream = folder / "results.jsonl", None, output
        batch = Batch(
            manifest=manifest,
            job=job,
            output=lines,
            table=table,
            make_engine=engine_factory(job, engine=engine, workers=workers, address=address),
            selection=SampleRange.parse(sample_range, max_samples),
            resume=resume,
            overwrite=overwrite,
            budget_usd=budget_usd,
            expected_cost_usd=expected_cost(job) if budget_usd is not None else 0.0,
            stream=stream,
        )
        summary = _with_progress(batch)
    if json_output:
        print_json(summary.as_dict())
    elif isinstance(output, BatchOutput):
        _print_summary(summary, str(output.path))
    else:
        _print_summary(summary, "the output", to_stderr=True)
    return summary.exit_code


def _with_progress(batch: Batch) -> BatchSummary:
    from agenticiqa.cli.batch import progress_display

    # Standard output is for the summary: what libraries print meanwhile (Ray does) goes where messages go.
    with progress_display(error_console()) as show, stopping_on_signals(batch.stop), redirect_stdout(sys.stderr):
        return replace(batch, on_progress=show).run()


@contextmanager
def stopping_on_signals(stop: StopSwitch) -> Iterator[None]:
    """The first Ctrl-C (or SIGTERM) lets what has begun end; the second drops it."""

    def ask(*_: Any) -> None:
        stop.ask()
        said = "Finishing what has begun; press Ctrl-C again to drop it." if stop.asked == 1 else "Stopping."
        # Written past everything that buffers, locks or imports: this may interrupt any of it, itself included.
        with suppress(OSError):
            os.write(STANDARD_ERROR, f"\n{said}\n".encode())

    # Whoever asked gets the summary and the exit code, whatever is pressed meanwhile.
    with on_signals([signal.SIGINT, signal.SIGTERM], ask, then_ignored=lambda: stop.asked > 0):
        yield


def _print_summary(summary: BatchSummary, output: str, *, to_stderr: bool = False) -> None:
    say = partial(typer.echo, err=to_stderr)
    done = summary.ok + summary.partial
    incomplete = f" ({summary.partial} partial)" if summary.partial else ""
    say(f"{done} of {summary.total} samples have a result{incomplete}: {output}")
    for line in summary.skipped.lines():
        say(line)
    if summary.failed:
        kinds = ", ".join(f"{kind} {count}" for kind, count in summary.errors.items())
        say(f"{summary.failed} failed: {kinds}")
        more = summary.failed - SHOWN_IDS
        say(f"  {', '.join(summary.failed_ids[:SHOWN_IDS])}{f' and {more} more' if more > 0 else ''}")
    if summary.not_done:
        why = {"interrupted": "you stopped it", "budget": "the budget is used up"}.get(summary.stopped or "", "")
        say(f"{summary.not_done} not done{f': {why}' if why else ''}")
    if (summary.failed or summary.not_done) and not to_stderr:
        say("The same command with --resume continues: what succeeded is kept, what failed is tried again.")
    cost = "cost unknown" if summary.cost_usd is None else f"${summary.cost_usd:.4f}"
    say(f"{summary.seconds:.1f} s, {summary.samples_per_second:.2f} samples/s, {summary.calls} calls, {cost}")


# --- checking only ---------------------------------------------------------------------------------------


def _dry_run(
    manifest: Manifest, job: BatchJob, sample_range: str | None, max_samples: int | None, *, json_output: bool
) -> int:
    from agenticiqa.batch.manifest_checks import SampleRange, check_manifest
    from agenticiqa.batch.preparing import estimate

    problems: list[dict[str, Any]] = []

    def listen(line: int, problem: str) -> None:
        if json_output:
            problems.append({"line": line, "problem": problem})
        else:
            error_console().print(f"line {line}: {problem}", highlight=False, markup=False, soft_wrap=True)

    checked = check_manifest(manifest, job, on_problem=listen, look_for_files=True)
    count = checked.ledger.count
    first, last = SampleRange.parse(sample_range, max_samples).bounds(count) if count else (0, 0)
    expected = estimate(job, last - first)
    found = {
        "samples": count,
        "selected": last - first,
        "invalid_rows": checked.problems,
        "skipped_files": manifest.skipped.as_dict(),
        "missing_pictures": checked.missing,
        "remote_pictures": checked.remote,
        "backends": dict(job.backends),
        "tools": list(job.tools),
        "calls": list(expected.calls),
        "cost_usd": list(expected.cost_usd) if expected.cost_usd else None,
    }
    checked.ledger.close()
    if json_output:
        print_json({**found, "problems": problems})
    else:
        _print_estimate(found)
        for line in manifest.skipped.lines():
            typer.echo(line)
    if checked.problems or checked.without_picture == count:
        return EXIT_ERROR
    return EXIT_SOME if checked.without_picture else EXIT_OK


def _print_estimate(found: dict[str, Any]) -> None:
    typer.echo(f"{found['samples']} samples, {found['selected']} selected, {found['invalid_rows']} invalid rows")
    typer.echo(
        f"{found['missing_pictures']} pictures are missing, {found['remote_pictures']} are remote (not looked at)"
    )
    if found["tools"]:
        typer.echo(f"Tools: {', '.join(found['tools'])}; no model is asked")
        return
    typer.echo(f"Backends: {', '.join(f'{role} {name}' for role, name in found['backends'].items())}")
    typer.echo(f"Calls: {found['calls'][0]} to {found['calls'][1]} (without, and with every allowed replan)")
    cost = found["cost_usd"]
    typer.echo(f"Cost: about ${cost[0]:.2f} to ${cost[1]:.2f}" if cost else "Cost: a price is not known")
