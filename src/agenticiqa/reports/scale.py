"""A score as drawings: where it lies on the scale from 1 to 5, how sure that is, and what it was fused from."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from agenticiqa.nodes.results import Assessment
from agenticiqa.pictures.images import Box
from agenticiqa.reports.look import LEVEL_COLOURS
from agenticiqa.runtime.config import ImageLimits
from agenticiqa.score_interval import COVERED
from agenticiqa.state import ToolExecutionLog
from agenticiqa.tools.maps import MapFolder
from agenticiqa.tools.measuring import ToolJob, ToolRunner
from agenticiqa.tools.registry import ToolRegistry
from agenticiqa.vocabulary import LEVEL_NAMES

LEVELS = range(1, 6)
WIDTH, LEFT = 420, 30


def score_scale(score: float, interval: tuple[float, float] | None) -> str:
    """The scale in the levels' colours, a bar over what is likely, and a mark at the score."""
    at = _place
    blocks = "".join(_block(level) for level in LEVELS)
    bar = ""
    if interval:
        low, high = (at(value) for value in interval)
        ends = f"M{low:.1f} 14v8M{low:.1f} 18H{high:.1f}M{high:.1f} 14v8"
        bar = f'<path d="{ends}" fill="none" stroke="currentColor" stroke-width="2"></path>'
    mark = f'<path d="M{at(score):.1f} 25l-6-11h12z" fill="currentColor"></path>'
    words = f"Score {score:.2f} on the scale from 1 to 5"
    likely = f"{COVERED:.0%} interval {interval[0]:.1f} to {interval[1]:.1f}" if interval else "no interval"
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} 60" role="img" aria-label="{words}; {likely}" style="max-width:{WIDTH}px">'
        f"{blocks}{bar}{mark}</svg>"
        f"<figcaption>{words}{f'; {likely}' if interval else ''}.</figcaption></figure>"
    )


def _block(level: int) -> str:
    """A level's part of the scale, and its name below."""
    start, end = _place(max(level - 0.5, 1)), _place(min(level + 0.5, 5))
    anchor = {1: "start", 5: "end"}.get(level, "middle")
    return (
        f'<rect x="{start:.1f}" y="26" width="{end - start - 2:.1f}" height="10" rx="2" '
        f'fill="{LEVEL_COLOURS[level]}"></rect>'
        f'<text x="{_place(level):.1f}" y="54" text-anchor="{anchor}">{level} {LEVEL_NAMES[level]}</text>'
    )


def _place(score: float) -> float:
    return 8 + (score - 1) / 4 * (WIDTH - 16)


def fusion_chart(fusion: Mapping[str, Any] | None) -> str:
    """Bars of the model's level probabilities and the tools' weights, and a line at the fused score."""
    if not fusion:
        return ""
    height, step = 130, (WIDTH - LEFT) / 5
    bars = []
    for place, level in enumerate(LEVELS):
        for offset, (name, colour) in enumerate((("p", "#3b6fd4"), ("alpha", "#c9a227"))):
            share = _by_level(fusion[name], level)
            x, tall = LEFT + place * step + 8 + offset * 24, share * 90
            bars.append(
                f'<rect x="{x:.1f}" y="{100 - tall:.1f}" width="20" height="{tall:.1f}" fill="{colour}"></rect>'
            )
        bars.append(f'<text x="{LEFT + place * step + 8:.1f}" y="116">{level} {LEVEL_NAMES[level]}</text>')
    at = LEFT + (float(fusion["q"]) - 1) * step + 28
    bars.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="5" y2="100" stroke="#b3261e" stroke-width="2"></line>')
    label = f"Level probabilities of the model, weights of the tools, and the fused score {float(fusion['q']):.2f}"
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label)}" '
        f'style="max-width:{WIDTH}px">{"".join(bars)}</svg><figcaption>Blue: probability of each level by the model; '
        f"yellow: weight of each level by the tools; red: fused score {float(fusion['q']):.2f}.</figcaption></figure>"
    )


def _by_level(values: Mapping[Any, float], level: int) -> float:
    """Levels are numbers in a result that was just made, and text in one that was stored."""
    return float(values.get(level, values.get(str(level), 0.0)))


# --- Maps of the tools that an assessment's evidence rests on ---


def write_maps(result: Assessment, tools: ToolRegistry, maps: MapFolder, limits: ImageLimits) -> list[Path]:
    """Run the tools that gave scores once more, this time for their maps; returns the overlays written."""
    logs = [log for log in _logs(result) if log.error is None]
    if not logs:
        return []
    test = result.open_picture(result.image_path, limits)
    reference = result.open_picture(result.reference_path, limits) if result.reference_path else None
    bench = ToolRunner(test, reference, keep_maps=True)
    written = []
    # A whole-picture score may be filed under several objects: one map is enough.
    for key in dict.fromkeys((log.tool, log.object if log.region else None, tuple(log.region or ())) for log in logs):
        tool, name, numbers = tools.get(key[0]), key[1], key[2]
        box = Box(*numbers) if numbers else None
        local = bench.measure(ToolJob(tool, box)).map if tool else None
        if tool is not None and local is not None:
            written.append(maps.write(test, tool.spec, local, path=result.image_path, region=box, name=name))
    return written


def _logs(result: Assessment) -> list[ToolExecutionLog]:
    return result.executor_evidence.tool_logs if result.executor_evidence else []
