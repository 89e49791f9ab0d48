"""What draws the eye and where it lies; how much of the frame is empty or crowded."""

from __future__ import annotations

import cv2
import numpy as np

from agenticiqa.models.offline.looking import Look
from agenticiqa.models.offline.readings.scales import chance_above, chances_at, pixels_of, placed
from agenticiqa.models.offline.readings.told import Told, reader
from agenticiqa.pictures.images import Box, LoadedImage
from agenticiqa.vision.appearance.subject import Subject, subject_of
from agenticiqa.vision.appearance.symmetry import likeness
from agenticiqa.vision.appearance.views import band_passed, lightness, reduced
from agenticiqa.vision.saliency_map import saliency_map

SIDE = 512
EMPHASIS = (0.15, 0.35, 0.55, 0.72, 0.88)
"""How much more the subject stands out than the rest."""
ATTENTION = (0.3, 0.7, 1.2, 2.0, 3.5)
"""Of a part: its share of what stands out over its share of the frame."""
CENTRED, EDGE = 0.22, 0.62
"""Distance of the subject from the middle, 1 at an edge: below the first it is centred, above the second at an edge."""
THIRDS = (0.30, 0.22, 0.16, 0.11, 0.05)
"""Distance to the nearest crossing of thirds, in shares of the frame, at off to on the thirds."""
CLUTTER = (0.40, 0.70, 0.80, 0.90, 1.0)
"""Share of the frame that edges fill at calm to crowded."""
SMALL, CLEAR = 0.06, 0.6
"""A subject that covers less and stands out more than this may be shown larger …"""
ROOM, LEAST_CROP, MOST_OF_FRAME = 2.2, 0.5, 0.75
"""… with so much of its own size around it, within these shares of the sides."""
EMPTY = (0.10, 0.30, 0.50, 0.70, 0.88)
PLAIN = 0.02
"""A cell whose lightness varies less than this holds nothing."""


def subject(look: Look) -> Subject | None:
    """Of the whole picture, whichever part is looked at: where something lies is a matter of the frame."""
    return subject_of(saliency_map(look.image))


def crop_around(found: Subject, size: tuple[int, int]) -> Box | None:
    """A box of the picture's shape that leaves a small, clear subject some room; None where there is nothing to crop.

    >>> spot = Subject(0.3, 0.5, 0.04, 0.9, 0.2, 0.4, 0.4, 0.6)
    >>> crop_around(spot, (1000, 500))
    Box(x=50, y=125, width=500, height=250)
    """
    side = ROOM * max(found.right - found.left, found.bottom - found.top)
    if found.share > SMALL or found.clearness < CLEAR or side > MOST_OF_FRAME:
        return None
    side = max(side, LEAST_CROP)
    width, height = size
    middle = (found.left + found.right) / 2, (found.top + found.bottom) / 2
    left, top = (min(max(0.0, at - side / 2), 1 - side) for at in middle)
    return Box(round(left * width), round(top * height), round(side * width), round(side * height))


@reader("emphasised")
def emphasised(look: Look) -> Told:
    """Of the picture: whether anything stands out; of a part: whether it draws more than its share of the eye."""
    if look.box is not None:
        return _of_part(look.image, look.box)
    found = subject(look)
    if found is None:
        return Told("Nothing stands out from the rest.", amounts=chances_at(0.0))
    amount = placed(found.clearness, EMPHASIS)
    return Told(
        f"The eye goes to the {_position(found)}: what stands out there covers {found.share:.0%} of the frame.",
        amounts=chances_at(amount, 0.15),
        numbers={"x": round(found.x, 3), "y": round(found.y, 3), "share": round(found.share, 3)},
    )


def _of_part(image: LoadedImage, box: Box) -> Told:
    width, height = image.size
    stands_out = saliency_map(image)
    rows, columns = stands_out.shape
    top, bottom = (round(each * rows / height) for each in (box.y, box.y + box.height))
    left, right = (round(each * columns / width) for each in (box.x, box.x + box.width))
    inside = stands_out[top : max(bottom, top + 1), left : max(right, left + 1)]
    share = float(inside.sum()) / max(float(stands_out.sum()), 1e-6)
    area = inside.size / stands_out.size
    ratio = share / area
    amount = placed(ratio, ATTENTION)
    said = "stands out" if ratio > 1.2 else "does not stand out"
    return Told(
        f"This part {said}: it holds {share:.0%} of what draws the eye, on {area:.0%} of the frame.",
        amounts=chances_at(amount),
        numbers={"share_of_attention": round(share, 3), "ratio": round(ratio, 2)},
    )


@reader("composition")
def composition(look: Look) -> Told | None:
    """Where the subject lies; how well that looks is not for a measurement to say."""
    found = subject(look)
    if found is None:
        return None
    mirrored = max(likeness(look.image.rgb).values())
    places = position_chances(found)
    centred = max(places, key=lambda name: places[name]) == "centred"
    where = "near the middle" if centred and _position(found) != "middle" else f"in the {_position(found)}"
    return Told(
        f"The subject lies {where} of the frame.",
        values=places | {"symmetrical": chance_above(mirrored, 0.5, 0.08)},
        numbers={"x": round(found.x, 3), "y": round(found.y, 3), "share": round(found.share, 3)},
    )


def position_chances(found: Subject) -> dict[str, float]:
    """Centred, on the thirds or at an edge: the three sum to one."""
    edge = chance_above(found.from_centre, EDGE, 0.06)
    centred = (1 - edge) * chance_above(-found.from_centre, -CENTRED, 0.05)
    return {"centred": centred, "edge": edge, "thirds": max(0.0, 1 - edge - centred)}


def _position(found: Subject) -> str:
    down = "upper" if found.y < 0.42 else "lower" if found.y > 0.58 else ""
    across = "left" if found.x < 0.42 else "right" if found.x > 0.58 else ""
    if not down and not across:
        return "middle"
    return f"{' '.join(filter(None, (down, across)))} part"


@reader("rule_of_thirds")
def rule_of_thirds(look: Look) -> Told | None:
    """How near the subject's middle is to a crossing of the lines of thirds."""
    found = subject(look)
    if found is None:
        return None
    amount = placed(found.from_thirds, THIRDS)
    said = "on" if amount > 0.6 else "near" if amount > 0.35 else "off"
    return Told(
        f"The subject lies {said} the crossings of thirds: {found.from_thirds:.0%} of the frame away from the nearest.",
        amounts=chances_at(amount),
        numbers={"distance": round(found.from_thirds, 3)},
    )


@reader("empty")
def empty(look: Look) -> Told:
    """How much of the frame shows nothing but a smooth ground."""
    share = _plain_share(look)
    amount = placed(share, EMPTY)
    return Told(
        f"{share:.0%} of the frame is plain, without any structure.",
        amounts=chances_at(amount),
        numbers={"plain_share": round(share, 3)},
    )


def _plain_share(look: Look) -> float:
    light = lightness(reduced(pixels_of(look), SIDE))
    detail = band_passed(light, 0.8, 8.0) ** 2
    rows, columns = (max(1, side // 16) for side in light.shape)
    cells = cv2.resize(detail, (columns, rows), interpolation=cv2.INTER_AREA)
    return float((np.sqrt(cells) < PLAIN).mean())


@reader("cluttered")
def cluttered(look: Look) -> Told:
    """How densely edges fill the frame (Rosenholtz, Li and Nakano, Measuring visual clutter, 2007): a guess."""
    light = np.rint(255 * lightness(reduced(pixels_of(look), SIDE))).astype(np.uint8)
    edges = cv2.Canny(cv2.GaussianBlur(light, (0, 0), 1.5), 30, 80) > 0
    share = float(cv2.blur(edges.astype(np.float32), (9, 9)).clip(0, 0.12).mean() / 0.12)
    amount = placed(share, CLUTTER)
    said = "Crowded" if amount > 0.4 else "Not crowded" if amount < 0.125 else "A little crowded"
    return Told(
        f"{said}: edges fill {share:.0%} of the frame.",
        amounts=chances_at(amount, 0.18),
        guess=True,
        numbers={"edge_share": round(share, 3)},
    )
