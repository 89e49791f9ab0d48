"""The embedded backend: plays the three roles with a vision model, a question parser and measurements of our own."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from agenticiqa.errors import BackendError
from agenticiqa.models.client import ModelReply, ModelRequest, RichVLMClient
from agenticiqa.models.offline.executor import Finder, Seen, analyse, detect, select
from agenticiqa.models.offline.language.noun_phrases import parse_object
from agenticiqa.models.offline.language.question import understand
from agenticiqa.models.offline.looking import Look, Looker
from agenticiqa.models.offline.places import locate
from agenticiqa.models.offline.planner import plan_for
from agenticiqa.models.offline.summarizer import Reply, answer
from agenticiqa.models.tasks import AnalysisTask, DetectionTask, PlanTask, SelectionTask
from agenticiqa.pictures.images import Box, LoadedImage
from agenticiqa.state import PlannerOutput
from agenticiqa.vision.network import Vision, weights_version
from agenticiqa.vocabulary import GLOBAL

# Log-probabilities must stay finite for JSON.
LEAST_PROBABILITY = 1e-9
# One cell of the vision model: less holds nothing to judge.
SMALLEST_SIDE = 32


class EmbeddedClient(RichVLMClient):
    """Answers tasks, not prose. Safe to use from several threads."""

    cacheable = False

    def __init__(self, backend: str, vision: Vision) -> None:
        self.backend = backend
        self._vision = vision
        self._looker = Looker(vision)

    @property
    def identity(self) -> str:
        return f"{self.backend}@{weights_version()}"

    def complete(self, request: ModelRequest) -> ModelReply:
        task = request.task
        if isinstance(task, PlanTask):
            return self._reply(_plan(task))
        if isinstance(task, SelectionTask):
            return self._reply(select(task))
        if task is None or not request.images:
            raise BackendError(
                "The embedded backend is no language model: it needs a picture and cannot read a free prompt.",
                hint="Ask it through assess, or use a vision-language model.",
            )
        image = request.images[0].image
        if min(image.size) < SMALLEST_SIDE:
            raise BackendError(
                f"The picture is {image.size[0]}×{image.size[1]} pixels; the embedded backend judges none below "
                f"{SMALLEST_SIDE}×{SMALLEST_SIDE}.",
                hint="Use a larger picture, or a vision-language model.",
            )
        if isinstance(task, DetectionTask):
            return self._reply(detect(task, self._finder(image, task.boxes)))
        if isinstance(task, AnalysisTask):
            return self._reply(analyse(task, self._finder(image, task.boxes, task.query)))
        return self._answer(answer(task, self._finder(image, task.boxes, task.query)))

    def _finder(self, image: LoadedImage, boxes: Mapping[str, Box], query: str = "") -> Finder:
        scope = {item.name.casefold(): item for item in understand(query).scope} if query else {}

        def find(name: str) -> Seen:
            if name == GLOBAL:
                return _seen(self._looker.look(image))
            if name in boxes:
                return _seen(self._looker.look(image, boxes[name]))
            place = locate(scope.get(name.casefold()) or parse_object(name), image)
            return _seen(self._looker.look(image, place.box), place.note)

        return find

    def _reply(self, value: Mapping[str, Any]) -> ModelReply:
        return ModelReply(text=json.dumps(value, ensure_ascii=False), model=str(self._vision.about["name"]))

    def _answer(self, reply: Reply) -> ModelReply:
        logprobs = {letter: math.log(max(p, LEAST_PROBABILITY)) for letter, p in reply.probabilities.items()}
        text = json.dumps({"final_answer": reply.answer, "quality_reasoning": reply.reasoning}, ensure_ascii=False)
        return ModelReply(text=text, answer_logprobs=logprobs or None, model=str(self._vision.about["name"]))


def _seen(look: Look, note: str | None = None) -> Seen:
    """With a word on pictures that are no photographs."""
    return Seen(look, "; ".join(filter(None, (note, look.facts.note))) or None)


def _plan(task: PlanTask) -> dict[str, Any]:
    question = understand(task.query, task.options or None, has_reference=task.has_reference)
    plan = plan_for(question, has_reference=task.has_reference)
    if task.previous_plan is not None and plan == task.previous_plan:
        plan = _widened(plan)
    return plan.model_dump(mode="json", exclude={"extra_tools", "required_tool"}) | {
        "required_tool": plan.named_tools or None
    }


def _widened(plan: PlannerOutput) -> PlannerOutput:
    """The rules gave the plan that left a gap: switch everything on that could close it."""
    if plan.query_type == "Other":
        return plan
    flags = plan.plan.model_copy(update={"distortion_analysis": True, "tool_selection": True, "tool_execution": True})
    return plan.model_copy(update={"plan": flags})
