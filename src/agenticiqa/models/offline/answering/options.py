"""One of the options that were offered: each is weighed by readings of what it claims, and by nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agenticiqa.models.offline.answering import parts, yes_no
from agenticiqa.models.offline.answering.chances import (
    FLOOR,
    MIDDLE,
    claim_chance,
    is_damage,
    normalised,
    on_axis,
    severity,
)
from agenticiqa.models.offline.answering.problem import (
    CANNOT_JUDGE,
    COLOURS,
    Answer,
    Problem,
    close_call,
    guessed,
    likeliest,
    property_named,
    unread,
)
from agenticiqa.models.offline.language.meaning.properties import Property, properties
from agenticiqa.models.offline.language.meaning.reader import OptionMeaning
from agenticiqa.models.offline.readings.damage import READ
from agenticiqa.models.offline.readings.told import Told

# "Can't tell", where something was read, and where nothing was.
_UNKNOWN_THOUGH_READ, _UNKNOWN = 0.02, 0.6
# That a thing asked about is not there: where it was found, and where it was not.
_ABSENT_THOUGH_FOUND, _ABSENT = 0.02, 0.4
# A finer kind that is not told apart still speaks for its category where no other option does: people say "out of
# focus" of any blur.
CATEGORY_SHARE = 0.3
# Among several kinds of damage the one that hurts most is meant; of slight damage this much counts beside its severity.
_LEAST_WEIGHT = 0.2
# How much of the whole quality's verdict is kept where it stands in for a property that nothing reads.
_STAND_IN = 0.4
_SEEN = 0.5


@dataclass
class Weights:
    """How strongly each option is spoken for, and what is to be said of it."""

    known: dict[str, float] = field(default_factory=dict)
    sentences: dict[str, tuple[str, ...]] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)
    none_seen: bool = False
    """Whether nothing of what is offered can be seen: then no option is told to fit."""

    def told(self, letter: str, weight: float, told: Told | None = None, asked: Property | None = None) -> None:
        self.known[letter] = weight
        if told is not None:
            self.sentences[letter] = (told.sentence,)
            if told.guess and asked is not None:
                self.doubts.append(guessed(asked))


def answer(problem: Problem) -> Answer:
    """The likeliest option with the chances of all; always one of them, and a doubt where little speaks for it."""
    texts = {option.letter: option.text for option in problem.meaning.options}
    weights = _weights(problem)
    chances = _chances(problem, weights)
    best = likeliest(chances, texts)
    said = () if weights.none_seen else (f"{texts[best]!r} fits best of the options ({chances[best]:.0%}).",)
    doubts = (*problem.missing_parts(), *weights.doubts, *close_call(chances))
    return Answer(best, (*said, *weights.sentences.get(best, ())), chances, doubts)


def _chances(problem: Problem, weights: Weights) -> dict[str, float]:
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


def _guesses(problem: Problem) -> dict[str, float]:
    """Nothing was read: "can't tell" where it is offered, else whichever."""
    return normalised(
        {option.letter: _UNKNOWN if option.claim == "unknown" else 0.2 for option in problem.meaning.options}
    )


def _weights(problem: Problem) -> Weights:
    meaning = problem.meaning
    if meaning.form in ("where", "compare"):
        weights = Weights()
        found = parts.option_weights(problem)
        for letter, (weight, sentence) in found.weights.items():
            weights.known[letter] = weight
            weights.sentences[letter] = (sentence,) if sentence else ()
        weights.doubts += found.doubts
        if weights.known:
            return weights
    if meaning.form == "yes_no" and (weights := _of_yes_no(problem)).known:
        return weights
    on_scale = {o.letter: o.amount for o in meaning.options if o.property == meaning.property and o.amount is not None}
    if len(on_scale) > 1 and len(set(on_scale.values())) == 1:
        # "Overexposed or underexposed?": both spoil the exposure, each in its own way.
        return _of_claims(problem.by_own_words())
    if len(on_scale) > 1 and problem.asked is not None and not _is_choice_of_flaws(problem):
        return _of_degrees(problem, problem.asked, on_scale)
    return _of_claims(problem)


# --- yes or no ---


def _of_yes_no(problem: Problem) -> Weights:
    weights = Weights()
    found = yes_no.yes_chance(problem)
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


def _stand_in(problem: Problem, amounts: Mapping[str, float]) -> Weights:
    """Evidence of another kind, counted for little: good pictures are more often also praised for something else."""
    weights, asked = Weights(), problem.asked
    quality = problem.told("quality")
    if asked is None or quality is None or asked.good == "middle" or not amounts:
        return weights
    turned = {k: 1 - amount if asked.good == "little" else amount for k, amount in amounts.items()}
    shares = on_axis(quality, property_named("quality"), turned)
    even = 1 / len(shares)
    weights.known = {letter: _STAND_IN * share + (1 - _STAND_IN) * even for letter, share in shares.items()}
    weights.doubts.append(
        f"Nothing here reads {asked.title}; the quality of the whole picture was taken as a hint. {CANNOT_JUDGE}"
    )
    return weights


# --- degrees ---


def _of_degrees(problem: Problem, asked: Property, amounts: Mapping[str, float]) -> Weights:
    told = problem.told(asked.name)
    if told is None or told.amounts is None:
        return _stand_in(problem, amounts)
    weights = Weights()
    for letter, share in on_axis(told, asked, amounts).items():
        weights.told(letter, share, told, asked)
    return weights


# --- claims of their own ---


def _is_choice_of_flaws(problem: Problem) -> bool:
    return problem.meaning.property == "flaw" and problem.meaning.form == "which"


def _of_claims(problem: Problem) -> Weights:
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
            most = max(seen.values(), default=0.0)
            weights.told(option.letter, most if wanted_absent else (1 - most) * (1 + _LEAST_WEIGHT))
            weights.sentences[option.letter] = every
        elif option.claim in ("all", "both"):
            least = min(seen.values(), default=0.0)
            weights.told(option.letter, 1 - least if wanted_absent else 4 * least)
            weights.sentences[option.letter] = every
    has_none = any(option.claim == "none" for option in problem.meaning.options)
    if seen and len(seen) == len(weights.known) and not wanted_absent and not has_none and max(seen.values()) < _SEEN:
        _say_none(problem, seen, weights)
    return weights


def _say_none(problem: Problem, seen: Mapping[str, float], weights: Weights) -> None:
    texts = {option.letter: option.text for option in problem.meaning.options}
    nearest = max(seen, key=lambda letter: (weights.known[letter], texts[letter]))
    weights.doubts.append(
        f"None of these can be seen here; {texts[nearest]!r} is the least unlikely ({seen[nearest]:.0%})."
    )
    weights.none_seen = True


def _weigh_claim(problem: Problem, option: OptionMeaning, weights: Weights, seen: dict[str, float]) -> None:
    asked = problem.asked
    own = asked and problem.told(asked.name)
    value = _value_chance(asked, own, option.claim) if own and asked and not asked.has_scale else None
    if value is not None:
        weights.told(option.letter, value, own or None, asked)
        return
    if option.property is None or option.amount is None:
        return
    claimed = property_named(option.property)
    told = problem.told(claimed.name)
    if told is None or told.amounts is None:
        return
    end = 1 if option.amount > MIDDLE else -1
    if not is_damage(claimed, told):
        chance = claim_chance(told, claimed, end) or 0.0
        if _is_choice_of_flaws(problem):
            seen[option.letter] = chance
            chance = 1 - chance if problem.meaning.polarity < 0 else chance * (_LEAST_WEIGHT + 4 * chance)
        weights.told(option.letter, chance, told, claimed)
        return
    bad = 1 if claimed.good == "little" else -1
    there = claim_chance(told, claimed, bad) or 0.0
    if end != bad:
        weights.told(option.letter, 1 - there, told, claimed)
        return
    there = _of_category(problem, option, there * _share_of_category(problem, option))
    seen[option.letter] = there
    weight = 1 - there if problem.meaning.polarity < 0 else there * (_LEAST_WEIGHT + severity(told, claimed))
    weights.told(option.letter, max(FLOOR, weight), told, claimed)


def _value_chance(asked: Property, told: Told, value: str | None) -> float | None:
    """Of a value that the vocabulary lists; a colour that is not among those found is not there."""
    if value in COLOURS and asked.name == "colour_scheme":
        return told.values.get(value, 0.0)
    return told.values.get(value or "")


def _share_of_category(problem: Problem, option: OptionMeaning) -> float:
    """How much of a property's damage an option stands for, beside other options of the same property.

    "Noise" beside "Salt-and-pepper noise" means the rest; alone, a kind may be a loose word for its category.
    """
    own = problem.kind_of(option.letter)
    if own is None:
        return 1.0
    category, kind = own
    rivals = {
        other[1]
        for each in problem.meaning.options
        if each.letter != option.letter and each.property == option.property
        if (other := problem.kind_of(each.letter)) and other[0] == category and other[1] != kind
    }
    share = problem.evidence.share(category, kind, problem.parts[0])
    if _property_is_kind(option):
        return 1.0
    if share is not None:
        return share if rivals else CATEGORY_SHARE + (1 - CATEGORY_SHARE) * share
    taken = [problem.evidence.share(category, rival, problem.parts[0]) for rival in rivals]
    return max(0.0, 1 - sum(other for other in taken if other is not None))


def _of_category(problem: Problem, option: OptionMeaning, there: float) -> float:
    """Of a finer kind at least a share of its category, where no other option speaks of that."""
    own = problem.kind_of(option.letter)
    if own is None or not _property_is_kind(option):
        return there
    others = [problem.kind_of(each.letter) for each in problem.meaning.options if each.letter != option.letter]
    wider = next((each for each in properties().values() if each.reading.get("damage") == own[0]), None)
    told = problem.told(wider.name) if wider else None
    if told is None or wider is None or any(other and other[0] == own[0] for other in others):
        return there
    of_category = claim_chance(told, wider, 1 if wider.good == "little" else -1) or 0.0
    return max(there, CATEGORY_SHARE * of_category)


def _property_is_kind(option: OptionMeaning) -> bool:
    """Whether the property itself is read as a finer kind: its reading holds the share already."""
    damage = READ.get(option.property or "")
    return damage is not None and damage.kind is not None
