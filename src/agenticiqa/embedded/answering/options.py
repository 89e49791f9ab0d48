"""One of the options that were offered: each is weighed by readings of what it claims, and by nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agenticiqa.embedded.answering import parts, yes_no
from agenticiqa.embedded.answering.chances import (
    FLOOR,
    MIDDLE,
    claim_chance,
    lies_between,
    normalised,
    on_axis,
)
from agenticiqa.embedded.answering.flaws import LEAST_WEIGHT, flaw_of
from agenticiqa.embedded.answering.problem import (
    CANNOT_JUDGE,
    COLOURS,
    AnswerProblem,
    EmbeddedAnswer,
    close_call,
    guessed,
    likeliest,
    property_named,
    unread,
)
from agenticiqa.embedded.answering.words import usual_weight
from agenticiqa.embedded.language.meaning.properties import GENERAL, Property
from agenticiqa.embedded.language.meaning.reader import OptionMeaning
from agenticiqa.embedded.readings.base import PropertyReading

# "Can't tell", where something was read, and where nothing was.
_UNKNOWN_THOUGH_READ, _UNKNOWN = 0.02, 0.6
# That a thing asked about is not there: where it was found, and where it was not.
_ABSENT_THOUGH_FOUND, _ABSENT = 0.02, 0.4
# How much of the whole quality's verdict is kept where it stands in for a property that nothing reads.
_STAND_IN, _STAND_IN_BY_KIN = 0.4, 0.6
_SEEN = 0.5
# A value (a colour, a sort of picture) below this is not there.
_HARDLY = 0.15


@dataclass
class Weights:
    """How strongly each option is spoken for, and what is to be said of it."""

    known: dict[str, float] = field(default_factory=dict)
    sentences: dict[str, tuple[str, ...]] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)
    values: dict[str, float] = field(default_factory=dict)
    """The chances of values, of options that name one."""
    none_seen: bool = False
    """Whether nothing of what is offered can be seen: then no option is told to fit."""

    def told(
        self, letter: str, weight: float, told: PropertyReading | None = None, asked: Property | None = None
    ) -> None:
        self.known[letter] = weight
        if told is not None:
            self.sentences[letter] = (told.sentence,)
            if told.guess and asked is not None:
                self.doubts.append(guessed(asked))


def answer(problem: AnswerProblem) -> EmbeddedAnswer:
    """The likeliest option with the chances of all; always one of them, and a doubt where little speaks for it."""
    texts = {option.letter: option.text for option in problem.meaning.options}
    weights = _weights(problem)
    chances = _chances(problem, weights)
    best = likeliest(chances, texts)
    said = () if weights.none_seen else (f"{texts[best]!r} fits best of the options ({chances[best]:.0%}).",)
    doubts = (*problem.missing_parts(), *problem.stands_in(), *weights.doubts, *close_call(chances))
    return EmbeddedAnswer(best, (*said, *weights.sentences.get(best, ())), chances, doubts)


def _chances(problem: AnswerProblem, weights: Weights) -> dict[str, float]:
    letters = [option.letter for option in problem.meaning.options]
    if not weights.known:
        weights.doubts.append(f"{unread(problem.asked)} The answer is a guess among the options.")
        return _guesses(problem)
    silent = [option for option in problem.meaning.options if option.letter not in weights.known]
    if any(option.claim not in ("unknown", "not_present") for option in silent):
        named = ", ".join(repr(option.text) for option in silent if option.claim not in ("unknown", "not_present"))
        weights.doubts.append(f"Nothing here reads what is said by {named}.")
    # An option that cannot be judged is less likely than the average of those that can.
    average = sum(weights.known.values()) / len(weights.known)
    raw = {letter: weights.known.get(letter, average / 2) for letter in letters}
    total = sum(raw.values()) or 1.0
    for option in silent:
        found = all(problem.evidence.located(part) for part in problem.parts)
        share = {
            "unknown": _UNKNOWN_THOUGH_READ,
            "not_present": _ABSENT_THOUGH_FOUND if found else _ABSENT,
        }.get(option.claim or "")
        if share is not None:
            raw[option.letter] = total * share
    return normalised(raw)


def _guesses(problem: AnswerProblem) -> dict[str, float]:
    """Nothing was read: "can't tell" where it is offered, else what is usual of such parts, else whichever."""
    return normalised(
        {
            option.letter: _UNKNOWN if option.claim == "unknown" else usual_weight(problem, option)
            for option in problem.meaning.options
        }
    )


def _weights(problem: AnswerProblem) -> Weights:
    meaning = problem.meaning
    if meaning.form in ("where", "compare"):
        weights = Weights()
        found = parts.option_weights(problem)
        for letter, (weight, sentence) in found.weights.items():
            weights.known[letter] = weight
            weights.sentences[letter] = (sentence,) if sentence else ()
        weights.doubts += found.doubts
        if weights.known or (meaning.form == "compare" and found.doubts):
            return weights
    if meaning.form == "yes_no" and (weights := _of_yes_no(problem)).known:
        return weights
    on_scale = {o.letter: o.amount for o in meaning.options if o.property == meaning.property and o.amount is not None}
    if len(on_scale) > 1 and (len(set(on_scale.values())) == 1 or _differ_in_kind(problem, on_scale)):
        # "Overexposed or underexposed?": both spoil the exposure, each in its own way.
        return _of_claims(problem.by_own_words())
    opposed = meaning.form == "degree" and len(on_scale) == len(meaning.options) == len(set(on_scale.values()))
    if len(on_scale) > 1 and problem.asked is not None and (opposed or not _is_choice_of_flaws(problem)):
        return _of_degrees(problem, problem.asked, on_scale)
    return _of_claims(problem)


def _differ_in_kind(problem: AnswerProblem, on_scale: Mapping[str, float]) -> bool:
    """ "Motion blur / Lens blur / None": two of the same amount that name different kinds of it."""
    own = {each.letter: each.property for each in problem.by_own_words().meaning.options if each.letter in on_scale}
    alike = [letter for letter, amount in on_scale.items() if list(on_scale.values()).count(amount) > 1]
    kinds = {problem.kind_of(letter) or own[letter] for letter in alike}
    return len(alike) > 1 and len(kinds) == len(alike)


# --- yes or no ---


def _of_yes_no(problem: AnswerProblem) -> Weights:
    weights = Weights()
    found = yes_no.compared(problem) if parts.compares(problem) else yes_no.yes_chance(problem)
    amounts = {o.letter: o.amount for o in problem.meaning.options if o.amount is not None}
    if found is None:
        return _stand_in(problem, amounts)
    for letter, amount in amounts.items():
        says_yes = (amount > MIDDLE) == (problem.meaning.polarity > 0)
        weights.known[letter] = found.chance if says_yes else 1 - found.chance
        weights.sentences[letter] = found.sentences
    for option in problem.meaning.options:
        said = option.text.strip(" .!").casefold()
        if option.letter not in weights.known and said in ("yes", "no"):
            weights.known[option.letter] = found.chance if said == "yes" else 1 - found.chance
            weights.sentences[option.letter] = found.sentences
    weights.doubts += found.doubts
    return weights


def _stand_in(problem: AnswerProblem, amounts: Mapping[str, float]) -> Weights:
    """Evidence of another kind, counted for less: what implies the property, else the quality on the whole (good
    pictures are more often also praised for something else).
    """
    weights, asked = Weights(), problem.asked
    if asked is None or not amounts:
        return weights
    other, turn, kept = _hint(problem, asked)
    told = problem.told(other.name)
    if told is None or told.amounts is None or (other.name == "quality" and asked.good == "middle"):
        return weights
    shares = on_axis(told, other, {k: 1 - amount if turn else amount for k, amount in amounts.items()})
    even = 1 / len(shares)
    weights.known = {letter: kept * share + (1 - kept) * even for letter, share in shares.items()}
    hint = "the quality of the whole picture" if other.name == "quality" else other.title
    weights.doubts.append(f"Nothing here reads {asked.title}; {hint} was taken as a hint. {CANNOT_JUDGE}")
    return weights


def _hint(problem: AnswerProblem, asked: Property) -> tuple[Property, bool, float]:
    """What stands in for a property, whether it says the contrary, and how much of its verdict is kept."""
    for name, amount in asked.implied_by.items():
        if amount in (0, 1) and (told := problem.told(name)) and told.amounts is not None:
            return property_named(name), amount == 0, _STAND_IN_BY_KIN
    return property_named("quality"), asked.good == "little", _STAND_IN


# --- degrees ---


def _of_degrees(problem: AnswerProblem, asked: Property, amounts: Mapping[str, float]) -> Weights:
    told = problem.told(asked.name)
    if told is None or told.amounts is None:
        return _stand_in(problem, amounts)
    weights = Weights()
    for letter, share in on_axis(told, asked, amounts).items():
        weights.told(letter, share, told, asked)
    if lies_between(told, asked, amounts):
        weights.doubts.append("What was read lies between the options.")
    return weights


# --- claims of their own ---


def _is_choice_of_flaws(problem: AnswerProblem) -> bool:
    """Flaws are asked about, or the options name several kinds of damage."""
    if problem.meaning.form == "which" and problem.meaning.property == "flaw":
        return True
    letters = (option.letter for option in problem.meaning.options)
    named = {kind for letter in letters if (kind := problem.kind_of(letter)) and problem.names_damage(letter)}
    return len(named) > 1 and len(named) == len(problem.meaning.options)


def _of_claims(problem: AnswerProblem) -> Weights:
    weights = Weights()
    seen: dict[str, float] = {}
    for option in problem.meaning.options:
        if option.claim in ("unknown", "not_present"):
            continue
        if option.claim in ("none", "all", "both"):
            continue
        _weigh_claim(problem, option, weights, seen)
    if not weights.known:
        return weights
    wanted_absent = problem.meaning.polarity < 0
    every = tuple(text for texts in weights.sentences.values() for text in texts)
    for option in problem.meaning.options:
        if option.claim == "none":
            most = max((*seen.values(), *weights.values.values()), default=0.0)
            weights.told(option.letter, most if wanted_absent else (1 - most) * (1 + LEAST_WEIGHT))
            weights.sentences[option.letter] = every
        elif option.claim in ("all", "both"):
            least = min(seen.values(), default=0.0)
            weights.told(option.letter, 1 - least if wanted_absent else 4 * least)
            weights.sentences[option.letter] = every
    if weights.values and set(weights.values) == set(weights.known) and max(weights.values.values()) < _HARDLY:
        _say_none(problem, weights.values, weights)
    has_none = any(option.claim == "none" for option in problem.meaning.options)
    if seen and len(seen) == len(weights.known) and not wanted_absent and not has_none and max(seen.values()) < _SEEN:
        _say_none(problem, seen, weights)
    return weights


def _say_none(problem: AnswerProblem, seen: Mapping[str, float], weights: Weights) -> None:
    texts = {option.letter: option.text for option in problem.meaning.options}
    nearest = max(seen, key=lambda letter: (weights.known[letter], texts[letter]))
    weights.doubts.append(
        f"None of these can be seen here; {texts[nearest]!r} is the least unlikely ({seen[nearest]:.0%})."
    )
    weights.none_seen = True


def _weigh_claim(problem: AnswerProblem, option: OptionMeaning, weights: Weights, seen: dict[str, float]) -> None:
    asked = problem.asked
    own = asked and problem.told(asked.name)
    value = _value_chance(asked, own, option.claim) if own and asked and asked.weight >= GENERAL else None
    if value is not None and own:
        value -= _offered_beside(problem, own, option.claim)
        weights.told(option.letter, value, own, asked)
        weights.values[option.letter] = value
        return
    if _is_choice_of_flaws(problem) and not _denies(problem, option):
        _weigh_flaw(problem, option, weights, seen)
        return
    if option.property is None or option.amount is None:
        return
    claimed = property_named(option.property)
    told = problem.told(claimed.name)
    if told is None or told.amounts is None:
        return
    weights.told(option.letter, _chance_of_claim(told, claimed, option.amount), told, claimed)


def _chance_of_claim(told: PropertyReading, claimed: Property, amount: float) -> float:
    return claim_chance(told, claimed, 1 if amount > MIDDLE else -1) or 0.0


def _denies(problem: AnswerProblem, option: OptionMeaning) -> bool:
    """ "Sharp" among flaws: the option claims the good end. "Oversaturation" claims too much of it, which is a flaw."""
    damage = problem.kind_of(option.letter) is not None and problem.names_damage(option.letter)
    if damage or option.property is None or option.amount is None:
        return False
    good = property_named(option.property).good
    return (option.amount > MIDDLE) == (good == "much") and good != "middle"


def _weigh_flaw(problem: AnswerProblem, option: OptionMeaning, weights: Weights, seen: dict[str, float]) -> None:
    flaw = flaw_of(problem, option)
    if flaw is None:
        return
    seen[option.letter] = flaw.there
    weights.known[option.letter] = max(FLOOR, 1 - flaw.there if problem.meaning.polarity < 0 else flaw.weight)
    weights.sentences[option.letter] = (flaw.sentence,)
    if flaw.guess and option.property:
        weights.doubts.append(guessed(property_named(option.property)))


def _offered_beside(problem: AnswerProblem, told: PropertyReading, value: str | None) -> float:
    """ "Drawing / Sketch": who offers both means other drawings by the first."""
    offered = {option.claim for option in problem.meaning.options}
    return sum(told.values[narrow] for narrow, wide in told.within.items() if wide == value and narrow in offered)


def _value_chance(asked: Property, told: PropertyReading, value: str | None) -> float | None:
    """Of a value that the vocabulary lists; a colour that is not among those found is not there."""
    if value in COLOURS and asked.name == "colour_scheme":
        return told.values.get(value, 0.0)
    return told.values.get(value or "")
