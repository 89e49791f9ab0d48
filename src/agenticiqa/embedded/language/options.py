"""What each answer option claims about the picture, so that it can be held against measurements."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from agenticiqa._data import by_word
from agenticiqa.answers import MAX_OPTIONS, lettered, parse_options, question_without_options
from agenticiqa.embedded.language.phrases import ScopeObject, mentions, parse_object
from agenticiqa.embedded.language.tagging import Item, tagged
from agenticiqa.embedded.language.words import vocabulary, word_list
from agenticiqa.vocabulary import DistortionTerm, canonical_severity, plain_spelling

ClaimKind = Literal["yes", "no", "distortion", "degree", "level", "region", "comparison", "nothing"]

_MAX_OPTION_WORDS = 12
_YES, _NO = word_list("options", "yes"), word_list("options", "no")
_LEVELS: dict[str, int] = by_word(vocabulary("options")["levels"])
_DEGREES: dict[str, str] = by_word(vocabulary("options")["degrees"])
_LONGEST_DEGREE = max(len(phrase.split()) for phrase in _DEGREES)
# The first of these that an option says counts.
_SIDES: dict[str, str] = {}
for _group in vocabulary("options")["sides"]:
    _SIDES |= by_word(_group)
_JUST_RIGHT, _NO_ANSWER = word_list("options", "just_right"), word_list("options", "no_answer")
# Said of an attribute: "appropriate brightness", "poor contrast".
_PRAISING, _COMPLAINING = word_list("options", "praising"), word_list("options", "complaining")
_STRENGTHENING = word_list("options", "strengthening")

_COMPARATIVE = re.compile(r"\b(more|less|better|worse|than)\b")
_YES_OR_NO = re.compile(r"\s*(yes|no)\s*[,;:.–-]+\s*(?=\w)", re.IGNORECASE)


@dataclass(frozen=True)
class Claim:
    """What one option says. Which fields are filled follows from ``kind``; a distortion may carry a degree."""

    kind: ClaimKind
    category: str | None = None
    distortion: str | None = None
    """The finer kind, such as "motion blur"."""
    polarity: str | None = None
    """``good`` if the words praise ("sharp"), ``bad`` if they complain ("blurry"), else ``neutral``."""
    negated: bool = False
    degree: str | None = None
    """none, slight, moderate, severe or extreme: how much of what is asked or named."""
    level: int | None = None
    """Quality, 1 (bad) to 5 (excellent)."""
    region: ScopeObject | None = None
    side: str | None = None
    """Of a comparison: first, second, both, neither, same, better, worse, more, less, reference, test."""

    @property
    def denies_damage(self) -> bool:
        """Whether the option says that the distortion is not there: "sharp", "not blurry", "well exposed"."""
        return self.kind == "distortion" and (self.polarity == "good") != (self.negated or self.degree == "none")


@dataclass(frozen=True)
class Option:
    """One answer option."""

    letter: str
    text: str
    claim: Claim


def split_options(query: str, given: Sequence[str] | None = None) -> tuple[str, dict[str, str]]:
    """The question alone, and its options by letter: those given beside it, lettered ones, or a list after the mark.

    >>> split_options("How blurry is it? A little bit / Very / Not at all")
    ('How blurry is it?', {'A': 'A little bit', 'B': 'Very', 'C': 'Not at all'})
    """
    usable = [text for text in given or () if text.strip()][:MAX_OPTIONS]
    if len(usable) >= 2:
        return question_without_options(query), lettered(usable)
    texts = parse_options(query)
    if texts:
        return question_without_options(query), texts
    question, mark, tail = query.rpartition("?")
    listed = _listed(tail) if mark else []
    if len(listed) >= 2:
        return question + mark, lettered(listed)
    return query.strip(), {}


def _listed(tail: str) -> list[str]:
    parts = tail.split("/") if "/" in tail else tail.splitlines()
    texts = [part.strip(" \t-•*") for part in parts if part.strip(" \t-•*")]
    return texts if len(texts) <= 26 and all(len(text.split()) <= _MAX_OPTION_WORDS for text in texts) else []


def read_options(texts: Mapping[str, str]) -> tuple[Option, ...]:
    """Each option with its claim. "Right" is a side beside "Left", and a yes beside "Wrong".

    >>> [option.claim.kind for option in read_options({"A": "Left", "B": "Right"})]
    ['region', 'region']
    """
    claims = {letter: claim_of(text) for letter, text in texts.items()}
    if any(claim.kind == "region" for claim in claims.values()):
        sides = {letter: parse_object("right") for letter, text in texts.items() if text.strip(" .").lower() == "right"}
        claims |= {letter: Claim("region", region=side) for letter, side in sides.items()}
    return tuple(Option(letter, text, claims[letter]) for letter, text in texts.items())


def claim_of(text: str) -> Claim:
    """What an option claims.

    >>> claim_of("Motion blur").distortion, claim_of("Slightly noisy").degree, claim_of("Acceptable").level
    ('motion blur', 'slight', 3)
    >>> claim_of("the upper left corner").region.position, claim_of("A lonely traveller").kind
    ('top left', 'nothing')
    >>> claim_of("No, it is sharp").kind, claim_of("No noise").kind
    ('no', 'distortion')
    """
    answer = _YES_OR_NO.match(text)
    if answer:
        return replace(claim_of(text[answer.end() :]), kind="yes" if answer[1].lower() == "yes" else "no")
    items = [item for item in tagged(text) if item.tag != "mark"]
    words = " ".join(item.plain for item in items)
    if words in _FIXED:
        return _FIXED[words]
    term = next((item.term for item in items if item.term), None)
    if term:
        return _distortion_claim(words, items, term)
    return _level_claim(words) or _plain_claim(items, words)


def _level_claim(words: str) -> Claim | None:
    """A level with a word before it: "fairly good", "not acceptable", "5 excellent"."""
    lead, _, rest = words.partition(" ")
    level = _LEVELS.get(rest)
    if level and (lead in _STRENGTHENING or lead.isdigit()):
        return Claim("level", level=level)
    return Claim("level", level=min(level - 1, 2) or 1) if level and lead == "not" else None


def _fixed_claims() -> dict[str, Claim]:
    """Options of a few fixed words; where lists share a word, the later line wins."""
    claims = {words: Claim("degree", degree=degree) for words, degree in _DEGREES.items()}
    claims |= {words: Claim("comparison", side=side) for words, side in _SIDES.items()}
    claims |= {words: Claim("level", level=level) for words, level in _LEVELS.items()}
    claims |= {f"{words} quality": claim for words, claim in claims.items() if claim.kind == "level"}
    claims |= {words: Claim("degree", degree="none") for words in _JUST_RIGHT}
    claims |= {words: Claim("nothing") for words in _NO_ANSWER}
    return claims | {words: Claim("no") for words in _NO} | {words: Claim("yes") for words in _YES}


def _distortion_claim(words: str, items: Sequence[Item], term: DistortionTerm) -> Claim:
    lead = [item.plain for item in items if not item.term]
    degree = _degree_in(" ".join(lead)) or ("severe" if "too" in words.split() else None)
    negated = any(item.tag == "negation" for item in items) or degree == "none"
    where = mentions(items)
    return Claim(
        "distortion",
        category=term.category,
        distortion=term.kind,
        polarity=_polarity(term, lead),
        negated=negated,
        degree=None if negated and degree == "none" else degree,
        region=where[0].object if where else None,
        side=_side(words),
    )


def _polarity(term: DistortionTerm, lead: Sequence[str]) -> str:
    """The words beside an attribute say whether it is good or bad."""
    if term.polarity == "neutral" and _PRAISING & set(lead):
        return "good"
    return "bad" if term.polarity == "neutral" and _COMPLAINING & set(lead) else term.polarity


def _degree_in(words: str) -> str | None:
    parts = words.split()
    for length in range(_LONGEST_DEGREE, 0, -1):
        for at in range(len(parts) - length + 1):
            degree = _DEGREES.get(" ".join(parts[at : at + length]))
            if degree:
                return degree
    return None


def _side(words: str) -> str | None:
    """Which side of a comparison wins, if the option compares."""
    found = _COMPARATIVE.search(words)
    if found:
        return "more" if found[1] == "than" else found[1]
    padded = f" {words} "
    return next((side for said, side in _SIDES.items() if f" {said} " in padded), None)


def _plain_claim(items: Sequence[Item], words: str) -> Claim:
    side = _side(words)
    if side:
        return Claim("comparison", side=side)
    where = mentions(items) or mentions(tagged(f"the {words}"))
    listed = [m.object for m in where if m.object.position or _has_listed_noun(items, m.start, m.end)]
    if listed or (where and items[0].tag in ("determiner", "tie")):
        return Claim("region", region=(listed or [where[0].object])[0])
    degree = canonical_severity(plain_spelling(words)) or _degree_in(words)
    return Claim("degree", degree=degree) if degree and len(words.split()) <= 4 else Claim("nothing")


def _has_listed_noun(items: Sequence[Item], start: int, end: int) -> bool:
    return any(item.tag in ("noun", "position") for item in items[start:end])


_FIXED = _fixed_claims()
