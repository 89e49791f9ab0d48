"""The adapter with the real pyiqa, offline: metrics without weights run, learned ones say plainly what they lack."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from agenticiqa.errors import ToolUnavailableError
from agenticiqa.runtime.config import PyiqaSettings
from agenticiqa.tools import pyiqa_adapter
from agenticiqa.tools.metrics import METRICS, MetricSpec

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools" / "metrics"))

from pictures import noisy, scene

pytestmark = pytest.mark.parity
pytest.importorskip("torch")
if pyiqa_adapter.installed_version() is None:
    pytest.skip("pyiqa is not installed", allow_module_level=True)

REFERENCE = scene(256, 320, seed=3)
TEST = noisy(REFERENCE, 12)


def spec(name: str, kind: str) -> MetricSpec:
    return MetricSpec(name=name, kind=kind, range=(0.0, 100.0), higher_is_better=True, variant="", paper="", good_at=())


@pytest.mark.parametrize("name", ["GMSD", "MS-SSIM", "FSIM", "VSI"])
def test_value_through_the_adapter_equals_our_own(name: str):
    adapter = pyiqa_adapter.adapted(name.replace("-", "_"), spec(name, "FR"), PyiqaSettings(device="cpu"))
    expected = METRICS[name].measure(TEST, REFERENCE).value
    assert adapter.measure(TEST, REFERENCE).value == pytest.approx(expected, rel=1e-4)


def test_metric_without_reference(capsys: pytest.CaptureFixture[str]):
    adapter = pyiqa_adapter.adapted("piqe", spec("piqe", "NR"), PyiqaSettings())
    assert adapter.measure(TEST).value == pytest.approx(METRICS["PIQE"].measure(TEST).value, rel=1e-3)
    assert capsys.readouterr().out == ""


def test_fetch_leaves_a_marker_that_holds_for_this_version(tmp_path: Path):
    settings = PyiqaSettings(device="cpu")
    assert pyiqa_adapter.missing_weights("gmsd", tmp_path, settings)
    value, _ = pyiqa_adapter.fetch("gmsd", spec("gmsd", "FR"), tmp_path, settings)
    assert value == pytest.approx(0, abs=1e-6)
    assert pyiqa_adapter.missing_weights("gmsd", tmp_path, settings) is None
    note = json.loads(pyiqa_adapter.marker_path(tmp_path, "gmsd").read_text())
    assert note["pyiqa"] == pyiqa_adapter.installed_version()


def test_unreachable_weights_are_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    import urllib.request

    def refuse(*_: object, **__: object) -> None:
        raise OSError("Network is unreachable")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    monkeypatch.setattr("torch.hub.urlopen", refuse)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    adapter = pyiqa_adapter.adapted("hyperiqa", spec("HyperIQA", "NR"), PyiqaSettings(device="cpu"))
    with pytest.raises(ToolUnavailableError) as caught:
        adapter.measure(np.asarray(TEST))
    assert "tools fetch hyperiqa" in caught.value.hint
    assert not pyiqa_adapter.marker_path(tmp_path, "hyperiqa").exists()
