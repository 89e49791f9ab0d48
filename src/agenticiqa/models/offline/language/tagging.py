"""From words to tagged items: phrases of the lexicon become one item, unknown words keep a tag of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agenticiqa.models.offline.language.lexicon import ENTRIES, LONGEST_PHRASE, LexiconEntry, Tag
from agenticiqa.models.offline.language.spelling import corrected
from agenticiqa.models.offline.language.tokens import Token, singular_forms, tokenize
from agenticiqa.models.offline.language.word_lists import word_list, word_set
from agenticiqa.vocabulary import DistortionTerm

_THINGS_IN_LY = word_list("word_classes", "not_adverbs")
_THINGS_IN_ITY = word_set("university celebrity harness facility witness wilderness electricity nativity")
_CLAUSE_MARKS = frozenset(",;.:?!()-–—")


@dataclass(frozen=True)
class Item:
    """A word or a phrase and its part in the sentence."""

    tokens: tuple[Token, ...]
    tag: Tag
    term: DistortionTerm | None = None

    @property
    def plain(self) -> str:
        return " ".join(token.plain for token in self.tokens)

    @property
    def base(self) -> str:
        """The singular where there is one."""
        *first, last = (token.plain for token in self.tokens)
        return " ".join(
            [*first, singular_forms(last)[-1] if len(singular_forms(last)) < 3 else singular_forms(last)[1]]
        )

    @property
    def possessive(self) -> bool:
        return self.tokens[-1].possessive

    @property
    def ends_clause(self) -> bool:
        return self.tag == "mark" and self.plain in _CLAUSE_MARKS


def tagged(text: str) -> list[Item]:
    """Read a text.

    >>> [(item.plain, item.tag) for item in tagged("Is the vehicle out of focus?")]
    [('is', 'auxiliary'), ('the', 'determiner'), ('vehicle', 'noun'), ('out of focus', 'distortion'), ('?', 'mark')]
    """
    tokens = [_respelled(token) for token in tokenize(text)]
    items: list[Item] = []
    at = 0
    while at < len(tokens):
        item = _phrase_at(tokens, at) or Item((tokens[at],), _tag_of_unlisted(tokens[at]))
        items.append(item)
        at += len(item.tokens)
    return _with_shouted_names(items)


def _respelled(token: Token) -> Token:
    meant = corrected(token.plain)
    if meant == token.plain:
        return token
    return replace(token, plain=meant, text=f"{meant}'s" if token.possessive else meant)


def _phrase_at(tokens: Sequence[Token], at: int) -> Item | None:
    for length in range(min(LONGEST_PHRASE, len(tokens) - at), 0, -1):
        part = tuple(tokens[at : at + length])
        if any(token.possessive for token in part):
            continue
        entry = _entry(tuple(token.plain for token in part))
        if entry:
            return Item(part, entry.tag, entry.term)
    return None


def _entry(words: tuple[str, ...]) -> LexiconEntry | None:
    for form in singular_forms(words[-1]):
        entry = ENTRIES.get((*words[:-1], form))
        if entry:
            return entry
    return None


def _tag_of_unlisted(token: Token) -> Tag:
    if token.is_mark:
        return "mark"
    if token.possessive:
        owner = _entry((token.plain,))
        return "generic" if owner and owner.tag == "generic" else "noun"
    if token.plain.isdigit():
        return "number"
    if token.plain.endswith("ly") and len(token.plain) > 4 and token.plain not in _THINGS_IN_LY:
        return "adverb"
    return _tag_by_ending(token.plain)


def _tag_by_ending(word: str) -> Tag:
    """Endings that make a description or an idea of a word, seldom a thing one can photograph."""
    if len(word) > 6 and word.endswith(("ness", "ity")) and word not in _THINGS_IN_ITY:
        return "abstract"
    if len(word) > 5 and word.endswith(("ful", "ous", "able", "ible", "less", "ish", "ical", "ional")):
        return "adjective"
    return "unknown"


def _with_shouted_names(items: list[Item]) -> list[Item]:
    """UNIQUE is a tool and unique a word: capitals decide, unless everything is in capitals."""
    words = [token.text for item in items for token in item.tokens if not token.is_mark]
    if words and all(word.isupper() or word in ("is", "not") for word in words):
        return items
    return [replace(item, tag="tool") if item.tokens[0].text == "UNIQUE" else item for item in items]
