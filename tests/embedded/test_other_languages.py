"""Questions in other languages: recognised, named, and basic ones read through the same vocabulary."""

from __future__ import annotations

import pytest

from agenticiqa.embedded.language.question import language_of, understand
from agenticiqa.embedded.language.words import vocabulary


@pytest.mark.parametrize(
    ("query", "language", "prop", "polarity", "form"),
    [
        ("Ist das Bild unscharf?", "German", "sharp", -1, "yes_no"),
        ("Ist das Foto zu dunkel?", "German", "underexposed", 1, "yes_no"),
        ("Bewerte die Qualität des Bildes.", "German", "quality", 1, "rating"),
        ("Ist das Bild nicht scharf?", "German", "sharp", -1, "yes_no"),
        ("La photo est-elle floue ?", "French", "sharp", -1, "yes_no"),
        ("Cette image est-elle trop sombre ?", "French", "underexposed", 1, "yes_no"),
        ("Évaluez la qualité de l'image.", "French", "quality", 1, "rating"),
        ("¿Está borrosa la foto?", "Spanish", "sharp", -1, "yes_no"),
        ("¿La imagen es demasiado oscura?", "Spanish", "underexposed", 1, "yes_no"),
        ("¿Hay ruido en la imagen?", "Spanish", "noisy", 1, "yes_no"),
        ("Califica la calidad de la imagen.", "Spanish", "quality", 1, "rating"),
        ("这张照片模糊吗？", "Chinese", "sharp", -1, "yes_no"),
        ("这张图片太暗了吗？", "Chinese", "underexposed", 1, "yes_no"),
        ("请给这张照片打分", "Chinese", "quality", 1, "rating"),
    ],
)
def test_basic_questions(query: str, language: str, prop: str, polarity: int, form: str) -> None:
    question = understand(query)
    meaning = question.meaning
    assert question.language == language
    assert (meaning.property, meaning.polarity, meaning.form) == (prop, polarity, form)
    assert meaning.text == query
    assert not question.english


def test_options_and_parts() -> None:
    question = understand("Wie scharf ist der Himmel?", ["Sehr", "Ein wenig", "Gar nicht"])
    very, little, none = (option.amount or 0.0 for option in question.meaning.options)
    assert very > little > none
    assert [option.text for option in question.options] == ["Sehr", "Ein wenig", "Gar nicht"]
    assert [part.name for part in question.meaning.parts] == ["sky"]


@pytest.mark.parametrize(
    ("query", "language"),
    [
        ("写真はぼけていますか", "Japanese"),
        ("Сделай оценку", "Russian"),
        ("La foto è sfocata?", "Italian"),
        ("A foto está desfocada?", "Portuguese"),
    ],
)
def test_a_language_that_cannot_be_read_is_named_and_asks_for_a_rating(query: str, language: str) -> None:
    question = understand(query)
    assert (question.language, question.form, question.scope, question.meaning.property) == (
        language,
        "rating",
        (),
        None,
    )


@pytest.mark.parametrize(
    "query", ["Is the café terrace sharp?", "Is it?", "Rate it", "Rate the die in the picture", "?"]
)
def test_english_stays_english(query: str) -> None:
    assert language_of(query) is None


def test_every_word_of_another_language_means_something_in_english() -> None:
    codes = {entry["code"] for entry in vocabulary("languages").values() if "code" in entry}
    for name, entry in vocabulary("properties").items():
        for code, words in entry.get("elsewhere", {}).items():
            assert code in codes, name
            assert set(words) <= set(entry) & {"names", "words", "opposites"}, name
