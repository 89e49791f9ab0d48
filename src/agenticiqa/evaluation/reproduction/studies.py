"""The tables, and the cells that each is made of: one set judged by one method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from agenticiqa.evaluation.reproduction.methods import Method, ablations, agents, bare, metrics, role_grid
from agenticiqa.evaluation.reproduction.sets import JudgedSet
from agenticiqa.evaluation.results import EvaluationError
from agenticiqa.runtime.config import ROLES
from agenticiqa.state import PARTS, Part

TableName = Literal["ratings", "eval", "qbench", "ablations", "roles"]
TABLES: tuple[TableName, ...] = get_args(TableName)
ALL_TABLES = "all"

TITLES: dict[TableName, str] = {
    "ratings": "Agreement with people's ratings",
    "eval": "Right answers on AgenticIQA-Eval",
    "qbench": "Right answers on Q-Bench LLVisionQA",
    "ablations": "What each part contributes",
    "roles": "Which model for which agent",
}
RESULTS, MANIFEST, RUNS = "results.jsonl", "manifest.jsonl", "runs"


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
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Backends to try for single agents; an agent that is not named tries all models."""


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
        return self.output / RUNS / self.judged.key / MANIFEST

    @property
    def results(self) -> Path:
        method = f"{self.method.key}-{self.profile}" if self.profile else self.method.key
        return self.output / RUNS / self.judged.key / method / RESULTS

    @property
    def name(self) -> str:
        return f"{self.judged.title}: {self.method.label}"


@dataclass(frozen=True)
class Study:
    """One table: its rows are methods, its columns sets."""

    table: TableName
    methods: list[Method]
    sets: list[JudgedSet]

    @property
    def title(self) -> str:
        return TITLES[self.table]

    @property
    def is_published(self) -> bool:
        """Whether the paper has a table of this kind, whose rows stand beside ours."""
        return self.table in ("ratings", "eval", "qbench")

    def cells(self, output: Path, profile: str | None = None) -> list[Cell]:
        return [
            Cell(judged, method, output, profile)
            for judged in self.sets
            for method in self.methods
            if method.judges(judged)
        ]


def studies(name: str, sets: Sequence[JudgedSet], choices: Choices) -> list[Study]:
    """The tables of a name; ``all`` leaves out those whose sets are not here."""
    if name != ALL_TABLES and name not in TABLES:
        raise EvaluationError(f"There is no table {name!r}.", hint=f"Choose from {', '.join((*TABLES, ALL_TABLES))}.")
    wanted = TABLES if name == ALL_TABLES else tuple(table for table in TABLES if table == name)
    found = [Study(table, _methods(table, choices), _sets(table, sets)) for table in wanted]
    usable = [study for study in found if study.sets and study.methods]
    if not usable:
        raise EvaluationError(
            f"The table {name} needs {_needs(wanted[0])}, and none is here.",
            hint="--data names the folder that holds them; `agenticiqa datasets list` names all that can be read.",
        )
    return usable


def _sets(table: TableName, sets: Sequence[JudgedSet]) -> list[JudgedSet]:
    if table == "ratings":
        return [judged for judged in sets if not judged.asks_questions]
    own = {"eval": "agenticiqa-eval", "qbench": "llvisionqa"}.get(table)
    return [judged for judged in sets if own is None or judged.name == own]


def _needs(table: TableName) -> str:
    return {
        "ratings": "pictures with opinions (TID2013, BID, AGIQA-3K, …)",
        "eval": "AgenticIQA-Eval",
        "qbench": "LLVisionQA",
    }.get(table, "a dataset")


def _methods(table: TableName, choices: Choices) -> list[Method]:
    if table == "roles":
        return role_grid({role: choices.roles.get(role) or choices.models for role in ROLES})
    alone = bare(choices.models) if "direct" in choices.kinds else []
    if table == "ablations":
        return [*ablations(choices.models, choices.without), *alone]
    measured = metrics(choices.tools) if table == "ratings" and "metrics" in choices.kinds else []
    return [*measured, *alone, *(agents(choices.models) if "agents" in choices.kinds else [])]
