"""Rows that the paper prints, and which of our methods got its figures the way a row was got."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from benchmarks.paper.methods import Method
from benchmarks.paper.outcomes import Outcome
from benchmarks.paper.sets import JudgedSet

from agenticiqa._data import parse_yaml
from agenticiqa.tools.catalogue import tool_key
from agenticiqa.tools.registry import default_registry

SRCC, PLCC = "SRCC", "PLCC"
SAME, SIMILAR = "=", "≈"
LEGEND = (
    f"{SAME}: the same method on the whole set. {SIMILAR}: the same method, but on a part of the set, on other "
    "weights, or without the paper's tools and calibrations (--profile paper). No mark: nothing published is like it."
)
_BACKENDS = {"gpt-4o": "openai.gpt-4o", "qwen2.5-vl": "qwen2.5-vl-local"}
"""What the paper's models are called here."""


@dataclass(frozen=True)
class PublishedRow:
    """A row of the paper: ``agents``, ``direct`` (the model alone), ``metric`` or ``people``."""

    name: str
    kind: Literal["agents", "direct", "metric", "people"] = "metric"
    model: str = ""
    tuned: bool = False
    tool: str = ""
    """The metric's name here, where it is another one."""
    cells: dict[tuple[str, str], str] = field(default_factory=dict)
    """Figures as printed, by dataset and column: SRCC, PLCC, or a part of a set of questions."""

    def is_like(self, method: Method) -> bool:
        """Whether a method of ours is the one that the row was published of, on whatever weights.

        >>> row = PublishedRow("GPT-4o", "direct", "gpt-4o")
        >>> row.is_like(Method("direct", "openai.gpt-4o")), row.is_like(Method("agents", "openai.gpt-4o"))
        (True, False)
        >>> row.is_like(Method("direct", "embedded")), PublishedRow("TOPIQ-FR").is_like(Method("metric", "TOPIQ_FR"))
        (False, True)
        """
        if self.kind != method.kind or method.without:
            return False
        if self.kind == "metric":
            return tool_key(self.tool or self.name) == tool_key(method.name)
        return _is_model(method.name, self.model)


def _is_model(backend: str, model: str) -> bool:
    """A dated or sized version (gpt-4o-2024-08-06, Qwen2.5-VL-7B) is the model; gpt-4o-mini is not.

    >>> _is_model("openai.gpt-4o-2024-08-06", "gpt-4o"), _is_model("openai.gpt-4o-mini", "gpt-4o")
    (True, False)
    """
    name = backend.casefold().rpartition("/")[2].removeprefix("openai.").removeprefix("compatible.")
    rest = name.removeprefix(model)
    return rest != name and (not rest or (rest[0] == "-" and (rest[1:2].isdigit() or rest == "-local")))


@cache
def _published() -> dict[str, Any]:
    loaded: dict[str, Any] = parse_yaml(Path(__file__).with_name("paper_results.yaml").read_text(encoding="utf-8"))
    return loaded


def source() -> str:
    return str(_published()["source"])


def published_rows(sets: Iterable[JudgedSet]) -> list[PublishedRow]:
    """Everything that the paper prints of these sets."""
    rows: dict[str, PublishedRow] = {}

    def cells(name: str) -> dict[tuple[str, str], str]:
        return rows.setdefault(name, PublishedRow(name, **_published()["methods"].get(name, {}))).cells

    for judged in sets:
        for name, (srcc, plcc) in _published()["correlations"].get(judged.name, {}).items():
            cells(name).update({(judged.name, SRCC): f"{srcc:.4f}", (judged.name, PLCC): f"{plcc:.4f}"})
        for name, parts in _published()["accuracies"].get(judged.name, {}).items():
            cells(name).update({(judged.name, part): f"{share:.1f}%" for part, share in parts.items()})
    return list(rows.values())


def mark(method: Method, outcomes: Sequence[Outcome], published: Sequence[PublishedRow], *, paper_profile: bool) -> str:
    """``= NAME`` or ``≈ NAME`` of the published row that a row of ours can be read beside; empty where none is."""
    row = next((row for row in published if row.is_like(method)), None)
    if row is None:
        return ""
    whole = all(each.whole and each.complete for each in outcomes)
    same = whole and not row.tuned and (paper_profile or method.kind != "agents")
    return f"{SAME if same else SIMILAR} {row.name}"


def how_to_fill(row: PublishedRow, methods: Iterable[Method]) -> str:
    """For a published row: ours that is like it, or what would give one."""
    if row.kind == "people":
        return "people"
    match = next((method for method in methods if row.is_like(method)), None)
    if match is not None:
        return f"ours: {match.label}"
    if row.kind != "metric":
        return f"ours: --models {_BACKENDS.get(row.model, row.model)} --methods {row.kind}"
    tool = default_registry().get(row.tool or row.name)
    return f"ours: --tools {tool.name}" if tool else f"not here: `agenticiqa tools show {row.tool or row.name}`"
