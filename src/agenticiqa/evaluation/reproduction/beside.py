"""Which published row is like which of ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agenticiqa.evaluation.like_for_like import like_for_like
from agenticiqa.evaluation.paper import method_of, published_accuracies, published_correlations
from agenticiqa.evaluation.reproduction.methods import Method
from agenticiqa.evaluation.reproduction.outcomes import Outcome
from agenticiqa.evaluation.reproduction.sets import JudgedSet
from agenticiqa.tools.registry import default_registry

SAME, SIMILAR = "=", "≈"
_BACKENDS = {"gpt-4o": "openai.gpt-4o", "qwen2.5-vl": "qwen2.5-vl-local"}
"""What the paper's models are called here."""
LEGEND = (
    f"{SAME}: the same method on the whole set. {SIMILAR}: the same method, but on a part of the set, on other "
    "weights, or without the paper's tools and calibrations (--profile paper). No mark: nothing published is like it."
)


@dataclass(frozen=True)
class PublishedRow:
    """One published method with its figures by set: (SRCC, PLCC), or percent by part."""

    method: str
    correlations: dict[str, tuple[float, float]]
    accuracies: dict[str, dict[str, float]]


def published_rows(sets: Iterable[JudgedSet]) -> list[PublishedRow]:
    """Everything that the paper prints of these sets."""
    rows: dict[str, PublishedRow] = {}

    def row(method: str) -> PublishedRow:
        return rows.setdefault(method, PublishedRow(method, {}, {}))

    for judged in sets:
        for found in published_correlations(judged.name):
            row(found.method).correlations[judged.name] = found.srcc, found.plcc
        for method, parts in published_accuracies(judged.name).items():
            row(method).accuracies[judged.name] = parts
    return list(rows.values())


def is_like(method: Method, row: PublishedRow) -> bool:
    """Whether one of our methods is the one that a row was published of, on whatever weights."""
    same, said = like_for_like(row.method, method.conditions)
    return same or (method_of(row.method).tuned and not said.startswith("no"))


def mark(method: Method, outcomes: Sequence[Outcome], published: Sequence[PublishedRow], *, paper_profile: bool) -> str:
    """``= NAME`` or ``≈ NAME`` of the published row that a row of ours can be read beside; empty where none is."""
    for row in published:
        if is_like(method, row):
            whole = all(each.whole and each.complete for each in outcomes)
            same = whole and not method_of(row.method).tuned and (paper_profile or method.kind != "agents")
            return f"{SAME if same else SIMILAR} {row.method}"
    return ""


def how_to_fill(row: PublishedRow, methods: Iterable[Method]) -> str:
    """For a published row: ours that is like it, or what would give one."""
    known = method_of(row.method)
    if known.kind == "people":
        return "people"
    ours = next((method for method in methods if is_like(method, row)), None)
    if ours is not None:
        return f"ours: {ours.label}"
    if known.kind != "metric":
        return f"ours: --models {_BACKENDS.get(known.model, known.model)} --methods {known.kind}"
    tool = default_registry().get(known.tool or row.method)
    return f"ours: --tools {tool.name}" if tool else f"not here: `agenticiqa tools show {known.tool or row.method}`"
