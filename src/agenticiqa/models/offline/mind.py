"""The embedded backend's mind: plays the three agents with a vision model, a question parser and measurements."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

from agenticiqa.errors import PictureTooSmallError
from agenticiqa.models.mind import Analysis, Asked, Distortions, Mind, Mode, OfferedTool, Selection, Verdict
from agenticiqa.models.offline import executor, planner, summarizer
from agenticiqa.models.offline.advising import advice_for
from agenticiqa.models.offline.beside_reference import beside
from agenticiqa.models.offline.executor import Seen
from agenticiqa.models.offline.language.noun_phrases import parse_object
from agenticiqa.models.offline.language.question import Question, read_question, understand
from agenticiqa.models.offline.looking import Look, Looker
from agenticiqa.models.offline.places import locate
from agenticiqa.pictures.images import LoadedImage
from agenticiqa.pictures.regions import find_region
from agenticiqa.state import ExecutorOutput, PlannerOutput
from agenticiqa.tools import aiqa_fr, aiqa_nr
from agenticiqa.vocabulary import GLOBAL

# One cell of the vision model: less holds nothing to judge.
SMALLEST_SIDE = 32


class OfflineMind(Mind):
    """Reads its question once, and looks at each object of it once."""

    own_tools = frozenset({aiqa_nr.SPEC.name, aiqa_fr.SPEC.name})

    def __init__(self, asked: Asked, looker: Looker, name: str) -> None:
        self.name = name
        self._asked = asked
        self._looker = looker
        self._found: dict[str, Seen] = {}
        self._lock = threading.RLock()

    @cached_property
    def _question(self) -> Question:
        asked = self._asked
        if asked.options:
            return read_question(asked.question, asked.options, has_reference=asked.has_reference)
        return understand(asked.query, has_reference=asked.has_reference)

    def look_ahead(self) -> None:
        self._look_for(GLOBAL)

    def plan(self, previous: PlannerOutput | None = None) -> PlannerOutput:
        plan = planner.plan_for(self._question, has_reference=self._asked.has_reference)
        return planner.widened(plan) if plan == previous else plan

    def detect(self, scope: Sequence[str]) -> Distortions:
        return executor.detect(scope, self._find)

    def analyse(self, distortions: Mapping[str, Sequence[str]]) -> Analysis:
        return executor.analyse(distortions, self._find)

    def select(self, distortions: Mapping[str, Sequence[str]], tools: Sequence[OfferedTool]) -> Selection:
        return executor.select(distortions, tools, has_reference=self._asked.has_reference)

    def answer(self, mode: Mode, plan: PlannerOutput, evidence: ExecutorOutput) -> Verdict:
        reference = self._asked.reference if plan.reference_mode == "Full-Reference" else None
        find = self._find if reference is None else partial(self._find_beside, reference, evidence)
        verdict = summarizer.answer(summarizer.AnswerTask(self._asked, self._question, mode, plan, evidence, find))
        # Of the whole picture, whichever part was asked about: that is what can be taken again or exported anew.
        return verdict if verdict.advice else replace(verdict, advice=advice_for(self._find(GLOBAL).look))

    # --- looking ---

    def _find(self, name: str) -> Seen:
        with self._lock:
            if name not in self._found:
                self._found[name] = self._look_for(name)
            return self._found[name]

    def _find_beside(self, reference: LoadedImage, evidence: ExecutorOutput, name: str) -> Seen:
        seen = self._find(name)
        return replace(seen, look=beside(seen.look, reference, name, evidence))

    def _look_for(self, name: str) -> Seen:
        image = self._asked.image
        if min(image.size) < SMALLEST_SIDE:
            raise PictureTooSmallError(
                f"The picture is {image.size[0]}×{image.size[1]} pixels; the embedded backend judges none below "
                f"{SMALLEST_SIDE}×{SMALLEST_SIDE}."
            )
        if name == GLOBAL:
            return _seen(self._looker.look(image))
        box = find_region(name, self._asked.regions)
        if box is not None:
            return _seen(self._looker.look(image, box))
        named = {item.name.casefold(): item for item in self._question.scope}
        place = locate(named.get(name.casefold()) or parse_object(name), image)
        return _seen(self._looker.look(image, place.box), place.note, guess=place.guess)


def _seen(look: Look, note: str | None = None, *, guess: bool = False) -> Seen:
    """With a note on pictures that are not photographs."""
    return Seen(look, "; ".join(filter(None, (note, look.facts.note))) or None, guess)
