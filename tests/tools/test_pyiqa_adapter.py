"""The adapter with a tiny stand-in for pyiqa and torch on the path: loading, choices and failures."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agenticiqa.errors import ToolError, ToolUnavailableError
from agenticiqa.runtime.config import PyiqaSettings, ToolSettings
from agenticiqa.tools import pyiqa_adapter
from agenticiqa.tools.catalogue import availability, fetch, load_catalogue, pyiqa_spec
from agenticiqa.tools.metrics import MetricInputError
from agenticiqa.tools.registry import build_registry

TORCH = """
import contextlib, types
import numpy as np

seeds, folders, operators = [], ["default"], []
def from_numpy(array): return array
def manual_seed(seed): seeds.append(seed)
def device(name): return name
@contextlib.contextmanager
def no_grad(): yield
cuda = types.SimpleNamespace(is_available=lambda: False)
hub = types.SimpleNamespace(set_dir=folders.append, get_dir=lambda: folders[-1])
library = types.SimpleNamespace(define=lambda name, schema: operators.append(name))
"""
TORCHVISION = """
import torch
if "torchvision::nms" not in torch.operators:
    raise RuntimeError("operator torchvision::nms does not exist")
"""
PYIQA = """
import time
import torch

FOLDER_AT_IMPORT = torch.hub.get_dir()
created = []
def create_metric(name, device=None):
    print("Loading pretrained model", name)
    time.sleep(0.01)
    created.append((name, device))
    if name == "hyperiqa":
        raise OSError("<urlopen error [Errno 101] Network is unreachable>")
    if name == "maniqa":
        return lambda *pictures: float("nan")
    if name == "tres":
        def broken(*pictures): raise RuntimeError("CUDA out of memory")
        return broken
    return lambda *pictures: sum(float(picture.mean()) for picture in pictures)
"""
PICTURE = np.full((40, 60, 3), 0.25, np.float32)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """pyiqa 9.9.9 in a folder on the path; whatever was imported before comes back afterwards."""
    roots = {"torch", "torchvision", "pyiqa"}

    def forget() -> dict[str, Any]:
        return {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] in roots}

    before = forget()
    folder = tmp_path / "site"
    (folder / "pyiqa-9.9.9.dist-info").mkdir(parents=True)
    (folder / "pyiqa-9.9.9.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: pyiqa\nVersion: 9.9.9\n")
    for name, text in (("torch", TORCH), ("torchvision", TORCHVISION), ("pyiqa", PYIQA)):
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(pyiqa_adapter, "_instances", {})
    monkeypatch.delenv("HF_HOME", raising=False)
    yield folder
    forget()
    sys.modules.update(before)


def adapted(name: str, **settings: Any) -> Any:
    chosen = PyiqaSettings(**settings)
    return pyiqa_adapter.adapted(name, pyiqa_spec(load_catalogue()[name], chosen), chosen)


@pytest.mark.usefixtures("fake")
def test_nothing_is_imported_before_a_tool_runs(capsys: pytest.CaptureFixture[str]):
    metric = adapted("TOPIQ_FR")
    assert metric.spec.version == "pyiqa 9.9.9"
    assert "pyiqa" not in sys.modules
    assert metric.measure(PICTURE, PICTURE).value == pytest.approx(0.5)
    assert "pyiqa" in sys.modules
    assert capsys.readouterr().out == "", "standard output belongs to results"


@pytest.mark.usefixtures("fake")
def test_an_instance_is_made_once_however_many_ask_at_once():
    metric = adapted("MUSIQ", device="cpu")
    start = threading.Barrier(6)

    def ask(_: int) -> float:
        start.wait()
        return float(metric.measure(PICTURE).value)

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(ask, range(6)))) == 1
    assert sys.modules["pyiqa"].created == [("musiq", "cpu")]
    assert sys.modules["torch"].seeds == [0] * 6, "metrics that draw patches must repeat themselves"


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("wanted", "has_gpu", "used"), [("auto", False, "cpu"), ("auto", True, "cuda"), ("cpu", True, "cpu")]
)
def test_device(wanted: str, has_gpu: bool, used: str, monkeypatch: pytest.MonkeyPatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: has_gpu)
    adapted("NIMA", device=wanted).measure(PICTURE)
    assert sys.modules["pyiqa"].created == [("nima", used)]


@pytest.mark.usefixtures("fake")
def test_weights_folder_is_set_before_pyiqa_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import os

    monkeypatch.setattr(os, "environ", dict(os.environ))
    adapted("NIMA", weights_folder=tmp_path / "w").measure(PICTURE)
    assert str(tmp_path / "w") == sys.modules["pyiqa"].FOLDER_AT_IMPORT
    assert os.environ["HF_HOME"].startswith(str(tmp_path / "w"))
    with pytest.raises(ToolUnavailableError):
        adapted("NIMA", weights_folder=tmp_path / "other").measure(PICTURE)


@pytest.mark.usefixtures("fake")
def test_missing_torchvision_operators_are_defined_only_then():
    import torch

    adapted("NIMA").measure(PICTURE)
    assert "torchvision::nms" in torch.operators


@pytest.mark.usefixtures("fake")
def test_weights_that_cannot_be_fetched_are_explained(tmp_path: Path):
    entry = load_catalogue()["HyperIQA"]
    with pytest.raises(ToolUnavailableError, match="Network is unreachable") as caught:
        fetch(entry, folder=tmp_path)
    assert "internet" in caught.value.hint
    assert "tools fetch HyperIQA" in caught.value.hint
    assert availability(entry, folder=tmp_path).state == "needs weights"


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(("name", "words"), [("MANIQA", "no finite number"), ("TReS", "CUDA out of memory")])
def test_failures_while_measuring_are_tool_errors(name: str, words: str):
    with pytest.raises(ToolError, match=words):
        adapted(name).measure(PICTURE)


@pytest.mark.usefixtures("fake")
def test_pixel_limit_takes_effect():
    with pytest.raises(MetricInputError, match="max_megapixels"):
        adapted("NIMA", max_megapixels=0.002).measure(PICTURE)
    assert adapted("NIMA", max_megapixels=0.0024).measure(PICTURE).value == pytest.approx(0.25)


@pytest.mark.usefixtures("fake")
def test_a_fetched_tool_is_ready_until_version_or_folder_change(tmp_path: Path):
    entry = load_catalogue()["QAlign"]
    settings = ToolSettings()
    assert availability(entry, settings, tmp_path).state == "needs weights"
    assert "QAlign" not in build_registry(settings, tmp_path).names()
    assert "Noncommercial" in fetch(entry, settings, folder=tmp_path)
    assert availability(entry, settings, tmp_path).ready
    registry = build_registry(settings, tmp_path)
    assert registry.best_for("Noise", has_reference=False).name == "QAlign"
    assert registry.find("Q-Align").calibration is not None

    elsewhere = ToolSettings(pyiqa=PyiqaSettings(weights_folder=tmp_path / "w"))
    assert "another folder" in availability(entry, elsewhere, tmp_path).reason
    marker = pyiqa_adapter.marker_path(tmp_path, "QAlign")
    marker.write_text(json.dumps({**json.loads(marker.read_text()), "pyiqa": "0.0.1"}))
    assert "another version" in availability(entry, settings, tmp_path).reason
    marker.write_text("not json")
    assert availability(entry, settings, tmp_path).state == "needs weights"


@pytest.mark.usefixtures("fake")
def test_with_a_reference_topiq_comes_first_once_it_runs(tmp_path: Path):
    fetch(load_catalogue()["TOPIQ_FR"], folder=tmp_path)
    registry = build_registry(ToolSettings(), tmp_path)
    assert registry.best_for("Compression", has_reference=True).name == "TOPIQ_FR"
    assert registry.offered(has_reference=True)[0].name == "TOPIQ_FR"
    large = registry.best_for("Compression", has_reference=True, size=(6000, 4000))
    assert large.name != "TOPIQ_FR", "a tool that would refuse the picture is not offered for it"


def test_without_pyiqa_the_extra_and_its_licence_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(pyiqa_adapter, "find_spec", lambda _: None)
    entry = load_catalogue()["LIQE"]
    found = availability(entry, folder=tmp_path)
    assert found.state == "needs extra"
    assert "agenticiqa[pyiqa]" in found.reason
    assert "does not allow commercial use" in found.reason
    with pytest.raises(ToolUnavailableError):
        fetch(entry, folder=tmp_path)
    with pytest.raises(ToolUnavailableError, match="not installed"):
        adapted("LIQE").measure(PICTURE)


@pytest.mark.parametrize("device", ["gpu", "cuda:x", ""])
def test_a_device_nobody_knows_is_refused(device: str):
    with pytest.raises(ValueError, match="device"):
        PyiqaSettings(device=device)
