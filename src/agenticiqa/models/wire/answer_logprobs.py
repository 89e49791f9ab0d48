"""How sure the model is of its letter: read from the token probabilities of its JSON reply.

The reply is a list of tokens, each with the most likely alternatives at that place. One of them carries the value of
``final_answer``; the alternatives at that place are what the model might have answered instead.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agenticiqa.vocabulary import LEVEL_LETTERS, LEVEL_NAMES

LEVEL_WORDS: Mapping[str, str] = {name.lower(): LEVEL_LETTERS[level] for level, name in LEVEL_NAMES.items()}
# A probability below this is noise of the provider's rounding.
SMALLEST_MASS = 1e-12

_KEY = re.compile(r'(?<!\\)"final_answer"\s*:\s*')
_OPENING = re.compile(r'[\s:"\'(\[*]*')
_CLOSING = " \t\r\n\"'.,:;)]}*"


@dataclass(frozen=True)
class ReplyToken:
    """A piece of the reply, and what else might have stood in its place."""

    text: str
    logprob: float
    alternatives: tuple[tuple[str, float], ...] = ()
    """(text, log-probability) pairs; may or may not contain the token itself."""


@dataclass(frozen=True)
class _Value:
    """Where the answer starts in the joined text, and what it says."""

    start: int
    text: str


def answer_logprobs(tokens: Sequence[ReplyToken], letters: Sequence[str]) -> dict[str, float] | None:
    """Log-probability of each allowed letter, or None when no token of the reply carries one.

    >>> place = ReplyToken("C", -0.2, (("C", -0.2), ("B", -2.0)))
    >>> found = answer_logprobs([ReplyToken('{"final_answer": "', 0.0), place, ReplyToken('"}', 0.0)], ["B", "C"])
    >>> found == {"B": -2.0, "C": -0.2}
    True
    """
    if not letters:
        return None
    text = "".join(token.text for token in tokens)
    for value in reversed(list(_values(text))):
        found = _token_at(tokens, value.start)
        if found is None:
            continue
        token, offset = found
        reader = _LetterReader(letters, value.text, token.text, offset)
        if reader.letter_of(token.text) is not None:
            return _letter_logprobs(token, reader)
    return None


def _values(text: str) -> Iterable[_Value]:
    for key in _KEY.finditer(text):
        opening = _OPENING.match(text, key.end())
        start = opening.end() if opening else key.end()
        end = text.find('"', start)
        yield _Value(start, text[start : end if end >= 0 else len(text)].strip(_CLOSING))


def _token_at(tokens: Sequence[ReplyToken], position: int) -> tuple[ReplyToken, int] | None:
    begin = 0
    for token in tokens:
        if begin <= position < begin + len(token.text):
            return token, position - begin
        begin += len(token.text)
    return None


class _LetterReader:
    """Which letter a token at the answer's place stands for."""

    def __init__(self, letters: Sequence[str], answer: str, token: str, offset: int) -> None:
        self.before_answer = token[:offset]
        self.letters = {letter.casefold(): letter for letter in letters}
        self.words = LEVEL_WORDS if set(letters) == set(LEVEL_LETTERS.values()) else {}
        # The whole answer decides what a first piece means: the E of "E" is Bad, the E of "E|xcellent" is Excellent.
        self.answer_is_word = answer.casefold() in self.words
        self.one_character_pieces = len(self._piece(token)) == 1
        self.answer_letter = self._whole(answer)

    def letter_of(self, token: str) -> str | None:
        if self.answer_letter is None:
            return None
        piece = self._piece(token)
        if not piece:
            return None
        if len(piece) == 1 and self.answer_is_word and self.one_character_pieces:
            return self._beginning_of_word(piece) or self.letters.get(piece)
        return self.letters.get(piece) or (self._beginning_of_word(piece) if len(piece) > 1 else None)

    def _piece(self, token: str) -> str:
        """The part of a token that belongs to the answer."""
        inside = _OPENING.sub("", token.removeprefix(self.before_answer), count=1)
        return inside.partition('"')[0].rstrip(_CLOSING).casefold()

    def _whole(self, answer: str) -> str | None:
        folded = answer.casefold()
        if folded in self.words:
            return self.words[folded]
        # "C. Fair" and "C) Fair" are the letter with its text behind it.
        head = re.split(r"[\s.,:;)\]-]", folded, maxsplit=1)[0]
        return self.letters.get(folded) or self.letters.get(head)

    def _beginning_of_word(self, piece: str) -> str | None:
        return next((letter for word, letter in self.words.items() if word.startswith(piece)), None)


def _letter_logprobs(token: ReplyToken, reader: _LetterReader) -> dict[str, float]:
    places = [(text, logprob) for text, logprob in token.alternatives if math.isfinite(logprob)]
    if all(text != token.text for text, _ in places) and math.isfinite(token.logprob):
        places.append((token.text, token.logprob))
    heard: dict[str, list[float]] = {}
    for text, logprob in places:
        letter = reader.letter_of(text)
        if letter is not None:
            heard.setdefault(letter, []).append(logprob)
    missing = len(reader.letters) - len(heard)
    floor = _floor([logprob for _, logprob in places], missing)
    return {letter: logsumexp(heard[letter]) if letter in heard else floor for letter in reader.letters.values()}


def _floor(logprobs: Sequence[float], missing: int) -> float:
    """For letters outside the alternatives: not above the least likely one, nor above a share of what is left."""
    left = max(SMALLEST_MASS, 1.0 - sum(math.exp(min(0.0, value)) for value in logprobs))
    return min([*logprobs, math.log(left / max(1, missing))])


def logsumexp(values: Sequence[float]) -> float:
    """The log of a sum of probabilities that are given as logs.

    >>> round(logsumexp([math.log(0.2), math.log(0.3)]), 6) == round(math.log(0.5), 6)
    True
    """
    highest = max(values)
    return highest + math.log(sum(math.exp(value - highest) for value in values))
