"""The form of a question as the rest of the embedded backend words it, from what the question means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from agenticiqa.models.offline.language.meaning.reader import Meaning
from agenticiqa.models.offline.language.tagging import Item
from agenticiqa.models.offline.language.word_lists import word_set

Form = Literal["rating", "yes-no", "which-of-options", "degree", "what", "why", "where", "compare", "describe"]

_DESCRIBE = word_set("rank describe explain list name identify mention summarize discuss analyze analyse comment")


def form_of(meaning: Meaning, items: Sequence[Item]) -> Form:
    """The form in these words.

    >>> from agenticiqa.models.offline.language.meaning.reader import meaning_of
    >>> from agenticiqa.models.offline.language.tagging import tagged
    >>> form_of(meaning_of("How noisy is the sky?", {}), tagged("How noisy is the sky?"))
    'degree'
    """
    words = [item.plain for item in items]
    if meaning.form == "yes_no":
        return "yes-no"
    if meaning.property == "quality" and not meaning.options:
        return "rating"
    if meaning.form in ("where", "compare", "degree", "rating"):
        return meaning.form
    if meaning.options:
        return "which-of-options"
    if "why" in words[:2]:
        return "why"
    return "describe" if _DESCRIBE & set(words[:4]) else "what"
