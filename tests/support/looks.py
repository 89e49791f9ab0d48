"""Looks at no picture: readings made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from agenticiqa.embedded.looking import Look
from agenticiqa.embedded.measures import LookMeasures
from agenticiqa.vision.network import load_vision
from agenticiqa.vision.picture_facts import facts_of
from agenticiqa.vision.scene import Reading, Scene
from agenticiqa.vocabulary import CATEGORIES
from support.drawn import loaded

CLEAN, SLIGHT, SEVERE = (0.98, 0.02, 0.0, 0.0, 0.0), (0.3, 0.6, 0.1, 0.0, 0.0), (0.0, 0.05, 0.15, 0.7, 0.1)
SORTS = ("photograph", "painting", "drawing", "sketch", "screen", "document")


def made_look(
    damaged: Mapping[str, tuple[float, ...]] | None = None,
    *,
    kinds: Mapping[str, float] | None = None,
    flaws: Mapping[str, float] | None = None,
    levels: tuple[float, ...] = (0.0, 0.0, 0.1, 0.3, 0.6),
    sorts: Mapping[str, float] | None = None,
    generated: float = 0.0,
) -> Any:
    """A look whose categories are clean but for those named; ``kinds`` share what speaks for them."""
    vision = load_vision()
    chances = dict(zip(range(1, 6), levels, strict=True))
    pixels = np.full((64, 64, 3), 120, np.uint8)
    reading = Reading(
        score=sum(level * chance for level, chance in chances.items()),
        level_probabilities=chances,
        severity_probabilities={name: (damaged or {}).get(name, CLEAN) for name in CATEGORIES},
        kinds=dict.fromkeys(vision.kinds, 1e-4) | dict(kinds or {}),
        flaws=dict.fromkeys(vision.flaws, 0.0) | dict(flaws or {}),
        sorts=dict.fromkeys(SORTS, 0.0) | dict(sorts or {"photograph": 1.0}),
        generated=generated,
    )
    scene = Scene(vision, None, facts_of(pixels))  # type: ignore[arg-type]
    image = loaded(pixels)
    made = SimpleNamespace(
        reading=reading,
        scene=scene,
        image=image,
        measures=LookMeasures(pixels),
        facts=scene.facts,
        box=None,
        beside=None,
    )
    for method in (Look.severity, Look.severity_name, Look.visible):
        setattr(made, method.__name__, method.__get__(made))
    return made
