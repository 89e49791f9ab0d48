"""What a phrase says of how a part looks: "the red flowers", "the bright window"."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, cast

from agenticiqa._data import by_word, listed
from agenticiqa.models.offline.language.noun_phrases import ScopeObject
from agenticiqa.models.offline.language.word_lists import vocabulary
from agenticiqa.vision.appearance.segments import Appearance, Light, Where
from agenticiqa.vocabulary import plain_spelling


@cache
def _words(group: str) -> dict[str, str]:
    return {plain_spelling(word): name for word, name in by_word(vocabulary("appearances")[group]).items()}


def look_meant(item: ScopeObject) -> Appearance:
    """By the words of the phrase first, by the usual look of the thing where they say nothing.

    >>> look_meant(ScopeObject("red flowers", "flower", ("red",))).colours
    frozenset({'red'})
    >>> look_meant(ScopeObject("grass", "grass")).words
    'green'
    """
    said = [plain_spelling(word) for word in (*re.findall(r"\w+", item.name), *item.modifiers, *item.looks)]
    colours = frozenset(_words("colours")[word] for word in said if word in _words("colours"))
    light = next((_words("light")[word] for word in said if word in _words("light")), None)
    usual: dict[str, Any] = vocabulary("appearances")["things"].get(plain_spelling(item.noun), {})
    if not colours and light is None:
        colours, light = frozenset(listed(usual["colours"])) if "colours" in usual else colours, usual.get("light")
    return Appearance(colours, cast("Light | None", light), cast("Where | None", usual.get("where")))
