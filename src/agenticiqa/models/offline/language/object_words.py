"""Which kinds of objects a word of a question means, of the eighty that the detector knows (those of COCO)."""

from __future__ import annotations

from collections.abc import Iterable

from agenticiqa._data import listed
from agenticiqa.models.offline.language.noun_phrases import ScopeObject
from agenticiqa.models.offline.language.word_lists import vocabulary
from agenticiqa.vision.object_labels import LABELS

_BY_WORD: dict[str, frozenset[str]] = {label: frozenset({label}) for label in LABELS.values()}
for _group in vocabulary("objects"):
    _BY_WORD.update(dict.fromkeys(listed(_group["words"]), frozenset(listed(_group["labels"]))))


def labels_meant(item: ScopeObject) -> frozenset[str]:
    """The labels that fit what a question names; none where the detector knows nothing of the kind.

    >>> labels_meant(ScopeObject("red vehicle", "vehicle", ("red",))) == {"car", "bus", "truck", "motorcycle", "train"}
    True
    >>> labels_meant(ScopeObject("traffic light", "light", ("traffic",))), labels_meant(ScopeObject("light", "light"))
    (frozenset({'traffic light'}), frozenset())
    """
    if item.is_region:
        return frozenset()
    noun = item.noun.casefold()
    pairs = (f"{modifier.casefold()} {noun}" for modifier in item.modifiers)
    return _first(_BY_WORD.get(words) for words in (*pairs, noun))


def _first(found: Iterable[frozenset[str] | None]) -> frozenset[str]:
    return next((labels for labels in found if labels), frozenset())
