"""Ray actors do the same as local workers: `make ray`, because Ray is heavy."""

from __future__ import annotations

import pytest
import ray

from agenticiqa.batch.engines.ray import RayEngine
from support.batches import make_manifest, run_batch, settled

pytestmark = pytest.mark.usefixtures("isolated")


def test_actors_give_the_same_results_also_when_one_is_killed(tmp_path):
    manifest = make_manifest(tmp_path / "set", 30)
    run_batch(manifest, tmp_path / "local.jsonl")
    engines: list[RayEngine] = []

    def make_engine(job):
        engines.append(RayEngine(job, 2))
        return engines[0]

    def kill_one(tally):
        if tally.worked == 0 or killed:
            return
        killed.append(True)
        ray.kill(engines[0]._actors[0].handle)

    killed: list[bool] = []
    summary = run_batch(manifest, tmp_path / "ray.jsonl", engine=make_engine, on_progress=kill_one)
    assert killed
    assert (summary.ok, summary.failed) == (30, 0)
    assert settled(tmp_path / "ray.jsonl") == settled(tmp_path / "local.jsonl")
