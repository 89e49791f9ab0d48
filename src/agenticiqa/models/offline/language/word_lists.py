"""Word lists are written as text and split here, so that they stay readable."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """Words between blanks; an underscore stands for the blank inside a phrase.

    >>> sorted(word_set("sky traffic_light"))
    ['sky', 'traffic light']
    """
    return frozenset(word.replace("_", " ") for word in text.split())
