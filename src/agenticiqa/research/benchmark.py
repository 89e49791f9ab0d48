"""Benchmark this package: a dataset's manifest, a batch over it, its evaluation, and a section in a results page."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timezone
from importlib import metadata as package_metadata
from pathlib import Path

from agenticiqa.batch.engines.base import Engine
from agenticiqa.batch.manifest import open_manifest
from agenticiqa.batch.preparing import BatchRequest, engine_factory, prepare_job
from agenticiqa.batch.runner import Batch, BatchSummary, ProgressListener, StopSwitch, refuse_unasked_overwriting
from agenticiqa.batch.work import BatchJob
from agenticiqa.errors import OutputError
from agenticiqa.nodes.ablation import may_replan
from agenticiqa.research.agreement import FigureSettings
from agenticiqa.research.datasets.checking import Check, write_manifest
from agenticiqa.research.datasets.folder import Dataset
from agenticiqa.research.evaluate import Evaluation, evaluate
from agenticiqa.research.results import FUSED, TOOL_PREFIX, EvaluationError, read_results
from agenticiqa.research.tables import Table, side_by_side, tables
from agenticiqa.runtime.files import refuse_to_replace, write_atomic

MANIFEST, RESULTS = "manifest.jsonl", "results.jsonl"
_PACKAGES = ("agenticiqa", "numpy", "scipy", "opencv-python-headless", "onnxruntime", "langgraph")
PAGE_ENDINGS = (".md", ".markdown")
HEADING = "# Results\n\nMeasured by `agenticiqa benchmark`; the newest section is the last.\n"


@dataclass(frozen=True)
class Plan:
    """What is benchmarked, and where its files go."""

    dataset: Dataset
    folder: Path
    work: Path
    """Keeps the manifest and the results, so that a run can be resumed and evaluated again."""
    page: Path
    command: str
    request: BatchRequest = field(default_factory=BatchRequest)
    subset: str | None = None
    max_samples: int | None = None
    partial: bool = False
    blind: bool = False
    workers: int | None = None
    resume: bool = False
    overwrite: bool = False
    settings: FigureSettings = field(default_factory=FigureSettings)


@dataclass(frozen=True)
class Benchmark:
    """How a benchmark ended. ``section`` is what was appended to the results page."""

    check: Check
    summary: BatchSummary
    evaluations: list[Evaluation]
    section: str


def run_benchmark(
    plan: Plan,
    *,
    on_progress: ProgressListener | None = None,
    stop: StopSwitch | None = None,
    make_engine: Callable[[BatchJob], Engine] | None = None,
) -> Benchmark:
    """Carry a plan out. A run that was stopped, or that has no answer at all, is not written to the page.

    ``make_engine`` runs the samples elsewhere than in processes or threads of the usual number.
    """
    check_page(plan.page)
    told = plan.resume or plan.overwrite
    refuse_unasked_overwriting(plan.work / RESULTS, told=told)
    refuse_to_replace(plan.work / MANIFEST, overwrite=told)
    job = prepare_job(plan.request)
    check = write_manifest(
        plan.dataset,
        plan.folder,
        plan.work / MANIFEST,
        subset=plan.subset,
        partial=plan.partial,
        max_samples=plan.max_samples,
        blind=plan.blind,
    )
    factory = (lambda: make_engine(job)) if make_engine else engine_factory(job, plan.workers)
    summary = _run_batch(plan, job, factory, on_progress or (lambda _: None), stop or StopSwitch())
    if summary.stopped:
        raise EvaluationError(
            f"The benchmark was stopped with {summary.not_done} samples to go.", hint="--resume continues it."
        )
    if not summary.ok + summary.partial:
        kinds = ", ".join(f"{kind} {count}" for kind, count in summary.errors.items())
        raise EvaluationError(
            f"None of {summary.total} samples has an answer ({kinds}).", hint=f"{plan.work / RESULTS} has the reasons."
        )
    # One for the fused score, or one for each tool of a run that only measured.
    scores = [f"{TOOL_PREFIX}{tool}" for tool in job.tools] or [FUSED]
    evaluations = [evaluate(read_results(plan.work / RESULTS, score=score), settings=plan.settings) for score in scores]
    section = _section(plan, job, check, summary, evaluations)
    append_section(plan.page, section)
    return Benchmark(check, summary, evaluations, section)


def _run_batch(
    plan: Plan, job: BatchJob, make_engine: Callable[[], Engine], on_progress: ProgressListener, stop: StopSwitch
) -> BatchSummary:
    with closing(open_manifest(str(plan.work / MANIFEST))) as manifest:
        return Batch(
            manifest=manifest,
            job=job,
            output=plan.work / RESULTS,
            make_engine=make_engine,
            resume=plan.resume,
            overwrite=plan.overwrite,
            on_progress=on_progress,
            stop=stop,
        ).run()


# --- the page --------------------------------------------------------------------------------------------


def check_page(page: Path) -> None:
    """Refuse what is no page of text, before anything is spent: a section at its end would spoil it."""
    if page.suffix.lower() not in PAGE_ENDINGS:
        raise OutputError(f"{str(page)!r} is no Markdown page.", hint=f"Name a file that ends in {PAGE_ENDINGS[0]}.")
    try:
        if page.exists():
            page.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise OutputError(f"{str(page)!r} is there and is no text.", hint="Name another page.") from None


def append_section(page: Path, section: str) -> None:
    """Add a section at the end of a results page, which is made if it is not there."""
    old = page.read_text(encoding="utf-8") if page.exists() else HEADING
    write_atomic(page, f"{old.rstrip()}\n\n{section.strip()}\n")


def _section(plan: Plan, job: BatchJob, check: Check, summary: BatchSummary, evaluations: Sequence[Evaluation]) -> str:
    method = ", ".join(job.tools) or ", ".join(sorted(set(job.backends.values())))
    now = datetime.now(timezone.utc)
    lines = [
        f"## {check.dataset.title} ({check.subset}, {summary.total} of {check.expected}), {method}, {now:%Y-%m-%d}",
        "",
    ]
    lines += [f"- {label}: {text}" for label, text in _facts(plan, job, check, summary, now).items()]
    return "\n".join(lines) + "\n\n" + "\n".join(table.markdown() for table in result_tables(evaluations))


def result_tables(evaluations: Sequence[Evaluation]) -> Iterator[Table]:
    """One method in full, several beside each other."""
    yield from tables(evaluations[0]) if len(evaluations) == 1 else side_by_side(evaluations)


def _facts(plan: Plan, job: BatchJob, check: Check, summary: BatchSummary, now: datetime) -> dict[str, str]:
    drawn = f"{summary.total} drawn from" if plan.max_samples else "all"
    gaps = f", {check.listed - check.present} without their pictures left out" if check.listed > check.present else ""
    return {
        "Command": f"`{plan.command}`",
        "Date": f"{now:%Y-%m-%d %H:%M} UTC",
        "Samples": f"{drawn} {check.present} of {check.listed} listed (official count {check.expected}){gaps}",
        "Opinions": check.dataset.scale,
        "Protocol": _protocol(plan, job),
        "Versions": ", ".join(versions()),
        "Hardware": hardware(),
        "Time": f"{summary.seconds:.0f} s, {summary.samples_per_second:.2f} samples/s"
        + (f", {summary.done_earlier} samples from an earlier run" if summary.done_earlier else ""),
        "Cost": "unknown" if summary.cost_usd is None else f"${summary.cost_usd:.4f}" if summary.cost_usd else "none",
    }


def _protocol(plan: Plan, job: BatchJob) -> str:
    references = check_references(plan)
    if job.tools:
        return f"tools alone, calibrated scores, {references}"
    roles = ", ".join(f"{role} {backend}" for role, backend in job.backends.items())
    pipeline = job.settings.pipeline
    question = "the set's own questions" if plan.dataset.kind == "questions" else f"“{job.query}”"
    if pipeline.mode == "direct":
        return f"{question}; {references}; the model alone (--mode direct): {job.backends['summarizer']}"
    passes = max(1, pipeline.max_replan_iterations) if may_replan(pipeline.without) else 1
    left_out = f"; without {', '.join(pipeline.without)}" if pipeline.without else ""
    return f"{question}; {references}; at most {passes} passes; {roles}{left_out}"


def check_references(plan: Plan) -> str:
    """Whether pictures were judged beside their references."""
    if plan.dataset.kind != "full-reference":
        return "without references"
    return "references withheld (--blind)" if plan.blind else "with references"


def versions() -> list[str]:
    """Of Python and of the packages that results depend on."""
    found = [f"Python {platform.python_version()}"]
    for package in _PACKAGES:
        try:
            found.append(f"{package} {package_metadata.version(package)}")
        except package_metadata.PackageNotFoundError:
            continue
    return found


def hardware() -> str:
    """The machine in one line."""
    memory = _memory_gib()
    return f"{_processor()}, {os.cpu_count()} cores, {memory}{platform.system()} {platform.machine()}"


def _processor() -> str:
    """Linux names the model in a file; elsewhere Python's own answer has to do."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines() if cpuinfo.is_file() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or "unknown processor")


def _memory_gib() -> str:
    sysconf: Callable[[str], int] | None = getattr(os, "sysconf", None)
    if sysconf is None:
        return ""
    return f"{sysconf('SC_PAGE_SIZE') * sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB, "
