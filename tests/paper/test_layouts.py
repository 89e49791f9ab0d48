"""Every dataset that can be read, in its authors' layout: found in one folder, measured, and laid out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "public_sets"))

import layouts
from benchmarks.paper.methods import Choices, studies
from benchmarks.paper.reproduce import ReproductionRequest, reproduce
from benchmarks.paper.sets import Selection, find_sets

from agenticiqa.batch.engines.base import ThreadEngine
from support.paper_data import picture

pytestmark = pytest.mark.usefixtures("isolated")


@pytest.mark.hard
def test_one_folder_with_every_layout(tmp_path, monkeypatch):
    monkeypatch.setattr(layouts, "PICTURE", picture(3, 2))
    for name, make in layouts.MAKERS.items():
        (tmp_path / "data" / name.upper()).mkdir(parents=True)
        make(tmp_path / "data" / name.upper())
    found = find_sets([str(tmp_path / "data")], [], Selection(max_samples=2))
    assert {judged.name for judged in found} == set(layouts.MAKERS)
    # A split that comes without answers is not judged.
    assert {judged.name: judged.subset for judged in found}["llvisionqa"] == "dev"
    ratings = studies("ratings", found, Choices(kinds=("metrics",), tools=("clipping",)))
    [done] = reproduce(
        ReproductionRequest(ratings, tmp_path / "out", "cmd", resamples=0), make_engine=lambda job: ThreadEngine(job, 1)
    )
    rated = [judged.name for judged in found if not judged.asks_questions]
    assert [each.cell.judged.name for each in done.outcomes] == rated
    assert all(each.complete and each.file.count("ok") == each.asked for each in done.outcomes)
    for judged in found:
        if judged.asks_questions:
            assert judged.write_manifest(tmp_path / f"{judged.key}.jsonl").present > 0
