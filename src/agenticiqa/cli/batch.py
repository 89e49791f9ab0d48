"""``agenticiqa batch``: many samples, streamed, resumable; and how work on many pictures is shown and stopped."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from agenticiqa.api.interrupts import on_signals
from agenticiqa.cli import options
from agenticiqa.cli.options import finite
from agenticiqa.cli.terminal import STANDARD_OUTPUT, ExitCode, Interval, error_console, output_stream, print_json, say

if TYPE_CHECKING:
    from agenticiqa.batch.manifest import Manifest
    from agenticiqa.batch.manifest_checks import SampleRange
    from agenticiqa.batch.outputs import BatchOutput
    from agenticiqa.batch.runner import BatchSummary, StopSwitch, Tally
    from agenticiqa.batch.work import BatchJob

PLAIN_LINE_EVERY_S = 10.0
LIVE_EVERY_S = 0.2


@contextmanager
def progress_display(console: Console) -> Iterator[Callable[[Tally], None]]:
    """A function to call with the tally, as often as one likes: a live line on a terminal, else lines now and then."""
    if not console.is_terminal:
        due = Interval(PLAIN_LINE_EVERY_S)

        def tell(tally: Tally) -> None:
            if due.passed():
                line = f"{tally.finished}/{tally.total} {described(tally)}"
                console.print(line, highlight=False, markup=False, soft_wrap=True)

        yield tell
        return
    columns = (TextColumn("Batch"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[pace]}"))
    redraw = Interval(LIVE_EVERY_S, at_once=True)
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("Batch", total=None, pace="")

        def show(tally: Tally) -> None:
            if redraw.passed():
                progress.update(task, total=tally.total, completed=tally.finished, pace=described(tally))

        yield show


def described(tally: Tally) -> str:
    """Rate, time left, errors by type and cost, in one line."""
    parts = [f"{tally.rate:.1f}/s"]
    if tally.seconds_left is not None:
        parts.append(f"{timedelta(seconds=round(tally.seconds_left))} left")
    parts += [f"{kind} {count}" for kind, count in tally.errors.most_common(4)]
    if tally.calls:
        parts.append(f"${tally.cost_usd:.4f}" if tally.cost_known else "cost unknown")
    return ", ".join(parts)


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


@contextmanager
def watched(stop: StopSwitch) -> Iterator[Callable[[Tally], None]]:
    """Work on many pictures: progress on standard error, and signals that stop it.

    Standard output is for the summary: what libraries print meanwhile goes where messages go.
    """
    with progress_display(error_console()) as show, stopping_on_signals(stop), redirect_stdout(sys.stderr):
        yield show


# --- the command ---


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
        typer.Option("--output", "-o", help="Where results go: .jsonl or .csv; - prints JSON Lines."),
    ] = None,
    resume: options.ResumeOption = False,
    overwrite: options.OverwriteOption = False,
    measure: options.MeasureOption = None,
    align: options.AlignOption = "none",
    backend: options.BackendOption = None,
    query: Annotated[str | None, typer.Option("--query", "-q", help="The question of rows that have none.")] = None,
    max_replan: options.MaxReplanOption = None,
    mode: options.ModeOption = None,
    without: options.WithoutOption = None,
    profile: options.ProfileOption = None,
    workers: options.WorkersOption = None,
    rpm: options.RpmOption = None,
    tpm: options.TpmOption = None,
    timeout: options.TimeoutOption = 600.0,
    budget_usd: Annotated[
        float | None, typer.Option(callback=finite, min=0, help="Start nothing that would probably exceed this.")
    ] = None,
    sample_range: Annotated[str | None, typer.Option(help="FIRST:LAST, counted from 0, LAST left out.")] = None,
    memory: options.MemoryOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, estimate calls and cost.")] = False,
    no_cache: options.NoCacheOption = False,
    json_output: options.JsonOption = False,
    config: options.ConfigOption = None,
) -> None:
    """Assess or measure many pictures; each result is written whole, at once.

    Exit code 0 when every sample has an answer, 2 when some have, 1 when none has, 130 after Ctrl-C.
    """
    from agenticiqa.batch.manifest import open_manifest
    from agenticiqa.batch.manifest_checks import SampleRange
    from agenticiqa.batch.preparing import BatchRequest, engine_factory, expected_cost, prepare_job, replaced_backends
    from agenticiqa.batch.rate_limits import RateLimits, parse_limit
    from agenticiqa.batch.runner import Batch, StopSwitch

    options.choose_one(resume=resume, overwrite=overwrite)
    place = None if dry_run else _output(output, resume=resume, overwrite=overwrite, json=json_output)
    of_agents: dict[str, object] = {
        "--backend": backend,
        "--query": query,
        "--max-replan": max_replan,
        "--mode": mode,
        "--without": without,
    }
    useless = [name for name, value in of_agents.items() if value is not None]
    if measure is not None and useless:
        raise typer.BadParameter(f"{useless[0]} has no effect with --measure: no model is asked.")
    request = BatchRequest(
        backend=backend,
        config=config,
        query=query,
        max_replan=max_replan,
        mode=options.chosen_mode(mode),
        without=options.parts_left_out(without),
        profile=profile,
        tools=tools_named(measure),
        align=options.chosen_align(align),
        timeout_s=timeout,
        limits=RateLimits(parse_limit(rpm), parse_limit(tpm)),
        memory=memory,
        use_cache=False if no_cache else None,
    )
    job = prepare_job(request)
    for note in replaced_backends(job):
        say(f"Warning: {note}")
    selection = SampleRange.parse(sample_range)
    with ExitStack() as stack:
        manifest = open_manifest(*sources)
        stack.callback(manifest.close)
        if place is None:
            raise typer.Exit(_dry_run(manifest, job, selection, json_output=json_output))
        lines, table, stream = _results(place, stack, resume=resume, overwrite=overwrite)
        stop = StopSwitch()
        with watched(stop) as on_progress:
            summary = Batch(
                manifest=manifest,
                job=job,
                output=lines,
                table=table,
                make_engine=engine_factory(job, workers),
                selection=selection,
                resume=resume,
                overwrite=overwrite,
                budget_usd=budget_usd,
                expected_cost_usd=expected_cost(job) if budget_usd is not None else 0.0,
                stream=stream,
                on_progress=on_progress,
                stop=stop,
            ).run()
    if json_output:
        print_json(summary.as_dict())
    elif stream is not None:
        _print_summary(summary, "the output", to_stderr=True)
    else:
        _print_summary(summary, str(output))
    raise typer.Exit(summary.exit_code)


def _output(output: Path | None, *, resume: bool, overwrite: bool, json: bool) -> BatchOutput | BinaryIO:
    """The file for the results, or a stream: standard output, a pipe, a device."""
    from agenticiqa.batch.outputs import BatchOutput
    from agenticiqa.runtime.files import is_stream

    if output is None:
        raise typer.BadParameter("--output is missing: name the file for the results, or - for standard output.")
    if output != STANDARD_OUTPUT and not is_stream(output):
        return BatchOutput.named(output)
    if resume or overwrite or json:
        raise typer.BadParameter(
            f"--output {output} prints JSON Lines: --resume and --overwrite need a file, --json the same place."
        )
    return output_stream(output)


def tools_named(measure: str | None) -> tuple[str, ...]:
    """The tools of --measure. An empty list is a mistake: without tools the agents would run, and might cost money."""
    names = tuple(options.listed(measure))
    if measure is not None and not names:
        raise typer.BadParameter("--measure names no tool: write, for example, --measure PSNR,SSIM.")
    return names


def _results(
    output: BatchOutput | BinaryIO, stack: ExitStack, *, resume: bool, overwrite: bool
) -> tuple[Path, Path | None, BinaryIO | None]:
    """The file of lines, the table to make of them, and the stream to copy them to."""
    from agenticiqa.batch.outputs import BatchOutput
    from agenticiqa.runtime.files import ScratchFolder

    if isinstance(output, BatchOutput):
        stack.enter_context(output.held(resume=resume, overwrite=overwrite))
        return output.lines, output.table, None
    # Results wait there for those before them.
    return stack.enter_context(ScratchFolder("batch")) / "results.jsonl", None, output


def _print_summary(summary: BatchSummary, output: str, *, to_stderr: bool = False) -> None:
    echo = partial(typer.echo, err=to_stderr)
    done = summary.ok + summary.partial
    incomplete = f" ({summary.partial} partial)" if summary.partial else ""
    echo(f"{done} of {summary.total} samples have a result{incomplete}: {output}")
    for line in summary.skipped.lines():
        echo(line)
    if summary.failed:
        kinds = ", ".join(f"{kind} {count}" for kind, count in summary.errors.items())
        echo(f"{summary.failed} failed: {kinds}")
        more = summary.failed - SHOWN_IDS
        echo(f"  {', '.join(summary.failed_ids[:SHOWN_IDS])}{f' and {more} more' if more > 0 else ''}")
    if summary.not_done:
        why = {"interrupted": "you stopped it", "budget": "the budget is used up"}.get(summary.stopped or "", "")
        echo(f"{summary.not_done} not done{f': {why}' if why else ''}")
    if (summary.failed or summary.not_done) and not to_stderr:
        echo("The same command with --resume continues: what succeeded is kept, what failed is tried again.")
    cost = "cost unknown" if summary.cost_usd is None else f"${summary.cost_usd:.4f}"
    echo(f"{summary.seconds:.1f} s, {summary.samples_per_second:.2f} samples/s, {summary.calls} calls, {cost}")


# --- checking only ---


def _dry_run(manifest: Manifest, job: BatchJob, selection: SampleRange, *, json_output: bool) -> int:
    from agenticiqa.batch.manifest_checks import check_manifest
    from agenticiqa.batch.preparing import estimate

    problems: list[dict[str, Any]] = []

    def listen(line: int, problem: str) -> None:
        if json_output:
            problems.append({"line": line, "problem": problem})
        else:
            say(f"line {line}: {problem}")

    checked = check_manifest(manifest, job, on_problem=listen, look_for_files=True)
    count = checked.ledger.count
    first, last = selection.bounds(count) if count else (0, 0)
    expected = estimate(job, last - first)
    found = {
        "samples": count,
        "selected": last - first,
        "invalid_rows": checked.problems,
        "skipped_files": manifest.skipped.as_dict(),
        "missing_pictures": checked.missing,
        "remote_pictures": checked.remote,
        "backends": job.backends,
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
        return ExitCode.ERROR
    return ExitCode.SOME if checked.without_picture else ExitCode.OK


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
