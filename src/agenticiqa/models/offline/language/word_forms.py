"""What a word may be a form of: plurals, comparatives, participles and adverbs by rule."""

from __future__ import annotations

from functools import lru_cache

from agenticiqa.models.offline.language.tokens import singular_forms
from agenticiqa.models.offline.language.word_lists import word_set

_SHORTEST_STEM = 3
_ENDINGS = ("ing", "ed", "er", "est", "ly", "d", "r", "st")
_IRREGULAR = {
    "blown": "blow", "blew": "blow", "burnt": "burn", "drawn": "draw", "drew": "draw", "frozen": "freeze",
    "froze": "freeze", "lost": "lose", "losing": "lose", "gone": "go", "went": "go", "kept": "keep", "held": "hold",
    "stood": "stand", "stuck": "stick", "shook": "shake", "shaken": "shake", "caught": "catch", "ran": "run",
    "hid": "hide", "hidden": "hide", "saw": "see", "seen": "see", "sank": "sink", "sunk": "sink", "hit": "hit",
    "better": "good", "best": "good", "worse": "bad", "worst": "bad", "lit": "lit", "fell": "fall", "fallen": "fall",
    "made": "make", "got": "get", "came": "come", "left": "left", "drowned": "drown", "swallowed": "swallow",
}  # fmt: skip


# "Really" says nothing of reality.
_NO_FORMS = word_set("really hardly barely only early ever never other rather under over")


@lru_cache(maxsize=8192)
def base_forms(word: str) -> tuple[str, ...]:
    """The word itself first, then what it may come from.

    >>> base_forms("sharpest"), base_forms("tilted")[1], "clip" in base_forms("clipped")
    (('sharpest', 'sharp', 'sharpe'), 'tilt', True)
    """
    if word in _NO_FORMS:
        return (word,)
    forms = list(singular_forms(word))
    if word in _IRREGULAR:
        forms.append(_IRREGULAR[word])
    for form in tuple(forms):
        for ending in _ENDINGS:
            stem = form.removesuffix(ending)
            if stem != form and len(stem) >= _SHORTEST_STEM:
                forms += _stems(stem, ending)
    return tuple(dict.fromkeys(forms))


def _stems(stem: str, ending: str) -> list[str]:
    if ending in ("d", "r", "st"):
        return [stem] if stem.endswith("e") else []
    found = [stem]
    if stem.endswith("i"):
        found.append(stem[:-1] + "y")
    if len(stem) > _SHORTEST_STEM and stem[-1] == stem[-2]:
        found.append(stem[:-1])
    return [*found, stem + "e"] if ending != "ly" else found
