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
from support.devices import (
    serve_on_a_broken_gpu,
    serve_on_the_cpu,
    serve_slowly_on_a_large_picture,
    serve_until_a_large_picture,
    serve_with_little_memory,
    serve_with_odd_numbers,
    serve_without_memory,
)
from support.pictures import distorted, save, scene


@pytest.fixture
def shots(tmp_path, monkeypatch):
    monkeypatch.setattr(device, "gpu_memory", lambda: 1 << 40)
    monkeypatch.setattr(device.DeviceEngine, "target", staticmethod(serve_on_the_cpu))
    monkeypatch.setattr(device.DeviceEngine, "at_once", 4)
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


@pytest.mark.hard
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


@pytest.mark.hard
@pytest.mark.parametrize("serve", [serve_with_little_memory, serve_without_memory])
def test_too_little_memory_halves_the_batch(shots, monkeypatch, serve):
    monkeypatch.setattr(device.DeviceEngine, "target", staticmethod(serve))
    summary, _ = rated(shots)
    # The second refuses even single pictures: they fail, and nothing else does.
    assert (summary.ok, summary.failed) == ((10, 1) if serve is serve_with_little_memory else (0, 11))


@pytest.mark.hard
def test_a_failure_of_the_gpu_ends_the_run(shots, monkeypatch):
    monkeypatch.setattr(device.DeviceEngine, "target", staticmethod(serve_on_a_broken_gpu))
    with pytest.raises(WorkerDiedError, match=r"the device is gone.*--resume"):
        rated(shots)


@pytest.mark.hard
def test_a_picture_of_no_numbers_fails_alone(shots, monkeypatch):
    monkeypatch.setattr(device.DeviceEngine, "target", staticmethod(serve_with_odd_numbers))
    summary, found = rated(shots)
    assert (summary.ok, summary.failed) == (9, 2)
    assert found["large.jpg"]["status"] == "error"


@pytest.mark.hard
def test_only_the_picture_that_kills_its_worker_fails(shots, monkeypatch):
    """Whatever was given to the worker together with it is tried again alone."""
    monkeypatch.setattr(device.DeviceEngine, "target", staticmethod(serve_until_a_large_picture))
    summary, found = rated(shots)
    assert (summary.ok, summary.failed) == (9, 2)
    assert "died twice" in found["large.jpg"]["error"]


@pytest.mark.hard
def test_only_the_picture_that_takes_too_long_fails(shots, monkeypatch):
    monkeypatch.setattr(device.DeviceEngine, "target", staticmethod(serve_slowly_on_a_large_picture))
    summary, found = rated(shots, timeout_s=2.0)
    assert (summary.ok, summary.failed) == (9, 2)
    assert "longer than 2 s" in found["large.jpg"]["error"]


@pytest.mark.hard
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
