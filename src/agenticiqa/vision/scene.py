"""A picture the vision model has seen, and its reading in words the rest of the backend uses."""

from __future__ import annotations

import hashlib
import weakref
from collections import OrderedDict
from dataclasses import dataclass, replace
from threading import Lock
from typing import ClassVar

import numpy as np

from agenticiqa.pictures.images import UInt8Image
from agenticiqa.vision.network import Floats, Judgement, Sight, Vision
from agenticiqa.vision.picture_facts import PictureFacts, facts_of
from agenticiqa.vocabulary import flaws_meant, kind_titles, kinds_seen_as

LEVELS = (1, 2, 3, 4, 5)
KEPT_SIGHTS = 12
FLAW_IS_THERE = 0.5
FLAW_TITLES = {
    "motion_blur": "Motion blur",
    "out_of_focus": "Missed focus",
    "too_dark": "Underexposure",
    "too_bright": "Overexposure",
    "hazy": "Haze",
}
"""Flaws that say more than their category."""


@dataclass(frozen=True)
class Reading:
    """What the model says about a region."""

    score: float
    """Expected quality, 1 (bad) to 5 (excellent)."""
    level_probabilities: dict[int, float]
    severity_probabilities: dict[str, tuple[float, ...]]
    """For each category the chances of none, slight, moderate, severe, extreme."""
    kinds: dict[str, float]
    """Probability of each finer kind, ``unchanged`` among them."""
    flaws: dict[str, float]
    """Chance of each flaw of photographs as taken; above one half it is there."""
    sorts: dict[str, float]
    """Probability of each sort of picture: photograph, painting, drawing, sketch, screen."""
    generated: float
    """Chance that the picture comes from a generator."""

    @property
    def severity(self) -> dict[str, float]:
        """Expected severity of each category, 0 (none) to 4 (extreme)."""
        return {
            name: sum(place * chance for place, chance in enumerate(chances))
            for name, chances in self.severity_probabilities.items()
        }

    def with_levels(self, levels: dict[int, float]) -> Reading:
        """The same with other chances of the levels, and the score that follows from them."""
        return replace(self, level_probabilities=levels, score=sum(level * p for level, p in levels.items()))

    def presence(self, category: str) -> float:
        """The chance that a category is visible at all."""
        return 1 - self.severity_probabilities[category][0]


@dataclass(frozen=True, eq=False)
class Scene:
    """A picture the model has looked at once."""

    vision: Vision
    sight: Sight
    facts: PictureFacts

    # All three agents and the tool look at the same picture and at the same parts of it: looking is what costs time.
    _seen: ClassVar[OrderedDict[tuple[Vision, str], tuple[Sight, PictureFacts]]] = OrderedDict()
    _lock: ClassVar[Lock] = Lock()

    @classmethod
    def of(cls, vision: Vision, rgb: UInt8Image) -> Scene:
        """A look at pixels; those looked at last are remembered."""
        pixels = np.ascontiguousarray(rgb)
        key = vision, _digest(pixels)
        with cls._lock:
            seen = cls._seen.pop(key, None)
        if seen is None:
            seen = vision.look(pixels), facts_of(pixels)
        with cls._lock:
            cls._seen[key] = seen
            while len(cls._seen) > KEPT_SIGHTS:
                cls._seen.popitem(last=False)
        return cls(vision, *seen)

    def read(self) -> Reading:
        """The reading of the whole picture."""
        return self._reading(self.vision.judge(self.sight))

    def score_map(self) -> Floats:
        """The quality of every cell with its neighbours, rows × columns, 1 (bad) to 5."""
        rows, columns = self.sight.cells.shape[:2]
        return np.asarray(self.vision.map(self.sight).score.reshape(rows, columns), np.float32)

    def _reading(self, judged: Judgement) -> Reading:
        severities = judged.severities[0]
        return Reading(
            score=float(judged.score[0]),
            level_probabilities=dict(zip(LEVELS, map(float, judged.levels[0]), strict=True)),
            severity_probabilities={
                name: tuple(map(float, severities[place])) for place, name in enumerate(self.vision.categories)
            },
            kinds=dict(zip(self.vision.kinds, map(float, judged.kinds[0]), strict=True)),
            flaws=dict(zip(self.vision.flaws, map(float, judged.flaws[0]), strict=True)),
            sorts=dict(zip(self.vision.sorts, map(float, judged.sorts[0]), strict=True)),
            generated=float(judged.generated[0]),
        )

    # --- finer kinds ---

    def _kinds_of(self, category: str, reading: Reading) -> dict[str, float]:
        own = [kind["name"] for kind in self.vision.about["kinds"] if kind["category"] == category]
        return {name: reading.kinds[name] for name in own}

    def likeliest_kind(self, category: str, reading: Reading) -> tuple[str | None, float]:
        """The title of a category's likeliest kind, and its share of what speaks for the category.

        A flaw that is there says it: it was learnt from photographs, the kinds from made damage.
        """
        flaws = {name: reading.flaws[name] for name, of in self.vision.flaws.items() if of == category}
        named = {name: chance for name, chance in flaws.items() if name in FLAW_TITLES and chance > FLAW_IS_THERE}
        if named:
            clearest = max(named, key=lambda each: named[each])
            return FLAW_TITLES[clearest], min(1.0, named[clearest] / max(reading.presence(category), 1e-6))
        own = self._kinds_of(category, reading)
        total = sum(own.values())
        if total <= 0:
            return None, 0.0
        name = max(own, key=lambda each: own[each])
        made = next(str(kind["title"]) for kind in self.vision.about["kinds"] if kind["name"] == name)
        return kind_titles().get(name, made), own[name] / total

    def flaw_chance(self, kind: str, reading: Reading) -> float | None:
        """The chance of a kind that a person named, where it is a flaw of photographs; None where it is none."""
        meant = flaws_meant().get(kind)
        if meant is None:
            return None
        # Facts may have ruled out the category since.
        return min(reading.flaws[meant], reading.presence(self.vision.flaws[meant]))

    def kind_share(self, category: str, kind: str, reading: Reading) -> float | None:
        """The share of a kind that a person named within its category; None where the model knows no such kind."""
        own = self._kinds_of(category, reading)
        wanted, total = kinds_seen_as().get(kind, frozenset()) & own.keys(), sum(own.values())
        return sum(own[name] for name in wanted) / total if wanted and total > 0 else None


_digests: dict[int, tuple[weakref.ref[UInt8Image], str]] = {}


def _digest(pixels: UInt8Image) -> str:
    """What distinguishes one picture from another; computed once for an array that cannot be written to."""
    known = _digests.get(id(pixels))
    if known is not None and known[0]() is pixels:
        return known[1]
    digest = f"{pixels.shape}{hashlib.sha256(pixels.data).hexdigest()}"
    if not pixels.flags.writeable:
        place = id(pixels)
        _digests[place] = weakref.ref(pixels, lambda _: _digests.pop(place, None)), digest
    return digest
