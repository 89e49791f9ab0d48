"""What each answer option claims about the picture, so that it can be held against measurements."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from agenticiqa.answers import lettered, parse_options, question_without_options
from agenticiqa.backends.embedded.distortion_words import DistortionTerm
from agenticiqa.backends.embedded.noun_phrases import ScopeObject, mentions
from agenticiqa.backends.embedded.tagging import Item, tagged
from agenticiqa.backends.embedded.tokens import plain_spelling
from agenticiqa.backends.embedded.word_lists import word_set
from agenticiqa.vocabulary import canonical_severity

ClaimKind = Literal["yes", "no", "distortion", "degree", "level", "region", "comparison", "nothing"]

_MAX_OPTION_WORDS = 12

_YES = word_set("yes yes_it_is yes_it_does yes_they_are yes_there_is true correct right yeah yep sure")
_NO = word_set("no no_it_is_not no_it_does_not no_they_are_not no_there_is_not false incorrect nope")

_LEVELS = {
    "excellent": 5, "perfect": 5, "very good": 5, "outstanding": 5, "superb": 5, "great": 5, "very high quality": 5,
    "good": 4, "fine": 4, "high quality": 4, "above average": 4, "decent": 4, "satisfactory": 4,
    "fair": 3, "average": 3, "acceptable": 3, "ok": 3, "okay": 3, "normal": 3, "medium quality": 3, "mediocre": 3,
    "adequate": 3, "ordinary": 3, "so so": 3,
    "poor": 2, "low quality": 2, "below average": 2, "inferior": 2, "unsatisfactory": 2, "not good": 2,
    "bad": 1, "terrible": 1, "very poor": 1, "very bad": 1, "awful": 1, "unacceptable": 1, "horrible": 1,
    "very low quality": 1,
}  # fmt: skip

# How much of it: the words of degree on the scale of severities, longest phrases first when they are searched.
_DEGREES = {
    "not at all": "none", "none": "none", "no": "none", "not": "none", "absent": "none", "never": "none",
    "nothing": "none", "not noticeable": "none", "invisible": "none", "imperceptible": "none", "no sign": "none",
    "zero": "none", "without": "none", "free of": "none", "not visible": "none",
    "a little": "slight", "a little bit": "slight", "a bit": "slight", "slight": "slight", "slightly": "slight",
    "somewhat": "slight", "mild": "slight", "mildly": "slight", "minor": "slight", "weak": "slight", "low": "slight",
    "light": "slight", "lightly": "slight", "barely": "slight", "hardly": "slight", "marginal": "slight",
    "marginally": "slight", "not very": "slight", "not much": "slight", "just noticeable": "slight",
    "moderate": "moderate", "moderately": "moderate", "medium": "moderate", "fairly": "moderate", "some": "moderate",
    "rather": "moderate", "quite": "moderate", "partly": "moderate", "partially": "moderate", "average": "moderate",
    "very": "severe", "severe": "severe", "severely": "severe", "heavy": "severe", "heavily": "severe",
    "strong": "severe", "strongly": "severe", "high": "severe", "highly": "severe", "a lot": "severe",
    "much": "severe", "serious": "severe", "seriously": "severe", "badly": "severe", "too": "severe", "so": "severe",
    "really": "severe", "obvious": "severe", "clearly": "severe", "very much": "severe", "noticeably": "severe",
    "extreme": "extreme", "extremely": "extreme", "completely": "extreme", "totally": "extreme", "fully": "extreme",
    "entirely": "extreme", "unrecognizable": "extreme", "very severe": "extreme", "very severely": "extreme",
    "very strong": "extreme", "very high": "extreme", "very heavy": "extreme", "absolutely": "extreme",
}  # fmt: skip
_LONGEST_DEGREE = max(len(words.split()) for words in _DEGREES)

_SIDES = {
    "both": "both", "both of them": "both", "equal": "same", "equally": "same", "the same": "same", "same": "same",
    "no difference": "same", "identical": "same", "neither": "neither", "neither of them": "neither",
    "first": "first", "the first": "first", "the first one": "first", "the first image": "first", "image 1": "first",
    "image one": "first", "second": "second", "the second": "second", "the second one": "second",
    "the second image": "second", "image 2": "second", "image two": "second", "better": "better", "worse": "worse",
    "the reference": "reference", "reference": "reference", "the original": "reference", "original": "reference",
    "similar": "same", "the test image": "test", "the distorted image": "test", "none of them": "neither",
}  # fmt: skip
_JUST_RIGHT = word_set("just_right neutral appropriate balanced suitable proper natural well_balanced about_right")
_COMPARATIVE = re.compile(r"\b(?:more|less|better|worse|than)\b")


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
    if given:
        texts = lettered([text for text in given if text.strip()][:26])
        return question_without_options(query), texts
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
    """Each option with its claim."""
    return tuple(Option(letter, text, claim_of(text)) for letter, text in texts.items())


def claim_of(text: str) -> Claim:
    """What an option claims.

    >>> claim_of("Motion blur").distortion, claim_of("Slightly noisy").degree, claim_of("Acceptable").level
    ('motion blur', 'slight', 3)
    >>> claim_of("the upper left corner").region.position, claim_of("A lonely traveller").kind
    ('top left', 'nothing')
    """
    items = [item for item in tagged(text) if item.tag != "mark"]
    words = " ".join(item.plain for item in items)
    if words in _FIXED:
        return _FIXED[words]
    term = next((item.term for item in items if item.term), None)
    if term:
        return _distortion_claim(words, items, term)
    if _COMPARATIVE.search(words):
        return Claim("comparison", side=_side(words))
    return _plain_claim(items, words)


def _fixed_claims() -> dict[str, Claim]:
    """Options of a few fixed words; where lists share a word, the later line wins."""
    claims = {words: Claim("degree", degree=degree) for words, degree in _DEGREES.items()}
    claims |= {words: Claim("comparison", side=side) for words, side in _SIDES.items()}
    claims |= {words: Claim("level", level=level) for words, level in _LEVELS.items()}
    claims |= {f"{words} quality": claim for words, claim in claims.items() if claim.kind == "level"}
    claims |= {words: Claim("degree", degree="none") for words in _JUST_RIGHT}
    return claims | {words: Claim("no") for words in _NO} | {words: Claim("yes") for words in _YES}


def _distortion_claim(words: str, items: Sequence[Item], term: DistortionTerm) -> Claim:
    lead = " ".join(item.plain for item in items if not item.term)
    degree = _degree_in(lead)
    if degree is None and (words.startswith("too ") or " too " in words):
        degree = "severe"
    negated = any(item.tag == "negation" for item in items) or degree == "none"
    where = mentions(items)
    return Claim(
        "distortion",
        category=term.category,
        distortion=term.kind,
        polarity=term.polarity,
        negated=negated,
        degree=None if negated and degree == "none" else degree,
        region=where[0].object if where else None,
        side=_side(words) if _COMPARATIVE.search(words) else None,
    )


def _degree_in(words: str) -> str | None:
    parts = words.split()
    for length in range(_LONGEST_DEGREE, 0, -1):
        for at in range(len(parts) - length + 1):
            degree = _DEGREES.get(" ".join(parts[at : at + length]))
            if degree:
                return degree
    return None


def _side(words: str) -> str:
    if re.search(r"\bless\b|\bworse\b", words):
        return "less" if "less" in words else "worse"
    return "better" if "better" in words else "more"


def _plain_claim(items: Sequence[Item], words: str) -> Claim:
    where = mentions(items) or mentions(tagged(f"the {words}"))
    listed = [m.object for m in where if m.object.position or _has_listed_noun(items, m.start, m.end)]
    if listed or (where and items[0].tag in ("determiner", "tie")):
        return Claim("region", region=(listed or [where[0].object])[0])
    degree = canonical_severity(plain_spelling(words)) or _degree_in(words)
    return Claim("degree", degree=degree) if degree and len(words.split()) <= 4 else Claim("nothing")


def _has_listed_noun(items: Sequence[Item], start: int, end: int) -> bool:
    return any(item.tag in ("noun", "position") for item in items[start:end])


_FIXED = _fixed_claims()
