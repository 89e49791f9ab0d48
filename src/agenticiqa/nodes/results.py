"""What the agents' work ends in: an assessment of one picture, or a comparison of two."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, Field, PrivateAttr

from agenticiqa.errors import AssessmentFailedError, FollowUpError
from agenticiqa.pictures.images import LoadedImage, load_image
from agenticiqa.pictures.inputs import GivenPicture
from agenticiqa.runtime.config import ImageLimits
from agenticiqa.state import Advice, ExecutorOutput, ModelAnswer, PlannerOutput, ScoreConflict, SummarizerOutput, Turn
from agenticiqa.vocabulary import LETTER_LEVELS, LEVEL_NAMES

Status = Literal["ok", "partial", "error"]
Side = Literal["A", "B"]
Winner = Literal["A", "B", "tie"]


class Result(BaseModel):
    """What interactive Python shows of a result: one line, and in a notebook a page."""

    notebook_view: ClassVar[Callable[[Any], str | None]] = staticmethod(lambda _result: None)
    """Set by :mod:`agenticiqa.api.assessor`: pages are built on results, so results cannot import them."""

    def _repr_html_(self) -> str | None:
        return type(self).notebook_view(self)

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        printer.text(str(self))


class _Asking:
    """How whoever made a result asks on: no part of what it says, and left behind when it is stored."""

    ask: Callable[..., Assessment] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Asking)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[_Asking], tuple[()]]:
        return _Asking, ()


class Assessment(Result):
    """The result of one run: the answer, everything it rests on, and where it came from."""

    status: Status
    query: str
    image_path: str
    reference_path: str | None = None
    plan: PlannerOutput | None = None
    executor_evidence: ExecutorOutput | None = None
    summarizer_result: SummarizerOutput | None = None
    replan_history: list[str] = Field(default_factory=list)
    earlier: list[Turn] = Field(default_factory=list, description="What was asked of the picture before, oldest first")
    error: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    _asking: _Asking = PrivateAttr(default_factory=_Asking)
    _pictures: dict[str, GivenPicture] = PrivateAttr(default_factory=dict)
    """Those that are in no file, so that a notebook can show them; they are not stored with the result."""

    def keep_pictures(self, pictures: Mapping[str, GivenPicture]) -> None:
        """Keep pictures that are in no file, so that reports can show them."""
        self._pictures = {name: given for name, given in pictures.items() if not os.path.exists(name)}

    def ask_with(self, ask: Callable[..., Assessment]) -> None:
        """Let :meth:`ask` call ``ask(self, query, **options)``."""
        self._asking.ask = ask

    def ask(self, query: str, **options: Any) -> Assessment:
        """Ask on about the same picture: "and the background?", "why?", "are you sure?", "how do I fix that?".

        Reference, regions and models are those of this result; what the question leaves open is what was asked before.

        Args:
            query: The question; a complete one is read by itself.
            options: As for :func:`agenticiqa.assess`, where something is to differ.
        Returns:
            The answer, which can be asked on itself.
        Raises:
            FollowUpError: This result was read from a file or a record, which hold no picture.
            AssessmentFailedError: There is no answer to ask on from.
            ImageError: The picture's file is gone, or another one by now.

        >>> import agenticiqa
        >>> from PIL import Image
        >>> result = agenticiqa.assess(Image.linear_gradient("L"), "Is it noisy?", backend="embedded")
        >>> result.ask("are you sure?").turns[0]["query"]
        'Is it noisy?'
        """
        if self._asking.ask is None:
            raise FollowUpError("This result was stored and read again, without its picture and its models.")
        return self._asking.ask(self, query, **options)

    async def aask(self, query: str, **options: Any) -> Assessment:
        """``ask`` as a coroutine: the same arguments, result and errors."""
        return await asyncio.to_thread(self.ask, query, **options)

    @property
    def turns(self) -> list[Turn]:
        """What was asked of the picture until now, this question last, with the answers in words.

        Raises:
            AssessmentFailedError: This question has no answer.
        """
        turn = Turn(query=self.query, answer=self.answer_text)
        if given := self.metadata.get("options"):
            turn["options"] = list(given)
        return [*self.earlier, turn]

    @property
    def answer_text(self) -> str:
        """The answer for people: an option with its text, a level with its name and score.

        Raises:
            AssessmentFailedError: The run has no answer.
        """
        answer, options = self.answer, (self._result().used_evidence or {}).get("options") or {}
        if self.score is not None and answer in LETTER_LEVELS:
            return f"{answer} ({LEVEL_NAMES[LETTER_LEVELS[answer]]}), {self.score_text}"
        return f"{answer}. {options[answer]}" if answer in options else answer

    def open_picture(self, name: str, limits: ImageLimits) -> LoadedImage:
        """The picture or its reference, by the name that the result gives it.

        Raises:
            ImageError: It cannot be read any more, or exceeds ``limits``.
        """
        given = self._pictures.get(name)
        return given.open(limits) if given else load_image(name, limits)

    @property
    def answer(self) -> str:
        """An option's letter, a level A–E, or a short text.

        Raises:
            AssessmentFailedError: The run has no answer. So do the other properties of the answer.
        """
        return self._result().final_answer

    @property
    def score(self) -> float | None:
        """The fused quality score, 1 (bad) to 5 (excellent); None when the question asked for no rating."""
        return self._result().quality_score

    @property
    def conflict(self) -> ScoreConflict | None:
        """The scores of tools and model where they contradict each other; None otherwise."""
        return self._result().conflict

    @property
    def score_interval(self) -> tuple[float, float] | None:
        """The interval that holds people's opinion in four of five cases; in a conflict, both readings."""
        return self._result().score_interval

    @property
    def gate_score(self) -> float | None:
        """The score that a quality gate compares: in a conflict the lower reading."""
        return self.conflict.interval[0] if self.conflict else self.score

    @property
    def reasoning(self) -> str:
        """Why, in sentences."""
        return self._result().quality_reasoning

    @property
    def models(self) -> list[ModelAnswer]:
        """What each of several models answered; empty where one model did, or none."""
        return self.summarizer_result.models if self.summarizer_result else []

    @property
    def advice(self) -> list[Advice]:
        """What to do about the picture, most important first; empty where nothing was found to improve."""
        return self._result().advice

    def __str__(self) -> str:
        """One line: the answer, the score where there is one, the picture.

        >>> str(Assessment(status="error", query="Rate it", image_path="a.png", error="no such file"))
        'a.png: no answer (no such file)'
        """
        if self.status == "error" or self.summarizer_result is None:
            return _one_line(f"{self.image_path}: no answer ({self.error or 'it did not finish'})")
        score = "" if self.score is None else f" ({self.score_text})"
        doubt = " (partial)" if self.status == "partial" else ""
        return _one_line(f"{self.image_path}: {self.answer}{score}{doubt}")

    @property
    def score_text(self) -> str:
        """The score in words, first on the scale that was asked for; in a conflict, both readings."""
        if self.conflict or self.score is None:
            return f"conflict: {self.conflict}, of 5" if self.conflict else "no score"
        asked = f"{self.asked_scale}, that is " if self.asked_scale else ""
        return f"{asked}{self.score:.2f} of 5"

    @property
    def asked_scale(self) -> str | None:
        """The score on the scale that the question asks for ("8.2 of 10", "80 %"); None where it names none."""
        used = self.summarizer_result.used_evidence if self.summarizer_result else None
        return (used or {}).get("asked_scale")

    def to_row(self) -> dict[str, Any]:
        """One flat record with the columns of a batch's table.

        >>> row = Assessment(status="error", query="Rate it", image_path="a.png", error="no such file").to_row()
        >>> row["status"], row["quality_score"], row["error"]
        ('error', None, 'no such file')
        """
        about = self.metadata
        answered = self.summarizer_result if self.status != "error" else None
        low, high = (answered and answered.score_interval) or (None, None)
        return {
            "image_path": self.image_path,
            "reference_path": self.reference_path,
            "query": self.query,
            "status": self.status,
            "final_answer": answered and answered.final_answer,
            "quality_score": answered and answered.quality_score,
            "score_low": low,
            "score_high": high,
            "quality_reasoning": answered and answered.quality_reasoning,
            "error": self.error,
            "backend": next(iter(dict.fromkeys((about.get("backend") or {}).values())), None),
            "calls": about.get("calls"),
            "cost_usd": about.get("cost_usd"),
            "seconds": (about.get("timings") or {}).get("total"),
            "run_id": about.get("run_id"),
        }

    def _result(self) -> SummarizerOutput:
        if self.status == "error" or self.summarizer_result is None:
            raise AssessmentFailedError(f"This run has no answer: {self.error or 'it did not finish'}")
        return self.summarizer_result


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())


class ToolComparison(BaseModel):
    """One tool on both pictures, on the same pixels and with the same settings."""

    tool: str
    type: Literal["FR", "NR"]
    raw_a: float | None = None
    raw_b: float | None = None
    calibrated_a: float | None = None
    calibrated_b: float | None = None
    better: Winner | None = None
    error: str | None = None


class Place(BaseModel):
    """A ninth of the frame and who is better there; ``lead`` is A's lead in points of 1..5 or of similarity."""

    name: str
    lead: float
    better: Winner


class Comparison(Result):
    """The verdict on two pictures and everything it rests on.

    ``chance_a`` is the chance that people prefer A; ``confidence`` is that of the winner (of a tie: of the side with
    the better score). Both are kept between 0.001 and 0.999, which is as far as they were checked; identical pixels are
    a certain tie, with confidence 1. Both are None when no tool with a measured reliability could run.
    """

    status: Status
    image_a: str
    image_b: str
    reference_path: str | None = None
    winner: Winner | None = None
    confidence: float | None = None
    chance_a: float | None = None
    verdict: str = ""
    reasons: list[str] = Field(default_factory=list)
    decided_by: str | None = None
    score_a: float | None = None
    score_b: float | None = None
    tools: list[ToolComparison] = Field(default_factory=list)
    places: list[Place] = Field(default_factory=list)
    map_shows: str | None = None
    """What the difference map is made of; None when there is none."""
    notes: list[str] = Field(default_factory=list)
    error: str | None = None
    a: Assessment | None = None
    b: Assessment | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)

    def __str__(self) -> str:
        """One line.

        >>> str(Comparison(status="error", image_a="a.png", image_b="b.png", error="no such file"))
        'a.png or b.png: no verdict (no such file)'
        """
        verdict = f"no verdict ({self.error})" if self.status == "error" else self.verdict
        return _one_line(f"{self.image_a} or {self.image_b}: {verdict}")

    def to_row(self) -> dict[str, Any]:
        """One flat record, for tables.

        >>> Comparison(status="error", image_a="a.png", image_b="b.png", error="no file").to_row()["winner"] is None
        True
        """
        columns = "image_a image_b reference_path status winner confidence chance_a score_a score_b verdict error"
        return {name: getattr(self, name) for name in columns.split()}
