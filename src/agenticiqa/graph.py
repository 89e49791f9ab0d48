"""The graph: planner → executor → summarizer, and back to the planner while evidence is missing."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from agenticiqa.errors import ConfigError
from agenticiqa.nodes.diagram import visualize_graph
from agenticiqa.nodes.direct import direct_node
from agenticiqa.nodes.executor import executor_node
from agenticiqa.nodes.planner import planner_node
from agenticiqa.nodes.run_context import CONTEXT_KEY, PipelineEvent, RunContext, configured_context, initial_state
from agenticiqa.nodes.summarizer import summarizer_node
from agenticiqa.state import DEFAULT_MAX_REPLAN_ITERATIONS, AgenticIQAState, RunMode

__all__ = [
    "Graph", "PipelineEvent", "build_graph", "decide_next_node", "graph_for", "initial_state", "run_pipeline",
    "state_serializer", "stream_pipeline", "studio_graph", "visualize_graph",
]  # fmt: skip

logger = logging.getLogger(__name__)

NODES_PER_PASS = 3
# Only our own classes are rebuilt from a stored checkpoint.
STORED_TYPES = (
    "PlannerOutput", "PlanControlFlags", "ExecutorOutput", "DistortionAnalysis", "ToolExecutionLog", "SummarizerOutput",
    "ScoreConflict", "Advice", "Gap", "ModelAnswer",
)  # fmt: skip

Graph = CompiledStateGraph[AgenticIQAState, None, AgenticIQAState, AgenticIQAState]


def decide_next_node(state: AgenticIQAState) -> Literal["planner", "__end__"]:
    """After the summarizer: plan again while it asks for it and passes are left."""
    summarizer_result = state.get("summarizer_result")
    if not summarizer_result or state.get("error"):
        logger.warning("Edge: ending without a result of the summarizer: %s", state.get("error") or "it gave none")
        return "__end__"
    iteration = state.get("iteration_count", 0)
    max_iterations = state.get("max_replan_iterations", DEFAULT_MAX_REPLAN_ITERATIONS)
    again = summarizer_result.need_replan and iteration < max_iterations
    decision: Literal["planner", "__end__"] = "planner" if again else "__end__"
    logger.info(
        "Edge: need_replan=%s, iteration_count=%d, max_replan_iterations=%d, decision=%s",
        summarizer_result.need_replan, iteration, max_iterations, decision,
    )  # fmt: skip
    if again:
        logger.info("Replanning triggered: %s", summarizer_result.replan_reason)
        logger.info("Iteration %d/%d", iteration, max_iterations)
    elif summarizer_result.need_replan:
        logger.warning("Max replanning iterations (%d) reached", max_iterations)
        logger.warning("Continuing with current evidence despite need_replan=true")
        # One replan that did not help is ordinary; one after the other is not.
        if iteration > 1:
            logger.warning("The summarizer asked for a replan on every pass: a possible logic issue in the Summarizer")
    return decision


def _after_planner(state: AgenticIQAState) -> Literal["executor", "__end__"]:
    """A planner that failed has nothing to execute; what earlier passes answered stays in the state."""
    return "__end__" if state.get("error") or state.get("plan") is None else "executor"


def build_graph(
    include_executor: bool = True,
    include_summarizer: bool = True,
    *,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
) -> Graph:
    """The compiled graph; without executor or summarizer it ends earlier and never plans again."""
    if include_summarizer and not include_executor:
        raise ConfigError("The summarizer needs the executor's evidence.", hint="Include both or neither.")
    graph: StateGraph[AgenticIQAState, None, AgenticIQAState, AgenticIQAState] = StateGraph(AgenticIQAState)
    graph.add_node("planner", planner_node)
    graph.add_edge(START, "planner")
    if include_executor:
        graph.add_node("executor", executor_node)
        graph.add_conditional_edges("planner", _after_planner, {"executor": "executor", "__end__": END})
        graph.add_edge("executor", "summarizer" if include_summarizer else END)
    else:
        graph.add_edge("planner", END)
    if include_summarizer:
        graph.add_node("summarizer", summarizer_node)
        graph.add_conditional_edges("summarizer", decide_next_node, {"planner": "planner", "__end__": END})
    return graph.compile(checkpointer=checkpointer)


def graph_for(state: AgenticIQAState, checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    """The graph that a run's mode asks for: that of the agents, or one node that asks the model alone, once."""
    if state.get("mode") != "direct":
        return build_graph(checkpointer=checkpointer)
    graph: StateGraph[AgenticIQAState, None, AgenticIQAState, AgenticIQAState] = StateGraph(AgenticIQAState)
    graph.add_node("direct", direct_node)
    graph.add_edge(START, "direct")
    graph.add_edge("direct", END)
    return graph.compile(checkpointer=checkpointer)


def studio_graph() -> Graph:
    """Entry for LangGraph Studio, which brings its own checkpointer."""
    return build_graph()


def state_serializer() -> JsonPlusSerializer:
    """For checkpointers: knows our state's classes and refuses all others."""
    return JsonPlusSerializer(allowed_msgpack_modules=[("agenticiqa.state", name) for name in STORED_TYPES])


# --- running ---------------------------------------------------------------------------------------------


def stream_pipeline(
    state: AgenticIQAState,
    *,
    context: RunContext | None = None,
    graph: Graph | None = None,
    thread_id: str | None = None,
    resume: bool = False,
) -> Iterator[PipelineEvent]:
    """Run and report as it happens, last the result's ``state``; ``resume`` goes on where ``thread_id`` stopped."""
    graph = graph or graph_for(state)
    limit = state.get("max_replan_iterations", DEFAULT_MAX_REPLAN_ITERATIONS)
    config: RunnableConfig = {
        "configurable": {CONTEXT_KEY: context or RunContext(), "thread_id": thread_id or "run"},
        "recursion_limit": NODES_PER_PASS * max(1, limit) + NODES_PER_PASS,
    }
    stream = graph.stream(
        None if resume else state,
        config,
        stream_mode=["custom", "updates", "values"],
        # Each node's result is on disk before the next one starts: that is where a resumed run continues.
        durability="sync" if graph.checkpointer is not None else None,
    )
    for mode, chunk in cast("Iterator[tuple[str, dict[str, Any]]]", stream):
        if mode == "custom":
            yield PipelineEvent("step", chunk["step"], chunk)
        elif mode == "updates":
            for name, update in chunk.items():
                # LangGraph's own entries are no agents.
                if not name.startswith("__"):
                    yield PipelineEvent("node", name, update or {})
        else:
            yield PipelineEvent("state", "state", chunk)


def run_pipeline(  # noqa: PLR0913 - each says what it is
    query: str,
    image_path: str,
    reference_path: str | None = None,
    max_replan_iterations: int | None = None,
    *,
    options: Sequence[str] | None = None,
    regions: Mapping[str, Sequence[int]] | None = None,
    mode: RunMode | None = None,
    without: Collection[str] | str | None = None,
    context: RunContext | None = None,
    graph: Graph | None = None,
    thread_id: str | None = None,
) -> AgenticIQAState:
    """Answer one question about one picture and return the final state of the graph.

    Args:
        query, image_path, reference_path, options, regions, mode, without: As for :func:`agenticiqa.assess`.
        max_replan_iterations: How often the agents may plan again. Values left out are the configured ones.
        context: Settings, clients, tools and cache; by default those of the configuration.
        graph: A compiled graph; by default that of the mode.
        thread_id: The checkpointer's thread, where the graph has a checkpointer.
    Returns:
        The state with ``plan``, ``executor_evidence`` and ``summarizer_result``.
    Raises:
        AgenticIQAError: The picture, the configuration or a model fails.
    """
    used = context or configured_context()
    pipeline = used.settings.pipeline
    limit = pipeline.max_replan_iterations if max_replan_iterations is None else max_replan_iterations
    mode = pipeline.mode if mode is None else mode
    without = pipeline.without if without is None else without
    start = initial_state(
        query, image_path, reference_path, limit, options=options, regions=regions, mode=mode, without=without
    )
    final: Mapping[str, Any] = start
    try:
        for event in stream_pipeline(start, context=used, graph=graph, thread_id=thread_id):
            if event.kind == "state":
                final = event.details
    finally:
        if context is None:
            used.close()
    return cast("AgenticIQAState", dict(final))
