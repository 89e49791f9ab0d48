"""A comparison as files: the difference map, and one self-contained page."""

from __future__ import annotations

from html import escape
from pathlib import Path

import cv2

from agenticiqa.errors import ImageError
from agenticiqa.nodes.results import Comparison
from agenticiqa.reports.assessment import NO_PICTURES, figure, page, picture_article, report_item, table, thumbnail
from agenticiqa.reports.difference import Pictures, difference_of, open_pictures
from agenticiqa.runtime.config import ImageLimits
from agenticiqa.runtime.files import write_whole

MAP_CAPTION = "blue: A is better there; orange: B is"


def write_difference(found: Comparison, path: Path, limits: ImageLimits) -> bool:
    """Write the difference map as PNG; False when none can be made of these pictures."""
    pictures = _pictures(found, limits)
    difference = difference_of(pictures)
    if difference is None:
        return False
    shown = cv2.cvtColor(difference.picture(pictures.a.rgb), cv2.COLOR_RGB2BGR)
    write_whole(path, cv2.imencode(".png", shown)[1].tobytes())
    return True


def write_page(found: Comparison, path: Path, limits: ImageLimits) -> None:
    """Write the page whole or not at all."""
    write_whole(path, render_page(found, limits).encode("utf-8"))


def render_page(found: Comparison, limits: ImageLimits) -> str:
    """The verdict first, then both pictures with their own reports."""
    parts = [
        f"<article><h2>{escape(found.verdict)}</h2>",
        _figures(found, limits),
        _reasons(found),
        _tools(found),
        "</article>",
    ]
    parts += [picture_article(report_item(result, limits)) for result in (found.a, found.b) if result is not None]
    return page("".join(parts), f"{Path(found.image_a).name} or {Path(found.image_b).name}?")


def _pictures(found: Comparison, limits: ImageLimits) -> Pictures:
    if found.a is None or found.b is None:
        return open_pictures(found.image_a, found.image_b, found.reference_path, limits)
    reference = found.a.open_picture(found.reference_path, limits) if found.reference_path else None
    return Pictures(found.a.open_picture(found.image_a, limits), found.b.open_picture(found.image_b, limits), reference)


def _figures(found: Comparison, limits: ImageLimits) -> str:
    try:
        pictures = _pictures(found, limits)
    except ImageError:
        return f'<p class="dim">{NO_PICTURES}</p>'
    shown = [figure(thumbnail(pictures.a), "A"), figure(thumbnail(pictures.b), "B")]
    difference = difference_of(pictures)
    if difference is not None:
        shown.append(figure(difference.picture(thumbnail(pictures.a)), f"{MAP_CAPTION} ({difference.shows})"))
    return f'<div class="pictures">{"".join(shown)}</div>'


def _reasons(found: Comparison) -> str:
    lines = "".join(f"<li>{escape(line)}</li>" for line in [*found.reasons, *found.notes])
    return f"<ul>{lines}</ul>" if lines else ""


def _tools(found: Comparison) -> str:
    rows = [
        (
            row.tool,
            _value(row.raw_a, row.calibrated_a),
            _value(row.raw_b, row.calibrated_b),
            row.error or row.better or "",
        )
        for row in found.tools
    ]
    return table(("Tool", "A: raw (1..5)", "B: raw (1..5)", "Better"), rows)


def _value(raw: float | None, points: float | None) -> str:
    return "" if raw is None or points is None else f"{raw:.4g} ({points:.2f})"
