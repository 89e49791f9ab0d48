"""Which parts of the picture a question is asked of."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from agenticiqa.models.offline.language.meaning.asking import AskedText
from agenticiqa.models.offline.language.meaning.properties import HINT, Property, Sense
from agenticiqa.models.offline.language.noun_phrases import Mention, ScopeObject, mentions
from agenticiqa.models.offline.language.word_lists import word_set

_PICTURES = word_set(
    "image picture photo photograph shot pic snapshot frame scan print painting drawing portrait poster"
)
_CAUSING = word_set("from for by through like via")
_JOINING = word_set("and or vs versus than but nor as , with while whereas compared_with compared_to")
UNITS = word_set("star point percent mark")
_TOOLS = word_set("metric metrics index tool algorithm")
_IMAGINING = word_set("would could might will")
_PRONOUNS = word_set("it they them")
_TONAL = word_set("highlights shadows midtones")
_OF_A_NAME = ("determiner", "adjective", "noun", "unknown", "number")


def parts_asked(text: AskedText, asked: Property | None) -> tuple[ScopeObject, ...]:
    """Things in the clause that asks; several only where the sentence puts them side by side."""
    spoken = _spoken_of(text, asked)
    found = _named(text, spoken | _causes(text)) or _named(text, spoken)
    rated = asked is not None and asked.name == "quality"
    found = [m for m in found if not _is_no_part(text, m) and not (rated and m.object.noun in UNITS)]
    offered = _offered_pair(text, found)
    if offered:
        return tuple(mention.object for mention in offered)
    near = [mention for mention in found if _in_clause_of_property(text, mention)] or found
    meant = _side_by_side(text, near or _meant_by_pronoun(text, spoken))
    return tuple(mention.object for mention in meant) or _tonal_part(text)


def things_named(text: AskedText, asked: Property) -> set[str]:
    """The heads of all names in the asking part."""
    return {mention.object.noun for mention in _named(text, _spoken_of(text, asked))}


def _named(text: AskedText, beside: set[int]) -> list[Mention]:
    return [mention for mention in mentions(text.items, beside) if text.start <= mention.start < text.stop]


def _spoken_of(text: AskedText, asked: Property | None) -> set[int]:
    """The words that speak of properties, and so name no thing."""
    return {
        text.item_of[token]
        for sense in text.senses
        if sense.weight > HINT and (text.standing(sense) == 1 or (asked and sense.property == asked.name))
        for token in range(sense.start, sense.stop)
        if not _may_be_thing(text, sense, text.item_of[token]) or (asked and not asked.has_scale)
    }


def _may_be_thing(text: AskedText, sense: Sense, at: int) -> bool:
    """ "the horizon" and "detail in the shadows" name a thing though they speak of a property."""
    item = text.items[at]
    determined = at > 0 and text.items[at - 1].tag == "determiner"
    listed = item.tag == "noun" or (item.tag == "position" and item.base != "side")
    return listed and (not sense.is_name if len(sense) == 1 else determined)


def _causes(text: AskedText) -> set[int]:
    """ "a tinge from the tubes", "for a magazine": where something comes from or what it is for."""
    found: set[int] = set()
    for at, item in enumerate(text.items):
        place = at + 1
        while item.plain in _CAUSING and place < len(text.items) and text.items[place].tag in _OF_A_NAME:
            found.add(place)
            place += 1
    return found


def _is_no_part(text: AskedText, mention: Mention) -> bool:
    """ "this painting", the kind of thing asked for ("in which city"), or who would judge ("would a painter …")."""
    before = text.items[mention.start - 1].plain if mention.start else ""
    if mention.end < len(text.items) and text.items[mention.end].plain in _TOOLS:
        return True
    if before in ("a", "an") and mention.start > 1 and text.items[mention.start - 2].plain in _IMAGINING:
        return True
    return before in ("which", "what") or (before == "this" and mention.object.noun in _PICTURES)


def _offered_pair(text: AskedText, found: Sequence[Mention]) -> Sequence[Mention]:
    """ "Which half is lighter, the top or the bottom?" is about the last two."""
    for left, right in pairwise(found):
        if "which" in text.plain and "or" in _between(text, left, right):
            return left, right
    return ()


def _in_clause_of_property(text: AskedText, mention: Mention) -> bool:
    places = [text.item_of[sense.start] for sense in text.senses if sense.weight > HINT and text.is_asked(sense)]
    for place in places:
        between = text.items[min(place, mention.start) : max(place, mention.end)]
        if not any(item.tag == "mark" and item.plain in ",;:." for item in between):
            return True
    return not places


def _meant_by_pronoun(text: AskedText, spoken: set[int]) -> list[Mention]:
    """ "Nothing to see in the doorway. Is it too dark?": it is the doorway, unless the picture was spoken of."""
    before = text.items[: text.start]
    picture = any(item.base in _PICTURES or item.plain in ("this", "these", "i", "my") for item in before)
    return [] if picture or not _PRONOUNS & set(text.plain) else mentions(before, spoken)[-1:]


def _side_by_side(text: AskedText, found: Sequence[Mention]) -> list[Mention]:
    kept = list(found[:1])
    for mention in found[1:]:
        between = _between(text, kept[-1], mention)
        if _JOINING & set(between) or (between and set(between) <= {",", "the", "a"}):
            kept.append(mention)
    return kept


def _between(text: AskedText, left: Mention, right: Mention) -> list[str]:
    return [item.plain for item in text.items[left.end : right.start]]


def _tonal_part(text: AskedText) -> tuple[ScopeObject, ...]:
    """ "the highlights" and "the shadows" are parts of a picture as well as words for its light."""
    for before, word in pairwise(text.words):
        if before == "the" and word in _TONAL:
            return (ScopeObject(word, word.removesuffix("s")),)
    return ()
