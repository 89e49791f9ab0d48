"""What memory tools need, known before anything is decoded.

It follows from the sizes of the pictures and from what tools declare, measured on pictures of 6 to 24 megapixels,
16 November 2026 (`python benchmarks/speed/tool_memory.py`).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from agenticiqa.tools.registry import LOW_MEMORY_BYTES, Tool, ToolRegistry

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
    typical: int


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
    largest_need = max([opening, *(tool_need(tool, pixels) for tool in tools)])
    return MemoryNeed(opened + largest_need, opened + largest_need + SHARED_BYTES * pixels)


def assessing_need(
    sizes: Sequence[Size], tools: ToolRegistry, largest: int, *, has_reference: bool, resize: bool = False
) -> int:
    """Of asking the agents: the pictures, a look at them, and any tool that needs no more than ``largest``."""
    sizes = sizes_once_scaled(sizes, resize=resize)
    pixels = max(map(pixels_of, sizes))
    base_need = pictures_need(sizes) + max(RESIZING_BYTES if resize else OPENING_BYTES, LOOKING_BYTES) * pixels
    if pixels <= SMALL_PIXELS and base_need + LOW_MEMORY_BYTES * pixels < largest and tools.are_low_memory:
        # Whatever tool it is: looking them all up would import every metric.
        return base_need + LOW_MEMORY_BYTES * pixels
    offered = tools.offered(has_reference=has_reference, size=sizes[0])
    return max(base_need, min(largest, measuring_need(sizes, offered, resize=resize).typical))
