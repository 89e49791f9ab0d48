"""From a folder of datasets and a list of models to the paper's tables."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from importlib import metadata as package_metadata
from pathlib import Path
from typing import Any

from benchmarks.datasets.checking import Check
from benchmarks.paper.methods import Cell, Study
from benchmarks.paper.outcomes import Outcome, outcome
from benchmarks.paper.running import (
    Announce,
    CellState,
    Conditions,
    MakeEngine,
    lines_in,
    run_cells,
)
from benchmarks.paper.tables import StudyTable
from benchmarks.paper.views import views_table

from agenticiqa.batch.runner import ProgressListener, StopSwitch
from agenticiqa.errors import OutputError
from agenticiqa.research.tables import Table
from agenticiqa.runtime.files import write_atomic
from agenticiqa.runtime.logs import markdown_text
from agenticiqa.vision.network import weights_version

_PACKAGES = ("agenticiqa", "numpy", "scipy", "opencv-python-headless", "onnxruntime", "langgraph")


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

    @property
    def cells(self) -> list[Cell]:
        """Each set and method once: tables that share a cell share its results."""
        return list({cell.results: cell for study in self.studies for cell in self.cells_of(study)}.values())

    def cells_of(self, study: Study) -> list[Cell]:
        return study.cells(self.output, self.conditions.request.profile)

    def files_of(self, study: Study) -> list[Path]:
        """The table for people and for programs."""
        return [self.output / f"{study.table}{suffix}" for suffix in (".md", ".json")]


@dataclass(frozen=True)
class StudyResult:
    """A table that was written, and the cells that it was made of."""

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
    announce: Announce | None = None,
    on_progress: ProgressListener | None = None,
    stop: StopSwitch | None = None,
    make_engine: MakeEngine | None = None,
) -> list[StudyResult]:
    """Do what is left to do, then write every table of all that is stored, finished or not."""
    for study in order.studies:
        refuse_unrelated_files(order.files_of(study), study.table)
    checks: dict[str, Check] = {}
    for cell in order.cells:
        # All manifests before anything is spent.
        if cell.judged.key not in checks:
            checks[cell.judged.key] = cell.judged.write_manifest(cell.manifest)
    states: dict[Path, CellState] = {}
    if order.runs:
        states = run_cells(
            order.cells,
            order.conditions,
            announce=announce,
            on_progress=on_progress,
            stop=stop,
            make_engine=make_engine,
        )
    if stop and stop.asked:
        # Who stops it does not want to wait for a thousand resamples of every cell.
        order = replace(order, resamples=0)
    found: dict[Path, Outcome] = {}
    for cell in order.cells:
        asked = lines_in(cell.manifest)
        state = states.get(cell.results, CellState("not run"))
        whole = asked == checks[cell.judged.key].expected
        found[cell.results] = outcome(cell, state, asked, whole=whole, resamples=order.resamples)
    return [_written(order, study, [found[cell.results] for cell in order.cells_of(study)]) for study in order.studies]


def refuse_unrelated_files(files: list[Path], table: str) -> None:
    """Refuse to overwrite files that an earlier run did not write."""
    there = [file for file in files if file.exists()]
    try:
        is_own = json.loads(files[-1].read_text(encoding="utf-8"))["table"] == table
    except (OSError, ValueError, KeyError, TypeError):
        is_own = False
    if there and not is_own:
        raise OutputError(f"{str(there[0])!r} is there and is no table of ours.", hint="Choose another --output.")


def _written(order: ReproductionRequest, study: Study, outcomes: list[Outcome]) -> StudyResult:
    views = study.table == "views"
    table = views_table(study, outcomes) if views else StudyTable(study, outcomes, order.resamples).table()
    facts = _facts(order, outcomes)
    result = StudyResult(study, table, outcomes, order.files_of(study))
    lines = [f"- {markdown_text(name)}: {markdown_text(text)}" for name, text in facts.items()]
    page = "\n".join([f"# Reproduction: {study.table}", "", table.markdown(), *lines, ""])
    data = json.dumps({**result.as_dict(), "facts": facts}, indent=1, ensure_ascii=False) + "\n"
    # The .json first: by it the other is known as ours, also after a kill between the two.
    for file, text in zip(reversed(result.files), (data, page), strict=True):
        write_atomic(file, text)
    return result


# --- how it was run ----------------------------------------------------------------------------------------


def _facts(order: ReproductionRequest, outcomes: Sequence[Outcome]) -> dict[str, str]:
    sets = {each.cell.judged.key: (each.cell.judged, each.asked) for each in outcomes}
    described = [
        f"{judged.title}, {judged.subset}: {asked} of {judged.dataset.counts[judged.subset]}"
        + (f" ({judged.selection.key})" if judged.selection.key else "")
        for judged, asked in sets.values()
    ]
    paid = [each.expense.paid for each in outcomes if each.expense]
    known = [amount for amount in paid if amount is not None]
    profile = order.conditions.request.profile
    return {
        "Command": order.command,
        "Date": f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC",
        "Samples": "; ".join(described),
        **({"Profile": profile} if profile else {}),
        "Paid for these results": "unknown" if len(known) < len(paid) else f"${sum(known):.4f}",
        "Versions": ", ".join([*_versions(), f"embedded weights {weights_version()}"]),
        "Hardware": hardware(),
        "Results": "; ".join(
            f"{each.cell.results.relative_to(order.output)} sha256 {each.sha256[:12]}"
            for each in outcomes
            if each.sha256
        ),
    }


def _versions() -> list[str]:
    """Of Python and of the packages that results depend on."""
    found = [f"Python {platform.python_version()}"]
    for package in _PACKAGES:
        try:
            found.append(f"{package} {package_metadata.version(package)}")
        except package_metadata.PackageNotFoundError:
            continue
    return found


def hardware() -> str:
    # Linux names the processor in a file; elsewhere Python's own answer has to do.
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines() if cpuinfo.is_file() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    processor = next(models, platform.processor() or "unknown processor")
    sysconf: Callable[[str], int] | None = getattr(os, "sysconf", None)
    memory = f"{sysconf('SC_PAGE_SIZE') * sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB, " if sysconf else ""
    return f"{processor}, {os.cpu_count()} cores, {memory}{platform.system()} {platform.machine()}"
