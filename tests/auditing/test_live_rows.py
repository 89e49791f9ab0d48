"""What is known of a folder while it is looked through: no decision before its groups, and in the end the report's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agenticiqa.auditing.decisions import Bounds
from agenticiqa.auditing.live_rows import LiveRows
from agenticiqa.auditing.report import AuditReport
from agenticiqa.auditing.running import AuditRequest, run_audit
from support.shoots import make_shoot

pytestmark = pytest.mark.usefixtures("isolated")
COFFEE = {"coffee_0.jpg", "coffee_1.jpg", "coffee_2.jpg"}
Rows = list[dict[str, Any]]


class Watched:
    """An audit and what was told of it, in three parts: at the first look, after it, and with the model."""

    def __init__(self, folder: Path) -> None:
        shoot, quick, records = make_shoot(folder / "shoot"), folder / "quick.jsonl", folder / "records.jsonl"
        live = LiveRows(Bounds.of())
        self.first: Rows = []
        self.decided: Rows = []
        self.scored: Rows = []

        def progress(_: object) -> None:
            into, lines = (self.scored, records) if live.has_decisions else (self.first, quick)
            into += [dict(each.row) for each in live.found(lines)]

        def looked(report: AuditReport) -> None:
            self.quick_report = [dict(row) for row in report]
            self.decided += [dict(each.row) for each in live.decide(report)]

        request = AuditRequest(
            shoot, records=records, quick_records=quick, on_quick=looked, on_progress=progress, workers=1
        )
        self.report, _ = run_audit(request)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    return Watched(tmp_path_factory.mktemp("live"))


@pytest.mark.hard
def test_the_first_look_tells_findings_and_decides_nothing(watched: Watched):
    assert len(watched.first) == 11
    assert {(row["decision"], row["why"], row["settled"]) for row in watched.first} == {(None, None, False)}
    assert "blank" in next(row for row in watched.first if row["path"] == "blank.png")["findings"]


@pytest.mark.hard
def test_after_it_every_picture_is_decided_as_the_first_report_does(watched: Watched):
    assert watched.decided == [{**row, "settled": False} for row in watched.quick_report]
    assert {row["decision"] for row in watched.decided if row["path"] in COFFEE} == {"keep", "reject"}


def test_a_group_settles_when_the_model_has_seen_the_last_of_it(watched: Watched):
    told = [(row["path"], row["settled"]) for row in watched.scored if row["path"] in COFFEE]
    settled = [path for path, is_settled in told if is_settled]
    # Two wait, the third settles all three.
    assert [is_settled for _, is_settled in told] == [False, False, True, True, True]
    assert set(settled) == COFFEE
    alone = [row["settled"] for row in watched.scored if row["path"] == "blank.png"]
    assert alone == [True]


def test_what_settled_is_what_the_report_says(watched: Watched):
    last = {row["path"]: row for row in watched.scored}
    assert all(row["settled"] for row in last.values())
    compared = ("decision", "why", "stars", "keep", "score", "findings", "exact_group", "near_group", "burst_group")
    final = {row["path"]: {name: row[name] for name in compared} for row in watched.report}
    assert {path: {name: row[name] for name in compared} for path, row in last.items()} == final


def test_nothing_is_told_of_records_that_are_not_there(tmp_path: Path):
    assert list(LiveRows(Bounds.of()).found(tmp_path / "nothing.jsonl")) == []
