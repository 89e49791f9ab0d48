"""Several questions in one: each is answered by itself."""

from __future__ import annotations

import re
from dataclasses import replace

from agenticiqa.embedded.answering import words
from agenticiqa.embedded.answering.problem import AnswerProblem, EmbeddedAnswer
from agenticiqa.embedded.language.question import understand

MOST = 4
_BETWEEN = re.compile(
    r"(?<=[?])\s+(?=\w)|\s*,?\s+\band\s+(?=(?:how|what|where|which|why|is it|is the|are the|does it|has it)\b)",
    re.IGNORECASE,
)


def answer(problem: AnswerProblem) -> EmbeddedAnswer | None:
    """None where there is only one question, or where one of them is not understood."""
    texts = [text.strip() for text in _BETWEEN.split(problem.meaning.text) if text.strip()]
    if not 1 < len(texts) <= MOST:
        return None
    read = [understand(text) for text in texts]
    asked = {(each.meaning.property, each.meaning.form) for each in read}
    if len(asked) < len(read) or any(each.meaning.property is None for each in read):
        return None
    found = [words.answer(replace(problem, meaning=each.meaning, claims=each.options, lettered=False)) for each in read]
    return EmbeddedAnswer(
        "; ".join(f"{_short(text)}: {each.text}" for text, each in zip(texts, found, strict=True)),
        tuple(sentence for each in found for sentence in each.sentences),
        doubts=tuple(doubt for each in found for doubt in each.doubts),
    )


def _short(text: str) -> str:
    return text.rstrip("?.! ")
