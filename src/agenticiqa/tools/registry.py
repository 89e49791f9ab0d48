"""Which measuring tools can run here, and which suits a distortion.

A tool is a metric with a calibration, so that its score can stand beside another tool's. The catalogue knows every
tool; the registry holds those that run here, and says of the others why they do not. Other packages add tools through
the entry-point group ``agenticiqa.tools``.
"""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

from agenticiqa._data import plug_ins
from agenticiqa.errors import ConfigError, ToolError, ToolUnavailableError
from agenticiqa.runtime.config import ToolSettings
from agenticiqa.tools import catalogue
from agenticiqa.tools.calibration import Calibration, check, load_calibrations, printed_calibrations
from agenticiqa.tools.catalogue import CatalogueEntry, load_catalogue, same_tool, tool_key
from agenticiqa.tools.metrics import Metric, MetricSpec
from agenticiqa.vocabulary import CATEGORIES

logger = logging.getLogger(__name__)

ENTRY_POINT_GROUP = "agenticiqa.tools"
LOW_MEMORY_BYTES = 200
"""Per pixel: what every tool that travels with this package is content with."""
OVERALL = "all"
"""The catalogue's key for agreement over all distortions together."""
UNCERTAINTY = 0.02
"""Of an agreement in the catalogue: measured again on the same photographs stored anew, some moved by so much."""


@dataclass(frozen=True)
class Tool:
    """A metric and, where it measures quality rather than a quantity, its calibration to the 1..5 scale.

    Args:
        metric: What measures.
        calibration: The curve from raw values to 1..5; None for a probe.
        entry: What the catalogue says about it; None for a plug-in's tool.
    Raises:
        ToolError: ``metric.spec.good_at`` names an unknown category of distortion.
    """

    metric: Metric
    calibration: Calibration | None = None
    entry: CatalogueEntry | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        unknown = {*self.spec.good_at} - {*CATEGORIES}
        if unknown:
            raise ToolError(f"{self.name} is good at {', '.join(sorted(unknown))}, which is no category of damage.")

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
    def is_predictable(self) -> bool:
        """Whether the time it takes depends on the size of the picture alone: native tools, not plug-ins."""
        return self.entry is not None and self.entry.providers[0] == "native"

    @property
    def version(self) -> str:
        """Changes whenever the same picture may get another score; part of every cache key."""
        return f"{self.spec.version}/{self.calibration.coefficients if self.calibration else 'raw'}"

    @property
    def type(self) -> str:
        """``FR`` or ``NR``."""
        return self.spec.type

    @property
    def strengths(self) -> tuple[str, ...]:
        """The categories of distortion that the tool is good at, best first."""
        best = tuple(self.entry.best_at) if self.entry else ()
        return (*best, *(category for category in self.spec.good_at if category not in best))

    def describe(self) -> str:
        """One line for a model that chooses tools."""
        kind = "full-reference" if self.needs_reference else "no-reference"
        strengths = []
        for category in self.strengths:
            best = self.entry.best_at.get(category, ()) if self.entry else ()
            named = ", ".join(distortion.replace("_", " ") for distortion in best)
            strengths.append(f"{category} (best at {named})" if best else category)
        about = self.entry.description if self.entry else self.spec.variant
        return f"{self.name} ({kind}): good at {', '.join(strengths) or 'no particular distortion'}. {about}."

    def takes(self, size: tuple[int, int] | None) -> bool:
        """Whether a picture of this (width, height) can be measured; True where ``size`` is None."""
        if size is None:
            return True
        height, width = self.spec.minimum_size
        most = self.spec.max_megapixels
        small_enough = most is None or size[0] * size[1] <= most * 1e6
        return size[0] >= width and size[1] >= height and small_enough

    def rank(self, distortion: str) -> tuple[float, ...]:
        """Sorts tools of one type for a distortion, best first.

        First where the AgenticIQA authors found a tool best, then the category's specialist, then how well a tool
        followed opinions on the protocol's pictures: in the category and over all in equal parts, because few
        pictures stand behind a category. Leads within the uncertainty do not count: then the tool that is better over
        all goes first. A probe comes last for what it was not made for.
        """
        best = self.entry.best_at if self.entry else {}
        agreement = self.entry.agreement if self.entry else {}
        known = distortion in CATEGORIES
        wins = len(best.get(distortion, ())) if known else sum(map(len, best.values()))
        declared = distortion in self.spec.good_at
        overall = agreement.get(OVERALL, 0.0)
        followed = (agreement.get(distortion, overall) + overall) / 2
        specialist = self.entry is not None and distortion in self.entry.specialist_for
        undeclared_probe = self.spec.kind == "probe" and not declared
        return (-wins, -specialist, undeclared_probe, -round(followed / UNCERTAINTY), -overall, -declared)


class ToolRegistry:
    """The tools that can run here, and why others cannot."""

    def __init__(self, tools: Iterable[Tool], unavailable: Mapping[str, str] | None = None) -> None:
        self._given, self._given_unavailable = tools, unavailable or {}

    @cached_property
    def _tools(self) -> dict[str, Tool]:
        return {tool_key(tool.name): tool for tool in self._given}

    @cached_property
    def unavailable(self) -> dict[str, str]:
        """The tools that cannot run here, and why."""
        return {name: reason for name, reason in self._given_unavailable.items() if tool_key(name) not in self._tools}

    @property
    def are_low_memory(self) -> bool:
        """Whether no tool here needs more than ``LOW_MEMORY_BYTES`` for a pixel."""
        return all(tool.spec.bytes_per_pixel <= LOW_MEMORY_BYTES for tool in self.all())

    def known_names(self) -> list[str]:
        """Names of all tools, whether or not they can run here."""
        return [*self.names(), *self.unavailable]

    def names(self) -> list[str]:
        return [tool.name for tool in self._tools.values()]

    def all(self) -> list[Tool]:
        return list(self._tools.values())

    def missing(self, settings: ToolSettings) -> list[str]:
        """Tools that the settings ask for by name and that do not run here."""
        return [name for name in settings.allow if self.get(name) is None]

    def get(self, name: str) -> Tool | None:
        """The tool of this name, or None where it is unknown or cannot run here."""
        return self._tools.get(tool_key(name))

    def find(self, name: str) -> Tool:
        """The tool of this name; case, hyphens and underscores do not matter.

        Raises:
            ToolUnavailableError: It is unknown, or cannot run here; the message says why.
        """
        tool = self.get(name)
        if tool is not None:
            return tool
        for known, reason in self.unavailable.items():
            if same_tool(known, name):
                raise ToolUnavailableError(
                    f"{known} cannot run here.", operator_detail=reason, hint="`agenticiqa tools list` shows what can."
                )
        spelled = {tool_key(each): each for each in self.known_names()}
        close = difflib.get_close_matches(tool_key(name), spelled, n=1)
        suggestion = f" Did you mean {spelled[close[0]]}?" if close else ""
        hint = f"Tools that run here: {', '.join(self.names())}."
        raise ToolUnavailableError(f"There is no tool {name!r} here.{suggestion}", hint=hint, client_hint=hint)

    def named_in(self, text: str) -> list[str]:
        """Tools that a text names, also those that cannot run here; not probes, which are named like words."""
        words = {tool_key(word) for word in re.findall(r"[\w-]+", text)}
        proper = [name for name in self.known_names() if not name.islower()]
        return [name for name in proper if tool_key(name) in words - catalogue.ENGLISH_WORDS or name in text.split()]

    def offered(self, *, has_reference: bool, size: tuple[int, int] | None = None) -> list[Tool]:
        """Tools that can score a picture of this size; those that use the reference come first when there is one."""
        usable = [
            tool
            for tool in self._tools.values()
            if tool.calibration and (has_reference or not tool.needs_reference) and tool.takes(size)
        ]
        return sorted(usable, key=lambda tool: (not tool.needs_reference, *tool.rank(OVERALL)))

    def ranked_for(self, distortion: str, *, has_reference: bool, size: tuple[int, int] | None = None) -> list[Tool]:
        """Offered tools of the type that fits (full-reference with a reference), best for the distortion first."""
        offered = self.offered(has_reference=has_reference, size=size)
        same_type = [tool for tool in offered if tool.needs_reference == has_reference] or offered
        return sorted(same_type, key=lambda tool: tool.rank(distortion))

    def best_for(self, distortion: str, *, has_reference: bool, size: tuple[int, int] | None = None) -> Tool:
        """The tool that ranks first for a distortion.

        Args:
            distortion: A category such as ``"Blurs"``.
            has_reference: Whether full-reference tools can run.
            size: (width, height) of the picture; None where it is not known.
        Raises:
            ToolUnavailableError: No tool can run on this picture.

        >>> default_registry().best_for("Blurs", has_reference=True).type
        'FR'
        """
        ranked = self.ranked_for(distortion, has_reference=has_reference, size=size)
        if not ranked:
            raise ToolUnavailableError("No measuring tool can run on this picture.")
        return ranked[0]


def default_registry(settings: ToolSettings | None = None) -> ToolRegistry:
    """Everything that runs on this machine under these settings; put together once per process."""
    return _registry(settings or ToolSettings(), catalogue.tools_folder())


class _DefaultRegistry(ToolRegistry):
    """Finds out what runs here on first use: a question that needs no tool imports no metric."""

    def __init__(self, settings: ToolSettings, folder: Path) -> None:
        self._settings, self._folder = settings, folder

    @cached_property
    def _built(self) -> ToolRegistry:
        return build_registry(self._settings, self._folder)

    @cached_property
    def _tools(self) -> dict[str, Tool]:
        return self._built._tools

    @cached_property
    def unavailable(self) -> dict[str, str]:
        return self._built.unavailable

    @property
    def are_low_memory(self) -> bool:
        # Known without importing a metric: only installed or fetched tools need more.
        return not catalogue.has_memory_intensive_tools(self._folder) and not plug_ins(ENTRY_POINT_GROUP)

    def known_names(self) -> list[str]:
        return [*catalogue.catalogue_names(), *(point.name for point in plug_ins(ENTRY_POINT_GROUP))]


_registry = lru_cache(maxsize=8)(_DefaultRegistry)


def build_registry(settings: ToolSettings, folder: Path) -> ToolRegistry:
    """A registry of what runs here now, without the cache of :func:`default_registry`."""
    calibrations = _calibrations(settings)
    tools, unavailable = [], {}
    for entry in load_catalogue().values():
        found = catalogue.availability(entry, settings, folder)
        if not found.ready:
            unavailable[entry.name] = found.reason
            continue
        metric = catalogue.make_metric(entry, found.provider, settings, folder)
        calibration = calibrations.get(entry.name)
        if calibration is None and metric.spec.unit.startswith("opinion"):
            source = "the value is an opinion already"
            calibration = Calibration((0.0, 1.0, 0.0, 1.0, 0.0), source, metric.spec.range, True)
        tools.append(Tool(metric, calibration, entry))
    return _pool(settings, ToolRegistry([*tools, *_plug_in_tools()], unavailable))


def _calibrations(settings: ToolSettings) -> dict[str, Calibration]:
    """The shipped curves, replaced by those that the settings ask for."""
    shipped = load_calibrations()
    if settings.calibrations == "printed":
        printed = printed_calibrations()
        doubtful = [name for name, row in printed.items() if check(row)]
        logger.warning(
            "Calibrations as printed, also of %s, whose printed rows contradict themselves or miss an end of the scale",
            ", ".join(doubtful),
        )
        return shipped | printed
    return shipped | (load_calibrations(settings.calibrations) if settings.calibrations else {})


def _pool(settings: ToolSettings, everything: ToolRegistry) -> ToolRegistry:
    if not settings.allow and not settings.deny:
        return everything
    known = {tool_key(name): name for name in everything.known_names()}
    for name in (*settings.allow, *settings.deny):
        if tool_key(name) not in known:
            raise ConfigError(
                f"tools.allow or tools.deny names the unknown tool {name!r}.", hint="`agenticiqa tools list` names all."
            )
    allowed, denied = {*map(tool_key, settings.allow)}, {*map(tool_key, settings.deny)}
    left_out = {
        name: "tools.deny names it" if key in denied else "tools.allow does not name it"
        for key, name in known.items()
        if key in denied or (allowed and key not in allowed)
    }
    absent = [name for name in everything.unavailable if tool_key(name) in allowed - denied]
    if absent:
        logger.warning(
            "%d of %d allowed tools do not run here: %s (`agenticiqa tools list` says why)",
            len(absent), len(allowed - denied), ", ".join(absent),
        )  # fmt: skip
    kept = [tool for tool in everything.all() if tool.name not in left_out]
    return ToolRegistry(kept, {**everything.unavailable, **left_out})


def _plug_in_tools() -> Sequence[Tool]:
    tools = [point.load() for point in plug_ins(ENTRY_POINT_GROUP)]
    for tool in tools:
        if not isinstance(tool, Tool):
            raise ToolUnavailableError(
                f"A plug-in gave {type(tool).__name__} instead of an agenticiqa.tools.registry.Tool.",
                hint="Report this to the plug-in's authors or uninstall it.",
            )
    return tools
