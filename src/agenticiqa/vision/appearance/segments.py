"""Parts of a picture by how they look (colour, light, place), and what draws the eye."""

from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np
import numpy.typing as npt

from agenticiqa.pictures.images import Box, UInt8Image
from agenticiqa.pictures.regions import inner_box
from agenticiqa.vision.appearance.colours import NAMES, names_of
from agenticiqa.vision.appearance.views import Floats, oklab, reduced

Light = Literal["bright", "dark"]
Where = Literal["upper", "lower"]
Mask = npt.NDArray[np.bool_]

SIDE = 200
SMALLEST = 0.008
"""Share of the frame below which nothing is called a part …"""
LARGEST = 0.75
"""… and above which a colour is the picture's, not a part's."""
LIGHTEST, DARKEST = 0.70, 0.42
STANDS_APART = 0.8
"""Deviations of the lightness by which a bright or dark part differs from the mean."""
SMALLEST_SIDE = 48
"""In pixels: an inner box below this gives way to the box around the part."""


@dataclass(frozen=True)
class Appearance:
    """How a part is said to look; at least one of colours and light."""

    colours: frozenset[str] = frozenset()
    light: Light | None = None
    where: Where | None = None
    """The part of the frame that its middle lies in."""
    side: Box | None = None
    """Where its middle must be, in pixels."""

    @property
    def words(self) -> str:
        """
        >>> Appearance(frozenset({"red"}), "bright").words
        'bright red'
        """
        return " ".join(filter(None, (self.light, " or ".join(sorted(self.colours)))))


@dataclass(frozen=True)
class Segment:
    """A connected area that looks as was said."""

    box: Box
    """The largest box inside it, or the box around it where it is too thin for one."""
    inside: bool
    """Whether the box holds nothing else."""
    share: float
    """Of the frame."""
    confidence: float
    """0 to 1: larger, compact areas that are not the whole frame are surer."""


def find_segment(rgb: UInt8Image, wanted: Appearance, saliency: Floats | None = None) -> Segment | None:
    """The area that fits best, or None where none does.

    >>> scene = np.full((100, 200, 3), (90, 90, 90), np.uint8); scene[20:80, 20:90] = (200, 20, 20)
    >>> found = find_segment(scene, Appearance(frozenset({"red"})))
    >>> found is not None and (found.box, found.inside)
    (Box(x=22, y=20, width=66, height=60), True)
    """
    small = reduced(rgb, SIDE)
    lab = oklab(np.asarray(cv2.medianBlur(small, 3), np.uint8))
    mask = _mask_of_appearance(lab, wanted)
    total = float(mask.mean())
    if not SMALLEST <= total <= LARGEST:
        return None
    _, labels, stats, centres = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=8)
    size = rgb.shape[0], rgb.shape[1]
    scale = size[1] / small.shape[1], size[0] / small.shape[0]
    fitted = None if saliency is None else cv2.resize(saliency, mask.shape[::-1], interpolation=cv2.INTER_AREA)
    best, best_weight = 0, 0.0
    for part in range(1, len(stats)):
        share = float(stats[part, cv2.CC_STAT_AREA]) / mask.size
        x, y = float(centres[part][0]) * scale[0], float(centres[part][1]) * scale[1]
        if share < SMALLEST or (wanted.side and not wanted.side.holds(x, y)):
            continue
        if wanted.where and (y < 0.4 * size[0] if wanted.where == "lower" else y > 0.6 * size[0]):
            continue
        weight = share * (0.5 + (float(fitted[labels == part].mean()) if fitted is not None else 0.5))
        if weight > best_weight:
            best, best_weight = part, weight
    return _segment(labels == best, total, scale, size) if best else None


def _mask_of_appearance(lab: Floats, wanted: Appearance) -> Mask:
    mask = np.ones(lab.shape[:2], bool)
    if wanted.colours:
        named = [NAMES.index(name) for name in wanted.colours]
        mask &= np.isin(names_of(lab), named)
    if wanted.light:
        light = lab[..., 0]
        mean, deviation = float(light.mean()), float(light.std())
        apart = STANDS_APART * deviation
        bright = wanted.light == "bright"
        mask &= light >= max(LIGHTEST, mean + apart) if bright else light <= min(DARKEST, mean - apart)
    closed = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
    return np.asarray(cv2.morphologyEx(closed, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8)) > 0)


def _segment(part: Mask, total: float, scale: tuple[float, float], size: tuple[int, int]) -> Segment:
    share = float(part.mean())
    x, y, width, height = (int(each) for each in cv2.boundingRect(part.astype(np.uint8)))
    around = _scaled(Box(x, y, width, height), scale, size)
    inner = inner_box(part)
    inner = _scaled(inner, scale, size) if inner else None
    inside = inner is not None and min(inner.width, inner.height) >= min(SMALLEST_SIDE, *size)
    compact = share * part.size / (width * height)
    confidence = min(1.0, share / 0.03) * min(1.0, compact / 0.5) * (1 - max(0.0, total - 0.4))
    return Segment(inner if inside and inner else around, inside, share, confidence)


def _scaled(box: Box, scale: tuple[float, float], size: tuple[int, int]) -> Box:
    left, top = round(box.x * scale[0]), round(box.y * scale[1])
    right = min(size[1], round((box.x + box.width) * scale[0]))
    bottom = min(size[0], round((box.y + box.height) * scale[1]))
    return Box(left, top, max(1, right - left), max(1, bottom - top))


def corner_by_light(rgb: UInt8Image, light: Light) -> tuple[str, Box]:
    """The brightest or the darkest of the four corners, each a quarter of the sides long, by name."""
    height, width = rgb.shape[:2]
    wide, high = max(1, width // 4), max(1, height // 4)
    boxes = {
        f"{down} {across}": Box(x, y, wide, high)
        for down, y in (("top", 0), ("bottom", height - high))
        for across, x in (("left", 0), ("right", width - wide))
    }
    means = {name: float(oklab(reduced(rgb[box.rows, box.columns], 32))[..., 0].mean()) for name, box in boxes.items()}
    chosen = (max if light == "bright" else min)(means, key=lambda name: means[name])
    return chosen, boxes[chosen]


# --- What draws the eye: where it lies in the frame, how large it is, how clearly it stands out ---


STANDS_OUT = 0.5
LEAST_SHARE = 0.003


@dataclass(frozen=True)
class Subject:
    """By a map of what stands out."""

    x: float
    """Of the middle of what stands out, as a share of the width from the left."""
    y: float
    share: float
    """Of the frame."""
    clearness: float
    """How much more the subject stands out than the rest does, 0 to 1."""
    left: float
    top: float
    right: float
    bottom: float
    """Of the box that holds all but a fiftieth of it, as shares of the frame."""

    @property
    def from_centre(self) -> float:
        """0 in the middle of the frame, 1 at the nearest edge."""
        return 2 * max(abs(self.x - 0.5), abs(self.y - 0.5))

    @property
    def from_thirds(self) -> float:
        """Distance to the nearest crossing of the lines of thirds, as a share of the frame."""
        return min(float(np.hypot(self.x - x, self.y - y)) for x in (1 / 3, 2 / 3) for y in (1 / 3, 2 / 3))


def subject_of(saliency: Floats) -> Subject | None:
    """None where nothing stands out.

    >>> spot = np.zeros((90, 90), np.float32); spot[20:40, 50:70] = 1
    >>> found = subject_of(spot)
    >>> found is not None and (round(found.x, 2), round(found.y, 2))
    (0.67, 0.33)
    """
    stands_out = saliency >= STANDS_OUT
    share = float(stands_out.mean())
    if share < LEAST_SHARE:
        return None
    height, width = saliency.shape
    weight = np.where(stands_out, saliency, 0)
    across, down = weight.sum(axis=0), weight.sum(axis=1)
    total = float(weight.sum())
    x = float((across * (np.arange(width) + 0.5)).sum()) / total / width
    y = float((down * (np.arange(height) + 0.5)).sum()) / total / height
    left, right = _ends(across)
    top, bottom = _ends(down)
    rest = saliency[~stands_out]
    clear = float(saliency[stands_out].mean()) - (float(rest.mean()) if rest.size else 0.0)
    return Subject(x, y, share, max(0.0, clear), left, top, right, bottom)


def _ends(along: Floats) -> tuple[float, float]:
    """Where all but a fiftieth lies, as shares of the length."""
    below = np.cumsum(along) / along.sum()
    first, last = int(np.searchsorted(below, 0.01)), int(np.searchsorted(below, 0.99))
    return first / len(along), min(1.0, (last + 1) / len(along))
