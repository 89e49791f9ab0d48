"""What kind of answer a question wants."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from agenticiqa.models.offline.language.meaning.asking import AskedText
from agenticiqa.models.offline.language.meaning.claims import value_of
from agenticiqa.models.offline.language.meaning.parts import things_named
from agenticiqa.models.offline.language.meaning.properties import GENERAL, Property, senses
from agenticiqa.models.offline.language.meaning.scales import NO, YES, degree_in, plain, words_in
from agenticiqa.models.offline.language.meaning.subject import CHOOSING, asks_rating, claimed_by_options
from agenticiqa.models.offline.language.noun_phrases import ScopeObject
from agenticiqa.models.offline.language.positions import position_of
from agenticiqa.models.offline.language.tokens import base_forms
from agenticiqa.models.offline.language.word_lists import word_set

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
