"""The interface of every vision-language model, under the name that the design documents give it.

What it is made of lives in :mod:`agenticiqa.models`; the clients of providers are loaded when they are asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agenticiqa.models.client import (
    BackendChoice,
    Images,
    LabelledImage,
    ModelReply,
    ModelRequest,
    Provider,
    Readiness,
    RichVLMClient,
    TokenUsage,
    VLMClient,
    choose_backend,
    create_vlm_client,
)

if TYPE_CHECKING:
    from agenticiqa.models.anthropic import AnthropicVLMClient
    from agenticiqa.models.openai import OpenAIVLMClient

__all__ = [
    "AnthropicVLMClient",
    "BackendChoice",
    "Images",
    "LabelledImage",
    "ModelReply",
    "ModelRequest",
    "OpenAIVLMClient",
    "Provider",
    "Readiness",
    "RichVLMClient",
    "TokenUsage",
    "VLMClient",
    "choose_backend",
    "create_vlm_client",
]

_CLIENTS = {"AnthropicVLMClient": "agenticiqa.models.anthropic", "OpenAIVLMClient": "agenticiqa.models.openai"}


def __getattr__(name: str) -> Any:
    if name not in _CLIENTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_CLIENTS[name]), name)
