"""How the embedded backend is found and made."""

from __future__ import annotations

from importlib.util import find_spec

from agenticiqa.models.client import Provider, Readiness
from agenticiqa.models.offline.client import EmbeddedClient
from agenticiqa.runtime.config import ProviderSettings
from agenticiqa.vision.network import WEIGHTS, load_vision


def _create(backend: str, model: str, settings: ProviderSettings) -> EmbeddedClient:  # noqa: ARG001 - every provider is made alike
    return EmbeddedClient(backend, load_vision())


def _readiness(settings: ProviderSettings) -> Readiness:  # noqa: ARG001 - every provider is made alike
    if find_spec("onnxruntime") is None:
        return Readiness(ready=False, reason="onnxruntime is missing: pip install onnxruntime")
    if not (WEIGHTS / "model.json").is_file():
        return Readiness(ready=False, reason="its weights are missing: install agenticiqa again")
    return Readiness(ready=True, reason="runs here, without key, GPU or network")


PROVIDER = Provider(
    name="embedded",
    description="A vision model of our own on this machine: no key, no GPU, no network",
    create=_create,
    readiness=_readiness,
    local=True,
)
