"""A backend is chosen once: for all roles of a run together, and for a whole batch before its first sample."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agenticiqa import AgenticIQA
from agenticiqa.batch.preparing import BatchRequest, prepare_job, replaced_backends
from agenticiqa.errors import BackendUnavailableError
from agenticiqa.models import backends
from agenticiqa.models.backends import BackendChoice, choose_backends
from agenticiqa.vlm_client import Provider, Readiness
from support.batches import make_manifest, run_batch
from support.builders import RATE, make_settings
from support.scripted import ScriptedClient


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows whenever the provider ``acme`` is asked whether it is ready."""
    times: list[str] = []

    def readiness(_settings: Any) -> Readiness:
        times.append("acme")
        return Readiness(True, "ready")

    provider = Provider("acme", "counts", lambda full, _model, _settings: ScriptedClient(full), readiness, local=True)
    point = type("Point", (), {"name": "acme", "value": "acme:PROVIDER", "load": lambda _self: provider})()
    monkeypatch.setattr(backends, "plug_ins", lambda _: [point])
    return times


@pytest.mark.usefixtures("isolated")
def test_a_run_chooses_once(pair: Any, asked: list[str]) -> None:
    with AgenticIQA("acme.one", record=False) as assessor:
        assert assessor.assess(pair.test, RATE).status == "ok"
        assert asked == ["acme", "acme"], "once to choose for three roles, once when the client is made"
        assessor.assess(pair.test, RATE)
    assert len(asked) == 2


@pytest.mark.usefixtures("isolated")
def test_a_batch_chooses_once(tmp_path: Path, asked: list[str]) -> None:
    job = prepare_job(BatchRequest(backend="acme.one"))
    assert replaced_backends(job) == []
    assert asked == ["acme"]
    summary = run_batch(make_manifest(tmp_path, 3), tmp_path / "out.jsonl", job=job)
    assert summary.ok == 3
    clients = len(asked) - 1
    assert clients <= 2, "each of two workers made its client, and none chose again"


def test_a_role_without_a_backend_does_not_stop_the_others() -> None:
    settings = make_settings(backend="acme.none", summarizer__backend="embedded")
    chosen = choose_backends(settings)
    assert isinstance(chosen["planner"], BackendUnavailableError)
    assert chosen["summarizer"] == BackendChoice("embedded")
