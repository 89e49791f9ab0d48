"""``agenticiqa runs``: what was asked before."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agenticiqa.cli.assess import assessing, exit_code, show, unless_full
from agenticiqa.cli.options import BackendOption, ConfigOption, JsonOption, NoCacheOption
from agenticiqa.cli.terminal import ExitCode, output_console, print_json, print_message

if TYPE_CHECKING:
    from agenticiqa.runtime.runs import RunRecord, RunStore

app = typer.Typer(help="List, show, replay and resume recorded runs.", no_args_is_help=True)
RunArgument = Annotated[str, typer.Argument(help="The run's id, or its beginning.")]


def _store(config: Path | None) -> RunStore:
    from agenticiqa.runtime.config import load_settings
    from agenticiqa.runtime.runs import RunStore

    return RunStore(load_settings(config).runs_database)


@app.command("list")
def list_runs(
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many, newest first.")] = 20,
    json_output: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """List recorded runs, newest first."""
    records = _store(config).latest(count)
    if json_output:
        print_json([_summary(record) for record in records])
        return
    if not records:
        typer.echo("No runs are recorded yet. `agenticiqa assess photo.jpg` makes one.")
        return
    from rich.markup import escape
    from rich.table import Table

    console, table = output_console(), Table(box=None, pad_edge=False)
    # What tells runs apart is always there in full; picture and question share what room is left.
    known = {"Run": 12, "Started": 11, "Answer": 15}
    left = max(console.width - sum(known.values()) - 2 * len(known) - 2, 24)
    for column, wide in {**known, "Picture": left * 4 // 9, "Question": left - left * 4 // 9}.items():
        table.add_column(column, overflow="ellipsis", no_wrap=True, width=wide)
    for record in records:
        # Without an answer, or without a whole one, it is told what else became of the run.
        score = "" if record.score is None else f" {record.score:.2f}"
        outcome = f"{record.answer}{score}" if record.answer else record.status
        if record.answer and record.status != "ok":
            outcome = f"{outcome}, {record.status}"
        started, picture = record.started_at[5:16].replace("T", " "), Path(record.image_path).name
        table.add_row(record.id, started, escape(outcome), escape(picture), escape(record.query))
    console.print(table)


def _summary(record: RunRecord) -> dict[str, object]:
    return {key: value for key, value in asdict(record).items() if key not in ("request", "result")}


@app.command("show")
def show_run(run: RunArgument, json_output: JsonOption = False, config: ConfigOption = None) -> None:
    """Show one recorded run: plan, evidence, answer, calls, cost and timings."""
    from agenticiqa.nodes.results import Assessment

    record = _store(config).find(run)
    if record.result is None:
        if json_output:
            print_json({**_summary(record), "request": record.request})
        else:
            print_message(f"Run {record.id} did not finish. `agenticiqa runs resume {record.id}` continues it.")
        raise typer.Exit(ExitCode.ERROR)
    show(Assessment.model_validate(record.result), json_output=json_output)


@app.command("replay")
def replay(
    run: RunArgument,
    backend: BackendOption = None,
    json_output: JsonOption = False,
    no_cache: NoCacheOption = False,
    config: ConfigOption = None,
) -> None:
    """Ask a recorded question again, on the backend that was named for it, and say whether the answer changed."""
    with assessing(backend, config, quiet=json_output, no_cache=no_cache) as assessor:
        record, result = assessor.replay(run)
    show(result, json_output=json_output)
    if not json_output and result.status != "error":
        same = result.answer == record.answer
        typer.echo("The answer is the same as before." if same else f"The answer before was {record.answer}.")
    raise typer.Exit(unless_full(exit_code(result), assessor))


@app.command("resume")
def resume(
    run: RunArgument, backend: BackendOption = None, json_output: JsonOption = False, config: ConfigOption = None
) -> None:
    """Continue an interrupted run at the agent where it stopped, on the backend that was named for it."""
    with assessing(backend, config, quiet=json_output) as assessor:
        result = assessor.resume(run)
    show(result, json_output=json_output)
    raise typer.Exit(unless_full(exit_code(result), assessor))
