"""Qwen2.5-VL on this machine through transformers, with a fine-tuned adapter (LoRA, as peft writes it) where named."""

from __future__ import annotations

import hashlib
import io
import json
import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from PIL import Image

from agenticiqa.errors import BackendTimeoutError, BackendUnavailableError
from agenticiqa.models.known_models import known_provider
from agenticiqa.models.replies import ReplyToken, answer_logprobs, reply_schema
from agenticiqa.models.transport import TOP_LOGPROBS, checked_text, encoded_pictures, installed
from agenticiqa.runtime.config import ProviderSettings
from agenticiqa.runtime.stopping import checkpoint
from agenticiqa.vlm_client import ModelReply, ModelRequest, Provider, Readiness, RichVLMClient, TokenUsage

logger = logging.getLogger(__name__)

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"


@dataclass(frozen=True)
class Adapter:
    """Where it is, and what it holds: two adapters of one name are told apart by their weights."""

    folder: Path
    sha256: str

    @property
    def name(self) -> str:
        return f"{self.folder.name}@{self.sha256[:12]}"


def adapter_at(folder: str | Path) -> Adapter:
    """The adapter in a folder; raises where there is none that could be used."""
    path = Path(folder).expanduser()
    try:
        config = json.loads((path / CONFIG).read_text(encoding="utf-8"))
        content = (path / WEIGHTS).read_bytes()
    except (OSError, ValueError) as error:
        raise BackendUnavailableError(
            f"{str(path)!r} holds no adapter: {error}.",
            hint=f"QWEN_ADAPTER names a folder with {CONFIG} and {WEIGHTS}: see docs/evaluating/tuning.md.",
        ) from error
    if not isinstance(config, dict) or config.get("peft_type") != "LORA":
        raise BackendUnavailableError(
            f"The adapter in {str(path)!r} is no LoRA adapter.", hint="See docs/evaluating/tuning.md."
        )
    return Adapter(path.resolve(), hashlib.sha256(content).hexdigest())


def with_adapter(model: Any, adapter: Adapter) -> Any:
    """The model with the adapter merged into its weights: as fast as without."""
    try:
        from peft import PeftModel
    except ImportError as error:
        raise BackendUnavailableError(
            "An adapter needs peft, which is not installed.", hint="pip install 'agenticiqa[qwen]'"
        ) from error
    logger.info("merging the adapter %s", adapter.name)
    try:
        return PeftModel.from_pretrained(model, str(adapter.folder)).merge_and_unload().eval()
    except (KeyError, RuntimeError, TypeError, ValueError) as error:
        raise BackendUnavailableError(
            f"The adapter {adapter.name} does not fit the model: {_first_line(error)}",
            hint="Name the model that it was tuned on in QWEN_MODEL.",
        ) from error


# --- the model ---

NEEDED = ("torch", "torchvision", "transformers")
MISSING_EXTRA = "the extra is missing: pip install 'agenticiqa[qwen]'"


@dataclass(frozen=True)
class _Loaded:
    model: Any
    processor: Any
    device: Any


class QwenVLMClient(RichVLMClient):
    """One model in memory, loaded at the first question and asked one question at a time."""

    def __init__(self, backend: str, model: str, settings: ProviderSettings) -> None:
        if not model:
            raise BackendUnavailableError(
                f"The backend {backend!r} names no model.",
                hint="Set QWEN_MODEL to a model folder or a hub id, or write qwen.ID.",
            )
        self.backend = backend
        self.model = known_provider("qwen").model_id(model)
        self.adapter = adapter_at(settings.adapter) if settings.adapter else None
        self.settings = settings
        known = known_provider("qwen").sees_side
        self.sees_side = min(known, settings.max_image_side or known)
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None
        self._grammars: Any = None

    @property
    def identity(self) -> str:
        limits = f"{self.settings.max_image_side or ''}/{self.settings.max_image_bytes or ''}"
        return "|".join((self.backend, self.display_name, self.settings.dtype, limits))

    @property
    def display_name(self) -> str:
        """The model's name in results: with the adapter, where there is one."""
        return f"{self.model} + {self.adapter.name}" if self.adapter else self.model

    def complete(self, request: ModelRequest) -> ModelReply:
        # Waiting for other questions is not this question's time: the limit starts when the model is free.
        with self._lock:
            return self._answer(request, self._load())

    def close(self) -> None:
        with self._lock:
            self._loaded = self._grammars = None

    def _load(self) -> _Loaded:
        """The model, from the disk or the hub when it is first asked."""
        if self._loaded is not None:
            return self._loaded
        try:
            import torch
            from transformers import AutoModelForImageTextToText, AutoProcessor
        except ImportError as error:
            raise BackendUnavailableError(
                f"{self.backend} cannot be used.", operator_detail=f"{MISSING_EXTRA} ({error})"
            ) from error
        device, dtype, spread = _placement(torch, self.settings)
        logger.info("loading %s on %s as %s", self.model, device, dtype)
        try:
            processor = AutoProcessor.from_pretrained(self.model)
            placed = {"device_map": "auto"} if spread else {}
            model = AutoModelForImageTextToText.from_pretrained(self.model, dtype=dtype, **placed).eval()
            if self.adapter:
                model = with_adapter(model, self.adapter)
            if not spread:
                model = model.to(device)
        except (OSError, ValueError) as error:
            raise BackendUnavailableError(
                f"The weights of {self.model!r} cannot be loaded: {_first_line(error)}",
                hint="Give a folder that holds a Qwen2.5-VL model, or a hub id and a connection to the hub.",
            ) from error
        except torch.OutOfMemoryError as error:
            raise _out_of_memory(self.model) from error
        self._loaded = _Loaded(model, processor, model.device)
        return self._loaded

    def _answer(self, request: ModelRequest, loaded: _Loaded) -> ModelReply:
        import torch

        pictures = [(item.label, item.image.pil) for item in request.images]
        notes: tuple[str, ...] = ()
        if self.settings.max_image_side or self.settings.max_image_bytes:
            encoded, notes = encoded_pictures(self.backend, request, self.settings)
            shrunk = [Image.open(io.BytesIO(each.data)).convert("RGB") if each.note else None for _, each in encoded]
            pictures = [(label, small or whole) for (label, whole), small in zip(pictures, shrunk, strict=True)]
        inputs = _inputs(loaded, request, pictures, with_schema=not installed("xgrammar"))
        recorder = _Recorder() if request.answer_letters else None
        try:
            with torch.inference_mode():
                output = loaded.model.generate(
                    **inputs,
                    **_sampling(request),
                    max_new_tokens=request.max_tokens,
                    max_time=request.timeout_s,
                    logits_processor=[_go_on, *([recorder] if recorder else []), *self._grammar(request, loaded)],
                )
        except torch.OutOfMemoryError as error:
            raise _out_of_memory(self.model) from error
        prompt_length = inputs["input_ids"].shape[1]
        return self._reply(request, loaded, output[0, prompt_length:].tolist(), prompt_length, recorder, notes)

    def _reply(
        self,
        request: ModelRequest,
        loaded: _Loaded,
        ids: list[int],
        prompt_length: int,
        recorder: _Recorder | None,
        notes: tuple[str, ...],
    ) -> ModelReply:
        text = loaded.processor.tokenizer.decode(ids, skip_special_tokens=True)
        complete = bool(ids) and ids[-1] in _end_tokens(loaded.model)
        if not complete and len(ids) < request.max_tokens:
            raise BackendTimeoutError(f"{self.backend} did not finish within {request.timeout_s:.3g} s.")
        text = checked_text(self.backend, text, truncated=not complete, refusal=None)
        tokens = _tokens(ids, recorder, loaded.processor.tokenizer) if recorder else []
        return ModelReply(
            text=text,
            answer_logprobs=answer_logprobs(tokens, request.answer_letters),
            usage=TokenUsage(prompt_length, len(ids)),
            model=self.display_name,
            notes=notes,
        )

    def _grammar(self, request: ModelRequest, loaded: _Loaded) -> list[Any]:
        """What keeps the reply inside the schema, made anew for each reply."""
        if request.schema is None or not installed("xgrammar"):
            return []
        xgrammar = import_module("xgrammar")
        if self._grammars is None:
            size = loaded.model.config.get_text_config().vocab_size
            tokenizer = xgrammar.TokenizerInfo.from_huggingface(loaded.processor.tokenizer, vocab_size=size)
            self._grammars = xgrammar.GrammarCompiler(tokenizer)
        # Free white space would let a weak model write blanks for ever.
        compiled = self._grammars.compile_json_schema(
            reply_schema(request.schema, limits=True).schema, any_whitespace=False
        )
        return [import_module("xgrammar.contrib.hf").LogitsProcessor(compiled)]


def _tokens(ids: list[int], recorder: _Recorder, tokenizer: Any) -> list[ReplyToken]:
    """The reply's tokens with what else might have stood in their places."""
    text_of = cache(lambda token_id: tokenizer.decode([token_id]))
    tokens = []
    for chosen, (top_ids, top_logprobs) in zip(ids, recorder.steps, strict=False):
        likely = dict(zip(top_ids.tolist(), top_logprobs.tolist(), strict=True))
        # A token that the grammar forced may lie below everything recorded.
        logprob = likely.get(chosen, min(likely.values()))
        tokens.append(ReplyToken(text_of(chosen), logprob, tuple((text_of(each), p) for each, p in likely.items())))
    return tokens


def _go_on(_input_ids: Any, scores: Any) -> Any:
    """Between two tokens: unwinds when the run was told to stop."""
    checkpoint()
    return scores


@dataclass
class _Recorder:
    """Notes the likeliest tokens of each step, before grammar and sampling: all scores would take 600 kB a token."""

    steps: list[tuple[Any, Any]] = field(default_factory=list)

    def __call__(self, _input_ids: Any, scores: Any) -> Any:
        logprobs = scores[0].float().log_softmax(dim=-1)
        top = logprobs.topk(min(TOP_LOGPROBS, logprobs.shape[-1]))
        self.steps.append((top.indices.cpu(), top.values.cpu()))
        return scores


def chat_messages(request: ModelRequest, labels: Sequence[str], *, with_schema: bool) -> list[dict[str, Any]]:
    """A request as the messages of a chat template; pictures are placeholders, in the order of their labels."""
    content: list[dict[str, Any]] = []
    for label in labels:
        content += [{"type": "text", "text": f"{label}:"}, {"type": "image"}]
    user = request.user
    if request.schema is not None and with_schema:
        user = f"{user}\n\n{reply_schema(request.schema).instruction}"
    content.append({"type": "text", "text": user})
    system = [{"role": "system", "content": [{"type": "text", "text": request.system}]}] if request.system else []
    return [*system, {"role": "user", "content": content}]


def _inputs(
    loaded: _Loaded, request: ModelRequest, pictures: Sequence[tuple[str, Image.Image]], *, with_schema: bool
) -> Any:
    messages = chat_messages(request, [label for label, _ in pictures], with_schema=with_schema)
    text = loaded.processor.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    images = [picture for _, picture in pictures] or None
    return loaded.processor(text=[text], images=images, return_tensors="pt").to(loaded.device)


def _sampling(request: ModelRequest) -> dict[str, Any]:
    # The model's own defaults punish repetition, and with it every answer letter that the prompt mentions.
    settings: dict[str, Any] = {"repetition_penalty": 1.0, "do_sample": bool(request.temperature)}
    if request.temperature:
        return {**settings, "temperature": request.temperature, "top_p": request.top_p or 1.0, "top_k": 0}
    return {**settings, "temperature": None, "top_p": None, "top_k": None}


def _end_tokens(model: Any) -> list[int]:
    end = model.generation_config.eos_token_id
    return end if isinstance(end, list) else [] if end is None else [end]


def _placement(torch: Any, settings: ProviderSettings) -> tuple[Any, Any, bool]:
    """(device, dtype, whether to spread over several GPUs)."""
    name = settings.device
    if name == "auto":
        mps = torch.backends.mps.is_available()
        name = "cuda" if torch.cuda.is_available() else "mps" if mps else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise BackendUnavailableError(
            f"There is no device {name!r}: {_first_line(error)}", hint="Set device to auto, cpu, cuda or mps."
        ) from error
    spread = settings.device == "auto" and torch.cuda.device_count() > 1 and installed("accelerate")
    if settings.dtype == "auto":
        half = torch.bfloat16 if device.type == "cuda" and torch.cuda.is_bf16_supported() else torch.float16
        # Half precision is slow or missing in CPU kernels.
        return device, torch.float32 if device.type == "cpu" else half, spread
    dtype = getattr(torch, settings.dtype, None)
    if not isinstance(dtype, torch.dtype):
        hint = "Set dtype to auto, float32, float16 or bfloat16."
        raise BackendUnavailableError(f"There is no dtype {settings.dtype!r}.", hint=hint)
    return device, dtype, spread


def _out_of_memory(model: str) -> BackendUnavailableError:
    return BackendUnavailableError(
        f"{model} does not fit into the memory of the device.",
        hint="Use a smaller model, set max_image_side for providers.qwen, or set its device to cpu.",
    )


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]


def _readiness(settings: ProviderSettings) -> Readiness:
    ready = all(installed(module) for module in NEEDED)
    named = "ready" if settings.model else "ready, with a model named as qwen.ID"
    return Readiness(ready, reason=named if ready else MISSING_EXTRA)


PROVIDER = Provider(
    name="qwen",
    description="Qwen2.5-VL on this machine through transformers",
    create=QwenVLMClient,
    readiness=_readiness,
    local=True,
)
