"""From a name ("the vehicle") to pixels.

A score filed under an object is computed on that object's region, or it is labelled as the whole picture's. Here a
region is known when the user gave its box.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from agenticiqa.errors import RegionError
from agenticiqa.images import Box, LoadedImage

_ARTICLE = re.compile(r"^(?:the|a|an|this|that)\s+", re.IGNORECASE)


def parse_region(text: str) -> tuple[str, Box]:
    """``NAME=x,y,width,height`` from the command line.

    >>> parse_region("vehicle=10,20,300,200")
    ('vehicle', Box(x=10, y=20, width=300, height=200))
    """
    name, separator, numbers = text.partition("=")
    if not separator or not name.strip():
        raise RegionError(f"{text!r} names no region.")
    return name.strip(), Box.parse(numbers)


def check_regions(regions: Mapping[str, Sequence[int]], image: LoadedImage) -> None:
    """Refuse boxes that leave the picture before anything is spent on them."""
    width, height = image.size
    for name, numbers in regions.items():
        box = Box.parse(",".join(map(str, numbers)))
        if box.x + box.width > width or box.y + box.height > height:
            raise RegionError(
                f"The region {name!r} ({box.as_list()}) leaves the picture, which is {width}×{height} pixels."
            )


def find_region(name: str, regions: Mapping[str, Sequence[int]] | None) -> Box | None:
    """The box of a named object, or None when nobody said where it is.

    >>> find_region("the Vehicle", {"vehicle": [0, 0, 8, 8]})
    Box(x=0, y=0, width=8, height=8)
    """
    wanted = _plain(name)
    boxes = {_plain(known): Box(*numbers) for known, numbers in (regions or {}).items()}
    if wanted in boxes:
        return boxes[wanted]
    # A question may say more of the object than the box's name does: "building on the left" is the box "building".
    return next((box for known, box in boxes.items() if wanted.startswith(f"{known} ")), None)


def known_boxes(names: Sequence[str], regions: Mapping[str, Sequence[int]] | None) -> dict[str, Box]:
    """The boxes of those objects whose place is known."""
    found = {name: find_region(name, regions) for name in names}
    return {name: box for name, box in found.items() if box is not None}


def _plain(name: str) -> str:
    return _ARTICLE.sub("", name.strip()).casefold()
