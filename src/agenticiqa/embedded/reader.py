"""The question reader: a small sentence encoder (ONNX), taught and tested as ``training/reader/README.md`` says."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from agenticiqa.vision.network import checked_file, described, open_session

WEIGHTS = Path(__file__).parent / "weights"
_HEADS = ("property", "also", "form", "direction", "spans", "amount")
_LONGEST_PART = 24
"""In tokens."""
_ENDS = {"high": 1, "low": -1, "none": 0}

Array = npt.NDArray[np.float32]
T = TypeVar("T")


@dataclass(frozen=True)
class Read:
    """What the network makes of one question."""

    properties: dict[str, float]
    """The chance of every property, "none" among them."""
    also: dict[str, float]
    """For every property the chance that it is asked about, alone or beside others."""
    forms: dict[str, float]
    ends: dict[int, float]
    """The chance that the wording names much (1), little (-1) or no end (0) of the property."""
    parts: tuple[tuple[int, int], ...]
    """Where the parts of the picture stand in the question, in characters."""
    amounts: tuple[float, ...]
    """How much of the property each option claims, 0 to 1 …"""
    claims: tuple[float, ...]
    """… and the chance that it claims an amount at all."""


class QuestionReader:
    """The loaded network. Safe to use from several threads."""

    def __init__(self, folder: Path = WEIGHTS) -> None:
        from tokenizers import Tokenizer

        self.about = described(folder, "reader.json")
        hashes = self.about["sha256"]
        self._session = open_session(checked_file(folder / "reader.onnx", hashes["reader.onnx"]))
        words = checked_file(folder / "tokenizer.json", hashes["tokenizer.json"])
        self._tokenizer: Any = Tokenizer.from_str(words.decode("utf-8"))
        self._tokenizer.enable_truncation(self.about["longest"])

    def read(self, question: str, options: Sequence[str] = ()) -> Read:
        """Read a question, and each of its options beside it."""
        code, made = self._run(question, " / ".join(options) or None)
        names, scale = self.about["properties"], self.about["temperature"]
        ends = [_ENDS[name] for name in self.about["directions"]]
        return Read(
            _named(names, _softmax(made["property"][0] / scale["property"])),
            _named(names, _sigmoid(made["also"][0])),
            _named(self.about["forms"], _softmax(made["form"][0] / scale["form"])),
            _named(ends, _softmax(made["direction"][0] / scale["direction"])),
            _parts(made["spans"][0], code),
            *(self._amounts(question, options) if options else ((), ())),
        )

    def _amounts(self, question: str, options: Sequence[str]) -> tuple[tuple[float, ...], tuple[float, ...]]:
        # One at a time: in eight bits a pair is rounded by what else is in its batch.
        found = [_sigmoid(self._run(question, option)[1]["amount"][0]) for option in options]
        return tuple(float(much) for much, _ in found), tuple(float(claimed) for _, claimed in found)

    def _run(self, question: str, beside: str | None) -> tuple[Any, dict[str, Array]]:
        with _TOKENIZING:
            code = self._tokenizer.encode(question, beside) if beside else self._tokenizer.encode(question)
        fed = {"input_ids": code.ids, "attention_mask": code.attention_mask, "token_type_ids": code.type_ids}
        feeds = {name: np.array([values], np.int64) for name, values in fed.items()}
        return code, dict(zip(_HEADS, self._session.run(list(_HEADS), feeds), strict=True))


_TOKENIZING = threading.Lock()


@cache
def question_reader() -> QuestionReader:
    """The reader that the package ships, loaded once."""
    return QuestionReader()


def _named(names: Sequence[T], chances: Array) -> dict[T, float]:
    return {name: float(chance) for name, chance in zip(names, chances, strict=True)}


def _softmax(logits: Array) -> Array:
    weights = np.exp(logits - logits.max())
    return np.asarray(weights / weights.sum(), np.float32)


def _sigmoid(logits: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-logits)), np.float32)


def _parts(logits: Array, code: Any) -> tuple[tuple[int, int], ...]:
    """The likeliest first and second part; the first token stands for "none"."""
    own = [at for at, of in enumerate(code.sequence_ids) if of == 0]
    found = []
    for start, end in ((logits[:, 0], logits[:, 1]), (logits[:, 2], logits[:, 3])):
        best, place = float(start[0] + end[0]), None
        for first in own:
            for last in range(first, min(first + _LONGEST_PART, own[-1] + 1)):
                if start[first] + end[last] > best:
                    best, place = float(start[first] + end[last]), (first, last)
        if place is None:
            break
        found.append((code.offsets[place[0]][0], code.offsets[place[1]][1]))
    return tuple(found)
