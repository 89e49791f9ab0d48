"""A drawing of size against quality: what each format costs at each setting that was tried."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from agenticiqa.reports.look import axis, ticks

if TYPE_CHECKING:
    from agenticiqa.api.encode import Encoded, Trial

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 640, 400, 60, 46, 44, 90
COLOURS = {"jpeg": "#b3261e", "webp": "#1f5a99", "avif": "#1a7f37"}


def rate_quality_chart(found: Sequence[Encoded]) -> str:
    """An SVG with a line for each picture and format: kilobytes (in doubling steps), quality, and the bound."""
    bound = found[0].bound
    trials = [trial for one in found for trial in one.trials]
    sizes = [math.log2(trial.bytes / 1024) for trial in trials]
    values = [bound.limit, *map(bound.reached, trials)]
    first, last = math.floor(min(sizes)), math.floor(max(sizes)) + 1
    margin = 0.05 * (max(values) - min(values)) or 1.0
    low, high = min(values) - margin, max(values) + margin
    across, up = axis(first, last, LEFT, WIDTH - RIGHT), axis(low, high, HEIGHT - BOTTOM, TOP)

    def place(trial: Trial) -> tuple[float, float]:
        return across(math.log2(trial.bytes / 1024)), up(bound.reached(trial))

    parts = []
    for power in range(first, last + 1):
        x = across(power)
        parts.append(f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#d5dae1"/>')
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{2.0**power:g}</text>')
    for value in ticks(low, high):
        parts.append(f'<path d="M{LEFT} {up(value):.1f}H{WIDTH - RIGHT}" stroke="#d5dae1"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{up(value) + 4:.1f}" text-anchor="end">{value:g}</text>')
    line = f'd="M{LEFT} {up(bound.limit):.1f}H{WIDTH - RIGHT}"'
    parts.append(f'<path {line} stroke="#1a1f26" stroke-dasharray="6 4"><title>the bound</title></path>')
    for one in found:
        for name, colour in COLOURS.items():
            points = "L".join("{:.1f} {:.1f}".format(*place(each)) for each in one.trials if each.format == name)
            if points:
                parts.append(f'<path d="M{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
            if best := one.of_format(name):
                x, y = place(best)
                said = escape(f"{one.image}: {name} at {best.quality}, {best.bytes / 1024:.1f} KB")
                parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"><title>{said}</title></circle>')
    for row, name in enumerate(name for name in COLOURS if any(trial.format == name for trial in trials)):
        x, y = WIDTH - RIGHT + 16, TOP + 14 + 20 * row
        dot = f'<rect x="{x - 4}" y="{y - 8}" width="8" height="8" fill="{COLOURS[name]}"/>'
        parts.append(f'{dot}<text x="{x + 10}" y="{y}">{name}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="12" fill="#1a1f26"><rect width="100%" height="100%" fill="#fff"/>'
        f'<text x="{LEFT}" y="24" font-size="15">Size and quality; smallest with {escape(str(bound))}</text>'
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">kilobytes</text>'
        f'<text transform="translate(16 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">'
        f"{escape(bound.tool.name)}{', 1 to 5' if bound.calibrated else ''}</text>{''.join(parts)}</svg>\n"
    )
