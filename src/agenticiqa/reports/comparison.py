"""Where one picture is better than the other; and a comparison as files: the map of that, and one page.

With a reference: how much more similar A is to it than B, by SSIM in brightness. Without: how much better the embedded
vision model finds each cell of A than of B, faded out where the two pictures hold the same pixels.
"""

import logging
from dataclasses import dataclass
from html import escape
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from agenticiqa.errors import BackendUnavailableError, ImageError
from agenticiqa.nodes.results import Comparison, Place, Side, Winner
from agenticiqa.pictures.images import LoadedImage, load_image
from agenticiqa.reports import look
from agenticiqa.reports.assessment import picture_article, regions_of, report_item
from agenticiqa.runtime.config import ImageLimits
from agenticiqa.runtime.files import write_atomic
from agenticiqa.tools.metrics import METRICS, MetricInputError, Views

logger = logging.getLogger(__name__)

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]

DIFFERENCE_SIDE = 1024
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
        ninths = cv2.resize(self.lead, (3, 3), interpolation=cv2.INTER_AREA)
        found = []
        for (row, column), lead in np.ndenumerate(ninths):
            name = "centre" if row == column == 1 else f"{_ROWS[row]} {_COLUMNS[column]}"
            better: Winner = "tie" if abs(lead) < self.full / 30 else "A" if lead > 0 else "B"
            found.append(Place(name=name, lead=round(float(lead), 4), better=better))
        return sorted(found, key=lambda place: -abs(place.lead))

    def picture(self, rgb: Bytes) -> Bytes:
        """The picture in grey; blue where A is better, orange where B is."""
        scale = min(1.0, DIFFERENCE_SIDE / max(rgb.shape[:2]))
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


def difference_of(pictures: Pictures) -> Difference | None:
    """Where they differ; None when no map can be made of them (sizes differ, too small, no vision model)."""
    a, b, reference = pictures.a, pictures.b, pictures.reference
    if len({picture.size for picture in (a, b, reference) if picture is not None}) > 1:
        return None
    try:
        if reference is not None:
            lead = _map("SSIM", a, reference) - _map("SSIM", b, reference)
            return Difference(lead, "SSIM to the reference", SIMILARITY_SHOWN)
        from agenticiqa.vision.quality_map import quality_map

        lead = np.asarray(quality_map(a) - quality_map(b), np.float32)
        changed = cv2.resize(_map("CIEDE2000", a, b), lead.shape[::-1], interpolation=cv2.INTER_AREA)
    except (MetricInputError, BackendUnavailableError) as error:
        logger.info("No difference map: %s", error)
        return None
    visible = np.clip(changed / VISIBLE_DELTA_E, 0, 1)
    return Difference(lead * visible, "quality by the embedded vision model", POINTS_SHOWN)


def _map(metric: str, picture: LoadedImage, other: LoadedImage) -> Floats:
    return np.asarray(METRICS[metric].measure(Views(picture.measurable, other.measurable)).map, np.float32)


def open_pictures(
    image_a: Path | str, image_b: Path | str, reference: Path | str | None, limits: ImageLimits
) -> Pictures:
    a, b = (load_image(path, limits) for path in (image_a, image_b))
    return Pictures(a, b, load_image(reference, limits) if reference else None)


# --- A comparison as files: the difference map, and one self-contained page ---


MAP_CAPTION = "blue: A is better there; orange: B is"


def write_difference(found: Comparison, path: Path, limits: ImageLimits) -> bool:
    """Write the difference map as PNG; False when none can be made of these pictures."""
    pictures = _pictures(found, limits)
    difference = difference_of(pictures)
    if difference is None:
        return False
    shown = cv2.cvtColor(difference.picture(pictures.a.rgb), cv2.COLOR_RGB2BGR)
    write_atomic(path, cv2.imencode(".png", shown)[1].tobytes())
    return True


def write_page(found: Comparison, path: Path, limits: ImageLimits) -> None:
    write_atomic(path, render_page(found, limits).encode("utf-8"))


def render_page(found: Comparison, limits: ImageLimits) -> str:
    """The verdict first, then both pictures with their own reports."""
    sides = [result for result in (found.a, found.b) if result is not None]
    articles = [_verdict(found, limits), *(picture_article(report_item(result, limits)) for result in sides)]
    models = [model for result in sides for model in look.models_of(result.metadata)]
    title = f"{look.shown_name(found.image_a)} or {look.shown_name(found.image_b)}?"
    return look.page(title, "".join(articles), models)


def notebook_view(found: Comparison, limits: ImageLimits) -> str:
    """The verdict inside a notebook's page; each side's own view is ``found.a`` or ``found.b``."""
    return look.in_notebook(_verdict(found, limits, look.NOTEBOOK_SIDE))


def _verdict(found: Comparison, limits: ImageLimits, side: int = look.SHOWN_SIDE) -> str:
    names = f"A: {look.shown_name(found.image_a)}; B: {look.shown_name(found.image_b)}"
    text = found.error or "" if found.status == "error" else found.verdict
    text = escape(look.without_folders(text, found.image_a, found.image_b, found.reference_path))
    if found.status == "error":
        return f"<article><h2>No verdict</h2>{look.quiet(names)}<p>{text}</p></article>"
    head = f"<h2>{text}</h2>{look.quiet(names)}{_figures(found, limits, side)}{_chance(found)}"
    reasons = "".join(f"<li>{escape(line)}</li>" for line in [*found.reasons, *found.notes])
    values = [(row, _value(row.raw_a, row.calibrated_a), _value(row.raw_b, row.calibrated_b)) for row in found.tools]
    rows = [(row.tool, of_a, of_b, row.error or row.better or "") for row, of_a, of_b in values]
    tools = look.table(("Tool", "A: raw (1..5)", "B: raw (1..5)", "Better"), rows)
    return f'<article><div class="head">{head}</div>{f"<ul>{reasons}</ul>" if reasons else ""}{tools}</article>'


def _value(raw: float | None, points: float | None) -> str:
    return "" if raw is None or points is None else f"{raw:.4g} ({points:.2f})"


def _chance(found: Comparison) -> str:
    """How the chance is shared, as a bar of two colours."""
    if found.chance_a is None:
        return ""
    share = 420 * found.chance_a
    words = f"Chance that people prefer A: {found.chance_a:.1%}; B: {1 - found.chance_a:.1%}"
    return (
        f'<figure><svg viewBox="0 0 420 22" role="img" aria-label="{words}" style="max-width:420px">'
        f'<rect width="{share:.1f}" height="16" rx="3" fill="#266ee6"></rect>'
        f'<rect x="{share:.1f}" width="{420 - share:.1f}" height="16" rx="3" fill="#eb7814"></rect></svg>'
        f"<figcaption>{words}.</figcaption></figure>"
    )


def _pictures(found: Comparison, limits: ImageLimits) -> Pictures:
    if found.a is None or found.b is None:
        return open_pictures(found.image_a, found.image_b, found.reference_path, limits)
    reference = found.a.open_picture(found.reference_path, limits) if found.reference_path else None
    return Pictures(found.a.open_picture(found.image_a, limits), found.b.open_picture(found.image_b, limits), reference)


def _figures(found: Comparison, limits: ImageLimits, longest: int) -> str:
    try:
        pictures = _pictures(found, limits)
    except ImageError:
        return look.quiet(look.NO_PICTURES)
    shown = []
    for side, picture, result, score in (
        ("A", pictures.a, found.a, found.score_a),
        ("B", pictures.b, found.b, found.score_b),
    ):
        caption = side if score is None else f"{side}: {score:.2f} of 5"
        regions = regions_of(result) if result else None
        shown.append(look.figure(look.thumbnail(picture, longest), caption, regions, picture.size))
    difference = difference_of(pictures)
    if difference is not None:
        drawn = difference.picture(look.thumbnail(pictures.a, longest))
        shown.append(look.figure(drawn, f"{MAP_CAPTION} ({difference.shows})"))
    return f'<div class="pictures">{"".join(shown)}</div>'
