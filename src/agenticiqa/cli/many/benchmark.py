"""``agenticiqa benchmark``: this installation on a public dataset."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agenticiqa.cli.many.datasets import DrawnSamplesOption, FolderArgument, NameArgument, PartialOption, SubsetOption
from agenticiqa.cli.many.evaluate import show
from agenticiqa.cli.options import (
    BackendOption,
    ConfigOption,
    JsonOption,
    MaxReplanOption,
    ModeOption,
    ProfileOption,
    ResamplesOption,
    WithoutOption,
    chosen_mode,
    parts_left_out,
)
from agenticiqa.cli.terminal import error_console, print_json

if TYPE_CHECKING:
    from agenticiqa.evaluation.benchmark import Benchmark

DEFAULT_PAGE = Path("results.md")


def benchmark(
    name: NameArgument,
    folder: FolderArgument,
    backend: BackendOption = None,
    measure: Annotated[
        str | None, typer.Option("--measure", help="Tools to benchmark instead of the agents: PSNR,SSIM,…")
    ] = None,
    subset: SubsetOption = None,
    max_samples: DrawnSamplesOption = None,
    blind: Annotated[bool, typer.Option("--blind", help="Judge pictures without their references.")] = False,
    partial: PartialOption = False,
    results: Annotated[Path, typer.Option("--results", help="Page that a section is appended to.")] = DEFAULT_PAGE,
    work: Annotated[
        Path | None,
        typer.Option("--work", help="Folder for manifest and results.", show_default="benchmarks/NAME-METHOD"),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue a run that was stopped.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace results of an earlier run.")] = False,
    resamples: ResamplesOption = 1000,
    max_replan: MaxReplanOption = None,
    mode: ModeOption = None,
    without: WithoutOption = None,
    profile: ProfileOption = None,
    workers: Annotated[int | None, typer.Option("--workers", "-w", min=1, help="Samples worked on at once.")] = None,
    json_output: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Run a dataset, evaluate it, and append a section with protocol, versions and hardware to a results page."""
    from agenticiqa.batch.preparing import BatchRequest
    from agenticiqa.batch.runner import StopSwitch
    from agenticiqa.cli.many.batch import stopping_on_signals, tools_named
    from agenticiqa.cli.many.batch_progress import progress_display
    from agenticiqa.evaluation.agreement import FigureSettings
    from agenticiqa.evaluation.benchmark import Plan, run_benchmark
    from agenticiqa.evaluation.datasets.catalogue import find

    if resume and overwrite:
        raise typer.BadParameter("--resume and --overwrite contradict each other: choose one.")
    dataset = find(name)
    tools = tools_named(measure)
    chosen, left_out = chosen_mode(mode), parts_left_out(without)
    if tools and (chosen or left_out):
        raise typer.BadParameter("--mode and --without have no effect with --measure: no model is asked.")
    way = [profile, chosen if chosen == "direct" else None, *(f"without-{part}" for part in left_out or ())]
    named = [*(tools or [(backend or "default").replace("/", "-")]), *filter(None, way)]
    plan = Plan(
        dataset=dataset,
        folder=folder,
        work=work or Path("benchmarks") / "-".join([dataset.name, *named]),
        page=results,
        command=shlex.join(["agenticiqa", *sys.argv[1:]]),
        request=BatchRequest(
            backend=backend,
            config=config,
            max_replan=max_replan,
            mode=chosen,
            without=left_out,
            profile=profile,
            tools=tools,
        ),
        subset=subset,
        max_samples=max_samples,
        partial=partial,
        blind=blind,
        workers=workers,
        resume=resume,
        overwrite=overwrite,
        settings=FigureSettings(resamples=resamples),
    )
    stop = StopSwitch()
    with progress_display(error_console()) as on_progress, stopping_on_signals(stop):
        done = run_benchmark(plan, on_progress=on_progress, stop=stop)
    if json_output:
        print_json(_as_json(done, plan.work, results))
    else:
        _print(done, results)


def _as_json(done: Benchmark, work: Path, page: Path) -> dict[str, object]:
    return {
        "dataset": done.check.as_dict(),
        "batch": done.summary.as_dict(),
        "evaluations": [evaluation.as_dict() for evaluation in done.evaluations],
        "work": str(work),
        "page": str(page),
    }


def _print(done: Benchmark, page: Path) -> None:
    from agenticiqa.evaluation.benchmark import result_tables

    for table in result_tables(done.evaluations):
        show(table)
    typer.echo(f"Section appended to {page}.")
