"""A question in a thread: what it leaves open is what was asked before it.

The reader tells a follow-up from a complete question, and which property and part it names. Which of the few bare ones
it is ("why?", "are you sure?") stands here by hand: they hold nothing that could be read.
"""

import re
from dataclasses import replace
from typing import Any

from agenticiqa.embedded.question import ParsedQuestion

_PICTURE = re.compile(r"\b(?:picture|photo|photograph|image|pic|shot)\b", re.I)
_CHOOSES_PART = ("where", "compare")
_KEEPS_FORM = (*_CHOOSES_PART, "rate", "why", "how_to_fix")


def in_thread(now: ParsedQuestion, before: ParsedQuestion | None) -> ParsedQuestion:
    """The question with what it leaves open taken from the one before; a complete one as it is.

    >>> from agenticiqa.embedded.question import understand
    >>> found = in_thread(understand("and the background?"), understand("Is the car blurry?")).meaning
    >>> found.property, found.form, [part.name for part in found.parts]
    ('sharp', 'yes_no', ['background'])
    """
    if before is None or now.meaning.options:
        return now
    meaning, known = now.meaning, now.meaning.known()
    whole = not known or not known.is_general or meaning.parts or _PICTURE.search(meaning.text)
    if meaning.form == "how_to_fix" and not whole:
        # What was asked about before; where that was all of the picture, its flaws.
        named = before.meaning.known()
        name = named.name if named and not named.is_general else meaning.property
        return replace(now, meaning=replace(meaning, property=name, parts=before.meaning.parts, follows="fix"))
    unread_why = meaning.form == "why" and meaning.is_unsure and not meaning.parts
    if unread_why or (meaning.form == "follow_up" and meaning.property is None):
        return _what_is_asked(now, before)
    if meaning.form == "follow_up":
        form = before.meaning.form if before.meaning.form in _KEEPS_FORM else "degree"
        return replace(now, meaning=replace(meaning, form=form, parts=meaning.parts or before.meaning.parts))
    return now


def _what_is_asked(now: ParsedQuestion, before: ParsedQuestion) -> ParsedQuestion:
    """Of a question that names no property: the one before, of another part or in another form."""
    meaning, earlier = now.meaning, before.meaning
    changes: dict[str, Any] | None = next((asks for words, asks in _BARE if re.search(words, meaning.text, re.I)), None)
    if meaning.parts:
        # With one part there is nothing to compare.
        chooses = earlier.form in _CHOOSES_PART or earlier.compares
        changes = {"parts": meaning.parts, **({"form": "degree", "options": ()} if chooses else {})}
    if changes is None:
        return replace(now, meaning=replace(meaning, follows="unclear"))
    return replace(before, meaning=replace(earlier, **{"follows": None, **changes}))


_BARE: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        r"\b(?:why|how (?:come|so)|explain|reasons?|how (?:can|do|did|could) you|what (?:makes|made) you|"
        r"what do you mean|tell me more|details?)\b",
        {"follows": "why"},
    ),
    (
        r"\b(?:sure|certain|really|seriously|confident|positive|right|correct|true|double[ -]?check|check again)\b",
        {"follows": "sure"},
    ),
    (r"\bwhere\b", {"form": "where", "options": ()}),
    (r"\bhow (?:much|strong|strongly|bad|badly)\b", {"form": "degree", "options": ()}),
    (r"\belse\b", {"property": "flaw", "form": "what_is_wrong", "end": 1, "options": ()}),
)
"""What the bare ones change of the question before."""
