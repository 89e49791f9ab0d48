"""Charts that set methods beside each other, as SVG like the other charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from agenticiqa.evaluation.report.charts import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    axis,
    svg,
    ticks,
    x_tick,
    y_tick,
)

OURS, PUBLISHED = "#3b6fd4", "#8a929c"
BAR, GAP = 18, 8
NAMES = 250
"""Width of the column with the methods' names."""
LONGEST_NAME = 35
LETTER, LINE = 6.6, 13
"""About the size of a letter, to see which names would cover each other."""


@dataclass(frozen=True)
class Bar:
    """A method's figure with its interval; ``published`` ones are drawn in another colour."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    published: bool = False


@dataclass(frozen=True)
class Point:
    """A method by what it costs and what it reaches."""

    name: str
    cost: float
    value: float


def interval_bars(bars: Sequence[Bar], label: str) -> str:
    """Horizontal bars from zero, intervals as whiskers."""
    reached = [edge for bar in bars for edge in (bar.value, bar.low, bar.high) if edge is not None]
    low, high = min([0.0, *reached]), max([*reached, 0.0])
    x = axis(low, high or 1.0, NAMES, WIDTH - 60)
    height = TOP + len(bars) * (BAR + GAP) + 24
    parts = [
        f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP}" y2="{height - 24}" class="grid"></line>'
        f'<text x="{x(tick):.1f}" y="{height - 8}" text-anchor="middle">{tick:g}</text>'
        for tick in ticks(low, high)
    ]
    for place, bar in enumerate(bars):
        parts.append(_bar(bar, TOP + place * (BAR + GAP), x(0.0), x(bar.value)))
        if bar.low is not None and bar.high is not None:
            parts.append(_whisker(x(bar.low), x(bar.high), TOP + place * (BAR + GAP) + BAR / 2))
    return svg("".join(parts), label, height=height)


def _bar(bar: Bar, top: float, start: float, end: float) -> str:
    colour = PUBLISHED if bar.published else OURS
    left, width = min(start, end), max(abs(end - start), 1.0)
    interval = "" if bar.low is None or bar.high is None else f" [{bar.low:.3f}, {bar.high:.3f}]"
    said = escape(f"{bar.name}: {bar.value:.3f}{interval}")
    return (
        f'<text x="{NAMES - 8}" y="{top + BAR * 0.72:.1f}" text-anchor="end">{escape(_short(bar.name))}</text>'
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{BAR}" fill="{colour}" fill-opacity="0.75">'
        f"<title>{said}</title></rect>"
        f'<text x="{WIDTH - 54}" y="{top + BAR * 0.72:.1f}">{bar.value:.3f}</text>'
    )


def _whisker(left: float, right: float, y: float) -> str:
    ends = "".join(f"M{x:.1f} {y - 5:.1f}V{y + 5:.1f}" for x in (left, right))
    return f'<path d="M{left:.1f} {y:.1f}H{right:.1f}{ends}" class="whisker" fill="none"></path>'


def _short(name: str) -> str:
    """Names that are too long lose their middle: beginning and end tell methods apart.

    >>> len(_short("AgenticIQA, openai.gpt-4o-mini, without detection"))
    35
    """
    if len(name) <= LONGEST_NAME:
        return name
    tail = LONGEST_NAME // 2
    return f"{name[: LONGEST_NAME - tail - 1]}…{name[-tail:]}"


def cost_against(points: Sequence[Point], label: str, value_name: str) -> str:
    """What methods reach against what a thousand samples cost; what is free stands at the left edge."""
    costs = [point.cost for point in points]
    values = [point.value for point in points]
    x = axis(0.0, (max(costs) or 1.0) * 1.05, LEFT + 10, WIDTH - RIGHT - 10)
    spread = (max(values) - min(values)) or 0.1
    y = axis(min(values) - 0.1 * spread, max(values) + 0.1 * spread, HEIGHT - BOTTOM, TOP)
    parts = [y_tick(y(tick), f"{tick:g}") for tick in ticks(min(values), max(values))]
    parts += [x_tick(x(tick), f"{tick:g}") for tick in ticks(0.0, max(costs))]
    taken: list[tuple[float, float, float]] = []
    for point in sorted(points, key=lambda each: -each.value):
        px, py = x(point.cost), y(point.value)
        parts.append(
            f'<circle cx="{px:.1f}" cy="{py:.1f}" r="5" fill="{OURS}">'
            f"<title>{escape(f'{point.name}: {point.value:.3f}, ${point.cost:.2f} per 1,000')}</title></circle>"
        )
        parts.append(_name_beside(point.name, px, py, taken))
    parts.append(f'<text x="{(LEFT + WIDTH) / 2:.0f}" y="{HEIGHT - 4}" text-anchor="middle">US$ per 1,000</text>')
    middle = f"{HEIGHT / 2:.0f}"
    parts.append(f'<text x="12" y="{middle}" transform="rotate(-90 12 {middle})">{escape(value_name)}</text>')
    return svg("".join(parts), label)


def _name_beside(name: str, x: float, y: float, taken: list[tuple[float, float, float]]) -> str:
    """To the side that has room; a name that would cover another one is left to the point's title."""
    shown = _short(name)
    width = len(shown) * LETTER + 8
    left, right = (x - 6, x + width) if x < WIDTH / 2 else (x - width, x + 6)
    if any(abs(y - other) < LINE and left < end and start < right for start, end, other in taken):
        return ""
    taken.append((left, right, y))
    side, anchor = (8, "start") if x < WIDTH / 2 else (-8, "end")
    return f'<text x="{x + side:.1f}" y="{y + 4:.1f}" text-anchor="{anchor}">{escape(shown)}</text>'


def thinned(values: Sequence[float], others: Sequence[float], most: int) -> tuple[list[float], list[float]]:
    """At most so many of these pairs, the same ones every time: a page with many charts must stay light."""
    if len(values) <= most:
        return list(values), list(others)
    kept = np.sort(np.random.default_rng(0).choice(len(values), most, replace=False))
    return [values[i] for i in kept], [others[i] for i in kept]
