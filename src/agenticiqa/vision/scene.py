"""A picture the vision model has seen: its reading in words, corrected by facts that the model does not know."""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from agenticiqa.pictures.images import UInt8Image
from agenticiqa.vision.network import Features, Floats, Judgement, LRUCache, Prepared, Vision
from agenticiqa.vision.picture_facts import PictureFacts, facts_of
from agenticiqa.vocabulary import flaw_titles, flaws_meant, kind_titles, kinds_seen_as

LEVELS = (1, 2, 3, 4, 5)
LEAST_SIDE = 32
"""Below this the model has nothing to look at."""
FLAW_THRESHOLD = 0.5


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
    """Probability of each sort of picture: photograph, painting, drawing, sketch, screen, document."""
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

    @property
    def sort(self) -> str:
        """The likeliest sort of picture."""
        return max(self.sorts, key=lambda name: self.sorts[name])

    def presence(self, category: str) -> float:
        """The chance that a category is visible at all."""
        return 1 - self.severity_probabilities[category][0]


@dataclass(frozen=True, eq=False)
class Scene:
    """A picture the model has looked at once."""

    vision: Vision
    features: Features
    facts: PictureFacts

    # All three agents and the tool look at the same picture and at the same parts of it: looking is what costs time.
    _seen: ClassVar = LRUCache[tuple[Features, PictureFacts]](max_size=12)

    @classmethod
    def of(cls, vision: Vision, rgb: UInt8Image) -> Scene:
        """A look at pixels; those looked at last are remembered."""
        pixels = np.ascontiguousarray(rgb)
        seen = cls._seen.get((vision, _digest(pixels)), lambda: (vision.look(pixels), facts_of(pixels)))
        return cls(vision, *seen)

    @classmethod
    def of_all(cls, vision: Vision, pictures: Sequence[tuple[Prepared, PictureFacts]]) -> list[Scene]:
        """Several pictures looked at and judged together; each as if it were alone."""
        seen = vision.see([each for each, _ in pictures])
        return cls.of_seen(vision, [(each, facts) for each, (_, facts) in zip(seen, pictures, strict=True)])

    @classmethod
    def of_seen(cls, vision: Vision, pictures: Sequence[tuple[Features, PictureFacts]]) -> list[Scene]:
        """The same of pictures that were looked at."""
        seen = [each for each, _ in pictures]
        judged = vision.judge_all(seen)
        scenes = [cls(vision, features, facts) for features, facts in pictures]
        for place, scene in enumerate(scenes):
            vars(scene)["judgement"] = judged.place(place)
        return scenes

    @cached_property
    def judgement(self) -> Judgement:
        """Of the whole picture."""
        return self.vision.judge(self.features)

    @cached_property
    def focus(self) -> Floats:
        """The chance of every cell to be in focus, rows × columns."""
        return self.vision.focus(self.features)

    def read(self) -> Reading:
        """What the model says of the whole picture."""
        judged = self.judgement
        severities = zip(self.vision.categories, judged.severities[0].tolist(), strict=True)
        return Reading(
            score=float(judged.score[0]),
            level_probabilities=dict(zip(LEVELS, judged.levels[0].tolist(), strict=True)),
            severity_probabilities={name: tuple(chances) for name, chances in severities},
            kinds=dict(zip(self.vision.kinds, judged.kinds[0].tolist(), strict=True)),
            flaws=dict(zip(self.vision.flaws, judged.flaws[0].tolist(), strict=True)),
            sorts=dict(zip(self.vision.sorts, judged.sorts[0].tolist(), strict=True)),
            generated=float(judged.generated[0]),
        )

    def read_adjusted(self) -> Reading:
        """The same, corrected by facts and by what a shallow depth of field explains: what answers are made of."""
        found = adjusted_by_facts(self.read(), self.facts)
        return adjusted_by_focus(found, self.focus) if looks_blurred_by_focus(found) else found

    @cached_property
    def has_shallow_depth(self) -> bool:
        """Whether what looks blurred is a soft rest behind a clearly sharp part: a choice, no blurred picture."""
        return looks_blurred_by_focus(adjusted_by_facts(self.read(), self.facts)) and is_shallow(self.focus)

    def score_map(self) -> Floats:
        """The quality of every cell with its neighbours, rows × columns, 1 (bad) to 5."""
        rows, columns = self.features.cells.shape[:2]
        return np.asarray(self.vision.map(self.features).score.reshape(rows, columns), np.float32)

    def _kinds_of(self, category: str, reading: Reading) -> dict[str, float]:
        own = [kind["name"] for kind in self.vision.about["kinds"] if kind["category"] == category]
        return {name: reading.kinds[name] for name in own}

    def likeliest_kind(self, category: str, reading: Reading) -> tuple[str | None, float]:
        """A category's likeliest kind by title, and its share; a flaw that is there comes first."""
        flaws = {name: reading.flaws[name] for name, of in self.vision.flaws.items() if of == category}
        named = {name: chance for name, chance in flaws.items() if name in flaw_titles() and chance > FLAW_THRESHOLD}
        if named:
            clearest = max(named, key=lambda each: named[each])
            return flaw_titles()[clearest], min(1.0, named[clearest] / max(reading.presence(category), 1e-6))
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


# --- readings corrected by facts: the vision model has learnt from photographs ---


LOSSLESS_COLOURS = 2048
"""Compression and noise leave more colours than this in a drawn picture of ordinary size."""
NON_PHOTO_WEIGHT = 0.8
"""How much of the model's verdict on the level gives way when the picture is no photograph."""
# A screen, a drawing or a page is as bright, as hard and as colourful as it was made.
_LIGHT_AND_COLOUR = ("Brightness change", "Contrast", "Color distortions")
_NEEDS_COLOURS = ("Compression", "Noise", "Spatial distortions")
_EXPOSURE = "Brightness change"
GREY = 2.0
"""Below this colourfulness a photograph is black and white."""
BLACK, WHITE = 18.0, 237.0
"""Mean brightness beyond which a photograph is badly exposed: 912 good ones lie between 29 and 212."""
CERTAIN_FLAW_CHANCE = 0.75
_BLUR = "Blurs"
CLEARLY_IN_FOCUS, LEAST_IN_FOCUS, REST_IN_FOCUS = 0.7, 0.03, 0.2
"""A place in focus; how much of a picture with a shallow depth of field is; and what half of the rest stays below."""
INTENDED_BLUR_CHANCE = 0.35
"""The chance that remains of a blur that a shallow depth of field explains."""
_NONE = (1.0, 0.0, 0.0, 0.0, 0.0)
# Levels 1 to 5 of a picture that is no photograph, sound as far as can be measured, and damaged.
_SOUND = dict(zip(LEVELS, (0.05, 0.10, 0.25, 0.35, 0.25), strict=True))
_DAMAGED = dict.fromkeys(LEVELS, 0.2)
# A picture that shows nothing is bad, whatever the model says.
_BAD = dict(zip(LEVELS, (0.9, 0.07, 0.01, 0.01, 0.01), strict=True))


def adjusted_by_facts(reading: Reading, facts: PictureFacts) -> Reading:
    """The model's reading, corrected by facts it does not know.

    A picture that shows nothing is bad; one that is not a photograph is judged less surely. A photograph without
    colours has no wrong ones, and one that is nearly black or white all over, or clipped in its lights and colours, is
    wrongly exposed.
    """
    burnt = facts.clipped.chance > 0.5 and reading.sorts["photograph"] > 0.5
    if facts.content == "photograph" or (burnt and facts.content in ("page", "drawn")):
        if facts.colourfulness < GREY:
            reading = _without(reading, ("Color distortions",))
        return _exposed(reading, facts.brightness, burnt=burnt)
    if facts.content == "noise":
        return reading.with_levels(_BAD)
    if facts.content == "blank":
        return _without(reading, tuple(reading.severity_probabilities)).with_levels(_BAD)
    lossless = facts.content == "drawn" and (facts.colours or 0) < LOSSLESS_COLOURS
    found = _without(reading, (*_LIGHT_AND_COLOUR, *(_NEEDS_COLOURS if lossless else ())))
    sound = all(severity < 1 for severity in found.severity.values())
    fallback = _SOUND if sound else _DAMAGED
    levels = {
        n: (1 - NON_PHOTO_WEIGHT) * p + NON_PHOTO_WEIGHT * fallback[n] for n, p in reading.level_probabilities.items()
    }
    return found.with_levels(levels)


_OTHERWISE = {"drawn": "drawing", "page": "page", "noise": "noise", "blank": "blank"}
_DRAWN_SORTS = {
    "drawn": ("screen", "painting", "drawing", "sketch", "document"),
    "page": ("screen", "sketch", "document"),
}


def sort_of(reading: Reading, facts: PictureFacts) -> str:
    """Photograph, painting, drawing, sketch, screen, document, page, generated, noise or blank."""
    likeliest = reading.sort
    if facts.content != "photograph":
        # That it is no photograph was measured; which of the drawn sorts it is, the model tells.
        drawn = facts.content in ("drawn", "page") and likeliest in _DRAWN_SORTS[facts.content]
        return likeliest if drawn else _OTHERWISE[facts.content]
    return "generated" if reading.generated > FLAW_THRESHOLD and likeliest != "screen" else likeliest


def looks_blurred_by_focus(reading: Reading) -> bool:
    """Whether there is a blur that a depth of field could explain: one of the lens, not of motion."""
    return reading.presence(_BLUR) > 0.5 and reading.flaws["motion_blur"] < 0.5


def is_shallow(focus: Floats) -> bool:
    """Whether a clearly sharp part stands before a soft rest. ``focus``: chances by place."""
    sharp = float((focus > CLEARLY_IN_FOCUS).mean())
    return sharp >= LEAST_IN_FOCUS and float(np.median(focus)) <= REST_IN_FOCUS


def adjusted_by_focus(reading: Reading, focus: Floats) -> Reading:
    """A clearly sharp part before a soft rest is a choice of depth, no blurred picture."""
    return blur_at_most(reading, INTENDED_BLUR_CHANCE, ("out_of_focus", "blurry")) if is_shallow(focus) else reading


def blur_at_most(reading: Reading, most: float, flaws: tuple[str, ...]) -> Reading:
    """A reading whose chance of blur, and of these flaws, is no more than that."""
    none, *rest = reading.severity_probabilities[_BLUR]
    if 1 - none <= most:
        return reading
    kept = most / (1 - none)
    return replace(
        reading,
        flaws=reading.flaws | {name: min(reading.flaws[name], most) for name in flaws},
        severity_probabilities=reading.severity_probabilities
        | {_BLUR: (1 - most, *(kept * chance for chance in rest))},
    )


def _exposed(reading: Reading, brightness: float, *, burnt: bool) -> Reading:
    flaw = "too_dark" if brightness < BLACK else "too_bright" if brightness > WHITE or burnt else None
    if flaw is None or reading.flaws[flaw] >= CERTAIN_FLAW_CHANCE:
        return reading
    none, *rest = reading.severity_probabilities[_EXPOSURE]
    total = sum(rest)
    shares = [chance / total for chance in rest] if total > 0 else [0.0, 0.0, 1.0, 0.0]
    there = max(1 - none, CERTAIN_FLAW_CHANCE)
    exposure = {_EXPOSURE: (1 - there, *(there * share for share in shares))}
    return replace(
        reading,
        flaws=reading.flaws | {flaw: CERTAIN_FLAW_CHANCE},
        severity_probabilities=reading.severity_probabilities | exposure,
    )


def _without(reading: Reading, categories: tuple[str, ...]) -> Reading:
    return replace(reading, severity_probabilities=reading.severity_probabilities | dict.fromkeys(categories, _NONE))
