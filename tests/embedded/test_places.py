"""Where things are: what stands out, faces, the frame, and an honest word where nothing can be found."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from training.distortions import distort

from agenticiqa import AgenticIQA
from agenticiqa.embedded import places
from agenticiqa.embedded.parts import parse_part
from agenticiqa.embedded.places import locate
from agenticiqa.errors import BackendUnavailableError
from agenticiqa.pictures.images import Box, load_image
from agenticiqa.vision.locators import LOCATORS, Locators, load_locators
from agenticiqa.vision.named_parts import SoughtPart
from support.drawn import ground, loaded

pytestmark = pytest.mark.usefixtures("isolated")

DANDELION = Path(__file__).resolve().parents[2] / "examples" / "pictures" / "dandelion.jpg"


@pytest.fixture
def disc(tmp_path) -> Path:
    """A textured disc before a plain, slightly graded wall: what stands out is beyond doubt."""
    rows, columns = np.mgrid[:384, :512]
    inside = (rows - 190) ** 2 + (columns - 256) ** 2 < 120**2
    wall = np.stack([90 + columns // 16, 120 + rows // 16, 150 + 0 * rows], axis=2)
    checks = np.where(((rows // 12 + columns // 12) % 2)[..., None] > 0, [230, 60, 30], [250, 210, 40])
    Image.fromarray(np.where(inside[..., None], checks, wall).astype(np.uint8)).save(tmp_path / "disc.png")
    return tmp_path / "disc.png"


def test_subject_and_background_are_boxes_that_hold_nothing_else(disc):
    image = load_image(disc)
    subject, background = (locate(parse_part(name), image) for name in ("the main subject", "the background"))
    assert subject.box is not None
    assert background.box is not None
    centre = subject.box.x + subject.box.width / 2, subject.box.y + subject.box.height / 2
    assert centre == pytest.approx((256, 190), abs=40)
    assert "stands out" in (background.note or "")
    apart = (
        background.box.x + background.box.width <= subject.box.x
        or subject.box.x + subject.box.width <= background.box.x
        or background.box.y + background.box.height <= subject.box.y
        or subject.box.y + subject.box.height <= background.box.y
    )
    assert apart


@pytest.mark.hard
def test_a_noisy_background_is_not_a_noisy_subject(tmp_path):
    with Image.open(DANDELION) as picture:
        rgb = np.asarray(picture.convert("RGB"))
    inside = load_locators().saliency(rgb) >= 0.5
    mixed = np.where(inside[..., None], rgb, distort(rgb, "white_noise", 5))
    Image.fromarray(mixed.astype(np.uint8)).save(tmp_path / "picture.png")
    with AgenticIQA("embedded") as assessor:
        result = assessor.assess(tmp_path / "picture.png", "Is the background noisy?")
        assert result.answer == "Yes"
        assert any("largest box" in line for line in result.summarizer_result.used_evidence["measured"])


def test_no_face_and_no_vehicle_are_said_to_be_missing(disc):
    for name in ("the face", "the vehicle", "the vehicle in the foreground"):
        place = locate(parse_part(name), load_image(disc))
        assert place.box is None
        assert "could not find" in (place.note or "")


def test_a_dog_that_is_not_there_is_said_to_be_absent_also_where_its_fur_is_asked_about(disc):
    for name in ("the dog", "the dog's fur", "the eyes of the dog"):
        place = locate(parse_part(name), load_image(disc))
        assert (place.box, place.absent) == (None, True)
        assert "I see no dog here" in (place.note or "")


@pytest.mark.parametrize("phrase", ["the sky", "the clouds of the sky"])
def test_the_sky_is_found_above_and_what_belongs_to_it_is_judged_in_it(tmp_path, phrase):
    """Drawn: a graded blue sky over a field with grain."""
    rows, columns = np.mgrid[:384, :512]
    sky = np.stack([120 + rows // 4, 160 + rows // 4, 225 + 0 * rows], axis=2)
    grain = np.random.default_rng(3).normal(0, 28, (384, 512, 1)) + np.array([70, 120, 40])
    scene = np.where((rows < 220 + 12 * np.sin(columns / 60))[..., None], sky, grain)
    place = locate(parse_part(phrase), loaded(scene.clip(0, 255).astype(np.uint8)))
    assert place.box is not None, place.note
    assert place.box.y + place.box.height <= 240


@pytest.mark.parametrize(("colour", "found"), [((60, 130, 50), True), ((150, 130, 90), False)])
def test_only_what_is_green_passes_for_trees(monkeypatch, colour, found):
    monkeypatch.setattr(places, "find_part", lambda *_: SoughtPart(Box(0, 0, 100, 100), 0.9))
    place = locate(parse_part("the trees"), loaded(np.full((240, 320, 3), colour, np.uint8)))
    assert (place.note or "").startswith("'trees' was judged inside what looks like it") is found


def test_a_kind_that_the_model_would_see_is_not_taken_for_what_stands_out(monkeypatch, disc):
    monkeypatch.setattr(places, "find_part", lambda *_: SoughtPart())
    for name in ("the dog", "the dog's fur"):
        place = locate(parse_part(name), load_image(disc), alone=True)
        assert (place.box, place.absent) == (None, False)


def test_only_a_single_unknown_thing_is_taken_for_what_stands_out(disc):
    image, vase = load_image(disc), parse_part("the vase")
    guess = locate(vase, image, alone=True)
    assert guess.box is not None
    assert guess.assumed
    assert (guess.box.x + guess.box.width / 2, guess.box.y + guess.box.height / 2) == pytest.approx((256, 190), abs=40)
    assert locate(vase, image).box is None
    for other in ("the wall", "the dog", "the vase on the left"):
        assert locate(parse_part(other), image, alone=True).box is None


def test_a_changed_network_is_refused(tmp_path):
    shutil.copytree(LOCATORS, tmp_path / "locators")
    file = tmp_path / "locators" / "faces.onnx"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(BackendUnavailableError, match="SHA-256"):
        Locators(tmp_path / "locators")


# --- parts by what is said of their look ---


def coloured_scene() -> tuple[np.ndarray, dict[str, tuple[int, int]]]:
    """A red and a blue block, a bright and a dark one on a grey wall, and where their middles are."""
    scene = ground(1, (110, 112, 110))
    blocks = {
        "red": ((200, 25, 30), (30, 30)),
        "blue": ((40, 80, 200), (220, 40)),
        "bright": ((252, 252, 250), (40, 150)),
        "dark": ((12, 12, 14), (200, 160)),
    }
    for colour, (x, y) in blocks.values():
        scene[y : y + 60, x : x + 80] = colour
    return scene, {name: (x + 40, y + 30) for name, (_, (x, y)) in blocks.items()}


@pytest.mark.parametrize(
    ("phrase", "block"),
    [
        ("the red flowers", "red"),
        ("the blue gate", "blue"),
        ("the dark doorway", "dark"),
        ("the bright window", "bright"),
        ("the white poster", "bright"),
        ("the blue area", "blue"),
        ("the sea", None),
        ("the red gate on the right", None),
        ("the green door", None),
    ],
)
def test_a_part_is_found_by_its_look_or_said_to_be_missing(phrase, block):
    scene, middles = coloured_scene()
    place = locate(parse_part(phrase), loaded(scene))
    if block is None:
        assert place.box is None
        assert "whole picture" in (place.note or "")
        return
    assert place.box is not None
    x, y = middles[block]
    assert place.box.x <= x < place.box.x + place.box.width
    assert place.box.y <= y < place.box.y + place.box.height
    assert place.box.width * place.box.height < 0.1 * scene.shape[0] * scene.shape[1]
    assert "taken for" in (place.note or "")


def test_the_dark_corner_is_the_darkest_of_four():
    scene = ground(2, (150, 150, 150))
    scene[-60:, :80] //= 4
    place = locate(parse_part("the dark corner"), loaded(scene))
    assert place.box == Box(0, 180, 80, 60)
    assert "bottom left" in (place.note or "")


@pytest.mark.hard
def test_flowers_of_a_photograph_by_their_colour():
    place = locate(parse_part("the yellow flower"), load_image(DANDELION))
    assert place.box is None or place.box.width * place.box.height < 0.3 * 1024 * 576
    green = locate(parse_part("the green leaves"), load_image(DANDELION))
    assert green.box is not None
    assert green.box.y > 0.4 * 576
    assert "looks like it" in (green.note or "")


def test_a_corner_may_be_placed_behind_its_name():
    place = locate(parse_part("the corner at the top left"), loaded(ground(1)))
    assert place.box == Box(0, 0, 160, 120)
