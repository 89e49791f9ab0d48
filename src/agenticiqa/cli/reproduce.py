"""``agenticiqa reproduce``: the paper's tables in one command."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agenticiqa.cli.options import (
    ConfigOption,
    JsonOption,
    MaxReplanOption,
    MemoryOption,
    ProfileOption,
    ResamplesOption,
    finite,
    parts_left_out,
)
from agenticiqa.cli.results import (
    ClassConfidenceOption,
    CurvesOption,
    EtaOption,
    PrintedFormulaOption,
    rescoring_asked,
)
from agenticiqa.cli.terminal import EXIT_ERROR, EXIT_INTERRUPTED, EXIT_OK, EXIT_SOME, error_console, print_json

if TYPE_CHECKING:
    from agenticiqa.research.reproduction.methods import Cell, Choices
    from agenticiqa.research.reproduction.reproduce import ReproductionRequest, StudyResult
    from agenticiqa.research.reproduction.running import Forecast

FROM_CACHE = "Calls that several methods have in common are made once: the real figures are lower."


def reproduce(
    table: Annotated[
        str,
        typer.Argument(metavar="TABLE", help="ratings, eval, qbench, ablations, roles, or all.", show_default=False),
    ],
    data: Annotated[
        list[str],
        typer.Option("--data", help="Folder that holds one folder per dataset; or NAME=FOLDER, several times."),
    ],
    models: Annotated[
        str, typer.Option("--models", help="Backends to compare: embedded,openai.gpt-4o,qwen2.5-vl-local,…")
    ] = "embedded",
    methods: Annotated[
        str, typer.Option("--methods", help="Kinds of methods: metrics (tools alone), direct (bare models), agents.")
    ] = "metrics,direct,agents",
    without: Annotated[
        str | None,
        typer.Option("--without", help="ablations: the parts to leave out, one at a time. Default: each of them."),
    ] = None,
    tools: Annotated[
        str | None,
        typer.Option("--tools", help="Tools to measure alone. Default: the paper's that run here, and ours."),
    ] = None,
    datasets: Annotated[
        str | None, typer.Option("--datasets", help="Of those in the folder only these: tid2013,bid,…")
    ] = None,
    planner: Annotated[str | None, typer.Option("--planner", help="roles: backends to try as planner.")] = None,
    executor: Annotated[str | None, typer.Option("--executor", help="roles: backends to try as executor.")] = None,
    summarizer: Annotated[
        str | None, typer.Option("--summarizer", help="roles: backends to try as summarizer.")
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for tables and results; what is done there is kept.")
    ] = Path("reproduction"),
    max_samples: Annotated[
        int | None, typer.Option("--max-samples", min=1, help="Draw this many of each set, the same ones every time.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="File with the pictures or sample ids that count; or NAME=FILE, several times."),
    ] = None,
    blind: Annotated[bool, typer.Option("--blind", help="Judge pictures without their references.")] = False,
    partial: Annotated[bool, typer.Option("--partial", help="Go on although pictures are missing.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what is left to do and what it would cost.")] = False,
    no_run: Annotated[bool, typer.Option("--no-run", help="Make the tables of what is stored, ask nothing.")] = False,
    eta: EtaOption = None,
    class_confidence: ClassConfidenceOption = None,
    calibrations: CurvesOption = None,
    printed_formula: PrintedFormulaOption = False,
    budget_usd: Annotated[
        float | None,
        typer.Option("--budget-usd", callback=finite, min=0, help="For everything together, earlier runs included."),
    ] = None,
    rpm: Annotated[
        str | None, typer.Option("--rpm", help="Requests per minute: 500, or openai=500,anthropic=50.")
    ] = None,
    tpm: Annotated[str | None, typer.Option("--tpm", help="Tokens per minute, written likewise.")] = None,
    workers: Annotated[int | None, typer.Option("--workers", "-w", min=1, help="Samples worked on at once.")] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", callback=finite, min=0.1, help="Seconds a sample may take.")
    ] = 600.0,
    profile: ProfileOption = None,
    max_replan: MaxReplanOption = None,
    resamples: ResamplesOption = 1000,
    memory: MemoryOption = None,
    json_output: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Run datasets × methods and write the paper's tables: Markdown, CSV, JSON and a page with charts.

    The same command again goes on where it was stopped or killed. Exit code 0 when every row is complete, 2 when some
    are, 1 when none is, 130 after Ctrl-C.
    """
    from agenticiqa.batch.preparing import BatchRequest
    from agenticiqa.batch.rate_limits import RateLimits, parse_limit
    from agenticiqa.research.reproduction.methods import studies
    from agenticiqa.research.reproduction.reproduce import ReproductionRequest
    from agenticiqa.research.reproduction.running import Conditions
    from agenticiqa.research.reproduction.sets import Selection, find_sets, read_only

    if dry_run and no_run:
        raise typer.BadParameter("--dry-run and --no-run contradict each other: choose one.")
    anew = rescoring_asked(config, eta, class_confidence, None, calibrations, printed_formula=printed_formula)
    if anew and not no_run:
        raise typer.BadParameter("--eta and its like score stored results anew: they go with --no-run.")
    sets = find_sets(data, _listed(datasets), Selection(max_samples, blind, partial), read_only(only or ()))
    by_role = {"planner": planner, "executor": executor, "summarizer": summarizer}
    choices = replace(_choices(models, methods, tools, by_role), **_left_out(without))
    order = ReproductionRequest(
        studies=studies(table, sets, choices),
        output=output,
        command=shlex.join(["agenticiqa", *sys.argv[1:]]),
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
        rescoring=anew,
    )
    raise typer.Exit(_dry_run(order, json_output=json_output) if dry_run else _run(order, json_output=json_output))


def _listed(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _choices(models: str, methods: str, tools: str | None, by_role: dict[str, str | None]) -> Choices:
    from agenticiqa.research.reproduction.methods import KINDS, Choices

    kinds = tuple(_listed(methods))
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown or not kinds:
        raise typer.BadParameter(f"--methods takes {', '.join(KINDS)}, or some of them.")
    if not _listed(models):
        raise typer.BadParameter("--models names no backend: write, for example, --models embedded.")
    roles = {role: tuple(_listed(text)) for role, text in by_role.items() if text is not None}
    named = tuple(_listed(tools)) if tools else None
    return Choices(tuple(dict.fromkeys(_listed(models))), kinds, named, roles=roles)


def _left_out(without: str | None) -> dict[str, Any]:
    parts = parts_left_out(without)
    return {} if parts is None else {"without": parts}


# --- running ---------------------------------------------------------------------------------------------


def _run(order: ReproductionRequest, *, json_output: bool) -> int:
    from agenticiqa.batch.runner import StopSwitch
    from agenticiqa.cli.batch import progress_display, stopping_on_signals
    from agenticiqa.research.reproduction.reproduce import reproduce as run
    from agenticiqa.research.reproduction.running import Listener

    def announce(place: int, count: int, cell: Cell) -> None:
        error_console().print(f"{place}/{count} {cell.name}", highlight=False, markup=False, soft_wrap=True)

    stop = StopSwitch()
    with progress_display(error_console()) as progress, stopping_on_signals(stop):
        found = run(order, listener=Listener(announce, progress), stop=stop)
    if json_output:
        print_json([result.as_dict() for result in found])
    else:
        _show(found)
    if stop.asked:
        return EXIT_INTERRUPTED
    complete = [each.complete for result in found for each in result.outcomes]
    return EXIT_OK if all(complete) else EXIT_SOME if any(complete) else EXIT_ERROR


def _show(found: list[StudyResult]) -> None:
    from agenticiqa.cli.results import show
    from agenticiqa.research.reproduction.tables import brief

    for result in found:
        show(brief(result.table))
        typer.echo(f"{result.study.table}: {', '.join(str(file) for file in result.files)}\n")
    unfinished = sum(not each.complete for result in found for each in result.outcomes)
    if unfinished:
        typer.echo(f"{unfinished} cells are not complete; the same command goes on with them.")


# --- what it would take ----------------------------------------------------------------------------------


def _dry_run(order: ReproductionRequest, *, json_output: bool) -> int:
    from agenticiqa.research.reproduction.running import forecast

    found = forecast(order.cells, order.conditions)
    if json_output:
        print_json(_as_json(found))
    else:
        _print_forecast(found)
    return EXIT_OK if any(each.estimate for each in found) else EXIT_ERROR


def _as_json(found: list[Forecast]) -> dict[str, Any]:
    return {
        "cells": [
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
        ],
        **_totals(found),
    }


def _totals(found: list[Forecast]) -> dict[str, Any]:
    estimates = [each.estimate for each in found if each.estimate]
    costs = [each.cost_usd for each in estimates]
    known = [cost for cost in costs if cost is not None]
    total = [round(sum(cost[end] for cost in known), 4) for end in (0, 1)]
    return {
        "samples": sum(max(each.samples - each.done, 0) for each in found if each.estimate),
        "calls": [sum(each.calls[end] for each in estimates) for end in (0, 1)],
        "cost_usd": total if len(known) == len(costs) else None,
        "note": FROM_CACHE,
    }


def _print_forecast(found: list[Forecast]) -> None:
    from agenticiqa.cli.results import show
    from agenticiqa.research.tables import UNDEFINED, Table

    rows = [_measuring_row(title, own) for title, own in _measuring(found).items()]
    for each in found:
        if each.cell.method.tool and each.estimate:
            continue
        calls, cost = UNDEFINED, each.reason or "unknown"
        if each.estimate:
            calls = _range(*(f"{count:,}" for count in each.estimate.calls))
            prices = each.estimate.cost_usd
            cost = _range(*(f"{price:,.2f}" for price in prices)) if prices else "unknown"
        method = each.cell.method.label
        rows.append([each.cell.judged.title, method, f"{each.samples:,}", f"{each.done:,}", calls, cost])
    totals = _totals(found)
    price = totals["cost_usd"]
    money = f"${price[0]:,.2f} to ${price[1]:,.2f}" if price else "an unknown sum: a price is not known"
    notes = [
        f"Left: {totals['samples']:,} samples, {totals['calls'][0]:,} to {totals['calls'][1]:,} calls (without, and "
        f"with every allowed replan), {money}. {FROM_CACHE}"
    ]
    notes += [f"{reason}." for reason in dict.fromkeys(each.reason for each in found if each.reason and each.estimate)]
    show(Table("What it would take", ["Set", "Method", "Samples", "Done", "Calls left", "US$ left"], rows, notes))


def _measuring(found: list[Forecast]) -> dict[str, list[Forecast]]:
    """Tools ask nothing and cost nothing: one line for all of a set's."""
    by_set: dict[str, list[Forecast]] = {}
    for each in found:
        if each.cell.method.tool and each.estimate:
            by_set.setdefault(each.cell.judged.title, []).append(each)
    return by_set


def _measuring_row(title: str, own: list[Forecast]) -> list[str]:
    samples, done = (sum(getattr(each, name) for each in own) for name in ("samples", "done"))
    return [title, f"{len(own)} tools alone", f"{samples:,}", f"{done:,}", "0", "0"]


def _range(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"
