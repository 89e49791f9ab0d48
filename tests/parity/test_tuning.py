"""Fine-tuning, on a tiny random Qwen2.5-VL: the loss of pictures it never saw falls, and the adapter takes effect."""

from __future__ import annotations

import importlib.util
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from training.qwen.tuning_data import ConversationBuilder, TuningChoices, build_tuning_data

from agenticiqa import AgenticIQA
from agenticiqa.errors import BackendUnavailableError
from agenticiqa.models.qwen import NEEDED, QwenVLMClient, _inputs
from agenticiqa.nodes.prompts import SHIPPED, PromptBook
from agenticiqa.pictures.images import load_image
from agenticiqa.runtime.config import ProviderSettings, load_settings
from agenticiqa.tools.registry import default_registry
from agenticiqa.vlm_client import LabelledImage, ModelRequest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

_missing = [name for name in (*NEEDED, "peft") if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.parity,
    pytest.mark.skipif(bool(_missing), reason=f"not installed: {', '.join(_missing)} (the extra agenticiqa[qwen])"),
]
PICTURES = 6


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """Runs of the embedded backend on a few pictures, told again: all three agents, two pictures held out."""
    from PIL import Image

    folder = tmp_path_factory.mktemp("tuning")
    settings = load_settings(overrides={"backend": "embedded"}, environment={})
    lines = []
    with AgenticIQA(settings=settings, record=False) as assessor:
        for number in range(PICTURES):
            pixels = np.random.default_rng(number).integers(0, 60 + 39 * number, (56, 84, 3), dtype=np.uint8)
            path = folder / f"{number}.png"
            Image.fromarray(np.kron(pixels, np.ones((2, 2, 1), np.uint8))).save(path)
            result = assessor.assess(path).model_dump(mode="json")
            lines.append({"sample_id": str(number), **result, "status": "ok"})
    (folder / "runs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    builder = ConversationBuilder(settings, default_registry(), PromptBook({}, SHIPPED))
    choices = TuningChoices(unjudged=True, held_out=0.4)
    built = build_tuning_data([folder / "runs.jsonl"], folder / "data", builder, choices)
    assert {"planner plan", "summarizer answer"} <= built.train.keys() & built.held_out.keys()
    return folder / "data"


@pytest.fixture(scope="module")
def tuned(tiny_qwen: Path, data: Path, tmp_path_factory) -> tuple[Path, list[dict[str, float]]]:
    from training.qwen.tune import Recipe, tune

    recipe = Recipe(steps=40, gather=2, learning_rate=5e-3, warm_up=4, rank=8, alpha=32, dropout=0.0, judge_every=20)
    folder = tmp_path_factory.mktemp("adapter") / "agents"
    return folder, tune(data, str(tiny_qwen), folder, recipe, device="cpu")


def settings_with(adapter: Path | None, tiny_qwen: Path) -> ProviderSettings:
    return ProviderSettings(model=str(tiny_qwen), adapter=str(adapter) if adapter else None, device="cpu")


def question(data: Path) -> ModelRequest:
    """A held-out rating, as the summarizer asks it."""
    lines = map(json.loads, (data / "held_out.jsonl").read_text().splitlines())
    line = next(line for line in lines if line["step"] == "answer")
    system, user = (message["content"][-1]["text"] for message in line["messages"][:2])
    images = (LabelledImage("test image", load_image(line["images"][0])),)
    return ModelRequest(
        user=user, system=system, images=images, answer_letters=("A", "B", "C", "D", "E"), max_tokens=8, timeout_s=120
    )


def test_the_loss_of_held_out_pictures_falls(tuned, tiny_qwen: Path) -> None:
    _, history = tuned
    vocabulary = json.loads((tiny_qwen / "config.json").read_text())["text_config"]["vocab_size"]
    losses = [entry["held_out_loss"] for entry in history]
    assert losses[-1] == min(losses)
    # Better than knowing nothing, which costs log(vocabulary): the random model begins far above that.
    assert losses[-1] < math.log(vocabulary) < losses[0]


def test_the_adapter_is_written_with_its_history(tuned, tiny_qwen: Path) -> None:
    folder, history = tuned
    facts = json.loads((folder / "tuning.json").read_text())
    assert (facts["base"], facts["losses"]) == (str(tiny_qwen), history)
    assert sum(file.stat().st_size for file in folder.iterdir()) < 5_000_000


def test_the_adapter_changes_what_the_model_says(tuned, data: Path, tiny_qwen: Path) -> None:
    import torch

    folder, _ = tuned
    request = question(data)
    chances = {}
    for adapter in (None, folder):
        client = QwenVLMClient("qwen2.5-vl-local", str(tiny_qwen), settings_with(adapter, tiny_qwen))
        loaded = client._load()
        inputs = _inputs(loaded, request, [("test image", request.images[0].image.pil)], with_schema=False)
        with torch.inference_mode():
            logits = loaded.model(**inputs).logits[0, -1].double()
        brace = loaded.processor.tokenizer.convert_tokens_to_ids("{")
        chances[client.identity] = torch.softmax(logits, -1)[brace].item()
        client.close()
    plain, tuned_chance = chances.values()
    # Every reply in the data begins with a brace.
    assert tuned_chance > 2 * plain
    assert len(chances) == 2


def test_the_pipeline_runs_with_the_adapter_and_names_it(tuned, data: Path, tiny_qwen: Path, tmp_path: Path) -> None:
    folder, _ = tuned
    overrides = {
        "backend": "qwen2.5-vl-local",
        "providers.qwen.model": str(tiny_qwen),
        "providers.qwen.adapter": str(folder),
        "planner.max_tokens": 1500,
        "executor.max_tokens": 1500,
        "summarizer.max_tokens": 1000,
    }
    settings = load_settings(overrides=overrides, environment={})
    picture = json.loads((data / "held_out.jsonl").read_text().splitlines()[0])["images"][0]
    with AgenticIQA(settings=settings, record=False) as assessor:
        result = assessor.assess(picture, "Which dominates? A. Blur B. Noise", max_replan_iterations=0)
    assert {call["model"] for call in result.metadata["call_log"]} == {
        f"{tiny_qwen} + {QwenVLMClient('q', str(tiny_qwen), settings_with(folder, tiny_qwen)).adapter.name}"
    }
    assert all("agents@" in call["model"] for call in result.metadata["call_log"])
    assert result.status in ("ok", "partial"), result.error


def test_a_folder_without_an_adapter_is_refused(tiny_qwen: Path, tmp_path: Path) -> None:
    with pytest.raises(BackendUnavailableError):
        QwenVLMClient("qwen2.5-vl-local", str(tiny_qwen), settings_with(tmp_path, tiny_qwen))
