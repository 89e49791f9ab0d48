"""The engine that feeds a GPU, with the model on the CPU in its place: every picture once, whatever dies."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

from agenticiqa.batch.engines import device
from agenticiqa.batch.rating_run import RatingRequest, run_rating
from agenticiqa.errors import WorkerDiedError
from agenticiqa.vision.network import load_vision
from support.pictures import distorted, save, scene


@pytest.fixture
def shots(tmp_path, monkeypatch):
    monkeypatch.setattr(device, "vision_on", lambda _: load_vision())
    monkeypatch.setattr(device, "BATCH", 4)
    monkeypatch.setattr("agenticiqa.batch.rating_run.chosen_device", lambda _: ("cuda", "a GPU"))
    folder = tmp_path / "shots"
    folder.mkdir()
    for number in range(9):
        save(folder / f"{number}.png", distorted(scene(64 + 32 * (number % 3), 96), number))
    save(folder / "large.jpg", scene(300, 1300))
    (folder / "broken.png").write_bytes(b"no picture")
    return folder


def rated(shots, **more):
    lines = shots.parent / "lines.jsonl"
    summary = run_rating(RatingRequest([str(shots)], lines, overwrite=True, workers=2, **more))
    return summary, {each["sample_id"]: each for each in map(json.loads, lines.read_text().splitlines())}


def test_the_same_scores_as_on_the_cpu(shots, monkeypatch):
    summary, found = rated(shots)
    assert (summary.ok, summary.failed, summary.failed_ids) == (10, 1, ["broken.png"])
    monkeypatch.setattr("agenticiqa.batch.rating_run.chosen_device", lambda _: ("cpu", "as asked"))
    _, alone = rated(shots)
    assert list(found) == list(alone)
    for name, record in alone.items():
        if record["status"] == "ok":
            assert found[name]["rating"]["score"] == pytest.approx(record["rating"]["score"], abs=1e-3)
            assert found[name]["rating"]["sha256"] == record["rating"]["sha256"]


def test_too_little_memory_halves_the_batch(shots, monkeypatch):
    class OutOfMemoryError(RuntimeError):
        pass

    sizes = []
    see = device.Scene.of_all

    def narrow(vision, pictures):
        sizes.append(len(pictures))
        if len(pictures) > 1:
            raise OutOfMemoryError("too much")
        return see(vision, pictures)

    monkeypatch.setattr(device.Scene, "of_all", narrow)
    summary, _ = rated(shots)
    assert summary.ok == 10
    assert max(sizes) > 1


def test_a_failure_of_the_gpu_ends_the_run(shots, monkeypatch):
    def broken(*_):
        raise RuntimeError("the device is gone")

    monkeypatch.setattr(device.Scene, "of_all", broken)
    with pytest.raises(WorkerDiedError, match=r"the device is gone.*--resume"):
        rated(shots)


def test_a_picture_of_no_numbers_fails_alone(shots, monkeypatch):
    rate, turns = device.rating_of, []

    def odd(scene):
        turns.append(1)
        return {**rate(scene), "score": float("nan")} if len(turns) == 1 else rate(scene)

    monkeypatch.setattr(device, "rating_of", odd)
    summary, _ = rated(shots)
    assert (summary.ok, summary.failed) == (9, 2)


def test_shared_memory_that_cannot_be_opened_costs_one_picture(shots, monkeypatch):
    read, turns = device.DeviceEngine._from_shared, []

    def failing(self, worker, message):
        turns.append(1)
        if len(turns) == 1:
            raise OSError(24, "Too many open files")
        return read(self, worker, message)

    monkeypatch.setattr(device.DeviceEngine, "_from_shared", failing)
    summary, _ = rated(shots)
    assert (summary.ok, summary.failed) == (9, 2)


def test_a_killed_worker_costs_nothing(shots):
    killed = []

    def kill_once(_tally):
        if not killed:
            children = [int(each) for each in os.listdir("/proc") if each.isdigit() and _parent(each) == os.getpid()]
            spawned = [each for each in children if b"spawn_main" in _command(each)]
            if spawned:
                killed.append(spawned[0])
                os.kill(spawned[0], signal.SIGKILL)
                time.sleep(0.1)

    summary, found = rated(shots, on_progress=kill_once)
    assert killed
    assert summary.ok == 10
    assert len(found) == 11


def _parent(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        return None


def _command(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""
