"""Answer probabilities from a reply's tokens, and the JSON schema that a reply is asked to fit.

The reply is a list of tokens, each with the most likely alternatives at that place. One of them carries the value of
``final_answer``; the alternatives at that place are what the model might have answered instead.
"""

import json
import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from pydantic import BaseModel

from agenticiqa.vocabulary import LEVEL_LETTERS, LEVEL_NAMES

LEVEL_WORDS: Mapping[str, str] = {name.lower(): LEVEL_LETTERS[level] for level, name in LEVEL_NAMES.items()}
# A probability below this is noise of the provider's rounding.
SMALLEST_MASS = 1e-12

_OPENING = re.compile(r'[\s:"\'(\[*]*')
_VALUE = re.compile(rf'(?<!\\)"final_answer"\s*:\s*(?={_OPENING.pattern}(?P<answer>[^"]*))')
_CLOSING = " \t\r\n\"'.,:;)]}*"


@dataclass(frozen=True)
class ReplyToken:
    """A piece of the reply, and what else might have stood in its place."""

    text: str
    logprob: float
    alternatives: tuple[tuple[str, float], ...] = ()
    """(text, log-probability) pairs; may or may not contain the token itself."""


def token_pairs(items: Iterable[Any] | None, logprob: str = "logprob") -> list[tuple[str, float]]:
    """(text, log-probability) of entries that have both; servers are free with what they leave out."""
    found = [(getattr(item, "token", None), getattr(item, logprob, None)) for item in items or ()]
    return [(text, float(p)) for text, p in found if isinstance(text, str) and isinstance(p, (int, float))]


def answer_logprobs(tokens: Sequence[ReplyToken], letters: Sequence[str]) -> dict[str, float] | None:
    """Log-probability of each allowed letter, or None when no token of the reply carries one."""
    text = "".join(token.text for token in tokens)
    ends = list(accumulate(len(token.text) for token in tokens))
    for value in reversed(list(_VALUE.finditer(text))) if letters else ():
        index = bisect_right(ends, value.start("answer"))
        if index == len(tokens):
            continue
        token = tokens[index]
        offset = value.start("answer") - (ends[index] - len(token.text))
        reader = _LetterReader(letters, value["answer"].strip(_CLOSING), token.text, offset)
        if reader.letter_of(token.text) is not None:
            return _letter_logprobs(token, reader)
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
        # "C. Fair" and "C) Fair" are the letter with its text behind it.
        folded, head = answer.casefold(), re.split(r"[\s.,:;)\]-]", answer.casefold(), maxsplit=1)[0]
        self.answer_letter = self.words.get(folded) or self.letters.get(folded) or self.letters.get(head)

    def letter_of(self, token: str) -> str | None:
        piece = self._piece(token)
        if self.answer_letter is None or not piece:
            return None
        if len(piece) == 1 and self.answer_is_word and self.one_character_pieces:
            return self._beginning_of_word(piece) or self.letters.get(piece)
        return self.letters.get(piece) or (self._beginning_of_word(piece) if len(piece) > 1 else None)

    def _piece(self, token: str) -> str:
        """The part of a token that belongs to the answer."""
        inside = _OPENING.sub("", token.removeprefix(self.before_answer), count=1)
        return inside.partition('"')[0].rstrip(_CLOSING).casefold()

    def _beginning_of_word(self, piece: str) -> str | None:
        return next((letter for word, letter in self.words.items() if word.startswith(piece)), None)


def _letter_logprobs(token: ReplyToken, reader: _LetterReader) -> dict[str, float]:
    places = [(text, logprob) for text, logprob in token.alternatives if math.isfinite(logprob)]
    if all(text != token.text for text, _ in places) and math.isfinite(token.logprob):
        places.append((token.text, token.logprob))
    by_letter: dict[str, list[float]] = {}
    for text, logprob in places:
        letter = reader.letter_of(text)
        if letter is not None:
            by_letter.setdefault(letter, []).append(logprob)
    # Letters outside the alternatives: not above the least likely one, nor above a share of what is left.
    missing = len(reader.letters) - len(by_letter)
    left = max(SMALLEST_MASS, 1.0 - sum(math.exp(min(0.0, logprob)) for _, logprob in places))
    floor = min([logprob for _, logprob in places] + [math.log(left / max(1, missing))])
    sums = {letter: float(np.logaddexp.reduce(logprobs)) for letter, logprobs in by_letter.items()}
    return {letter: sums.get(letter, floor) for letter in reader.letters.values()}


# --- the JSON schema that a provider enforces, made from a Pydantic model ---

_KEPT = ("type", "enum", "description", "$ref")
_LIMITS = ("minLength", "maxLength", "minItems", "maxItems")
Schema = dict[str, Any]


@dataclass(frozen=True)
class ReplySchema:
    """A schema for the wire. Not ``strict`` when it holds a map with free keys, which strict modes cannot express."""

    name: str
    schema: Schema
    strict: bool

    @property
    def instruction(self) -> str:
        """The same in words, for a model whose provider does not enforce schemas."""
        compact = json.dumps(self.schema, ensure_ascii=False, separators=(",", ":"))
        return f"Reply with one JSON object and nothing else. It must fit this JSON schema:\n{compact}"


@lru_cache(maxsize=64)
def reply_schema(model: type[BaseModel], *, limits: bool = False) -> ReplySchema:
    """The enforceable schema of a model's replies; ``limits`` keeps the limits on lengths as well."""
    full = model.model_json_schema()
    kept = (*_KEPT, *_LIMITS) if limits else _KEPT
    schema = _converted(full, kept)
    if "$defs" in full:
        schema["$defs"] = {name: _converted(part, kept) for name, part in full["$defs"].items()}
    return ReplySchema(model.__name__, schema, strict=not _has_map(schema))


def _converted(part: Mapping[str, Any], kept: tuple[str, ...]) -> Schema:
    if "$ref" in part:
        # Providers refuse any other keyword beside a reference.
        return {"$ref": part["$ref"]}
    result: Schema = {key: part[key] for key in kept if key in part}
    if "const" in part:
        result["enum"] = [part["const"]]
    choices = part.get("anyOf") or part.get("oneOf")
    if choices:
        result["anyOf"] = [_converted(choice, kept) for choice in choices]
    if part.get("type") == "array":
        result["items"] = _items(part, kept)
    if part.get("type") == "object":
        result.update(_object(part, kept))
    return result


def _object(part: Mapping[str, Any], kept: tuple[str, ...]) -> Schema:
    required = part.get("required", ())
    properties = {
        name: _converted(value, kept)
        for name, value in part.get("properties", {}).items()
        if name in required or not _is_free_form(value)
    }
    values = part.get("additionalProperties", False)
    if properties or values is False:
        return {"properties": properties, "required": list(properties), "additionalProperties": False}
    return {"additionalProperties": _converted(values, kept) if isinstance(values, dict) else True}


def _items(part: Mapping[str, Any], kept: tuple[str, ...]) -> Schema:
    if "prefixItems" not in part:
        return _converted(part.get("items", {}), kept)
    # Tuples: the order of the types cannot be expressed, the set of types can.
    choices: list[Schema] = []
    for item in (_converted(each, kept) for each in part["prefixItems"]):
        if item not in choices:
            choices.append(item)
    return choices[0] if len(choices) == 1 else {"anyOf": choices}


def _is_free_form(value: Mapping[str, Any]) -> bool:
    """A map of anything: it says nothing about the reply, so an optional one is not asked for."""
    parts = value.get("anyOf", [value])
    return any(part.get("additionalProperties") is True and "properties" not in part for part in parts)


def _has_map(part: Any) -> bool:
    if isinstance(part, dict):
        is_map = part.get("additionalProperties", False) is not False
        return is_map or any(_has_map(value) for value in part.values())
    return isinstance(part, list) and any(_has_map(value) for value in part)
