"""The planner's and the summarizer's work without a language model."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agenticiqa.embedded.answering import options, several, words
from agenticiqa.embedded.answering.problem import AnswerProblem, EmbeddedAnswer, SeenEvidence, unable
from agenticiqa.embedded.findings import Finder, tool_sentences
from agenticiqa.embedded.language.question import ParsedQuestion
from agenticiqa.pictures.regions import find_region
from agenticiqa.state import ExecutorOutput, PlanControlFlags, PlannerOutput, ToolExecutionLog
from agenticiqa.vlm_client import Mode, Question, Verdict
from agenticiqa.vocabulary import GLOBAL

# --- The planner's rule table: from what a question says to the plan that answers it ---


def plan_for(question: ParsedQuestion, *, has_reference: bool) -> PlannerOutput:
    """Apply the rules; no judgement is left here.

    >>> from agenticiqa.embedded.language.question import understand
    >>> plan = plan_for(understand("Is the vehicle blurry?"), has_reference=False)
    >>> plan.query_scope, plan.distortions, plan.plan.tool_execution
    (['vehicle'], {'vehicle': ['Blurs']}, False)
    """
    distortions = _distortions(question)
    return PlannerOutput.model_validate(
        {
            "query_type": question.type,
            "query_scope": [item.name for item in question.scope] or GLOBAL,
            "distortion_source": "Explicit" if distortions else "Inferred",
            "distortions": distortions,
            "reference_mode": "Full-Reference" if has_reference else "No-Reference",
            "required_tool": list(question.tools) or None,
            "plan": switches(question, names_distortion=bool(distortions)),
        }
    )


def widened(plan: PlannerOutput) -> PlannerOutput:
    """For a plan that left a gap and that the rules would give again: everything on that could close it."""
    if plan.query_type == "Other":
        return plan
    flags = plan.plan.model_copy(update={"distortion_analysis": True, "tool_selection": True, "tool_execution": True})
    return plan.model_copy(update={"plan": flags})


def switches(question: ParsedQuestion, *, names_distortion: bool) -> PlanControlFlags:
    """Which steps run: nothing for other tasks; tools where one is named, or where no region is."""
    technical = question.type == "IQA"
    region, tool = bool(question.scope), bool(question.tools)
    return PlanControlFlags(
        distortion_detection=technical and not names_distortion,
        distortion_analysis=technical,
        tool_selection=technical and not region and not tool,
        tool_execution=technical and (tool or not region),
    )


def _distortions(question: ParsedQuestion) -> dict[str, list[str]] | None:
    """One entry per object (or for the whole picture) with the categories that the question names for it."""
    by_object: dict[str, list[str]] = {}
    for name in [item.name for item in question.scope] or [GLOBAL]:
        categories = [item.category for item in question.distortions if not item.objects or name in item.objects]
        if categories:
            by_object[name] = list(dict.fromkeys(categories))
    return by_object or None


# --- The summarizer's work without a language model ---


NOT_ENGLISH = "The question does not look English to this backend, so it may have been misread."
READ_LANGUAGES = "English, and basic questions in German, French, Spanish and Chinese"


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
        return AnswerProblem(
            self.question.meaning,
            SeenEvidence(self.find),
            lettered=bool(self.asked.options),
            claims=self.question.options,
            marked=tuple(name for name in self.plan.scope_names if find_region(name, self.asked.regions)),
        )

    @property
    def is_foreign(self) -> bool:
        """Whether the question is in a language that nothing here reads."""
        return not self.question.english and self.question.meaning.property is None


def answer(task: AnswerTask) -> Verdict:
    """Rate, choose, or say in words, whichever the question asks for."""
    problem = task.problem
    found = _answer(task, problem)
    language = () if task.question.english else (_language_note(task.question),)
    first = (*(language if task.is_foreign else ()), *map(_unknown_tool, task.question.unknown_tools))
    last = (*_measured(task), *problem.notes(), *(() if task.is_foreign else language))
    return replace(found, doubts=(*first, *found.doubts), remarks=(*found.remarks, *last)).verdict()


def _answer(task: AnswerTask, problem: AnswerProblem) -> EmbeddedAnswer:
    if task.mode == "scoring":
        return words.rate(problem, understood=bool(task.question.tools or task.question.unknown_tools))
    if task.find(task.plan.scope_names[0]).look.facts.content == "blank":
        return unable("The picture shows nothing that could be judged.")
    if task.asked.options:
        return options.answer(problem)
    if task.is_foreign:
        return unable()
    return _of_tools(task) or several.answer(problem) or words.answer(problem)


def _measured(task: AnswerTask) -> list[str]:
    """What tools measured, where quality as such is asked about: of one property they say nothing."""
    about_quality = task.question.meaning.property in (None, "quality", "flaw", "flaw_count")
    return tool_sentences(task.evidence) if task.mode == "scoring" or task.question.tools or about_quality else []


def _of_tools(task: AnswerTask) -> EmbeddedAnswer | None:
    """ "What is the PSNR?": the values of the tools that the question names."""
    if not task.question.tools or task.question.meaning.property not in (None, "quality"):
        return None
    measured = [log for log in task.evidence.tool_logs if log.raw_score is not None and log.tool in task.question.tools]
    if not measured:
        return None
    return EmbeddedAnswer("; ".join(dict.fromkeys(map(_value, measured))))


def _value(log: ToolExecutionLog) -> str:
    where = "" if log.region is None else f" of {log.object}"
    return f"{log.tool}{where} {log.raw_score:.4g}"


def _unknown_tool(name: str) -> str:
    return f"There is no tool {name!r} here (see `agenticiqa tools list`)."


def _language_note(question: ParsedQuestion) -> str:
    if question.language is None:
        return NOT_ENGLISH
    if question.meaning.property is None:
        return f"The question looks {question.language}; this backend reads {READ_LANGUAGES}."
    return f"The question was read as {question.language}, of which this backend knows few words: it may be misread."
