"""What a user should know about each tool, as plain data: those that run here and those that do not."""

from __future__ import annotations

from typing import Any

from agenticiqa.errors import ToolUnavailableError
from agenticiqa.runtime.config import ToolSettings
from agenticiqa.tools.calibration import Calibration
from agenticiqa.tools.catalogue import CatalogueEntry, availability, load_catalogue, same_tool
from agenticiqa.tools.registry import Tool, ToolRegistry, default_calibration, default_registry

_BETTER = {True: "higher", False: "lower", None: ""}


def all_facts(settings: ToolSettings) -> list[dict[str, Any]]:
    """Every tool of the catalogue, then those of plug-ins."""
    registry = default_registry(settings)
    catalogue = load_catalogue()
    known = [_facts(entry, registry, settings) for entry in catalogue.values()]
    return [*known, *(_plug_in_facts(tool) for tool in registry.all() if tool.name not in catalogue)]


def facts_of(name: str, settings: ToolSettings) -> dict[str, Any]:
    """One tool, however its name is spelled."""
    registry = default_registry(settings)
    entry = next((each for each in load_catalogue().values() if same_tool(each.name, name)), None)
    if entry is not None:
        return _facts(entry, registry, settings)
    try:
        return _plug_in_facts(registry.find(name))
    except ToolUnavailableError as error:
        hint = f"{error.hint} `agenticiqa tools list` shows all."
        raise ToolUnavailableError(error.message, hint=hint, client_hint=error.client_hint) from None


def _facts(entry: CatalogueEntry, registry: ToolRegistry, settings: ToolSettings) -> dict[str, Any]:
    found = availability(entry, settings)
    tool = registry.get(entry.name)
    left_out = found.ready and tool is None
    return {
        **(describe(tool) if tool else _undescribed(entry)),
        "description": entry.description,
        "in_paper": entry.in_paper,
        "checked": entry.checked,
        "best_at": {category: list(kinds) for category, kinds in entry.best_at.items()},
        "agreement": dict(entry.agreement),
        "state": "left out" if left_out else found.state,
        "reason": registry.unavailable[entry.name] if left_out else found.reason,
        "provider": found.provider,
        "licence": entry.licences[found.provider],
        "needs": entry.needs(found.provider),
    }


def _plug_in_facts(tool: Tool) -> dict[str, Any]:
    return {
        **describe(tool),
        "description": tool.spec.variant,
        "in_paper": False,
        "checked": "",
        "best_at": {},
        "agreement": {},
        "state": "ready",
        "reason": "from a plug-in",
        "provider": "plug-in",
        "licence": "see the plug-in",
        "needs": "nothing further",
    }


def _undescribed(entry: CatalogueEntry) -> dict[str, Any]:
    """The keys of :func:`describe` for a tool that cannot run here."""
    return {
        "name": entry.name,
        "type": entry.type,
        "kind": entry.kind,
        "range": list(entry.range) if entry.range else None,
        "unit": "",
        "better": _BETTER[entry.higher_is_better],
        "variant": "",
        "paper": entry.paper,
        "good_at": list(entry.best_at),
        "minimum_size": None,
        "bytes_per_pixel": None,
        "version": None,
        "calibration": _curve(default_calibration(entry.name)),
    }


def describe(tool: Tool) -> dict[str, Any]:
    """Everything a user should know about a tool that runs here, as plain data."""
    spec = tool.spec
    return {
        "name": tool.name,
        "type": tool.type,
        "kind": spec.kind,
        "range": list(spec.range),
        "unit": spec.unit,
        "better": _BETTER[spec.higher_is_better],
        "variant": spec.variant,
        "paper": spec.paper,
        "good_at": list(tool.strengths),
        "minimum_size": list(spec.minimum_size),
        "bytes_per_pixel": spec.bytes_per_pixel,
        "version": spec.version,
        "calibration": _curve(tool.calibration),
    }


def _curve(calibration: Calibration | None) -> dict[str, Any] | None:
    if calibration is None:
        return None
    return {
        "origin": calibration.origin,
        "source": calibration.source,
        "coefficients": list(calibration.coefficients),
    }
