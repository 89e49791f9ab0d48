"""How large the picture is: pixels, shape, and the paper it is large enough for."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, log2

import numpy as np

from agenticiqa.models.offline.looking import Look
from agenticiqa.models.offline.readings.scales import chance_above, chances_at, placed
from agenticiqa.models.offline.readings.told import Told, reader

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
def resolution(look: Look) -> Told:
    """Pixels, of the whole picture or of a part."""
    width, height = look.image.size if look.box is None else (look.box.width, look.box.height)
    mega = width * height / 1e6
    amount = placed(log2(mega), MEGAPIXELS)
    return Told(
        f"{width}×{height} pixels, {mega:.2g} megapixels.",
        amounts=chances_at(amount, 0.08),
        numbers={"width": width, "height": height, "megapixels": round(mega, 3)},
    )


@reader("printable")
def printable(look: Look) -> Told:
    """The largest paper for near and for far; between the two it depends on where one stands."""
    width, height = look.image.size if look.box is None else (look.box.width, look.box.height)
    near, far = (print_amount(width, height, dpi) for dpi in (NEAR_DPI, FAR_DPI))
    between = np.mean([chances_at(amount, 0.06) for amount in np.linspace(near, far, 5)], axis=0)
    good = [paper.name for paper in PAPERS if paper.dpi(width, height) >= TOLERANCE * NEAR_DPI]
    fair = [paper.name for paper in PAPERS if paper.dpi(width, height) >= TOLERANCE * FAR_DPI]
    largest = f"large enough for {good[-1]} seen from near" if good else "too small for a print seen from near"
    farther = f", enough for {fair[-1]} from farther away" if fair and fair != good else ""
    return Told(
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
def aspect(look: Look) -> Told:
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
    return Told(
        f"{called.capitalize()}, {known}: {width}×{height} pixels.",
        values={
            "square": square,
            "landscape_format": wide,
            "portrait_format": max(0.0, 1 - square - wide),
            **{f"ratio_{name}": float(exact and name == nearest) for name in _RATIOS},
        },
        numbers={"ratio": round(width / height, 4)},
    )
