"""The summarizer's work without a language model: answer what was asked from readings of it, or say what is missing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agenticiqa.models.mind import Asked, Mode, Verdict
from agenticiqa.models.offline.answering import options, rating, words
from agenticiqa.models.offline.answering.evidence import SeenEvidence
from agenticiqa.models.offline.answering.problem import Answer, Problem, unable
from agenticiqa.models.offline.executor import Finder
from agenticiqa.models.offline.language.question import Question
from agenticiqa.models.offline.sentences import tool_sentences
from agenticiqa.pictures.regions import find_region
from agenticiqa.state import ExecutorOutput, PlannerOutput

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


def answer(task: AnswerTask) -> Verdict:
    """Rate, choose, or say in words, whichever the question asks for."""
    seen = task.find(task.plan.scope_names[0])
    found = _answer(task, blank=seen.look.facts.content == "blank")
    remarks = [] if seen.look.facts.note is None else [_sentence(seen.look.facts.note)]
    notes = [_sentence(seen.note)] if seen.note and not remarks else []
    language = () if task.question.english else (_language_note(task.question),)
    doubted = not task.question.english and task.question.meaning.property is None
    found = replace(
        found,
        doubts=(*language, *found.doubts) if doubted else found.doubts,
        remarks=(*found.remarks, *tool_sentences(task.evidence), *notes, *remarks, *(() if doubted else language)),
    )
    return found.verdict()


def _answer(task: AnswerTask, *, blank: bool) -> Answer:
    problem = task.problem
    if task.mode == "scoring":
        return rating.rate(problem)
    if blank:
        return unable("The picture shows nothing that could be judged.")
    if task.asked.options:
        return options.answer(problem)
    if not task.question.english and task.question.meaning.property is None:
        return unable()
    return words.answer(problem)


def _sentence(note: str) -> str:
    return f"{note[0].upper()}{note[1:]}."


def _language_note(question: Question) -> str:
    if question.language is None:
        return NOT_ENGLISH
    if question.meaning.property is None:
        return f"The question looks {question.language}; this backend reads {READ_LANGUAGES}."
    return f"The question was read as {question.language}, of which this backend knows few words: it may be misread."
