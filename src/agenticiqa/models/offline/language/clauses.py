"""What belongs together in a sentence: which words a negation denies, which distortion belongs to which object."""

from __future__ import annotations

from collections.abc import Sequence

from agenticiqa.models.offline.language.noun_phrases import Mention
from agenticiqa.models.offline.language.tagging import Item

# A negation reaches this many items ahead within its clause: "is not, at least to me, really very sharp" is too far.
_NEGATION_REACH = 8


def negated(items: Sequence[Item], at: int) -> bool:
    """Whether a word in the same clause, shortly before, denies the item."""
    for back in range(at - 1, max(-1, at - 1 - _NEGATION_REACH), -1):
        item = items[back]
        if item.ends_clause or item.plain in ("but", "while"):
            return False
        if item.tag == "negation" and not _asks_for_yes(items, back):
            return not _other_term_between(items, back, at)
        if item.plain == "of" and back and items[back - 1].plain in ("clear", "free", "lack", "absence", "devoid"):
            return True
    return False


def _asks_for_yes(items: Sequence[Item], at: int) -> bool:
    """The "not" of "Isn't it noisy?"; that of "Don't use it" forbids."""
    if at + 1 < len(items) and items[at + 1].tag == "verb":
        return False
    opening = at <= 1 or items[at - 2].ends_clause or items[at - 2].tag in ("conjunction", "degree")
    return items[at].tokens[0].contracted and opening


def _other_term_between(items: Sequence[Item], start: int, end: int) -> bool:
    """ "no noise and sharp": the negation belongs to the first; "neither blurred nor noisy" names it again.

    A tool is refused only directly: "not sharp according to SSIM" wants it.
    """
    between = items[start + 1 : end]
    parted = items[end].tag == "tool" or any(item.plain == "and" for item in between)
    return parted and any(item.term for item in between)


def objects_by_distortion(
    items: Sequence[Item], spots: Sequence[int], found: Sequence[Mention]
) -> dict[int, tuple[str, ...]]:
    """Per distortion the objects of its clause, if every clause with an object has a distortion of its own.

    "Is the sky noisy and the bridge blurry?" tells them apart; "Are the sky and the bridge blurry?" does not.
    """
    if len(found) < 2 or len(spots) < 2:
        return {}
    clause = _clauses(items)
    objects: dict[int, list[str]] = {}
    for mention in found:
        objects.setdefault(clause[mention.start], []).append(mention.object.name)
    with_terms = {clause[at] for at in spots}
    if len(objects) < 2 or set(objects) != with_terms:
        return {}
    return {at: tuple(objects[clause[at]]) for at in spots}


def _clauses(items: Sequence[Item]) -> list[int]:
    number, numbers = 0, []
    for item in items:
        if item.ends_clause or item.plain in ("and", "but", "while", "whereas", "yet"):
            number += 1
        numbers.append(number)
    return numbers
