"""What is in focus: of a part, of the subject, and of the subject against its background."""

from __future__ import annotations

import cv2

from agenticiqa.models.offline.looking import Look
from agenticiqa.models.offline.readings.damage import READ, damage_told
from agenticiqa.models.offline.readings.scales import chances_at, placed
from agenticiqa.models.offline.readings.told import Told, reader
from agenticiqa.pictures.images import Box
from agenticiqa.vision.network import Floats
from agenticiqa.vision.saliency_map import saliency_map
from agenticiqa.vision.scene import Scene

IN_FOCUS = (0.05, 0.25, 0.45, 0.60, 0.75)
"""Mean chance of being in focus, by the vision model's map, at wholly out of to wholly in focus."""
APART = (0.0, 0.12, 0.24, 0.36, 0.60)
"""How much more the subject is in focus than the rest, at a deep to a shallow depth of field."""
STANDS_OUT = 0.5
LEAST, MOST = 0.02, 0.85


def focus_map(look: Look) -> Floats:
    """Of the whole picture, whichever part is looked at: what surrounds a part tells how sharp it could be."""
    scene = look.scene if look.box is None else Scene.of(look.scene.vision, look.image.rgb)
    return scene.vision.focus(scene.sight)


def subject_and_rest(look: Look) -> tuple[float, float] | None:
    """How much of the subject and of the rest is in focus; None where nothing stands out."""
    stands_out = saliency_map(look.image) >= STANDS_OUT
    if not LEAST <= float(stands_out.mean()) <= MOST:
        return None
    found = cv2.resize(focus_map(look), stands_out.shape[::-1], interpolation=cv2.INTER_LINEAR)
    return float(found[stands_out].mean()), float(found[~stands_out].mean())


@reader("in_focus")
def in_focus(look: Look) -> Told:
    """A part by the map of focus; the whole by whether it looks blurred by a missed focus."""
    if look.box is None:
        return damage_told(look, READ["in_focus"])
    share = _share_in(focus_map(look), look.box, look.image.size)
    amount = placed(share, IN_FOCUS)
    word = "in focus" if amount > 0.6 else "out of focus" if amount < 0.4 else "only partly in focus"
    return Told(
        f"This part is {word} ({share:.0%} by the map of focus).",
        amounts=chances_at(amount),
        numbers={"in_focus": round(share, 3)},
    )


def _share_in(found: Floats, box: Box, size: tuple[int, int]) -> float:
    """The mean of a map's cells inside a box, at least of the one in its middle."""
    rows, columns = found.shape
    width, height = size
    top, bottom = box.y * rows / height, (box.y + box.height) * rows / height
    left, right = box.x * columns / width, (box.x + box.width) * columns / width
    down = slice(int(top + 0.5), int(bottom + 0.5)) if bottom - top >= 1 else slice(int((top + bottom) / 2), None)
    across = slice(int(left + 0.5), int(right + 0.5)) if right - left >= 1 else slice(int((left + right) / 2), None)
    inside = found[down, across]
    return float(inside.mean() if bottom - top >= 1 and right - left >= 1 else inside[0, 0])


@reader("background_blurred")
def background_blurred(look: Look) -> Told | None:
    """A shallow depth of field: the subject in focus, the rest not. The subject is guessed by what stands out."""
    parts = subject_and_rest(look)
    if parts is None:
        return None
    subject, rest = parts
    amount = placed(subject - rest, APART)
    if amount >= 0.625:
        said = "The background is blurred against the subject: a shallow depth of field"
    else:
        said = "Subject and background are about equally sharp: a deep depth of field"
    return Told(
        f"{said} (in focus: subject {subject:.0%}, rest {rest:.0%}).",
        amounts=chances_at(amount),
        guess=True,
        numbers={"subject": round(subject, 3), "rest": round(rest, 3)},
    )
