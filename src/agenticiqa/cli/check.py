"""``agenticiqa check``: pass or fail of every picture of a folder, by rules."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agenticiqa.cli import options, terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agenticiqa.auditing.checking import CheckReport

SHOWN_FAILURES = 50


def check(
    source: Annotated[str, typer.Argument(metavar="FOLDER", help="A folder, with its subfolders; or a pattern.")],
    rules: Annotated[str, typer.Option(help="A YAML file, or: marketplace, dataset, photo_desk.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="All pictures as .csv or .jsonl.")] = None,
    resume: options.ResumeOption = False,
    overwrite: options.OverwriteOption = False,
    workers: options.WorkersOption = None,
    timeout: options.TimeoutOption = 600.0,
    memory: options.MemoryOption = None,
    json_output: options.JsonOption = False,
    config: options.ConfigOption = None,
) -> None:
    """Hold every picture of a folder against rules: pass or fail, with each reason in words.

    Exit code 0 when all pass, 3 when some fail, 1 when no picture could be opened, 130 after Ctrl-C.
    """
    from agenticiqa.auditing.checking import CheckReport
    from agenticiqa.auditing.rules import load_rules
    from agenticiqa.auditing.running import AuditRequest, run_audit
    from agenticiqa.batch.outputs import format_of
    from agenticiqa.batch.runner import StopSwitch
    from agenticiqa.cli.batch import exit_if_stopped, watched

    options.choose_one(resume=resume, overwrite=overwrite)
    wanted, replace = load_rules(rules), resume or overwrite
    options.check_outputs(output, inputs=[source, rules], overwrite=replace)
    if output is not None:
        format_of(output)
    elif resume:
        raise typer.BadParameter("--resume continues what --output names: give the same as before.")
    stop = StopSwitch()
    with watched(stop) as on_progress:
        request = AuditRequest(
            source,
            quick=not wanted.need_the_model,
            records=output.with_name(f"{output.name}.records") if output else None,
            resume=resume,
            overwrite=overwrite,
            workers=workers,
            timeout_s=timeout,
            memory=memory,
            config=config,
            on_progress=on_progress,
            stop=stop,
        )
        audit, batch = run_audit(request)
    exit_if_stopped(batch, resumable=output is not None)
    report = CheckReport(audit, wanted)
    if output is not None:
        report.save(output, overwrite=replace)
    if json_output:
        terminal.print_json(report.as_dict())
    else:
        terminal.print_lines(_lines(report))
    for line in batch.skipped.lines():
        terminal.print_message(line)
    if not batch.ok:
        raise typer.Exit(terminal.ExitCode.ERROR)
    raise typer.Exit(terminal.ExitCode.BELOW_THRESHOLD if report.failed else terminal.ExitCode.OK)


def _lines(report: CheckReport) -> Iterator[str]:
    failing = (row for row in report if not row["passed"])
    for row in islice(failing, SHOWN_FAILURES):
        yield row["path"]
        yield from (f"  {reason}" for reason in row["reasons"].values())
    if report.failed > SHOWN_FAILURES:
        yield f"… and {report.failed - SHOWN_FAILURES} more: --output lists all"
    yield str(report)
