"""An adapter's folder: what it must hold, what tells two of them apart, and whose setting it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agenticiqa.errors import BackendUnavailableError, ConfigError
from agenticiqa.models.qwen import QwenVLMClient, adapter_at
from agenticiqa.runtime.config import ProviderSettings, load_settings
from support.builders import make_settings


def adapter_folder(folder: Path, weights: bytes = b"weights", kind: str = "LORA") -> Path:
    folder.mkdir(parents=True)
    (folder / "adapter_config.json").write_text(json.dumps({"peft_type": kind}))
    (folder / "adapter_model.safetensors").write_bytes(weights)
    return folder


def test_results_and_cache_tell_adapters_apart(tmp_path: Path) -> None:
    one, two = (adapter_folder(tmp_path / name / "mine", name.encode()) for name in ("one", "two"))
    clients = [
        QwenVLMClient("qwen2.5-vl-local", "model", ProviderSettings(model="model", adapter=folder and str(folder)))
        for folder in (None, one, two)
    ]
    assert len({client.identity for client in clients}) == 3
    assert clients[0].display_name == "model"
    assert clients[1].display_name == f"model + mine@{adapter_at(one).sha256[:12]}"


def test_what_is_no_adapter_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BackendUnavailableError):
        adapter_at(tmp_path)
    with pytest.raises(BackendUnavailableError, match="no LoRA adapter"):
        adapter_at(adapter_folder(tmp_path / "other", kind="PROMPT_TUNING"))


def test_the_adapter_is_a_setting_of_the_local_model_alone() -> None:
    assert load_settings(environment={"QWEN_ADAPTER": "mine"}).provider("qwen").adapter == "mine"
    assert load_settings(environment={}).provider("qwen").adapter is None
    with pytest.raises(ConfigError, match="adapter"):
        make_settings(providers__openai__adapter="mine")
