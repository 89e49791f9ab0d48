"""Assessments as one self-contained page: pictures, quality maps, answer, evidence and reasons."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path

import numpy as np
import numpy.typing as npt

from agenticiqa.errors import BackendUnavailableError, ImageError, RegionError
from agenticiqa.nodes.results import Assessment
from agenticiqa.pictures.inputs import aligned
from agenticiqa.pictures.regions import overlay
from agenticiqa.reports import look
from agenticiqa.reports.scale import fusion_chart, score_scale
from agenticiqa.runtime.config import ImageLimits
from agenticiqa.runtime.files import write_atomic
from agenticiqa.state import MODEL_COLUMNS, ExecutorOutput
from agenticiqa.vocabulary import LETTER_LEVELS, LEVEL_NAMES, damage_in_words, part_in_words

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class ReportItem:
    """One result, and the map of its picture where there is one (rows × columns, 1 bad .. 5 excellent)."""

    result: Assessment
    quality_map: Floats | None = None
    limits: ImageLimits = field(default_factory=ImageLimits)
    side: int = look.SHOWN_SIDE
    """The longer side of its pictures, as shown."""


def render_report(items: Iterable[ReportItem], title: str = "AgenticIQA report") -> str:
    shown = list(items)
    models = [model for item in shown for model in look.models_of(item.result.metadata)]
    return look.page(title, "\n".join(picture_article(item) for item in shown), models)


def notebook_view(result: Assessment, limits: ImageLimits) -> str:
    return look.in_notebook(picture_article(replace(report_item(result, limits), side=look.NOTEBOOK_SIDE)))


def report_item(result: Assessment, limits: ImageLimits) -> ReportItem:
    """A result with its quality map, where the embedded vision model is installed."""
    from agenticiqa.vision.quality_map import quality_map

    try:
        return ReportItem(result, quality_map(result.open_picture(result.image_path, limits)), limits)
    except (ImageError, BackendUnavailableError):
        return ReportItem(result, limits=limits)


def write_report(path: Path, items: Iterable[ReportItem], title: str = "AgenticIQA report") -> None:
    write_atomic(path, render_report(items, title))


def picture_article(item: ReportItem) -> str:
    """One result: pictures, answer, chart, evidence."""
    result = item.result
    notes = [str(note) for note in result.metadata.get("image_notes") or []]
    about = "; ".join([look.shown_name(result.image_path), *notes])
    before = "".join(look.quiet(f"{turn['query']} {turn['answer']}") for turn in result.earlier)
    parts = [f'<div class="head">{before}<h2>{escape(result.query)}</h2>{look.quiet(about)}{_pictures(item)}</div>']
    if result.status == "error" or result.summarizer_result is None:
        text = look.without_folders(result.error or "", result.image_path, result.reference_path)
        parts.append(f"<p><strong>No answer.</strong> {escape(text)}</p>")
    else:
        used = result.summarizer_result.used_evidence or {}
        text = look.without_folders(result.reasoning, result.image_path, result.reference_path)
        parts += [_answer(result), f"<p>{escape(text)}</p>"]
        parts.append(look.table(MODEL_COLUMNS, [each.cells() for each in result.models]))
        if result.score is not None:
            scale = score_scale(result.score, result.score_interval)
            parts.append(f'<div class="charts">{scale}{fusion_chart(used.get("fusion"))}</div>')
        if result.advice:
            steps = [f'<li>{escape(it.do)} <span class="dim">{escape(it.because)}</span></li>' for it in result.advice]
            parts.append(f'<h3>What to do</h3><ol class="advice">{"".join(steps)}</ol>')
        if result.executor_evidence:
            parts += [_evidence(result.executor_evidence), _views(item)]
    return f"<article>{''.join(parts)}{_foot(result)}</article>"


def _pictures(item: ReportItem) -> str:
    result, figures = item.result, []
    with suppress(ImageError):
        picture = result.open_picture(result.image_path, item.limits)
        shown, regions, size = look.thumbnail(picture, item.side), regions_of(result), picture.size
        figures.append(look.figure(shown, "picture", regions, size))
        if item.quality_map is not None:
            coloured = overlay(shown, item.quality_map)
            figures.append(look.figure(coloured, "where quality is lost (red) and kept (blue)", regions, size))
    if result.reference_path:
        with suppress(ImageError):
            reference = result.open_picture(result.reference_path, item.limits)
            figures.append(look.figure(look.thumbnail(reference, item.side), "reference"))
    return f'<div class="pictures">{"".join(figures)}</div>' if figures else look.quiet(look.NO_PICTURES)


def _views(item: ReportItem) -> str:
    """Closer looks, made anew from the picture, each with its place and why it was taken."""
    from agenticiqa.vision.views import render

    result, figures = item.result, []
    for view in result.executor_evidence.views if result.executor_evidence else ():
        with suppress(ImageError, RegionError):
            names = [name for name in (result.image_path, result.reference_path) if name]
            picture, *others = (result.open_picture(name, item.limits) for name in names)
            if others and others[0].size != picture.size:
                # So it was looked at: a reference of another size is refused otherwise.
                picture = aligned(picture, others[0])
            shown = look.thumbnail(render(view, picture, others[0] if others else None), item.side)
            figures.append(look.figure(shown, f"{view.place_text}: {view.reason}"))
    if not figures:
        return ""
    about = "Parts of the picture with its own pixels: what a model that sees it reduced would miss."
    return f'<h3>Closer looks</h3>{look.quiet(about)}<div class="closer">{"".join(figures)}</div>'


def regions_of(result: Assessment) -> dict[str, look.Box]:
    """The parts that were given, and those that tools measured, by name."""
    logs = result.executor_evidence.tool_logs if result.executor_evidence else []
    measured: dict[str, look.Box] = {log.object: log.region for log in logs if log.region}
    given: Mapping[str, look.Box] = result.metadata.get("regions") or {}
    return {**measured, **given}


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
    return f'<p class="answer"><strong>{escape(result.answer_text)}</strong></p>'


def _evidence(evidence: ExecutorOutput) -> str:
    found = [
        (part_in_words(name), damage_in_words(entry.type), entry.severity, entry.explanation)
        for name, entries in (evidence.distortion_analysis or {}).items()
        for entry in entries
    ]
    tools = []
    for log in evidence.tool_logs:
        raw = "" if log.raw_score is None else f"{log.raw_score:.4g}"
        points = "" if log.calibrated_score is None else f"{log.calibrated_score:.2f}"
        tools.append((part_in_words(log.object), log.tool, raw, points, log.error or log.note or ""))
    described = look.table(("Part", "Damage", "Severity", "What was found"), found)
    return described + look.table(("Part", "Tool", "Raw", "1..5", ""), tools)


def _foot(result: Assessment) -> str:
    meta = result.metadata
    size = meta.get("image_size")
    version = (meta.get("versions") or {}).get("agenticiqa")
    parts = [
        result.status,
        f"{size[0]}×{size[1]} pixels" if size else "",
        ", ".join(look.models_of(meta)),
        f"{meta.get('calls', 0)} calls",
        f"{(meta.get('timings') or {}).get('total') or 0:.1f} s",
        f"answered by version {version}" if version else "",
        f"run {meta['run_id']}" if meta.get("run_id") else "",
    ]
    return look.quiet(" · ".join(part for part in parts if part))
