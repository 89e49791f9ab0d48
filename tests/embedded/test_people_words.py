"""Words as people use them: told apart from findings, at the bounds of what was asked, and of parts beside the rest."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from agenticiqa.embedded.answering import words, yes_no
from agenticiqa.embedded.answering.problem import AnswerProblem, SeenEvidence
from agenticiqa.embedded.findings import Seen
from agenticiqa.embedded.looking import Look
from agenticiqa.embedded.properties import properties
from agenticiqa.embedded.question import understand
from agenticiqa.embedded.readings import people
from agenticiqa.embedded.readings.base import PropertyReading
from agenticiqa.pictures.images import Box, load_image
from agenticiqa.vision.network import load_vision
from agenticiqa.vision.scene import Scene

FACE = Box(x=120, y=80, width=80, height=100)


def look_at(path, rgb) -> Look:
    Image.fromarray(rgb).save(path / "drawn.png")
    image = load_image(path / "drawn.png")
    return Look(Scene.of(load_vision(), image.rgb), image)


def textured(mean: float, rng: np.random.Generator, size=(240, 320)) -> np.ndarray:
    return np.clip(mean + rng.normal(0, 6, (*size, 1)) + np.zeros((*size, 3)), 0, 255).astype(np.uint8)


def answered(question: str, whole: Look, part: Look):
    find = lambda name: Seen(whole if name == "Global" else part)  # noqa: E731
    meaning = understand(question).meaning
    return words.answer(AnswerProblem(meaning, SeenEvidence(find)))


@pytest.mark.hard
def test_a_face_that_is_dark_beside_the_rest_is_explained_by_light_from_behind(tmp_path) -> None:
    rng = np.random.default_rng(1)
    rgb = textured(132, rng)
    rgb[FACE.rows, FACE.columns] = textured(62, rng, (FACE.height, FACE.width))
    whole = look_at(tmp_path, rgb)
    found = answered("Why is his face so dark?", whole, whole.part(FACE))
    assert found.text.startswith("Backlit: it is much darker than what surrounds it")
    assert "No visible" not in " ".join(found.sentences)
    assert answered("Is the face too dark?", whole, whole.part(FACE)).text == "Yes"


@pytest.mark.parametrize(("share", "said"), [(0.001, "No"), (0.4, "Yes")])
def test_what_is_blown_out_is_clipped(tmp_path, share, said) -> None:
    rng = np.random.default_rng(2)
    rgb = textured(222, rng)
    rgb[rng.random(rgb.shape[:2]) < share] = 255
    whole = look_at(tmp_path, rgb)
    found = answered("Is the snow blown out?", whole, whole.part(Box(x=0, y=0, width=320, height=160)))
    assert found.text == said
    assert ("not blown out" in found.sentences[0]) == (said == "No")


def made_up(told: PropertyReading, question: str):
    class Told(SeenEvidence):
        def told(self, name, part="Global"):
            return told

        def located(self, part):
            return True

        def is_guess(self, part):
            return False

        def is_assumed(self, part):
            return False

    return AnswerProblem(understand(question).meaning, Told(lambda _: None))  # type: ignore[arg-type, return-value]


def test_a_soft_picture_in_which_nothing_is_broken_is_called_so() -> None:
    told = PropertyReading(
        "A little soft, though nothing is broken.",
        (0.0, 0.1, 0.2, 0.3, 0.4),
        numbers={"chance_of_damage": 0.4},
        claimed={-1: 0.6, 1: 0.4},
        mild="a little soft",
    )
    found = yes_no.answer(made_up(told, "Is the picture blurry?"))
    assert found.text == "Yes"
    assert found.sentences == ("The picture is a little soft, though nothing is broken.",)


def test_a_bit_is_said_earlier_than_the_plain_word_and_the_middle_is_said_to_be_between() -> None:
    told = PropertyReading(
        "Moderate colours.",
        (0.0, 0.4, 0.6, 0.0, 0.0),
        claimed={-1: 0.4, 1: 0.0},
        slightly={-1: 0.6, 1: 0.1},
        steps=("None", "Muted", "Moderate", "Strong", "Very strong"),
    )
    assert yes_no.answer(made_up(told, "Is it dull?")).text == "No"
    slight = yes_no.answer(made_up(told, "Is it a bit dull?"))
    assert (slight.text, slight.sentences) == ("Yes", ("The picture is a little dull in colour, no more than that.",))
    between = words.answer(made_up(told, "Is it dull or vivid?"))
    assert between.text == "Between the two, if anything dull"
    assert "%" not in " ".join((*between.sentences, *between.doubts))


def test_every_word_is_weighed_from_numbers_that_are_read(tmp_path) -> None:
    look = look_at(tmp_path, textured(120, np.random.default_rng(3)))
    for name, ends in people.words().items():
        assert name in properties()
        for word in ends.values():
            assert word.weights.keys() <= people.numbers(look, word.weights).keys()
            assert 0 <= word.chance(people.numbers(look, word.weights)) <= 1


def test_a_pale_picture_in_which_nothing_is_broken_is_called_so_and_can_be_mended(tmp_path, monkeypatch) -> None:
    rng = np.random.default_rng(3)
    whole = look_at(tmp_path, textured(128, rng))
    monkeypatch.setattr(Look, "visible", lambda _: [])
    monkeypatch.setattr("agenticiqa.embedded.readings.file.wanting", lambda _: ("contrasty", "colourful"))
    wrong, mended = (answered(question, whole, whole) for question in ("What is wrong with it?", "How do I fix it?"))
    assert wrong.text == "Nothing is broken, though it looks flat and dull in colour"
    assert mended.text == " ".join(properties()[name].fix for name in ("contrasty", "colourful"))


def test_what_people_would_speak_against_is_told_of_photographs_alone(tmp_path) -> None:
    grey = look_at(tmp_path, textured(128, np.random.default_rng(4)))
    assert people.wanting(grey.part(FACE)) == ()
    assert not {"colour_cast", "colourful"} & set(people.wanting(grey))


def test_the_remedy_is_for_the_part_that_is_asked_about(tmp_path) -> None:
    rng = np.random.default_rng(1)
    rgb = textured(132, rng)
    rgb[FACE.rows, FACE.columns] = textured(62, rng, (FACE.height, FACE.width))
    whole = look_at(tmp_path, rgb)
    assert answered("How do I fix the face?", whole, whole.part(FACE)).text == properties()["underexposed"].fix
