"""What a user should know about each tool, as plain data: those that run here and those that do not."""

from collections.abc import Sequence
from typing import Any

from agenticiqa.errors import ToolUnavailableError
from agenticiqa.runtime.config import ToolSettings
from agenticiqa.tools.calibration import Calibration, load_calibrations
from agenticiqa.tools.catalogue import CatalogueEntry, availability, load_catalogue, same_tool
from agenticiqa.tools.metrics import MetricSpec
from agenticiqa.tools.registry import Tool, ToolRegistry, default_registry

_BETTER = {True: "higher", False: "lower", None: ""}


def all_facts(settings: ToolSettings) -> list[dict[str, Any]]:
    """Every tool of the catalogue, then those of plug-ins."""
    registry = default_registry(settings)
    catalogue = load_catalogue()
    known = [_facts(entry, registry, settings) for entry in catalogue.values()]
    return [*known, *(_plug_in_facts(tool) for tool in registry.all() if tool.name not in catalogue)]


def facts_of(name: str, settings: ToolSettings) -> dict[str, Any]:
    """One tool, however its name is spelled."""
    found = next((each for each in all_facts(settings) if same_tool(each["name"], name)), None)
    if found is not None:
        return found
    try:
        return _plug_in_facts(default_registry(settings).find(name))
    except ToolUnavailableError as error:
        hint = f"{error.hint} `agenticiqa tools list` shows all."
        raise ToolUnavailableError(error.message, hint=hint, client_hint=error.client_hint) from None


def _facts(entry: CatalogueEntry, registry: ToolRegistry, settings: ToolSettings) -> dict[str, Any]:
    found = availability(entry, settings)
    tool = registry.get(entry.name)
    left_out = found.ready and tool is None
    if tool is not None:
        measuring = _measuring_facts(tool.spec, tool.strengths, tool.calibration)
    else:
        measuring = _measuring_facts(entry.spec, tuple(entry.best_at), load_calibrations().get(entry.name))
        # How it measures, only the metric that would run knows.
        measuring |= {"unit": "", "variant": "", "minimum_size": None, "bytes_per_pixel": None, "version": None}
    return {
        **measuring,
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
        **_measuring_facts(tool.spec, tool.strengths, tool.calibration),
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


def _measuring_facts(spec: MetricSpec, strengths: Sequence[str], curve: Calibration | None) -> dict[str, Any]:
    return {
        "name": spec.name,
        "type": spec.type,
        "kind": spec.kind,
        "range": list(spec.range),
        "unit": spec.unit,
        "better": _BETTER[spec.higher_is_better],
        "variant": spec.variant,
        "paper": spec.paper,
        "good_at": list(strengths),
        "minimum_size": list(spec.minimum_size),
        "bytes_per_pixel": spec.bytes_per_pixel,
        "version": spec.version,
        "calibration": curve
        and {"origin": curve.origin, "source": curve.source, "coefficients": list(curve.coefficients)},
    }
