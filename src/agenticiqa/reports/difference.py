"""Where one picture is better than the other.

With a reference: how much more similar A is to it than B, by SSIM in brightness. Without: how much better the embedded
vision model finds each cell of A than of B, faded out where the two pictures hold the same pixels.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from agenticiqa.errors import BackendUnavailableError
from agenticiqa.nodes.results import Place, Side, Winner
from agenticiqa.pictures.images import LoadedImage, load_image
from agenticiqa.runtime.config import ImageLimits
from agenticiqa.tools.metrics import METRICS, MetricInputError, Views

logger = logging.getLogger(__name__)

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]

SHOWN_SIDE = 1024
SIMILARITY_SHOWN = 0.3
"""A lead of this much similarity is drawn in full colour …"""
POINTS_SHOWN = 1.0
"""… and so is one of this many points."""
VISIBLE_DELTA_E = 1.0
"""About what a viewer can just see, in CIEDE2000."""
A_COLOUR, B_COLOUR = (38, 110, 230), (235, 120, 20)
_ROWS, _COLUMNS = ("top", "middle", "bottom"), ("left", "centre", "right")


@dataclass(frozen=True)
class Difference:
    """A's lead at every place (negative: B's), what it is made of, and the lead that counts as full."""

    lead: Floats
    shows: str
    full: float

    def places(self) -> list[Place]:
        """The frame in ninths, those with the largest lead first."""
        found = [
            Place(name=_name(row, column), lead=round(lead, 4), better=_better(lead, self.full))
            for row, strip in enumerate(_thirds(self.lead, 0))
            for column, part in enumerate(_thirds(strip, 1))
            for lead in [float(part.mean())]
        ]
        return sorted(found, key=lambda place: -abs(place.lead))

    def picture(self, rgb: Bytes) -> Bytes:
        """The picture in grey; blue where A is better, orange where B is."""
        scale = min(1.0, SHOWN_SIDE / max(rgb.shape[:2]))
        size = (max(1, round(rgb.shape[1] * scale)), max(1, round(rgb.shape[0] * scale)))
        small = cv2.resize(rgb, size, interpolation=cv2.INTER_AREA)
        lead = cv2.resize(self.lead, size, interpolation=cv2.INTER_LINEAR)
        strength = np.clip(np.abs(lead) / self.full, 0, 1)[..., None] * 0.75
        grey = cv2.cvtColor(cv2.cvtColor(small, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB).astype(np.float32)
        colour = np.where(lead[..., None] > 0, np.array(A_COLOUR, np.float32), np.array(B_COLOUR, np.float32))
        return np.asarray(np.clip(grey * (1 - strength) + colour * strength, 0, 255), np.uint8)


@dataclass(frozen=True)
class Pictures:
    """What is compared, decoded."""

    a: LoadedImage
    b: LoadedImage
    reference: LoadedImage | None

    @property
    def sides(self) -> tuple[tuple[Side, LoadedImage], tuple[Side, LoadedImage]]:
        return ("A", self.a), ("B", self.b)

    @property
    def identical(self) -> bool:
        return self.a.size == self.b.size and np.array_equal(self.a.measurable, self.b.measurable)

    @property
    def one_size(self) -> bool:
        return len({picture.size for picture in (self.a, self.b, self.reference) if picture is not None}) == 1


def difference_of(pictures: Pictures) -> Difference | None:
    """Where they differ; None when no map can be made of them (sizes differ, too small, no vision model)."""
    if not pictures.one_size:
        return None
    try:
        if pictures.reference is not None:
            return to_reference(pictures.a, pictures.b, pictures.reference)
        from agenticiqa.vision.quality_map import quality_map

        return between(pictures.a, pictures.b, quality_map(pictures.a), quality_map(pictures.b))
    except (MetricInputError, BackendUnavailableError) as error:
        logger.info("No difference map: %s", error)
        return None


def open_pictures(
    image_a: Path | str, image_b: Path | str, reference: Path | str | None, limits: ImageLimits
) -> Pictures:
    """Decode what is compared."""
    a, b = (load_image(path, limits) for path in (image_a, image_b))
    return Pictures(a, b, load_image(reference, limits) if reference else None)


def to_reference(a: LoadedImage, b: LoadedImage, reference: LoadedImage) -> Difference:
    """Both must have the reference's size."""
    similarity = [_similarity(picture, reference) for picture in (a, b)]
    return Difference(similarity[0] - similarity[1], "SSIM to the reference", SIMILARITY_SHOWN)


def _similarity(picture: LoadedImage, reference: LoadedImage) -> Floats:
    found = METRICS["SSIM"].measure(Views(picture.measurable, reference.measurable)).map
    if found is None:
        raise TypeError("SSIM gave no map.")
    return np.asarray(found, np.float32)


def between(a: LoadedImage, b: LoadedImage, map_a: Floats, map_b: Floats) -> Difference:
    """Two pictures of one size and the quality maps (1..5) of both."""
    lead = np.asarray(map_a - map_b, np.float32)
    colours = METRICS["CIEDE2000"].measure(Views(a.measurable, b.measurable)).map
    if colours is None:
        raise TypeError("CIEDE2000 gave no map.")
    rows, columns = lead.shape
    changed = cv2.resize(np.asarray(colours, np.float32), (columns, rows), interpolation=cv2.INTER_AREA)
    return Difference(
        lead * np.clip(changed / VISIBLE_DELTA_E, 0, 1), "quality by the embedded vision model", POINTS_SHOWN
    )


def _thirds(values: Floats, axis: int) -> list[Floats]:
    """Three parts, none empty: a map with fewer than three cells along an axis is repeated."""
    enough = values if values.shape[axis] >= 3 else np.repeat(values, 3, axis=axis)
    return np.array_split(enough, 3, axis=axis)


def _name(row: int, column: int) -> str:
    return "centre" if row == column == 1 else f"{_ROWS[row]} {_COLUMNS[column]}"


def _better(lead: float, full: float) -> Winner:
    if abs(lead) < full / 30:
        return "tie"
    return "A" if lead > 0 else "B"
