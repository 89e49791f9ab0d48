"""``agenticiqa batch``, and how work on many pictures is shown and stopped."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from agenticiqa.api.interrupts import on_signals
from agenticiqa.cli import options, terminal
from agenticiqa.cli.options import finite

if TYPE_CHECKING:
    from agenticiqa.batch.manifest import Manifest
    from agenticiqa.batch.manifest_checks import SampleRange
    from agenticiqa.batch.outputs import BatchOutput
    from agenticiqa.batch.runner import BatchSummary, StopSwitch, Tally
    from agenticiqa.batch.work import BatchJob

PLAIN_LINE_EVERY_S = 10.0
SHOWN_IDS = 20
STANDARD_ERROR = 2


@contextmanager
def progress_display(console: Console) -> Iterator[Callable[[Tally], None]]:
    """A function to call with the tally, as often as one likes: a live line on a terminal, else lines now and then."""
    if not console.is_terminal:
        due = terminal.Interval(PLAIN_LINE_EVERY_S)

        def report_progress(tally: Tally) -> None:
            if due.passed():
                line = f"{tally.finished}/{tally.total} {described(tally)}"
                console.print(line, highlight=False, markup=False, soft_wrap=True)

        yield report_progress
        return
    columns = (TextColumn("Batch"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[pace]}"))
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("Batch", total=None, pace="")

        def show(tally: Tally) -> None:
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
def watched(stop: StopSwitch) -> Iterator[Callable[[Tally], None]]:
    """Work on many pictures: progress on standard error, and signals that stop it.

    The first Ctrl-C (or SIGTERM) lets what has begun end; the second drops it. Standard output is for the summary: what
    libraries print meanwhile goes where messages go.
    """

    def ask(*_: Any) -> None:
        stop.ask()
        notice = "Finishing what has begun; press Ctrl-C again to drop it." if stop.asked == 1 else "Stopping."
        # Written past everything that buffers, locks or imports: this may interrupt any of it, itself included.
        with suppress(OSError):
            os.write(STANDARD_ERROR, f"\n{notice}\n".encode())

    with (
        progress_display(terminal.error_console()) as show,
        # The summary and the exit code follow even if Ctrl-C is pressed again.
        on_signals([signal.SIGINT, signal.SIGTERM], ask, then_ignored=lambda: stop.asked > 0),
        redirect_stdout(sys.stderr),
    ):
        yield show


def exit_if_stopped(summary: BatchSummary, *, resumable: bool) -> None:
    """End the command where a person stopped its pass over the pictures, and say how to go on."""
    if summary.stopped:
        again = "The same command with --resume continues." if resumable else "With --output it could be resumed."
        terminal.print_error(f"Stopped after {summary.total - summary.not_done} of {summary.total} pictures. {again}")
        raise typer.Exit(terminal.ExitCode.INTERRUPTED)


def batch(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...",
            help="A JSONL or CSV manifest, or pictures, folders and patterns; - reads a manifest or a list of paths.",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where results go: .jsonl or .csv; - prints JSON Lines.")
    ] = None,
    resume: options.ResumeOption = False,
    rerun_changed: Annotated[
        bool, typer.Option("--rerun-changed", help="With --resume: redo rows of another backend, question or setting.")
    ] = False,
    overwrite: options.OverwriteOption = False,
    measure: Annotated[str | None, typer.Option(help="Tools to run instead of the agents: PSNR,SSIM,…")] = None,
    align: options.AlignOption = "none",
    backend: options.BackendOption = None,
    backends: options.BackendsOption = None,
    query: Annotated[str | None, typer.Option("--query", "-q", help="The question of rows that have none.")] = None,
    max_replan: options.MaxReplanOption = None,
    mode: options.ModeOption = None,
    without: options.WithoutOption = None,
    views: options.ViewsOption = None,
    profile: options.ProfileOption = None,
    strict: options.StrictOption = False,
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
    from agenticiqa.batch import preparing
    from agenticiqa.batch.manifest import open_manifest
    from agenticiqa.batch.manifest_checks import SampleRange
    from agenticiqa.batch.outputs import BatchOutput
    from agenticiqa.batch.rate_limits import RateLimits, parse_limit
    from agenticiqa.batch.runner import Batch, StopSwitch
    from agenticiqa.runtime.files import ScratchFolder

    options.choose_one(resume=resume, overwrite=overwrite)
    if rerun_changed and not resume:
        raise typer.BadParameter("--rerun-changed belongs to --resume.")
    place = None if dry_run else _output(output, resume=resume, overwrite=overwrite, json=json_output)
    of_agents = {"backend": backend, "backends": backends, "query": query, "max-replan": max_replan}
    of_agents |= {"mode": mode, "without": without, "views": views}
    useless = [name for name, value in of_agents.items() if value is not None]
    if measure is not None and useless:
        raise typer.BadParameter(f"--{useless[0]} has no effect with --measure: no model is asked.")
    request = preparing.BatchRequest(
        backend=backend,
        backends=backends,
        config=config,
        query=query,
        max_replan=max_replan,
        mode=mode,
        without=options.parts_left_out(without),
        views=views,
        profile=profile,
        tools=tools_named(measure),
        align=align,
        timeout_s=timeout,
        limits=RateLimits(parse_limit(rpm), parse_limit(tpm)),
        memory=memory,
        use_cache=False if no_cache else None,
    )
    job = preparing.prepare_job(request)
    for note in (*preparing.replaced_backends(job), *preparing.missing_tools(job, strict=strict)):
        terminal.print_message(f"Warning: {note}")
    selection = SampleRange.parse(sample_range)
    with ExitStack() as stack:
        manifest = open_manifest(*sources)
        stack.callback(manifest.close)
        if place is None:
            raise typer.Exit(_dry_run(manifest, job, selection, json_output=json_output))
        if isinstance(place, BatchOutput):
            stack.enter_context(place.held(resume=resume, overwrite=overwrite))
            lines, table, stream = place.lines, place.table, None
        else:
            # Results wait there for those before them.
            lines, table, stream = stack.enter_context(ScratchFolder("batch")) / "results.jsonl", None, place
        stop = StopSwitch()
        with watched(stop) as on_progress:
            summary = Batch(
                manifest=manifest,
                job=job,
                output=lines,
                table=table,
                make_engine=preparing.engine_factory(job, workers),
                selection=selection,
                resume=resume,
                rerun_changed=rerun_changed,
                overwrite=overwrite,
                budget_usd=budget_usd,
                expected_cost_usd=preparing.expected_cost(job) if budget_usd is not None else 0.0,
                stream=stream,
                on_progress=on_progress,
                stop=stop,
            ).run()
    if json_output:
        terminal.print_json(summary.as_dict())
    else:
        _print_summary(summary, None if stream is not None else output)
    raise typer.Exit(summary.exit_code)


def _output(output: Path | None, *, resume: bool, overwrite: bool, json: bool) -> BatchOutput | BinaryIO:
    """The file for the results, or a stream: standard output, a pipe, a device."""
    from agenticiqa.batch.outputs import BatchOutput
    from agenticiqa.runtime.files import is_stream

    if output is None:
        raise typer.BadParameter("--output is missing: name the file for the results, or - for standard output.")
    if output != terminal.STANDARD_OUTPUT and not is_stream(output):
        return BatchOutput.named(output)
    if resume or overwrite or json:
        raise typer.BadParameter(
            f"--output {output} prints JSON Lines: --resume and --overwrite need a file, --json the same place."
        )
    return terminal.output_stream(output)


def tools_named(measure: str | None) -> tuple[str, ...]:
    """The tools of --measure. An empty list is a mistake: without tools the agents would run, and might cost money."""
    names = tuple(options.listed(measure))
    if measure is not None and not names:
        raise typer.BadParameter("--measure names no tool: write, for example, --measure PSNR,SSIM.")
    return names


def _print_summary(summary: BatchSummary, output: Path | None) -> None:
    """On standard output, unless the results went there."""
    incomplete = f" ({summary.partial} partial)" if summary.partial else ""
    done = f"{summary.ok + summary.partial} of {summary.total} samples have a result{incomplete}"
    lines = [f"{done}: {output or 'the output'}", *summary.skipped.lines()]
    if summary.failed:
        more = summary.failed - SHOWN_IDS
        ids = f"{', '.join(summary.failed_ids[:SHOWN_IDS])}{f' and {more} more' if more > 0 else ''}"
        kinds = ", ".join(f"{kind} {count}" for kind, count in summary.errors.items())
        lines += [f"{summary.failed} failed: {kinds}", f"  {ids}"]
    if summary.not_done:
        why = {"interrupted": ": you stopped it", "budget": ": the budget is used up"}.get(summary.stopped or "", "")
        lines.append(f"{summary.not_done} not done{why}")
    if (summary.failed or summary.not_done) and output:
        lines.append("The same command with --resume continues: what succeeded is kept, what failed is tried again.")
    cost = "cost unknown" if summary.cost_usd is None else f"${summary.cost_usd:.4f}"
    lines.append(f"{summary.seconds:.1f} s, {summary.samples_per_second:.2f} samples/s, {summary.calls} calls, {cost}")
    typer.echo("\n".join(lines), err=output is None)


def _dry_run(manifest: Manifest, job: BatchJob, selection: SampleRange, *, json_output: bool) -> int:
    from agenticiqa.batch.manifest_checks import check_manifest
    from agenticiqa.batch.preparing import estimate, views_of

    problems: list[dict[str, Any]] = []

    def listen(line: int, problem: str) -> None:
        if json_output:
            problems.append({"line": line, "problem": problem})
        else:
            terminal.print_message(f"line {line}: {problem}")

    checked = check_manifest(manifest, job, on_problem=listen, look_for_files=True)
    count = checked.ledger.count
    checked.ledger.close()
    first, last = selection.bounds(count) if count else (0, 0)
    expected = estimate(job, last - first)
    calls, cost = expected.calls, expected.cost_usd
    found = {
        "samples": count,
        "selected": last - first,
        "invalid_rows": checked.problems,
        "skipped_files": manifest.skipped.as_dict(),
        "missing_pictures": checked.missing,
        "remote_pictures": checked.remote,
        "backends": job.backends,
        "tools": list(job.tools),
        "views": views_of(job),
        "calls": list(calls),
        "cost_usd": list(cost) if cost else None,
        "problems": problems,
    }
    lines = [
        f"{count} samples, {last - first} selected, {checked.problems} invalid rows",
        f"{checked.missing} pictures are missing, {checked.remote} are remote (not looked at)",
    ]
    if job.tools:
        lines.append(f"Tools: {', '.join(job.tools)}; no model is asked")
    else:
        named = (f"{role.partition(':')[0]} {name}" for role, name in job.backends.items())
        lines.append(f"Backends: {', '.join(named)}")
        lines.append(f"Calls: {calls[0]} to {calls[1]} (without, and with every allowed replan and view)")
        if found["views"] != "off":
            lines.append("Views: up to 4, of pictures that the model sees reduced; in the higher cost")
        lines.append(f"Cost: about ${cost[0]:.2f} to ${cost[1]:.2f}" if cost else "Cost: a price is not known")
    terminal.print_result(found, *lines, *manifest.skipped.lines(), as_json=json_output)
    if checked.problems or checked.without_picture == count:
        return terminal.ExitCode.ERROR
    return terminal.ExitCode.SOME if checked.without_picture else terminal.ExitCode.OK
