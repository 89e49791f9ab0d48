"""The reader's word lists: data in ``vocabulary/``, each file read once."""

from __future__ import annotations

from functools import cache
from typing import Any

from agenticiqa._data import listed, read_data


@cache
def vocabulary(file: str) -> Any:
    """One file of ``vocabulary/``."""
    return read_data(f"models/offline/language/vocabulary/{file}.yaml")


def word_list(file: str, name: str) -> frozenset[str]:
    """One list of a file.

    >>> "traffic light" in word_list("picture_nouns", "things")
    True
    """
    return frozenset(listed(vocabulary(file)[name]))


def word_set(text: str) -> frozenset[str]:
    """Words between blanks; an underscore stands for the blank inside a phrase.

    >>> sorted(word_set("sky traffic_light"))
    ['sky', 'traffic light']
    """
    return frozenset(word.replace("_", " ") for word in text.split())
