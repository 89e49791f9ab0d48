"""Without Ray the batch says what to install; tests with it are in tests/ray_actors."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from agenticiqa.batch.engines.ray import ActorBody, RayEngine
from agenticiqa.errors import MissingExtraError
from agenticiqa.runtime.memory import process_budget
from support.batches import measuring_job

pytestmark = pytest.mark.usefixtures("isolated")


def test_missing_ray_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"agenticiqa\[ray\]"):
        RayEngine(measuring_job(), 1)


@pytest.mark.parametrize(("actors", "processors", "share"), [(8, 4, 4), (2, 16, 2), (3, 0.5, 1)])
def test_actors_share_the_memory_of_their_node(monkeypatch, actors, processors, share):
    """Each on its own would take what its whole node may give, as often as there are actors on it."""
    nodes = [{"NodeID": "other", "Resources": {"CPU": 99}}, {"NodeID": "this", "Resources": {"CPU": processors}}]
    here = SimpleNamespace(get_node_id=lambda: "this")
    ray = SimpleNamespace(nodes=lambda: nodes, get_runtime_context=lambda: here)
    monkeypatch.setitem(sys.modules, "ray", ray)
    job = measuring_job()
    whole = process_budget(job.settings.pipeline.memory).total
    body = ActorBody(job, actors)
    assert body._measurer.memory.total == whole // share
    body.close()
