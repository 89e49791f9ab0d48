"""The embedded backend: plays the three agents with a vision model, a question reader and measurements."""

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from agenticiqa import vlm_client
from agenticiqa.answers import asks_for_rating
from agenticiqa.embedded import findings, steps
from agenticiqa.embedded.advising import advice_for
from agenticiqa.embedded.answering.chances import names_bound
from agenticiqa.embedded.findings import Seen, judged
from agenticiqa.embedded.follow_up import in_thread
from agenticiqa.embedded.looking import Look, Looker, beside
from agenticiqa.embedded.parts import parse_part
from agenticiqa.embedded.places import locate
from agenticiqa.embedded.question import ParsedQuestion, understand
from agenticiqa.errors import BackendError, PictureTooSmallError
from agenticiqa.pictures.images import LoadedImage
from agenticiqa.pictures.regions import find_region
from agenticiqa.runtime.config import ProviderSettings
from agenticiqa.state import ExecutorOutput, PlannerOutput
from agenticiqa.tools import aiqa_fr, aiqa_nr
from agenticiqa.vision.network import LONGEST, WEIGHTS, Vision, load_vision, weights_version
from agenticiqa.vision.scene import LEAST_SIDE
from agenticiqa.vocabulary import GLOBAL

SURE = 0.6
_OPEN = ("rate", "degree", "describe")
_PICTURE = re.compile(
    r"\W*(?:(?:the|this|my|a)\s+)?(?:\S*\.(?:jpe?g|png|webp|tiff?|heic)|photo|picture|image|pic|shot|quality)?\W*",
    re.IGNORECASE,
)
_RATES = re.compile(r"\b(?:rat(?:e|ing)|scor(?:e|ing)|grade|assess|judge|evaluate|quality)\b", re.IGNORECASE)


class EmbeddedBackend(vlm_client.TypedBackend):
    """Reads its question once, and looks at each object of it once."""

    own_tools = frozenset({aiqa_nr.SPEC.name, aiqa_fr.SPEC.name})

    def __init__(self, asked: vlm_client.Question, looker: Looker, name: str) -> None:
        self.name = name
        self._asked = asked
        self._looker = looker
        self._found: dict[str, Seen] = {}
        self._lock = threading.RLock()

    @cached_property
    def _question(self) -> ParsedQuestion:
        asked, before = self._asked, None
        for turn in asked.earlier:
            before = in_thread(self._read(turn["query"], turn.get("options")), before)
            if before.meaning.follows != "why":
                before = replace(before, meaning=replace(before.meaning, answered=turn["answer"]))
        return in_thread(self._read(asked.query, list(asked.options.values())), before)

    def _read(self, query: str, options: Sequence[str] | None) -> ParsedQuestion:
        found = understand(query, options, has_reference=self._asked.has_reference)
        meaning = found.meaning
        doubted = meaning.chances.get("property", 1.0) < SURE and meaning.form in _OPEN and not meaning.options
        if doubted and asks_for_rating(query):
            # Where the reader is in doubt, a request in the words of a rating is one.
            return replace(found, meaning=replace(meaning, property="quality", form="rate", chances={}))
        return found

    def prefetch(self) -> None:
        self._look_for(GLOBAL)

    def mode(self, suggested: vlm_client.Mode) -> vlm_client.Mode:  # noqa: ARG002 - the reader knows better than the wording
        meaning = self._question.meaning
        if self._question.tools and not _RATES.search(meaning.text):
            return "explanation"  # the value of a tool is asked for, or a question to answer with it
        asks_level = meaning.form == "rate" or (meaning.form == "degree" and meaning.property == "quality")
        rated = asks_level and not names_bound(meaning.text)
        whole = meaning.property in (None, "quality") and bool(_PICTURE.fullmatch(meaning.text.strip()))
        in_words = bool(meaning.options) or meaning.follows == "why"
        return "scoring" if not in_words and (whole or rated) else "explanation"

    def plan(self, previous: PlannerOutput | None = None) -> PlannerOutput:
        plan = steps.plan_for(self._question, has_reference=self._asked.has_reference)
        return steps.widened(plan) if plan == previous else plan

    def detect(self, scope: Sequence[str]) -> vlm_client.Distortions:
        return {name: self._find(name).look.visible() for name in scope}

    def analyse(self, distortions: Mapping[str, Sequence[str]]) -> vlm_client.Analysis:
        return {name: [judged(kind, self._find(name)) for kind in kinds] for name, kinds in distortions.items()}

    def select(
        self, distortions: Mapping[str, Sequence[str]], tools: Sequence[vlm_client.OfferedTool]
    ) -> vlm_client.Selection:
        return findings.select(distortions, tools, has_reference=self._asked.has_reference)

    def answer(self, mode: vlm_client.Mode, plan: PlannerOutput, evidence: ExecutorOutput) -> vlm_client.Verdict:
        reference = self._asked.reference if plan.reference_mode == "Full-Reference" else None
        find = self._find if reference is None else partial(self._find_beside, reference, evidence)
        verdict = steps.answer(steps.AnswerTask(self._asked, self._question, mode, plan, evidence, find))
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
        if min(image.size) < LEAST_SIDE:
            raise PictureTooSmallError(
                f"The picture is {image.size[0]}×{image.size[1]} pixels; the embedded backend judges none below "
                f"{LEAST_SIDE}×{LEAST_SIDE}."
            )
        if name == GLOBAL:
            return _seen(self._looker.look(image))
        box = find_region(name, self._asked.regions)
        if box is not None:
            return _seen(self._looker.look(image, box))
        named = {part.name.casefold(): part for part in steps.scope_of(self._question.meaning)}
        place = locate(named.get(name.casefold()) or parse_part(name), image, alone=len(named) == 1)
        seen = _seen(self._looker.look(image, place.box), place.note)
        return replace(seen, guess=place.guess, assumed=place.assumed, absent=place.absent)


def _seen(look: Look, note: str | None = None) -> Seen:
    """With a note on pictures that are not photographs."""
    return Seen(look, "; ".join(filter(None, (note, look.facts.note))) or None)


# --- How the embedded backend is found and made ---


class EmbeddedClient(vlm_client.VLMClient):
    """Brings a typed backend instead of a language model. Safe to use from several threads."""

    cacheable = False
    sees_side = LONGEST

    def __init__(self, backend: str, vision: Vision) -> None:
        self.backend = backend
        self._vision = vision
        self._looker = Looker(vision)

    @property
    def identity(self) -> str:
        return f"{self.backend}@{weights_version()}"

    def typed_backend_for(self, asked: vlm_client.Question) -> EmbeddedBackend:
        return EmbeddedBackend(asked, self._looker, str(self._vision.about["name"]))

    def generate(self, prompt: str, images: vlm_client.Images = None, **kwargs: Any) -> str:  # noqa: ARG002 - no prompt can be read
        raise BackendError(
            "The embedded backend is no language model: it needs a picture and cannot read a free prompt.",
            hint="Ask it through assess, or use a vision-language model.",
        )


def _readiness(settings: ProviderSettings) -> vlm_client.Readiness:  # noqa: ARG001 - every provider is made alike
    if not (WEIGHTS / "model.json").is_file():
        return vlm_client.Readiness(ready=False, reason="its weights are missing: install agenticiqa again")
    return vlm_client.Readiness(ready=True, reason="runs here, without key, GPU or network")


PROVIDER = vlm_client.Provider(
    name="embedded",
    description="A vision model of our own on this machine: no key, no GPU, no network",
    create=lambda backend, _model, _settings: EmbeddedClient(backend, load_vision()),
    readiness=_readiness,
    local=True,
)
