"""Without Ray the batch says what to install; tests with it are in tests/ray_actors."""

from __future__ import annotations

import sys

import pytest

from agenticiqa.batch.engines.ray import RayEngine
from agenticiqa.errors import MissingExtraError
from support.batches import measuring_job

pytestmark = pytest.mark.usefixtures("isolated")


def test_missing_ray_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"agenticiqa\[ray\]"):
        RayEngine(measuring_job(), 1)
