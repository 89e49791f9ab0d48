"""Which measuring tools exist, which of them can run here, and which suits a distortion.

A tool is a metric with a calibration, so that its score can stand beside another tool's. Other packages add tools
through the entry-point group ``agenticiqa.tools``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata

from agenticiqa.errors import ToolUnavailableError
from agenticiqa.tools.calibration import Calibration, load_calibrations
from agenticiqa.tools.metrics import METRICS, Metric, MetricSpec

ENTRY_POINT_GROUP = "agenticiqa.tools"
# Tools whose names are words too: only the exact spelling names them.
ENGLISH_WORDS = frozenset({"unique"})


@dataclass(frozen=True)
class Tool:
    """A metric and, where it measures quality rather than a mere quantity, its way to the 1..5 scale."""

    metric: Metric
    calibration: Calibration | None = None

    @property
    def spec(self) -> MetricSpec:
        return self.metric.spec

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def needs_reference(self) -> bool:
        return self.spec.kind == "FR"

    @property
    def version(self) -> str:
        """Changes whenever the same picture may get another score; part of every cache key."""
        return f"{self.spec.version}/{self.calibration.coefficients if self.calibration else 'raw'}"

    @property
    def type(self) -> str:
        """``FR`` or ``NR``."""
        return "FR" if self.needs_reference else "NR"

    def describe(self) -> str:
        """One line for a model that chooses tools."""
        kind = "full-reference" if self.needs_reference else "no-reference"
        strengths = ", ".join(self.spec.good_at) or "no particular distortion"
        return f"{self.name} ({kind}): good at {strengths}. {self.spec.variant}."


class ToolRegistry:
    """The tools that can run here."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = {_plain(tool.name): tool for tool in tools}

    def names(self) -> list[str]:
        return [tool.name for tool in self._tools.values()]

    def all(self) -> list[Tool]:
        return list(self._tools.values())

    def find(self, name: str) -> Tool:
        """The tool a user or model means; case, hyphens and underscores do not matter."""
        tool = self._tools.get(_plain(name))
        if tool is None:
            raise ToolUnavailableError(
                f"There is no tool {name!r} here.", hint=f"Tools that run here: {', '.join(self.names())}."
            )
        return tool

    def named_in(self, text: str) -> list[str]:
        """Tools that a text names. Probes are named like ordinary words ("noise"), so they do not count here."""
        words = {_plain(word) for word in re.findall(r"[\w-]+", text)}
        proper = [tool for tool in self._tools.values() if not tool.name.islower()]
        return [tool.name for tool in proper if _plain(tool.name) in words - ENGLISH_WORDS or tool.name in text.split()]

    def offered(self, *, has_reference: bool, size: tuple[int, int] | None = None) -> list[Tool]:
        """Tools that can score a picture of this size; those that use the reference come first when there is one."""
        usable = [
            tool
            for tool in self._tools.values()
            if tool.calibration and (has_reference or not tool.needs_reference) and _large_enough(size, tool)
        ]
        return sorted(usable, key=lambda tool: not tool.needs_reference)

    def best_for(self, distortion: str, *, has_reference: bool, size: tuple[int, int] | None = None) -> Tool:
        """The catalogue's own choice: the first offered tool that is good at the distortion, else the first."""
        offered = self.offered(has_reference=has_reference, size=size)
        if not offered:
            raise ToolUnavailableError("No measuring tool can run on this picture.")
        same_kind = [tool for tool in offered if tool.needs_reference == has_reference] or offered
        return next((tool for tool in same_kind if distortion in tool.spec.good_at), same_kind[0])


def _large_enough(size: tuple[int, int] | None, tool: Tool) -> bool:
    """Whether (width, height) suffices; metrics declare (height, width)."""
    height, width = tool.spec.minimum_size
    return size is None or (size[0] >= width and size[1] >= height)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


@lru_cache(maxsize=1)
def default_registry() -> ToolRegistry:
    """Native tools and plug-ins; loaded once a process."""
    calibrations = load_calibrations()
    native = [Tool(METRICS[name], calibrations.get(name)) for name in METRICS]
    return ToolRegistry([*native, *_plug_ins()])


def _plug_ins() -> Sequence[Tool]:
    tools = [point.load() for point in metadata.entry_points(group=ENTRY_POINT_GROUP)]
    for tool in tools:
        if not isinstance(tool, Tool):
            raise ToolUnavailableError(
                f"A plug-in gave {type(tool).__name__} instead of an agenticiqa.tools.registry.Tool.",
                hint="Report this to the plug-in's authors or uninstall it.",
            )
    return tools
