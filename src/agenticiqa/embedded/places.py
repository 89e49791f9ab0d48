"""From a place or object named in a question to pixels, as far as that can be had by measurement.

Sides, halves, corners and the centre follow from the frame, faces from a detector, the subject and the background from
what stands out, things of twenty-odd kinds from what the vision model knows of each place of the picture, those of
further kinds from a second detector where that is installed. Beyond them a part is found by what the phrase says of its
look ("the red flowers", "the dark corner") or by the thing that it belongs to ("the dog's fur"). Anything else cannot
be located here: the caller then judges the whole picture and says so.
"""

import re
from dataclasses import dataclass, replace

import cv2
import numpy as np

from agenticiqa.embedded.parts import Part, labels_meant, look_meant, may_be_subject, owner_of
from agenticiqa.pictures.images import Box, LoadedImage, UInt8Image
from agenticiqa.pictures.regions import Mask, bounding_box, inner_box
from agenticiqa.vision.appearance.segments import corner_by_light, find_segment
from agenticiqa.vision.locators import load_locators, saliency_map
from agenticiqa.vision.named_parts import find_part
from agenticiqa.vision.network import load_vision
from agenticiqa.vision.objects import EXTRA, LABELS, load_detector
from agenticiqa.vision.scene import Scene

NUMBERED_FACE = re.compile(r"face (\d+) of (\d+)")
SUBJECT_WORDS = frozenset({"subject", "main subject", "main object", "foreground"})
BACKGROUND_WORDS = frozenset({"background", "backdrop", "surroundings", "surrounding"})
PLACE_WORDS = frozenset({"corner", "side", "half", "part", "area", "edge"})
STANDS_OUT = 0.5
SMALLEST_SUBJECT, LARGEST_SUBJECT = 0.02, 0.85
"""Shares of the frame between which something stands out from the rest."""
SURELY_OUT, HARDLY_OUT = 0.8, 0.2
GUESSED_SHARES, ONE_THING, CLEAR_OUTLINE = (0.05, 0.6), 0.9, 0.75
"""Of the frame, of all that stands out, and of what stands out at all. Where one thing does, that is the one asked
about in 72 of 100 cases (VOC, pretending that its kind is not known), with one object in the picture in 94."""
MOSTLY = 0.5
SMALLEST_INNER = 64
"""Pixels per side: an inner box smaller than this holds too little to judge."""
SMALLEST_CORE = 48
MIDDLE = 0.7
"""Share of an object's width and height that is taken for its inner part."""
LEAST_CONFIDENCE = 0.35
"""Of an area that only looks as the phrase says."""


@dataclass(frozen=True)
class ObjectPlace:
    """Where something is, ``note`` saying how it was found; ``box`` None stands for the whole picture."""

    box: Box | None
    note: str | None = None
    guess: bool = False
    """Whether it was taken for what was named by its looks alone."""
    assumed: bool = False
    """Whether it is only what stands out, and nothing else speaks for its being what was named."""
    absent: bool = False
    """Whether the picture shows nothing of the kind, as far as can be told."""


def locate(item: Part, image: LoadedImage, *, alone: bool = False) -> ObjectPlace:
    """The region a question means, or all with a note; ``alone``: an unknown thing is taken for what stands out."""
    noun = item.noun.casefold()
    found: ObjectPlace | None = None
    if noun == "face" or NUMBERED_FACE.fullmatch(item.name):
        found = face_place(item.name, image.rgb)
    elif noun in SUBJECT_WORDS or (item.is_region and item.position == "foreground"):
        found = salient_place(item.name, image.rgb, inside=True)
    elif noun in BACKGROUND_WORDS or (item.is_region and item.position == "background"):
        found = salient_place(item.name, image.rgb, inside=False)
    elif item.position and (item.is_region or noun in PLACE_WORDS):
        box = side_box(item.position, *image.size)
        found = ObjectPlace(box) if box else lit_corner(item, image.rgb)
    elif labels := labels_meant(item):
        found = place_of_kind(item, labels, image)
    else:
        found = place_by_look(item, image)
    if (found is None or found.box is None) and (owner := owner_of(item)):
        whole = locate(owner, image)
        if whole.box:
            found = replace(whole, note=f"{item.name!r} was judged inside {owner.name!r}: {whole.note}")
        elif whole.absent:
            found = whole
    if alone and (found is None or (found.box is None and not found.absent)):
        found = subject_guess(item, image) or found
    return found or _not_located(item)


def subject_guess(item: Part, image: LoadedImage) -> ObjectPlace | None:
    """What stands out, if that is clearly one thing; None for places, surroundings, and kinds that the model knows."""
    known = {kind["name"] for kind in load_vision().about["parts"]}
    labels = labels_meant(item) | labels_meant(owner_of(item) or item)
    if item.position or not may_be_subject(item) or labels & known:
        return None
    outstanding = saliency_map(image)
    mask: Mask = np.asarray(outstanding >= STANDS_OUT)
    _, _, figures, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8))
    largest = figures[1:, cv2.CC_STAT_AREA].max(initial=0)
    outline = (outstanding > SURELY_OUT).sum() / max(1, (outstanding > HARDLY_OUT).sum())
    inner = inner_box(mask)
    if inner is None or largest < ONE_THING * mask.sum() or outline < CLEAR_OUTLINE:
        return None
    if not GUESSED_SHARES[0] <= mask.mean() <= GUESSED_SHARES[1]:
        return None
    scale = image.size[0] / mask.shape[1]
    box = Box(*(int(each * scale) for each in (inner.x, inner.y, inner.width, inner.height)))
    if min(box.width, box.height) < SMALLEST_CORE:
        return None
    return ObjectPlace(box, f"I took {item.name!r} to be what stands out, at {_coordinates(box)}", assumed=True)


def _not_located(item: Part, more: str = "") -> ObjectPlace:
    return ObjectPlace(None, f"I could not find {item.name!r} here, so this is about the whole picture{more}")


def lit_corner(item: Part, rgb: UInt8Image) -> ObjectPlace | None:
    """ "The dark corner": the darkest of the four."""
    light = look_meant(item).light
    if item.position != "corners" or light is None:
        return None
    name, box = corner_by_light(rgb, light)
    most = "brightest" if light == "bright" else "darkest"
    return ObjectPlace(box, f"{item.name!r} was taken for the {most} corner, at the {name}")


def place_by_look(item: Part, image: LoadedImage) -> ObjectPlace | None:
    """The area that looks as the phrase says; None where it says nothing of that, or no area looks so."""
    wanted = look_meant(item)
    if not wanted.colours and not wanted.light:
        return None
    wanted = replace(wanted, side=side_box(item.position or "", *image.size))
    found = find_segment(image.rgb, wanted, saliency_map(image))
    if found is None or found.confidence < LEAST_CONFIDENCE:
        return ObjectPlace(
            None, f"I found no {wanted.words} area for {item.name!r}, so this is about the whole picture"
        )
    return ObjectPlace(
        found.box,
        f"{item.name!r} was taken for the {wanted.words} area that stands out most ({found.share:.0%} of the frame, "
        f"a guess of {found.confidence:.0%}), judged {'inside' if found.inside else 'in the box around'} it, at "
        f"{_coordinates(found.box)}",
        guess=True,
    )


def place_of_kind(item: Part, labels: frozenset[str], image: LoadedImage) -> ObjectPlace:
    """Where the vision model sees something of these kinds; else what the detector finds, or what looks as is said."""
    side = side_box(item.position or "", *image.size)
    seen = find_part(Scene.of(load_vision(), image.rgb), labels, image.size, side)
    if seen.box and ("vegetation" not in labels or _mostly_green(image.rgb[seen.box.rows, seen.box.columns])):
        like = f"inside what looks like it (chance {seen.chance:.2f})"
        return ObjectPlace(seen.box, f"{item.name!r} was judged {like}, at {_coordinates(seen.box)}")
    found = object_place(item, labels, image)
    if found.box is None and seen.absent:
        return ObjectPlace(None, f"I see no {item.name} here, so this is about the whole picture", absent=True)
    return found


def _mostly_green(rgb: UInt8Image) -> bool:
    """Dry ground passes for vegetation: what is brown or grey is left to the phrase's own words."""
    red, green, blue = (np.asarray(rgb[..., place], np.int16) for place in range(3))
    return bool(((green >= red - 4) & (green > blue + 8)).mean() >= MOSTLY)


def object_place(item: Part, labels: frozenset[str], image: LoadedImage) -> ObjectPlace:
    """The largest object of the kind, on the side that the question names if it names one."""
    detector, rgb = load_detector(), image.rgb
    if detector is None:
        by_look = place_by_look(item, image)
        if by_look and by_look.box:
            return by_look
        hint = f" (pip install 'agenticiqa[{EXTRA}]' adds a detector that may find it)"
        return _not_located(item, hint if labels & set(LABELS.values()) else "")
    finds = detector.find(rgb, labels)
    side = side_box(item.position or "", rgb.shape[1], rgb.shape[0])
    if side is not None:
        centres = [(find.box.x + find.box.width / 2, find.box.y + find.box.height / 2) for find in finds]
        finds = [find for find, centre in zip(finds, centres, strict=True) if side.holds(*centre)]
    if not finds:
        return _not_located(item)
    largest = finds[0]
    core = _core(rgb, largest.box)
    which = f"the largest of {len(finds)} found" if len(finds) > 1 else "what was found"
    taken_for = f"{largest.label}, chance {largest.chance:.2f}"
    return ObjectPlace(
        core, f"{item.name!r} was judged in the inner part of {which} ({taken_for}), at {_coordinates(core)}"
    )


def _core(rgb: UInt8Image, box: Box) -> Box:
    """The part of a found box that is surely the object: what is salient in it, or its middle."""
    stands_out = np.zeros(rgb.shape[:2], bool)
    stands_out[box.rows, box.columns] = (load_locators().saliency(rgb) >= STANDS_OUT)[box.rows, box.columns]
    inner = inner_box(stands_out)
    if inner and min(inner.width, inner.height) >= SMALLEST_CORE:
        return inner
    wide, high = (max(min(side, SMALLEST_CORE), round(side * MIDDLE)) for side in (box.width, box.height))
    return Box(box.x + (box.width - wide) // 2, box.y + (box.height - high) // 2, wide, high)


def face_place(name: str, rgb: UInt8Image) -> ObjectPlace | None:
    """The largest face that the detector is sure of; "face 2 of 3" is the second from the left."""
    faces = load_locators().faces(rgb)
    if not faces:
        return None
    box = max(faces, key=lambda face: face.width * face.height)
    if numbered := NUMBERED_FACE.fullmatch(name):
        from_left = sorted(faces, key=lambda face: face.x)
        return ObjectPlace(from_left[min(int(numbered[1]), len(faces)) - 1])
    which = f"the largest of {len(faces)} faces found" if len(faces) > 1 else "the face found"
    return ObjectPlace(box, f"{name!r} was judged in {which}, at {_coordinates(box)}")


def salient_place(name: str, rgb: UInt8Image, *, inside: bool) -> ObjectPlace | None:
    """What stands out, or the rest: the largest box that holds nothing else, so that the other does not mix in."""
    stands_out: Mask = np.asarray(load_locators().saliency(rgb) >= STANDS_OUT)
    share = float(stands_out.mean())
    if not SMALLEST_SUBJECT <= share <= LARGEST_SUBJECT:
        return None
    mask = stands_out if inside else ~stands_out
    of_frame = f"{share if inside else 1 - share:.0%} of the frame by what stands out"
    inner = inner_box(mask)
    if inner and min(inner.width, inner.height) >= SMALLEST_INNER:
        return ObjectPlace(inner, f"{name!r} ({of_frame}) was judged in its largest box, at {_coordinates(inner)}")
    around = bounding_box(mask)
    if around is None or not inside:
        return None
    return ObjectPlace(around, f"{name!r} ({of_frame}) was judged in the box around it, with what else is there")


def _coordinates(box: Box) -> str:
    return f"x {box.x}, y {box.y}, {box.width}×{box.height} pixels"


def side_box(position: str, width: int, height: int) -> Box | None:
    """The part of the frame that position words mean; None for corners, edges, fore- and background.

    >>> side_box("top left", 300, 200)
    Box(x=0, y=0, width=150, height=100)
    >>> side_box("center", 300, 200)
    Box(x=75, y=50, width=150, height=100)
    """
    words = set(position.split())
    if not words or words - {"left", "right", "top", "bottom", "center"}:
        return None
    half_w, half_h = max(1, width // 2), max(1, height // 2)
    if words == {"center"}:
        return Box((width - half_w) // 2, (height - half_h) // 2, half_w, half_h)
    x, box_width = 0, width
    if "left" in words or "right" in words:
        x, box_width = (0 if "left" in words else width - half_w), half_w
    y, box_height = 0, height
    if "top" in words or "bottom" in words:
        y, box_height = (0 if "top" in words else height - half_h), half_h
    return Box(x, y, box_width, box_height)
