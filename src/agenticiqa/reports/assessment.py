"""Assessments as one self-contained page: pictures, quality maps, answer, evidence and reasons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agenticiqa.errors import BackendUnavailableError, ImageError
from agenticiqa.nodes.results import Assessment
from agenticiqa.pictures.images import LoadedImage
from agenticiqa.pictures.regions import overlay
from agenticiqa.reports.look import (
    NO_PICTURES,
    NOTEBOOK_SIDE,
    SHOWN_SIDE,
    Box,
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
from agenticiqa.reports.scale import fusion_chart, score_scale
from agenticiqa.runtime.config import ImageLimits
from agenticiqa.runtime.files import write_atomic
from agenticiqa.vocabulary import LETTER_LEVELS, LEVEL_NAMES, damage_in_words, part_in_words

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class ReportItem:
    """One result, and the map of its picture where there is one (rows × columns, 1 bad .. 5 excellent)."""

    result: Assessment
    quality_map: Floats | None = None
    limits: ImageLimits = field(default_factory=ImageLimits)
    side: int = SHOWN_SIDE
    """The longer side of its pictures, as shown."""


def render_report(items: Iterable[ReportItem], title: str = "AgenticIQA report") -> str:
    """The page as text."""
    shown = list(items)
    models = [model for item in shown for model in models_of(item.result.metadata)]
    return page(title, "\n".join(picture_article(item) for item in shown), models)


def notebook_view(result: Assessment, limits: ImageLimits) -> str:
    """A result inside a notebook's page."""
    return in_notebook(picture_article(replace(report_item(result, limits), side=NOTEBOOK_SIDE)))


def report_item(result: Assessment, limits: ImageLimits) -> ReportItem:
    """A result with its quality map, where the embedded vision model is installed."""
    from agenticiqa.vision.quality_map import quality_map

    picture = _opened(result, result.image_path, limits)
    if picture is None:
        return ReportItem(result, limits=limits)
    try:
        return ReportItem(result, quality_map(picture), limits)
    except BackendUnavailableError:
        return ReportItem(result, limits=limits)


def write_report(path: Path, items: Iterable[ReportItem], title: str = "AgenticIQA report") -> None:
    """Write the page whole or not at all."""
    write_atomic(path, render_report(items, title))


def picture_article(item: ReportItem) -> str:
    """One result: pictures, answer, chart, evidence."""
    result = item.result
    notes = [str(note) for note in result.metadata.get("image_notes") or []]
    about = "; ".join([shown_name(result.image_path), *notes])
    head = f"<h2>{escape(result.query)}</h2>{quiet(about)}{_pictures(item)}"
    parts = [f'<div class="head">{head}</div>']
    if result.status == "error" or result.summarizer_result is None:
        parts.append(f"<p><strong>No answer.</strong> {escape(_told(result, result.error or ''))}</p>")
    else:
        parts += [
            _answer(result),
            f"<p>{escape(_told(result, result.reasoning))}</p>",
            _charts(result),
            _advice(result),
            _evidence(result),
        ]
    parts.append(_foot(result))
    return f"<article>{''.join(parts)}</article>"


def _told(result: Assessment, text: str) -> str:
    return without_folders(text, result.image_path, result.reference_path)


# --- pictures ---


def _pictures(item: ReportItem) -> str:
    figures = []
    picture = _opened(item.result, item.result.image_path, item.limits)
    if picture is not None:
        shown, regions = thumbnail(picture, item.side), regions_of(item.result)
        size = picture.size
        figures.append(figure(shown, "picture", regions, size))
        if item.quality_map is not None:
            coloured = overlay(shown, item.quality_map)
            figures.append(figure(coloured, "where quality is lost (red) and kept (blue)", regions, size))
    if item.result.reference_path:
        reference = _opened(item.result, item.result.reference_path, item.limits)
        if reference is not None:
            figures.append(figure(thumbnail(reference, item.side), "reference"))
    return f'<div class="pictures">{"".join(figures)}</div>' if figures else quiet(NO_PICTURES)


def regions_of(result: Assessment) -> dict[str, Box]:
    """The parts that were given, and those that tools measured, by name."""
    logs = result.executor_evidence.tool_logs if result.executor_evidence else []
    measured: dict[str, Box] = {log.object: log.region for log in logs if log.region}
    given: Mapping[str, Box] = result.metadata.get("regions") or {}
    return {**measured, **given}


def _opened(result: Assessment, name: str, limits: ImageLimits) -> LoadedImage | None:
    try:
        return result.open_picture(name, limits)
    except ImageError:
        return None


# --- answer ---


def _answer(result: Assessment) -> str:
    answer = result.answer
    level = LETTER_LEVELS.get(answer)
    if result.score is not None and level:
        score = escape(result.score_text) if result.conflict else f"score <strong>{result.score:.2f}</strong> of 5"
        asked = f"<strong>{escape(result.asked_scale)}</strong>, that is " if result.asked_scale else ""
        return (
            f'<p class="answer"><span class="badge level-{level}">{escape(answer)}</span> '
            f"{asked}{LEVEL_NAMES[level]}, {score}</p>"
        )
    options: Mapping[str, str] = _used(result).get("options", {})
    text = f"{answer}. {options[answer]}" if answer in options else answer
    return f'<p class="answer"><strong>{escape(text)}</strong></p>'


def _used(result: Assessment) -> dict[str, Any]:
    summary = result.summarizer_result
    return (summary.used_evidence if summary else None) or {}


def _charts(result: Assessment) -> str:
    """The score on its scale, and what it was fused from."""
    if result.score is None:
        return ""
    fusion = _used(result).get("fusion")
    return f'<div class="charts">{score_scale(result.score, result.score_interval)}{fusion_chart(fusion)}</div>'


def _advice(result: Assessment) -> str:
    if not result.advice:
        return ""
    steps = "".join(
        f'<li>{escape(each.do)} <span class="dim">{escape(each.because)}</span></li>' for each in result.advice
    )
    return f'<h3>What to do</h3><ol class="advice">{steps}</ol>'


def _evidence(result: Assessment) -> str:
    evidence = result.executor_evidence
    if evidence is None:
        return ""
    rows = [
        (part_in_words(name), damage_in_words(entry.type), entry.severity, entry.explanation)
        for name, entries in (evidence.distortion_analysis or {}).items()
        for entry in entries
    ]
    tools = [
        (
            part_in_words(log.object),
            log.tool,
            _number(log.raw_score),
            _number(log.calibrated_score, ".2f"),
            log.error or log.note or "",
        )
        for log in evidence.tool_logs
    ]
    return table(("Part", "Damage", "Severity", "What was found"), rows) + table(
        ("Part", "Tool", "Raw", "1..5", ""), tools
    )


def _number(value: float | None, form: str = ".4g") -> str:
    return "" if value is None else format(value, form)


def _foot(result: Assessment) -> str:
    meta = result.metadata
    size = meta.get("image_size")
    seconds = (meta.get("timings") or {}).get("total") or 0
    version = (meta.get("versions") or {}).get("agenticiqa")
    parts = [
        result.status,
        f"{size[0]}×{size[1]} pixels" if size else "",
        ", ".join(models_of(meta)),
        f"{meta.get('calls', 0)} calls",
        f"{seconds:.1f} s",
        f"answered by version {version}" if version else "",
        f"run {meta['run_id']}" if meta.get("run_id") else "",
    ]
    return quiet(" · ".join(part for part in parts if part))
