"""The state that a run starts with, and the events that it reports on the way."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agenticiqa.errors import ConfigError, QueryError
from agenticiqa.pictures.aligning import Align
from agenticiqa.state import DEFAULT_MAX_REPLAN_ITERATIONS, AgenticIQAState, RunMode, check_mode, known_parts


@dataclass(frozen=True)
class PipelineEvent:
    """Something that happened in a run: a step inside an agent, an agent that ended, or the state after it."""

    kind: Literal["step", "node", "state"]
    name: str
    details: Mapping[str, Any]


def initial_state(
    query: str,
    image_path: str,
    reference_path: str | None = None,
    max_replan_iterations: int | None = None,
    *,
    options: Sequence[str] | None = None,
    regions: Mapping[str, Sequence[int]] | None = None,
    align: Align = "none",
    mode: RunMode = "agents",
    without: Collection[str] | str = (),
) -> AgenticIQAState:
    """The state a run starts with."""
    limit = DEFAULT_MAX_REPLAN_ITERATIONS if max_replan_iterations is None else max_replan_iterations
    if limit < 0:
        raise ConfigError(f"max_replan_iterations is {limit}.", hint="It counts replans: 0 or more.")
    for text in (query, str(image_path), str(reference_path), *(options or ()), *(regions or ())):
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise QueryError(f"{text!r} holds characters that are not valid Unicode.", hint="Rename or retype it.")
    state: AgenticIQAState = {
        "query": query,
        "image_path": str(image_path),
        "reference_path": str(reference_path) if reference_path else None,
        "iteration_count": 0,
        "max_replan_iterations": limit,
        "replan_history": [],
    }
    if options:
        state["options"] = list(options)
    if regions:
        state["regions"] = {name: list(box) for name, box in regions.items()}
    if align not in ("none", "resize"):
        raise ConfigError(f"align is {align!r}.", hint="It is 'none' or 'resize'.")
    if align != "none":
        state["align"] = align
    parts = known_parts(without)
    check_mode(mode, parts)
    if mode != "agents":
        state["mode"] = mode
    if parts:
        state["without"] = parts
    return state
