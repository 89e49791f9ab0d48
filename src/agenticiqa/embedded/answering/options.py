"""One of the options that were offered: each is weighed by readings of what it claims, and by nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from agenticiqa.embedded.answering import comparing, yes_no
from agenticiqa.embedded.answering.chances import (
    FLOOR,
    MIDDLE,
    claim_chance,
    excess_chance,
    is_damage,
    lies_between,
    normalised,
    on_axis,
    severity,
)
from agenticiqa.embedded.answering.comparing import Weights
from agenticiqa.embedded.answering.problem import OTHER_MODELS, AnswerProblem, EmbeddedAnswer, close_call, unread
from agenticiqa.embedded.properties import Property, properties
from agenticiqa.embedded.question import OptionMeaning, own_claim
from agenticiqa.embedded.readings.base import PropertyReading
from agenticiqa.embedded.readings.detail import READ
from agenticiqa.vocabulary import distortion_terms, plain_words

# "Can't tell", where something was read, and where nothing was.
_UNKNOWN_THOUGH_READ, _UNKNOWN = 0.02, 0.6
# That a thing asked about is not there: where it was found, and where it was not.
_ABSENT_THOUGH_FOUND, _ABSENT = 0.02, 0.4
# How much of the whole quality's verdict is kept where it stands in for a property that nothing reads.
_STAND_IN, _STAND_IN_BY_KIN = 0.4, 0.6
_SEEN = 0.5
BETWEEN = "What was read lies between the options."
NEITHER = "Neither"
# A value (a colour, a sort of picture) below this is not there.
_HARDLY = 0.15
_NO_CLAIM = ("unknown", "not_present")
# Among several kinds of damage the one that hurts most is meant; of slight damage this much counts beside its severity.
LEAST_WEIGHT = 0.2
# A finer kind that is not told apart still speaks for its category where no other option does: people say "out of
# focus" of any blur.
CATEGORY_SHARE = 0.3
# Damage of a category by name that the model has never seen: its category says nothing of it.
_UNKNOWN_KINDS = frozenset({"moire", "glare", "vignetting", "geometric", "damage", "aliasing"})


def answer(problem: AnswerProblem) -> EmbeddedAnswer:
    """The likeliest option with the chances of all; always one of them, and a doubt where little speaks for it."""
    texts = {option.letter: option.text for option in problem.meaning.options}
    weights = _weights(problem)
    chances = _chances(problem, weights)
    # Among equals the words decide, so that their order does not.
    best = max(chances, key=lambda letter: (round(chances[letter], 9), texts[letter]))
    said = f"{texts[best]!r} fits best."
    if weights.nearest is not None:
        said = f"None of these can be seen here; {texts[best]!r} comes nearest."
    sentences, measured = weights.sentences.get(best, ()), weights.measured.get(best, ())
    # The two sides of an "or" may both be wrong; of a list to choose from one is taken.
    if weights.nearest is not None and not problem.meaning.offered and len(problem.meaning.options) == 2:
        told = tuple(dict.fromkeys(text for own in weights.sentences.values() for text in own))
        return EmbeddedAnswer(NEITHER, told, chances, tuple(weights.doubts), problem.missing_parts(), measured)
    if weights.nearest is not None:
        return EmbeddedAnswer(best, (), chances, (said, *weights.doubts), problem.missing_parts(), measured)
    doubts = (*weights.doubts, *close_call(chances, repr(texts[best])))
    return EmbeddedAnswer(best, (said, *sentences), chances, doubts, problem.missing_parts(), measured)


def _chances(problem: AnswerProblem, weights: Weights) -> dict[str, float]:
    options = problem.meaning.options
    if not weights.known:
        weights.doubts += [*unread(problem.asked).doubts, "The answer is a guess among the options."]
        return normalised({each.letter: _UNKNOWN if each.claim == "unknown" else 0.2 for each in options})
    silent = [each for each in options if each.letter not in weights.known]
    if unclear := [each.text for each in silent if each.claim not in _NO_CLAIM]:
        weights.doubts.append(f"Nothing here reads what is said by {', '.join(map(repr, unclear))}.")
    # An option that cannot be judged is less likely than the average of those that can.
    average = sum(weights.known.values()) / len(weights.known)
    raw = {each.letter: weights.known.get(each.letter, average / 2) for each in options}
    total = sum(raw.values()) or 1.0
    found = all(problem.evidence.located(part) for part in problem.parts)
    shares = {"unknown": _UNKNOWN_THOUGH_READ, "not_present": _ABSENT_THOUGH_FOUND if found else _ABSENT}
    for option in silent:
        if option.claim in shares:
            raw[option.letter] = total * shares[option.claim]
    chances = normalised(raw)
    if weights.nearest is None:
        return chances
    # What is hardly there is told with no more confidence than that.
    sure = weights.nearest
    return {letter: sure * chance + (1 - sure) / len(chances) for letter, chance in chances.items()}


def _weights(problem: AnswerProblem) -> Weights:
    meaning, asked = problem.meaning, problem.asked
    if meaning.compares:
        weights = comparing.option_weights(problem)
        if weights.known or (meaning.form != "where" and weights.doubts):
            return weights
    on_scale = {o.letter: o.amount for o in meaning.options if o.property == meaning.property and o.amount is not None}
    values = {option.claim for option in meaning.options} & set(asked.values.values() if asked else ())
    if (
        asked is None
        or len(values) > 1
        or len(on_scale) < 2
        or len({round(4 * amount) for amount in on_scale.values()}) < 2
        or _differ_in_kind(problem, on_scale)
    ):
        return _of_claims(problem)
    if meaning.form in ("yes_no", "good_enough") and all(not 0.3 < amount < 0.7 for amount in on_scale.values()):
        return _of_yes_no(problem, on_scale)
    return _of_degrees(problem, asked, on_scale)


def _differ_in_kind(problem: AnswerProblem, on_scale: Mapping[str, float]) -> bool:
    """ "Motion blur / Lens blur / None", "Overexposed / Underexposed": alike in amount, each in its own way."""
    places = [round(4 * amount) for amount in on_scale.values()]
    alike = [letter for letter, amount in on_scale.items() if places.count(round(4 * amount)) > 1]
    texts = {option.letter: option.text for option in problem.meaning.options}
    own = {claim[0] for letter in alike if (claim := own_claim(texts[letter]))}
    return len(alike) > 1 and len(own) == len(alike)


# --- yes or no, and degrees ---


def _of_yes_no(problem: AnswerProblem, amounts: Mapping[str, float]) -> Weights:
    found = yes_no.yes_chance(problem)
    if found is None:
        return _stand_in(problem, amounts)
    weights = Weights(doubts=list(found.doubts))
    for letter, amount in amounts.items():
        says_yes = (amount > MIDDLE) == (problem.meaning.polarity > 0)
        weights.known[letter] = found.chance if says_yes else 1 - found.chance
        weights.sentences[letter], weights.measured[letter] = found.sentences, found.measured
    return weights


def _of_degrees(problem: AnswerProblem, asked: Property, amounts: Mapping[str, float]) -> Weights:
    told = problem.told(asked.name)
    if told is None or told.amounts is None:
        return _stand_in(problem, amounts)
    weights = Weights()
    for letter, share in on_axis(told, asked, amounts).items():
        weights.add(letter, share, told, asked)
    if lies_between(told, asked, amounts):
        weights.doubts.append(BETWEEN)
    return weights


def _stand_in(problem: AnswerProblem, amounts: Mapping[str, float]) -> Weights:
    """Evidence that counts for less: what implies the property, else the quality on the whole."""
    weights, asked = Weights(), problem.asked
    if asked is None:
        return weights
    other, turn, kept = properties()["quality"], asked.good == "little", _STAND_IN
    for name, amount in asked.implied_by.items():
        if (told := problem.told(name)) and told.amounts is not None:
            other, turn, kept = properties()[name], amount == 0, _STAND_IN_BY_KIN
            break
    told = problem.told(other.name)
    if told is None or told.amounts is None or (other.name == "quality" and asked.good == "middle"):
        return weights
    shares = on_axis(told, other, {k: 1 - amount if turn else amount for k, amount in amounts.items()})
    weights.known = {letter: kept * share + (1 - kept) / len(shares) for letter, share in shares.items()}
    hint = "the quality of the whole picture" if other.name == "quality" else other.title
    weights.doubts.append(f"Nothing here reads {asked.title}; {hint} was taken as a hint. {OTHER_MODELS}")
    return weights


# --- claims of their own ---


@dataclass(frozen=True)
class Flaw:
    """A flaw that an option names: the chance that it is there, and how bad it is where it is, 0 to 4."""

    there: float
    severity: float
    told: PropertyReading
    asked: Property


def _of_claims(problem: AnswerProblem) -> Weights:
    weights, seen, values = Weights(), dict[str, float](), dict[str, float]()
    for option in problem.meaning.options:
        if option.claim not in (*_NO_CLAIM, "none", "all", "same"):
            _weigh_claim(problem, option, weights, seen, values)
    if not weights.known:
        return weights
    wanted_absent = _asks_what_is_absent(problem)
    every = tuple(text for texts in weights.sentences.values() for text in texts)
    for option in problem.meaning.options:
        if option.claim == "none":
            most = max((*seen.values(), *values.values()), default=0.0)
            weights.known[option.letter] = most if wanted_absent else (1 - most) * (1 + LEAST_WEIGHT)
            weights.sentences[option.letter] = every
        elif option.claim in ("all", "same"):
            least = min(seen.values(), default=0.0)
            weights.known[option.letter] = 1 - least if wanted_absent else 4 * least
            weights.sentences[option.letter] = every
    if values and set(values) == set(weights.known) and max(values.values()) < _HARDLY:
        weights.nearest = max(values.values())
    has_none = any(option.claim == "none" for option in problem.meaning.options)
    if seen and len(seen) == len(weights.known) and not wanted_absent and not has_none and max(seen.values()) < _SEEN:
        weights.nearest = max(seen.values())
    return weights


def _asks_what_is_absent(problem: AnswerProblem) -> bool:
    """ "Which flaw does it not have?"; of a property of its own the end says what is asked, not that it is absent."""
    return problem.meaning.end < 0 and (problem.asked is None or problem.asked.is_general)


def _weigh_claim(
    problem: AnswerProblem, option: OptionMeaning, weights: Weights, seen: dict[str, float], values: dict[str, float]
) -> None:
    asked = problem.asked
    told = problem.told(asked.name) if asked and not asked.is_general else None
    if asked and told and option.claim in asked.values.values():
        # A colour that is not among those found is not there; "drawing" beside "sketch" means other drawings.
        value = told.values.get(option.claim or "", 0.0)
        offered = {other.claim for other in problem.meaning.options}
        value -= sum(
            told.values[narrow] for narrow, wide in told.within.items() if wide == option.claim and narrow in offered
        )
        values[option.letter] = value
        weights.add(option.letter, value, told, asked)
        return
    claim = own_claim(option.text)
    if claim is None:
        return
    claimed, end = properties()[claim[0]], claim[1]
    excess = problem.meaning.property == "flaw" and claimed.name in ("colourful", "contrasty")
    if claimed.bad_end == end or excess or (claimed.good == "middle" and problem.meaning.property == "flaw"):
        flaw = _flaw(problem, option, claimed, end)
        if flaw is None:
            return
        seen[option.letter] = flaw.there
        weight = 1 - flaw.there if _asks_what_is_absent(problem) else flaw.there * (LEAST_WEIGHT + flaw.severity)
        weights.add(option.letter, max(FLOOR, weight), flaw.told, claimed)
        return
    own = problem.told(claimed.name)
    chance = claim_chance(own, claimed, end) if own else None
    if own and chance is not None:
        weights.add(option.letter, chance, own, claimed)


def _flaw(problem: AnswerProblem, option: OptionMeaning, claimed: Property, end: int) -> Flaw | None:
    """How likely a flaw is and how much it hurts: by its own reading, and by the model's kinds of damage."""
    told = problem.told(claimed.name)
    chance = claim_chance(told, claimed, end) if told else None
    by_reader = None
    if told is not None and chance is not None:
        bad = severity(told, claimed) if is_damage(claimed, told) else 4 * chance
        by_reader = Flaw(chance, bad, told, claimed)
    by_model = _flaw_by_model(problem, option, claimed)
    if by_model is None or by_reader is None:
        return by_model or by_reader
    known = READ.get(claimed.name)
    if known is None:
        # Of colours and contrast the reader measures what is there, not whether it is damage: only an excess is.
        excess = excess_chance(told) if claimed.name == "colourful" and end > 0 and told and told.amounts else 0.0
        return replace(by_model, there=max(by_model.there, excess), told=by_reader.told)
    there = max(by_model.there, by_reader.there) if known.kind else by_model.there
    return Flaw(there, by_model.severity, by_reader.told, claimed)


def _kind_named(text: str, claimed: Property) -> str | None:
    """The finer kind that an option names in so many words, else the main one of its property."""
    said = f" {plain_words(text)} "
    words = [
        word for word, term in distortion_terms().items() if term.category == claimed.category and f" {word} " in said
    ]
    return distortion_terms()[max(words, key=len)].kind if words else claimed.kind


def _flaw_by_model(problem: AnswerProblem, option: OptionMeaning, claimed: Property) -> Flaw | None:
    category, kind = claimed.category, _kind_named(option.text, claimed)
    chances = problem.evidence.damage(category, problem.parts[0]) if category else None
    if category is None or kind is None or chances is None:
        return None
    others = [(each.text, own_claim(each.text)) for each in problem.meaning.options if each.letter != option.letter]
    named = [(text, properties()[claim[0]]) for text, claim in others if claim]
    rivals = {_kind_named(text, other) for text, other in named if other.category == category} - {kind, None}
    share = problem.evidence.share(category, kind, problem.parts[0])
    if share is not None:
        share = share if rivals else CATEGORY_SHARE + (1 - CATEGORY_SHARE) * share
    elif kind in _UNKNOWN_KINDS:
        return None
    else:
        taken = (problem.evidence.share(category, str(rival), problem.parts[0]) for rival in rivals)
        share = max(0.0, 1 - sum(other for other in taken if other is not None))
    there = share * (1 - chances[0])
    bad = sum(place * chance for place, chance in enumerate(chances))
    said = "can be seen" if there >= _SEEN else "is not to be seen"
    return Flaw(there, bad, PropertyReading(f"{option.text[:1].upper()}{option.text[1:]} {said}."), claimed)
