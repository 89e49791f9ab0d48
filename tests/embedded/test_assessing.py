"""The embedded backend through the whole pipeline: no key, no network, real weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from training.distortions import distort

from agenticiqa import AgenticIQA
from agenticiqa.errors import BackendError
from agenticiqa.models.backends import create_vlm_client
from agenticiqa.pictures.images import load_image
from agenticiqa.vision.network import load_vision
from agenticiqa.vision.scene import Scene
from agenticiqa.vlm_client import ModelRequest
from support.scripted import ScriptedClient

pytestmark = pytest.mark.usefixtures("isolated")

PICTURES = Path(__file__).resolve().parents[2] / "examples" / "pictures"
ORIGINAL = PICTURES / "dandelion.jpg"


@pytest.fixture(scope="module")
def pixels() -> np.ndarray:
    with Image.open(ORIGINAL) as picture:
        return np.asarray(picture.convert("RGB").crop((100, 0, 612, 384)))


@pytest.fixture
def assessor():
    with AgenticIQA() as made:
        yield made


def saved(folder: Path, pixels: np.ndarray, name: str = "picture.png") -> Path:
    Image.fromarray(pixels).save(folder / name, compress_level=1)
    return folder / name


def test_without_a_key_the_embedded_backend_answers(assessor):
    """The run says which backend it uses."""
    result = assessor.assess(ORIGINAL)
    assert result.status == "ok"
    assert set(result.metadata["backend"].values()) == {"embedded"}
    assert result.score is not None
    assert result.score > 3.8
    fusion = result.summarizer_result.used_evidence["fusion"]
    assert fusion["p_source"] == "log-probabilities"
    assert sum(fusion["p"].values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("kind", "category"),
    [
        ("gaussian_blur", "Blurs"),
        ("motion_blur", "Blurs"),
        ("white_noise", "Noise"),
        ("jpeg", "Compression"),
        ("high_sharpen", "Sharpness"),
        ("color_diffusion", "Color distortions"),
    ],
)
def test_damage_is_found_lowers_the_score_and_is_explained_by_numbers(assessor, tmp_path, pixels, kind, category):
    clean = assessor.assess(saved(tmp_path, pixels, "clean.png"))
    damaged = assessor.assess(saved(tmp_path, distort(pixels, kind, 5), "damaged.png"))
    assert damaged.score < clean.score - 0.7
    assert damaged.executor_evidence.distortion_set["Global"][0] == category
    entry = damaged.executor_evidence.distortion_analysis["Global"][0]
    assert entry.severity in ("moderate", "severe", "extreme")
    assert any(character.isdigit() for character in entry.explanation)


def test_yes_no_options_and_degree(assessor, tmp_path, pixels):
    noisy = saved(tmp_path, distort(pixels, "white_noise", 5), "noisy.png")
    assert assessor.assess(noisy, "Is the picture noisy?").answer == "Yes"
    assert assessor.assess(noisy, "Is the picture free of noise?").answer == "No"
    asked = assessor.assess(noisy, "Which distortion dominates? A. Blur B. Noise C. Overexposure")
    assert asked.answer == "B"
    assert asked.summarizer_result.used_evidence["option_probabilities"]["B"] > 0.5
    assert assessor.assess(noisy, "How noisy is it? A. Not at all B. Very").answer == "B"
    assert assessor.assess(noisy, "How noisy is the picture?").answer in ("Very noisy", "Extremely noisy")


def test_what_cannot_be_judged_is_said_and_the_status_is_partial(assessor):
    result = assessor.assess(ORIGINAL, "Who is the person in the picture?")
    assert result.status == "partial"
    assert result.answer == "Unable to determine"
    assert "vision-language model" in result.reasoning


def test_of_options_one_is_always_answered_with_its_doubt(assessor):
    result = assessor.assess(ORIGINAL, "Is the composition pleasing? A. Yes B. No")
    assert result.status == "partial"
    assert result.answer in ("A", "B")
    assert result.summarizer_result.doubt


def test_an_object_without_a_known_place_is_labelled(assessor):
    result = assessor.assess(ORIGINAL, "Is the vehicle blurry?")
    assert "could not find" in result.reasoning
    explanation = result.executor_evidence.distortion_analysis["vehicle"][0].explanation
    assert "whole picture" in explanation


def test_a_region_is_judged_by_its_own_pixels(assessor, tmp_path, pixels):
    half = pixels.copy()
    half[:, 256:] = distort(np.ascontiguousarray(pixels[:, 256:]), "gaussian_blur", 5)
    picture = saved(tmp_path, half)
    boxes = {"flower": [0, 0, 224, 384], "meadow": [288, 0, 224, 384]}
    sharp = assessor.assess(picture, "Is the flower blurry?", regions=boxes)
    soft = assessor.assess(picture, "Is the meadow blurry?", regions=boxes)
    assert sharp.answer == "No"
    assert soft.answer == "Yes"


def test_one_role_only(tmp_path, pixels):
    """Plan with the embedded backend, summarize with another."""
    with AgenticIQA(clients={"summarizer": ScriptedClient()}) as mixed:
        result = mixed.assess(saved(tmp_path, pixels))
    assert result.metadata["backend"]["planner"] == "embedded"
    assert result.metadata["backend"]["summarizer"] != "embedded"


def test_as_fallback_of_a_dead_model(tmp_path, pixels):
    overrides = {
        "backend": "compatible.dead",
        "providers.compatible.base_url": "http://127.0.0.1:9/v1",
        "providers.compatible.max_retries": 0,
        **{f"{role}.fallback_backend": "embedded" for role in ("planner", "executor", "summarizer")},
    }
    with AgenticIQA(overrides=overrides) as made:
        result = made.assess(saved(tmp_path, pixels))
    assert result.status == "ok"
    assert set(result.metadata["backend"].values()) == {"embedded"}


def test_same_pixels_same_score_whatever_the_file_format(tmp_path, pixels):
    scene = Scene.of(load_vision(), pixels)
    saved(tmp_path, pixels, "a.png")
    Image.fromarray(pixels).save(tmp_path / "a.webp", lossless=True)
    for name in ("a.png", "a.webp"):
        assert Scene.of(load_vision(), load_image(tmp_path / name).rgb).read().score == scene.read().score


def test_map_agrees_with_the_picture(pixels):
    scene = Scene.of(load_vision(), pixels)
    assert scene.score_map().shape == (12, 16)
    assert abs(float(scene.score_map().mean()) - scene.read().score) < 0.5
    assert sum(scene.read().level_probabilities.values()) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("shape", [(1, 1), (7, 300), (33, 31)])
def test_tiny_and_thin_pictures_give_a_score(shape):
    reading = Scene.of(load_vision(), np.full((*shape, 3), 120, np.uint8)).read()
    assert 1 <= reading.score <= 5


def test_a_free_prompt_is_refused():
    client = create_vlm_client("embedded")
    with pytest.raises(BackendError, match="no language model"):
        client.complete(ModelRequest(user="hello", images=()))


def test_a_picture_too_small_to_judge_gets_an_error_not_a_score(assessor, tmp_path):
    result = assessor.assess(saved(tmp_path, np.full((1, 1, 3), 9, np.uint8)))
    assert result.status == "error"
    assert "1×1" in (result.error or "")


def test_a_comparison_is_not_answered_with_something_else(assessor):
    result = assessor.assess(ORIGINAL, "Which is sharper, the bridge or the tower?")
    assert result.status == "partial"
    assert result.answer == "Unable to determine"
