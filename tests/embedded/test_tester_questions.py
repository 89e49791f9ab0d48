"""Three hundred questions that a tester would try: no failure, no internal name, no answer to another question."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from PIL import Image

from agenticiqa.answers import split_question
from agenticiqa.embedded.answering.problem import SeenEvidence
from agenticiqa.embedded.backend import EmbeddedBackend
from agenticiqa.embedded.looking import Looker
from agenticiqa.nodes.summarizer import select_mode
from agenticiqa.pictures.images import decode_image, png_bytes
from agenticiqa.state import ExecutorOutput
from agenticiqa.vision.network import load_vision
from agenticiqa.vlm_client import Mode, Question, Verdict
from agenticiqa.vocabulary import UNABLE_TO_DETERMINE

ROOT = Path(__file__).resolve().parents[2]
LINES = (ROOT / "tests" / "data" / "tester_questions.tsv").read_text(encoding="utf-8").splitlines()
QUESTIONS = [tuple(line.split("\t")) for line in LINES if not line.startswith("#")]
INTERNAL = re.compile(
    r"\b[a-z]+_[a-z_]+\b|\bTold\b|(?<!')\bNone\b(?!'| of)|\bnan\b|Traceback|Color saturation|Brighten\b|Jitter",
    re.ASCII,
)


@dataclass
class Read:
    """What was looked up for one answer."""

    mode: Mode
    verdict: Verdict
    properties: set[str] = field(default_factory=set)
    advised: bool = False

    @property
    def declined(self) -> bool:
        return self.verdict.answer == UNABLE_TO_DETERMINE


@pytest.fixture(scope="module")
def ask():
    with Image.open(ROOT / "examples" / "pictures" / "dandelion.jpg") as picture:
        image = decode_image(png_bytes(picture.convert("RGB").crop((150, 50, 470, 290))))
    looker = Looker(load_vision())

    def answer(query: str, patch: pytest.MonkeyPatch) -> Read:
        alone, options = split_question(query)
        backend = EmbeddedBackend(Question(query, alone, options, lambda: image), looker, "embedded")
        plan = backend.plan()
        mode = backend.mode(select_mode(plan, query, has_options=bool(options)))
        found = Read(mode, Verdict("", ""))
        told, advice = SeenEvidence.told, SeenEvidence.advice

        def noted(self, name, *part):
            found.properties.add(name)
            return told(self, name, *part)

        def advised(self):
            found.advised = True
            return advice(self)

        patch.setattr(SeenEvidence, "told", noted)
        patch.setattr(SeenEvidence, "advice", advised)
        found.verdict = backend.answer(mode, plan, ExecutorOutput())
        return found

    return answer


def test_there_are_about_three_hundred():
    assert len(QUESTIONS) >= 290
    assert len({query for _, query in QUESTIONS}) == len(QUESTIONS)


def is_answered_as_asked(asks: str, read: Read) -> bool:
    """Whether what was looked up is what was asked, or the question is declined where it asks nothing of the kind."""
    if asks in ("-", "language"):
        return read.declined or bool(read.verdict.doubt)
    if asks == "advice":
        return read.advised
    if "rating" in asks.split("|") and read.mode == "scoring":
        return not read.verdict.doubt
    return bool(read.properties & set(asks.split("|")))


@pytest.mark.hard
def test_questions_get_their_own_answers(ask, monkeypatch):
    """Every answer is fit to be read by people; nearly all are answers to what was asked."""
    right = {}
    for asks, query in QUESTIONS:
        read = ask(query, monkeypatch)
        assert not INTERNAL.search(f"{read.verdict.answer} {read.verdict.reasoning}"), (query, read.verdict)
        right[query] = is_answered_as_asked(asks, read)
    assert sum(right.values()) / len(right) >= 0.93, [query for query, is_right in right.items() if not is_right]
