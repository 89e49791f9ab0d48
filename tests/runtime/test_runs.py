"""The record of runs."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from agenticiqa.errors import AgenticIQAError, RunNotFoundError
from agenticiqa.runtime.runs import RunStore, new_run_id
from agenticiqa.runtime.stopping import Cancelled
from support.builders import RATE
from support.scripted import RichScriptedClient, ScriptedClient, answer_reply

pytestmark = pytest.mark.usefixtures("isolated")

REQUEST = {"query": "q", "image_path": "p", "max_replan_iterations": 2}


def test_a_run_is_recorded_with_everything(assessor: Any, pair: Any) -> None:
    """D2-26: plan, evidence, answer, calls, tokens and timings."""
    given = assessor(RichScriptedClient())
    result = given.assess(pair.test, reference=pair.reference)
    (record,) = given.runs.latest()
    assert record.id == result.metadata["run_id"]
    assert (record.status, record.query, record.image_path) == (result.status, RATE, pair.test)
    assert (record.answer, record.score, record.calls) == ("C", result.score, 5)
    assert record.result == result.model_dump(mode="json")
    assert record.result["plan"]["query_type"] == "IQA"
    assert record.result["executor_evidence"]["tool_logs"]
    assert record.result["metadata"]["tokens"] == {"prompt": 500, "completion": 50}
    assert record.seconds is not None
    assert record.request["reference_path"] == pair.reference


def test_runs_are_found_by_their_beginning(tmp_path: Path) -> None:
    """D2-26: a unique one; wildcards are letters."""
    store = RunStore(tmp_path / "runs.sqlite")
    for run_id in ("abc1", "abd2"):
        store.begin(run_id, REQUEST)
    assert store.find("abc").id == "abc1"
    for wrong in ("", "x", "ab", "%", "a_c1"):
        with pytest.raises(RunNotFoundError):
            store.find(wrong)


def test_a_failed_run_has_no_answer_on_record(assessor: Any, pair: Any) -> None:
    """D4-32: status error, no score; the words of the failure are not an answer."""
    given = assessor(ScriptedClient(answer="x"))
    given.assess(pair.test)
    (record,) = given.runs.latest()
    assert record.status == "error"
    assert record.score is None
    assert record.answer is None


def test_replay(assessor: Any, pair: Any) -> None:
    """D2-26: the same question again, as a run of its own, and from the cache."""
    client = ScriptedClient()
    given = assessor(client)
    first = given.assess(pair.test, "Which? ", options=["Blur", "Noise", "None"], max_replan_iterations=1)
    calls = client.calls
    record, second = given.replay(first.metadata["run_id"][:8])
    assert record.id == first.metadata["run_id"] != second.metadata["run_id"]
    assert second.answer == first.answer == "C"
    assert client.calls == calls
    assert second.metadata["cached_calls"] == calls
    assert second.metadata["options"] == ["Blur", "Noise", "None"]
    assert len(given.runs.latest()) == 2


def test_an_answer_may_change_on_replay(assessor: Any, pair: Any) -> None:
    """D2-26: without the cache the model is asked again."""
    given = assessor(ScriptedClient(answer=[answer_reply("B"), answer_reply("D")]), pipeline__cache__enabled=False)
    first = given.assess(pair.test)
    record, second = given.replay(first.metadata["run_id"])
    assert (record.answer, second.answer) == ("B", "D")


def test_runs_may_be_switched_off(assessor: Any, pair: Any, isolated: Path) -> None:
    """D2-24: nothing is written, the answer is the same."""
    given = assessor(ScriptedClient(), pipeline__runs__enabled=False)
    assert given.assess(pair.test).answer == "C"
    assert not list(isolated.glob("runs*"))
    with pytest.raises(RunNotFoundError, match="not recorded"):
        given.resume("x")


def test_many_writers(tmp_path: Path) -> None:
    """D2-26: several threads record at once, nothing is lost."""
    store = RunStore(tmp_path / "runs.sqlite")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: store.begin(new_run_id(), REQUEST), range(40)))
    assert len(store.latest(100)) == 40


def test_a_record_that_cannot_be_used(tmp_path: Path) -> None:
    """D2-26: a clear error that says which setting helps."""
    (tmp_path / "runs.sqlite").write_bytes(b"no database" * 500)
    with pytest.raises(AgenticIQAError, match=r"runs\.database"):
        RunStore(tmp_path / "runs.sqlite")


def test_the_file_is_plain_sqlite(assessor: Any, pair: Any, isolated: Path) -> None:
    """D2-26: readable by anybody."""
    assessor(ScriptedClient()).assess(pair.test)
    with sqlite3.connect(isolated / "runs.sqlite") as connection:
        assert connection.execute("SELECT answer, status FROM runs").fetchall() == [("C", "ok")]


def test_a_run_that_its_listener_ends_is_not_called_running(assessor: Any, pair: Any) -> None:
    """A caller that left, a user who pressed Ctrl+C: on record as such, and resumable."""

    def ending(error: BaseException) -> Any:
        def listen(_event: object) -> None:
            raise error

        return listen

    given = assessor(ScriptedClient())
    for error, status in ((Cancelled("timed_out"), "timed_out"), (KeyboardInterrupt(), "interrupted")):
        with pytest.raises(type(error)):
            given.assess(pair.test, on_event=ending(error))
        newest = given.runs.latest()[0]
        assert (newest.status, newest.result) == (status, None)
        assert given.resume(newest.id).status == "ok"
        assert given.runs.find(newest.id).status == "ok"
