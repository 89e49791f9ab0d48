"""Charts as SVG: no script, readable in print, described for those who cannot see them."""

from collections.abc import Callable, Sequence
from html import escape

import numpy as np
import numpy.typing as npt

from agenticiqa.reports.look import LEVEL_COLOURS, axis, ticks
from agenticiqa.score_fusion import ScoreFusion
from agenticiqa.vocabulary import LEVEL_NAMES

Floats = npt.NDArray[np.float64]

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 48, 12, 12, 40
BINS = 20
MOST_DOTS = 4000
"""More dots hide each other and make the page heavy; a seeded choice is drawn."""


def histogram(scores: Sequence[float]) -> str:
    counts, edges = np.histogram(np.clip(scores, 1, 5), bins=BINS, range=(1, 5))
    level_of = ScoreFusion().level_of
    tallest = max(int(counts.max()), 1)
    x, y = axis(1, 5, LEFT, WIDTH - RIGHT), axis(0, tallest, HEIGHT - BOTTOM, TOP)
    bars = "".join(
        f'<rect x="{x(left) + 1:.1f}" y="{y(count):.1f}" width="{x(right) - x(left) - 2:.1f}" '
        f'height="{y(0) - y(count):.1f}" fill="{LEVEL_COLOURS[level_of((left + right) / 2)]}">'
        f"<title>{count} between {left:.1f} and {right:.1f}</title></rect>"
        for count, left, right in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    )
    anchors = {1: "start", 5: "end"}
    names = "".join(
        x_tick(x(level), f"{level} {LEVEL_NAMES[level]}", anchors.get(level, "middle")) for level in range(1, 6)
    )
    lines = "".join(y_tick(y(value), f"{value:.0f}") for value in ticks(0, tallest) if value == round(value))
    return svg(lines + bars + names, f"Distribution of {len(scores)} scores over the scale from 1 to 5")


def scatter(scores: npt.ArrayLike, opinions: npt.ArrayLike, curve: Callable[[Floats], Floats] | None = None) -> str:
    """Every sample's score against people's opinion, and the fitted curve where there is one."""
    points = np.column_stack([scores, opinions])
    shown = points
    if len(points) > MOST_DOTS:
        shown = points[np.random.default_rng(0).choice(len(points), MOST_DOTS, replace=False)]
    low, high = points.min(axis=0), points.max(axis=0)
    margin = np.where(high > low, 0.04 * (high - low), 0.5)
    x = axis(low[0] - margin[0], high[0] + margin[0], LEFT, WIDTH - RIGHT)
    y = axis(low[1] - margin[1], high[1] + margin[1], HEIGHT - BOTTOM, TOP)
    dots = "".join(f'<circle cx="{x(px):.1f}" cy="{y(py):.1f}" r="3"></circle>' for px, py in shown.tolist())
    parts = [y_tick(y(value), f"{value:g}") for value in ticks(low[1], high[1])]
    parts += [x_tick(x(value), f"{value:g}") for value in ticks(low[0], high[0])]
    parts.append(f'<g fill="#3b6fd4" fill-opacity="0.45">{dots}</g>')
    if curve is not None:
        along = np.linspace(low[0], high[0], 60)
        path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in zip(along, curve(along), strict=True))
        parts.append(f'<polyline points="{path}" fill="none" stroke="#b3261e" stroke-width="2"></polyline>')
    parts.append(f'<text x="{(LEFT + WIDTH) / 2:.0f}" y="{HEIGHT - 4}" text-anchor="middle">score</text>')
    parts.append(f'<text x="12" y="{HEIGHT / 2:.0f}" transform="rotate(-90 12 {HEIGHT / 2:.0f})">opinion</text>')
    missing = f"; {MOST_DOTS} of them drawn" if len(points) > MOST_DOTS else ""
    return svg("".join(parts), f"Scores of {len(points)} samples against people's opinion{missing}")


def x_tick(x: float, label: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="{anchor}">{escape(label)}</text>'


def y_tick(y: float, label: str) -> str:
    """A line across the chart, and its number."""
    line = f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"></line>'
    return f'{line}<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{escape(label)}</text>'


def figure(drawn: str, caption: str) -> str:
    return f"<figure>{drawn}<figcaption>{escape(caption)}</figcaption></figure>"


def svg(content: str, label: str) -> str:
    """A chart of the usual width, with its words for those who cannot see it."""
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">'
        f"<title>{escape(label)}</title>{content}</svg>"
    )
