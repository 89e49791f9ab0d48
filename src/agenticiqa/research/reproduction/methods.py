"""What is compared (a tool alone, a bare model, the agents, whole or in part), and which table compares what."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Literal, get_args

from agenticiqa.batch.preparing import BatchRequest
from agenticiqa.research.evaluate import Conditions
from agenticiqa.research.reproduction.sets import JudgedSet
from agenticiqa.research.results import EvaluationError
from agenticiqa.runtime.config import ROLES
from agenticiqa.state import PARTS, Part, RunMode
from agenticiqa.tools.catalogue import load_catalogue
from agenticiqa.tools.registry import default_registry

Kind = Literal["metric", "direct", "agents"]
OWN_TOOLS = ("AIQA_NR", "AIQA_FR")
LONGEST_KEY = 100


@dataclass(frozen=True)
class Method:
    """One way to answer. ``roles`` has the backend of each agent; a tool has none."""

    kind: Kind
    tool: str | None = None
    needs_reference: bool = False
    roles: Mapping[str, str] = field(default_factory=dict)
    without: Part | None = None

    @property
    def models(self) -> list[str]:
        return list(dict.fromkeys(self.roles.values()))

    @property
    def label(self) -> str:
        if self.tool:
            return self.tool
        named = self.models[0] if len(self.models) == 1 else " + ".join(self.roles[role] for role in ROLES)
        if self.kind == "direct":
            return f"{named} alone"
        return f"AgenticIQA, {named}" + (f", without {self.without}" if self.without else "")

    @property
    def short_label(self) -> str:
        """For charts: of a mix, its models alone."""
        if len(self.models) < 2:
            return self.label
        return " / ".join(self.roles[role].partition(".")[2] or self.roles[role] for role in ROLES)

    @property
    def conditions(self) -> Conditions:
        """For the question which published row is like it."""
        if self.tool:
            return Conditions("metric", name=self.tool)
        kind: Literal["direct", "ablation", "agents"] = "agents"
        if self.kind == "direct":
            kind = "direct"
        elif self.without:
            kind = "ablation"
        return Conditions(kind, frozenset(self.models), without=(self.without,) if self.without else ())

    @property
    def key(self) -> str:
        """The name of its folder among the results."""
        named = self.tool or "+".join(self.models if len(self.models) == 1 else [self.roles[role] for role in ROLES])
        text = "-".join([self.kind, named, *(["without", self.without] if self.without else [])])
        safe = re.sub(r"[^\w.+-]", "_", text)
        if safe == text and len(safe) <= LONGEST_KEY:
            return safe
        return f"{safe[:LONGEST_KEY]}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"

    def judges(self, judged: JudgedSet) -> bool:
        """Whether this can be done on a set: tools answer no questions, and some need references."""
        if self.tool is None:
            return True
        return not judged.asks_questions and (judged.shows_references or not self.needs_reference)

    def request(self, common: BatchRequest) -> BatchRequest:
        """What a batch is asked for, with what is common to all methods."""
        if self.tool:
            return replace(common, tools=(self.tool,))
        mode: RunMode = "direct" if self.kind == "direct" else "agents"
        return replace(common, roles=dict(self.roles), mode=mode, without=(self.without,) if self.without else ())


def metrics(names: Sequence[str] | None = None) -> list[Method]:
    """These tools; by default those of the paper that run here, and ours."""
    registry = default_registry()
    if names is None:
        listed = [entry.name for entry in load_catalogue().values() if entry.in_paper]
        tools = [tool for name in (*listed, *OWN_TOOLS) if (tool := registry.get(name))]
    else:
        tools = [registry.find(name) for name in names]
    return [Method("metric", tool=tool.name, needs_reference=tool.needs_reference) for tool in tools]


def agents(models: Iterable[str], without: Sequence[Part | None] = (None,)) -> list[Method]:
    """The pipeline on each model, without each of these parts; None: the whole one."""
    return [Method("agents", roles=dict.fromkeys(ROLES, model), without=part) for model in models for part in without]


def bare(models: Iterable[str]) -> list[Method]:
    """The models alone: the same questions and pictures, no agents and no tools."""
    return [Method("direct", roles=dict.fromkeys(ROLES, model)) for model in models]


def role_grid(by_role: Mapping[str, Sequence[str]]) -> list[Method]:
    """Every mix of these backends.

    >>> [method.label for method in role_grid({"planner": ["a", "b"], "executor": ["a"], "summarizer": ["a"]})]
    ['AgenticIQA, a', 'AgenticIQA, b + a + a']
    """
    mixes = product(*(by_role[role] for role in ROLES))
    return [Method("agents", roles=dict(zip(ROLES, mix, strict=True))) for mix in mixes]


# --- The tables, and the cells that each is made of: one set judged by one method ---


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
        return [*agents(choices.models, [None, *choices.without]), *alone]
    measured = metrics(choices.tools) if table == "ratings" and "metrics" in choices.kinds else []
    return [*measured, *alone, *(agents(choices.models) if "agents" in choices.kinds else [])]
