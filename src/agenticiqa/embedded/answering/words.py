"""Ratings, and answers in words: how much, which, why, what is wrong, what to do."""

import re
from collections.abc import Callable
from dataclasses import replace

from agenticiqa.answers import asked_scale
from agenticiqa.embedded.answering import comparing, options, yes_no
from agenticiqa.embedded.answering.chances import bound_answer, claim_chance, is_damage, median_place
from agenticiqa.embedded.answering.problem import (
    OTHER_MODELS,
    WHAT_CAN_BE_ASKED,
    AnswerProblem,
    EmbeddedAnswer,
    close_call,
    guessed,
    statement,
    unread,
)
from agenticiqa.embedded.findings import level_at
from agenticiqa.embedded.properties import Property, properties
from agenticiqa.embedded.question import own_claim
from agenticiqa.embedded.readings.base import PLACES, PropertyReading
from agenticiqa.vision.scene import LEVELS
from agenticiqa.vocabulary import GLOBAL, LEVEL_LETTERS, UNABLE_TO_DETERMINE, same_name

COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "gray", "black", "white")
_ASKS_COLOUR = re.compile(r"\bcolou?rs?\b|\bhues?\b", re.IGNORECASE)
# Chances of values that exclude each other sum to one.
_EXCLUSIVE = 1.2
# Values that exclude no other: a generated picture is a photograph or a drawing all the same.
_BESIDE = ("generated",)
# How much is a number there, not a word of degree.
_FACTS = ("resolution", "printable", "flaw_count", "camera_settings", "file_format", "aspect")
_HOW_MUCH = ("not", "a little", "rather", "very", "extremely")
_CERTAIN = 0.995
_AHEAD = 0.15
"""A mood is offered as a guess only where it leads the next by so much."""


def rate(problem: AnswerProblem) -> EmbeddedAnswer:
    """The level that the mean of the chances falls on, so that letter and score agree."""
    levels, sentences, doubts, measured = _levels(problem)
    mean = sum(level * chance for level, chance in zip(LEVELS, levels, strict=True))
    chances = {LEVEL_LETTERS[level]: chance for level, chance in zip(LEVELS, levels, strict=True)}
    letter = LEVEL_LETTERS[level_at(mean)]
    return EmbeddedAnswer(letter, sentences, chances, doubts, problem.missing_parts(), measured)


def _levels(problem: AnswerProblem) -> tuple[tuple[float, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """The chances of the levels 1 to 5, reasons, doubts, and numbers."""
    quality, flaws, asked = problem.told("quality"), problem.told("flaw"), problem.asked
    if quality is None or quality.amounts is None:
        raise LookupError("The quality of a picture can always be read.")
    sentences = (flaws.sentence,) if flaws else ()
    measured = (*(flaws.measured if flaws else ()), *quality.measured)
    if asked is None or asked.is_general:
        return quality.amounts, sentences, (), measured
    told = problem.told(asked.name)
    if told is None or told.amounts is None or asked.good == "middle":
        return quality.amounts, sentences, (f"The whole quality was rated, not {asked.title}.",), measured
    amounts = told.amounts if asked.good == "much" else told.amounts[::-1]
    rated = f"Rated is {asked.title} alone{' (5: no fault of it can be seen)' if is_damage(asked, told) else ''}."
    return amounts, (rated, told.sentence), (guessed(asked),) if told.guess else (), told.measured


def answer(problem: AnswerProblem) -> EmbeddedAnswer:
    """Without options: by the form of the question."""
    meaning = problem.meaning
    if meaning.form == "other_language":
        foreign = "The question does not look English; this backend reads English only."
        return EmbeddedAnswer(UNABLE_TO_DETERMINE, doubts=(foreign, OTHER_MODELS))
    if meaning.form == "how_to_fix":
        return advice(problem)
    if meaning.property is None:
        return _colour_of_part(problem) or _declined(problem)
    if meaning.options:
        return _in_words(problem, options.answer(problem)) if meaning.offered else either_or(problem)
    if bound_answer(problem):
        return yes_no.answer(problem)
    found = _BY_FORM.get(meaning.form, said_of_property)(problem)
    return replace(_with_next_reading(problem, found), notes=problem.missing_parts())


def _declined(problem: AnswerProblem) -> EmbeddedAnswer:
    if problem.meaning.form == "follow_up":
        why = "This reads like a follow-up, and I do not know what came before it."
        if problem.meaning.follows == "unclear":
            why = "I cannot tell what this asks of the answer before it."
        return EmbeddedAnswer(UNABLE_TO_DETERMINE, doubts=(why, WHAT_CAN_BE_ASKED))
    return unread(None)


def _with_next_reading(problem: AnswerProblem, found: EmbeddedAnswer) -> EmbeddedAnswer:
    """Where the reading is not sure: how the question was understood, and what else it may mean."""
    meaning, asked = problem.meaning, problem.asked
    if not meaning.is_unsure or asked is None:
        return found
    other = replace(meaning, property=meaning.next_property).known()
    offer = f"; did you mean {other.title}?" if other else "."
    return replace(found, doubts=(f"I took this as a question about {asked.title}{offer}", *found.doubts))


def said_of_property(problem: AnswerProblem) -> EmbeddedAnswer:
    """How much, which, or a description: what was read, in a word and in a sentence."""
    asked = problem.asked
    told = problem.told(asked.name) if asked else None
    if asked is None or told is None:
        return unread(asked)
    doubts = (guessed(asked),) if told.guess else ()
    described = asked.name == "quality" and problem.meaning.form in ("describe", "what_is_wrong")
    if described and (flaws := problem.told("flaw")):
        return EmbeddedAnswer(_first(flaws), (flaws.sentence, told.sentence), doubts=doubts, measured=flaws.measured)
    if asked.name == "flaw" or asked.name in _FACTS or (told.amounts is None and not told.values):
        return EmbeddedAnswer(_first(told), (told.sentence,), doubts=doubts, measured=told.measured)
    if told.amounts is not None and not (told.values and problem.meaning.form == "which"):
        return EmbeddedAnswer(_amount(problem, asked, told), (told.sentence,), doubts=doubts, measured=told.measured)
    return _likeliest_value(problem, asked, told, doubts)


def _first(told: PropertyReading) -> str:
    return told.sentence.split(". ", 1)[0].removesuffix(".")


def _amount(problem: AnswerProblem, asked: Property, told: PropertyReading) -> str:
    """ "A little noisy", "Very sharp", "Not blurry": the median in the words of the end that was asked for."""
    place = median_place(told)
    if asked.name == "quality":
        scale = asked_scale(problem.meaning.text)
        if scale and "score" in told.numbers:
            return scale.text(float(told.numbers["score"]))
        return ("Bad", "Poor", "Fair", "Good", "Excellent")[place]
    if told.steps:
        return told.steps[place]
    end = problem.meaning.end or (asked.bad_end if is_damage(asked, told) else 1)
    steps = place if end > 0 else len(PLACES) - 1 - place
    if is_damage(asked, told) and end != asked.bad_end:
        # No damage at all is the plain good word; less of it than that is said by the bad one.
        end, steps = (end, 2) if steps == len(PLACES) - 1 else (-end, len(PLACES) - 1 - steps)
    word = asked.word(end)
    adverb = "far" if word.startswith("too ") and steps > 2 else _HOW_MUCH[steps]
    return f"{adverb} {word}".capitalize() if adverb != "rather" else word.capitalize()


def _likeliest_value(
    problem: AnswerProblem, asked: Property, told: PropertyReading, doubts: tuple[str, ...]
) -> EmbeddedAnswer:
    offered = {value: chance for value, chance in told.values.items() if value not in _BESIDE}
    if asked.name == "colour_scheme" and _ASKS_COLOUR.search(problem.meaning.text):
        offered = {value: chance for value, chance in offered.items() if value in COLOURS} or offered
    text = f" {re.sub(r'[^a-z]+', ' ', problem.meaning.text.casefold())} "
    named = {value for word, value in asked.values.items() if f" {word} " in text} & offered.keys()
    if len(named) > 1:  # "Is it warm, cold or neutral?"
        offered = {value: offered[value] for value in named}
    ranked = sorted(offered.values(), reverse=True)
    if sum(ranked) > _EXCLUSIVE:
        return EmbeddedAnswer(_first(told), (told.sentence,), doubts=doubts, measured=told.measured)
    if asked.name == "mood" and len(ranked) > 1 and ranked[0] - ranked[1] < _AHEAD:
        why = "No mood stands out; what a picture makes people feel is theirs to say."
        return EmbeddedAnswer(UNABLE_TO_DETERMINE, doubts=(why, OTHER_MODELS))
    best = max(offered, key=lambda value: offered[value])
    return EmbeddedAnswer(
        best.replace("_", " ").capitalize(),
        (told.sentence,),
        doubts=(*doubts, *close_call(offered, best.replace("_", " "))),
        measured=told.measured,
    )


def _colour_of_part(problem: AnswerProblem) -> EmbeddedAnswer | None:
    """ "What colour is the car?" asks for no property of the picture, but the colours of a part can be read."""
    told = problem.told("colour_scheme") if _ASKS_COLOUR.search(problem.meaning.text) else None
    named = {name: told.values[name] for name in COLOURS if name in told.values} if told else {}
    if told is None or not named or not problem.evidence.located(problem.parts[0]):
        return None
    best = max(named, key=lambda name: named[name])
    return EmbeddedAnswer(best.capitalize(), (told.sentence,), measured=told.measured)


# --- "Is it blurry or compressed?" ---


def either_or(problem: AnswerProblem) -> EmbeddedAnswer:
    """The alternative that fits better, in the question's own words."""
    if len(problem.meaning.parts) > 1:
        return comparing.compare(problem)
    if several := _each_flaw(problem):
        return several
    return _in_words(problem, options.answer(problem))


def _in_words(problem: AnswerProblem, found: EmbeddedAnswer) -> EmbeddedAnswer:
    """A chosen option by its text, where no letters were offered with the question."""
    texts = {option.letter: option.text for option in problem.meaning.options}
    chosen = texts.get(found.text, found.text)
    chances = {texts[letter]: chance for letter, chance in found.chances.items()}
    sentences = tuple(text for text in found.sentences if "fits best" not in text)
    text = f"Between the two, if anything {chosen}" if options.BETWEEN in found.doubts else chosen
    said = text[:1].upper() + text[1:]
    # What lies between is said once.
    said_already = (options.BETWEEN, "It is a close call")
    doubts = tuple(each for each in found.doubts if text == chosen or not each.startswith(said_already))
    return replace(found, text=said, sentences=sentences, chances=chances, doubts=doubts)


def _each_flaw(problem: AnswerProblem) -> EmbeddedAnswer | None:
    """Alternatives that are flaws of different kinds may both be there, or neither."""
    claimed = [own_claim(option.text) for option in problem.meaning.options]
    named = [(properties()[claim[0]], claim[1]) for claim in claimed if claim]
    if len({asked.name for asked, _ in named}) < len(claimed) or any(asked.bad_end != end for asked, end in named):
        return None
    told = [problem.told(asked.name) for asked, _ in named]
    chances = [claim_chance(each, *claim) if each else None for each, claim in zip(told, named, strict=True)]
    if any(chance is None for chance in chances):
        return None
    texts = [option.text for option in problem.meaning.options]
    there = [text for text, chance in zip(texts, chances, strict=True) if (chance or 0.0) >= 0.5]
    answer = "Neither" if not there else "Both" if len(there) == len(texts) else there[0][:1].upper() + there[0][1:]
    read = [each for each in told if each]
    return EmbeddedAnswer(
        answer,
        tuple(each.sentence for each in read),
        doubts=tuple(guessed(asked) for (asked, _), each in zip(named, read, strict=True) if each.guess),
        measured=tuple(text for each in read for text in each.measured),
    )


# --- why, what is wrong, what to do ---

_LIGHT = {"underexposed": -1, "overexposed": 1}
"""What is dark or bright need not be wrongly exposed: the scene may be so."""


def why(problem: AnswerProblem) -> EmbeddedAnswer:
    """Whether it is so at all, and then what the readings know of the cause."""
    asked = problem.asked
    if asked is not None and asked.is_general:
        return what_is_wrong(problem)
    told = problem.told(asked.name) if asked else None
    if asked is None or told is None:
        return unread(asked)
    end = problem.meaning.polarity
    so, doubts = claim_chance(told, asked, end), (guessed(asked),) if told.guess else ()
    behind = problem.told("background_blurred", GLOBAL)
    if asked.name in ("sharp", "in_focus") and end < 0 and "background" in problem.parts and behind:
        apart = (
            "The lens was focused on what is in front; with a shallow depth of field the rest blurs, often on purpose."
        )
        return EmbeddedAnswer("Shallow depth of field", (apart,), measured=(*told.measured, *behind.measured))
    if so is not None and so < 0.5 and (light := _LIGHT.get(asked.name)):
        seen = problem.told("bright")
        if seen is not None and (claim_chance(seen, properties()["bright"], light) or 0.0) >= 0.5:
            text = "The light was low" if light < 0 else "There is much light in it"
            said = f"{statement(problem, properties()['bright'], light)} {told.sentence}"
            return EmbeddedAnswer(text, (said,), measured=(*seen.measured, *told.measured))
    if so is not None and so < 0.5:
        said = f"I do not find that: {statement(problem, asked, -end)[0].lower()}{statement(problem, asked, -end)[1:]}"
        not_so = EmbeddedAnswer("It does not look so", (said, told.sentence), doubts=doubts, measured=told.measured)
        return (_mostly(problem) if asked.name == "colour_cast" else None) or not_so
    causes = [each for each in problem.evidence.advice() if each.because]
    because = tuple(dict.fromkeys(each.because for each in causes))[:2]
    text = _first(told)
    return EmbeddedAnswer(text, (told.sentence, *because), doubts=doubts, measured=told.measured)


_TONES = {
    "warm": re.compile(r"\b(?:orange|yellow|red|brown|warm|gold)", re.I),
    "cool": re.compile(r"\b(?:blue|cold|cool|teal|cyan)", re.I),
}


def _mostly(problem: AnswerProblem) -> EmbeddedAnswer | None:
    """Of "why so orange?": without a cast the scene itself may be of that colour."""
    seen = problem.told("colour_scheme")
    asked = next((tone for tone, words in _TONES.items() if words.search(problem.meaning.text)), None)
    if asked is None or seen is None or seen.values.get(asked, 0.0) < 0.8 or seen.values.get("neutral", 1.0) > 0.5:
        return None
    said = f"{seen.sentence} The scene or its light may be so; the white balance moves it."
    return EmbeddedAnswer(f"What it shows is mostly {asked}", (said,), measured=seen.measured)


def what_is_wrong(problem: AnswerProblem) -> EmbeddedAnswer:
    """The findings, the worst first; of one property what was read of it."""
    asked = problem.asked
    if asked is not None and not asked.is_general:
        return said_of_property(problem)
    told = problem.told("flaw")
    if told is None:
        return unread(asked)
    return EmbeddedAnswer(_first(told), (told.sentence,), measured=told.measured)


def advice(problem: AnswerProblem) -> EmbeddedAnswer:
    """What to do, the most important first."""
    found, asked = problem.evidence.advice(), problem.asked
    if mended := _advice_for_part(problem):
        return mended
    told = (problem.told(problem.meaning.property) if problem.meaning.property else None) or problem.told("flaw")
    sentences, measured = ((told.sentence,), told.measured) if told else ((), ())
    so = claim_chance(told, asked, asked.bad_end) if asked and told and asked.bad_end else None
    own = problem.evidence.advice(asked.category) if asked and asked.category and (so or 0.0) >= 0.5 else ()
    found = [*own, *(each for each in found if each not in own)]
    # "How do I fix that?" of what is no fault here means what is one.
    meant = problem.meaning.follows != "fix" or (so or 0.0) >= 0.5
    if asked is not None and asked.fix and (not found or (meant and not own and (so is None or so < 0.5))):
        much = asked.fix_much and told is not None and (claim_chance(told, asked, 1) or 0.0) >= 0.5
        return EmbeddedAnswer(asked.fix_much if much else asked.fix, sentences, measured=measured)
    if not found:
        fixes = [properties()[name].fix for name in told.wanting] if told else []
        return EmbeddedAnswer(" ".join(fixes) or "Nothing to mend stands out", sentences, measured=measured)
    further = tuple(dict.fromkeys(f"{each.because.removesuffix('.')}: {each.do}" for each in found[1:]))
    return EmbeddedAnswer(found[0].do, (found[0].because, *further), measured=measured)


_FAULTS_OF_PARTS = ("overexposed", "underexposed", "sharp", "noisy")


def _advice_for_part(problem: AnswerProblem) -> EmbeddedAnswer | None:
    """ "How do I fix the sky?": what helps against what is wrong with that part; None where nothing is, or no part."""
    part, asked = problem.parts[0], problem.asked
    if same_name(part, GLOBAL) or not problem.evidence.located(part) or (asked and not asked.is_general):
        return None
    for name in _FAULTS_OF_PARTS:
        fault, told = properties()[name], problem.told(name)
        if told and (claim_chance(told, fault, fault.bad_end) or 0.0) >= 0.5:
            said = (statement(problem, fault, fault.bad_end),)
            return EmbeddedAnswer(fault.fix, said, notes=problem.missing_parts(), measured=told.measured)
    return None


# --- what is asked of an answer that was given ---


def reason(problem: AnswerProblem, found: EmbeddedAnswer) -> EmbeddedAnswer:
    """Why the question was answered as it was: what was read, with its numbers, and what it comes from."""
    asked = problem.asked
    if asked is None:
        return found
    causes: tuple[str, ...] = ()
    if problem.meaning.options:
        said = tuple(text for text in found.sentences if "fits best" not in text) or found.sentences
        text = said[0].removesuffix(".") if said else found.text
    elif asked.is_general:
        found = what_is_wrong(problem)
        text, said = found.text, found.sentences
    else:
        told = problem.told(asked.name)
        because = told.because if told else ""
        text = f"{because[:1].upper()}{because[1:]}" if because else _first(told) if told else found.text
        said = found.sentences
        causes = tuple(each.because for each in problem.evidence.advice(asked.category)) if asked.category else ()
    return replace(found, text=text, sentences=tuple(dict.fromkeys((*said, *found.measured, *causes))))


def sure(problem: AnswerProblem, found: EmbeddedAnswer) -> EmbeddedAnswer:
    """The same answer again, how sure it is, and by which evidence. Asking twice changes nothing that was read."""
    meaning, asked, answered = problem.meaning, problem.asked, problem.meaning.answered
    told = problem.told(asked.name) if asked else None
    ranked = sorted(found.chances.items(), key=lambda each: -each[1])
    evidence = (*found.sentences, *found.measured)
    if meaning.form == "rate" and not meaning.options and ranked:
        levels = " and ".join(f"{letter} {chance:.0%}" for letter, chance in ranked[:2])
        return replace(found, sentences=(f"Of the five levels, the likeliest are {levels}.", *evidence))
    if answered is not None and not re.search(rf"(?<!\w){re.escape(found.text)}(?!\w)", answered, re.IGNORECASE):
        other = f"The answer before was {answered!r}; from what I read here I would say otherwise."
        return replace(found, sentences=evidence, doubts=(other, *found.doubts))
    word = found.text if found.text[1:2].isupper() else f"{found.text[:1].lower()}{found.text[1:]}"
    if ranked:
        how_sure = "over 99%" if ranked[0][1] >= _CERTAIN else f"{ranked[0][1]:.0%}"
        return replace(found, text=f"Still {word}, {how_sure} sure", sentences=evidence)
    if not (asked and told and told.amounts and meaning.form == "degree") or asked.is_general:
        return replace(found, sentences=("The answer stays the same.", *evidence))
    chances = {end: claim_chance(told, asked, end) or 0.0 for end in (1, -1)}
    end, degree = max(chances, key=lambda each: chances[each]), told.amounts[median_place(told)]
    so = f"The chance of {asked.word(end)} is {chances[end]:.0%}, of just this degree {degree:.0%}."
    return replace(found, text=f"Still {word}", sentences=(so, *evidence))


_BY_FORM: dict[str, Callable[[AnswerProblem], EmbeddedAnswer]] = {
    "yes_no": yes_no.answer,
    "good_enough": yes_no.answer,
    "where": comparing.where,
    "compare": comparing.compare,
    "why": why,
    "what_is_wrong": what_is_wrong,
}
