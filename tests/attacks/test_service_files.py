"""What the service keeps: for its own user alone, and a disk without room costs requests, not the service."""

from __future__ import annotations

import asyncio
import os
import resource
import sqlite3
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from agenticiqa.errors import HomeFullError
from agenticiqa.serve.http.store.job_record import JobOutcome, JobRecord
from agenticiqa.serve.http.work.jobs import JobQueue
from support.http_service import PICTURE, REFERENCE, assess, audit, command_serving, encoded, is_problem, wait_until
from support.pictures import scene

pytestmark = pytest.mark.hard


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[subprocess.Popen[str], httpx.Client, Path]]:
    """The command as anybody starts it, with the usual umask."""
    home = tmp_path_factory.mktemp("home")
    before = os.umask(0o022)
    try:
        with (
            command_serving(home, "--max-upload-mb", "4", counted=True, TMPDIR=str(home)) as (process, url),
            httpx.Client(base_url=url, timeout=60) as client,
        ):
            yield process, client, home
    finally:
        os.umask(before)


def test_everything_the_service_writes_is_private(service: tuple[subprocess.Popen[str], httpx.Client, Path]) -> None:
    _, client, home = service
    assert assess(client, files={"reference": ("r.png", REFERENCE)}).status_code == 200
    batch = audit(client).json()
    wait_until(lambda: client.get(batch["links"]["self"]).json()["status"] == "ok")
    made = [path for path in home.rglob("*") if path.name != "home"]
    names = {path.name for path in made}
    assert {"service.sqlite", "service.sqlite.lock", f"{batch['id']}.rows.jsonl", f"{batch['id']}.sheet.html"} <= names
    shared = [f"{path} {stat.filemode(path.stat().st_mode)}" for path in made if path.stat().st_mode & 0o077]
    assert shared == []


def test_a_full_disk_is_told_and_gone_when_there_is_room_again(
    service: tuple[subprocess.Popen[str], httpx.Client, Path],
) -> None:
    """What a full disk is to a program, without filling one: no file may grow."""
    process, client, _ = service
    other = {"image": ("other.png", encoded(scene(40, 48)))}
    usual = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, usual[1]))
    try:
        refusals = [
            assess(client),
            assess(client, params={"async": "true"}),
            audit(client),
        ]
        # Nothing of a measurement is kept.
        assert client.post("/v1/measure", files=other, data={"tools": "noise"}).status_code == 200
        for refused in refusals:
            is_problem(refused, 507, "storage_full")
            assert "sqlite" not in refused.text
            assert refused.headers["retry-after"]
        unready = is_problem(client.get("/readyz"), 503, "not_ready")
        assert "room" in unready["detail"]
        assert client.get("/healthz").status_code == 200
    finally:
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, usual)
    assert client.get("/readyz").status_code == 200
    assert assess(client).status_code == 200


def test_an_outcome_that_did_not_fit_is_recorded_later(tmp_path: Path) -> None:
    """A run that was accepted in time and ended on a full disk must not stay "queued" for ever."""

    class Full(JobRecord):
        is_full = True

        def finish(self, job_id: str, outcome: JobOutcome) -> None:
            if self.is_full:
                raise sqlite3.OperationalError("database or disk is full")
            super().finish(job_id, outcome)

    async def main() -> list[str]:
        record = Full(tmp_path / "jobs.sqlite")
        queue = JobQueue(record, workers=1, queue_length=1, timeout_s=60)
        job = await queue.submit("a" * 12, "me", "assess", lambda _job: JobOutcome("ok", {}), {})
        await asyncio.wait_for(job.done.wait(), 30)
        seen = [record.find(job.id, "me").status, queue.find(job.id).status]  # type: ignore[union-attr]
        assert queue.has_unkept
        record.is_full = False
        queue.keep_again()
        assert not queue.has_unkept
        seen.append(record.find(job.id, "me").status)  # type: ignore[union-attr]
        await queue.drain(0)
        record.close()
        return seen

    assert asyncio.run(main()) == ["queued", "ok", "ok"]


def test_a_service_cannot_begin_without_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr("agenticiqa.serve.http.store.job_record.open_database", full)
    with pytest.raises(HomeFullError):
        JobRecord(tmp_path / "service.sqlite")


def test_an_upload_that_did_not_fit_leaves_no_part_of_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from agenticiqa.errors import OutputError
    from agenticiqa.runtime.files import is_out_of_space
    from agenticiqa.serve.http.store.uploads import UploadStore

    store = UploadStore(tmp_path, keep_s=60, max_bytes=10**9, least_s=60)
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, usual[1]))
    try:
        with pytest.raises(OutputError) as refused:
            store.put(PICTURE, "p.png")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert is_out_of_space(refused.value)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
