"""What is compared (a tool alone, a bare model, the agents, whole or in part), and which table compares what."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from benchmarks.paper.sets import JudgedSet

from agenticiqa.batch.preparing import BatchRequest
from agenticiqa.research.results import EvaluationError
from agenticiqa.state import PARTS, Part
from agenticiqa.tools.catalogue import load_catalogue
from agenticiqa.tools.registry import default_registry

OWN_TOOLS = ("AIQA_NR", "AIQA_FR")
LONGEST_KEY = 100


@dataclass(frozen=True)
class Method:
    """One way to answer. ``name`` is the tool of a metric, and otherwise the backend of all agents."""

    kind: Literal["metric", "direct", "agents"]
    name: str
    without: Part | None = None
    needs_reference: bool = False

    @property
    def label(self) -> str:
        if self.kind == "metric":
            return self.name
        if self.kind == "direct":
            return f"{self.name} alone"
        return f"AgenticIQA, {self.name}" + (f", without {self.without}" if self.without else "")

    @property
    def is_whole(self) -> bool:
        """Whether it is the whole pipeline, which others are held against."""
        return self.kind == "agents" and self.without is None

    @property
    def key(self) -> str:
        """The name of its folder among the results."""
        text = "-".join([self.kind, self.name, *(["without", self.without] if self.without else [])])
        safe = re.sub(r"[^\w.+-]", "_", text)
        if safe == text and len(safe) <= LONGEST_KEY:
            return safe
        return f"{safe[:LONGEST_KEY]}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"

    def judges(self, judged: JudgedSet) -> bool:
        """Whether this can be done on a set: tools answer no questions, and some need references."""
        if self.kind != "metric":
            return True
        return not judged.asks_questions and (judged.shows_references or not self.needs_reference)

    def request(self, common: BatchRequest, judged: JudgedSet) -> BatchRequest:
        """What a batch is asked for on a set, with what is common to all methods."""
        if judged.asks_questions:
            # An answer is one of the options, as in the paper's tables, also under the documents' rule for IQA.
            common = replace(common, overrides={**common.overrides, "pipeline.strict_mode_selection": False})
        if self.kind == "metric":
            return replace(common, tools=(self.name,))
        return replace(common, backend=self.name, mode=self.kind, without=(self.without,) if self.without else ())


def metrics(names: Sequence[str] | None = None) -> list[Method]:
    """These tools; by default those of the paper that run here, and ours."""
    registry = default_registry()
    if names is None:
        listed = [entry.name for entry in load_catalogue().values() if entry.in_paper]
        tools = [tool for name in (*listed, *OWN_TOOLS) if (tool := registry.get(name))]
    else:
        tools = [registry.find(name) for name in names]
    return [Method("metric", tool.name, needs_reference=tool.needs_reference) for tool in tools]


def agents(models: Iterable[str], without: Sequence[Part | None] = (None,)) -> list[Method]:
    """The pipeline on each model, without each of these parts; None: the whole one."""
    return [Method("agents", model, part) for model in models for part in without]


# --- The tables, and the cells that each is made of: one set judged by one method ---


TableName = Literal["ratings", "eval", "qbench", "ablations", "views"]
TABLES: tuple[TableName, ...] = get_args(TableName)
ALL_TABLES = "all"
TITLES: dict[TableName, str] = {
    "ratings": "Agreement with people's ratings",
    "eval": "Right answers on AgenticIQA-Eval",
    "qbench": "Right answers on Q-Bench LLVisionQA",
    "ablations": "What each part contributes",
    "views": "Scores of undamaged photographs, with closer looks and without",
}
NEEDS: dict[TableName, str] = {
    "ratings": "pictures with opinions (TID2013, BID, AGIQA-3K, …)",
    "eval": "AgenticIQA-Eval",
    "qbench": "LLVisionQA",
    "ablations": "a dataset",
    "views": "a folder of photographs",
}
PHOTOGRAPHS = "photographs"
"""The set of the table of views; no folder of datasets holds it, so that ``all`` leaves that table out."""
KINDS = ("metrics", "direct", "agents")
"""Tools alone, bare models, the agents."""


@dataclass(frozen=True)
class Choices:
    """What the user wants compared."""

    models: tuple[str, ...] = ("embedded",)
    kinds: tuple[str, ...] = KINDS
    tools: tuple[str, ...] | None = None
    without: tuple[Part, ...] = PARTS
    """Parts to leave out, one at a time, for the table of ablations."""


@dataclass(frozen=True)
class Cell:
    """One set judged by one method, and where its results lie. Tables that share a cell share its results."""

    judged: JudgedSet
    method: Method
    output: Path
    """The folder of the whole reproduction."""
    profile: str | None = None
    """Results under another profile are other results."""

    @property
    def manifest(self) -> Path:
        return self.output / "runs" / self.judged.key / "manifest.jsonl"

    @property
    def results(self) -> Path:
        method = f"{self.method.key}-{self.profile}" if self.profile else self.method.key
        return self.manifest.parent / method / "results.jsonl"


@dataclass(frozen=True)
class Study:
    """One table: its rows are methods, its columns sets."""

    table: TableName
    methods: list[Method]
    sets: list[JudgedSet]

    @property
    def title(self) -> str:
        return TITLES[self.table]

    def cells(self, output: Path, profile: str | None = None) -> list[Cell]:
        return [
            Cell(judged, method, output, profile)
            for judged in self.sets
            for method in self.methods
            if method.judges(judged)
        ]


def studies(name: str, sets: Sequence[JudgedSet], choices: Choices) -> list[Study]:
    """The tables of a name; ``all`` leaves out those whose sets are not here.

    Raises EvaluationError where there is no such table, or none of its sets.
    """
    if name != ALL_TABLES and name not in TABLES:
        raise EvaluationError(f"There is no table {name!r}.", hint=f"Choose from {', '.join((*TABLES, ALL_TABLES))}.")
    wanted = [table for table in TABLES if name in (table, ALL_TABLES)]
    found = [Study(table, _methods(table, choices), _sets(table, sets)) for table in wanted]
    usable = [study for study in found if study.sets and study.methods]
    if not usable:
        raise EvaluationError(
            f"The table {name} needs {NEEDS[wanted[0]]}, and none is here.",
            hint="--data names the folder that holds them; `python -m benchmarks.datasets list` names all.",
        )
    return usable


def _sets(table: TableName, sets: Sequence[JudgedSet]) -> list[JudgedSet]:
    if table == "ratings":
        return [judged for judged in sets if not judged.asks_questions]
    own = {"eval": "agenticiqa-eval", "qbench": "llvisionqa", "views": PHOTOGRAPHS}.get(table)
    return [judged for judged in sets if own is None or judged.name == own]


def _methods(table: TableName, choices: Choices) -> list[Method]:
    alone = [Method("direct", model) for model in choices.models] if "direct" in choices.kinds else []
    if table == "views":
        return agents(choices.models, [None, "views"])
    if table == "ablations":
        return [*agents(choices.models, [None, *choices.without]), *alone]
    measured = metrics(choices.tools) if table == "ratings" and "metrics" in choices.kinds else []
    return [*measured, *alone, *(agents(choices.models) if "agents" in choices.kinds else [])]
