"""The planner's and the summarizer's work without a language model."""

from dataclasses import dataclass, replace

from agenticiqa.embedded.answering import options, words
from agenticiqa.embedded.answering.problem import AnswerProblem, EmbeddedAnswer, SeenEvidence
from agenticiqa.embedded.answering.yes_no import claims
from agenticiqa.embedded.findings import NOTHING, Finder, styles, tool_sentences
from agenticiqa.embedded.parts import Part
from agenticiqa.embedded.properties import properties
from agenticiqa.embedded.question import Meaning, ParsedQuestion, own_claim
from agenticiqa.pictures.images import Box
from agenticiqa.pictures.regions import find_region
from agenticiqa.state import ExecutorOutput, PlanControlFlags, PlannerOutput
from agenticiqa.vision.quality_map import position_of
from agenticiqa.vlm_client import Mode, Question, Verdict
from agenticiqa.vocabulary import GLOBAL, UNABLE_TO_DETERMINE

# --- The planner's rule table: from what a question says to the plan that answers it ---

# Asked about what the picture shows, how it is arranged, or its file: no step of the executor has to do with that.
_OTHER = frozenset(
    {"symmetric", "repetitive", "emphasised", "composition", "cluttered", "cropped", "empty", "rule_of_thirds",
     "colour_scheme", "picture_kind", "time_of_day", "video_frame", "real", "aspect", "file_format", "camera_settings",
     "mood", "cosy", "dreamy", "beautiful", "intended"}
)  # fmt: skip


def plan_for(question: ParsedQuestion, *, has_reference: bool) -> PlannerOutput:
    """Apply the rules; no judgement is left here.

    >>> from agenticiqa.embedded.question import understand
    >>> plan = plan_for(understand("Is the vehicle blurry?"), has_reference=False)
    >>> plan.query_scope, plan.distortions, plan.plan.tool_execution
    (['vehicle'], {'vehicle': ['Blurs']}, False)
    """
    meaning = question.meaning
    technical = bool(question.tools) or (meaning.property is not None and meaning.property not in _OTHER)
    scope = [part.name for part in scope_of(meaning)]
    categories = categories_named(meaning) if technical else []
    return PlannerOutput.model_validate(
        {
            "query_type": "IQA" if technical else "Other",
            "query_scope": scope or GLOBAL,
            "distortion_source": "Explicit" if categories else "Inferred",
            "distortions": _by_part(meaning, scope, categories) if categories else None,
            "reference_mode": "Full-Reference" if has_reference else "No-Reference",
            "required_tool": list(question.tools) or None,
            # Nothing for other tasks; tools where one is named, or where no region is.
            "plan": PlanControlFlags(
                distortion_detection=technical and not categories,
                distortion_analysis=technical,
                tool_selection=technical and not scope and not question.tools,
                tool_execution=technical and (bool(question.tools) or not scope),
            ),
        }
    )


def _by_part(meaning: Meaning, scope: list[str], categories: list[str]) -> dict[str, list[str]]:
    """The categories of each part: "Is the sky noisy and the bridge blurry?" asks another of each."""
    own = {part: properties()[claim.property].category for claim in claims(meaning) for part in claim.parts}
    if scope and set(own) == set(scope) and all(own.values()):
        return {part: [str(category)] for part, category in own.items()}
    return dict.fromkeys(scope or [GLOBAL], categories)


def scope_of(meaning: Meaning) -> list[Part]:
    """The parts that are asked about; those to choose from where only the options name them."""
    if meaning.parts or meaning.form not in ("where", "compare"):
        return list(meaning.parts)
    offered = [option.part for option in meaning.options if option.part]
    return offered if 2 * len(offered) > len(meaning.options) else []


def categories_named(meaning: Meaning) -> list[str]:
    """The categories of damage that the question asks about by name, or that its options name."""
    named = [name for name in (meaning.property, *meaning.also) if name]
    categories = [properties()[name].category for name in named]
    if not any(categories) and meaning.property in ("flaw", "flaw_count"):
        claims = (own_claim(option.text) for option in meaning.options)
        categories = [properties()[claim[0]].category for claim in claims if claim]
    return list(dict.fromkeys(each for each in categories if each))


def widened(plan: PlannerOutput) -> PlannerOutput:
    """For a plan that left a gap and that the rules would give again: everything on that could close it."""
    if plan.query_type == "Other":
        return plan
    flags = plan.plan.model_copy(update={"distortion_analysis": True, "tool_selection": True, "tool_execution": True})
    return plan.model_copy(update={"plan": flags})


# --- The summarizer's work without a language model ---


@dataclass(frozen=True)
class AnswerTask:
    """A question, what was found for it, and where to look further."""

    asked: Question
    question: ParsedQuestion
    mode: Mode
    plan: PlannerOutput
    evidence: ExecutorOutput
    find: Finder

    @property
    def problem(self) -> AnswerProblem:
        marked = tuple(name for name in self.plan.scope_names if find_region(name, self.asked.regions))
        return AnswerProblem(self.question.meaning, SeenEvidence(self.find), marked)


def answer(task: AnswerTask) -> Verdict:
    """Rate, choose, or say in words, whichever the question asks for."""
    problem = task.problem
    found = _with_views(task, _answer(task, problem))
    unknown = tuple(
        f"There is no tool {name!r} here (see `agenticiqa tools list`)." for name in task.question.unknown_tools
    )
    look = task.find(GLOBAL).look
    seen, style = look.facts.note, styles(look) if found.sentences and _about_quality(task) else []
    notes = (*found.notes, *((f"{seen[0].upper()}{seen[1:]}.",) if seen else ()))
    notes += (f"Style, not damage: {'; '.join(style)}.",) if style else ()
    measured = (*found.measured, *_measured(task), *problem.notes())
    return replace(found, doubts=(*unknown, *found.doubts), notes=notes, measured=measured).verdict()


_CATEGORIES: dict[str | None, str] = {"blur": "Blurs", "blocks": "Compression", "noise": "Noise"}
"""Of what is odd about a place, where it is a lesser kind of what whole pictures have."""


def _with_views(task: AnswerTask, found: EmbeddedAnswer) -> EmbeddedAnswer:
    """What closer looks found at single places, where it is asked about; no word on the whole picture changes."""
    meaning = task.question.meaning
    asked = properties()[meaning.property].category if meaning.property else None
    about = [
        view
        for view in task.evidence.views
        if view.oddity and (_about_quality(task) or _CATEGORIES.get(view.oddity) == asked is not None)
    ]
    if not about or task.asked.options or found.text == UNABLE_TO_DETERMINE:
        return found
    size = task.asked.image.size
    said = tuple(f"One place is odd, {_at(position_of(Box(*view.box), size))}: {view.reason}." for view in about)
    sound = meaning.form == "what_is_wrong" and not task.find(GLOBAL).look.visible()
    text = said[0].removesuffix(".") if sound else found.text
    whole = tuple(sentence for sentence in found.sentences if sentence != NOTHING)
    return replace(found, text=text, sentences=(*whole, *said))


def _at(position: str) -> str:
    return "in the middle" if position == "center" else f"at the {position}"


def _answer(task: AnswerTask, problem: AnswerProblem) -> EmbeddedAnswer:
    found = _first_answer(task, problem)
    more = {"why": words.reason, "sure": words.sure}.get(task.question.meaning.follows or "")
    return more(problem, found) if more and found.text != UNABLE_TO_DETERMINE else found


def _first_answer(task: AnswerTask, problem: AnswerProblem) -> EmbeddedAnswer:
    """The answer to the question itself, also where more is asked of it."""
    if task.mode == "scoring":
        return words.rate(problem)
    if task.find(task.plan.scope_names[0]).look.facts.content == "blank":
        return EmbeddedAnswer(UNABLE_TO_DETERMINE, doubts=("The picture shows nothing that could be judged.",))
    if task.asked.options:
        return options.answer(problem)
    return _of_tools(task) or words.answer(problem)


def _about_quality(task: AnswerTask) -> bool:
    """Whether quality as such is asked about, not one property."""
    return task.mode == "scoring" or task.question.meaning.property in (None, "quality", "flaw", "flaw_count")


def _measured(task: AnswerTask) -> list[str]:
    """What tools measured: of one property they say nothing."""
    return tool_sentences(task.evidence) if task.question.tools or _about_quality(task) else []


def _of_tools(task: AnswerTask) -> EmbeddedAnswer | None:
    """ "What is the PSNR?": the values of the tools that the question names."""
    if not task.question.tools or task.question.meaning.property not in (None, "quality"):
        return None
    measured = [log for log in task.evidence.tool_logs if log.raw_score is not None and log.tool in task.question.tools]
    places = [f" of {log.object}" if log.region is not None else "" for log in measured]
    said = [f"{log.tool}{place} {log.raw_score:.4g}" for log, place in zip(measured, places, strict=True)]
    values = "; ".join(dict.fromkeys(said))
    return EmbeddedAnswer(values, (f"Measured: {values}.",)) if measured else None
