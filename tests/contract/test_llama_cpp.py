"""Our compatible client against a real llama.cpp server: pictures, an enforced schema, real token probabilities."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from PIL import Image
from pydantic import BaseModel

from agenticiqa.models.compatible import CompatibleVLMClient
from agenticiqa.pictures.images import LoadedImage, load_image
from agenticiqa.runtime.config import ProviderSettings
from agenticiqa.state import PlannerOutput, SummarizerOutput
from agenticiqa.vlm_client import LabelledImage, ModelRequest

pytestmark = pytest.mark.contract

LETTERS = ("A", "B", "C", "D", "E")


class Verdict(BaseModel):
    final_answer: Literal["A", "B", "C", "D", "E"]
    need_replan: bool


@pytest.fixture(scope="module")
def client(llama_server):
    settings = ProviderSettings(base_url=llama_server.base_url)
    made = CompatibleVLMClient(f"compatible.{llama_server.model}", llama_server.model, settings)
    yield made
    made.close()


def picture(folder, seed: int) -> LoadedImage:
    pixels = np.random.default_rng(seed).integers(0, 255 if seed else 40, (96, 128, 3), dtype=np.uint8)
    file = folder / f"{seed}.png"
    Image.fromarray(pixels).save(file)
    return load_image(file)


def ask(*images: LoadedImage, user: str = "rate the quality of this picture") -> ModelRequest:
    return ModelRequest(
        user=user,
        system="You judge pictures.",
        images=tuple(LabelledImage("test image", image) for image in images),
        schema=Verdict,
        answer_letters=LETTERS,
        max_tokens=64,
        timeout_s=60,
    )


def test_schema_is_enforced_and_the_letter_has_probabilities(client, tmp_path):
    reply = client.complete(ask(picture(tmp_path, 0)))
    verdict = Verdict.model_validate_json(reply.text)
    assert reply.answer_logprobs is not None
    assert set(reply.answer_logprobs) == set(LETTERS)
    assert verdict.final_answer in LETTERS
    assert all(math.isfinite(value) and value <= 1e-6 for value in reply.answer_logprobs.values())
    assert sum(math.exp(value) for value in reply.answer_logprobs.values()) <= 1 + 1e-6
    assert reply.notes == ()
    assert reply.usage.prompt
    assert reply.usage.completion


def test_the_picture_reaches_the_model(client, tmp_path):
    with_picture = client.complete(ask(picture(tmp_path, 1)))
    without = client.complete(ask())
    assert with_picture.usage.prompt > without.usage.prompt
    other = client.complete(ask(picture(tmp_path, 0)))
    assert other.answer_logprobs != with_picture.answer_logprobs


def test_same_question_same_answer(client, tmp_path):
    image = picture(tmp_path, 2)
    first, second = client.complete(ask(image)), client.complete(ask(image))
    assert first.text == second.text


def test_calls_at_the_same_time(client, tmp_path):
    requests = [ask(picture(tmp_path, seed)) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(client.complete, requests))
    assert all(Verdict.model_validate_json(reply.text) for reply in replies)


def test_long_prompts_fit(client):
    reply = client.complete(ask(user="rate the quality of this picture: " * 60))
    assert reply.usage.prompt > 500


@pytest.mark.parametrize("schema", [PlannerOutput, SummarizerOutput])
def test_the_agents_schemas(client, tmp_path, schema):
    reply = client.complete(replace(ask(picture(tmp_path, 1)), schema=schema, max_tokens=1024))
    assert schema.model_validate_json(reply.text)
    assert reply.notes == ()


def test_plain_generate(client):
    assert isinstance(client.generate("rate the quality", max_tokens=64, schema=Verdict, timeout_s=60), str)
