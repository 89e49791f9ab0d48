"""The paper's tables in one command, from a checkout of the repository.

PYTHONPATH=src:. python -m benchmarks.paper ratings --data /data --models embedded
"""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from benchmarks.datasets.options import BlindOption, DrawnSamplesOption, PartialOption
from benchmarks.paper.methods import KINDS, Choices, studies
from benchmarks.paper.reproduce import ReproductionRequest
from benchmarks.paper.reproduce import reproduce as run
from benchmarks.paper.running import Conditions, forecast
from benchmarks.paper.sets import Selection, find_sets, read_only
from benchmarks.paper.tables import brief
from benchmarks.paper.views import judged_photographs

from agenticiqa.batch.preparing import BatchRequest, missing_tools, prepare_job
from agenticiqa.batch.rate_limits import RateLimits, parse_limit
from agenticiqa.batch.runner import StopSwitch
from agenticiqa.cli import options
from agenticiqa.cli.batch import watched
from agenticiqa.cli.main import main
from agenticiqa.cli.options import finite
from agenticiqa.cli.results import show
from agenticiqa.cli.terminal import ExitCode, print_json, print_message
from agenticiqa.research.tables import UNDEFINED, Table

FROM_CACHE = "Calls that several methods have in common are made once: the real figures are lower."


def reproduce(
    table: Annotated[
        str,
        typer.Argument(
            metavar="TABLE", help="ratings, eval, qbench, ablations, all of them; or views.", show_default=False
        ),
    ],
    data: Annotated[
        list[str],
        typer.Option(
            "--data",
            help="Folder that holds one folder per dataset; or NAME=FOLDER, several times. Of views: the photographs.",
        ),
    ],
    models: Annotated[
        str, typer.Option(help="Backends to compare: embedded,openai.gpt-4o,qwen2.5-vl-local,…")
    ] = "embedded",
    methods: Annotated[
        str, typer.Option(help="Kinds of methods: metrics (tools alone), direct (bare models), agents.")
    ] = "metrics,direct,agents",
    without: Annotated[
        str | None, typer.Option(help="ablations: the parts to leave out, one at a time. Default: each of them.")
    ] = None,
    tools: Annotated[
        str | None, typer.Option(help="Tools to measure alone. Default: the paper's that run here, and ours.")
    ] = None,
    datasets: Annotated[str | None, typer.Option(help="Of those in the folder only these: tid2013,bid,…")] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for tables and results; what is done there is kept.")
    ] = Path("reproduction"),
    max_samples: DrawnSamplesOption = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="File with the pictures or sample ids that count; or NAME=FILE, several times."),
    ] = None,
    blind: BlindOption = False,
    partial: PartialOption = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what is left to do and what it would cost.")] = False,
    no_run: Annotated[bool, typer.Option("--no-run", help="Make the tables of what is stored, ask nothing.")] = False,
    budget_usd: Annotated[
        float | None, typer.Option(callback=finite, min=0, help="For everything together, earlier runs included.")
    ] = None,
    rpm: options.RpmOption = None,
    tpm: options.TpmOption = None,
    workers: options.WorkersOption = None,
    timeout: options.TimeoutOption = 600.0,
    profile: options.ProfileOption = None,
    strict: options.StrictOption = False,
    max_replan: options.MaxReplanOption = None,
    resamples: options.ResamplesOption = 1000,
    memory: options.MemoryOption = None,
    json_output: options.JsonOption = False,
    config: options.ConfigOption = None,
) -> None:
    """Run datasets × methods and write the paper's tables as Markdown and JSON.

    The same command again goes on where it was stopped or killed. Exit code 0 when every row is complete, 2 when some
    are, 1 when none is, 130 after Ctrl-C.
    """

    options.choose_one(dry_run=dry_run, no_run=no_run)
    selection, kept = Selection(max_samples, blind, partial), read_only(only or ())
    if table == "views":
        sets = [judged_photographs(data, replace(selection, only=kept.get(None)))]
    else:
        sets = find_sets(data, options.listed(datasets), selection, kept)
    choices = _choices(models, methods, tools)
    if (parts := options.parts_left_out(without)) is not None:
        choices = replace(choices, without=parts)
    order = ReproductionRequest(
        studies=studies(table, sets, choices),
        output=output,
        command=shlex.join(["python", "-m", "benchmarks.paper", *sys.argv[1:]]),
        conditions=Conditions(
            request=BatchRequest(
                config=config, max_replan=max_replan, profile=profile, timeout_s=timeout, memory=memory
            ),
            limits=RateLimits(parse_limit(rpm), parse_limit(tpm)),
            workers=workers,
            budget_usd=budget_usd,
        ),
        resamples=resamples,
        runs=not no_run,
    )
    if "agents" in choices.kinds or table in ("ablations", "views", "all"):
        # The tools are the same whichever model chooses them.
        for note in missing_tools(prepare_job(replace(order.conditions.request, backend="embedded")), strict=strict):
            print_message(f"Warning: {note}")
    raise typer.Exit(_dry_run(order, json_output=json_output) if dry_run else _run(order, json_output=json_output))


def _choices(models: str, methods: str, tools: str | None) -> Choices:

    kinds = tuple(options.listed(methods))
    if not kinds or not {*kinds} <= {*KINDS}:
        raise typer.BadParameter(f"--methods takes {', '.join(KINDS)}, or some of them.")
    if not options.listed(models):
        raise typer.BadParameter("--models names no backend: write, for example, --models embedded.")
    return Choices(tuple(dict.fromkeys(options.listed(models))), kinds, tuple(options.listed(tools)) or None)


def _run(order: ReproductionRequest, *, json_output: bool) -> int:

    stop = StopSwitch()
    with watched(stop) as progress:
        found = run(
            order,
            announce=lambda place, count, cell: print_message(
                f"{place}/{count} {cell.judged.title}: {cell.method.label}"
            ),
            on_progress=progress,
            stop=stop,
        )
    complete = [each.complete for result in found for each in result.outcomes]
    if json_output:
        print_json([result.as_dict() for result in found])
    else:
        for result in found:
            show(brief(result.table))
            typer.echo(f"{result.study.table}: {', '.join(str(file) for file in result.files)}\n")
        if not all(complete):
            typer.echo(f"{complete.count(False)} cells are not complete; the same command goes on with them.")
    if stop.asked:
        return ExitCode.INTERRUPTED
    return ExitCode.OK if all(complete) else ExitCode.SOME if any(complete) else ExitCode.ERROR


def _dry_run(order: ReproductionRequest, *, json_output: bool) -> int:
    """Tell what is left to do and what it would cost."""

    found = forecast(order.cells, order.conditions)
    runs = [each for each in found if each.estimate]
    cells = [
        {
            "set": each.cell.judged.name,
            "method": each.cell.method.label,
            "samples": each.samples,
            "done": each.done,
            "calls": list(each.estimate.calls) if each.estimate else None,
            "cost_usd": list(each.estimate.cost_usd) if each.estimate and each.estimate.cost_usd else None,
            "reason": each.reason,
        }
        for each in found
    ]
    prices = [each.estimate.cost_usd for each in runs if each.estimate]
    known = [price for price in prices if price is not None]
    left = sum(max(each.samples - each.done, 0) for each in runs)
    calls = [sum(each.estimate.calls[end] for each in runs if each.estimate) for end in (0, 1)]
    cost = [round(sum(price[end] for price in known), 4) for end in (0, 1)] if len(known) == len(prices) else None
    if json_output:
        print_json({"cells": cells, "samples": left, "calls": calls, "cost_usd": cost, "note": FROM_CACHE})
        return ExitCode.OK if runs else ExitCode.ERROR

    rows = []
    tools_alone = [each for each in runs if each.cell.method.kind == "metric"]
    for each in (each for each in found if each not in tools_alone):
        taken, price = UNDEFINED, each.reason or "unknown"
        if each.estimate:
            taken = _range(*(f"{count:,}" for count in each.estimate.calls))
            money = each.estimate.cost_usd
            price = _range(*(f"{amount:,.2f}" for amount in money)) if money else "unknown"
        names = [each.cell.judged.title, each.cell.method.label]
        rows.append([*names, f"{each.samples:,}", f"{each.done:,}", taken, price])
    total = f"${cost[0]:,.2f} to ${cost[1]:,.2f}" if cost else "an unknown sum: a price is not known"
    notes = [
        f"Left: {left:,} samples, {calls[0]:,} to {calls[1]:,} calls (without and with every allowed replan), {total}.",
        FROM_CACHE,
        *([f"{len(tools_alone)} more cells are tools alone, which ask nothing."] if tools_alone else []),
        *(f"{reason}." for reason in dict.fromkeys(each.reason for each in runs if each.reason)),
    ]
    show(Table("What it would take", ["Set", "Method", "Samples", "Done", "Calls left", "US$ left"], rows, notes))
    return ExitCode.OK if runs else ExitCode.ERROR


def _range(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


if __name__ == "__main__":
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(reproduce)
    main(app)
