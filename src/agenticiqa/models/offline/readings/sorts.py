"""What sort of picture it is, and whether a camera or a generator made it."""

from __future__ import annotations

from agenticiqa.models.offline.looking import Look
from agenticiqa.models.offline.readings.told import Told, reader

# The vision model's sorts by the vocabulary's values.
_SORTS = {
    "photo": ("photograph",),
    "painting": ("painting",),
    "drawing": ("drawing", "sketch"),
    "sketch": ("sketch",),
    "screenshot": ("screen",),
}
_CALLED = {"photograph": "a photograph", "screen": "a screenshot", "drawing": "a drawing", "painting": "a painting"}


@reader("picture_kind")
def picture_kind(look: Look) -> Told:
    """Photograph, painting, drawing, sketch or screen; ``generated`` beside them, since it excludes none."""
    sorts = look.reading.sorts
    values = {value: sum(sorts[name] for name in names) for value, names in _SORTS.items()}
    return Told(_sentence(look), values=values | {"generated": look.reading.generated}, within={"sketch": "drawing"})


@reader("real")
def real(look: Look) -> Told:
    """Taken with a camera, or made by a generator."""
    made = look.reading.generated
    return Told(_sentence(look), amounts=(made, 0.0, 0.0, 0.0, 1 - made), numbers={"chance_generated": round(made, 4)})


def _sentence(look: Look) -> str:
    sorts, made = look.reading.sorts, look.reading.generated
    sort = max(sorts, key=lambda name: sorts[name])
    called = _CALLED.get(sort, f"a {sort}")
    return f"The picture looks like {called} ({sorts[sort]:.0%}); the chance that a program generated it is {made:.0%}."
