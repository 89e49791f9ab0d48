"""Which colours a picture is made of, by the names that people use, how they go together, and how light is spread.

Colours are named in OKLab by lightness, chroma and hue. The bounds were set by the named colours of CSS, whose names
people gave, not by photographs.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from agenticiqa.pictures.images import UInt8Image
from agenticiqa.vision.appearance.views import Floats, luminance, oklab, reduced

NAMES = ("black", "gray", "white", "brown", "red", "orange", "yellow", "green", "blue", "purple", "pink")
_BLACK, _GRAY, _WHITE, _BROWN, _RED, _ORANGE, _YELLOW, _GREEN, _BLUE, _PURPLE, _PINK = range(len(NAMES))
SIDE = 160
GREY_CHROMA = 0.035
"""Below this a colour is called black, grey or white …"""
DARK, DARK_CHROMA = 0.30, 0.07
"""… and below this lightness already from a larger chroma."""
BLACK_TO, WHITE_FROM = 0.30, 0.90
WARM_HUE, WARM_REACH = 50.0, 62.0
"""The middle of the warm hues in degrees of OKLab, and how far they reach to both sides: pink to yellow."""


def names_of(lab: Floats) -> npt.NDArray[np.int8]:
    """The place in :data:`NAMES` of every colour.

    >>> reds = np.array([[[220, 20, 30], [139, 69, 19], [255, 192, 203], [70, 70, 70]]], np.uint8)
    >>> [NAMES[each] for each in names_of(oklab(reds))[0]]
    ['red', 'brown', 'pink', 'gray']
    """
    light, chroma = lab[..., 0], np.hypot(lab[..., 1], lab[..., 2])
    hue = np.degrees(np.arctan2(lab[..., 2], lab[..., 1])) % 360
    by_hue = np.digitize(hue, (40.0, 80.0, 117.0, 175.0, 283.0, 335.0))
    by_place = np.array([_RED, _ORANGE, _YELLOW, _GREEN, _BLUE, _PURPLE, _PINK], np.int8)
    found: npt.NDArray[np.int8] = by_place[by_hue]
    # Light red is pink, dull or dark orange is brown, dark or dull yellow olive: a green.
    found[(found == _RED) & (light > 0.70) & (chroma < 0.16)] = _PINK
    found[(found == _PINK) & (hue > 350) & (light < 0.62)] = _RED
    found[(found == _PINK) & (hue < 350) & (light < 0.50)] = _PURPLE
    found[(found == _ORANGE) & ((light < 0.62) | ((chroma < 0.10) & (light < 0.80)))] = _BROWN
    found[(found == _RED) & (light < 0.50) & (chroma < 0.12)] = _BROWN
    found[(found == _YELLOW) & (light < 0.68)] = _GREEN
    found[(found == _YELLOW) & (light < 0.75) & (hue < 95)] = _BROWN
    grey = (chroma < GREY_CHROMA) | ((light < DARK) & (chroma < DARK_CHROMA))
    found[grey] = np.where(light[grey] < BLACK_TO, _BLACK, np.where(light[grey] > WHITE_FROM, _WHITE, _GRAY))
    return found


@dataclass(frozen=True)
class Palette:
    """The colours of a picture."""

    shares: dict[str, float]
    """Of the frame, by name, the largest first."""
    chroma: float
    """Mean strength of the colours, 0 for grey; 0.3 is as strong as screens can show."""
    strongest_chroma: float
    """What all but one pixel in fifty stay below."""
    lightness: float
    warm: float
    """Share of warm hues among all colour there is, by strength."""
    hues: Floats
    """Strength of the colour by direction, in 36 steps of ten degrees; sums to one where there is colour."""

    @property
    def main(self) -> list[str]:
        """The names that cover much of the frame."""
        large = [name for name, share in self.shares.items() if share >= 0.15]
        return large[:3] or list(self.shares)[:1]


def palette(rgb: UInt8Image) -> Palette:
    """Measure a picture's colours.

    >>> palette(np.full((8, 8, 3), (250, 210, 40), np.uint8)).main
    ['yellow']
    """
    lab = oklab(reduced(rgb, SIDE))
    counts = np.bincount(names_of(lab).ravel(), minlength=len(NAMES)) / lab[..., 0].size
    order = np.argsort(-counts, kind="stable")
    chroma = np.hypot(lab[..., 1], lab[..., 2])
    hue = np.degrees(np.arctan2(lab[..., 2], lab[..., 1])) % 360
    # What is nearly grey has no hue that one sees.
    strength = np.where(chroma >= GREY_CHROMA / 2, chroma, 0)
    total = float(strength.sum())
    hues = np.bincount((hue / 10).astype(int).ravel() % 36, strength.ravel(), minlength=36)
    warm = np.abs((hue - WARM_HUE + 180) % 360 - 180) <= WARM_REACH
    return Palette(
        shares={NAMES[at]: float(counts[at]) for at in order if counts[at] > 0.005},
        chroma=float(chroma.mean()),
        strongest_chroma=float(np.percentile(chroma, 98)),
        lightness=float(lab[..., 0].mean()),
        warm=float(strength[warm].sum()) / total if total > 0 else 0.5,
        hues=np.asarray(hues / total if total > 0 else hues, np.float32),
    )


def hue_reach(hues: Floats, share: float = 0.85) -> float:
    """The smallest arc of the circle of hues, in degrees, that holds so much of the colour.

    >>> one = np.zeros(36, np.float32); one[3] = 1
    >>> hue_reach(one)
    10.0
    """
    twice = np.concatenate([[0], np.cumsum(np.concatenate([hues, hues]))])
    for length in range(1, len(hues) + 1):
        if (twice[length:] - twice[:-length]).max() >= share:
            return 10.0 * length
    return 360.0


def opposite_shares(hues: Floats) -> float:
    """The smaller share of the best pair of opposite directions, each sixty degrees wide."""
    wide = np.convolve(np.concatenate([hues[-3:], hues, hues[:2]]), np.ones(6), "valid")[: len(hues)]
    return float(np.minimum(wide, np.roll(wide, len(hues) // 2)).max())


# --- How light is spread over the frame: from side to side, and from the middle to the corners ---


LIGHTING_SIDE = 96
CELLS = 3
BRIGHT_PART = 80
"""Percentile of a cell: what reflects much there, so that it tells of the light rather than of the things."""
DARKEST = 0.002


@dataclass(frozen=True)
class Spread:
    """Light of the parts of a frame, in stops (factors of two)."""

    across: float
    """From the darkest to the brightest ninth of the frame."""
    brightest: str
    darkest: str
    corners: float
    """How much darker than the middle the brightest of the four corners is; negative where one is brighter."""


_ROWS, _COLUMNS = ("top", "", "bottom"), ("left", "", "right")


def light_spread(rgb: UInt8Image) -> Spread:
    """Measure a picture.

    >>> light_spread(np.full((90, 90, 3), 128, np.uint8)).across
    0.0
    """
    stops = np.log2(np.maximum(luminance(reduced(rgb, LIGHTING_SIDE)), DARKEST))
    rows, columns = (np.array_split(np.arange(side), CELLS) for side in stops.shape)
    cells = np.array([[np.percentile(stops[np.ix_(down, across)], BRIGHT_PART) for across in columns] for down in rows])
    corners = cells[0, 0], cells[0, -1], cells[-1, 0], cells[-1, -1]
    return Spread(
        across=float(cells.max() - cells.min()),
        brightest=_place(int(cells.argmax())),
        darkest=_place(int(cells.argmin())),
        corners=float(cells[1, 1] - max(corners)),
    )


def _place(cell: int) -> str:
    """
    >>> _place(0), _place(4), _place(5)
    ('top left', 'middle', 'right')
    """
    row, column = divmod(cell, CELLS)
    return " ".join(filter(None, (_ROWS[row], _COLUMNS[column]))) or "middle"
