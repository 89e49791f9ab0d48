"""A score as drawings: where it lies on the scale from 1 to 5, how sure that is, and what it was fused from."""

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from agenticiqa.nodes.results import Assessment
from agenticiqa.pictures.images import Box
from agenticiqa.reports.look import LEVEL_COLOURS
from agenticiqa.runtime.config import ImageLimits
from agenticiqa.score_interval import COVERED
from agenticiqa.tools.maps import MapFolder
from agenticiqa.tools.measuring import ToolJob, ToolRunner
from agenticiqa.tools.registry import ToolRegistry
from agenticiqa.vocabulary import LEVEL_NAMES

LEVELS = range(1, 6)
WIDTH, LEFT = 420, 30


def score_scale(score: float, interval: tuple[float, float] | None) -> str:
    """The scale in the levels' colours, a bar over what is likely, and a mark at the score."""
    drawn = ""
    for level in LEVELS:
        start, end = _place(max(level - 0.5, 1)), _place(min(level + 0.5, 5))
        anchor = {1: "start", 5: "end"}.get(level, "middle")
        drawn += (
            f'<rect x="{start:.1f}" y="26" width="{end - start - 2:.1f}" height="10" rx="2" '
            f'fill="{LEVEL_COLOURS[level]}"></rect>'
            f'<text x="{_place(level):.1f}" y="54" text-anchor="{anchor}">{level} {LEVEL_NAMES[level]}</text>'
        )
    words, likely = f"Score {score:.2f} on the scale from 1 to 5", "no interval"
    caption = words
    if interval:
        low, high = map(_place, interval)
        ends = f"M{low:.1f} 14v8M{low:.1f} 18H{high:.1f}M{high:.1f} 14v8"
        drawn += f'<path d="{ends}" fill="none" stroke="currentColor" stroke-width="2"></path>'
        likely = f"{COVERED:.0%} interval {interval[0]:.1f} to {interval[1]:.1f}"
        caption = f"{words}; {likely}"
    drawn += f'<path d="M{_place(score):.1f} 25l-6-11h12z" fill="currentColor"></path>'
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} 60" role="img" aria-label="{words}; {likely}" style="max-width:{WIDTH}px">'
        f"{drawn}</svg><figcaption>{caption}.</figcaption></figure>"
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
            # Levels are numbers in a result that was just made, and text in one that was stored.
            share = float(fusion[name].get(level, fusion[name].get(str(level), 0.0)))
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


# --- Maps of the tools that an assessment's evidence rests on ---


def write_maps(result: Assessment, tools: ToolRegistry, maps: MapFolder, limits: ImageLimits) -> list[Path]:
    """Run the tools that gave scores once more, this time for their maps; returns the overlays written."""
    evidence = result.executor_evidence
    logs = [log for log in evidence.tool_logs if log.error is None] if evidence else []
    if not logs:
        return []
    test = result.open_picture(result.image_path, limits)
    reference = result.open_picture(result.reference_path, limits) if result.reference_path else None
    bench = ToolRunner(test, reference, keep_maps=True)
    written = []
    # A whole-picture score may be filed under several objects: one map is enough.
    wanted = [(log.tool, log.object if log.region else None, Box(*log.region) if log.region else None) for log in logs]
    for tool_name, name, box in dict.fromkeys(wanted):
        tool = tools.get(tool_name)
        local = bench.measure(ToolJob(tool, box)).map if tool else None
        if tool is not None and local is not None:
            written.append(maps.write(test, tool.spec, local, path=result.image_path, region=box, name=name))
    return written
