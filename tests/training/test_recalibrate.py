"""A user's own opinion scores become a tool's curve."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from training.recalibrate import Scale, fit_calibration, read_manifest, refit, save_calibrations

from agenticiqa.tools.calibration import CalibrationError, check, load_calibrations
from agenticiqa.tools.registry import Tool, default_registry
from support.command_line import CommandLine
from training import recalibrate

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
    assert rows[0] == recalibrate.Opinion(tmp_path / "a.png", 4.0, tmp_path / "r.png")
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
    recalibrate.add_to_file(path, "SSIM", load_calibrations()["SSIM"])
    recalibrate.add_to_file(path, "PSNR", fit.calibration)
    assert set(load_calibrations(path)) == {"PSNR", "SSIM"}


def test_saved_curves_load_unchanged(tmp_path: Path) -> None:
    save_calibrations(load_calibrations(), tmp_path / "all.yaml")
    loaded = load_calibrations(tmp_path / "all.yaml")
    for tool, calibration in load_calibrations().items():
        middle = sum(calibration.value_range) / 2
        assert loaded[tool](middle) == pytest.approx(calibration(middle), abs=1e-6)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_known_curve_is_recovered(sign: int) -> None:
    raw = np.linspace(0, 60, 200)
    opinion = 3 + sign * 1.7 * np.tanh((raw - 28) / 9)
    fitted = fit_calibration(raw, opinion, value_range=(0, 100), higher_is_better=sign > 0)
    assert np.abs(fitted.curve(raw) - opinion).max() < 0.02


@pytest.mark.hard
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), higher=st.booleans())
def test_every_fit_is_monotone(seed: int, higher: bool) -> None:
    rng = np.random.default_rng(seed)
    raw = rng.gamma(2.0, 10.0, 60)
    rank = raw.argsort().argsort() / 59
    opinion = np.clip(1 + 4 * (rank if higher else 1 - rank) + rng.normal(0, 0.4, 60), 1, 5)
    fitted = fit_calibration(raw, opinion, value_range=(0, 200), higher_is_better=higher)
    assert check(fitted) is None


@pytest.mark.parametrize(
    ("raw", "opinion"),
    [
        (range(20), range(19)),
        ([1.0] * 20, [3.0] * 20),
        ([1.0, 2.0], [1.0, 5.0]),
        (range(20), [float("nan")] * 20),
        (range(20), range(20)),
        (range(20), [3.0] * 20),
    ],
    ids=["lengths", "constant", "few", "nan", "scale", "no spread"],
)
def test_data_that_cannot_be_fitted_is_a_typed_error(raw: list[float], opinion: list[float]) -> None:
    with pytest.raises(CalibrationError):
        fit_calibration(list(raw), list(opinion), value_range=(0, 20), higher_is_better=True)


@pytest.mark.hard
def test_calibrate_writes_a_file_that_the_setting_uses(command_line: CommandLine, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    reference = rng.integers(40, 215, (48, 64, 3), np.uint8)
    Image.fromarray(reference).save(tmp_path / "r.png")
    with (tmp_path / "m.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["image", "score", "reference"])
        for index in range(24):
            strength = 1.5 * 1.18**index
            noisy = np.clip(reference + rng.normal(0, strength, reference.shape), 0, 255).astype(np.uint8)
            Image.fromarray(noisy).save(tmp_path / f"{index}.png")
            writer.writerow([f"{index}.png", 4 * index, "r.png"])
        writer.writerow(["gone.png", 4, "r.png"])
    data, output = (str(tmp_path / name) for name in ("m.csv", "c.yaml"))
    arguments = ["--data", data, "--tool", "psnr", "--scale", "0,100", "-o", output]
    run = replace(command_line, module="training.recalibrate")
    done = run(*arguments, "--lower-is-better", "--json")
    found = json.loads(done.out)
    assert done.code == 0
    assert found["pictures"] == 24
    assert found["left_out"] == 1
    assert found["after"]["rmse"] < found["before"]["rmse"]
    command_line.environment["AGENTICIQA_PIPELINE__TOOLS__CALIBRATIONS"] = output
    shown = json.loads(command_line("tools", "show", "PSNR", "--json").out)
    assert shown["calibration"]["coefficients"] == pytest.approx(found["coefficients"])
    assert "before" in run(*arguments, "--lower-is-better").out
    assert run(*arguments).code == 1, "scores that run against the metric"
    assert run(*arguments[:-4], "--scale", "5,1").code == 2
    assert run(*arguments[:-1], data).code == 1, "the scores themselves"
