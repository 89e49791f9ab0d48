"""How long each tool takes on this machine, and how that compares with plain NumPy in the same run."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from agenticiqa.errors import AgenticIQAError
from agenticiqa.tools.metrics import Array, Metric, MetricInputError, Views
from agenticiqa.tools.registry import Tool

YARDSTICK = "NumPy"
"""The mean squared difference of the two pictures, written in NumPy: it runs everywhere and is no tool of ours."""


@dataclass(frozen=True)
class Timing:
    """The best of several runs in seconds, or why there is none."""

    tool: str
    seconds: float | None
    ratio: float | None
    error: str | None = None


def time_tools(tools: Sequence[Tool], size: tuple[int, int], repeats: int) -> Iterator[Timing]:
    """Each tool alone on a made picture of (width, height); work that tools could share is done anew each time."""
    test, reference = made_pair(size)
    yardstick = _plain_time(test, reference, repeats)
    for tool in tools:
        seconds, error = _best_time(tool.metric, test, reference, repeats)
        ratio = seconds / yardstick if seconds else None
        yield Timing(tool.name, seconds, ratio, error)


def _plain_time(test: Array, reference: Array, repeats: int) -> float:
    best = float("inf")
    for _ in range(repeats + 1):
        started = time.perf_counter()
        difference = test.astype(np.float32) - reference.astype(np.float32)
        np.mean(difference * difference)
        best = min(best, time.perf_counter() - started)
    return best


def _best_time(metric: Metric, test: Array, reference: Array, repeats: int) -> tuple[float | None, str | None]:
    best = None
    # The first run loads modules and networks; it is not timed.
    for turn in range(repeats + 1):
        started = time.perf_counter()
        try:
            metric.measure(Views(test, reference if metric.spec.kind == "FR" else None))
        except (AgenticIQAError, MetricInputError) as error:
            return None, str(error)
        elapsed = time.perf_counter() - started
        if turn:
            best = elapsed if best is None else min(best, elapsed)
    return best, None


def made_pair(size: tuple[int, int]) -> tuple[Array, Array]:
    """A seeded picture with shading, edges and grain, and a noisier copy of it."""
    width, height = size
    rng = np.random.default_rng(0)
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    shade = 0.5 + 0.25 * np.sin(x / 37 + y / 91) + 0.15 * np.sign(np.sin(x / 53) * np.sin(y / 47))
    reference = np.clip(shade[..., None] * (0.9, 1.0, 0.8) + rng.normal(0, 0.02, (height, width, 3)), 0, 1)
    test = np.clip(reference + rng.normal(0, 0.03, reference.shape), 0, 1)
    return (test * 255).astype(np.uint8), (reference * 255).astype(np.uint8)
