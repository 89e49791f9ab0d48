"""A question becomes a typed meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from agenticiqa.models.offline.language.meaning.amounts import Asked, amounts
from agenticiqa.models.offline.language.meaning.asking import AskedText
from agenticiqa.models.offline.language.meaning.claims import claim_of_option, claim_with_amount, value_said_last
from agenticiqa.models.offline.language.meaning.direction import (
    Joined,
    Statement,
    asks_excess,
    end_named,
    polarity_of_yes,
    statements,
)
from agenticiqa.models.offline.language.meaning.forms import AnswerForm, form_asked
from agenticiqa.models.offline.language.meaning.parts import parts_asked
from agenticiqa.models.offline.language.meaning.properties import Property, properties
from agenticiqa.models.offline.language.meaning.scales import words_in
from agenticiqa.models.offline.language.meaning.subject import praised_thing, property_asked
from agenticiqa.models.offline.language.noun_phrases import ScopeObject
from agenticiqa.models.offline.language.tagging import Item
from agenticiqa.models.offline.language.tokens import base_forms

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
    asked = Asked(known, polarity, end, said.asking, parts, asks_excess(said, known)) if known else None
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


def _option(letter: str, text: str, asked: Asked | None, amount: float | None, form: AnswerForm) -> OptionMeaning:
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
