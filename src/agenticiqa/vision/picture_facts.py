"""Is this a photograph at all? Numbers that tell photographs from screens, drawings, pages and nothing.

The bounds lie outside what 141 photographs of two collections measure: at most 47 % of flat area, at most 77 % of the
pixels near one tone, neighbours that agree by at least 0.73, and a deviation of at least 21 levels.
"""

from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np
import numpy.typing as npt

from agenticiqa.pictures.images import UInt8Image
from agenticiqa.vision.sampling import BLOCK, Clipped, clipped_between, windows

Content = Literal["photograph", "blank", "noise", "drawn", "page"]

BLANK_DEVIATION = 2.0
NOISE_AGREEMENT = 0.3
DRAWN_FLAT, DRAWN_BLOCKS = 0.6, 0.3
PLAIN = 16
PAGE_TONE, PAGE_COLOUR = 0.8, 25.0
PAGE_BRIGHTNESS = 100.0
"""Paper is light. A photograph taken in the dark has one tone and hardly any colour too, and is no page."""
PAGE_INK = 100.0
"""Ink stands out from paper. A photograph in fog, or with its contrast taken away, has one tone too, but no ink."""
TONE_REACH = 16
OUTERMOST = 0.005
REDUCED_FROM, REDUCED = 1536, 768
"""Pictures with a longer side than this are drawn only if they are flat at the second one too."""
_LUMA = np.array([[299, 587, 114]], np.float32)
_TRAINED = "the vision model was trained on photographs, so take this answer with caution"


@dataclass(frozen=True)
class PictureFacts:
    """Numbers that tell photographs from other pictures."""

    deviation: float
    """Of the brightness, in levels of 255."""
    agreement: float
    """Correlation of horizontal neighbours."""
    flat_share: float
    """Pixels exactly equal to a neighbour, where fewest are (see :func:`_flat_share`)."""
    plain_blocks: float
    """Blocks of 16×16 pixels that hold one colour only; 0 unless the picture is flat enough to be drawn."""
    colours: int | None
    """Different ones; counted only where the picture is flat enough too, because counting takes time."""
    one_tone: float
    """Pixels within 16 levels of the most frequent brightness."""
    colourfulness: float
    """Mean difference of the largest and the smallest channel, in levels of 255."""
    brightness: float
    """Mean, in levels of 255."""
    tonal_range: float
    """From the darkest to the lightest brightness, but for half a percent of the pixels at either end."""
    clipped: Clipped
    """Lights at the end of the range."""

    @property
    def content(self) -> Content:
        if self.deviation < BLANK_DEVIATION:
            return "blank"
        if self.agreement < NOISE_AGREEMENT:
            return "noise"
        if self.flat_share >= DRAWN_FLAT and self.plain_blocks >= DRAWN_BLOCKS:
            return "drawn"
        pale = self.one_tone >= PAGE_TONE and self.colourfulness < PAGE_COLOUR
        page = pale and self.brightness >= PAGE_BRIGHTNESS and self.tonal_range >= PAGE_INK
        return "page" if page else "photograph"

    @property
    def note(self) -> str | None:
        """What it is instead of a photograph, with the numbers that say so."""
        notes = {
            "blank": f"the picture is blank (its brightness varies by {self.deviation:.1f} of 255 levels): "
            "nothing shows",
            "noise": f"neighbouring pixels have nothing in common (correlation {self.agreement:.2f}): "
            "this is pure noise",
            "drawn": f"this is not a photograph ({self.flat_share:.0%} of it is exactly flat, {self.colours or 0:,} "
            f"different colours: a screenshot or a drawing); {_TRAINED}",
            "page": f"this is not a photograph ({self.one_tone:.0%} of it has one tone, hardly any colour: a page of "
            f"text or lines); {_TRAINED}",
        }
        return notes.get(self.content)


def facts_of(picture: UInt8Image) -> PictureFacts:
    """Measure a picture, a large one in its windows.

    >>> facts_of(np.zeros((40, 40, 3), np.uint8)).content
    'blank'
    >>> facts_of(np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)).content
    'noise'
    """
    # Below each other: rows stay whole, and only a few of them get a neighbour from another window.
    rgb = np.concatenate(windows(picture))
    red, green, blue = cv2.split(rgb)
    # In whole thousandths of a level, which a float keeps: the same on every processor, also on the edge of a count.
    luma = cv2.transform(rgb.astype(np.float32), _LUMA)
    centred = luma.astype(np.float64)
    mean = float(centred.mean())
    centred -= mean
    line, rows = centred.ravel(), centred.shape[0]
    variance = neighbours = float(line @ line) / line.size
    if luma.shape[1] > 1:
        # Of all but the pairs that a row's end and the next one's beginning would make.
        across = float(line[1:] @ line[:-1]) - float(centred[1:, 0] @ centred[:-1, -1])
        neighbours = across / (line.size - rows)
    # A quarter of a thousandth more, so that halves go up.
    levels = cv2.convertScaleAbs(luma, alpha=0.001, beta=0.00025)
    counts = cv2.calcHist([levels], [0], None, [256], [0, 256]).ravel()
    mode = int(counts.argmax())
    near = float(counts[max(0, mode - TONE_REACH) : mode + TONE_REACH + 1].sum()) / luma.size
    packed = _packed(rgb)
    flat_share = _flat_share(packed)
    plain_blocks = _plain_blocks(packed) if flat_share >= DRAWN_FLAT else 0.0
    if flat_share >= DRAWN_FLAT and max(picture.shape[:2]) > REDUCED_FROM:
        # Strong compression leaves blocks of one colour. Reduced, what was drawn is flat still, and they are not.
        step = max(picture.shape[:2]) / REDUCED
        size = tuple(max(1, round(side / step)) for side in (picture.shape[1], picture.shape[0]))
        reduced = _packed(np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8))
        flat_share, plain_blocks = min(flat_share, _flat_share(reduced)), min(plain_blocks, _plain_blocks(reduced))
    reached = np.cumsum(counts) / counts.sum()
    darkest, lightest = np.searchsorted(reached, (OUTERMOST, 1 - OUTERMOST))
    largest, smallest = cv2.max(cv2.max(red, green), blue), cv2.min(cv2.min(red, green), blue)
    return PictureFacts(
        deviation=variance**0.5 / 1000,
        agreement=neighbours / variance if variance else 1.0,
        flat_share=flat_share,
        plain_blocks=plain_blocks,
        colours=len(np.unique(packed)) if flat_share >= DRAWN_FLAT else None,
        one_tone=float(near),
        colourfulness=cv2.mean(cv2.subtract(largest, smallest))[0],
        brightness=mean / 1000,
        tonal_range=float(lightest - darkest),
        clipped=clipped_between(smallest, largest),
    )


def _packed(rgb: UInt8Image) -> npt.NDArray[np.uint32]:
    """One number for each colour."""
    return np.asarray(cv2.cvtColor(rgb, cv2.COLOR_RGB2RGBA)).view(np.uint32)[..., 0]


def _flat_share(values: npt.NDArray[np.uint32]) -> float:
    """Share of pixels equal to their neighbours, at the phase of an 8×8 grid where it is smallest."""
    whole = values.view(np.int32)
    pairs = ((whole[:, 1:], whole[:, :-1], 0), (whole[1:], whole[:-1], 1))
    lines = [
        cv2.reduce(cv2.compare(one, other, cv2.CMP_EQ), axis, cv2.REDUCE_SUM, dtype=cv2.CV_32S).ravel()
        / (255 * one.shape[axis])
        for one, other, axis in pairs
        if one.size
    ]
    shares = [line[start::BLOCK].mean() for line in lines for start in range(BLOCK) if line[start::BLOCK].size]
    return float(min(shares, default=1.0))


def _plain_blocks(values: npt.NDArray[np.uint32]) -> float:
    """Damage may leave few tones or small squares, but hardly whole blocks of one colour."""
    height, width = (side // PLAIN * PLAIN for side in values.shape)
    if not height or not width:
        return float((values == values.flat[0]).all())
    rows = values[:height, :width].reshape(height // PLAIN, PLAIN, width)
    # Row by row first: the short axes are slow to go along.
    largest, smallest = (
        reduce(reduce(rows, axis=1).reshape(-1, width // PLAIN, PLAIN), axis=2) for reduce in (np.max, np.min)
    )
    return float((largest == smallest).mean())
