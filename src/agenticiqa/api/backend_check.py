"""Ask a backend one tiny question, to see that key, model, picture and reply all work."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from PIL import Image
from pydantic import BaseModel

from agenticiqa.errors import AgenticIQAError
from agenticiqa.models.client import ModelRequest, VLMClient, create_vlm_client, labelled
from agenticiqa.models.mind import Asked
from agenticiqa.nodes.asking import parse_json_object
from agenticiqa.pictures.images import LoadedImage, decode_image, png_bytes
from agenticiqa.runtime.config import Settings

CHECK_TIMEOUT_S = 60


class _CheckReply(BaseModel):
    final_answer: Literal["A", "B"]
    quality_reasoning: str


@dataclass(frozen=True)
class BackendCheck:
    """How the tiny question went."""

    backend: str
    ok: bool
    message: str
    seconds: float | None = None
    log_probabilities: bool | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def check_backend(backend: str, settings: Settings) -> BackendCheck:
    """One call with a picture, a schema and two options."""
    started = time.perf_counter()
    try:
        client = create_vlm_client(backend, settings)
        try:
            has_logprobs = _ask(client)
        finally:
            client.close()
    except AgenticIQAError as error:
        return BackendCheck(backend, ok=False, message=str(error))
    seconds = time.perf_counter() - started
    message = f"answered in {seconds:.1f} s, token probabilities: {'yes' if has_logprobs else 'no'}"
    return BackendCheck(backend, ok=True, message=message, seconds=seconds, log_probabilities=has_logprobs)


def _ask(client: VLMClient) -> bool:
    """Whether the reply came with token probabilities."""
    question = "Is the image mostly grey?"
    mind = client.mind_for(Asked(question, question, {}, _grey_picture))
    if mind is not None:
        mind.plan()
        return False
    reply = client.complete(_request())
    parse_json_object(reply.text)
    return reply.answer_logprobs is not None


def _request() -> ModelRequest:
    return ModelRequest(
        system='Answer with JSON: {"final_answer": "A" or "B", "quality_reasoning": "<a few words>"}',
        user="Is the image mostly A. grey or B. red?",
        images=labelled(_grey_picture()),
        schema=_CheckReply,
        answer_letters=("A", "B"),
        max_tokens=100,
        timeout_s=CHECK_TIMEOUT_S,
    )


def _grey_picture() -> LoadedImage:
    return decode_image(png_bytes(Image.fromarray(np.full((64, 64, 3), 128, dtype=np.uint8))))
