"""The summarizer's work without a language model: answer what was asked from readings of it, or say what is missing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agenticiqa.models.mind import Asked, Mode, Verdict
from agenticiqa.models.offline.answering import options, rating, several, words
from agenticiqa.models.offline.answering.evidence import SeenEvidence
from agenticiqa.models.offline.answering.problem import Answer, Problem, unable
from agenticiqa.models.offline.executor import Finder
from agenticiqa.models.offline.language.question import Question
from agenticiqa.models.offline.sentences import tool_sentences
from agenticiqa.pictures.regions import find_region
from agenticiqa.state import ExecutorOutput, PlannerOutput, ToolExecutionLog

NOT_ENGLISH = "The question does not look English to this backend, so it may have been misread."
READ_LANGUAGES = "English, and basic questions in German, French, Spanish and Chinese"


@dataclass(frozen=True)
class AnswerTask:
    """A question, what was found for it, and where to look further."""

    asked: Asked
    question: Question
    mode: Mode
    plan: PlannerOutput
    evidence: ExecutorOutput
    find: Finder

    @property
    def problem(self) -> Problem:
        return Problem(
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


def _answer(task: AnswerTask, problem: Problem) -> Answer:
    if task.mode == "scoring":
        return rating.rate(problem, understood=bool(task.question.tools or task.question.unknown_tools))
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


def _of_tools(task: AnswerTask) -> Answer | None:
    """ "What is the PSNR?": the values of the tools that the question names."""
    if not task.question.tools or task.question.meaning.property not in (None, "quality"):
        return None
    measured = [log for log in task.evidence.tool_logs if log.raw_score is not None and log.tool in task.question.tools]
    if not measured:
        return None
    return Answer("; ".join(dict.fromkeys(map(_value, measured))))


def _value(log: ToolExecutionLog) -> str:
    where = "" if log.region is None else f" of {log.object}"
    return f"{log.tool}{where} {log.raw_score:.4g}"


def _unknown_tool(name: str) -> str:
    return f"There is no tool {name!r} here (see `agenticiqa tools list`)."


def _language_note(question: Question) -> str:
    if question.language is None:
        return NOT_ENGLISH
    if question.meaning.property is None:
        return f"The question looks {question.language}; this backend reads {READ_LANGUAGES}."
    return f"The question was read as {question.language}, of which this backend knows few words: it may be misread."
