"""A comparison as files: the difference map, and one self-contained page."""

from __future__ import annotations

from html import escape
from pathlib import Path

import cv2

from agenticiqa.errors import ImageError
from agenticiqa.nodes.results import Comparison
from agenticiqa.reports.assessment import picture_article, regions_of, report_item
from agenticiqa.reports.difference import Pictures, difference_of, open_pictures
from agenticiqa.reports.look import (
    NO_PICTURES,
    NOTEBOOK_SIDE,
    SHOWN_SIDE,
    figure,
    in_notebook,
    models_of,
    page,
    quiet,
    shown_name,
    table,
    thumbnail,
    without_folders,
)
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
    sides = [result for result in (found.a, found.b) if result is not None]
    articles = [_verdict(found, limits), *(picture_article(report_item(result, limits)) for result in sides)]
    models = [model for result in sides for model in models_of(result.metadata)]
    return page(f"{shown_name(found.image_a)} or {shown_name(found.image_b)}?", "".join(articles), models)


def notebook_view(found: Comparison, limits: ImageLimits) -> str:
    """The verdict inside a notebook's page; each side's own view is ``found.a`` or ``found.b``."""
    return in_notebook(_verdict(found, limits, NOTEBOOK_SIDE))


def _verdict(found: Comparison, limits: ImageLimits, side: int = SHOWN_SIDE) -> str:
    names = f"A: {shown_name(found.image_a)}; B: {shown_name(found.image_b)}"
    if found.status == "error":
        told = without_folders(found.error or "", found.image_a, found.image_b, found.reference_path)
        return f"<article><h2>No verdict</h2>{quiet(names)}<p>{escape(told)}</p></article>"
    told = without_folders(found.verdict, found.image_a, found.image_b)
    head = f"<h2>{escape(told)}</h2>{quiet(names)}{_figures(found, limits, side)}{_chance(found)}"
    return f'<article><div class="head">{head}</div>{_reasons(found)}{_tools(found)}</article>'


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
        return quiet(NO_PICTURES)
    results = {"A": found.a, "B": found.b}
    scores = {"A": found.score_a, "B": found.score_b}
    shown = []
    for side, picture in pictures.sides:
        result, score = results[side], scores[side]
        caption = side if score is None else f"{side}: {score:.2f} of 5"
        regions = regions_of(result) if result else None
        shown.append(figure(thumbnail(picture, longest), caption, regions, picture.size))
    difference = difference_of(pictures)
    if difference is not None:
        shown.append(figure(difference.picture(thumbnail(pictures.a, longest)), f"{MAP_CAPTION} ({difference.shows})"))
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
