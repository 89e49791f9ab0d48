"""How the embedded backend is found and made."""

from __future__ import annotations

import threading
from functools import lru_cache
from importlib import resources
from importlib.util import find_spec

from agenticiqa.backends.embedded.client import EmbeddedClient
from agenticiqa.backends.embedded.vision import CARD, VisionModel
from agenticiqa.config import ProviderSettings
from agenticiqa.vlm_client import Provider, Readiness

_LOADING = threading.Lock()


@lru_cache(maxsize=1)
def _loaded() -> VisionModel:
    return VisionModel()


def shared_model() -> VisionModel:
    """The model, loaded once a process."""
    with _LOADING:
        return _loaded()


def _create(backend: str, model: str, settings: ProviderSettings) -> EmbeddedClient:  # noqa: ARG001
    return EmbeddedClient(backend, shared_model())


def _readiness(settings: ProviderSettings) -> Readiness:  # noqa: ARG001
    if find_spec("onnxruntime") is None:
        return Readiness(ready=False, reason="onnxruntime is missing: pip install onnxruntime")
    if not resources.files("agenticiqa.backends.embedded").joinpath("weights").joinpath(CARD).is_file():
        return Readiness(ready=False, reason="its weights are missing: install agenticiqa again")
    return Readiness(ready=True, reason="runs here, without key, GPU or network")


PROVIDER = Provider(
    name="embedded",
    description="A vision model of our own on this machine: no key, no GPU, no network",
    create=_create,
    readiness=_readiness,
    local=True,
)
