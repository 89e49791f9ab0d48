"""Wordings that people typed and that were misread or misjudged once."""

from __future__ import annotations

import numpy as np
import pytest

from agenticiqa.api.assessor import AgenticIQA
from agenticiqa.embedded import places
from agenticiqa.embedded.parts import parse_part
from agenticiqa.embedded.properties import properties
from agenticiqa.embedded.question import alternatives, own_claim, understand
from agenticiqa.pictures.images import Box


def test_two_names_of_one_thing_are_a_yes_or_no_question() -> None:
    assert understand("any noise or grain?").meaning.form == "yes_no"
    assert understand("is there any halo or oversharpening around the people").meaning.form == "yes_no"
    assert understand("is there a cast or not?").meaning.form == "either_or"


def test_a_side_that_is_not_read_stands_for_the_other_end() -> None:
    sides = understand("Is this picture generated or real?").meaning.options
    assert [side.amount is not None and side.amount > 0.5 for side in sides] == [False, True]


def test_sides_of_an_or_end_before_what_goes_on() -> None:
    assert alternatives("a problem or normal for this kind of shot") == ("problem", "normal")
    assert alternatives("on purpose or a mistake do you think") == ("purpose", "mistake")
    assert alternatives("are the jeans in focus too or are they blurred", [parse_part("jeans")]) == (
        "in focus",
        "blurred",
    )


@pytest.mark.parametrize(("typed", "noun"), [("the backgroud", "background"), ("the forground", "foreground")])
def test_a_mistyped_place_is_known(typed: str, noun: str) -> None:
    assert parse_part(typed).noun == noun


def test_names_of_damage_are_the_vocabularys() -> None:
    assert own_claim("JPEG compression") == ("compressed", 1)


def test_every_numbered_face_is_located(monkeypatch: pytest.MonkeyPatch) -> None:
    faces = [Box(200, 0, 40, 40), Box(10, 0, 50, 50)]

    class Found:
        def faces(self, rgb: object) -> list[Box]:
            return faces

    class Picture:
        rgb, size = np.zeros((300, 300, 3), np.uint8), (300, 300)

    monkeypatch.setattr(places, "load_locators", Found)
    found = [places.locate(parse_part(f"face {number} of 2"), Picture()).box for number in (1, 2)]  # type: ignore[arg-type]
    assert found == [faces[1], faces[0]]


def test_the_horizon_is_a_matter_of_the_whole_frame() -> None:
    assert properties()["level"].is_of_frame
    assert not properties()["sharp"].is_of_frame


@pytest.fixture(scope="module")
def harsh_orange() -> np.ndarray:
    """Hard light and shade in browns and oranges, with a white lamp that keeps the light itself neutral."""
    rng = np.random.default_rng(3)
    light = np.kron(rng.choice([0.03, 0.15, 0.9], (12, 16)), np.ones((24, 24)))[..., None]
    picture = 255 * light * np.array([1.0, 0.62, 0.3])
    picture[24:72, 48:96] = 255
    return (picture + rng.normal(0, 2, picture.shape)).clip(0, 255).astype(np.uint8)


@pytest.mark.parametrize(
    ("query", "answer"),
    [("why does everything look so orange", "What it shows is mostly warm"), ("how would I fix the contrast", "Lower")],
)
def test_answers_follow_what_the_picture_shows(harsh_orange: np.ndarray, query: str, answer: str) -> None:
    with AgenticIQA(backend="embedded", record=False) as agent:
        assert agent.assess(harsh_orange, query).answer.startswith(answer)
