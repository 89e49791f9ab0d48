"""Maps as files: numbers, and colours over the picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from agenticiqa.api.measure import Measurer, Pair
from agenticiqa.pictures.images import Box, load_image
from agenticiqa.runtime.config import ImageLimits, ToolSettings
from agenticiqa.tools.maps import MapFolder, badness_of
from agenticiqa.tools.metrics import METRICS, Views
from agenticiqa.tools.registry import default_registry
from support.pictures import distorted, save, scene

WITH_MAP = ["PSNR", "SSIM", "FSIM", "GMSD", "VSI", "MDSI", "HaarPSI", "PSNR-HVS-M", "CIEDE2000"]
WITH_MAP += ["MS-SSIM", "VIF", "VIFp", "NLPD", "AIQA_FR"]


def half_damaged(height: int = 256, width: int = 320) -> tuple[np.ndarray, np.ndarray]:
    """A picture whose right half is noisy, and its reference."""
    clean = scene(height, width)
    test = clean.copy()
    test[:, width // 2 :] = distorted(clean, 40)[:, width // 2 :]
    return test, clean


def local_map(name: str, test: np.ndarray, reference: np.ndarray) -> np.ndarray:
    metric, views = default_registry().find(name).metric, Views(test, reference)
    found = metric.measure(views).map
    return found if found is not None else metric.make_map(views)


@pytest.mark.parametrize("name", WITH_MAP)
def test_every_map_is_worse_where_the_damage_is(name: str) -> None:
    badness = badness_of(local_map(name, *half_damaged()), default_registry().find(name).spec)
    quarter = badness.shape[1] // 4
    assert badness[:, -quarter:].mean() > 0.15
    assert badness[:, :quarter].mean() < 0.02
    assert 0 <= badness.min() <= badness.max() <= 1


@pytest.mark.parametrize("name", WITH_MAP)
def test_identical_pictures_have_a_map_without_any_loss(name: str) -> None:
    clean = scene(256, 320)
    assert badness_of(local_map(name, clean, clean), default_registry().find(name).spec).max() < 0.01


def test_the_error_map_of_psnr_averages_to_its_error() -> None:
    test, clean = half_damaged()
    found = METRICS["PSNR"].measure(test, clean)
    assert found.map is None
    assert local_map("PSNR", test, clean).mean(dtype=np.float64) == pytest.approx(found.details["mse"], rel=1e-5)


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    test, clean = half_damaged()
    return Pair.of(save(tmp_path / "half.png", test), save(tmp_path / "clean.png", clean))


def measurer(folder: Path, *names: str) -> Measurer:
    tools = [default_registry().find(name) for name in names]
    return Measurer(tools, ToolSettings(), ImageLimits(), maps=MapFolder(folder))


def test_maps_are_written_by_picture_and_tool(tmp_path: Path, pair: Pair) -> None:
    folder = tmp_path / "maps"
    records = list(measurer(folder, "PSNR", "SSIM", "NIQE", "GMSD").measure(pair))
    assert all(record.error is None for record in records)
    expected = {f"half_{name}.{kind}" for name in ("PSNR", "SSIM", "GMSD") for kind in ("npy", "png")}
    assert {path.name for path in folder.iterdir()} == expected
    shown = np.asarray(Image.open(folder / "half_SSIM.png")).astype(int)
    assert shown.shape == (256, 320, 3)
    redness = shown[..., 0] - shown[..., 2]
    assert redness[:, 200:].mean() > redness[:, :120].mean() + 20
    assert np.load(folder / "half_SSIM.npy").dtype == np.float32


def test_a_region_has_its_own_map_of_its_own_size(tmp_path: Path, pair: Pair) -> None:
    folder = tmp_path / "maps"
    regions = {"left side": Box(0, 0, 100, 80), "../right": Box(200, 0, 100, 90)}
    list(measurer(folder, "SSIM").measure(pair, regions))
    assert {path.name for path in folder.glob("*.png")} == {"half_SSIM_left-side.png", "half_SSIM_right.png"}
    assert Image.open(folder / "half_SSIM_right.png").size == (100, 90)
    losses = {name: 1 - np.load(folder / f"half_SSIM_{name}.npy").mean() for name in ("left-side", "right")}
    assert losses["left-side"] < 0.001 < losses["right"]


def test_pictures_of_one_stem_do_not_overwrite_each_other(tmp_path: Path) -> None:
    maps = MapFolder(tmp_path / "maps")
    loss = np.ones((8, 8), np.float32)
    paths = [save(tmp_path / name, scene()) for name in ("a.png", "a.bmp", "a.png")]
    names = [maps.write(load_image(path), METRICS["SSIM"].spec, loss, path=path).name for path in paths]
    assert names == ["a_SSIM.png", "a.bmp_SSIM.png", "a_SSIM.png"]


def test_the_map_of_the_fused_metric_averages_to_its_score() -> None:
    test, clean = half_damaged()
    metric = default_registry().find("AIQA_FR").metric
    found = local_map("AIQA_FR", test, clean)
    assert found.shape == clean.shape[:2]
    assert found.mean(dtype=np.float64) == pytest.approx(metric.measure(test, clean).value, rel=1e-5)


@pytest.mark.parametrize("name", ["MS-SSIM", "VIF", "VIFp", "NLPD"])
@pytest.mark.parametrize("size", [(256, 320), (211, 333)])
def test_maps_of_several_scales_point_at_the_place(name: str, size: tuple[int, int]) -> None:
    """Noise in one square: the map's loss lies around that square, at every scale alike."""
    clean = scene(*size)
    test = clean.copy()
    top, left = size[0] // 2, size[1] // 4
    square = np.s_[top : top + 32, left : left + 32]
    test[square] = distorted(clean, 60)[square]
    badness = badness_of(local_map(name, test, clean), METRICS[name].spec)
    assert badness.shape == size
    rows, columns = np.indices(size)
    middle = [float((badness * each).sum() / badness.sum()) for each in (rows, columns)]
    assert middle == pytest.approx([top + 15.5, left + 15.5], abs=4)
