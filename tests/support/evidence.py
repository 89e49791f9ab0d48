"""Readings that a test makes up, and questions asked of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agenticiqa.answers import split_question
from agenticiqa.embedded.answering import options as choosing
from agenticiqa.embedded.answering import words
from agenticiqa.embedded.answering.problem import AnswerProblem, EmbeddedAnswer, SeenEvidence
from agenticiqa.embedded.findings import Seen
from agenticiqa.embedded.question import read_question, understand
from agenticiqa.embedded.readings.base import PLACES, PropertyReading
from agenticiqa.state import Advice
from agenticiqa.vocabulary import GLOBAL


@dataclass
class MadeEvidence(SeenEvidence):
    """What is told of each property, of the whole picture and of parts; parts that are not listed cannot be found."""

    whole: Mapping[str, PropertyReading] = field(default_factory=dict)
    parts: Mapping[str, Mapping[str, PropertyReading]] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)
    advised: Sequence[Advice] = ()

    def told(self, name: str, part: str = GLOBAL) -> PropertyReading | None:
        return {**self.whole, **self.parts.get(part, {})}.get(name)

    def located(self, part: str) -> bool:
        return part == GLOBAL or part in self.parts

    def note(self, part: str) -> str | None:
        return None if self.located(part) else f"I could not find {part!r}, so this is about the whole picture"

    def share(self, category: str, kind: str, part: str = GLOBAL) -> float | None:
        return self.shares.get(kind)

    def damage(self, category: str, part: str = GLOBAL) -> tuple[float, ...] | None:
        return None

    def advice(self, category: str | None = None) -> Sequence[Advice]:
        return self.advised

    def faces(self) -> int:
        return 0

    def is_guess(self, part: str) -> bool:
        return False

    def is_assumed(self, part: str) -> bool:
        return False

    def is_absent(self, part: str) -> bool:
        return False

    def worst_place(self) -> None:  # type: ignore[override]
        return None


def at(place: float, *, sure: float = 0.9, sentence: str = "Read.", guess: bool = False) -> PropertyReading:
    """A reading that is fairly sure of one place; the rest lies on its neighbours."""
    near = [other for other in PLACES if 0 < abs(other - place) < 0.3]
    amounts = dict.fromkeys(PLACES, 0.0) | {place: sure} | dict.fromkeys(near, (1 - sure) / len(near))
    return PropertyReading(sentence, tuple(amounts.values()), guess=guess)


def asked(query: str, evidence: SeenEvidence, given: Sequence[str] | None = None) -> EmbeddedAnswer:
    """The answer of the embedded backend to a question, from these readings alone."""
    texts = {chr(ord("A") + at): text for at, text in enumerate(given)} if given else split_question(query)[1]
    question = read_question(split_question(query)[0], texts) if texts else understand(query)
    problem = AnswerProblem(question.meaning, evidence)
    return choosing.answer(problem) if texts else words.answer(problem)


def chosen(query: str, given: Sequence[str], evidence: SeenEvidence) -> str:
    """The text of the option that is answered."""
    found = asked(query, evidence, given)
    assert abs(sum(found.chances.values()) - 1) < 1e-6
    return given[ord(found.text) - ord("A")]


def of_look(look: object) -> SeenEvidence:
    """Readings of one look, whichever part is asked about."""
    return SeenEvidence(lambda _: Seen(look))  # type: ignore[arg-type]
