"""Texts that others wrote (file names, ids, model replies), made safe to show."""

from __future__ import annotations

import re

_UNSHOWABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def printable(text: str) -> str:
    """Control characters would steer a terminal, and halves of characters cannot be written: a mark takes their place.

    >>> printable("a\\x1b[31mb\\ud800\\n")
    'a�[31mb�\\n'
    """
    return _UNSHOWABLE.sub("\ufffd", text)


def in_one_line(text: str) -> str:
    """
    >>> in_one_line(" a\\n b ")
    'a b'
    """
    return " ".join(printable(text).split())


def markdown_text(text: str) -> str:
    """Text inside Markdown that becomes no tag.

    >>> markdown_text("<img src=x> & more")
    '&lt;img src=x> &amp; more'
    """
    return in_one_line(text).replace("&", "&amp;").replace("<", "&lt;")
