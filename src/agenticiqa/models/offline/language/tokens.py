"""From text to words: splitting, contractions, possessives, and one spelling for British and American writers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agenticiqa.models.offline.language.word_lists import word_set
from agenticiqa.vocabulary import plain_spelling

# Reading a question costs time in proportion to its length; nobody's question is longer than this.
MAX_CHARS = 4000

_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+|(?<=s)'(?=\s))?|[^\w\s]")

_CONTRACTIONS = {
    "cannot": ("can", "not"),
    "can't": ("can", "not"),
    "cant": ("can", "not"),
    "won't": ("will", "not"),
    "shan't": ("shall", "not"),
    "let's": ("let", "us"),
    "i'd": ("i", "would"),
    "i'm": ("i", "am"),
    **{f"{who}'d": (who, "would") for who in ("you", "he", "she", "we", "they", "it")},
    **{f"{who}'ve": (who, "have") for who in ("i", "you", "we", "they")},
    **{f"{who}'ll": (who, "will") for who in ("i", "you", "he", "she", "we", "they", "it")},
    **{f"{who}'re": (who, "are") for who in ("you", "we", "they")},
}
_NOT = re.compile(r"(is|are|was|were|do|does|did|has|have|had|should|would|could|must|need)n'?t")
_IS_AFTER = word_set("what who where how it that there here this which why he she when")


@dataclass(frozen=True)
class Token:
    """One word or mark. ``text`` is what was written, ``plain`` the spelling that lists are searched by."""

    text: str
    plain: str
    joint: str = " "
    """What stands before it in a name: a blank, or a hyphen."""
    possessive: bool = False
    contracted: bool = False
    """The "not" of "isn't": at the start of a question it asks for a yes and denies nothing."""

    @property
    def is_mark(self) -> bool:
        return not self.plain[:1].isalnum()


def tokenize(text: str) -> list[Token]:
    """The words and marks of a text, contractions opened.

    >>> [t.text for t in tokenize("Isn't the man's T-shirt over-exposed?")]
    ['is', 'not', 'the', "man's", 'T', 'shirt', 'over', 'exposed', '?']
    """
    straight = text[:MAX_CHARS].replace("’", "'").replace("‘", "'").replace("_", " ")
    tokens: list[Token] = []
    end = 0
    for match in _TOKEN.finditer(straight):
        hyphenated = straight[end : match.start()] == "" and bool(tokens) and tokens[-1].text == "-"
        if hyphenated:
            tokens.pop()
        tokens += _opened(match.group(), "-" if hyphenated else " ")
        end = match.end()
    return tokens


def _opened(written: str, joint: str) -> list[Token]:
    lower = written.lower()
    parts = _CONTRACTIONS.get(lower)
    negated = _NOT.fullmatch(lower)
    if negated:
        parts = (negated[1], "not")
    stem, apostrophe, ending = lower.partition("'")
    if apostrophe and ending == "s" and stem in _IS_AFTER:
        parts = (stem, "is")
    if parts:
        return [Token(part, part, joint, contracted=part == "not") for part in parts]
    if apostrophe and ending in ("s", ""):
        return [Token(lower, plain_spelling(stem), joint, possessive=True)]
    # Capitals are kept: they tell the tool UNIQUE from the word.
    text = written if written.isupper() else lower
    return [Token(text, plain_spelling(written), joint)]


def singular_forms(word: str) -> tuple[str, ...]:
    """The word and what it may be the plural of, likeliest first.

    >>> singular_forms("blurs"), singular_forms("skies"), singular_forms("glass")
    (('blurs', 'blur'), ('skies', 'sky', 'skie'), ('glass',))
    """
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return (word,)
    if word.endswith("lves"):
        return word, word[:-3] + "f"
    if word.endswith("ies"):
        return word, word[:-3] + "y", word[:-1]
    if word.endswith(("ches", "shes", "xes", "ses", "zes", "oes")):
        return word, word[:-2], word[:-1]
    return word, word[:-1]
