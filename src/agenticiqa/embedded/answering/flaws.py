"""Which of several flaws: how likely each is, and how much it hurts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agenticiqa.embedded.answering.chances import claim_chance, excess_chance, is_damage, severity
from agenticiqa.embedded.answering.problem import AnswerProblem, property_named
from agenticiqa.embedded.language.meaning.reader import OptionMeaning
from agenticiqa.embedded.readings.detail import READ

# A finer kind that is not told apart still speaks for its category where no other option does: people say "out of
# focus" of any blur.
CATEGORY_SHARE = 0.3
# Among several kinds of damage the one that hurts most is meant; of slight damage this much counts beside its severity.
LEAST_WEIGHT = 0.2
_LIKELY = 0.5


@dataclass(frozen=True)
class Flaw:
    """A flaw that an option names."""

    there: float
    """The chance that it is there."""
    severity: float
    """How bad, 0 to 4, where it is."""
    sentence: str
    guess: bool = False

    @property
    def weight(self) -> float:
        return self.there * (LEAST_WEIGHT + self.severity)


def flaw_of(problem: AnswerProblem, option: OptionMeaning) -> Flaw | None:
    """None where nothing reads what the option names."""
    by_model = _by_model(problem, option)
    by_reader = _by_reader(problem, option)
    if by_model is None or by_reader is None:
        return by_model or by_reader
    known = READ.get(option.property or "")
    if known is None:
        # Of colours and contrast the reader measures what is there, not whether it is damage: only an excess is.
        return replace(by_model, there=max(by_model.there, _excess(problem, option)), sentence=by_reader.sentence)
    there = max(by_model.there, by_reader.there) if known.kind else by_model.there
    return Flaw(there, by_model.severity, by_reader.sentence, by_reader.guess)


def _excess(problem: AnswerProblem, option: OptionMeaning) -> float:
    """The chance that people find the colours too strong."""
    told = problem.told("colourful") if option.property == "colourful" and (option.amount or 0.0) > 0.5 else None
    return excess_chance(told.amounts) if told and told.amounts else 0.0


def _by_reader(problem: AnswerProblem, option: OptionMeaning) -> Flaw | None:
    if option.property is None or option.amount is None:
        return None
    claimed = property_named(option.property)
    told = problem.told(claimed.name)
    chance = claim_chance(told, claimed, 1 if option.amount > 0.5 else -1) if told else None
    if told is None or chance is None:
        return None
    bad = severity(told, claimed) if is_damage(claimed, told) else 4 * chance
    return Flaw(chance, bad, told.sentence, told.guess)


def _by_model(problem: AnswerProblem, option: OptionMeaning) -> Flaw | None:
    named = problem.kind_of(option.letter)
    chances = problem.evidence.damage(named[0], problem.parts[0]) if named else None
    if named is None or chances is None or not problem.names_damage(option.letter):
        return None
    category, kind = named
    share = _share(problem, option.letter, category, kind)
    if share is None:
        return None
    there = share * (1 - chances[0])
    said = "is likely" if there >= _LIKELY else "is not seen"
    bad = sum(place * chance for place, chance in enumerate(chances))
    return Flaw(there, bad, f"{option.text[:1].upper()}{option.text[1:]} {said} (chance {there:.0%}).")


def _share(problem: AnswerProblem, letter: str, category: str, kind: str) -> float | None:
    """How much of a category's damage an option stands for, beside the other options of the same category."""
    part = problem.parts[0]
    others = (problem.kind_of(each.letter) for each in problem.meaning.options if each.letter != letter)
    rivals = {other[1] for other in others if other and other[0] == category and other[1] != kind}
    share = problem.evidence.share(category, kind, part)
    if share is not None:
        return share if rivals else CATEGORY_SHARE + (1 - CATEGORY_SHARE) * share
    if kind in _UNKNOWN_KINDS:
        return None
    taken = [problem.evidence.share(category, rival, part) for rival in rivals]
    return max(0.0, 1 - sum(other for other in taken if other is not None))


# Damage of a category by name that the model has never seen: its category says nothing of it.
_UNKNOWN_KINDS = frozenset({"moire", "glare", "vignetting", "geometric", "damage", "aliasing"})
