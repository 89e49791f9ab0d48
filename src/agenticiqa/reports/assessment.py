"""Results as one self-contained HTML page: pictures, quality maps, evidence, the fusion chart and the reasons.

Everything is inside the file: pictures as data URLs, charts as SVG, no script, no font or style from elsewhere. All
text that came from outside (file names, questions, model replies) is escaped.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from agenticiqa.errors import BackendUnavailableError, ImageError
from agenticiqa.nodes.results import Assessment
from agenticiqa.pictures.images import LoadedImage
from agenticiqa.pictures.overlays import overlay
from agenticiqa.runtime.config import ImageLimits
from agenticiqa.runtime.files import write_whole
from agenticiqa.vocabulary import LETTER_LEVELS, LEVEL_NAMES

Floats = npt.NDArray[np.float32]

SHOWN_SIDE = 640
NO_PICTURES = "The pictures are no longer where they were, or cannot be read."
LEVEL_COLOURS = {5: "#1a7f37", 4: "#5aa02c", 3: "#b08800", 2: "#bc4c00", 1: "#b3261e"}

STYLE = """
:root { color-scheme: light dark; --ink: #1c1f23; --dim: #5b636d; --line: #d6dbe1; --paper: #ffffff; --soft: #f4f6f8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8eaed; --dim: #a4abb3; --line: #3a4047; --paper: #16181b; --soft: #202429; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1, h2, h3, p, li { overflow-wrap: anywhere; } h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin: 0 0 .3rem; }
article { border: 1px solid var(--line); border-radius: 10px; padding: 1rem; margin: 1.2rem 0; }
.pictures { display: flex; flex-wrap: wrap; gap: .8rem; margin: .8rem 0; }
figure { margin: 0; flex: 1 1 16rem; min-width: 0; } figure img { width: 100%; height: auto; border-radius: 6px; }
figcaption, .dim { color: var(--dim); font-size: .85rem; }
.answer { font-size: 1.15rem; } .badge { border-radius: 99px; padding: .1rem .7rem; color: #fff; font-weight: 600; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; } .scroll { overflow-x: auto; }
th, td { text-align: left; padding: .3rem .5rem; border-bottom: 1px solid var(--line); vertical-align: top; }
svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
@media print { article { break-inside: avoid; } }
"""


@dataclass(frozen=True)
class ReportItem:
    """One result, and the map of its picture where there is one (rows × columns, 1 bad .. 5 excellent)."""

    result: Assessment
    quality_map: Floats | None = None
    limits: ImageLimits = field(default_factory=ImageLimits)


def render_report(items: Iterable[ReportItem], title: str = "AgenticIQA report") -> str:
    """The page as text."""
    return page("\n".join(picture_article(item) for item in items), title)


def page(content: str, title: str) -> str:
    """A page of this look around ready HTML."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(title)}</title>'
        f"<style>{STYLE}</style></head><body><main><h1>{escape(title)}</h1>\n{content}\n</main></body></html>\n"
    )


def notebook_view(result: Assessment, limits: ImageLimits) -> str:
    """A result inside somebody else's page: the style is kept to this part of it."""
    style = STYLE.replace(":root {", "& {").replace("body {", "& {")
    article = picture_article(report_item(result, limits))
    return f'<div class="agenticiqa"><style>.agenticiqa {{ {style} }}</style>{article}</div>'


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
    write_whole(path, render_report(items, title))


def picture_article(item: ReportItem) -> str:
    """One result: pictures, answer, chart, evidence."""
    result = item.result
    parts = [f"<h2>{escape(result.query)}</h2>", f'<p class="dim">{escape(result.image_path)}</p>', _pictures(item)]
    if result.status == "error" or result.summarizer_result is None:
        parts.append(f"<p><strong>No answer.</strong> {escape(result.error or '')}</p>")
    else:
        parts += [_answer(result), f"<p>{escape(result.reasoning)}</p>", _advice(result)]
        parts += [_fusion_chart(result), _evidence(result)]
    parts.append(_footer(result))
    return f"<article>{''.join(parts)}</article>"


# --- pictures ---


def _pictures(item: ReportItem) -> str:
    figures = []
    picture = _opened(item.result, item.result.image_path, item.limits)
    if picture is not None:
        shown = thumbnail(picture)
        figures.append(figure(shown, "picture"))
        if item.quality_map is not None:
            figures.append(figure(overlay(shown, item.quality_map), "where quality is lost (red) and kept (blue)"))
    if item.result.reference_path:
        reference = _opened(item.result, item.result.reference_path, item.limits)
        if reference is not None:
            figures.append(figure(thumbnail(reference), "reference"))
    if not figures:
        return f'<p class="dim">{NO_PICTURES}</p>'
    return f'<div class="pictures">{"".join(figures)}</div>'


def _opened(result: Assessment, name: str, limits: ImageLimits) -> LoadedImage | None:
    try:
        return result.open_picture(name, limits)
    except ImageError:
        return None


def thumbnail(picture: LoadedImage) -> npt.NDArray[np.uint8]:
    """The picture, small enough to be put into a page."""
    copy = picture.pil.copy()
    copy.thumbnail((SHOWN_SIDE, SHOWN_SIDE), Image.Resampling.LANCZOS)
    return np.asarray(copy, np.uint8)


def figure(rgb: npt.NDArray[np.uint8], caption: str) -> str:
    """A picture inside the page, with its caption."""
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, "JPEG", quality=88)
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    return (
        f'<figure><img alt="{escape(caption)}" src="data:image/jpeg;base64,{data}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


# --- answer ---


def _answer(result: Assessment) -> str:
    answer = result.answer
    level = LETTER_LEVELS.get(answer)
    if result.score is not None and level:
        colour = LEVEL_COLOURS[level]
        score = escape(result.score_text) if result.conflict else f"score <strong>{result.score:.2f}</strong> of 5"
        return (
            f'<p class="answer"><span class="badge" style="background:{colour}">{answer}</span> '
            f"{LEVEL_NAMES[level]}, {score}</p>"
        )
    options: Mapping[str, str] = (_used(result)).get("options", {})
    text = f"{answer}. {options[answer]}" if answer in options else answer
    return f'<p class="answer"><strong>{escape(text)}</strong></p>'


def _advice(result: Assessment) -> str:
    """One line: what to do first, with the finding that asks for it."""
    if not result.advice:
        return ""
    first = result.advice[0]
    why = f'<span class="dim">{escape(first.because)}</span>'
    return f"<p><strong>What to do first:</strong> {escape(first.do)} {why}</p>"


def _used(result: Assessment) -> dict[str, Any]:
    summary = result.summarizer_result
    return (summary.used_evidence if summary else None) or {}


def _fusion_chart(result: Assessment) -> str:
    """Bars of the model's level probabilities and the tools' weights, and a line at the fused score."""
    fusion = _used(result).get("fusion")
    if not fusion:
        return ""
    width, height, left = 420, 130, 30
    step = (width - left) / 5
    bars = []
    for place, level in enumerate(range(1, 6)):
        for offset, (name, colour) in enumerate((("p", "#3b6fd4"), ("alpha", "#c9a227"))):
            share = float(_by_level(fusion[name], level))
            x, tall = left + place * step + 8 + offset * 24, share * 90
            bars.append(
                f'<rect x="{x:.1f}" y="{100 - tall:.1f}" width="20" height="{tall:.1f}" fill="{colour}"></rect>'
            )
        bars.append(f'<text x="{left + place * step + 8:.1f}" y="116">{level} {LEVEL_NAMES[level]}</text>')
    at = left + (float(fusion["q"]) - 1) * step + 28
    bars.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="5" y2="100" stroke="#b3261e" stroke-width="2"></line>')
    label = (
        f"Level probabilities of the model, weights of the tools, and the fused score {float(fusion['q']):.2f} (line)"
    )
    return (
        f'<figure><svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}" '
        f'style="max-width:{width}px">{"".join(bars)}</svg><figcaption>Blue: probability of each level by the model; '
        f"yellow: weight of each level by the tools; red: fused score {float(fusion['q']):.2f}.</figcaption></figure>"
    )


def _by_level(values: Mapping[Any, float], level: int) -> float:
    return values.get(level, values.get(str(level), 0.0))


def _evidence(result: Assessment) -> str:
    evidence = result.executor_evidence
    if evidence is None:
        return ""
    rows = [
        (name, entry.type, entry.severity, entry.explanation)
        for name, entries in (evidence.distortion_analysis or {}).items()
        for entry in entries
    ]
    tools = [
        (
            log.object,
            log.tool,
            _number(log.raw_score),
            _number(log.calibrated_score, ".2f"),
            log.error or log.note or "",
        )
        for log in evidence.tool_logs
    ]
    return table(("Object", "Distortion", "Severity", "What was found"), rows) + table(
        ("Object", "Tool", "Raw", "1..5", ""), tools
    )


def _number(value: float | None, form: str = ".4g") -> str:
    return "" if value is None else format(value, form)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows of plain text, escaped; nothing at all without rows."""
    if not rows:
        return ""
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="scroll" tabindex="0"><table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table></div>'


def _footer(result: Assessment) -> str:
    meta = result.metadata
    backends = ", ".join(dict.fromkeys(str(name) for name in meta.get("backend", {}).values()))
    seconds = meta.get("timings", {}).get("total", 0)
    words = f"{result.status}; run {meta.get('run_id', '')}; {backends}; {meta.get('calls', 0)} calls; {seconds:.1f} s"
    return f'<p class="dim">{escape(words)}</p>'
