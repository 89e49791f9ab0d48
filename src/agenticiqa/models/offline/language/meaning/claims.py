"""What an option claims that lies on no axis: a place, a part, another property, a value, or that nothing is there."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agenticiqa.models.offline.language.meaning.amounts import Asked, beside, says_unknown
from agenticiqa.models.offline.language.meaning.properties import GENERAL, Property, Sense, senses
from agenticiqa.models.offline.language.meaning.scales import SMALL_WORDS, degree_words, share_claimed, toward, words_in
from agenticiqa.models.offline.language.positions import position_of
from agenticiqa.models.offline.language.tokens import base_forms, singular_forms
from agenticiqa.models.offline.language.word_lists import word_set

_LONGEST_PLACE = 6
# Names of scales and weaker words claim a property only where it is asked about.
_STRONG = 0.8
_NEITHER = word_set("none neither nothing nowhere nobody")
_ANYWHERE = word_set("part area region side corner place one")
_ALIKE = word_set("same equal equally identical difference alike")
_NOT_A_SIDE = re.compile(r"\b(?:not|about|just|quite|all) right\b")
_UPRIGHT = {"up": "top", "down": "bottom", "back": "background"}


def claim_of_option(asked: Asked | None, text: str, *, of_place: bool = False, of_part: bool = False) -> str | None:
    """The claim by its name: none, all, both, same, not_present, unknown, a value, a place, a property, or the words.

    ``of_place`` where the question asks where: then "flat areas" are areas, not a word about contrast. ``of_part``
    where it compares parts: "the cup is sharper" names the cup.

    >>> [claim_of_option(None, text) for text in ("Nothing at all", "Bottom left", "Motion blur", "The old boat")]
    ['none', 'bottom left', 'motion_blurred', 'old boat']
    """
    words = words_in(text)
    if says_unknown(text):
        return "unknown"
    if asked and asked.property.has_scale and asked.property.degrees.get(" ".join(words)) == 0:
        # "Neutral" beside "too warm" and "too cool".
        return "none"
    return (
        (beside(asked, text) if asked else None)
        or _side(words)
        or (_part(asked, words) if asked and of_part else None)
        or (_value(asked.property, words, of_place=of_place) if asked else None)
        or _place(words)
        or (None if of_place else claimed_property(text))
        or " ".join([word for word in words if word not in SMALL_WORDS] or words)
        or None
    )


def claimed_property(text: str) -> str | None:
    sense = claimed_sense(text)
    return sense.property if sense else None


def claimed_sense(text: str) -> Sense | None:
    """The strongest word of an option that speaks of a property."""
    found = [sense for sense in senses(words_in(text)) if sense.weight >= _STRONG]
    return max(found, key=lambda sense: (sense.weight, -sense.start), default=None)


def claim_with_amount(text: str) -> tuple[str, float] | None:
    """The property that an option speaks of by itself, and how much of it.

    >>> claim_with_amount("underexposed"), claim_with_amount("sharp")[0], claim_with_amount("the boat")
    (('underexposed', 0.92), 'sharp', None)
    """
    sense = claimed_sense(text)
    if sense is None:
        return None
    words = words_in(text)
    return sense.property, toward(sense.end or 1, share_claimed(words, sense.start, sense.others(words)))


def value_of(asked: Property, text: str) -> str | None:
    """The value of a property that an option names: "screenshot" of the kind of picture."""
    found = _value_words(asked, words_in(text))
    return asked.values[found] if found else None


def value_said_last(asked: Property, words: Sequence[str]) -> str | None:
    """Of "Is this photo a painting?" the painting: what stands last is claimed, what stands first is spoken of."""
    forms = [base_forms(word) for word in words]
    found = [
        (stop, stop - start, value)
        for text, value in asked.values.items()
        for start in range(len(forms))
        for stop in [start + len(text.split())]
        if stop <= len(forms) and _contains(forms[start:stop], text.split())
    ]
    return max(found)[2] if found else None


def _side(words: Sequence[str]) -> str | None:
    said = " ".join(words)
    if _NEITHER & set(words) or list(words[:2]) == ["no", "problem"] or said in ("it has not any", "there are none"):
        return "none"
    if set(words[:1]) & {"both", "all", "everywhere"} or said.endswith("all of them"):
        return "both" if words[0] == "both" else "all"
    if degree_words().get(said) == 0 or (words[:1] == ("no",) and set(words[1:]) <= _ANYWHERE):
        return "none"
    if _ALIKE & set(words):
        return "same"
    kept = [word for word in words if word not in SMALL_WORDS]
    return "none" if kept[:1] in (["no"], ["not"], ["without"]) and senses(words) else None


def _value(asked: Property, words: Sequence[str], *, of_place: bool) -> str | None:
    found = _value_words(asked, words)
    if found is None:
        return None
    kept = [word for word in words if word not in SMALL_WORDS]
    # "The colours" are what is wrong; "faded colours" say it themselves.
    if asked.weight < GENERAL and len(kept) > len(found.split()):
        return None
    longer = any(len(s) > len(found.split()) and s.property != asked.name for s in senses(words) if s.weight >= _STRONG)
    return None if longer and not of_place else asked.values[found]


def _value_words(asked: Property, words: Sequence[str]) -> str | None:
    forms = [base_forms(word) for word in words]
    named = (text for text in asked.values if _contains(forms, text.split()))
    return max(named, key=lambda text: len(text.split()), default=None)


def _contains(forms: Sequence[tuple[str, ...]], wanted: Sequence[str]) -> bool:
    return any(
        all(word in forms[at + i] for i, word in enumerate(wanted)) for at in range(len(forms) - len(wanted) + 1)
    )


def _part(asked: Asked, words: Sequence[str]) -> str | None:
    said = {form for word in words for form in base_forms(word)}
    named = [part.name for part in asked.parts if part.noun in said or set(part.name.split()) <= said]
    return named[0] if len(named) == 1 else None


def _place(words: Sequence[str]) -> str | None:
    if len(words) > _LONGEST_PLACE or _NOT_A_SIDE.search(" ".join(words)):
        return None
    return position_of(form for word in words for form in singular_forms(_UPRIGHT.get(word, word)))
