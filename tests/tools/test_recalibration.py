"""A user's own opinion scores become a tool's curve."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from agenticiqa.tools import recalibration
from agenticiqa.tools.calibration import CalibrationError, load_calibrations
from agenticiqa.tools.recalibration import Scale, read_manifest, refit
from agenticiqa.tools.registry import Tool, default_registry

PSNR = default_registry().find("PSNR")
RAW = np.random.default_rng(4).uniform(15, 45, 80)
OPINION = np.clip(3 + 1.9 * np.tanh((RAW - 33) / 5) + np.random.default_rng(5).normal(0, 0.1, 80), 1, 5)
SCENES = [f"scene{index // 4}" for index in range(80)]


def manifest(folder: Path, text: str) -> Path:
    path = folder / "manifest.csv"
    path.write_text(text, encoding="utf-8-sig")
    return path


def test_the_new_curve_follows_the_opinions_better():
    fit = refit(PSNR, RAW, OPINION, SCENES, "test")
    assert fit.before.rmse is not None
    assert fit.after.rmse is not None
    assert fit.unseen is not None
    assert fit.after.rmse < 0.15 < fit.before.rmse
    assert fit.after.rmse <= (fit.unseen.rmse or 0) < 0.2
    assert fit.calibration(33) == pytest.approx(3, abs=0.1)


def test_a_tool_without_curve_is_compared_by_its_raw_values():
    ciede = Tool(default_registry().find("CIEDE2000").metric)
    fit = refit(ciede, 50 - RAW, OPINION, SCENES, "test")
    assert fit.before.rmse is None
    assert (fit.before.srcc or 0) > 0.9
    assert (fit.after.plcc or 0) > (fit.before.plcc or 1)


def test_few_scenes_give_no_figure_for_unseen_pictures():
    assert refit(PSNR, RAW, OPINION, ["same"] * 80, "test").unseen is None


def test_a_probe_without_better_end_is_refused():
    with pytest.raises(CalibrationError):
        refit(default_registry().find("brightness"), RAW, OPINION, SCENES, "test")


def test_opinions_against_the_metric_are_refused():
    with pytest.raises(CalibrationError):
        refit(PSNR, RAW, OPINION[::-1].copy(), SCENES, "test")


def test_manifest_paths_count_from_its_folder(tmp_path: Path):
    rows = read_manifest(manifest(tmp_path, "image,score,reference\na.png,75,r.png\nb.png,0,\n"), Scale(0, 100))
    assert rows[0] == recalibration.Opinion(tmp_path / "a.png", 4.0, tmp_path / "r.png")
    assert rows[1].score == 1.0
    assert rows[1].reference is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("picture,score\na.png,3\n", "no column image"),
        ("image,score\na.png,three\n", "line 2: the score 'three' is no number"),
        ("image,score\na.png,3\nb.png,75\n", "line 3: the score 75 lies outside 1..5"),
        ("image,score\na.png\n", "line 2"),
        ("image,score\na.png,nan\n", "line 2"),
        ("", "no column image"),
    ],
)
def test_manifests_that_cannot_be_used(tmp_path: Path, text: str, words: str):
    with pytest.raises(CalibrationError, match=words):
        read_manifest(manifest(tmp_path, text))
    with pytest.raises(CalibrationError):
        read_manifest(tmp_path / "nothing.csv")


def test_file_keeps_other_tools(tmp_path: Path):
    fit = refit(PSNR, RAW, OPINION, SCENES, "test")
    path = tmp_path / "new" / "mine.yaml"
    recalibration.add_to_file(path, "SSIM", load_calibrations()["SSIM"])
    recalibration.add_to_file(path, "PSNR", fit.calibration)
    assert set(load_calibrations(path)) == {"PSNR", "SSIM"}
