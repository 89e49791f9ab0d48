"""Readings of the subject and where it lies, of arrangement, and of size."""

from dataclasses import dataclass
from math import gcd, log2

import cv2
import numpy as np

from agenticiqa.embedded.looking import Look
from agenticiqa.embedded.readings.base import PropertyReading, chance_above, chances_at, pixels_of, placed, reader
from agenticiqa.pictures.images import Box, LoadedImage
from agenticiqa.vision.appearance.segments import Subject, subject_of
from agenticiqa.vision.appearance.structure import repetition
from agenticiqa.vision.appearance.symmetry import Tilt, likeness, tilt
from agenticiqa.vision.appearance.views import band_passed, lightness, reduced
from agenticiqa.vision.locators import saliency_map

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
def emphasised(look: Look) -> PropertyReading:
    """Of the picture: whether anything stands out; of a part: whether it draws more than its share of the eye."""
    if look.box is not None:
        return _of_part(look.image, look.box)
    found = subject(look)
    if found is None:
        return PropertyReading("Nothing stands out from the rest.", amounts=chances_at(0.0))
    amount = placed(found.clearness, EMPHASIS)
    return PropertyReading(
        f"The eye goes to the {_position(found)}.",
        amounts=chances_at(amount, 0.15),
        measured=(f"What stands out there covers {found.share:.0%} of the frame.",),
        numbers={"x": round(found.x, 3), "y": round(found.y, 3), "share": round(found.share, 3)},
    )


def _of_part(image: LoadedImage, box: Box) -> PropertyReading:
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
    phrase = "stands out" if ratio > 1.2 else "does not stand out"
    return PropertyReading(
        f"This part {phrase}.",
        amounts=chances_at(amount),
        measured=(f"It holds {share:.0%} of what draws the eye, on {area:.0%} of the frame.",),
        numbers={"share_of_attention": round(share, 3), "ratio": round(ratio, 2)},
    )


@reader("composition")
def composition(look: Look) -> PropertyReading | None:
    """Where the subject lies; how well that looks is not for a measurement to say."""
    found = subject(look)
    if found is None:
        return None
    mirrored = max(likeness(look.image.rgb).values())
    # Centred, on the thirds or at an edge: the three sum to one.
    at_edge = chance_above(found.from_centre, EDGE, 0.06)
    in_centre = (1 - at_edge) * chance_above(-found.from_centre, -CENTRED, 0.05)
    places = {"centred": in_centre, "edge": at_edge, "thirds": max(0.0, 1 - at_edge - in_centre)}
    centred = max(places, key=lambda name: places[name]) == "centred"
    where = "near the middle" if centred and _position(found) != "middle" else f"in the {_position(found)}"
    return PropertyReading(
        f"The subject lies {where} of the frame.",
        values=places | {"symmetrical": chance_above(mirrored, 0.5, 0.08)},
        numbers={"x": round(found.x, 3), "y": round(found.y, 3), "share": round(found.share, 3)},
    )


def _position(found: Subject) -> str:
    down = "upper" if found.y < 0.42 else "lower" if found.y > 0.58 else ""
    across = "left" if found.x < 0.42 else "right" if found.x > 0.58 else ""
    if not down and not across:
        return "middle"
    return f"{' '.join(filter(None, (down, across)))} part"


@reader("rule_of_thirds")
def rule_of_thirds(look: Look) -> PropertyReading | None:
    """How near the subject's middle is to a crossing of the lines of thirds."""
    found = subject(look)
    if found is None:
        return None
    amount = placed(found.from_thirds, THIRDS)
    phrase = "on" if amount > 0.6 else "near" if amount > 0.35 else "off"
    return PropertyReading(
        f"The subject lies {phrase} the crossings of thirds.",
        amounts=chances_at(amount),
        measured=(f"It lies {found.from_thirds:.0%} of the frame away from the nearest crossing.",),
        numbers={"distance": round(found.from_thirds, 3)},
    )


@reader("empty")
def empty(look: Look) -> PropertyReading:
    """How much of the frame shows nothing but a smooth ground."""
    light = lightness(reduced(pixels_of(look), SIDE))
    rows, columns = (max(1, side // 16) for side in light.shape)
    cells = cv2.resize(band_passed(light, 0.8, 8.0) ** 2, (columns, rows), interpolation=cv2.INTER_AREA)
    share = float((np.sqrt(cells) < PLAIN).mean())
    amount = placed(share, EMPTY)
    return PropertyReading(
        f"{'Much' if amount > 0.5 else 'Little'} of the frame is empty.",
        amounts=chances_at(amount),
        measured=(f"{share:.0%} of the frame is plain, without any structure.",),
        numbers={"plain_share": round(share, 3)},
    )


@reader("cluttered")
def cluttered(look: Look) -> PropertyReading:
    """How densely edges fill the frame (Rosenholtz, Li and Nakano, Measuring visual clutter, 2007): a guess."""
    light = np.rint(255 * lightness(reduced(pixels_of(look), SIDE))).astype(np.uint8)
    edges = cv2.Canny(cv2.GaussianBlur(light, (0, 0), 1.5), 30, 80) > 0
    share = float(cv2.blur(edges.astype(np.float32), (9, 9)).clip(0, 0.12).mean() / 0.12)
    amount = placed(share, CLUTTER)
    phrase = "Crowded" if amount > 0.4 else "Not crowded" if amount < 0.125 else "A little crowded"
    return PropertyReading(
        f"{phrase}.",
        amounts=chances_at(amount, 0.18),
        measured=(f"Edges fill {share:.0%} of the frame.",),
        guess=True,
        numbers={"edge_share": round(share, 3)},
    )


# --- How the frame is arranged: symmetry, repetition, the level of the horizon ---


LIKENESS = (0.15, 0.32, 0.45, 0.56, 0.80)
"""Correlation with the mirror image at none to full symmetry. Of 180 photographs nine in ten lie below 0.40."""
SYMMETRIC, UNSURE = 0.5, (0.42, 0.70)
"""Between the second bounds photographs are more or less symmetric, and people differ about them."""
REPEATS = (0.15, 0.30, 0.40, 0.50, 0.75)
"""Likeness to itself at a distance. Of sixty photographs nine in ten lie below 0.33."""
REPEATING = 0.45
LEVEL = (8.0, 4.0, 2.0, 1.0, 0.3)
TILTED = 2.0
"""Degrees from which people see it."""
"""Degrees off level at falling to straight."""
ENOUGH_LINES, ENOUGH_AGREEMENT = 0.3, 0.5
_AXES = {
    "left_right_mirror": "left and right mirror each other",
    "top_bottom_mirror": "top and bottom mirror each other",
    "rotational": "it looks the same turned half round",
}


@reader("symmetric")
def symmetric(look: Look) -> PropertyReading:
    """The clearest axis decides."""
    found = likeness(pixels_of(look))
    axis = max(found, key=lambda name: found[name])
    amount = placed(found[axis], LIKENESS)
    there = {name: chance_above(value, SYMMETRIC, 0.08) for name, value in found.items()}
    mirrored = found[axis] >= SYMMETRIC
    return PropertyReading(
        f"Symmetric: {_AXES[axis]}." if mirrored else "Not symmetric: no half mirrors another.",
        measured=(f"The correlation with the mirror image is {found[axis]:.2f}.",),
        amounts=chances_at(amount),
        values=there,
        guess=UNSURE[0] <= found[axis] < UNSURE[1],
        numbers={name: round(value, 3) for name, value in found.items()},
    )


@reader("repetitive")
def repetitive(look: Look) -> PropertyReading:
    """The distance at which the picture is most like itself."""
    rgb = pixels_of(look)
    found = repetition(rgb)
    amount = placed(found.strength, REPEATS)
    if found.strength >= REPEATING:
        across, down = round(found.across * rgb.shape[1]), round(found.down * rgb.shape[0])
        phrase = f"A pattern comes back every {across} px across and {down} px down."
    else:
        phrase = "Nothing comes back at regular distances."
    measured = (f"The likeness to itself at a distance is {found.strength:.2f}.",)
    return PropertyReading(
        phrase, amounts=chances_at(amount), numbers={"likeness": round(found.strength, 3)}, measured=measured
    )


def lines_of(look: Look) -> Tilt | None:
    """The tilt, where it is sure or enough long lines agree on one."""
    found = tilt(pixels_of(look))
    if found and found.sure:
        return found
    return found if found and found.support >= ENOUGH_LINES and found.agreement >= ENOUGH_AGREEMENT else None


@reader("level")
def level(look: Look) -> PropertyReading | None:
    """A guess where lines may slope in the scene itself, and nothing where no long lines agree."""
    found = lines_of(look)
    if found is None:
        return None
    off = abs(found.degrees)
    side = "right" if found.degrees > 0 else "left"
    much = "" if off >= TILTED else " a little"
    lines = "Its level and upright lines lean" if found.sure else "Its long lines rise"
    phrase = f"{lines}{much} to the {side}" if off >= 1 else "Its long lines run level or plumb"
    return PropertyReading(
        f"{phrase}.",
        measured=(f"They are {off:.1f}° off.",),
        amounts=chances_at(placed(off, LEVEL)),
        guess=not found.sure,
        numbers={"degrees": round(found.degrees, 2)},
    )


# --- How large the picture is: pixels, shape, and the paper it is large enough for ---


MEGAPIXELS = (-2.0, 0.0, 2.0, 3.6, 5.3)
"""Doublings of one megapixel at very low to very high resolution: 0.25, 1, 4, 12, 40 megapixels."""
NEAR_DPI, FAR_DPI = 300, 150
"""Pixels per inch of a print that is held in the hand, and of one that is seen from farther away."""
TOLERANCE = 0.99
"""Sizes of paper are rounded to millimetres, pictures to pixels."""
MM_PER_INCH = 25.4


@dataclass(frozen=True)
class Paper:
    """A size that people print at; ``amount`` is its place on the axis of the vocabulary."""

    name: str
    long_mm: int
    short_mm: int
    amount: float

    def dpi(self, width: int, height: int) -> float:
        """Pixels per inch that a picture of this size has there, whole and as large as fits."""
        long, short = max(width, height), min(width, height)
        return MM_PER_INCH * max(long / self.long_mm, short / self.short_mm)


PAPERS = (
    Paper("a stamp", 40, 30, 0.1),
    Paper("a postcard", 148, 105, 0.2),
    Paper("A5", 210, 148, 0.4),
    Paper("A4", 297, 210, 0.6),
    Paper("A3", 420, 297, 0.8),
    Paper("A2", 594, 420, 0.9),
    Paper("A1", 841, 594, 1.0),
)


def print_amount(width: int, height: int, dpi: float) -> float:
    """Where on the axis of paper sizes the largest print of that fineness lies.

    >>> print_amount(4961, 3508, 300), round(print_amount(1024, 576, 300), 2)
    (0.8, 0.16)
    """
    # A paper is reached where it has as many dots per inch as wanted; sizes between two papers lie between them.
    reached = [log2(paper.dpi(width, height) / dpi) for paper in PAPERS]
    return float(np.round(np.interp(0.0, reached[::-1], [paper.amount for paper in PAPERS][::-1]), 4))


@reader("resolution")
def resolution(look: Look) -> PropertyReading:
    """Pixels, of the whole picture or of a part."""
    width, height = look.image.size if look.box is None else (look.box.width, look.box.height)
    mega = width * height / 1e6
    amount = placed(log2(mega), MEGAPIXELS)
    return PropertyReading(
        f"{width}×{height} pixels, {mega:.2g} megapixels.",
        amounts=chances_at(amount, 0.08),
        numbers={"width": width, "height": height, "megapixels": round(mega, 3)},
    )


@reader("printable")
def printable(look: Look) -> PropertyReading:
    """The largest paper for near and for far; between the two it depends on where one stands."""
    width, height = look.image.size if look.box is None else (look.box.width, look.box.height)
    near, far = (print_amount(width, height, dpi) for dpi in (NEAR_DPI, FAR_DPI))
    between = np.mean([chances_at(amount, 0.06) for amount in np.linspace(near, far, 5)], axis=0)
    good = [paper.name for paper in PAPERS if paper.dpi(width, height) >= TOLERANCE * NEAR_DPI]
    fair = [paper.name for paper in PAPERS if paper.dpi(width, height) >= TOLERANCE * FAR_DPI]
    largest = f"large enough for {good[-1]} seen from near" if good else "too small for a print seen from near"
    farther = f", enough for {fair[-1]} from farther away" if fair and fair != good else ""
    return PropertyReading(
        f"{largest[0].upper()}{largest[1:]}{farther}: {width}×{height} pixels make "
        f"{_centimetres(width, height, NEAR_DPI)} at {NEAR_DPI} dpi, {_centimetres(width, height, FAR_DPI)} at "
        f"{FAR_DPI} dpi.",
        amounts=tuple(float(each) for each in between),
        numbers={
            **{f"dpi_{paper.name.removeprefix('a ')}": round(paper.dpi(width, height)) for paper in PAPERS},
            "largest_at_300_dpi": good[-1] if good else "none",
            "largest_at_150_dpi": fair[-1] if fair else "none",
        },
    )


def _centimetres(width: int, height: int, dpi: int) -> str:
    """
    >>> _centimetres(3000, 2000, 300)
    '25.4×16.9 cm (10.0×6.7 in)'
    """
    inches = width / dpi, height / dpi
    metric = "×".join(f"{each * MM_PER_INCH / 10:.1f}" for each in inches)
    return f"{metric} cm ({'×'.join(f'{each:.1f}' for each in inches)} in)"


_RATIOS = {"1:1": 1.0, "5:4": 1.25, "4:3": 4 / 3, "3:2": 1.5, "16:10": 1.6, "16:9": 16 / 9, "2:1": 2.0, "21:9": 21 / 9}


@reader("aspect")
def aspect(look: Look) -> PropertyReading:
    """Landscape, portrait or square, and the usual ratio that comes nearest."""
    width, height = look.image.size if look.box is None else (look.box.width, look.box.height)
    ratio = max(width, height) / min(width, height)
    nearest = min(_RATIOS, key=lambda name: abs(log2(_RATIOS[name] / ratio)))
    exact = abs(_RATIOS[nearest] / ratio - 1) < 0.01
    square = chance_above(-ratio, -1.05, 0.015)
    wide = (1 - square) * float(width > height)
    common = gcd(width, height)
    called = "square" if square > 0.5 else "landscape format" if width > height else "portrait format"
    known = f"{nearest}" if exact else f"about {nearest} ({width // common}:{height // common})"
    return PropertyReading(
        f"{called.capitalize()}, {known}: {width}×{height} pixels.",
        values={
            "square": square,
            "landscape_format": wide,
            "portrait_format": max(0.0, 1 - square - wide),
            **{f"ratio_{name}": float(exact and name == nearest) for name in _RATIOS},
        },
        numbers={"ratio": round(width / height, 4)},
    )
