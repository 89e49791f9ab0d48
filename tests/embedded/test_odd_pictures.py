"""Pictures that are no photographs: the embedded backend says so, with numbers, and does not praise them."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFilter

from agenticiqa import AgenticIQA
from agenticiqa.vision.picture_facts import facts_of

pytestmark = pytest.mark.usefixtures("isolated")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def _drawn() -> dict[str, Image.Image]:
    spec = importlib.util.spec_from_file_location("odd_pictures", EXAMPLES / "odd_pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: draw() for name, draw in module.PICTURES.items()}


@pytest.fixture(scope="module")
def pictures() -> dict[str, Image.Image]:
    return _drawn()


@pytest.fixture
def assessor():
    with AgenticIQA("embedded") as made:
        yield made


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("black-frame", "blank"),
        ("pure-noise", "noise"),
        ("screenshot", "drawn"),
        ("drawing", "drawn"),
        ("scanned-page", "page"),
    ],
)
def test_each_is_told_from_a_photograph(pictures, name, content):
    facts = facts_of(np.asarray(pictures[name]))
    assert facts.content == content
    assert any(character.isdigit() for character in facts.note or "")


@pytest.mark.parametrize("kept", [0.12, 0.25, 0.35])
def test_a_photograph_without_contrast_is_no_page(kept):
    with Image.open(EXAMPLES / "pictures" / "dandelion.jpg") as opened:
        grey = np.asarray(opened.convert("L").convert("RGB"), np.float32)
    pale = np.asarray(150 + kept * (grey - grey.mean()), np.uint8)
    facts = facts_of(pale)
    assert facts.content == "photograph"
    assert facts.note is None


def test_the_documentation_says_what_the_product_says(pictures):
    """But for the figures: they depend on how Pillow draws and resamples on this machine."""

    def without_figures(text: str) -> str:
        return re.sub(r"\d[\d.,]*", "#", text)

    page = without_figures((EXAMPLES.parent / "docs" / "one-picture" / "embedded.md").read_text(encoding="utf-8"))
    for picture in pictures.values():
        note = facts_of(np.asarray(picture)).note or "nothing"
        assert without_figures(f"{note[0].upper()}{note[1:]}.") in page


@pytest.mark.parametrize("name", ["dandelion.jpg"])
def test_a_photograph_passes(name):
    with Image.open(EXAMPLES / "pictures" / name) as picture:
        facts = facts_of(np.asarray(picture.convert("RGB")))
    assert facts.content == "photograph"
    assert facts.note is None


def assessed(assessor, folder: Path, picture: Image.Image, *question: str):
    picture.save(folder / "picture.png")
    return assessor.assess(folder / "picture.png", *question)


@pytest.mark.parametrize("name", ["black-frame", "pure-noise"])
def test_nothing_to_see_is_bad(assessor, tmp_path, pictures, name):
    result = assessed(assessor, tmp_path, pictures[name])
    assert result.answer == "E"
    assert result.score < 1.5


def test_a_blank_picture_answers_no_question(assessor, tmp_path, pictures):
    result = assessed(assessor, tmp_path, pictures["black-frame"], "Is the picture blurry?")
    assert result.answer == "Unable to determine"
    assert result.status == "partial"
    assert "blank" in result.reasoning


@pytest.mark.parametrize("name", ["screenshot", "drawing", "scanned-page"])
def test_no_photograph_is_hedged_and_not_accused(assessor, tmp_path, pictures, name):
    result = assessed(assessor, tmp_path, pictures[name])
    assert "not a photograph" in result.reasoning
    assert "trained on photographs" in result.reasoning
    assert max(result.summarizer_result.used_evidence["fusion"]["p"].values()) < 0.5
    assert result.answer in ("B", "C")
    assert result.executor_evidence.distortion_set == {"Global": []}


def test_a_blurred_screenshot_is_still_found_blurred(assessor, tmp_path, pictures):
    soft = pictures["screenshot"].filter(ImageFilter.GaussianBlur(2))
    assert assessed(assessor, tmp_path, soft, "Is the picture blurry?").answer == "Yes"
