"""The executor: collects evidence in four steps, each behind its switch and each able to fail alone.

Detection finds which distortions show, analysis says how badly, selection picks a measuring tool for each, execution
runs the tools. Analysis and selection both need detection but not each other, so they run at the same time.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Any, Optional, TypeVar

from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel

from agenticiqa.errors import AgenticIQAError, BadResponseError
from agenticiqa.nodes.measurement import MeasuredScores, plan_jobs, run_jobs
from agenticiqa.nodes.model_calls import Few, Name, Sentences, Step, parse_as
from agenticiqa.nodes.prompts import ANALYSIS, DETECTION, SELECTION, VIEWS, PromptTemplate, views_section
from agenticiqa.nodes.run_context import RunContext, StepReporter, context_of, step_reporter
from agenticiqa.pictures.regions import known_boxes
from agenticiqa.state import (
    ASKED_VIEWS,
    VIEW_CALLS,
    AgenticIQAState,
    Category,
    DistortionAnalysis,
    ExecutorOutput,
    PlannerOutput,
    View,
    ViewKind,
)
from agenticiqa.tools.measuring import ToolRunner
from agenticiqa.vlm_client import Analysis, Distortions, OfferedTool, ReplyTool, Selection, TypedBackend
from agenticiqa.vocabulary import CATEGORIES, OVERALL, find_by_name, same_name

logger = logging.getLogger(__name__)

FURTHER_TOOLS = 2
"""How many more tools measure where tools and model contradicted each other."""

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)


class DetectedDistortions(BaseModel):
    object: Name
    types: Few[Category]


class DetectionReply(BaseModel):
    objects: Few[DetectedDistortions]


class AnalysedDistortion(DistortionAnalysis):
    object: Name
    type: Name
    explanation: Sentences


class AnalysisReply(BaseModel):
    analysis: Few[AnalysedDistortion]


class ToolChoice(BaseModel):
    object: Name
    distortion: Name
    tool: Name


class SelectionReply(BaseModel):
    selection: Few[ToolChoice]


class AskedView(BaseModel):
    kind: ViewKind
    x: int
    y: int
    width: int
    height: int
    reason: Sentences


class ViewsReply(BaseModel):
    views: Few[AskedView]


LOOK_CLOSER = ReplyTool("look_closer", "Shows parts of the test image at full size; without parts, none.")


def executor_node(state: AgenticIQAState, config: Optional[RunnableConfig] = None) -> dict[str, Any]:
    """Collect the evidence the plan asks for. Always writes evidence anew; failures are listed inside it."""
    plan = state.get("plan")
    if plan is None:
        return {"executor_evidence": ExecutorOutput(errors=["The executor was called without a plan."])}
    context = context_of(config)
    with context.timed("executor"):
        try:
            evidence = _Execution(state, plan, context, step_reporter()).run()
        except AgenticIQAError as error:
            logger.error("Execution failed: %s", error)  # noqa: TRY400 - the message says it all
            evidence = ExecutorOutput(errors=[f"execution: {error}"])
    return {"executor_evidence": evidence}


@dataclass
class _Execution:
    """One pass of the executor."""

    state: AgenticIQAState
    plan: PlannerOutput
    context: RunContext
    report: StepReporter

    def __post_init__(self) -> None:
        self.errors: list[str] = []
        self.scope = self.plan.scope_names
        self.asked = self.context.asked(self.state)
        self.pictures = [picture.image for picture in self.context.labelled_pictures(self.state)]
        self.has_reference = len(self.pictures) > 1
        self.boxes = known_boxes(self.scope, self.state.get("regions"))
        # The smallest width and height any chosen tool will have to measure.
        sizes = [self.pictures[0].size, *((box.width, box.height) for box in self.boxes.values())]
        self.smallest = min(width for width, _ in sizes), min(height for _, height in sizes)
        # Tools that an earlier pass of this run showed to be of no use here.
        self.failed_tools = {job.tool.name for job in self.context.permanent_failures}
        # One limit for the whole pass, however many steps ask.
        self.deadline = time.monotonic() + self.context.settings.executor.node_timeout_s
        self.views: tuple[View, ...] = ()

    def run(self) -> ExecutorOutput:
        switches = self.plan.plan
        if switches.distortion_detection or switches.distortion_analysis:
            self.views = self._attempt("views", self._look_closer) or ()
        detected = self._detect() if switches.distortion_detection else None
        named = _spread_over_scope(self.plan.distortions, self.scope)
        # Without detection and without named distortions every category is a candidate.
        candidates = detected if detected is not None else named or {name: list(CATEGORIES) for name in self.scope}
        nothing_known = detected is None and not named
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="select") as side:
            # The copied context lets the other thread report its step to LangGraph.
            in_context = copy_context().run
            selecting = (
                side.submit(in_context, self._select, candidates, nothing_known) if switches.tool_selection else None
            )
            analysis = self._analyse(candidates) if switches.distortion_analysis else None
            selected = selecting.result() if selecting else None
        known = {} if nothing_known else candidates
        measured = self._attempt("tools", lambda: self._measure(known, selected)) if switches.tool_execution else None
        return ExecutorOutput(
            distortion_set=detected,
            distortion_analysis=analysis,
            selected_tools=selected,
            quality_scores=measured.scores if measured else None,
            tool_logs=measured.logs if measured else [],
            views=list(self.views),
            errors=self.errors,
        )

    def _look_closer(self) -> tuple[View, ...]:
        """The views of this run: those of the last pass, or those by rule and those that the model asks for."""
        before = self.state.get("executor_evidence")
        if before is not None and before.views:
            return tuple(before.views)
        views = self.context.planned_views(self.state)
        # A typed backend looks for itself.
        if views and self.context.views_mode(self.state) == "ask" and not self.context.is_typed("executor", self.asked):
            views = self._with_asked(views)
        if views:
            self.report("views", {"views": [view.model_dump(mode="json") for view in views]})
        return views

    def _with_asked(self, views: tuple[View, ...]) -> tuple[View, ...]:
        """The model sees the picture and the views by rule, and may ask for others, a few times."""
        asked: tuple[View, ...] = ()
        for _ in range(VIEW_CALLS):
            left = ASKED_VIEWS - len(asked)
            if left <= 0:
                break
            self.views = (*views, *asked)
            width, height = self.pictures[0].size
            fields = {
                "size": f"{width}×{height} pixels",
                "left": str(left),
                "kinds": "\n".join(f"- {kind}: {shown}" for kind, shown in self._kinds().items()),
            }
            found = self._ask(VIEWS, fields, ViewsReply, self._asked_views, lambda _: (), LOOK_CLOSER)
            new = [view for view in found or () if view not in self.views][:left]
            if not new:
                break
            asked = (*asked, *new)
        return (*views, *asked)

    def _kinds(self) -> dict[ViewKind, str]:
        from agenticiqa.vision.views import SHOWN

        return {kind: shown for kind, shown in SHOWN.items() if kind != "difference" or self.has_reference}

    def _asked_views(self, reply: ViewsReply) -> tuple[View, ...]:
        """Places cut to the picture; one outside it, or a kind that this run has not, is a reply to ask again for."""
        from agenticiqa.vision.views import asked_view

        size, side, kinds = self.pictures[0].size, self.context.sees_side, self._kinds()
        for each in reply.views:
            if each.kind not in kinds:
                raise BadResponseError(f"The reply asks for a view {each.kind!r}, which needs a reference.")
        return tuple(
            asked_view(each.kind, (each.x, each.y, each.width, each.height), each.reason, size, side)
            for each in reply.views
        )

    def _detect(self) -> Distortions | None:
        fields = {"categories": ", ".join(CATEGORIES), "objects": json.dumps(self.scope, ensure_ascii=False)}

        def read(reply: DetectionReply) -> Distortions:
            found: Distortions = {}
            for item in reply.objects:
                if name := self._in_scope(item.object):
                    found.setdefault(name, []).extend(item.types)
            return found

        found = self._ask(DETECTION, fields, DetectionReply, read, lambda backend: backend.detect(self.scope))
        if found is None:
            return None
        evidence = ExecutorOutput(distortion_set=found).distortion_set or {}
        self.report("detection", {"distortions": evidence})
        return evidence

    def _analyse(self, candidates: Distortions) -> Analysis | None:
        to_judge = {name: kinds for name, kinds in candidates.items() if kinds}
        # An object in which detection saw nothing is covered: there is nothing to analyse.
        if not to_judge:
            return {name: [] for name in candidates} or None

        def read(reply: AnalysisReply) -> Analysis:
            analysis: Analysis = {}
            for item in reply.analysis:
                if name := self._in_scope(item.object):
                    entry = DistortionAnalysis.model_validate(item.model_dump(exclude={"object"}))
                    analysis.setdefault(name, []).append(entry)
            return analysis

        fields = {"objects": self._listing(to_judge)}
        judged = self._ask(ANALYSIS, fields, AnalysisReply, read, lambda backend: backend.analyse(to_judge))
        if judged is None:
            return None
        analysis: Analysis = {name: [] for name in candidates if name not in to_judge} | judged
        self.report("analysis", {"analysis": {n: [e.for_prompt() for e in es] for n, es in analysis.items()}})
        return analysis

    def _select(self, candidates: Distortions, nothing_known: bool) -> Selection | None:
        wanted = {name: kinds or [OVERALL] for name, kinds in candidates.items()}
        if nothing_known or not wanted:
            wanted = {name: [OVERALL] for name in self.scope}
        fitting = self.context.tools.offered(has_reference=self.has_reference, size=self.smallest)
        offered = [tool for tool in fitting if tool.name not in self.failed_tools]
        if not offered:
            self.errors.append("selection: no measuring tool can run on this picture")
            return None
        known = [OfferedTool(tool.name, tool.needs_reference, tool.spec.good_at) for tool in offered]
        chosen = self._ask(
            SELECTION,
            {"tools": "\n".join(f"- {tool.describe()}" for tool in offered), "objects": self._listing(wanted)},
            SelectionReply,
            lambda reply: self._chosen(reply, [tool.name for tool in offered], wanted),
            lambda backend: backend.select(wanted, known),
        )
        selected = self._catalogue_choice(wanted) if chosen is None else chosen
        self.report("selection", {"tools": selected})
        return selected

    def _chosen(self, reply: SelectionReply, offered: list[str], wanted: Distortions) -> Selection:
        """The model's choices, completed from the catalogue where it left a distortion out."""
        unknown = [each.tool for each in reply.selection if not any(same_name(each.tool, name) for name in offered)]
        if unknown:
            raise BadResponseError(f"The reply chooses tools that were not offered: {', '.join(unknown)}.")
        selected = self._catalogue_choice(wanted)
        for choice in reply.selection:
            name = self._in_scope(choice.object)
            kind = next((k for k in wanted.get(name or "", []) if same_name(k, choice.distortion)), None)
            if name is not None and kind is not None:
                selected[name][kind] = self.context.tools.find(choice.tool).name
        return selected

    def _catalogue_choice(self, wanted: Distortions) -> Selection:
        return {name: {kind: self._best_for(kind) for kind in kinds} for name, kinds in wanted.items()}

    def _best_for(self, kind: str) -> str:
        tools = self.context.tools
        ranked = tools.ranked_for(kind, has_reference=self.has_reference, size=self.smallest)
        left = [tool for tool in ranked if tool.name not in self.failed_tools]
        best = left[0] if left else tools.best_for(kind, has_reference=self.has_reference, size=self.smallest)
        return best.name

    def _measure(self, distortions: Distortions, selected: Selection | None) -> MeasuredScores:
        if selected is None and not self.plan.named_tools:
            # Tools are to run, but none was chosen: the catalogue chooses.
            selected = self._catalogue_choice({name: distortions.get(name) or [OVERALL] for name in self.scope})
        orders, refused = plan_jobs(
            self.context.tools,
            named_tools=[*self.plan.named_tools, *self._further_tools()],
            named_for={name: distortions.get(name) or [OVERALL] for name in self.scope},
            selected=selected or {},
            regions=self.state.get("regions"),
            has_reference=self.has_reference,
        )
        failures = self.context.permanent_failures
        again = dict.fromkeys(order.job for order in orders if order.job in failures)
        refused += [f"tool {job.tool.name}: {failures[job]} (not tried again)" for job in again]
        orders = [order for order in orders if order.job not in failures]
        reference = self.pictures[1] if self.has_reference else None
        bench = ToolRunner(self.pictures[0], reference, self.context.cache, memory=self.context.memory)
        with self.context.timed("tools"):
            measured = run_jobs(orders, bench, self.context.settings.pipeline.tools)
        failures.update(measured.permanent_failures)
        self.errors += [*refused, *(f"tool {log.tool}: {log.error}" for log in measured.logs if log.error)]
        self.report(
            "tools", {"scores": measured.scores, "logs": [log.model_dump(mode="json") for log in measured.logs]}
        )
        return measured

    def _further_tools(self) -> list[str]:
        """Where tools and model contradicted each other: those that measured, and some that did not yet."""
        last, before = self.state.get("summarizer_result"), self.state.get("executor_evidence")
        if not self.context.settings.pipeline.replan_on_conflict:
            return []
        if self.plan.named_tools or not (last and last.need_replan and last.conflict and before):
            return []
        measured = list(dict.fromkeys(log.tool for log in before.tool_logs if log.calibrated_score is not None))
        ranked = self.context.tools.ranked_for(OVERALL, has_reference=self.has_reference, size=self.smallest)
        further = [tool.name for tool in ranked if tool.calibration and tool.name not in measured]
        return [*measured, *further[:FURTHER_TOOLS]]

    def _ask(
        self,
        template: PromptTemplate,
        fields: Mapping[str, str],
        schema: type[M],
        read: Callable[[M], T],
        typed_call: Callable[[TypedBackend], T],
        tool: ReplyTool | None = None,
    ) -> T | None:
        """A step's result, or None with the failure written down: the other steps go on."""
        # On a replan: what the last pass left open. A reply kept from that pass must not answer this one.
        last = self.state.get("summarizer_result")
        gap = last.replan_reason or "" if last and last.need_replan else ""
        # Which tool measures what does not depend on how a place looks.
        views = () if template is SELECTION else self.views
        known = {"gap": gap, "views": views_section(views, attached=True), **fields}
        step = Step(
            template.name,
            request=lambda: replace(
                self.context.request("executor", self.state, template, known, schema, views=views), tool=tool
            ),
            parse=lambda reply: read(parse_as(schema)(reply)),
            typed_call=typed_call,
        )
        with self.context.timed(f"executor.{template.name}"):
            caller = self.context.model_caller
            return self._attempt(
                template.name, lambda: caller("executor", self.asked, deadline=self.deadline).ask(step).value
            )

    def _attempt(self, step: str, action: Callable[[], T]) -> T | None:
        """The step's result, or None with the failure written down; the other steps go on."""
        try:
            return action()
        except AgenticIQAError as error:
            logger.error("Executor %s failed: %s", step, error)  # noqa: TRY400 - the message says it all
            self.errors.append(f"{step}: {error}")
            return None

    def _in_scope(self, name: str) -> str | None:
        """The scope's own spelling of an object; None for one that the question does not name."""
        found = next((known for known in self.scope if same_name(known, name)), None)
        if found is None:
            logger.info("The model spoke of %r, which is not in the scope %s", name, self.scope)
        return found

    def _listing(self, distortions: Distortions) -> str:
        lines = []
        for name, kinds in distortions.items():
            box = self.boxes.get(name)
            where = f" (x, y, width, height in pixels: {box.as_list()})" if box else ""
            lines.append(f"- {name}{where}: {', '.join(kinds)}")
        return "\n".join(lines)


def _spread_over_scope(named: Distortions | None, scope: list[str]) -> Distortions:
    """Distortions the question names, for every object of the scope.

    >>> _spread_over_scope({"Global": ["Blurs"]}, ["vehicle"])
    {'vehicle': ['Blurs']}
    """
    if not named:
        return {}
    everything = list(dict.fromkeys(kind for kinds in named.values() for kind in kinds))
    return {name: everything if (own := find_by_name(named, name)) is None else own for name in scope}
