"""Rating on Ray: a picture that takes too long or kills its actor costs itself alone."""

from __future__ import annotations

import multiprocessing
import os
import sys

import pytest

from agenticiqa.batch.engines import on_ray
from agenticiqa.batch.manifest import Row
from agenticiqa.batch.work import Task
from agenticiqa.errors import MissingExtraError, WorkerDiedError
from support.batches import FaultyActor, make_pictures, measuring_job, records, run_batch, write_jsonl


def rows(names):
    return [{"sample_id": name, "image_path": "noisy0.png", "reference_path": "clean0.png"} for name in names]


def work_through(folder, names):
    """In a process of its own, as an actor works."""
    tasks = [Task(0, Row(1, row, str(folder)), "run", row["sample_id"]) for row in rows(names)]
    found = FaultyActor(measuring_job(timeout_s=4.0), on_gpu=False).work(tasks)
    (folder / "found.txt").write_text(" ".join(each.status for each in found))


@pytest.mark.hard
@pytest.mark.parametrize(("last", "code"), [("a", 0), ("slow", 1), ("stuck", 1)])
def test_an_actor_ends_when_a_picture_takes_too_long(tmp_path, last, code):
    """Also where a library keeps Python's own threads from running."""
    make_pictures(tmp_path, 1)
    process = multiprocessing.get_context("spawn").Process(target=work_through, args=(tmp_path, ["b", last]))
    process.start()
    process.join(50)
    assert process.exitcode == code
    assert (tmp_path / "found.txt").exists() == (code == 0)


def test_without_ray_the_extra_is_named(monkeypatch):
    def missing(_):
        raise ImportError

    monkeypatch.setattr(on_ray, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"agenticiqa\[ray\]"):
        on_ray.RayEngine(measuring_job(), 1, "cpu")


@pytest.fixture(scope="module")
def ray():
    """A cluster on this machine whose workers find what the tests bring along."""
    ray = pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        ray.init(num_cpus=4, log_to_driver=False, include_dashboard=False)
    yield
    ray.shutdown()


@pytest.mark.hard
@pytest.mark.usefixtures("ray")
def test_an_actor_that_dies_costs_only_the_picture_at_fault(tmp_path, monkeypatch):
    """The pictures beside it and behind it are tried again by themselves."""
    monkeypatch.setattr(on_ray, "RatingActor", FaultyActor)
    names = [f"s{number}" for number in range(40)]
    names[3], names[5], names[20], names[33] = "crash", "once", "stuck", "slow"
    make_pictures(tmp_path, 1)
    manifest = write_jsonl(tmp_path / "m.jsonl", rows(names))
    job = measuring_job(timeout_s=4.0)
    summary = run_batch(manifest, tmp_path / "r.jsonl", job=job, engine=lambda job: on_ray.RayEngine(job, 2, "cpu"))
    assert summary.failed_ids == ["crash", "stuck", "slow"]
    assert summary.errors == {"sample_timeout": 2, "worker_died": 1}
    assert [each["sample_id"] for each in records(tmp_path / "r.jsonl")] == names


@pytest.mark.hard
@pytest.mark.usefixtures("ray")
def test_actors_that_cannot_start_end_the_run(monkeypatch):
    class Unable(on_ray.RatingActor):
        def __init__(self, *_):
            raise ModuleNotFoundError("agenticiqa")

    monkeypatch.setattr(on_ray, "RatingActor", Unable)
    with pytest.raises(WorkerDiedError, match=r"failed for good.*ModuleNotFoundError"):
        on_ray.RayEngine(measuring_job(), 1, "cpu")
