"""A tiny random Qwen2.5-VL, built here, through transformers' real processor and generation."""

from __future__ import annotations

import importlib
import importlib.util
import math
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np
import pytest
from PIL import Image
from pydantic import BaseModel

from agenticiqa import AgenticIQA
from agenticiqa.errors import BackendTimeoutError, BackendUnavailableError, TruncatedReplyError
from agenticiqa.models.backends import create_vlm_client
from agenticiqa.models.qwen import NEEDED, PROVIDER, QwenVLMClient
from agenticiqa.pictures.images import LoadedImage, load_image
from agenticiqa.runtime.config import ProviderSettings, load_settings
from agenticiqa.state import PlannerOutput, SummarizerOutput
from agenticiqa.vlm_client import LabelledImage, ModelRequest

_missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.parity,
    pytest.mark.skipif(bool(_missing), reason=f"not installed: {', '.join(_missing)} (the extra agenticiqa[qwen])"),
]
enforced = pytest.mark.skipif(importlib.util.find_spec("xgrammar") is None, reason="xgrammar is not installed")

LETTERS = ("A", "B", "C", "D", "E")


class Verdict(BaseModel):
    final_answer: Literal["A", "B", "C", "D", "E"]
    need_replan: bool


@pytest.fixture(scope="session")
def client(tiny_qwen):
    made = QwenVLMClient("qwen2.5-vl-local", str(tiny_qwen), ProviderSettings(model=str(tiny_qwen)))
    yield made
    made.close()


def picture(folder, seed: int) -> LoadedImage:
    pixels = np.random.default_rng(seed).integers(0, 255 if seed else 40, (112, 140, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(folder / f"{seed}.png")
    return load_image(folder / f"{seed}.png")


def ask(*images: LoadedImage, **changes) -> ModelRequest:
    settings = {"schema": Verdict, "answer_letters": LETTERS, "max_tokens": 64, "timeout_s": 60.0, **changes}
    return ModelRequest(
        user="rate the quality of this picture",
        system="You judge pictures.",
        images=tuple(LabelledImage("test image", image) for image in images),
        **settings,
    )


@enforced
def test_schema_is_enforced_and_the_letter_has_probabilities(client, tmp_path):
    reply = client.complete(ask(picture(tmp_path, 1)))
    assert Verdict.model_validate_json(reply.text).final_answer in LETTERS
    assert reply.answer_logprobs is not None
    assert set(reply.answer_logprobs) == set(LETTERS)
    assert all(math.isfinite(value) and value < 0 for value in reply.answer_logprobs.values())
    assert reply.usage.prompt > 20
    assert reply.usage.completion > 5


@enforced
def test_probabilities_are_those_of_the_model(client, tmp_path, monkeypatch):
    """The letter's figure equals one forward pass over the prompt and the tokens before the letter."""
    import torch

    from agenticiqa.models.qwen import _inputs

    written: list[int] = []
    make_reply = client._reply
    monkeypatch.setattr(
        client,
        "_reply",
        lambda request, loaded, ids, *rest: _noted(written, ids, make_reply(request, loaded, ids, *rest)),
    )
    request = ask(picture(tmp_path, 3))
    reply = client.complete(request)
    loaded = client._load()
    place = (
        next(i for i in range(len(written)) if loaded.processor.tokenizer.decode(written[: i + 1]).endswith(': "')) + 1
    )
    inputs = _inputs(loaded, request, [("test image", request.images[0].image.pil)], with_schema=False)
    before = torch.tensor([written[:place]])
    ids = torch.cat([inputs["input_ids"], before], dim=1)
    longer = {**inputs, "input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if "mm_token_type_ids" in inputs:
        longer["mm_token_type_ids"] = torch.cat([inputs["mm_token_type_ids"], torch.zeros_like(before)], dim=1)
    with torch.inference_mode():
        logprobs = torch.log_softmax(loaded.model(**longer).logits[0, -1].float(), dim=-1)
    letter = Verdict.model_validate_json(reply.text).final_answer
    assert reply.answer_logprobs[letter] == pytest.approx(logprobs[written[place]].item(), abs=1e-4)


def _noted(written: list[int], ids: list[int], reply):
    written.extend(ids)
    return reply


@enforced
def test_the_picture_reaches_the_model(client, tmp_path):
    with_picture = client.complete(ask(picture(tmp_path, 1)))
    without = client.complete(ask())
    assert with_picture.usage.prompt > without.usage.prompt


@enforced
def test_same_question_same_answer_also_at_the_same_time(client, tmp_path):
    request = ask(picture(tmp_path, 2))
    with ThreadPoolExecutor(3) as pool:
        replies = list(pool.map(client.complete, [request] * 3))
    assert len({reply.text for reply in replies}) == 1


@enforced
def test_sampling(client, tmp_path):
    reply = client.complete(ask(picture(tmp_path, 1), temperature=0.7, top_p=0.9))
    assert Verdict.model_validate_json(reply.text)


@enforced
@pytest.mark.parametrize("schema", [PlannerOutput, SummarizerOutput])
def test_the_agents_schemas(client, tmp_path, schema):
    reply = client.complete(ask(picture(tmp_path, 1), schema=schema, max_tokens=512))
    assert schema.model_validate_json(reply.text)


@enforced
def test_through_the_public_door(tiny_qwen, tmp_path):
    from agenticiqa.runtime.config import load_settings

    settings = load_settings(environment={"QWEN_MODEL": str(tiny_qwen)})
    made = create_vlm_client("qwen2.5-vl-local", settings)
    assert made.generate("rate it", picture(tmp_path, 1), schema=Verdict, max_tokens=64).startswith("{")


def test_a_reply_without_end_is_truncated(client):
    with pytest.raises(TruncatedReplyError):
        client.complete(ask(schema=None, max_tokens=3))


def test_time_limit(client):
    with pytest.raises(BackendTimeoutError):
        client.complete(ask(schema=None, max_tokens=4000, timeout_s=0.05))


def test_shrinking_is_noted(tiny_qwen, tmp_path):
    settings = ProviderSettings(model=str(tiny_qwen), max_image_side=70)
    made = QwenVLMClient("qwen2.5-vl-local", str(tiny_qwen), settings)
    notes = made.complete(ask(picture(tmp_path, 1))).notes
    assert notes == ("test image: shrunk from 140×112 to 70×56 to fit the provider's limit",)


@pytest.mark.parametrize("changes", [{"device": "warp-drive"}, {"dtype": "float3"}])
def test_unknown_device_or_dtype(tiny_qwen, changes):
    made = QwenVLMClient("qwen2.5-vl-local", str(tiny_qwen), ProviderSettings(model=str(tiny_qwen), **changes))
    with pytest.raises(BackendUnavailableError, match="There is no d"):
        made.complete(ask())


def test_missing_weights_are_explained(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    made = QwenVLMClient("qwen.x", str(tmp_path), ProviderSettings())
    with pytest.raises(BackendUnavailableError, match="weights"):
        made.complete(ask())


def test_ready_when_everything_is_installed(tiny_qwen):
    assert PROVIDER.readiness(ProviderSettings(model=str(tiny_qwen))).ready


@enforced
def test_the_whole_pipeline(tiny_qwen, tmp_path):
    """D2-34: planner, executor and summarizer on a local Qwen2.5-VL, with level probabilities from its logits."""
    picture(tmp_path, 4)
    overrides = {
        "backend": "qwen2.5-vl-local",
        "providers.qwen.model": str(tiny_qwen),
        "planner.max_tokens": 3000,
        "executor.max_tokens": 3000,
        "summarizer.max_tokens": 1500,
        "planner.fallback_backend": "qwen2.5-vl-local",
        "pipeline.runs.database": tmp_path / "runs.sqlite",
        "pipeline.logging.file": tmp_path / "log.jsonl",
        "pipeline.cache.enabled": False,
    }
    with AgenticIQA(settings=load_settings(overrides=overrides, environment={})) as assessor:
        result = assessor.assess(tmp_path / "4.png", "Which dominates? A. Blur B. Noise", max_replan_iterations=0)
    assert result.status in ("ok", "partial"), result.error
    assert result.answer in "AB"
    assert result.metadata["backend"]["planner"] == "qwen2.5-vl-local"
    used = result.summarizer_result.used_evidence
    chances = used.get("option_probabilities") or used["fusion"]["p"]
    assert sum(chances.values()) == pytest.approx(1)
