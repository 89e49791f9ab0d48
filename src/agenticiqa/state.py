"""The contract between the agents: what each one writes and what travels through the graph.

Models in here accept what a language model is likely to write (other case, synonyms, a list where one name is
expected) and store the canonical form. Words that cannot be interpreted still fail, so that the caller asks again.
"""

# Without `from __future__ import annotations`: a TypedDict finds its NotRequired keys only in real annotations.
import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import NotRequired, TypedDict

from agenticiqa._data import read_data
from agenticiqa.errors import ConfigError
from agenticiqa.vocabulary import (
    GLOBAL,
    CategoryName,
    SeverityName,
    canonical_category,
    canonical_severity,
    letters_and_digits,
    same_name,
)

logger = logging.getLogger(__name__)

MAX_REPLAN_HISTORY = 10
DEFAULT_MAX_REPLAN_ITERATIONS = 2
NO_REASON = "No reason provided"


def _spelled(canonical: Callable[[str], str | None]) -> BeforeValidator:
    """Map loose spellings to the literal; an unknown word passes through and fails the literal check."""
    return BeforeValidator(lambda value: canonical(value) or value if isinstance(value, str) else value)


def _choice(**spellings: str) -> BeforeValidator:
    return _spelled(lambda text: spellings.get(letters_and_digits(text)))


QueryType = Annotated[
    Literal["IQA", "Other"], _choice(iqa="IQA", imagequalityassessment="IQA", other="Other", others="Other")
]
DistortionSource = Annotated[
    Literal["Explicit", "Inferred"],
    _choice(explicit="Explicit", explict="Explicit", inferred="Inferred", infered="Inferred"),
]
ReferenceMode = Annotated[
    Literal["Full-Reference", "No-Reference"],
    _choice(fullreference="Full-Reference", fr="Full-Reference", noreference="No-Reference", nr="No-Reference"),
]
Severity = Annotated[SeverityName, _spelled(canonical_severity)]
Category = Annotated[CategoryName, _spelled(canonical_category)]


def _with_examples(name: str) -> ConfigDict:
    """For a model whose JSON schema shows the documents' examples (``state_examples.yaml``)."""
    return ConfigDict(json_schema_extra={"examples": read_data("state_examples.yaml")[name]})


def _category_list(values: list[str]) -> list[str]:
    """Canonical names, each once, in the order given; a name outside the vocabulary is kept as written."""
    names = [canonical_category(value) or value.strip() for value in values]
    return list(dict.fromkeys(name for name in names if name))


# --- planner ---------------------------------------------------------------------------------------------


class PlanControlFlags(BaseModel):
    """Which of the executor's four steps run."""

    model_config = ConfigDict(populate_by_name=True)

    distortion_detection: bool
    distortion_analysis: bool
    tool_selection: bool
    tool_execution: bool = Field(validation_alias=AliasChoices("tool_execution", "tool_execute"))


class PlannerOutput(BaseModel):
    """What is asked, of which part of the picture, and with which means it will be answered."""

    model_config = _with_examples("PlannerOutput")

    query_type: QueryType
    query_scope: list[str] | Literal["Global"]
    distortion_source: DistortionSource
    distortions: dict[str, list[str]] | None = None
    reference_mode: ReferenceMode
    required_tool: str | None = None
    extra_tools: list[str] = Field(default_factory=list, description="Further tools the user named")
    plan: PlanControlFlags

    @model_validator(mode="before")
    @classmethod
    def _split_tool_list(cls, data: Any) -> Any:
        """A user may name several tools; the first fills ``required_tool``, the rest ``extra_tools``."""
        if not isinstance(data, dict) or not isinstance(data.get("required_tool"), list):
            return data
        names = [str(name).strip() for name in data["required_tool"] if str(name).strip()]
        rest = names[1:] + [name for name in data.get("extra_tools") or [] if name not in names]
        return {**data, "required_tool": names[0] if names else None, "extra_tools": rest}

    @field_validator("required_tool", mode="before")
    @classmethod
    def _no_tool_is_none(cls, value: Any) -> Any:
        return None if isinstance(value, str) and value.strip().lower() in ("", "none", "null") else value

    @field_validator("query_scope", mode="before")
    @classmethod
    def _scope(cls, value: Any) -> Any:
        if isinstance(value, str):
            return GLOBAL if value.strip().casefold() == "global" else [value.strip()] if value.strip() else value
        if isinstance(value, list) and all(isinstance(name, str) for name in value):
            names = list(dict.fromkeys(name.strip() for name in value if name.strip()))
            return GLOBAL if not names or [n.casefold() for n in names] == ["global"] else names
        return value

    @field_validator("distortions", mode="after")
    @classmethod
    def _canonical_distortions(cls, value: dict[str, list[str]] | None) -> dict[str, list[str]] | None:
        if not value:
            return None
        return {name.strip(): _category_list(kinds) for name, kinds in value.items() if kinds} or None

    @property
    def scope_names(self) -> list[str]:
        """The objects to judge; ``["Global"]`` for the whole picture."""
        return [GLOBAL] if isinstance(self.query_scope, str) else list(self.query_scope)

    @property
    def named_tools(self) -> list[str]:
        """Every tool the user named, in order."""
        return ([self.required_tool] if self.required_tool else []) + self.extra_tools


# --- executor --------------------------------------------------------------------------------------------


class DistortionAnalysis(BaseModel):
    """How badly one distortion shows in one object, and what the eye sees of it."""

    type: str = Field(min_length=1)
    severity: Severity
    explanation: str = Field(min_length=1)
    uncertain: bool = Field(default=False, description="The model says that it cannot tell")

    @field_validator("type")
    @classmethod
    def _canonical_type(cls, value: str) -> str:
        return canonical_category(value) or value.strip()

    def for_prompt(self) -> dict[str, str]:
        """The three fields of the documents' evidence format."""
        return {"type": self.type, "severity": self.severity, "explanation": self.explanation}


class ToolExecutionLog(BaseModel):
    """One run of one measuring tool on one region."""

    tool: str
    object: str = Field(default=GLOBAL, description="The name the score is filed under")
    region: list[int] | None = Field(None, description="x, y, width, height; None is the whole picture")
    distortions: list[str] = Field(default_factory=list)
    raw_score: float | None = None
    calibrated_score: float | None = Field(None, ge=1, le=5)
    higher_is_better: bool | None = None
    seconds: float = Field(default=0.0, ge=0)
    cached: bool = False
    note: str | None = None
    error: str | None = None


ViewKind = Literal["magnified", "shadows", "lights", "difference", "focus", "clipping", "noise", "red", "green", "blue"]
"""What a view shows of its place (``agenticiqa.vision.views`` makes them)."""
MOST_VIEWS, ASKED_VIEWS, VIEW_CALLS = 4, 2, 2
"""Views by rule; those that a model may ask for beside them, and in how many calls."""
Oddity = Literal["blur", "blocks", "noise", "scratch", "seam"]
"""What can be wrong with one place of a picture, unlike its surroundings."""


class View(BaseModel):
    """A closer look at one place: a part of the picture, never all there is to judge."""

    model_config = ConfigDict(frozen=True)

    kind: ViewKind = "magnified"
    box: tuple[int, int, int, int] = Field(description="x, y, width, height in pixels of the picture")
    scale: int = Field(1, ge=1, description="How many times each pixel is enlarged; nothing is interpolated")
    reason: str = Field(description="Why this place was chosen")
    chosen_by: Literal["rule", "model"] = "rule"
    quality: float | None = Field(None, ge=1, le=5, description="What the quality map says of the place")
    oddity: Oddity | None = Field(None, description="What was clearly measured there, unlike its surroundings")

    @property
    def place_text(self) -> str:
        """
        >>> View(box=(10, 20, 300, 200), scale=2, kind="shadows", reason="dark").place_text
        '300×200 px at 10, 20 (shadows, 2 times enlarged)'
        """
        x, y, width, height = self.box
        how: list[str] = [] if self.kind == "magnified" else [self.kind]
        how += [f"{self.scale} times enlarged"] if self.scale > 1 else []
        shown = f" ({', '.join(how)})" if how else ""
        return f"{width}×{height} px at {x}, {y}{shown}"


class ExecutorOutput(BaseModel):
    """The evidence: what was found, how bad it is, what was measured, and what went wrong on the way."""

    distortion_set: dict[str, list[str]] | None = None
    distortion_analysis: dict[str, list[DistortionAnalysis]] | None = None
    selected_tools: dict[str, dict[str, str]] | None = None
    quality_scores: dict[str, dict[str, tuple[str, float]]] | None = None
    tool_logs: list[ToolExecutionLog] = Field(default_factory=list)
    views: list[View] = Field(
        default_factory=list, description="Closer looks, made where a model sees less than there is"
    )
    errors: list[str] = Field(default_factory=list)

    @field_validator("distortion_set")
    @classmethod
    def _canonical_set(cls, value: dict[str, list[str]] | None) -> dict[str, list[str]] | None:
        return None if value is None else {name: _category_list(kinds) for name, kinds in value.items()}

    @property
    def is_empty(self) -> bool:
        return not self.distortion_analysis and not self.quality_scores

    def tool_scores(self, scope: Sequence[str] | None = None, without: Collection[str] = ()) -> list[float]:
        """Calibrated scores, each measurement (tool and region) once, however many distortions it is filed under.

        With a ``scope`` only those about it: of its objects, and of the whole picture, which stands for objects whose
        place is not known. ``without`` leaves out tools by their names.
        """

        def is_about(name: str) -> bool:
            return scope is None or any(same_name(name, each) for each in (*scope, GLOBAL))

        logs = [(log.tool, log.calibrated_score) for log in self.tool_logs if is_about(log.object)]
        if measured := [(tool, score) for tool, score in logs if score is not None]:
            return [score for tool, score in measured if tool not in without]
        scores = {name: by for name, by in (self.quality_scores or {}).items() if is_about(name)}
        unique = {
            (name, tool): score for name, by in scores.items() for tool, score in by.values() if tool not in without
        }
        return list(unique.values())


# --- summarizer ------------------------------------------------------------------------------------------


class ScoreConflict(BaseModel):
    """Measurements and model read the quality so differently that no single score speaks for both."""

    tools: float = Field(ge=1, le=5, description="The mean of the tools' scores")
    model: float = Field(ge=1, le=5, description="The model's level, or the mean of its level probabilities")
    overlap: float = Field(ge=0, le=1, description="Common area of the tools' weights and the model's probabilities")

    @property
    def interval(self) -> tuple[float, float]:
        """From the lower reading to the higher one."""
        return min(self.tools, self.model), max(self.tools, self.model)

    def __str__(self) -> str:
        """Both readings in words.

        >>> str(ScoreConflict(tools=4.5, model=1, overlap=0))
        'the tools read 4.50, the model 1.00'
        """
        return f"the tools read {self.tools:.2f}, the model {self.model:.2f}"


class Fix(BaseModel):
    """What can be done to a picture by numbers; ``agenticiqa.pictures.fixes`` does it."""

    kind: Literal["exposure", "levels", "white_balance", "saturation", "denoise", "sharpen", "turn", "crop"]
    amounts: tuple[float, ...] = Field(description="As the kind counts them: stops, levels, degrees, pixels")


class Advice(BaseModel):
    """One thing to do about a picture, the finding it answers, and where the rule comes from."""

    do: str
    because: str
    source: str
    fix: Fix | None = Field(default=None, description="The same by numbers, where a copy with it can be made")


class ModelAnswer(BaseModel):
    """What one of several models answered to the same question from the same evidence."""

    backend: str
    weight: float = Field(ge=0, le=1, description="Its share in the joint answer; 0 where it gave none")
    answer: str | None = None
    quality_score: float | None = Field(None, ge=1, le=5, description="What its answer alone would be fused to")
    probabilities: dict[str, float] | None = Field(None, description="Its own chances of the choices, where it has any")
    reasoning: str | None = None
    error: str | None = Field(None, description="Why it gave no answer")

    def cells(self) -> list[str]:
        """A row under :data:`MODEL_COLUMNS`, for people.

        >>> ModelAnswer(backend="embedded", weight=0.5, answer="B", quality_score=3.9, probabilities={"B": 0.7}).cells()
        ['embedded', 'B', '70 %', '3.90', '0.50']
        """
        chance = (self.probabilities or {}).get(self.answer or "")
        return [
            self.backend,
            self.answer or f"none: {self.error}",
            "" if chance is None else f"{100 * chance:.0f} %",
            "" if self.quality_score is None else f"{self.quality_score:.2f}",
            f"{self.weight:.2f}",
        ]


MODEL_COLUMNS = ("Model", "Answer", "Chance", "Score", "Weight")


class SummarizerOutput(BaseModel):
    """The answer with its reasons, or the request to plan again."""

    model_config = _with_examples("SummarizerOutput")

    final_answer: str = Field(..., description="Final answer (MCQ letter or quality level)")
    quality_reasoning: str = Field(..., min_length=1, description="Evidence-based explanation")
    need_replan: bool = Field(default=False, description="Whether replanning is needed")
    replan_reason: str | None = Field(None, description="Reason for replanning")
    used_evidence: dict[str, Any] | None = Field(None, description="Evidence items referenced")
    quality_score: float | None = Field(None, ge=1, le=5, description="Fused score, 1 (bad) to 5 (excellent)")
    score_interval: tuple[float, float] | None = Field(
        None, description="Holds what people say in four of five cases; in a conflict, from one reading to the other"
    )
    conflict: ScoreConflict | None = Field(None, description="Set when measurements and model contradict each other")
    advice: list[Advice] = Field(default_factory=list, description="What to do about it, what matters most first")
    doubt: str | None = Field(None, description="Why the answer is not certain, though there is one")
    error: str | None = Field(None, description="Set when this is not an answer but a failure")
    # No model is asked for these two, so that they are no part of the schema.
    models: SkipJsonSchema[list[ModelAnswer]] = Field(
        default_factory=list, description="Where several models answered, each one's"
    )
    agreement: SkipJsonSchema[str | None] = Field(None, description="Who of them says what, in words")

    @field_validator("final_answer", "quality_reasoning", mode="after")
    @classmethod
    def _trimmed(cls, value: str) -> str:
        stripped = value.strip()
        if not stripped:
            raise ValueError("must contain at least one non-whitespace character")
        return stripped

    @model_validator(mode="after")
    def _reason_for_replan(self) -> "SummarizerOutput":
        if self.need_replan and not (self.replan_reason or "").strip():
            logger.warning("need_replan=True without a replan_reason")
            self.replan_reason = NO_REASON
        return self


GapKind = Literal["analysis", "scores", "contradiction", "uncertainty", "conflict"]


@dataclass(frozen=True)
class Gap:
    """One thing in the evidence that is missing or does not fit, in words for the planner and the user."""

    kind: GapKind
    reason: str


# --- which parts of the system take part ---------------------------------------------------------------------

RunMode = Literal["agents", "direct"]
"""``direct`` puts the same question to the same model, without agents and tools."""
Part = Literal["planner", "executor", "tools", "detection", "analysis", "fusion", "replan", "views"]
"""What can be left out of a run to see what it is worth."""
PARTS: tuple[Part, ...] = get_args(Part)


ViewsMode = Literal["off", "auto", "ask"]
"""Closer looks: none, by rule, or by rule and then as the executor's model asks for."""


def known_parts(names: Iterable[str] | str) -> list[Part]:
    """Parts by their names, each once and in the usual order; a text lists them with commas."""
    given = names.split(",") if isinstance(names, str) else list(names)
    wanted = {str(name).strip().casefold() for name in given} - {""}
    unknown = sorted(wanted - {*PARTS})
    if unknown:
        raise ConfigError(f"There is no part {unknown[0]!r} to leave out.", hint=f"Parts are {', '.join(PARTS)}.")
    return [part for part in PARTS if part in wanted]


def check_mode(mode: str, without: Sequence[str]) -> None:
    """A mode that exists, and nothing left out of a run that has no parts."""
    if mode not in get_args(RunMode):
        raise ConfigError(f"mode is {mode!r}.", hint="It is 'agents' or 'direct'.")
    if mode == "direct" and without:
        raise ConfigError(
            f"In direct mode the model is asked alone: {without[0]!r} is no part of it.",
            hint="Choose one of mode and without.",
        )


# --- the state that travels ------------------------------------------------------------------------------

MAX_TURNS = 20
"""Of a thread the last ones travel."""


class Turn(TypedDict):
    """A question that was asked of the same picture before, and its answer in words."""

    query: str
    answer: str
    options: NotRequired[list[str]]
    """Those that were given beside the question."""


class AgenticIQAState(TypedDict):
    """One run's state. Nodes read it and return only what they add."""

    query: str
    image_path: str
    reference_path: NotRequired[str | None]
    options: NotRequired[list[str] | None]
    regions: NotRequired[dict[str, list[int]] | None]
    align: NotRequired[str]
    mode: NotRequired[RunMode]
    without: NotRequired[list[Part]]
    views: NotRequired[ViewsMode]
    earlier: NotRequired[list[Turn]]
    plan: NotRequired[PlannerOutput | None]
    executor_evidence: NotRequired[ExecutorOutput | None]
    summarizer_result: NotRequired[SummarizerOutput]
    iteration_count: NotRequired[int]
    max_replan_iterations: NotRequired[int]
    replan_history: NotRequired[list[str]]
    replan_gaps: NotRequired[list[Gap]]
    unchanged_plans: NotRequired[int]
    error: NotRequired[str | None]
