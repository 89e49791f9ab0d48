"""What is done with one sample of a batch: assessed by the agents, measured, rated, or looked through for an audit."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from agenticiqa._version import __version__
from agenticiqa.api.measure import Measurer, Pair
from agenticiqa.batch.manifest import Row
from agenticiqa.batch.rate_limits import RateLimits, limited_clients
from agenticiqa.batch.rating import PictureRater
from agenticiqa.batch.remote_pictures import is_url, picture_at
from agenticiqa.batch.results import result_line
from agenticiqa.batch.sample import Sample
from agenticiqa.errors import AgenticIQAError, ManifestError, without_credentials
from agenticiqa.nodes.ablation import calls_per_pass
from agenticiqa.pictures.images import Box
from agenticiqa.pictures.inputs import Align
from agenticiqa.runtime.config import Settings
from agenticiqa.runtime.memory import process_budget
from agenticiqa.runtime.stopping import Cancelled
from agenticiqa.tools.registry import default_registry
from agenticiqa.vision.network import weights_version
from agenticiqa.vocabulary import DEFAULT_QUERY

if TYPE_CHECKING:
    from agenticiqa.models.backends import BackendChoice


logger = logging.getLogger(__name__)

SampleWork = Callable[[Sample, str], dict[str, Any]]
"""Makes the result of a sample, which is known by its run id."""
ERROR = "error"
MEASURED = ("tool", "region", "raw", "calibrated", "higher_is_better", "seconds", "error")
"""What a result keeps of each measurement."""


def measure_sample(measurer: Measurer, sample: Sample, run_id: str) -> dict[str, Any]:
    """The result of a sample that is only measured; raises when a picture cannot be opened."""
    started = time.perf_counter()
    pair = Pair(picture_at(sample.image_path), picture_at(sample.reference_path) if sample.reference_path else None)
    boxes = {name: Box(*numbers) for name, numbers in (sample.regions or {}).items()} or None
    with measurer.admitted(pair) as (known, memory):
        test, reference = measurer.open(known)
        records = list(measurer.measure_opened(known, test, reference, boxes, memory))
    errors = [f"{record.tool}: {record.error}" for record in records if record.error]
    return {
        "status": "ok" if not errors else "error" if len(errors) == len(records) else "partial",
        "image_path": pair.image.name,
        "reference_path": pair.reference.name if pair.reference else None,
        "measurements": [{name: getattr(record, name) for name in MEASURED} for record in records],
        "error": "; ".join(errors) or None,
        "metadata": {
            "run_id": run_id,
            "error_kind": "tool" if errors else None,
            "timings": {"total": round(time.perf_counter() - started, 4)},
            "versions": {"agenticiqa": __version__},
            **{
                f"{name}_{fact}": getattr(picture, fact)
                for name, picture in (("image", test), ("reference", reference))
                if picture
                for fact in ("sha256", "size", "notes")
            },
        },
    }


@dataclass(frozen=True)
class BatchJob:
    """What every sample of a batch is put through. Small, so that it can travel to other processes."""

    settings: Settings
    choices: Mapping[str, BackendChoice]
    """The backend of each role; empty when nothing is asked and pictures are only measured."""
    tools: tuple[str, ...] = ()
    """Measuring tools to run instead of the agents."""
    audit: Literal["full", "quick"] | None = None
    """Look pictures through for an audit instead: with the vision model, or quickly without."""
    rate: bool = False
    """Only rate pictures with the vision model."""
    align: Align = "none"
    query: str = DEFAULT_QUERY
    """The question of samples that bring none."""
    timeout_s: float = 600.0
    limits: RateLimits = field(default_factory=RateLimits)
    conditions: tuple[str, ...] = ()
    """What is not as shipped and changes results: mode, parts left out, prompts, calibrations, pool of tools."""
    no_trace: bool = False
    """No cache and no log file: results are all that is left."""

    @property
    def backends(self) -> dict[str, str]:
        return {role: choice.backend for role, choice in self.choices.items()}

    @property
    def measures_only(self) -> bool:
        return bool(self.tools) or self.audit is not None or self.rate

    def with_tool_threads(self, threads: int) -> BatchJob:
        """The same job with at most so many tools side by side: workers share the cores already."""
        workers = min(threads, self.settings.pipeline.tools.max_workers)
        return replace(self, settings=self.settings.changed(pipeline={"tools": {"max_workers": workers}}))

    def with_memory_of_one(self, processes: int) -> BatchJob:
        """The same job for one of several processes, which share what all of them may take."""
        memory = process_budget(self.settings.pipeline.memory).total // processes
        return replace(self, settings=self.settings.changed(pipeline={"memory": memory}))

    def run_id(self, sample: Sample) -> str:
        """The same for the same question under the same conditions; another one as soon as any of them changes."""
        asked = sample.model_dump(include={"sample_id", "query", "options", "regions"})
        paths = (sample.image_path, sample.reference_path)
        pictures = [path if path is None or is_url(path) else os.path.abspath(path) for path in paths]
        if self.audit is not None:
            conditions: list[Any] = ["audit", self.audit, _auditing().AUDIT_VERSION]
        elif self.rate:
            conditions = ["rate", weights_version()]
        elif self.measures_only:
            conditions = [list(self.tools), self.align]
        else:
            asked["query"] = sample.query or self.query
            conditions = [self.backends, self.settings.pipeline.max_replan_iterations]
            # Only where it is asked for: results of earlier versions keep their ids.
            conditions += [self.align] if self.align != "none" else []
        conditions += [list(self.conditions)] if self.conditions else []
        text = json.dumps([asked, pictures, conditions], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:12]


@dataclass(frozen=True)
class Task:
    """One sample and its place in the manifest."""

    position: int
    row: Row
    run_id: str
    sample_id: str

    @property
    def sample(self) -> Sample:
        if self.row.sample is None:
            raise ManifestError(f"Line {self.row.line} holds no sample: {self.row.problem}")
        return self.row.sample.renamed(self.sample_id)


@dataclass(frozen=True)
class SampleOutcome:
    """A finished sample: its line, and what the accounts need of it."""

    position: int
    line: bytes
    status: str
    error_kind: str | None = None
    calls: int = 0
    cost_usd: float | None = 0.0


def failure(job: BatchJob, task: Task, error: AgenticIQAError) -> SampleOutcome:
    """The result of a sample that could not be finished."""
    sample = task.sample
    result: dict[str, Any] = {
        "status": ERROR,
        **({} if job.measures_only else {"query": sample.query or job.query}),
        "image_path": without_credentials(sample.image_path),
        "reference_path": without_credentials(sample.reference_path) if sample.reference_path else None,
        "error": str(error),
        "metadata": {"run_id": task.run_id, "error_kind": error.kind},
    }
    return SampleOutcome(task.position, result_line(sample, result), ERROR, error.kind)


def _auditing() -> Any:
    """The audit's work on one picture. The room above hands it down by name: it runs on this room's engines."""
    return import_module("agenticiqa.auditing.collecting")


class SampleWorker:
    """Does the work; loads models and tools once and keeps them."""

    def __init__(self, job: BatchJob, *, limited: bool = False) -> None:
        """``limited``: requests keep the job's limits, which holds only where one worker makes all of them."""
        self._job = job
        self._closing: list[Callable[[], None]] = []
        if job.audit is not None:
            pipeline = job.settings.pipeline
            auditor = _auditing().Auditor(job.audit, pipeline.images, process_budget(pipeline.memory))
            self._work: SampleWork = auditor.audit
        elif job.rate:
            pipeline = job.settings.pipeline
            self._work = PictureRater(pipeline.images, process_budget(pipeline.memory)).rate
        elif job.tools:
            self._work = self._measuring()
        else:
            self._work = self._assessing(limited)

    def _measuring(self) -> SampleWork:
        settings = self._job.settings
        registry = default_registry(settings.pipeline.tools)
        tools = [registry.find(name) for name in self._job.tools]
        measurer = Measurer.configured(settings, tools, cached=True, align=self._job.align)
        if measurer.cache is not None:
            self._closing.append(measurer.cache.close)
        return partial(measure_sample, measurer)

    def _assessing(self, limited: bool) -> SampleWork:
        from agenticiqa.api.assessor import AgenticIQA

        job = self._job
        clients = limited_clients(job.settings, job.backends, job.limits) if limited else None
        assessor = AgenticIQA(settings=job.settings, clients=clients, record=not job.no_trace)
        assessor.keep_backend_choices(job.choices)
        self._closing.append(assessor.close)

        def assess(sample: Sample, run_id: str) -> dict[str, Any]:
            found = assessor.assess(
                picture_at(sample.image_path),
                sample.query or job.query,
                reference=picture_at(sample.reference_path) if sample.reference_path else None,
                options=sample.options,
                regions=sample.regions,
                align=job.align,
                run_id=run_id,
            )
            return found.model_dump(mode="json")

        return assess

    def work_all(self, tasks: Sequence[Task]) -> list[SampleOutcome]:
        return [self.work(task) for task in tasks]

    def work(self, task: Task) -> SampleOutcome:
        """The sample's result; whatever goes wrong with it stays with it."""
        try:
            result = self._result(task)
            status, about = result["status"], result["metadata"]
            kind = about["error_kind"] if status == ERROR else None
            line = result_line(task.sample, result)
            return SampleOutcome(task.position, line, status, kind, about.get("calls", 0), about.get("cost_usd", 0.0))
        except Cancelled:
            raise
        except AgenticIQAError as error:
            return failure(self._job, task, error)
        except Exception as error:
            # A defect, not a failure we know: one sample must not take the others with it.
            logger.exception("Sample %s: internal error", task.sample.sample_id)
            return failure(self._job, task, InternalError(f"{type(error).__name__}: {error}"))

    def _result(self, task: Task) -> dict[str, Any]:
        return self._work(task.sample, task.run_id)

    def close(self) -> None:
        for close in self._closing:
            close()


class InternalError(AgenticIQAError):
    default_hint = "This is a defect of AgenticIQA; the log file has the details."


def backends_of(settings: Settings) -> dict[str, BackendChoice]:
    """The backend each role that takes part will really use; raises where one cannot be used here."""
    from agenticiqa.models.backends import choose_backends, usable

    choices, pipeline = choose_backends(settings), settings.pipeline
    roles = calls_per_pass(pipeline.mode, pipeline.without, settings.answering)
    return {role: usable(choices[role]) for role in roles}
