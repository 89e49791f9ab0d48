"""Figures that the paper prints, and which of our methods got theirs the way a published row was got."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from agenticiqa._data import read_data
from agenticiqa.tools.catalogue import tool_key


@dataclass(frozen=True)
class PublishedMethod:
    """How the paper got a row: ``agents``, ``direct`` (the model alone), ``metric`` or ``people``."""

    kind: Literal["agents", "direct", "metric", "people"]
    model: str = ""
    tuned: bool = False
    tool: str = ""
    """The metric's name here, where it is another one."""


@cache
def _published() -> dict[str, Any]:
    loaded: dict[str, Any] = read_data("research/paper_results.yaml")
    return loaded


def source() -> str:
    """Where the figures are printed."""
    return str(_published()["source"])


def published_correlations(dataset: str) -> dict[str, tuple[float, float]]:
    """SRCC and PLCC by method; empty where the paper has none of a dataset.

    >>> published_correlations("tid2013")["AgenticIQA (GPT-4o)"]
    (0.9165, 0.9215)
    """
    return {method: (srcc, plcc) for method, (srcc, plcc) in _published()["correlations"].get(dataset, {}).items()}


def published_accuracies(dataset: str) -> dict[str, dict[str, float]]:
    """Accuracy in percent by method and part (``overall`` among them); empty where the paper has none.

    >>> published_accuracies("llvisionqa")["senior human"]
    {'overall': 81.74}
    """
    rows: dict[str, dict[str, float]] = _published()["accuracies"].get(dataset, {})
    return rows


def method_of(row: str) -> PublishedMethod:
    """How the paper got a row, by its name.

    >>> method_of("GPT-4o").kind, method_of("LPIPS").kind
    ('direct', 'metric')
    """
    return PublishedMethod(**_published()["methods"].get(row, {"kind": "metric"}))


def is_like(row: str, kind: str, models: Collection[str] = (), tool: str = "") -> bool:
    """Whether a method of ours is the one that a row was published of, on whatever weights.

    >>> is_like("GPT-4o", "direct", ["openai.gpt-4o"]), is_like("GPT-4o", "agents", ["openai.gpt-4o"])
    (True, False)
    >>> is_like("AgenticIQA (GPT-4o)", "agents", ["embedded"]), is_like("TOPIQ-FR", "metric", tool="TOPIQ_FR")
    (False, True)
    """
    published = method_of(row)
    if published.kind != kind:
        return False
    if kind == "metric":
        return tool_key(published.tool or row) == tool_key(tool)
    return bool(models) and all(_is_model(name, published.model) for name in models)


def _is_model(backend: str, model: str) -> bool:
    """A dated or sized version (gpt-4o-2024-08-06, Qwen2.5-VL-7B) is the model; gpt-4o-mini is not.

    >>> _is_model("openai.gpt-4o-2024-08-06", "gpt-4o"), _is_model("openai.gpt-4o-mini", "gpt-4o")
    (True, False)
    """
    name = backend.casefold().rpartition("/")[2].removeprefix("openai.").removeprefix("compatible.")
    rest = name.removeprefix(model)
    return rest != name and (not rest or (rest[0] == "-" and (rest[1:2].isdigit() or rest == "-local")))
