"""The parts of the Qwen backend that need no torch; the model itself runs in tests/parity/test_tiny_qwen.py."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from agenticiqa.errors import BackendUnavailableError
from agenticiqa.models import qwen
from agenticiqa.runtime.config import ProviderSettings
from agenticiqa.vlm_client import ModelRequest


class FakeTorch:
    """The few names that choosing a device and a dtype looks at."""

    class dtype:
        pass

    def __init__(self, *, cuda: int = 0, mps: bool = False, bf16: bool = True) -> None:
        self.cuda = SimpleNamespace(
            is_available=lambda: cuda > 0, device_count=lambda: cuda, is_bf16_supported=lambda: bf16
        )
        self.backends = SimpleNamespace(mps=SimpleNamespace(is_available=lambda: mps))
        self.float32, self.float16, self.bfloat16 = self.dtype(), self.dtype(), self.dtype()

    def device(self, name: str) -> SimpleNamespace:
        if name.partition(":")[0] not in ("cpu", "cuda", "mps"):
            raise RuntimeError(f"Expected one of cpu, cuda\nbut got {name}")
        return SimpleNamespace(type=name.partition(":")[0])


@pytest.mark.parametrize(
    ("torch", "device", "dtype"),
    [
        (FakeTorch(), "cpu", "float32"),
        (FakeTorch(cuda=1), "cuda", "bfloat16"),
        (FakeTorch(cuda=1, bf16=False), "cuda", "float16"),
        (FakeTorch(mps=True), "mps", "float16"),
    ],
)
def test_device_and_dtype_are_chosen(torch, device, dtype):
    place, kind, spread = qwen._placement(torch, ProviderSettings())
    assert place.type == device
    assert kind is getattr(torch, dtype)
    assert not spread


def test_device_and_dtype_can_be_named():
    torch = FakeTorch(cuda=1)
    place, kind, _ = qwen._placement(torch, ProviderSettings(device="cpu", dtype="bfloat16"))
    assert place.type == "cpu"
    assert kind is torch.bfloat16


@pytest.mark.parametrize(("accelerate", "spread"), [(True, True), (False, False)])
def test_several_gpus_share_a_model_where_accelerate_is_installed(monkeypatch, accelerate, spread):
    monkeypatch.setattr(qwen, "installed", lambda module: accelerate)
    assert qwen._placement(FakeTorch(cuda=2), ProviderSettings())[2] is spread
    assert qwen._placement(FakeTorch(cuda=2), ProviderSettings(device="cuda:1"))[2] is False


@pytest.mark.parametrize("changes", [{"device": "warp"}, {"dtype": "float3"}, {"dtype": "device"}])
def test_unknown_names_are_refused(changes):
    with pytest.raises(BackendUnavailableError, match="There is no d"):
        qwen._placement(FakeTorch(), ProviderSettings(**changes))


def test_zero_temperature_is_greedy():
    assert qwen._sampling(ModelRequest(user="x", temperature=0.0))["do_sample"] is False
    assert qwen._sampling(ModelRequest(user="x", temperature=None))["do_sample"] is False
    warm = qwen._sampling(ModelRequest(user="x", temperature=0.7, top_p=0.9))
    assert (warm["do_sample"], warm["temperature"], warm["top_p"]) == (True, 0.7, 0.9)
    assert warm["repetition_penalty"] == 1.0


@pytest.mark.parametrize(("end", "expected"), [(None, []), (7, [7]), ([7, 8], [7, 8])])
def test_end_tokens(end, expected):
    model = SimpleNamespace(generation_config=SimpleNamespace(eos_token_id=end))
    assert qwen._end_tokens(model) == expected


def test_identity_tells_models_apart():
    one = qwen.QwenVLMClient("qwen2.5-vl-local", "folder/a", ProviderSettings())
    other = qwen.QwenVLMClient("qwen2.5-vl-local", "folder/b", ProviderSettings())
    assert one.identity != other.identity


def test_friendly_names_are_hub_ids():
    made = qwen.PROVIDER.create("qwen.qwen2.5-vl-7b", "qwen2.5-vl-7b", ProviderSettings())
    assert made.model == "Qwen/Qwen2.5-VL-7B-Instruct"
    made.close()
