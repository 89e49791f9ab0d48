"""What tools need: memory, known before anything is decoded, and time, measured on this machine.

Memory follows from the sizes of the pictures and from what tools declare, measured on pictures of 6 to 24 megapixels,
16 November 2026 (`python benchmarks/speed/tool_memory.py`).
"""

from __future__ import annotations

import timeit
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from agenticiqa.errors import AgenticIQAError
from agenticiqa.tools.metrics import Array, MetricInputError, Views
from agenticiqa.tools.registry import LEAN_BYTES, Tool, ToolRegistry

Size = tuple[int, int]
"""(width, height)."""

PICTURE_BYTES = 16
"""Of a decoded picture, per pixel: 7 with 8 bits (Pillow's copy and NumPy's), 15 with 16 bits."""
OPENING_BYTES = 24
"""What opening a picture takes for a moment beside that: decoding, transparency, 16 bits."""
LOOKING_BYTES = 16
"""What the embedded model takes to look at a picture."""
SHARED_BYTES = 36
"""What tools keep for each other while all of them run: colours as floats and luma, of picture and reference."""
RESIZING_BYTES = 40
"""What scaling a picture to its reference's size takes."""
SMALL_PIXELS = 1_000_000
"""Up to so many pixels it is not worth while to find out which tool needs most."""
MAP_BYTES = 8
"""Of each tool's map, where maps are wanted."""


@dataclass(frozen=True)
class MemoryNeed:
    """Bytes: at the least, one tool after the other with nothing kept between them; and for the usual way."""

    least: int
    usual: int


def pixels_of(size: Size) -> int:
    return size[0] * size[1]


def tool_need(tool: Tool, pixels: int) -> int:
    """What one tool takes beside the pictures."""
    return int(tool.spec.bytes_per_pixel * pixels)


def pictures_need(sizes: Collection[Size]) -> int:
    """What it takes to have these pictures open."""
    return sum(PICTURE_BYTES * pixels_of(size) for size in sizes)


def sizes_once_scaled(sizes: Sequence[Size], *, resize: bool) -> Sequence[Size]:
    """A picture that is scaled to its reference is open at that size: the smaller it is, the more it grows.

    >>> sizes_once_scaled([(8, 8), (4000, 3000)], resize=True)
    [(4000, 3000), (4000, 3000)]
    """
    if not resize or len(sizes) < 2:
        return sizes
    return [max(sizes[0], sizes[1], key=pixels_of), *sizes[1:]]


def measuring_need(
    sizes: Sequence[Size], tools: Collection[Tool], *, resize: bool = False, maps: int = 0
) -> MemoryNeed:
    """Of measuring the first picture, perhaps against the others, with these tools."""
    sizes = sizes_once_scaled(sizes, resize=resize)
    pixels = max(map(pixels_of, sizes))
    opened = pictures_need(sizes) + maps * MAP_BYTES * pixels
    opening = (RESIZING_BYTES if resize else OPENING_BYTES) * pixels
    hungriest = max([opening, *(tool_need(tool, pixels) for tool in tools)])
    return MemoryNeed(opened + hungriest, opened + hungriest + SHARED_BYTES * pixels)


def assessing_need(
    sizes: Sequence[Size], tools: ToolRegistry, largest: int, *, has_reference: bool, resize: bool = False
) -> int:
    """Of asking the agents: the pictures, a look at them, and any tool they may choose that can be had at all.

    Which tools run is up to the agents; those that need more than ``largest`` are refused when they are chosen.
    """
    sizes = sizes_once_scaled(sizes, resize=resize)
    pixels = max(map(pixels_of, sizes))
    looking = pictures_need(sizes) + max(RESIZING_BYTES if resize else OPENING_BYTES, LOOKING_BYTES) * pixels
    if pixels <= SMALL_PIXELS and looking + LEAN_BYTES * pixels < largest and tools.are_lean:
        # Whatever tool it is: looking them all up would import every metric.
        return looking + LEAN_BYTES * pixels
    offered = tools.offered(has_reference=has_reference, size=sizes[0])
    return max(looking, min(largest, measuring_need(sizes, offered, resize=resize).usual))


# --- how long each tool takes ---

YARDSTICK = "NumPy"
"""The mean squared difference of the two pictures, written in NumPy: it runs everywhere and is no tool of ours."""


@dataclass(frozen=True)
class Timing:
    """The best of several runs in seconds, or why there is none."""

    tool: str
    seconds: float | None
    ratio: float | None
    error: str | None = None


def time_tools(tools: Sequence[Tool], size: Size, repeats: int) -> Iterator[Timing]:
    """Each tool alone on a made picture of (width, height); work that tools could share is done anew each time."""
    test, reference = _made_pair(size)
    yardstick = _best_time(lambda: np.mean(np.square(test.astype(np.float32) - reference.astype(np.float32))), repeats)
    for tool in tools:
        try:
            seconds = _best_time(partial(_measure, tool, test, reference), repeats)
        except (AgenticIQAError, MetricInputError) as error:
            yield Timing(tool.name, None, None, str(error))
        else:
            yield Timing(tool.name, seconds, seconds / yardstick)


def _measure(tool: Tool, test: Array, reference: Array) -> None:
    tool.metric.measure(Views(test, reference if tool.needs_reference else None))


def _best_time(work: Callable[[], object], repeats: int) -> float:
    # The first run loads modules and networks; it is not timed.
    work()
    return min(timeit.repeat(work, number=1, repeat=repeats))


def _made_pair(size: Size) -> tuple[Array, Array]:
    """A seeded picture with shading, edges and grain, and a noisier copy of it."""
    width, height = size
    rng = np.random.default_rng(0)
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    shade = 0.5 + 0.25 * np.sin(x / 37 + y / 91) + 0.15 * np.sign(np.sin(x / 53) * np.sin(y / 47))
    reference = np.clip(shade[..., None] * (0.9, 1.0, 0.8) + rng.normal(0, 0.02, (height, width, 3)), 0, 1)
    test = np.clip(reference + rng.normal(0, 0.03, reference.shape), 0, 1)
    return (test * 255).astype(np.uint8), (reference * 255).astype(np.uint8)
