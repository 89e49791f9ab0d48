"""What the embedded backend sees in a picture or in a part of it: the vision model's reading and the measurements."""

from __future__ import annotations

import threading
from collections import OrderedDict
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from agenticiqa.models.offline.measures import Measures
from agenticiqa.pictures.images import Box, LoadedImage
from agenticiqa.vision.network import Vision
from agenticiqa.vision.photographic import looks_blurred_by_focus, tempered_by_facts, tempered_by_focus
from agenticiqa.vision.picture_facts import PictureFacts, facts_of
from agenticiqa.vision.scene import Reading, Scene
from agenticiqa.vocabulary import CATEGORIES, SEVERITIES

REMEMBERED = 4
"""Looks kept; each holds its picture …"""
REMEMBERED_PIXELS = 16_000_000
"""… so that of large ones fewer are: the pictures of all but the newest look must fit into this many pixels."""


@dataclass(frozen=True)
class Look:
    """One region of one picture."""

    scene: Scene
    image: LoadedImage
    box: Box | None = None
    beside: dict[int, float] | None = None
    """Chances of the levels beside a reference."""

    @cached_property
    def reading(self) -> Reading:
        found = self.scene.read()
        # A part may well be blank (a clear sky): only a whole picture is called no photograph.
        if self.box is None:
            found = tempered_by_facts(found, self.facts)
            if looks_blurred_by_focus(found):
                found = tempered_by_focus(found, self.scene.vision.focus(self.scene.sight))
        return found if self.beside is None else found.with_levels(self.beside)

    @cached_property
    def facts(self) -> PictureFacts:
        """Of the whole picture, whichever part is looked at."""
        return self.scene.facts if self.box is None else facts_of(self.image.rgb)

    def part(self, box: Box) -> Look:
        """A look at a region as a picture of its own.

        Read within its picture, a soft background would pass as intended; asked about, it is soft.
        """
        rgb = self.image.rgb[box.y : box.y + box.height, box.x : box.x + box.width]
        return Look(Scene.of(self.scene.vision, rgb), self.image, box)

    @cached_property
    def measures(self) -> Measures:
        return Measures(self.image.crop(self.box) if self.box else self.image.measurable)

    def severity(self, category: str) -> float:
        """Expected severity, 0 (none) to 4 (extreme)."""
        return self.reading.severity[category]

    @cached_property
    def in_focus(self) -> float:
        """The share of the region that is in focus."""
        return float(self.scene.vision.focus(self.scene.sight).mean())

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
        self._seen: OrderedDict[tuple[str, Box | None], Look] = OrderedDict()
        self._looking: dict[tuple[str, Box | None], Future[Look]] = {}

    def look(self, image: LoadedImage, box: Box | None = None) -> Look:
        """What is remembered, what another thread is looking at already, or a new look."""
        key = (image.sha256, box)
        with self._lock:
            if key in self._seen:
                return self._seen[key]
            elsewhere = self._looking.get(key)
            if elsewhere is None:
                here = self._looking[key] = Future()
        if elsewhere is not None:
            return elsewhere.result()
        try:
            found = self._new_look(image, box)
            with self._lock:
                self._seen[key] = found
                while len(self._seen) > REMEMBERED or self._older_pixels(image) > REMEMBERED_PIXELS:
                    self._seen.popitem(last=False)
            here.set_result(found)
        except BaseException as error:
            here.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._looking[key]
        return found

    def _new_look(self, image: LoadedImage, box: Box | None) -> Look:
        if box is not None:
            return self.look(image).part(box)
        return Look(Scene.of(self._vision, image.rgb), image)

    def _older_pixels(self, newest: LoadedImage) -> int:
        older = {look.image.sha256: look.image.size for look in self._seen.values()}
        older.pop(newest.sha256, None)
        return sum(width * height for width, height in older.values())
