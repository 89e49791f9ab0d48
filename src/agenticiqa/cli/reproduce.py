"""``agenticiqa reproduce``: the paper's tables in one command."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agenticiqa.cli import options
from agenticiqa.cli.batch import watched
from agenticiqa.cli.options import finite
from agenticiqa.cli.results import (
    ClassConfidenceOption,
    CurvesOption,
    EtaOption,
    PrintedFormulaOption,
    rescoring_asked,
    show,
)
from agenticiqa.cli.terminal import ExitCode, print_json, say

if TYPE_CHECKING:
    from agenticiqa.research.reproduction.methods import Cell, Choices
    from agenticiqa.research.reproduction.reproduce import ReproductionRequest
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
    planner: Annotated[str | None, typer.Option(help="roles: backends to try as planner.")] = None,
    executor: Annotated[str | None, typer.Option(help="roles: backends to try as executor.")] = None,
    summarizer: Annotated[str | None, typer.Option(help="roles: backends to try as summarizer.")] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for tables and results; what is done there is kept.")
    ] = Path("reproduction"),
    max_samples: options.DrawnSamplesOption = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="File with the pictures or sample ids that count; or NAME=FILE, several times."),
    ] = None,
    blind: options.BlindOption = False,
    partial: options.PartialOption = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what is left to do and what it would cost.")] = False,
    no_run: Annotated[bool, typer.Option("--no-run", help="Make the tables of what is stored, ask nothing.")] = False,
    eta: EtaOption = None,
    class_confidence: ClassConfidenceOption = None,
    calibrations: CurvesOption = None,
    printed_formula: PrintedFormulaOption = False,
    budget_usd: Annotated[
        float | None, typer.Option(callback=finite, min=0, help="For everything together, earlier runs included.")
    ] = None,
    rpm: options.RpmOption = None,
    tpm: options.TpmOption = None,
    workers: options.WorkersOption = None,
    timeout: options.TimeoutOption = 600.0,
    profile: options.ProfileOption = None,
    max_replan: options.MaxReplanOption = None,
    resamples: options.ResamplesOption = 1000,
    memory: options.MemoryOption = None,
    json_output: options.JsonOption = False,
    config: options.ConfigOption = None,
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

    options.choose_one(dry_run=dry_run, no_run=no_run)
    anew = rescoring_asked(config, eta, class_confidence, None, calibrations, printed_formula=printed_formula)
    if anew and not no_run:
        raise typer.BadParameter("--eta and its like score stored results anew: they go with --no-run.")
    sets = find_sets(data, options.listed(datasets), Selection(max_samples, blind, partial), read_only(only or ()))
    by_role = {"planner": planner, "executor": executor, "summarizer": summarizer}
    choices = _choices(models, methods, tools, by_role)
    if (parts := options.parts_left_out(without)) is not None:
        choices = replace(choices, without=parts)
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


def _choices(models: str, methods: str, tools: str | None, by_role: dict[str, str | None]) -> Choices:
    from agenticiqa.research.reproduction.methods import KINDS, Choices

    kinds = tuple(options.listed(methods))
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown or not kinds:
        raise typer.BadParameter(f"--methods takes {', '.join(KINDS)}, or some of them.")
    if not options.listed(models):
        raise typer.BadParameter("--models names no backend: write, for example, --models embedded.")
    roles = {role: tuple(options.listed(text)) for role, text in by_role.items() if text is not None}
    named = tuple(options.listed(tools)) if tools else None
    return Choices(tuple(dict.fromkeys(options.listed(models))), kinds, named, roles=roles)


# --- running ---


def _run(order: ReproductionRequest, *, json_output: bool) -> int:
    from agenticiqa.batch.runner import StopSwitch
    from agenticiqa.research.reproduction.reproduce import reproduce as run
    from agenticiqa.research.reproduction.running import Listener
    from agenticiqa.research.reproduction.tables import brief

    def announce(place: int, count: int, cell: Cell) -> None:
        say(f"{place}/{count} {cell.name}")

    stop = StopSwitch()
    with watched(stop) as progress:
        found = run(order, listener=Listener(announce, progress), stop=stop)
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


# --- what it would take ---


def _dry_run(order: ReproductionRequest, *, json_output: bool) -> int:
    from agenticiqa.research.reproduction.running import forecast

    found = forecast(order.cells, order.conditions)
    if json_output:
        print_json(_as_json(found))
    else:
        _print_forecast(found)
    return ExitCode.OK if any(each.estimate for each in found) else ExitCode.ERROR


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
