"""What ends up in a line, what is retried, and how a batch is stopped."""

from __future__ import annotations

import json
import math
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from agenticiqa.batch.engines.base import ThreadEngine
from agenticiqa.batch.engines.processes import ProcessEngine
from agenticiqa.batch.manifest import open_manifest
from agenticiqa.batch.manifest_checks import SampleRange
from agenticiqa.batch.preparing import BatchRequest, prepare_job
from agenticiqa.batch.results import result_line
from agenticiqa.batch.runner import StopSwitch
from agenticiqa.batch.sample import Sample
from agenticiqa.batch.work import BatchJob, SampleOutcome, SampleWorker, Task
from agenticiqa.errors import ConfigError, ToolUnavailableError, WorkerDiedError
from agenticiqa.models.backends import BackendChoice
from support.batches import (
    DeadEngine,
    FaultyEngine,
    InterruptedEngine,
    make_manifest,
    make_pictures,
    measuring_job,
    records,
    run_batch,
    settled,
    write_jsonl,
)

pytestmark = pytest.mark.usefixtures("isolated")


# --- lines ---


def test_line_holds_any_text_and_refuses_what_is_no_number():
    sample = Sample(sample_id="1", image_path="a", carried={"note": "NaN, Infinity, ü, 画\n", "large": 10**30})
    assert json.loads(result_line(sample, {"error": "half of a character: \ud800"})) == {
        "sample_id": "1",
        "error": "half of a character: \ud800",
        **sample.carried,
    }
    assert result_line(sample, {}).count(b"\n") == 1
    for value in (math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError, match="not JSON compliant"):
            result_line(sample, {"score": value})


def test_carried_columns_stand_beside_the_result_and_never_hide_it():
    sample = Sample(
        sample_id="1",
        image_path="a.png",
        mos=2.0,
        answer="B",
        carried={"status": "draft", "input_status": 1, "fold": 3, "metadata": None},
    )
    line = json.loads(result_line(sample, {"status": "ok", "metadata": {"run_id": "x"}}))
    assert line == {
        "sample_id": "1",
        "status": "ok",
        "metadata": {"run_id": "x"},
        "mos": 2.0,
        "answer": "B",
        "input_status": "draft",
        "input_input_status": 1,
        "fold": 3,
        "input_metadata": None,
    }


def test_steps_that_ran_side_by_side_are_listed_in_one_order():
    def line(*steps: str) -> bytes:
        calls = [{"role": "executor" if step != "plan" else "planner", "step": step} for step in steps]
        return result_line(Sample(sample_id="1", image_path="a"), {"metadata": {"call_log": calls}})

    assert line("plan", "detection", "selection", "analysis") == line("plan", "detection", "analysis", "selection")
    assert line("plan", "detection") != line("detection", "plan")


# --- failures ---


def test_failed_samples_have_a_type_and_resume_replaces_their_lines(tmp_path):
    folder = tmp_path / "set"
    make_pictures(folder, 2)
    (folder / "broken.png").write_bytes((folder / "clean1.png").read_bytes()[:60])
    manifest = write_jsonl(
        folder / "m.jsonl",
        [
            {"sample_id": "gone", "image_path": "gone.png", "reference_path": "clean0.png"},
            {"sample_id": "good", "image_path": "noisy0.png", "reference_path": "clean0.png"},
            {"sample_id": "broken", "image_path": "broken.png", "reference_path": "clean0.png"},
            {"sample_id": "lonely", "image_path": "noisy1.png"},
        ],
    )
    output = tmp_path / "results.jsonl"
    summary = run_batch(manifest, output)
    assert (summary.ok, summary.failed, summary.exit_code) == (1, 3, 2)
    assert summary.errors == {"image_not_found": 1, "image_format": 1, "tool": 1}
    assert summary.failed_ids == ["gone", "broken", "lonely"]
    gone = records(output)[0]
    assert (gone["status"], gone["metadata"]["error_kind"]) == ("error", "image_not_found")
    assert "gone.png" in gone["error"]
    assert "measurements" not in gone

    (folder / "gone.png").write_bytes((folder / "noisy0.png").read_bytes())
    (folder / "broken.png").write_bytes((folder / "noisy1.png").read_bytes())
    again = run_batch(manifest, output, resume=True)
    assert (again.done_earlier, again.ok, again.failed) == (1, 3, 1)
    assert [(each["sample_id"], each["status"]) for each in records(output)] == [
        ("gone", "ok"),
        ("good", "ok"),
        ("broken", "ok"),
        ("lonely", "error"),
    ]


def test_nothing_succeeded(tmp_path):
    manifest = write_jsonl(tmp_path / "m.jsonl", [{"image_path": "gone.png"}])
    assert run_batch(manifest, tmp_path / "r.jsonl").exit_code == 1


def test_defect_in_one_sample_stays_with_it(tmp_path, monkeypatch):
    manifest = make_manifest(tmp_path / "set", 3)
    result = SampleWorker._result

    def sometimes(self, task):
        if task.sample.sample_id == "s1":
            raise ZeroDivisionError("oops")
        return result(self, task)

    monkeypatch.setattr(SampleWorker, "_result", sometimes)
    summary = run_batch(manifest, tmp_path / "r.jsonl")
    assert (summary.ok, summary.errors) == (2, {"internal": 1})
    assert "ZeroDivisionError: oops" in records(tmp_path / "r.jsonl")[1]["error"]


def test_unknown_tool_is_refused_before_anything_starts():
    with pytest.raises(ToolUnavailableError, match="PSNRR"):
        prepare_job(BatchRequest(tools=("PSNRR",)))


# --- order and selection ---


class Backwards:
    """An engine that finishes the latest first."""

    slots = 4

    def __init__(self, job: BatchJob) -> None:
        self._worker = SampleWorker(job)
        self._tasks: list[Task] = []

    def submit(self, task: Task) -> None:
        self._tasks.append(task)

    def finished(self, timeout_s: float) -> list[SampleOutcome]:
        return [self._worker.work(self._tasks.pop())]

    def close(self) -> None:
        self._worker.close()


def test_results_end_in_the_manifest_s_order_whatever_finishes_first(tmp_path):
    manifest = make_manifest(tmp_path / "set", 10)
    run_batch(manifest, tmp_path / "a.jsonl")
    run_batch(manifest, tmp_path / "b.jsonl", engine=Backwards)
    assert [each["sample_id"] for each in records(tmp_path / "b.jsonl")] == [f"s{n}" for n in range(10)]
    assert settled(tmp_path / "a.jsonl") == settled(tmp_path / "b.jsonl")


def test_parts_of_a_manifest_come_together_in_one_file(tmp_path):
    manifest = make_manifest(tmp_path / "set", 9)
    run_batch(manifest, tmp_path / "whole.jsonl")
    output = tmp_path / "parts.jsonl"
    for part in ("6:", "0:3", "3:6"):
        summary = run_batch(manifest, output, selection=SampleRange.parse(part), resume=True)
        assert (summary.total, summary.ok, summary.exit_code) == (3, 3, 0)
    assert settled(output) == settled(tmp_path / "whole.jsonl")


# --- stopping ---


def test_asked_to_stop_finishes_what_has_begun_and_resumes(tmp_path):
    manifest = make_manifest(tmp_path / "set", 12)
    stop = StopSwitch()
    output = tmp_path / "r.jsonl"
    summary = run_batch(manifest, output, engine=Backwards, stop=stop, on_progress=lambda _: stop.ask())
    assert summary.stopped == "interrupted"
    assert summary.exit_code == 130
    assert 0 < summary.not_done < 12
    run_batch(manifest, tmp_path / "whole.jsonl")
    assert run_batch(manifest, output, resume=True).exit_code == 0
    assert settled(output) == settled(tmp_path / "whole.jsonl")


class Priced(Backwards):
    """Every sample costs half a dollar."""

    slots = 2

    def finished(self, timeout_s: float) -> list[SampleOutcome]:
        (outcome,) = super().finished(timeout_s)
        record = json.loads(outcome.line)
        record["metadata"]["cost_usd"] = 0.5
        line = json.dumps(record).encode() + b"\n"
        return [SampleOutcome(outcome.position, line, outcome.status, None, 5, 0.5)]


def test_budget_is_kept_over_all_runs_of_an_output(tmp_path):
    manifest = make_manifest(tmp_path / "set", 10)
    output = tmp_path / "r.jsonl"
    summary = run_batch(manifest, output, engine=Priced, budget_usd=2.2, expected_cost_usd=0.5)
    assert (summary.ok, summary.not_done, summary.cost_usd, summary.stopped) == (4, 6, 2.0, "budget")
    assert summary.exit_code == 2
    more = run_batch(manifest, output, engine=Priced, budget_usd=3.0, expected_cost_usd=0.5, resume=True)
    assert (more.ok, more.not_done, more.stopped) == (6, 4, "budget")


def test_budget_needs_prices():
    from agenticiqa.batch.preparing import expected_cost

    with pytest.raises(ConfigError, match="compatible"):
        expected_cost(
            BatchJob(settings=measuring_job().settings, choices={"planner": BackendChoice("compatible.tiny")})
        )


# --- engines ---


def test_slow_sample_in_a_thread_is_given_up(tmp_path, monkeypatch):
    manifest = make_manifest(tmp_path / "set", 4)
    release = threading.Event()
    result = SampleWorker._result

    def sometimes(self, task):
        if task.sample.sample_id == "s1":
            release.wait(20)
        return result(self, task)

    monkeypatch.setattr(SampleWorker, "_result", sometimes)
    job = measuring_job(timeout_s=1.0)
    summary = run_batch(manifest, tmp_path / "r.jsonl", job=job, engine=lambda job: ThreadEngine(job, 1))
    release.set()
    assert (summary.ok, summary.errors, summary.failed_ids) == (3, {"sample_timeout": 1}, ["s1"])


@pytest.mark.hard
def test_process_engine_gives_the_same_results(tmp_path):
    manifest = make_manifest(tmp_path / "set", 8)
    run_batch(manifest, tmp_path / "threads.jsonl")
    run_batch(manifest, tmp_path / "processes.jsonl", engine=lambda job: ProcessEngine(job, 2))
    assert settled(tmp_path / "threads.jsonl") == settled(tmp_path / "processes.jsonl")


@pytest.mark.hard
def test_rows_larger_than_a_pipe_block_nobody(tmp_path):
    """Large columns travel to the worker and back: neither side may wait for the other to read."""
    folder = tmp_path / "set"
    make_pictures(folder, 1)
    rows = [
        {"sample_id": f"s{number}", "image_path": "noisy0.png", "reference_path": "clean0.png", "notes": "x" * 150_000}
        for number in range(60)
    ]
    manifest = write_jsonl(folder / "m.jsonl", rows)
    summary = run_batch(manifest, tmp_path / "r.jsonl", engine=lambda job: ProcessEngine(job, 1))
    assert (summary.ok, summary.failed) == (60, 0)
    assert all(len(each["notes"]) == 150_000 for each in records(tmp_path / "r.jsonl"))


def large_rows(*names: str) -> Iterator[dict[str, Any]]:
    for name in names:
        yield {"sample_id": name, "image_path": "noisy0.png", "reference_path": "clean0.png", "notes": "x" * 1_000_000}


@pytest.mark.hard
def test_rows_larger_than_a_pipe_block_nobody_while_the_runner_is_slow(tmp_path):
    """It may be waiting for the disk while the worker wants to send what is done: each then has something large for
    the other.
    """
    make_pictures(tmp_path / "set", 1)
    manifest = write_jsonl(tmp_path / "set" / "m.jsonl", large_rows(*map(str, range(12))))
    summary = run_batch(
        manifest,
        tmp_path / "r.jsonl",
        engine=lambda job: ProcessEngine(job, 1),
        on_progress=lambda _: time.sleep(0.25),
    )
    assert (summary.ok, summary.failed) == (12, 0)


@pytest.mark.hard
def test_large_rows_for_a_worker_that_is_stuck_do_not_stop_the_runner_s_clock(tmp_path):
    make_pictures(tmp_path / "set", 1)
    manifest = write_jsonl(tmp_path / "set" / "m.jsonl", large_rows("a", "stuck", "b", "c", "d"))
    job = measuring_job(timeout_s=4.0)
    summary = run_batch(manifest, tmp_path / "r.jsonl", job=job, engine=lambda job: FaultyEngine(job, 1))
    assert (summary.failed_ids, summary.errors) == (["stuck"], {"sample_timeout": 1})


class WeighingEngine(ProcessEngine):
    """Notes how much was on its way at once."""

    def __init__(self, job: BatchJob, workers: int) -> None:
        super().__init__(job, workers)
        self.sizes: dict[int, int] = {}
        self.most = 0

    def submit(self, task: Task) -> None:
        self.sizes[task.position] = len(task.row.record)
        self.most = max(self.most, sum(self.sizes.values()))
        super().submit(task)

    def finished(self, timeout_s: float) -> list[SampleOutcome]:
        done = super().finished(timeout_s)
        for outcome in done:
            del self.sizes[outcome.position]
        return done


@pytest.mark.hard
def test_few_large_rows_are_on_their_way_at_once_however_quick_the_samples_are(tmp_path):
    make_pictures(tmp_path / "set", 1)
    small = [{"image_path": "noisy0.png", "reference_path": "clean0.png", "sample_id": f"s{n}"} for n in range(200)]
    manifest = write_jsonl(tmp_path / "set" / "m.jsonl", [*small, *large_rows(*map(str, range(40)))])
    engines: list[WeighingEngine] = []

    def weighing(job: BatchJob) -> WeighingEngine:
        engines.append(WeighingEngine(job, 1))
        return engines[0]

    assert run_batch(manifest, tmp_path / "r.jsonl", engine=weighing).ok == 240
    assert engines[0].most < 8_000_000


@pytest.mark.hard
def test_what_is_printed_in_a_worker_stays_out_of_standard_output(tmp_path, capfd):
    make_pictures(tmp_path / "set", 1)
    row = {"sample_id": "loud", "image_path": "noisy0.png", "reference_path": "clean0.png"}
    manifest = write_jsonl(tmp_path / "set" / "m.jsonl", [row])
    assert run_batch(manifest, tmp_path / "r.jsonl", engine=lambda job: FaultyEngine(job, 1)).ok == 1
    printed = capfd.readouterr()
    assert printed.out == ""
    assert "printed by a library" in printed.err
    assert "written by a library" in printed.err


@pytest.mark.hard
@pytest.mark.skipif(sys.platform == "win32", reason="signals cannot be held back there")
def test_interrupt_is_the_runner_s_even_before_a_worker_has_begun(tmp_path):
    manifest = make_manifest(tmp_path / "set", 3)
    assert run_batch(manifest, tmp_path / "r.jsonl", engine=lambda job: InterruptedEngine(job, 2)).ok == 3


def test_result_of_a_sample_is_there_before_the_next_one_ends(tmp_path):
    """The next one may keep its whole worker busy until it is killed for it."""
    make_pictures(tmp_path / "set", 1)
    names = ("quick", "slow")
    rows = [{"sample_id": name, "image_path": "noisy0.png", "reference_path": "clean0.png"} for name in names]
    manifest = open_manifest(str(write_jsonl(tmp_path / "set" / "m.jsonl", rows)))
    engine = FaultyEngine(measuring_job(), 1)
    for position, row in enumerate(manifest.rows()):
        engine.submit(Task(position, row, "run", names[position]))
    done: list[SampleOutcome] = []
    while not (tmp_path / "set" / "slow.seen").exists():
        done += engine.finished(0.1)
    engine.close()
    assert [(outcome.position, outcome.status) for outcome in done] == [(0, "ok")]


@pytest.mark.hard
def test_worker_that_dies_takes_only_its_own_sample_along(tmp_path):
    folder = tmp_path / "set"
    make_pictures(folder, 1)
    names = ["a", "once", "b", "crash", "c", "slow", "d"]
    manifest = write_jsonl(
        folder / "m.jsonl",
        [{"sample_id": name, "image_path": "noisy0.png", "reference_path": "clean0.png"} for name in names],
    )
    output = tmp_path / "r.jsonl"
    job = measuring_job(timeout_s=4.0)
    summary = run_batch(manifest, output, job=job, engine=lambda job: FaultyEngine(job, 1))
    assert summary.failed_ids == ["crash", "slow"]
    assert summary.errors == {"worker_died": 1, "sample_timeout": 1}
    assert [each["sample_id"] for each in records(output)] == names
    assert "SIGSEGV" in records(output)[3]["error"]


@pytest.mark.hard
def test_worker_that_is_killed_while_it_waits_costs_no_sample(tmp_path):
    manifest = make_manifest(tmp_path / "set", 6)

    def with_a_dead_worker(job: BatchJob) -> ProcessEngine:
        engine = ProcessEngine(job, 1)
        worker = engine._workers[0]
        while not worker.ready:
            assert engine.finished(0.1) == []
        worker.process.kill()
        worker.process.join()
        return engine

    assert run_batch(manifest, tmp_path / "r.jsonl", engine=with_a_dead_worker).ok == 6


@pytest.mark.hard
def test_sample_that_was_done_before_its_worker_died_keeps_its_result(tmp_path):
    folder = tmp_path / "set"
    make_pictures(folder, 1)
    names = [f"crash{number}" if number in (9, 24) else f"s{number}" for number in range(30)]
    rows = [{"sample_id": name, "image_path": "noisy0.png", "reference_path": "clean0.png"} for name in names]
    summary = run_batch(
        write_jsonl(folder / "m.jsonl", rows), tmp_path / "r.jsonl", engine=lambda job: FaultyEngine(job, 2)
    )
    assert summary.failed_ids == [name for name in names if name.startswith("crash")]
    assert [each["sample_id"] for each in records(tmp_path / "r.jsonl")] == names


@pytest.mark.hard
def test_sample_that_stops_its_whole_worker_is_the_one_given_up(tmp_path):
    folder = tmp_path / "set"
    make_pictures(folder, 1)
    names = ["a", "b", "stuck", "c"]
    rows = [{"sample_id": name, "image_path": "noisy0.png", "reference_path": "clean0.png"} for name in names]
    job = measuring_job(timeout_s=4.0)
    summary = run_batch(
        write_jsonl(folder / "m.jsonl", rows), tmp_path / "r.jsonl", job=job, engine=lambda job: FaultyEngine(job, 1)
    )
    assert (summary.failed_ids, summary.errors) == (["stuck"], {"sample_timeout": 1})


@pytest.mark.hard
def test_workers_that_cannot_start_end_the_batch(tmp_path):
    manifest = make_manifest(tmp_path / "set", 3)
    with pytest.raises(WorkerDiedError):
        run_batch(manifest, tmp_path / "r.jsonl", engine=lambda job: DeadEngine(job, 1))
