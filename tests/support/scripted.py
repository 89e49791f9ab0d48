"""Models that answer by script and remember every question."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agenticiqa.vlm_client import (
    Images,
    LabelledImage,
    ModelReply,
    ModelRequest,
    RichVLMClient,
    TokenUsage,
    VLMClient,
)

# Each step's prompt holds one phrase that no other step's prompt holds.
STEP_PHRASES = {
    "plan": "You are a planner in an image quality assessment (IQA) system",
    "views": "ask for closer looks at parts",
    "detection": "find the distortions that are visible",
    "analysis": "judge how badly it shows",
    "selection": "choose the one measuring tool",
    "answer": "You are a visual quality assessment assistant",
    "direct": "a reference image, where attached, shows how it should look.\n",
}


def step_of(prompt: str) -> str:
    """The step that asks with this prompt."""
    found = [step for step, phrase in STEP_PHRASES.items() if phrase in prompt]
    assert len(found) == 1, f"a prompt of {len(found)} steps: {prompt[:200]}"
    return found[0]


@dataclass(frozen=True)
class AskedQuestion:
    """One call as the model saw it."""

    step: str
    prompt: str
    images: tuple[LabelledImage, ...]
    kwargs: Mapping[str, Any]

    @property
    def user(self) -> str:
        """The prompt behind the system text."""
        return self.prompt.split("\n\nUser:\n", 1)[-1]

    @property
    def system(self) -> str:
        return self.prompt.split("\n\nUser:\n", 1)[0]


def plan_reply(**changes: Any) -> dict[str, Any]:
    """A planner's reply: rate the whole picture, everything on."""
    switches = {
        "distortion_detection": True,
        "distortion_analysis": True,
        "tool_selection": True,
        "tool_execution": True,
        **changes.pop("plan", {}),
    }
    return {
        "query_type": "IQA",
        "query_scope": "Global",
        "distortion_source": "Inferred",
        "distortions": None,
        "reference_mode": "No-Reference",
        "required_tool": None,
        "plan": switches,
        **changes,
    }


ALL_OFF = {
    "distortion_detection": False,
    "distortion_analysis": False,
    "tool_selection": False,
    "tool_execution": False,
}


def detection_reply(**kinds: list[str]) -> dict[str, Any]:
    return {"objects": [{"object": name, "types": types} for name, types in (kinds or {"Global": ["Blurs"]}).items()]}


def analysed(name: str, kind: str = "Blurs", severity: str = "moderate", **more: Any) -> dict[str, Any]:
    return {"object": name, "type": kind, "severity": severity, "explanation": f"{kind} in {name}.", **more}


def analysis_reply(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"analysis": list(entries or [analysed("Global")])}


def selection_reply(*choices: tuple[str, str, str]) -> dict[str, Any]:
    return {
        "selection": [
            {"object": name, "distortion": kind, "tool": tool}
            for name, kind, tool in (choices or [("Global", "Blurs", "noise")])
        ]
    }


def answer_reply(answer: Any = "C", reasoning: str = "Moderate blur is visible.") -> dict[str, Any]:
    return {"final_answer": answer, "quality_reasoning": reasoning}


def views_reply(*places: tuple[int, int, int, int], kind: str = "magnified") -> dict[str, Any]:
    names = ("x", "y", "width", "height")
    asked = [dict(zip(names, place, strict=True)) for place in places]
    return {"views": [{"kind": kind, "reason": "Is that grain?", **place} for place in asked]}


DEFAULT_REPLIES: dict[str, Any] = {
    "plan": plan_reply(),
    "views": views_reply(),
    "detection": detection_reply(),
    "analysis": analysis_reply(),
    "selection": selection_reply(),
    "answer": answer_reply(),
    "direct": answer_reply(),
}


@dataclass
class Script:
    """Replies by step. A list is used up one by one (its last entry stays); an exception is raised; a function is
    called with the question; a string is sent as it is; anything else is sent as JSON."""

    replies: dict[str, Any]
    asked: list[AskedQuestion] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self, question: AskedQuestion) -> str:
        with self._lock:
            position = sum(earlier.step == question.step for earlier in self.asked)
            self.asked.append(question)
        reply = self.replies[question.step]
        if isinstance(reply, list):
            reply = reply[min(position, len(reply) - 1)]
        if callable(reply):
            reply = reply(question)
        if isinstance(reply, BaseException):
            raise reply
        return reply if isinstance(reply, str) else json.dumps(reply)

    @property
    def counts(self) -> Counter[str]:
        return Counter(question.step for question in self.asked)

    def of(self, step: str) -> list[AskedQuestion]:
        return [question for question in self.asked if question.step == step]


class ScriptedClient(VLMClient):
    """The least a backend can be: ``generate`` alone."""

    def __init__(self, backend: str = "scripted.model", **replies: Any) -> None:
        self.backend = backend
        self.script = Script({**DEFAULT_REPLIES, **replies})

    def generate(self, prompt: str, images: Images = None, **kwargs: Any) -> str:
        assert isinstance(images, Sequence)
        pictures = tuple(item for item in images if isinstance(item, LabelledImage))
        return self.script.next(AskedQuestion(step_of(prompt), prompt, pictures, kwargs))

    @property
    def calls(self) -> int:
        return len(self.script.asked)


class RichScriptedClient(RichVLMClient):
    """A backend with token log-probabilities and usage."""

    def __init__(
        self, logprobs: Mapping[str, float] | None = None, backend: str = "scripted.rich", **replies: Any
    ) -> None:
        self.backend = backend
        self.logprobs = logprobs
        self.script = Script({**DEFAULT_REPLIES, **replies})
        self.requests: list[ModelRequest] = []

    def complete(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        step = step_of(request.full_prompt)
        text = self.script.next(AskedQuestion(step, request.full_prompt, request.images, {}))
        return ModelReply(
            text=text,
            answer_logprobs=self.logprobs if step in ("answer", "direct") else None,
            usage=TokenUsage(100, 10),
            model=self.backend,
        )

    @property
    def calls(self) -> int:
        return len(self.script.asked)
