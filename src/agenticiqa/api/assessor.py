"""The front door for Python: ask about a picture, get a typed, explained result."""

from __future__ import annotations

import asyncio
import logging
import platform
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib import metadata as package_metadata
from os import PathLike, fspath
from pathlib import Path
from typing import Any, cast

from langgraph.checkpoint.sqlite import SqliteSaver

from agenticiqa.errors import AgenticIQAError, RunNotFoundError
from agenticiqa.graph import Graph, PipelineEvent, build_graph, initial_state, state_serializer, stream_pipeline
from agenticiqa.models.client import BackendChoice, TokenUsage, VLMClient
from agenticiqa.nodes.asking import CallLog
from agenticiqa.nodes.results import Assessment, Status, show_in_notebooks
from agenticiqa.nodes.run_context import RunContext
from agenticiqa.pictures.images import ImageLimits, LoadedImage, check_allowed, load_image
from agenticiqa.pictures.regions import check_regions
from agenticiqa.runtime.cache import DiskCache, open_cache
from agenticiqa.runtime.config import ROLES, Settings, load_settings
from agenticiqa.runtime.logs import configure_logging, run_id_for_logs
from agenticiqa.runtime.runs import INTERRUPTED, RunRecord, RunStore, StopRun, new_run_id, open_database
from agenticiqa.state import AgenticIQAState, ExecutorOutput, SummarizerOutput
from agenticiqa.tools.registry import ToolRegistry, default_registry
from agenticiqa.vocabulary import UNABLE_TO_DETERMINE

logger = logging.getLogger(__name__)

DEFAULT_QUERY = "Rate the perceptual quality of the image."
ImagePath = str | PathLike[str]
EventListener = Callable[[PipelineEvent], None]


class AgenticIQA:
    """Assesses pictures with one configuration; keeps clients, cache and record open between questions.

    Parameters beyond the configuration are for callers that bring their own parts: ``clients`` maps a role
    (``planner``, ``executor``, ``summarizer``) to a ready client, ``tools`` replaces the measuring tools. A program
    that takes paths from strangers sets ``only_allowed_roots``: pictures outside ``allowed_roots`` are then refused.
    """

    def __init__(
        self,
        backend: str | None = None,
        *,
        settings: Settings | None = None,
        config_dir: ImagePath | None = None,
        overrides: Mapping[str, Any] | None = None,
        clients: Mapping[str, VLMClient] | None = None,
        tools: ToolRegistry | None = None,
        only_allowed_roots: bool = False,
    ) -> None:
        self.settings = settings or load_settings(
            fspath(config_dir) if config_dir else None, {"backend": backend, **(overrides or {})}
        )
        pipeline = self.settings.pipeline
        configure_logging(self.settings.log_file, pipeline.logging.level, self.secrets)
        self._cache: DiskCache | None = (
            open_cache(self.settings.cache_folder, pipeline.cache.size_limit_mb) if pipeline.cache.enabled else None
        )
        self._runs = RunStore(self.settings.runs_database) if pipeline.runs.enabled else None
        self._saver = _open_checkpoints(self.settings.runs_database) if self._runs else None
        self._graph: Graph = build_graph(checkpointer=self._saver)
        self._tools = tools or default_registry(pipeline.tools)
        self._clients = dict(clients or {})
        self._allowed_roots = pipeline.allowed_roots if only_allowed_roots else None
        # Clients made for one run serve the next as well.
        self._made: dict[str, VLMClient] = {}
        self._choices: dict[str, BackendChoice] = {}
        self._making = threading.RLock()

    @property
    def secrets(self) -> list[str]:
        """Keys that must never be shown."""
        return [provider.key for provider in self.settings.providers.values() if provider.key]

    @property
    def runs(self) -> RunStore:
        if self._runs is None:
            raise RunNotFoundError("Runs are not recorded.", hint="Set runs.enabled to true in pipeline.yaml.")
        return self._runs

    def open_picture(self, path: ImagePath) -> LoadedImage:
        """Decode a picture under the same limits, and from the same folders, as a run would."""
        if self._allowed_roots is not None:
            check_allowed(fspath(path), self._allowed_roots)
        images = self.settings.pipeline.images
        return load_image(fspath(path), ImageLimits(images.max_pixels, images.max_bytes))

    # --- asking ---

    def assess(
        self,
        image: ImagePath,
        query: str = DEFAULT_QUERY,
        *,
        reference: ImagePath | None = None,
        options: Sequence[str] | None = None,
        regions: Mapping[str, Sequence[int]] | None = None,
        max_replan_iterations: int | None = None,
        on_event: EventListener | None = None,
        run_id: str | None = None,
    ) -> Assessment:
        """Answer one question about one picture. A run that fails returns status ``error`` instead of raising."""
        limit = self.settings.pipeline.max_replan_iterations if max_replan_iterations is None else max_replan_iterations
        state = initial_state(
            query,
            fspath(image),
            fspath(reference) if reference else None,
            limit,
            options=options,
            regions=regions,
        )
        run_id = run_id or new_run_id()
        if self._runs:
            self._runs.begin(run_id, dict(state))
        return self._carry_out(run_id, state, resume=False, on_event=on_event)

    async def aassess(self, image: ImagePath, query: str = DEFAULT_QUERY, **kwargs: Any) -> Assessment:
        """:meth:`assess` without blocking the event loop."""
        return await asyncio.to_thread(self.assess, image, query, **kwargs)

    def resume(self, run_id: str, *, on_event: EventListener | None = None) -> Assessment:
        """Continue an interrupted run at the node where it stopped; try a failed one again; return an answered one."""
        record = self.runs.find(run_id)
        if record.result is not None and record.status != "error":
            return Assessment.model_validate(record.result)
        return self._carry_out(record.id, cast("AgenticIQAState", record.request), resume=True, on_event=on_event)

    def replay(self, run_id: str, *, on_event: EventListener | None = None) -> tuple[RunRecord, Assessment]:
        """Ask the recorded question again; returns the old record and the new result."""
        record = self.runs.find(run_id)
        request = record.request
        result = self.assess(
            request["image_path"],
            request["query"],
            reference=request.get("reference_path"),
            options=request.get("options"),
            regions=request.get("regions"),
            max_replan_iterations=request["max_replan_iterations"],
            on_event=on_event,
        )
        return record, result

    def forget(self, run_ids: Collection[str]) -> None:
        """Remove runs from the record, with what is stored for resuming them."""
        if self._runs:
            self._runs.forget(run_ids)
        if self._saver:
            for run_id in run_ids:
                self._saver.delete_thread(run_id)

    # --- one run ---

    def _carry_out(
        self, run_id: str, state: AgenticIQAState, *, resume: bool, on_event: EventListener | None
    ) -> Assessment:
        context = RunContext(
            settings=self.settings,
            clients=self._clients,
            tools=self._tools,
            cache=self._cache,
            run_id=run_id,
            _made=self._made,
            _choices=self._choices,
            _making=self._making,
        )
        try:
            result = _assessment(self._streamed(run_id, state, context, resume=resume, on_event=on_event), context)
        except BaseException as error:
            # Whoever listens has had enough, Ctrl+C, a defect: the record must not call it running for ever.
            if self._runs:
                self._runs.stop(run_id, error.status if isinstance(error, StopRun) else INTERRUPTED)
            raise
        finally:
            context.forget_pictures()
        if self._runs:
            self._runs.finish(run_id, result.model_dump(mode="json"))
        if self._saver:
            self._saver.delete_thread(run_id)
        return result

    def _streamed(
        self,
        run_id: str,
        state: AgenticIQAState,
        context: RunContext,
        *,
        resume: bool,
        on_event: EventListener | None,
    ) -> Mapping[str, Any]:
        """The last state of the run, whose events were told as they came."""
        final: Mapping[str, Any] = dict(state)
        with context.timed("total"), run_id_for_logs(run_id):
            try:
                self._check(state, context)
                # A run that died before its first checkpoint has nothing stored: it starts from the beginning. Tasks
                # rather than next: a node that ended while the run was being stopped is not among the next ones.
                stored = resume and bool(self._graph.get_state({"configurable": {"thread_id": run_id}}).tasks)
                events = stream_pipeline(state, context=context, graph=self._graph, thread_id=run_id, resume=stored)
                for event in events:
                    if event.kind == "state":
                        final = event.details
                    if on_event:
                        on_event(event)
            except AgenticIQAError as error:
                logger.error("Run %s failed: %s", run_id, error)  # noqa: TRY400 - the message says it all
                context.note_failure(error)
                final = {**final, "error": str(error)}
        return final

    def _check(self, state: AgenticIQAState, context: RunContext) -> None:
        """What can be known to fail before anything is spent: pictures, regions, backends."""
        reference_path = state.get("reference_path")
        if self._allowed_roots is not None:
            for path in filter(None, (state["image_path"], reference_path)):
                check_allowed(path, self._allowed_roots)
        image = context.image(state["image_path"])
        if reference_path:
            context.image(reference_path)
        check_regions(state.get("regions") or {}, image)
        replaced: dict[BackendChoice, list[str]] = {}
        for role in ROLES:
            choice = context.backend_choice(role)
            if choice.reason:
                replaced.setdefault(choice, []).append(role)
        for choice, roles in replaced.items():
            logger.warning("%s on the %s backend: %s", ", ".join(roles).capitalize(), choice.backend, choice.reason)

    def close(self) -> None:
        for client in self._made.values():
            client.close()
        self._made.clear()
        if self._cache:
            self._cache.close()
        if self._saver:
            self._saver.conn.close()

    @property
    def cache(self) -> DiskCache | None:
        """Where replies and scores are kept; None when caching is off."""
        return self._cache

    @property
    def tools(self) -> ToolRegistry:
        """The measuring tools that this assessor can run."""
        return self._tools

    def __enter__(self) -> AgenticIQA:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def assess(image: ImagePath, query: str = DEFAULT_QUERY, *, backend: str | None = None, **kwargs: Any) -> Assessment:
    """Answer one question about one picture with the default configuration.

    Keyword arguments are those of :meth:`AgenticIQA.assess`.
    """
    with AgenticIQA(backend) as assessor:
        return assessor.assess(image, query, **kwargs)


def _notebook_view(result: Assessment) -> str:
    from agenticiqa.reports.assessment import notebook_view

    return notebook_view(result)


show_in_notebooks(_notebook_view)


def _open_checkpoints(runs_database: Path) -> SqliteSaver:
    file = runs_database.with_name(runs_database.stem + ".checkpoints.sqlite")
    saver = SqliteSaver(open_database(file, check_same_thread=False), serde=state_serializer())
    saver.setup()
    return saver


# --- from state to result ---


def _assessment(state: Mapping[str, Any], context: RunContext) -> Assessment:
    result: SummarizerOutput | None = state.get("summarizer_result")
    return Assessment(
        status=_status(state, result),
        query=state["query"],
        image_path=state["image_path"],
        reference_path=state.get("reference_path"),
        plan=state.get("plan"),
        executor_evidence=state.get("executor_evidence"),
        summarizer_result=result,
        replan_history=state.get("replan_history") or [],
        error=_error(state),
        metadata=_metadata(state, context),
    )


def _error(state: Mapping[str, Any]) -> str | None:
    result: SummarizerOutput | None = state.get("summarizer_result")
    error: str | None = state.get("error") or (result.error if result else None)
    return "The run ended without an answer." if result is None and error is None else error


def _status(state: Mapping[str, Any], result: SummarizerOutput | None) -> Status:
    if result is None or result.error:
        return "error"
    evidence: ExecutorOutput | None = state.get("executor_evidence")
    incomplete = (
        state.get("error")
        or result.need_replan
        or result.final_answer == UNABLE_TO_DETERMINE
        or (evidence and evidence.errors)
        or (result.used_evidence or {}).get("evidence_gaps")
    )
    return "partial" if incomplete else "ok"


def _metadata(state: Mapping[str, Any], context: RunContext) -> dict[str, Any]:
    calls = context.calls
    usage = sum((record.usage for record in calls.made), TokenUsage())
    return {
        "run_id": context.run_id,
        "backend": _backends(context),
        "calls": len(calls.made),
        "cached_calls": len(calls.records) - len(calls.made),
        "tokens": {"prompt": usage.prompt, "completion": usage.completion},
        "cost_usd": _cost(calls),
        "timings": {name: round(seconds, 4) for name, seconds in context.timings.items()},
        "replans": _replans(state),
        "error_kind": context.error_kind if _error(state) else None,
        "versions": dict(_versions()),
        "options": state.get("options"),
        "regions": state.get("regions"),
        **_picture_facts(state, context),
        "call_log": [
            {
                "role": record.role,
                "step": record.step,
                "backend": record.backend,
                "model": record.model,
                "seconds": round(record.seconds, 4),
                "tokens": asdict(record.usage),
                "cost_usd": record.cost_usd,
                "cached": record.cached,
                "error": record.error,
                "notes": list(record.notes),
            }
            for record in calls.records
        ],
    }


def _replans(state: Mapping[str, Any]) -> int:
    """Passes after the first. The counter also counts a wish that the limit refused."""
    result: SummarizerOutput | None = state.get("summarizer_result")
    count = int(state.get("iteration_count", 0))
    refused = result is not None and result.need_replan and not state.get("error")
    return count - 1 if refused else count


def _backends(context: RunContext) -> dict[str, str | None]:
    names: dict[str, str | None] = {}
    for role in ROLES:
        used = [record.backend for record in context.calls.records if record.role == role]
        try:
            names[role] = used[-1] if used else context.backend_choice(role).backend
        except AgenticIQAError:
            names[role] = None
    return names


def _cost(calls: CallLog) -> float | None:
    """The sum where every call's price is known; None as soon as one is not."""
    costs = [record.cost_usd for record in calls.made]
    known = [cost for cost in costs if cost is not None]
    return round(sum(known), 6) if len(known) == len(costs) else None


@cache
def _versions() -> dict[str, str]:
    return {
        "agenticiqa": package_metadata.version("agenticiqa"),
        "langgraph": package_metadata.version("langgraph"),
        "python": platform.python_version(),
    }


def _picture_facts(state: Mapping[str, Any], context: RunContext) -> dict[str, Any]:
    facts: dict[str, Any] = {"image_sha256": None, "reference_sha256": None}
    for key, path in (("image", state["image_path"]), ("reference", state.get("reference_path"))):
        picture = context.loaded_image(path) if path else None
        if picture is not None:
            facts[f"{key}_sha256"] = picture.sha256
            facts[f"{key}_size"] = list(picture.size)
            facts[f"{key}_notes"] = list(picture.notes)
    return facts
