"""How the embedded backend is found and made."""

from __future__ import annotations

from typing import Any

from agenticiqa.errors import BackendError
from agenticiqa.models.client import Images, Provider, Readiness, VLMClient
from agenticiqa.models.mind import Asked
from agenticiqa.models.offline.looking import Looker
from agenticiqa.models.offline.mind import OfflineMind
from agenticiqa.runtime.config import ProviderSettings
from agenticiqa.vision.network import WEIGHTS, Vision, load_vision, weights_version


class OfflineClient(VLMClient):
    """Brings a mind instead of a language model. Safe to use from several threads."""

    cacheable = False

    def __init__(self, backend: str, vision: Vision) -> None:
        self.backend = backend
        self._vision = vision
        self._looker = Looker(vision)

    @property
    def identity(self) -> str:
        return f"{self.backend}@{weights_version()}"

    def mind_for(self, asked: Asked) -> OfflineMind:
        return OfflineMind(asked, self._looker, str(self._vision.about["name"]))

    def generate(self, prompt: str, images: Images = None, **kwargs: Any) -> str:  # noqa: ARG002 - no prompt can be read
        raise BackendError(
            "The embedded backend is no language model: it needs a picture and cannot read a free prompt.",
            hint="Ask it through assess, or use a vision-language model.",
        )


def _create(backend: str, model: str, settings: ProviderSettings) -> OfflineClient:  # noqa: ARG001 - every provider is made alike
    return OfflineClient(backend, load_vision())


def _readiness(settings: ProviderSettings) -> Readiness:  # noqa: ARG001 - every provider is made alike
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
