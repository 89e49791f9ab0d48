"""Each probe's quantity moves the right way, and by the right amount where the amount is known."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from agenticiqa.tools.metrics import METRICS, MetricInputError
from agenticiqa.tools.metrics.jpeg_quality import jpeg_quality, jpeg_quality_of_file
from pictures import as_bytes, block_quantised, blurred, motion_blurred, noisy, scene


def value(name: str, picture: np.ndarray) -> float:
    return METRICS[name].measure(picture).value


def details(name: str, picture: np.ndarray) -> dict[str, float]:
    return METRICS[name].measure(picture).details


def test_edge_width_grows_with_blur() -> None:
    picture = scene(256, 320, seed=2)
    widths = [value("sharpness", blurred(picture, sigma)) for sigma in (0.4, 1.0, 2.0, 4.0)]
    assert widths == sorted(widths)
    assert widths[-1] > 3 * widths[0]


@pytest.mark.parametrize("sigma", [1.5, 2.5, 4.0])
def test_edge_width_of_a_blurred_step_is_known(sigma: float) -> None:
    step = np.zeros((96, 128, 3), np.float32)
    step[:, 64:] = 1
    assert value("sharpness", blurred(step, sigma)) == pytest.approx(np.sqrt(2 * np.pi) * sigma, rel=0.05)


@pytest.mark.parametrize("sigma", [2.0, 5.0, 10.0, 20.0])
def test_noise_sigma_is_recovered_on_texture(sigma: float) -> None:
    picture = blurred(scene(384, 512, seed=4) * 0.6 + 0.2, 0.8)
    assert value("noise", noisy(picture, sigma)) == pytest.approx(sigma, rel=0.2, abs=0.5)


def test_noise_of_a_clean_picture_is_small() -> None:
    assert value("noise", blurred(scene(384, 512, seed=4), 0.8)) < 1.5


@pytest.mark.parametrize(("length", "degrees"), [(15, 30), (21, 0), (15, 120), (25, 75)])
def test_motion_blur_direction_and_length(length: int, degrees: float) -> None:
    found = METRICS["motion_blur"].measure(motion_blurred(scene(384, 512, seed=6), length, degrees))
    assert abs((found.details["degrees"] - degrees + 90) % 180 - 90) <= 8
    assert found.value == pytest.approx(length, abs=4)


def test_round_blur_is_not_called_motion() -> None:
    for seed in range(4):
        picture = scene(320, 400, seed=seed)
        assert value("motion_blur", picture) == 0
        assert value("motion_blur", blurred(picture, 2)) == 0


def test_blockiness_grows_with_coarser_blocks() -> None:
    picture = blurred(scene(256, 320, seed=7), 0.7)
    levels = [value("blockiness", picture)] + [
        value("blockiness", block_quantised(picture, step)) for step in (4, 10, 24)
    ]
    assert levels == sorted(levels)
    assert levels[0] < 0.1
    assert levels[-1] > 0.5


def test_block_grid_is_found_in_a_crop() -> None:
    picture = block_quantised(blurred(scene(256, 320, seed=7), 0.7), 20)
    found = details("blockiness", picture[3:, 5:])
    assert (found["grid_x"], found["grid_y"]) == (3, 5)


def test_real_jpeg_files() -> None:
    picture = as_bytes(blurred(scene(256, 320, seed=7), 0.7))
    seen = []
    for quality in (95, 60, 20, 8):
        stream = io.BytesIO()
        Image.fromarray(picture).save(stream, "JPEG", quality=quality)
        assert jpeg_quality_of_file(stream.getvalue()) == quality
        seen.append(value("blockiness", np.asarray(Image.open(stream))))
    assert seen == sorted(seen)
    stream = io.BytesIO()
    Image.fromarray(picture).save(stream, "PNG")
    assert jpeg_quality_of_file(stream.getvalue()) is None
    with pytest.raises(MetricInputError, match="64 values"):
        jpeg_quality({0: [1, 2, 3]})


def test_ringing_rises_when_high_frequencies_are_cut() -> None:
    step = np.full((128, 128), 0.25)
    step[:, 40:90] = 0.75
    spectrum = np.fft.fft2(step)
    far = np.abs(np.fft.fftfreq(128)) > 0.12
    spectrum[far] = 0
    spectrum[:, far] = 0
    rippled = np.clip(np.fft.ifft2(spectrum).real, 0, 1)
    assert value("ringing", step) == 0
    assert value("ringing", rippled) > 2


def test_banding_of_a_coarse_sky() -> None:
    x = np.linspace(0.3, 0.7, 400)
    sky = np.tile(x, (200, 1)) + np.random.default_rng(0).normal(0, 0.5 / 255, (200, 400))
    coarse = np.rint(np.tile(x, (200, 1)) * 32) / 32
    assert value("banding", coarse) > 1
    assert value("banding", sky) < 0.05


def test_clipping_counts_both_ends() -> None:
    picture = scene(200, 200) * 0.6 + 0.2
    picture[:50] = 1
    picture[-20:] = 0
    found = METRICS["clipping"].measure(picture)
    assert found.details["highlights"] == pytest.approx(25)
    assert found.details["shadows"] == pytest.approx(10)
    assert found.value == pytest.approx(35)
    assert found.map is not None
    assert found.map[0, 0] == 1
    assert found.map[-1, 0] == -1


def test_tone_and_colour_probes_move_the_right_way() -> None:
    picture = scene(200, 260, seed=8)
    grey = picture.mean(axis=2, keepdims=True)
    half = np.float32(0.5)
    assert value("brightness", picture * half) == pytest.approx(value("brightness", picture) / 2, rel=1e-4)
    softer = half + (picture - half) * half
    assert value("contrast", softer) == pytest.approx(value("contrast", picture) / 2, rel=1e-3)
    hazy = [value("haze", picture * (1 - veil) + 0.9 * veil) for veil in (0.0, 0.3, 0.6)]
    assert hazy == sorted(hazy)
    assert hazy[-1] > hazy[0] + 0.3
    for name in ("colourfulness", "saturation"):
        values = [value(name, (grey + (picture - grey) * s).clip(0, 1)) for s in (0.0, 0.4, 1.0)]
        assert values == sorted(values)
        assert values[0] == pytest.approx(0, abs=1e-3)
    warm = picture * 0.8 + np.array([0.15, 0.08, 0.0], np.float32)
    assert details("colour_cast", warm)["b"] > details("colour_cast", picture)["b"] + 5
    assert value("colour_cast", grey.repeat(3, axis=2)) < 0.5
