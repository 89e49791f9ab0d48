"""What the embedded backend sees in a picture or in a part of it: the vision model's reading and the measurements."""

from __future__ import annotations

import threading
from collections import OrderedDict
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import cached_property
from math import erf, inf, sqrt

import numpy as np

from agenticiqa.embedded.measures import LookMeasures
from agenticiqa.pictures.images import Box, LoadedImage
from agenticiqa.state import ExecutorOutput
from agenticiqa.tools import aiqa_fr
from agenticiqa.vision.network import Vision
from agenticiqa.vision.picture_facts import PictureFacts, facts_of
from agenticiqa.vision.scene import (
    LEVELS,
    Reading,
    Scene,
    blur_at_most,
)
from agenticiqa.vocabulary import CATEGORIES, SEVERITIES, UNCHANGED_OPINION

CLEARLY_SHARP = 0.5
MAX_CACHED = 4
"""Looks kept; each holds its picture …"""
MAX_CACHED_PIXELS = 16_000_000
"""… so that of large ones fewer are: the pictures of all but the newest look must fit into this many pixels."""


@dataclass(frozen=True)
class Look:
    """One region of one picture."""

    scene: Scene
    image: LoadedImage
    box: Box | None = None
    beside: dict[int, float] | None = None
    """Chances of the levels beside a reference."""
    sharp_within: float = 0.0
    """Of a part: the chance that it is sharp, seen within its picture, which tells more than its few pixels alone."""

    @cached_property
    def reading(self) -> Reading:
        # A part may well be blank (a clear sky): only a whole picture is called no photograph.
        found = self.scene.read_adjusted() if self.box is None else self.scene.read()
        if self.box is not None and self.sharp_within > CLEARLY_SHARP:
            found = blur_at_most(found, 1 - self.sharp_within, ("out_of_focus", "blurry", "motion_blur"))
        return found if self.beside is None else found.with_levels(self.beside)

    @property
    def has_shallow_depth(self) -> bool:
        """Whether what looks blurred in the whole picture is a soft rest behind a clearly sharp part."""
        return self.box is None and self.scene.has_shallow_depth

    @cached_property
    def facts(self) -> PictureFacts:
        """Of the whole picture, whichever part is looked at."""
        return self.scene.facts if self.box is None else facts_of(self.image.rgb)

    @property
    def is_photograph(self) -> bool:
        return self.facts.content == "photograph" and self.reading.sort == "photograph"

    def part(self, box: Box) -> Look:
        """A look at a region as a picture of its own: within its picture, soft parts would pass as intended."""
        features = self.scene.features
        cell = self.scene.vision.about["cell"] / features.scale
        rows, columns = (
            slice(int(start / cell), max(int(start / cell) + 1, round((start + length) / cell)))
            for start, length in ((box.y, box.height), (box.x, box.width))
        )
        focus = float(self.scene.focus[rows, columns].mean())
        within = focus * (1 - self.reading.presence("Blurs"))
        rgb = np.ascontiguousarray(self.image.rgb[box.rows, box.columns])
        return Look(Scene.of(self.scene.vision, rgb), self.image, box, sharp_within=within)

    @cached_property
    def measures(self) -> LookMeasures:
        return LookMeasures(self.image.crop(self.box) if self.box else self.image.measurable)

    def severity(self, category: str) -> float:
        """Expected severity, 0 (none) to 4 (extreme)."""
        return self.reading.severity[category]

    @cached_property
    def in_focus(self) -> float:
        """The share of the region that is in focus."""
        return float(self.scene.focus.mean())

    @cached_property
    def sharpest(self) -> float:
        """How much its sharpest tenth is in focus: where nothing is, people call a picture blurry."""
        return float(np.percentile(self.scene.focus, 90))

    def severity_name(self, category: str) -> str:
        """The median of the severities' distribution: a small chance of something bad does not make it seen."""
        below = np.cumsum(self.reading.severity_probabilities[category])
        return SEVERITIES[int(np.searchsorted(below, 0.5).clip(0, len(SEVERITIES) - 1))]

    def visible(self) -> list[str]:
        """Categories that a viewer would notice, the worst first."""
        found = [name for name in CATEGORIES if self.severity_name(name) != "none"]
        return sorted(found, key=self.severity, reverse=True)


class Looker:
    """Looks at pictures; what was looked at last is remembered, because the agents ask about it one after another."""

    def __init__(self, vision: Vision) -> None:
        self._vision = vision
        self._lock = threading.Lock()
        self._cache: OrderedDict[tuple[str, Box | None], Look] = OrderedDict()
        self._pending: dict[tuple[str, Box | None], Future[Look]] = {}

    def look(self, image: LoadedImage, box: Box | None = None) -> Look:
        """What is remembered, what another thread is looking at already, or a new look."""
        key = (image.sha256, box)
        with self._lock:
            if key in self._cache:
                return self._cache[key]
            elsewhere = self._pending.get(key)
            if elsewhere is None:
                here = self._pending[key] = Future()
        if elsewhere is not None:
            return elsewhere.result()
        try:
            found = self.look(image).part(box) if box is not None else Look(Scene.of(self._vision, image.rgb), image)
            with self._lock:
                self._cache[key] = found
                while len(self._cache) > MAX_CACHED or self._older_pixels(image) > MAX_CACHED_PIXELS:
                    self._cache.popitem(last=False)
            here.set_result(found)
        except BaseException as error:
            here.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._pending[key]
        return found

    def _older_pixels(self, newest: LoadedImage) -> int:
        older = {look.image.sha256: look.image.size for look in self._cache.values()}
        older.pop(newest.sha256, None)
        return sum(width * height for width, height in older.values())


# --- With a reference ---


BLIND_SHARE = 0.25
"""What the look at the damaged picture alone still counts. It adds what people say of kinds of damage that it knows (on
validation pictures of the protocol the rank correlation rises from 0.856 to 0.893, on CSIQ from 0.967 to 0.976), and
misleads where it does not know them."""
BLIND_FADE_RANGE = 0.3
"""So far below AIQA_FR's score of a picture that equals its reference the blind look counts in full; nearer to it less,
because what it finds is in the reference too."""


def beside(look: Look, reference: LoadedImage, name: str, evidence: ExecutorOutput) -> Look:
    """The same look, with levels that take the reference into account; pictures of other sizes cannot be compared."""
    if reference.size != look.image.size:
        return look
    logs = [log for log in evidence.tool_logs if log.tool == aiqa_fr.SPEC.name and log.object == name]
    score = next((log.raw_score for log in reversed(logs) if log.raw_score is not None), None)
    if score is None:
        pair = (look.image, reference)
        pixels = (each.measurable if look.box is None else each.crop(look.box) for each in pair)
        score = aiqa_fr.measure(*pixels).value
    return replace(look, beside=level_chances(score, look.reading))


def level_chances(score: float, blind: Reading) -> dict[int, float]:
    """Mostly how often people say each level where AIQA_FR says ``score``.

    >>> blind = Reading(3.0, dict.fromkeys(range(1, 6), 0.2), {}, {}, {}, {}, 0.0)
    >>> {level: round(chance, 2) for level, chance in level_chances(4.0, blind).items()}
    {1: 0.05, 2: 0.05, 3: 0.17, 4: 0.55, 5: 0.18}
    """
    share = BLIND_SHARE * min(1.0, max(0.0, UNCHANGED_OPINION - score) / BLIND_FADE_RANGE)
    spread = aiqa_fr.fused_model().spread
    edges = [-inf, *(level + 0.5 for level in LEVELS[:-1]), inf]
    below = [(1 + erf((edge - score) / (spread * sqrt(2)))) / 2 for edge in edges]
    return {
        level: (1 - share) * (below[place + 1] - below[place]) + share * blind.level_probabilities[level]
        for place, level in enumerate(LEVELS)
    }
