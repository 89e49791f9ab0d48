"""The queue of jobs by itself."""

from __future__ import annotations

import asyncio
import gc
import time
import weakref
from pathlib import Path

from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.store.job_record import JobOutcome, JobRecord
from agenticiqa.serve.http.work.jobs import JobQueue, ServiceJob


def test_steps_told_while_the_event_loop_is_busy_are_on_record(tmp_path: Path):
    """A late listener reads the record: it holds the last steps too, under the numbers that live listeners saw."""

    def work(job: ServiceJob) -> JobOutcome:
        for number in range(5):
            job.report("step", {"number": number})
        return JobOutcome("ok", {})

    async def main() -> tuple[ServiceJob, list[dict]]:
        record = JobRecord(tmp_path / "jobs.sqlite")
        queue = JobQueue(record, workers=1, queue_length=1, timeout_s=60)
        job = await queue.submit("a" * 12, "me", "assess", work, {})
        time.sleep(0.3)  # the loop is kept from its work on purpose
        await asyncio.wait_for(job.done.wait(), 30)
        row = record.find(job.id, "me")
        await queue.drain(0)
        record.close()
        assert row is not None
        return job, row.events

    job, recorded = asyncio.run(main())
    assert [event["event"] for event in job.events] == ["status", "status", *["step"] * 5, "done"]
    assert recorded == job.events[:-1]


def test_a_job_that_failed_lets_go_of_what_it_held(tmp_path: Path):
    class Picture:
        """Stands for many megabytes."""

    held: list[weakref.ref[Picture]] = []

    def work(job: ServiceJob) -> JobOutcome:
        picture = Picture()
        held.append(weakref.ref(picture))
        try:
            raise ValueError(job.id)
        except ValueError:
            raise ServiceError(422, "region", "No such place.") from None

    async def main() -> ServiceJob:
        record = JobRecord(tmp_path / "jobs.sqlite")
        queue = JobQueue(record, workers=1, queue_length=1, timeout_s=60)
        job = await queue.submit("a" * 12, "me", "assess", work, {})
        await asyncio.wait_for(job.done.wait(), 30)
        await queue.drain(0)
        record.close()
        return job

    job = asyncio.run(main())
    assert job.outcome is not None
    assert job.outcome.problem is not None
    gc.collect()
    assert held[0]() is None
