"""Rows that the paper prints, and which of our methods got its figures the way a row was got."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
    f"{SAME}: the same method on the whole set, with every tool of --profile paper, prompts of your own (the authors' "
    f"are not shipped) and no partial result. {SIMILAR}: the same method; what differs stands behind it. "
    "No mark: nothing published is like it."
)
OUR_PROMPTS = {
    "agents": ("planner", "detection", "analysis", "selection"),
    "direct": ("direct_rating", "direct_answer"),
    "metric": (),
}
"""Shipped prompts that are this project's. Those of the summarizer are the authors'."""
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


def mark(method: Method, outcomes: Sequence[Outcome], published: Sequence[PublishedRow]) -> str:
    """``= NAME``, or ``≈ NAME`` and what differs, of the published row like one of ours; empty where none is."""
    row = next((row for row in published if row.is_like(method)), None)
    if row is None:
        return ""
    found = list(dict.fromkeys(text for each in outcomes for text in differences(method, each)))
    reasons = [*(["other weights: the paper's are tuned"] if row.tuned else []), *found]
    return f"{SIMILAR} {row.name}: {'; '.join(reasons)}" if reasons else f"{SAME} {row.name}"


def differences(method: Method, outcome: Outcome) -> Iterator[str]:
    """Everything that keeps a cell from having been got as the paper got its figure."""
    judged = outcome.cell.judged
    official = judged.dataset.counts[judged.subset]
    if not outcome.whole:
        yield f"{outcome.asked:,} of {official:,} samples of {judged.title}"
    if outcome.file is None or not outcome.complete:
        yield "not all samples have a result"
        return
    for status in ("partial", "error"):
        if count := outcome.file.count(status):
            yield f"{count:,} of {outcome.asked:,} results are {'failures' if status == 'error' else status}"
    for about in outcome.conditions:
        own = OUR_PROMPTS[method.kind]
        if method.kind == "direct":
            own = own[judged.asks_questions :][:1]
        if ours := [name for name in own if name not in (about["own_prompts"] or ())]:
            yield f"our prompts ({', '.join(ours)})"
        if method.kind != "agents":
            continue
        if about["profile"] != "paper":
            yield "not the paper's tools, calibrations and modes (--profile paper)"
            continue
        # Sets of questions are asked for one of their options: the command sets that itself.
        by_us = {"pipeline.strict_mode_selection"} if judged.asks_questions else set()
        if changed := [name for name in about["profile_changes"] or () if name not in by_us]:
            yield f"other settings ({', '.join(changed)})"
        missing = (about["tools"] or {}).get("missing")
        if missing is None:
            yield "which tools ran is not on record"
        elif missing:
            yield f"{len(missing)} of {len(about['tools']['allow'])} tools were missing ({', '.join(missing)})"


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
