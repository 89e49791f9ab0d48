"""Which end of a property a question names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from agenticiqa.embedded.language.meaning.amounts import denials
from agenticiqa.embedded.language.meaning.claims import AskedText
from agenticiqa.embedded.language.meaning.properties import GENERAL, Property, Sense, properties
from agenticiqa.embedded.language.phrases import ScopeObject, negated
from agenticiqa.embedded.language.tagging import Item
from agenticiqa.embedded.language.words import base_forms, word_list, word_set

# --- Which end of a property a question names ---


_ASKING_BACK = word_set("is are was were do does did has have can could would will")
_TAG_PRONOUNS = word_set("it they there he she this that")
_SHORTEST_WITH_TAG = 5
_NOT_WANTED = re.compile(r"\bnot (?:want|like|need|mind|know|care)\b")
_GONE = word_set("gone removed eliminated cured vanished disappeared")
_LESS = (["less", "than"], ["far", "from"], ["anything", "but"])
_PLAIN_CLAIM = 0.8
_FROM = frozenset({"from", "due to", "because of", "caused by", "owing to", "thanks to", "by"})

Joined = Literal["and", "or"]


@dataclass(frozen=True)
class Statement:
    """One of the things that a yes would claim: much (1) or little (-1) of a property."""

    property: str
    polarity: int
    parts: tuple[str, ...] = ()
    """The parts of its own clause: "the sky noisy and the bridge blurry"; none where it is said of all alike."""
    denied: bool = False
    """Said by denying the other end: "not sharp" claims less than "blurry" does where there is a middle."""

    def end(self) -> int:
        """The end that the words name, affirmed or denied."""
        return -self.polarity if self.denied else self.polarity


def end_named(text: AskedText, asked: Property) -> int:
    """The end of the axis that the words of the question name, whether they affirm or deny it."""
    sense = text.decisive(asked)
    if sense:
        return sense.end
    named = [sense for sense in text.senses_of(asked) if sense.is_name]
    if asked.good == "little" and any(_is_cause(text, sense) for sense in named):
        return 1
    said = _said_of_scale(text, asked, named) if named and asked.has_scale else None
    if said is not None:
        return said
    if named or asked.between:
        return named[0].end or 1 if named else 1
    implied = [
        1 if asked.implied_by[sense.property] == 1 else -1
        for sense in text.senses
        if sense.end >= 0 and asked.implied_by.get(sense.property) in (0, 1)
    ]
    return implied[0] if implied else 1


def polarity_of_yes(text: AskedText, asked: Property, end: int) -> int:
    """The end that a yes claims."""
    if asked.name == "flaw" and _wants_absent(text):
        return -1
    sense = text.decisive(asked) or next(iter(text.senses_of(asked)), None)
    return -end if sense and is_denied(text, sense) else end


def asks_excess(text: AskedText, asked: Property) -> bool:
    """ "Are the colours too intense?" asks whether there is more of it than people want."""
    sense = text.decisive(asked)
    return sense is not None and "too" in (text.words[sense.start], *text.words[max(0, sense.start - 1) : sense.start])


def statements(
    text: AskedText, asked: Property, polarity: int, parts: Sequence[ScopeObject], *, denied: bool = False
) -> tuple[tuple[Statement, ...], Joined | None]:
    """All that a two-part question claims, and how its parts are joined: "Is it sharp but noisy?"."""
    claims = [
        sense
        for sense in text.senses
        if text.is_asked(sense) and sense.end and sense.weight >= _PLAIN_CLAIM and text.standing(sense) == 1
        and properties()[sense.property].weight >= GENERAL
    ]  # fmt: skip
    if len({sense.property for sense in claims}) < 2 or asked.name not in {sense.property for sense in claims}:
        return (Statement(asked.name, polarity, denied=denied),), None
    between = [
        {item.plain for item in text.items[text.item_of[left.stop - 1] : text.item_of[right.start]]}
        for left, right in pairwise(claims)
    ]
    if not all(words & {"and", "but", "or", "nor", "yet", ",", "while", "whereas"} for words in between):
        return (Statement(asked.name, polarity, denied=denied),), None
    said: dict[str, Statement] = {}
    for sense in claims:
        refused = denied if sense.property == asked.name else is_denied(text, sense)
        own = polarity if sense.property == asked.name else -sense.end if refused else sense.end
        said.setdefault(sense.property, Statement(sense.property, own, _parts_of_clause(text, sense, parts), refused))
    joined: Joined = "or" if any("or" in words for words in between) else "and"
    return tuple(said.values()), joined


def _parts_of_clause(text: AskedText, sense: Sense, parts: Sequence[ScopeObject]) -> tuple[str, ...]:
    at = text.item_of[sense.start]
    start, stop = at, at
    while start > text.start and not _ends_clause(text.items[start - 1]):
        start -= 1
    while stop < text.stop and not _ends_clause(text.items[stop]):
        stop += 1
    said = f" {' '.join(token.text.lower() for item in text.items[start:stop] for token in item.tokens)} "
    return tuple(part.name for part in parts if f" {part.name} " in said) if len(parts) > 1 else ()


def _ends_clause(item: Item) -> bool:
    return item.ends_clause or item.plain in ("and", "but", "while", "whereas", "yet", "or", "nor")


def is_denied(text: AskedText, sense: Sense) -> bool:
    """Whether the question says that it is not so; "isn't it?" only asks."""
    at = text.item_of[sense.start]
    before = [item.plain for item in text.items[max(0, at - 4) : at]]
    if before[-1:] == ["less"] or before[-2:] in _LESS or {"fail", "fails"} & set(before):
        return True
    if _NOT_WANTED.search(" ".join(before)):
        return False
    if not sense.is_name and _GONE & {item.plain for item in text.items[at + 1 : at + 4]}:
        return True
    return (negated(text.items, at) or _denied_behind(text, sense)) and not _asks_back(text)


def _only_says_where(text: AskedText, at: int) -> bool:
    """ "the lower half", "the low-light area": what tells which part is meant says nothing of the scale."""
    tag = text.items[at].tag
    return tag in ("position", "generic") or (at in text.inside_names and tag == "distortion")


def _is_cause(text: AskedText, sense: Sense) -> bool:
    """ "suffer from flare", "details lost due to noise": what does harm is there."""
    before = [item.plain for item in text.items[: text.item_of[sense.start]]][-3:]
    return bool(_FROM & set(before)) and "free" not in before


def _said_of_scale(text: AskedText, asked: Property, named: Sequence[Sense]) -> int | None:
    """ "Is the contrast low?", "Is the noise acceptable?": the word beside the scale decides."""
    if text.plain[:1] == ["how"] and not {"bad", "badly", "poor", "poorly"} & set(text.plain[1:2]):
        return None
    taken = {at for sense in named for at in range(sense.start, sense.stop)}
    beside = [
        word
        for at, word in enumerate(text.words)
        if at not in taken
        and text.start <= text.item_of[at] < text.stop
        and not _only_says_where(text, text.item_of[at])
    ]
    pairs = {" ".join(pair) for pair in pairwise(beside)}
    said = {form for word in beside for form in base_forms(word)} | pairs
    lowering, raising = (bool(said & word_list("options", key)) for key in ("lowering", "raising"))
    if lowering and raising and "or" in text.plain:
        return None
    much = next((sense.end for sense in named if sense.end), 1)
    good = -1 if asked.good == "little" else 1
    for key, end in (("lowering", -much), ("disapproving", -good), ("approving", good), ("raising", much)):
        if said & word_list("options", key):
            return end
    return None


def _denied_behind(text: AskedText, sense: Sense) -> bool:
    """ "Is the exposure not right?": the denial stands behind the name of the scale."""
    if not sense.is_name:
        return False
    after = text.items[text.item_of[sense.start] + 1 : text.stop]
    return any(item.plain == "not" and not item.tokens[0].contracted for item in after)


def _asks_back(text: AskedText) -> bool:
    """ "It isn't blurred, is it?" asks whether it is."""
    tail = text.plain[-2:]
    tag = len(tail) == 2 and tail[0] in _ASKING_BACK and tail[1] in _TAG_PRONOUNS
    return tag and len(text.plain) >= _SHORTEST_WITH_TAG and bool(denials(text.plain))


def _wants_absent(text: AskedText) -> bool:
    return bool({"which", "what", "following", "all", "name"} & set(text.plain)) and text.says("absent")
