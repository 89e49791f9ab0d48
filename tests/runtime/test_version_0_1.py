"""What version 0.1 left in a user's home still opens."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from agenticiqa import AgenticIQA, Assessment

HOME = Path(__file__).resolve().parents[1] / "data" / "version_0_1"


@pytest.fixture
def assessor(isolated: Path) -> Iterator[AgenticIQA]:
    """In a copy of the old home, with the picture where it was: in the working folder."""
    isolated.mkdir(parents=True)
    for name in ("runs.sqlite", "runs.checkpoints.sqlite"):
        shutil.copy(HOME / name, isolated / name)
    shutil.copy(HOME / "picture.png", Path.cwd() / "picture.png")
    with AgenticIQA("embedded", overrides={"pipeline.cache.enabled": False}) as made:
        yield made


def test_records_open(assessor: AgenticIQA) -> None:
    finished, stopped = assessor.runs.find("0ldf"), assessor.runs.find("0ldst")
    assert (finished.status, finished.answer, stopped.status) == ("ok", "No", "interrupted")
    result = Assessment.model_validate(finished.result)
    assert result.query == "Is it blurry?"
    assert result.executor_evidence is not None
    assert result.metadata["versions"]["agenticiqa"] == "0.1.0"


def test_an_interrupted_run_goes_on_where_it_stopped(assessor: AgenticIQA) -> None:
    """Planner and executor ended under version 0.1: their models are not asked again."""
    events = []
    result = assessor.resume("0ldst", on_event=lambda event: events.append((event.kind, event.name)))
    assert result.status == "ok"
    assert [name for kind, name in events if kind == "node"] == ["executor", "summarizer"]
    assert [each["step"] for each in result.metadata["call_log"]] == ["answer"]
    assert assessor.runs.find("0ldst").status == "ok"


def test_a_finished_run_can_be_replayed(assessor: AgenticIQA) -> None:
    record, result = assessor.replay("0ldf")
    assert (record.answer, result.answer) == ("No", "No")
