"""Steps of the vision model that PyTorch makes in many passes over a GPU's memory, made in one or two each, by Triton.

What they compute is written out in PyTorch's own operations in :mod:`agenticiqa.vision.torch_graph`, which runs where
these cannot be compiled.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

PIXELS = 256
"""So many pixels of a plane fall to one program."""
_EXACT = tl.constexpr(12582912.0)
"""A float that is this much larger has no place for fractions: adding it rounds, halves to the even number."""


@triton.jit
def _to_whole(value):
    return (value + _EXACT) - _EXACT


@triton.jit
def _row_ranges(given, reach, low, high, width, BY_PLACE: tl.constexpr, BLOCK: tl.constexpr):
    """Of every place its reach, and its two ends in units of that."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    values = tl.load(given + row * width + at, at < width, 0.0).to(tl.float32)
    smallest, largest = tl.minimum(tl.min(values), 0.0), tl.maximum(tl.max(values), 0.0)
    if BY_PLACE:
        own = tl.maximum(tl.maximum(largest, -smallest), 1e-20)
        tl.store(reach + row, own)
        smallest, largest = tl.div_rn(smallest, own), tl.div_rn(largest, own)
    tl.store(low + row, smallest)
    tl.store(high + row, largest)


@triton.jit
def _round_rows(
    given, reach, low, high, whole, scale_of, zero_of, places, width,
    BY_PLACE: tl.constexpr, BLOCK: tl.constexpr, PLACES: tl.constexpr,
):  # fmt: skip
    """Every place in bytes, by the range of its picture."""
    row = tl.program_id(0).to(tl.int64)
    picture = row // places
    at = tl.arange(0, PLACES)
    lowest = tl.min(tl.load(low + picture * places + at, at < places, 0.0))
    highest = tl.max(tl.load(high + picture * places + at, at < places, 0.0))
    scale = tl.maximum(tl.div_rn(highest - lowest, 255.0), 1e-12)
    zero = _to_whole(tl.div_rn(-lowest, scale)) - 128
    if row % places == 0:
        tl.store(scale_of + picture, scale)
        tl.store(zero_of + picture, zero.to(tl.int32))
    across = tl.arange(0, BLOCK)
    values = tl.load(given + row * width + across, across < width, 0.0).to(tl.float32)
    if BY_PLACE:
        values = tl.div_rn(values, tl.load(reach + row))
    steps = tl.minimum(tl.maximum(_to_whole(tl.div_rn(values, scale)) + zero, -128.0), 127.0)
    tl.store(whole + row * width + across, steps.to(tl.int8), across < width)


@triton.jit
def _finish_rows(
    product, scale_of, zero_of, reach, sums, step, bias, added, found, places, width,
    BY_PLACE: tl.constexpr, GELU: tl.constexpr, ADDED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Whole numbers as what they stand for, with what is done to every one of them."""
    row = tl.program_id(0).to(tl.int64)
    picture = row // places
    at = tl.arange(0, BLOCK)
    there = at < width
    whole = tl.load(product + row * width + at, there, 0)
    whole -= tl.load(zero_of + picture) * tl.load(sums + at, there, 0)
    values = whole.to(tl.float32) * (tl.load(scale_of + picture) * tl.load(step + at, there, 0.0))
    if BY_PLACE:
        values *= tl.load(reach + row)
    values += tl.load(bias + at, there, 0.0)
    if GELU:
        values *= 0.5 * (tl.erf(values * 0.7071067811865476) + 1.0)
    if ADDED:
        values += tl.load(added + row * width + at, there, 0.0)
    tl.store(found + row * width + at, values, there)


def rounded_linear(
    value: Tensor, weight: Tensor, sums: Tensor, step: Tensor, bias: Tensor, added: Tensor | None,
    *, by_place: bool, gelu: bool,
) -> Tensor:  # fmt: skip
    """``value``: pictures × places × width."""
    pictures, places, width = value.shape
    value, rows, columns = value.contiguous(), pictures * places, weight.shape[1]
    reach, low, high = value.new_empty((3, rows), dtype=torch.float32)
    scale, zero = value.new_empty(pictures, dtype=torch.float32), value.new_empty(pictures, dtype=torch.int32)
    whole = value.new_empty((rows, width), dtype=torch.int8)
    block = triton.next_power_of_2(width)
    _row_ranges[(rows,)](value, reach, low, high, width, by_place, block)
    several = triton.next_power_of_2(places)
    _round_rows[(rows,)](value, reach, low, high, whole, scale, zero, places, width, by_place, block, several)
    product = torch._int_mm(whole, weight)
    found = value.new_empty((pictures, places, columns), dtype=torch.float32)
    more = found if added is None else added.contiguous()
    _finish_rows[(rows,)](
        product, scale, zero, reach, sums, step, bias, more, found, places, columns,
        by_place, gelu, added is not None, triton.next_power_of_2(columns),
    )  # fmt: skip
    return found


@triton.jit
def _limited(values, step, low, high, ROUNDED: tl.constexpr):
    """Between two ends; where values are rounded, to whole steps between them."""
    if ROUNDED:
        return tl.minimum(tl.maximum(_to_whole(values / step), low), high) * step
    return tl.minimum(tl.maximum(values, low), high)


@triton.jit
def _depthwise(
    given, bias, weight, next_bias, found, channels, height, width, rows, columns, top, left,
    step, low, high, next_step, next_low, next_high,
    SIZE: tl.constexpr, STRIDE: tl.constexpr, ROUNDED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """A plane's convolution; its input still lacks its bias and its limits."""
    plane = tl.program_id(0).to(tl.int64)
    channel = plane % channels
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    down, across = at // columns * STRIDE - top, at % columns * STRIDE - left
    own = tl.load(bias + channel)
    total = tl.zeros((BLOCK,), tl.float32)
    for row in tl.static_range(SIZE):
        for column in tl.static_range(SIZE):
            y, x = down + row, across + column
            inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
            values = tl.load(given + plane * height * width + y * width + x, inside, 0.0).to(tl.float32)
            values = _limited(values + own, step, low, high, ROUNDED)
            factor = tl.load(weight + channel * SIZE * SIZE + row * SIZE + column)
            total += tl.where(inside, values, 0.0) * factor
    total = _limited(total + tl.load(next_bias + channel), next_step, next_low, next_high, ROUNDED)
    tl.store(found + plane * rows * columns + at, total, at < rows * columns)


def depthwise(
    value: Tensor, bias: Tensor, weight: Tensor, next_bias: Tensor, attributes: dict[str, Any],
    limits: tuple[float, float, float], next_limits: tuple[float, float, float],
) -> Tensor:  # fmt: skip
    """``value``: pictures × channels × rows × columns without ``bias`` and ``limits`` (step or 0, and two ends)."""
    pictures, channels, height, width = value.shape
    size, stride = weight.shape[2], attributes["strides"][0]
    top, left, bottom, right = attributes["pads"]
    rows, columns = (height + top + bottom - size) // stride + 1, (width + left + right - size) // stride + 1
    found = value.new_empty((pictures, channels, rows, columns))
    _depthwise[(pictures * channels, triton.cdiv(rows * columns, PIXELS))](
        value, bias, weight, next_bias, found, channels, height, width, rows, columns, top, left,
        *limits, *next_limits, size, stride, limits[0] > 0, PIXELS,
    )  # fmt: skip
    return found


def attempt() -> None:
    """Run one of them on next to nothing; raises where they cannot be compiled."""
    plane, weight, bias = (torch.ones(shape, device="cuda") for shape in ((1, 1, 4, 4), (1, 1, 3, 3), (1,)))
    limits = (0.0, 0.0, 6.0)
    found = depthwise(plane, bias, weight, bias, {"strides": [1, 1], "pads": [1, 1, 1, 1]}, limits, limits)
    if found[0, 0, 0, 0].item() != 6.0:
        raise RuntimeError("a kernel computes something else than it says")
