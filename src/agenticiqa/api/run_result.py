"""What is left of a run: its result, made of the last state, and its record in the home."""

from __future__ import annotations

import logging
import platform
import sqlite3
from collections.abc import Callable, Collection, Mapping
from functools import cache, cached_property
from importlib import metadata as package_metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agenticiqa._version import __version__
from agenticiqa.errors import AgenticIQAError, HomeFullError, RunNotFoundError
from agenticiqa.nodes.ablation import calls_per_pass
from agenticiqa.nodes.results import Assessment, Status
from agenticiqa.nodes.run_context import RunContext
from agenticiqa.runtime.config import changed_from_profile
from agenticiqa.runtime.runs import RunStore, record_failure
from agenticiqa.state import ExecutorOutput, SummarizerOutput
from agenticiqa.vlm_client import TokenUsage
from agenticiqa.vocabulary import UNABLE_TO_DETERMINE

if TYPE_CHECKING:
    from agenticiqa.api.checkpoints import Checkpoints

logger = logging.getLogger(__name__)


def assessment_from(state: Mapping[str, Any], context: RunContext) -> Assessment:
    """The result of a run that ended in this state."""
    result: SummarizerOutput | None = state.get("summarizer_result")
    evidence: ExecutorOutput | None = state.get("executor_evidence")
    error: str | None = state.get("error") or (result.error if result else "The run ended without an answer.")
    status: Status = "ok"
    if result is None or result.error:
        status = "error"
    elif (
        state.get("error")
        or result.need_replan
        or result.final_answer == UNABLE_TO_DETERMINE
        or result.conflict
        or result.doubt
        or (evidence and evidence.errors)
        or (result.used_evidence or {}).get("evidence_gaps")
    ):
        status = "partial"
    return Assessment(
        status=status,
        query=state["query"],
        image_path=state["image_path"],
        reference_path=state.get("reference_path"),
        plan=state.get("plan"),
        executor_evidence=evidence,
        summarizer_result=result,
        replan_history=state.get("replan_history") or [],
        earlier=state.get("earlier") or [],
        error=error,
        metadata={**_metadata(state, context), "error_kind": context.error_kind if error else None},
    )


def _metadata(state: Mapping[str, Any], context: RunContext) -> dict[str, Any]:
    calls, result = context.calls, state.get("summarizer_result")
    usage = sum((record.usage for record in calls.made), TokenUsage())
    costs: list[Any] = [record.cost_usd for record in calls.made]
    # The pool of tools and their curves, where they are not the usual ones.
    tools = context.settings.pipeline.tools.model_dump(mode="json", include={"allow", "deny", "calibrations"})
    if tools["allow"]:
        tools["missing"] = context.tools.missing(context.settings.pipeline.tools)
    # The counter also counts a replan that the limit refused.
    refused = result is not None and result.need_replan and not state.get("error")
    return {
        "run_id": context.run_id,
        "mode": state.get("mode", "agents"),
        "without": list(state.get("without", [])),
        "profile": context.settings.pipeline.profile,
        "profile_changes": changed_from_profile(context.settings),
        "prompts_sha256": context.prompts.sha256,
        "own_prompts": sorted(context.prompts.replaced),
        "tools": tools if any(tools.values()) else None,
        "backend": _backends(state, context),
        "calls": len(calls.made),
        "cached_calls": len(calls.records) - len(calls.made),
        "tokens": {"prompt": usage.prompt, "completion": usage.completion},
        # Unknown as soon as one call's price is.
        "cost_usd": None if None in costs else round(sum(costs), 6),
        "timings": {name: round(seconds, 4) for name, seconds in context.timings.items()},
        "replans": int(state.get("iteration_count", 0)) - int(refused),
        "versions": dict(_versions()),
        "options": state.get("options"),
        "regions": state.get("regions"),
        **_picture_facts(state, context),
        "call_log": [record.as_dict() for record in calls.records],
    }


def _backends(state: Mapping[str, Any], context: RunContext) -> dict[str, str | None]:
    """The backend of each role that takes part."""
    names: dict[str, str | None] = {}
    for role in calls_per_pass(state.get("mode", "agents"), state.get("without", []), context.settings.answering):
        used = [record.backend for record in context.calls.records if record.role == role]
        try:
            names[role] = used[-1] if used else context.backend_choice(role).backend
        except AgenticIQAError:
            names[role] = None
    return names


@cache
def _versions() -> dict[str, str]:
    return {
        "agenticiqa": __version__,
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


# --- What is kept of runs in the home. Whatever cannot be kept costs itself, with a warning, and never the answer. ---


class Recorder:
    """The record of runs, and where interrupted ones continue; without a database nothing is kept."""

    def __init__(self, database: Path | None) -> None:
        self._database = database
        self._store: RunStore | None = None
        self.full: HomeFullError | None = None
        """Set once something could not be kept because there was no room for it."""
        if database is not None:
            try:
                self._store = RunStore(database)
            except AgenticIQAError as error:
                self._note("Runs are not recorded", error)

    @property
    def store(self) -> RunStore:
        if self._store is None:
            hint = f"{str(self._database)!r} cannot be used; the log says why."
            off = "Set runs.enabled to true in pipeline.yaml."
            raise self.full or RunNotFoundError("Runs are not recorded.", hint=hint if self._database else off)
        return self._store

    def keep(self, write: Callable[[RunStore], None]) -> None:
        """Write to the record, if it can be written."""
        if self._database is None or (self._store is None and self.full is None):
            return
        try:
            # A disk that was full when this began may have room by now.
            self._store = self._store or RunStore(self._database)
            write(self._store)
        except AgenticIQAError as error:
            self._note("The run is not recorded", error)

    def finish(self, run_id: str, result: Assessment) -> None:
        """Keep the result; the run need not be continued any more."""
        self.keep(lambda store: store.finish(run_id, result.model_dump(mode="json")))
        if self.checkpoints:
            self.checkpoints.delete_thread(run_id)

    def forget(self, run_ids: Collection[str]) -> None:
        """Remove runs, with what is stored for resuming them."""
        self.keep(lambda store: store.forget(run_ids))
        if self.checkpoints:
            for run_id in run_ids:
                self.checkpoints.delete_thread(run_id)

    # Made when first needed: LangGraph takes longer to import than everything else together.
    @cached_property
    def checkpoints(self) -> Checkpoints | None:
        if self._store is None or self._database is None:
            return None
        from agenticiqa.api.checkpoints import Checkpoints

        file = self._database.with_name(self._database.stem + ".checkpoints.sqlite")
        try:
            return Checkpoints(file, lambda error: self._note("The run cannot be resumed", record_failure(file, error)))
        except (OSError, sqlite3.Error) as error:
            self._note("Interrupted runs cannot be resumed", record_failure(file, error))
            return None

    def close(self) -> None:
        made = self.__dict__.pop("checkpoints", None)
        if made is not None:
            made.conn.close()

    def _note(self, what: str, error: AgenticIQAError) -> None:
        if isinstance(error, HomeFullError):
            self.full = self.full or error
        logger.warning("%s: %s", what, error)
