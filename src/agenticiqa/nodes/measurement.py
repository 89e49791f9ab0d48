"""The executor's last step: which tool runs on which region, and under which name its score is filed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from agenticiqa.errors import ToolError
from agenticiqa.pictures.images import Box
from agenticiqa.pictures.regions import find_region
from agenticiqa.runtime.config import ToolSettings
from agenticiqa.state import ToolExecutionLog
from agenticiqa.tools.measuring import JobResult, ToolJob, ToolRunner
from agenticiqa.tools.registry import Tool, ToolRegistry
from agenticiqa.vlm_client import Selection
from agenticiqa.vocabulary import GLOBAL

Scores = dict[str, dict[str, tuple[str, float]]]
"""(tool, calibrated score) by object and distortion."""


@dataclass(frozen=True)
class MeasurementJob:
    """A tool to run and where its score belongs."""

    tool: Tool
    box: Box | None
    filed_under: str
    distortions: tuple[str, ...]
    note: str | None = None

    @property
    def job(self) -> ToolJob:
        return ToolJob(self.tool, self.box)


@dataclass(frozen=True)
class MeasuredScores:
    """Scores in the documents' shape, and a log entry for every run of a tool."""

    scores: Scores | None
    logs: list[ToolExecutionLog]
    permanent_failures: Mapping[ToolJob, str] = field(default_factory=dict)
    """What failed and would fail again: the same tool on the same pixels does the same, unless it was only slow."""


def plan_jobs(
    tools: ToolRegistry,
    *,
    named_tools: Sequence[str],
    named_for: Mapping[str, Sequence[str]],
    selected: Selection,
    regions: Mapping[str, Sequence[int]] | None,
    has_reference: bool,
) -> tuple[list[MeasurementJob], list[str]]:
    """Orders for the tools a user named (first: they always run) and for those selected; and what was refused."""
    wanted = [(tool, name, tuple(kinds)) for tool in named_tools for name, kinds in named_for.items()]
    wanted += [(tool, name, (kind,)) for name, by_kind in selected.items() for kind, tool in by_kind.items()]
    jobs: list[MeasurementJob] = []
    refused: list[str] = []
    for tool_name, name, kinds in wanted:
        try:
            tool = tools.find(tool_name)
            if tool.needs_reference and not has_reference:
                missing = f"{tool.name} compares with a reference picture, and none was given."
                raise ToolError(missing, hint="Give one with --reference.", client_hint="")  # noqa: TRY301
        except ToolError as error:
            refused.append(f"tool {tool_name}: {error}")
            continue
        box = find_region(name, regions)
        if box is not None or name == GLOBAL:
            jobs.append(MeasurementJob(tool, box, name, kinds))
        else:
            # The place of the object is not known: the score is the whole picture's and is filed as such.
            note = f"{name!r} has no known region: measured on the whole picture"
            jobs.append(MeasurementJob(tool, None, GLOBAL, kinds, note))
    return jobs, list(dict.fromkeys(refused))


def run_jobs(jobs: Sequence[MeasurementJob], runner: ToolRunner, settings: ToolSettings) -> MeasuredScores:
    """Run each distinct tool and region once and file the results."""
    tool_jobs = list(dict.fromkeys(each.job for each in jobs))
    results = runner.run(tool_jobs, max_workers=settings.max_workers, timeout_s=settings.timeout_s)
    by_job = dict(zip(tool_jobs, results, strict=True))
    permanent = {
        job: result.error for job, result in by_job.items() if result.error is not None and not result.timed_out
    }
    scores: Scores = {}
    for each in jobs:
        calibrated = by_job[each.job].calibrated
        if calibrated is None:
            continue
        by_kind = scores.setdefault(each.filed_under, {})
        for kind in each.distortions:
            # A second tool for the same distortion gets a key of its own instead of replacing the first.
            taken = by_kind.get(kind, (each.tool.name,))[0] != each.tool.name
            by_kind[f"{kind} ({each.tool.name})" if taken else kind] = (each.tool.name, round(calibrated, 4))
    return MeasuredScores(scores or None, list(_logs(jobs, by_job)), permanent)


def _logs(jobs: Sequence[MeasurementJob], results: Mapping[ToolJob, JobResult]) -> Iterable[ToolExecutionLog]:
    for job, result in results.items():
        own = [each for each in jobs if each.job == job]
        note = next((each.note for each in own if each.note), None)
        if note is None and result.error is None and result.calibrated is None:
            note = f"{job.tool.name} has no calibration to 1..5: only its raw value is known"
        yield ToolExecutionLog(
            tool=job.tool.name,
            object=own[0].filed_under,
            region=job.region.as_list() if job.region else None,
            distortions=list(dict.fromkeys(kind for each in own for kind in each.distortions)),
            raw_score=result.raw,
            calibrated_score=result.calibrated,
            higher_is_better=job.tool.spec.higher_is_better,
            seconds=result.seconds,
            cached=result.cached,
            note=note,
            error=result.error,
        )
