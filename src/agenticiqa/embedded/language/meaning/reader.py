"""What kind of answer a question wants (yes or no, degree, which, …), and its typed meaning."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from agenticiqa.embedded.language.meaning.amounts import NO, YES, AskedProperty, amounts, degree_in, plain, words_in
from agenticiqa.embedded.language.meaning.claims import (
    AskedText,
    claim_of_option,
    claim_with_amount,
    value_of,
    value_said_last,
)
from agenticiqa.embedded.language.meaning.direction import (
    Joined,
    Statement,
    asks_excess,
    end_named,
    polarity_of_yes,
    statements,
)
from agenticiqa.embedded.language.meaning.parts import (
    CHOOSING,
    asks_rating,
    claimed_by_options,
    parts_asked,
    praised_thing,
    property_asked,
    things_named,
)
from agenticiqa.embedded.language.meaning.properties import GENERAL, Property, properties, senses
from agenticiqa.embedded.language.options import Claim, Option
from agenticiqa.embedded.language.phrases import ScopeObject
from agenticiqa.embedded.language.tagging import Item
from agenticiqa.embedded.language.words import base_forms, position_of, word_set
from agenticiqa.vocabulary import SEVERITIES, DistortionTerm, Polarity, distortion_terms

AnswerForm = Literal["yes_no", "degree", "which", "where", "rating", "compare", "open", "advice"]

# How far from an end an amount must lie to be one in between: of several options, of two, and beside yes or no.
_NEAR_END, _NEARER_END = 0.1, 0.3
_QUESTIONS = word_set("how what which where why who")
_OPENING = word_set("describe evaluate comment discuss explain assess tell analyze verdict")
_WHETHER_THERE = word_set("any no not check verify confirm")
_COMPARING = word_set("more less equally same better worse most least equal compare compared")
_STRONGER = word_set("stronger weaker higher lower bigger greater deeper")
_WHETHER = re.compile(r" whether | \w+ if (?!any|so|possible|needed)")
_WHERE = re.compile(r"^(?: \w+){0,2} (?:where|wheres) |\bwhere (?:is|are|do|does|did|was|were|has|have|can)\b")
_WHICH_PART = re.compile(r"\b(?:which|what) (?:part|area|region|side|corner|half|place|zone|spot|third|section)\b")
# "Is the score above 4?" asks no score.
_BOUND = re.compile(
    r"\b(?:above|below|over|under|at least|at most|higher than|lower than|more than|less than|better than|"
    r"worse than|greater than|exceeds?) \d"
)
_ONLY_ME = re.compile(r"\bis it (?:just |only )?me\b")


def form_asked(
    text: AskedText,
    asked: Property | None,
    parts: Sequence[ScopeObject],
    on_axis: Mapping[str, float | None],
) -> AnswerForm:
    """The form, from the words that ask and from where the options lie on the axis of the property."""
    known = [amount for amount in on_axis.values() if amount is not None]
    if text.says("advice"):
        return "advice"
    if asks_rating(text) and (not text.options or 2 * len(known) > len(text.options)) and not _BOUND.search(text.said):
        return "rating"
    if _compares(text, parts):
        return "compare"
    if _WHERE.search(text.said) or _WHICH_PART.search(text.said) or _offers_places(text, asked):
        return "where"
    return _of_choice(text, asked, known) if text.options else _without_options(text, asked, parts)


def _compares(text: AskedText, parts: Sequence[ScopeObject]) -> bool:
    words = set(text.plain)
    if {"same", "equally", "alike", "equal"} & words and {"two", "both"} & words:
        return True
    if _answers_yes_or_no(text) or len(parts) < 2:
        return False
    if "than" in words or any(word.startswith("compar") for word in words):
        return True
    comparative = bool(_COMPARING & words) or any(map(_is_comparative, text.plain))
    return comparative and bool({"and", "or"} & words)


def _is_comparative(word: str) -> bool:
    return word in _STRONGER or (word.endswith("er") and len(base_forms(word)) > 1 and bool(senses([word])))


# --- with options ---


def _of_choice(text: AskedText, asked: Property | None, known: Sequence[float]) -> AnswerForm:
    if _answers_yes_or_no(text):
        return "degree" if _any_between(known, _NEARER_END) or len(set(known)) > 2 else "yes_no"
    if asked is None or 2 * len(known) <= len(text.options):
        return "which"
    if _offers_values(text, asked) or _offers_parts(text, asked) or _alike_but_for_values(text, asked, known):
        return "which"
    alternatives = " or " in text.said and " or not" not in text.said and not _ONLY_ME.search(text.said)
    between = _any_between(known, _NEAR_END if len(known) > 2 else _NEARER_END)
    return "yes_no" if starts_yes_no(text, asked) and not between and not alternatives else "degree"


def _any_between(known: Sequence[float], margin: float) -> bool:
    return any(margin < amount < 1 - margin for amount in known)


def _answers_yes_or_no(text: AskedText) -> bool:
    leads = {plain(re.split(r"[,;:.]", option)[0]) for option in text.options.values()}
    return bool(leads & (YES | NO) - ({"right"} if "left" in leads else set()))


def _offers_places(text: AskedText, asked: Property | None) -> bool:
    """Sides of the frame to choose from."""
    places = [position_of(words_in(option)) for option in text.options.values()]
    chosen = asked is None or "which" in text.plain or _offers_values(text, asked)
    return not chosen and sum(map(bool, places)) >= 2


def _offers_values(text: AskedText, asked: Property) -> bool:
    """Kinds to choose from, not amounts."""
    if not (CHOOSING | {"or"}) & set(text.plain):
        return False
    if asked.name == "flaw":
        return len(claimed_by_options(text.options)) >= 2
    return len({value_of(asked, option) for option in text.options.values()} - {None}) >= 2


def _alike_but_for_values(text: AskedText, asked: Property, known: Sequence[float]) -> bool:
    """ "Too warm / Too cool / Neutral": as much of a cast, but not the same one."""
    values = [value for option in text.options.values() if (value := value_of(asked, option))]
    return asked.has_scale and len(set(values)) >= 2 and len(set(known)) < len(known)


def _offers_parts(text: AskedText, asked: Property) -> bool:
    """ "Is the focus on the eyes or the nose?" with both to choose from."""
    named = things_named(text, asked)
    heads = [set(base_forms(words[-1])) for option in text.options.values() if (words := words_in(option))]
    return sum(bool(forms & named) for forms in heads) >= 2


# --- without options ---


def _without_options(text: AskedText, asked: Property | None, parts: Sequence[ScopeObject]) -> AnswerForm:
    words = text.plain
    if _asks_for_words(text):
        return "open"
    if words[:1] in (["list"], ["name"]):
        return "which"
    if starts_yes_no(text, asked):
        chosen = len(parts) > 1 or (asked is not None and not asked.has_scale)
        return "which" if chosen and "or" in words else "yes_no"
    return "open" if asked is None or _OPENING & set(words[:4]) else _of_property(words, asked)


def _asks_for_words(text: AskedText) -> bool:
    """ "Describe it", "Why is it dark?"; but "Tell me whether it is dark" wants a yes or a no."""
    reports = text.plain[:1] == ["tell"] and _WHETHER.search(text.said)
    return "why" in text.plain[:2] or (bool(_OPENING & set(text.plain[:2])) and not reports)


def _of_property(words: Sequence[str], asked: Property) -> AnswerForm:
    if {"how", "like", "say", "think", "extent", "degree", "level", "amount"} & set(words):
        return "degree" if asked.has_scale and (asked.weight >= GENERAL or "how" in words) else "open"
    if words[-1:] == ["what"]:
        return "where" if asked.name == "in_focus" else "which"
    return "which" if CHOOSING & set(words[:2]) else "degree"


def starts_yes_no(text: AskedText, asked: Property | None) -> bool:
    """Whether the words alone ask for a yes or a no."""
    if " or not " in text.said or (_WHETHER.search(text.said) and not _QUESTIONS & set(text.plain[:1])):
        return True
    first = next((item for item in text.asking if item.tag not in ("mark", "filler", "degree")), None)
    if first is None or _QUESTIONS & set(text.plain[:2]):
        return False
    if first.tag == "auxiliary" or _WHETHER_THERE & set(text.plain[:1]):
        return True
    tags = {item.tag for item in text.asking}
    if "question" in tags or "?" not in text.text or "auxiliary" in tags:
        return "auxiliary" in tags and "question" not in tags and "?" in text.text
    # "Fuzzy round the edges?" asks whether; "Contrast of the wall?" and "Noise: weak or strong?" ask how much.
    return asked is not None and text.decisive(asked) is not None and degree_in(text.plain[-1:]) is None


# --- A question becomes a typed meaning ---


_ON_AXIS = ("yes_no", "degree", "rating")


@dataclass(frozen=True)
class OptionMeaning:
    """What one option says: an amount of a property, a claim by name, or both."""

    letter: str
    text: str
    property: str | None = None
    """The property that ``amount`` is of: the one asked about, or one that only this option names."""
    amount: float | None = None
    """0 (none of the property) to 1 (as much as can be)."""
    claim: str | None = None
    """Off the axis: a property, a place, a part, a value; none, all, both, same, not_present or unknown."""


@dataclass(frozen=True)
class Meaning:
    """A question, understood."""

    text: str
    property: str | None
    """The entry of ``properties.yaml`` that is asked about; None where none is: then it is outside the field."""
    parts: tuple[ScopeObject, ...]
    """The parts of the picture it is asked of; none for the whole."""
    form: AnswerForm
    polarity: int
    """1: yes claims much of the property; -1: little of it. Of "which flaw", -1 asks for one that is not there."""
    value: str | None = None
    """Of a property without a scale, the value that is asked about: "screenshot" of "Is it a screenshot?"."""
    options: tuple[OptionMeaning, ...] = ()
    statements: tuple[Statement, ...] = ()
    """All that a yes claims: one statement, or several for "Is it sharp but noisy?"."""
    joined: Joined | None = None
    """How several statements are joined."""
    claimed: bool = False
    """Whether a word of the question itself claims an end of the property ("mushy"), and does not only name it."""
    praised: str | None = None
    """Of "a good sense of space": what is praised, where it is neither the picture nor a property that is known."""

    def known(self) -> Property | None:
        """The entry of the property."""
        return properties()[self.property] if self.property else None

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        known = self.known()
        return {
            "question": self.text,
            "property": self.property,
            "title": known.title if known else None,
            "explanation": known.sentence if known else None,
            "reading": dict(known.reading) if known else None,
            "parts": [part.name for part in self.parts],
            "form": self.form,
            "value": self.value,
            "yes_claims": "much" if self.polarity > 0 else "little",
            "statements": [asdict(each) for each in self.statements],
            "joined": self.joined,
            "options": [asdict(option) for option in self.options],
        }


NOT_UNDERSTOOD = Meaning("", None, (), "open", 1)


def meaning_of(text: str, options: Mapping[str, str], items: Sequence[Item] | None = None) -> Meaning:
    """Read a question whose options are known.

    >>> meaning = meaning_of("Isn't the car unsharp?", {"A": "Yes", "B": "No"})
    >>> meaning.property, meaning.form, meaning.polarity, [option.amount for option in meaning.options]
    ('sharp', 'yes_no', -1, [0.0, 1.0])
    """
    said = AskedText(text, options, items)
    known = property_asked(said)
    parts = parts_asked(said, known)
    end = end_named(said, known) if known else 1
    polarity = polarity_of_yes(said, known, end) if known else 1
    asked = AskedProperty(known, polarity, end, said.asking, parts, asks_excess(said, known)) if known else None
    on_axis = amounts(asked, options) if asked and asked.property.has_scale else {}
    form = form_asked(said, known, parts, on_axis)
    claims: tuple[Statement, ...] = ()
    joined: Joined | None = None
    if known and form == "yes_no":
        claims, joined = statements(said, known, polarity, parts, denied=polarity != end)
    placed = on_axis if form in _ON_AXIS else {}
    return Meaning(
        text,
        known.name if known else None,
        _kept_parts(said, parts, form),
        form,
        polarity,
        value_said_last(known, said.plain) if known and not known.has_scale and form == "yes_no" else None,
        tuple(_option(letter, text, asked, placed.get(letter), form) for letter, text in options.items()),
        claims,
        joined,
        claimed=known is not None and said.decisive(known) is not None,
        praised=praised_thing(said, known) if known else None,
    )


def _option(
    letter: str, text: str, asked: AskedProperty | None, amount: float | None, form: AnswerForm
) -> OptionMeaning:
    if asked and amount is not None:
        return OptionMeaning(letter, text, asked.property.name, amount)
    claim = claim_of_option(asked, text, of_place=form == "where", of_part=form == "compare")
    own = claim_with_amount(text)
    if own is None or claim != own[0]:
        return OptionMeaning(letter, text, claim=claim)
    return OptionMeaning(letter, text, *own, claim)


def _kept_parts(text: AskedText, parts: tuple[ScopeObject, ...], form: AnswerForm) -> tuple[ScopeObject, ...]:
    """What the options offer is not what is asked of, except in a comparison."""
    both = "both" in text.plain or ("which" in text.plain and len(parts) == 2 and "or" in text.plain)
    if form == "compare" or not text.options or both:
        return parts
    said = [word for option in text.options.values() for word in words_in(option)]
    offered = {form for word in said for form in base_forms(word)}
    optional = form in ("where", "which") or len(parts) > 1
    return tuple(part for part in parts if not optional or not {part.noun, *part.name.split()[-1:]} & offered)


# --- The damage that a question names ---

# The least damage that each severity stands for, on an axis from 0 to 1.
_LEAST = (0.0, 0.1, 0.42, 0.6, 0.97)


@dataclass(frozen=True)
class NamedDistortion:
    """A distortion or attribute the question names."""

    category: str
    kind: str
    polarity: Polarity
    negated: bool = False
    """Denied in so many words: "not sharp", "no noise". "Isn't it noisy?" denies nothing."""
    words: str = ""
    objects: tuple[str, ...] = ()
    """The objects it belongs to; empty for the whole picture, or for all objects alike."""
    from_options: bool = False


def speaks_of_damage(meaning: Meaning) -> bool:
    """Whether the property asked about is damage, or the lack of it, of a kind that is known."""
    asked = meaning.known()
    return asked is not None and bool(asked.kinds) and asked.good != "middle" and asked.weight >= GENERAL


def claims_damage(meaning: Meaning) -> bool:
    """Whether the question claims damage, or the lack of it, in words of its own."""
    return meaning.claimed and speaks_of_damage(meaning)


def named_by_meaning(meaning: Meaning) -> tuple[NamedDistortion, ...]:
    """The damage meant by words that name none themselves: "Are the twigs mushy?"."""
    asked = meaning.known()
    if asked is None or not claims_damage(meaning):
        return ()
    term = _main_term(asked)
    polarity: Polarity = "good" if _claims_good(asked, meaning) else "bad"
    return (NamedDistortion(term.category, term.kind, polarity, words=asked.title),)


def with_polarity(named: Sequence[NamedDistortion], meaning: Meaning) -> tuple[NamedDistortion, ...]:
    """ "Is the clarity low?": a name that praises nothing gets the end that the question claims of it."""
    asked = meaning.known()
    if asked is None or meaning.form != "yes_no" or not speaks_of_damage(meaning) or _claims_good(asked, meaning):
        return tuple(named)
    term = _main_term(asked)
    return tuple(
        replace(each, category=term.category, kind=term.kind, polarity="bad", negated=False)
        if each.polarity == "neutral" and each.kind in asked.kinds
        else each
        for each in named
    )


def _main_term(asked: Property) -> DistortionTerm:
    return next(term for term in distortion_terms().values() if term.kind == asked.kinds[0])


def with_degrees(options: Sequence[Option], meaning: Meaning, named: Sequence[NamedDistortion]) -> tuple[Option, ...]:
    """Options on the axis of the property claim degrees of damage; of praise ("how sharp?") degrees of praise."""
    asked = meaning.known()
    if asked is None or not speaks_of_damage(meaning):
        return tuple(options)
    praised = bool(named) and all(each.polarity == "good" for each in named)
    amounts = {each.letter: each.amount for each in meaning.options if each.property == asked.name}
    return tuple(_with_degree(option, asked, amounts.get(option.letter), praised=praised) for option in options)


def _with_degree(option: Option, asked: Property, amount: float | None, *, praised: bool) -> Option:
    if amount is None or option.claim.kind not in ("degree", "nothing", "region", "comparison"):
        return option
    damage = amount if asked.good == "little" else 1 - amount
    place = max(at for at, least in enumerate(_LEAST) if damage >= least)
    return replace(option, claim=Claim("degree", degree=SEVERITIES[len(SEVERITIES) - 1 - place if praised else place]))


def _claims_good(asked: Property, meaning: Meaning) -> bool:
    return (meaning.polarity > 0) == (asked.good == "much")
