"""Figures that the paper prints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from agenticiqa._data import read_data


@dataclass(frozen=True)
class PublishedCorrelation:
    method: str
    srcc: float
    plcc: float


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
    return str(_published()["source"])


def published_correlations(dataset: str | None) -> list[PublishedCorrelation]:
    """The paper's rows for a dataset; empty where it has none.

    >>> published_correlations("TID2013")[-1]
    PublishedCorrelation(method='AgenticIQA (GPT-4o)', srcc=0.9165, plcc=0.9215)
    """
    rows = _published()["correlations"].get((dataset or "").casefold(), {})
    return [PublishedCorrelation(method, srcc, plcc) for method, (srcc, plcc) in rows.items()]


def published_accuracies(dataset: str | None) -> dict[str, dict[str, float]]:
    """Accuracy in percent by method and part (``overall`` among them); empty where the paper has none.

    >>> published_accuracies("llvisionqa")["senior human"]
    {'overall': 81.74}
    """
    rows: dict[str, dict[str, float]] = _published()["accuracies"].get((dataset or "").casefold(), {})
    return rows


def method_of(row: str) -> PublishedMethod:
    """How the paper got a row, by its name.

    >>> method_of("GPT-4o").kind, method_of("LPIPS").kind
    ('direct', 'metric')
    """
    return PublishedMethod(**_published()["methods"].get(row, {"kind": "metric"}))
