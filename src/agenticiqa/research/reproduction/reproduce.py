"""From a folder of datasets and a list of models to the paper's tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from agenticiqa.batch.runner import StopSwitch
from agenticiqa.errors import OutputError
from agenticiqa.research.benchmark import hardware, versions
from agenticiqa.research.datasets.checking import Check
from agenticiqa.research.reproduction.methods import Cell, Study
from agenticiqa.research.reproduction.outcomes import Outcome, outcome
from agenticiqa.research.reproduction.page import csv_text, markdown, render_page
from agenticiqa.research.reproduction.running import (
    CellState,
    Conditions,
    Listener,
    MakeEngine,
    distinct,
    lines_in,
    run_cells,
    write_manifests,
)
from agenticiqa.research.reproduction.tables import StudyTable
from agenticiqa.research.rescoring import Rescoring
from agenticiqa.research.tables import Table
from agenticiqa.runtime.files import write_atomic
from agenticiqa.vision.network import weights_version

FORMATS = ("md", "csv", "html", "json")
NOT_RUN = CellState("not run")


@dataclass(frozen=True)
class ReproductionRequest:
    """What is to be made, and where."""

    studies: Sequence[Study]
    output: Path
    command: str
    conditions: Conditions = field(default_factory=Conditions)
    resamples: int = 1000
    runs: bool = True
    """False: the tables are made of what is stored; nothing is asked or measured."""
    rescoring: Rescoring | None = None
    """How the stored ratings are scored anew; such tables have names of their own."""

    @property
    def suffix(self) -> str:
        return "-rescored" if self.rescoring else ""

    @property
    def cells(self) -> list[Cell]:
        return distinct(cell for study in self.studies for cell in self.cells_of(study))

    @property
    def profile(self) -> str | None:
        return self.conditions.request.profile

    def cells_of(self, study: Study) -> list[Cell]:
        return study.cells(self.output, self.profile)


@dataclass(frozen=True)
class StudyResult:
    study: Study
    table: Table
    outcomes: list[Outcome]
    files: list[Path]

    def as_dict(self) -> dict[str, Any]:
        return {
            "table": self.study.table,
            "title": self.study.title,
            "files": [str(file) for file in self.files],
            "columns": self.table.columns,
            "rows": self.table.rows,
            "notes": self.table.notes,
            "outcomes": [each.as_dict() for each in self.outcomes],
        }


def reproduce(
    order: ReproductionRequest,
    *,
    listener: Listener | None = None,
    stop: StopSwitch | None = None,
    make_engine: MakeEngine | None = None,
) -> list[StudyResult]:
    """Do what is left to do, then write every table of all that is stored, finished or not."""
    for study in order.studies:
        refuse_foreign(_files(order, study), study.table)
    cells = order.cells
    checks = write_manifests(cells)
    states = (
        run_cells(cells, order.conditions, listener=listener, stop=stop, make_engine=make_engine) if order.runs else {}
    )
    if stop and stop.asked:
        # Who stops it does not want to wait for a thousand resamples of every cell.
        order = replace(order, resamples=0)
    found = {cell.results: _outcome(order, cell, states, checks) for cell in cells}
    return [_written(order, study, [found[cell.results] for cell in order.cells_of(study)]) for study in order.studies]


def _outcome(
    order: ReproductionRequest, cell: Cell, states: dict[Path, CellState], checks: dict[str, Check]
) -> Outcome:
    asked = lines_in(cell.manifest)
    state = states.get(cell.results, NOT_RUN)
    whole = asked == checks[cell.judged.key].expected
    return outcome(cell, state, asked, whole=whole, resamples=order.resamples, rescoring=order.rescoring)


def _files(order: ReproductionRequest, study: Study) -> list[Path]:
    return [order.output / f"{study.table}{order.suffix}.{suffix}" for suffix in FORMATS]


def refuse_foreign(files: list[Path], table: str) -> None:
    """Tables are written again and again, over those of an earlier run and over nobody else's files."""
    there = [file for file in files if file.exists()]
    ours = next((file for file in there if file.suffix == ".json" and _is_table(file, table)), None)
    if there and ours is None:
        raise OutputError(f"{str(there[0])!r} is there and is no table of ours.", hint="Choose another --output.")


def _is_table(file: Path, table: str) -> bool:
    try:
        return bool(json.loads(file.read_text(encoding="utf-8"))["table"] == table)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _written(order: ReproductionRequest, study: Study, outcomes: list[Outcome]) -> StudyResult:
    table = StudyTable(study, outcomes, order.resamples, paper_profile=order.profile == "paper").table()
    facts = _facts(order, outcomes)
    result = StudyResult(study, table, outcomes, _files(order, study))
    texts = {
        "md": markdown(study, table, facts),
        "csv": csv_text(study, outcomes),
        "html": render_page(study, table, outcomes, facts),
        "json": json.dumps({**result.as_dict(), "facts": facts}, indent=1, ensure_ascii=False) + "\n",
    }
    # The .json first: by it the others are known as ours, also after a kill between two of them.
    for file in reversed(result.files):
        write_atomic(file, texts[file.suffix.removeprefix(".")])
    return result


def _facts(order: ReproductionRequest, outcomes: Sequence[Outcome]) -> dict[str, str]:
    sets = {each.cell.judged.key: (each.cell.judged, each.asked) for each in outcomes}
    described = [
        f"{judged.title}, {judged.subset}: {asked} of {judged.dataset.counts[judged.subset]}"
        + (f" ({judged.selection.key})" if judged.selection.key else "")
        for judged, asked in sets.values()
    ]
    paid = [each.expense.paid for each in outcomes if each.expense]
    known = [amount for amount in paid if amount is not None]
    return {
        "Command": order.command,
        "Date": f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC",
        "Samples": "; ".join(described),
        **({"Profile": order.profile} if order.profile else {}),
        **({"Scored anew, without a new call": json.dumps(order.rescoring.as_dict())} if order.rescoring else {}),
        "Paid for these results": "unknown" if len(known) < len(paid) else f"${sum(known):.4f}",
        "Versions": ", ".join([*versions(), f"embedded weights {weights_version()}"]),
        "Hardware": hardware(),
        "Results": "; ".join(
            f"{each.cell.results.relative_to(order.output)} sha256 {each.sha256[:12]}"
            for each in outcomes
            if each.sha256
        ),
    }
