"""What questions mean: property, part, form, polarity, and what each option claims."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agenticiqa.embedded.language.meaning import properties as entries
from agenticiqa.embedded.language.meaning.properties import properties
from agenticiqa.embedded.language.meaning.reader import Meaning
from agenticiqa.embedded.language.question import understand
from agenticiqa.embedded.language.words import vocabulary
from agenticiqa.vocabulary import CATEGORIES, distortion_terms

QUESTIONS = Path(__file__).resolve().parents[1] / "data" / "question_meanings.jsonl"

# Words that say the same of a picture, by property and end.
SYNONYMS: dict[tuple[str, int], list[str]] = {
    ("sharp", 1): ["sharp", "crisp", "tack sharp", "razor-sharp"],
    ("sharp", -1): ["blurry", "blurred", "fuzzy", "unsharp", "soft"],
    ("noisy", 1): ["noisy", "grainy", "speckled", "gritty"],
    ("noisy", -1): ["noise-free", "noiseless", "grain-free"],
    ("overexposed", 1): ["overexposed", "too bright", "blown out", "burnt out"],
    ("underexposed", 1): ["underexposed", "too dark", "under-exposed"],
    ("bright", 1): ["bright", "luminous"],
    ("bright", -1): ["dark", "dim", "gloomy"],
    ("compressed", 1): ["compressed", "blocky", "overcompressed"],
    ("hazy", 1): ["hazy", "foggy", "misty"],
    ("colourful", 1): ["colourful", "vivid", "vibrant", "saturated"],
    ("colourful", -1): ["faded", "drab", "desaturated", "muted"],
    ("in_focus", 1): ["in focus", "well focused"],
    ("in_focus", -1): ["out of focus", "defocused", "unfocused"],
    ("symmetric", 1): ["symmetric", "symmetrical"],
    ("symmetric", -1): ["asymmetric", "asymmetrical"],
    ("legible", 1): ["legible", "readable"],
    ("legible", -1): ["illegible", "unreadable"],
}
PLACES = ["sky", "left half", "bridge", "man's face", "red car", "background"]
DEGREES = ["not at all", "slightly", "moderately", "very", "extremely"]

senses = st.sampled_from(sorted(SYNONYMS))
places = st.sampled_from(PLACES)


def meaning(query: str, options: list[str] | None = None) -> Meaning:
    return understand(query, options).meaning


def amounts(read: Meaning) -> dict[str, float | None]:
    return {option.text: option.amount for option in read.options}


def cases() -> list[dict[str, Any]]:
    return [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]


# --- accuracy on questions of many kinds ---


@pytest.mark.hard
def test_properties_and_forms_of_many_questions() -> None:
    read = [(case, meaning(case["query"], case["options"])) for case in cases()]
    assert len(read) >= 200
    named = [(case, found) for case, found in read if case["form"] != "advice"]
    assert sum(case["property"] == found.property for case, found in named) / len(named) >= 0.93
    assert sum(case["form"] == found.form for case, found in read) / len(read) >= 0.95


@pytest.mark.hard
def test_directions_of_their_options() -> None:
    sides = [
        (amounts(meaning(case["query"], case["options"]))[option], amount)
        for case in cases()
        for option, amount in (case["axis"] or {}).items()
        if amount is not None and abs(amount - 0.5) > 0.2
    ]
    right = sum(made is not None and (made > 0.5) == (amount > 0.5) for made, amount in sides)
    assert right / len(sides) >= 0.95


# --- single questions ---


@pytest.mark.parametrize(
    ("query", "prop", "form"),
    [
        ("Is it good enough to print at A3?", "printable", "yes_no"),
        ("Is the unicorn sharp?", "sharp", "yes_no"),
        ("Write me a poem", None, "open"),
        ("Where is it blurry?", "sharp", "where"),
        ("What is the resolution?", "resolution", "which"),
        ("What time is it?", None, "open"),
        ("What is in the picture?", None, "open"),
        ("How can I improve this?", "flaw", "advice"),
        ("What should I fix first?", "flaw", "advice"),
        ("Which corner is the most compressed?", "compressed", "where"),
        ("Is there chromatic aberration?", "fringed", "yes_no"),
        ("Is there lens flare?", "flare", "yes_no"),
        ("Is there moiré?", "moire", "yes_no"),
        ("Rate it from 1 to 10", "quality", "rating"),
        ("Is the score above 4?", "quality", "yes_no"),
        ("Is it a screenshot?", "picture_kind", "yes_no"),
        ("Is it blurry or compressed?", "flaw", "which"),
        ("Is it sharp or blurry?", "sharp", "degree"),
        ("Which is sharper, the cat or the dog?", "sharp", "compare"),
        ("I restore carpets. How much of the weave shows in this photo of the rug?", "detailed", "degree"),
    ],
)
def test_property_and_form(query: str, prop: str | None, form: str) -> None:
    read = meaning(query)
    assert (read.property, read.form) == (prop, form)


def test_clarity_is_no_blur() -> None:
    read = meaning("How would you rate the clarity of this photo?", ["High", "Low", "Medium"])
    high, low, medium = (option.amount or 0.0 for option in read.options)
    assert read.property == "sharp"
    assert high > medium > low


def test_options_that_name_properties_of_their_own() -> None:
    read = meaning("Which of these do you see?", ["Noise", "Faded colours", "Oversaturated colours", "None of these"])
    claims = [(option.property, option.amount) for option in read.options]
    assert [name for name, _ in claims] == ["noisy", "colourful", "colourful", None]
    assert (claims[1][1] or 0.0) < 0.5 < (claims[2][1] or 0.0)
    assert read.options[3].claim == "none"


@pytest.mark.parametrize(
    ("query", "polarity"),
    [
        ("Is the photo free of noise?", -1),
        ("There's no noise in it, would you agree?", -1),
        ("It isn't noisy, is it?", 1),
        ("Isn't it noisy?", 1),
        ("Is the noise acceptable?", -1),
        ("Is the noise a problem?", 1),
        ("Can it be called noise-free?", -1),
    ],
)
def test_what_yes_claims_of_noise(query: str, polarity: int) -> None:
    assert (meaning(query).property, meaning(query).polarity) == ("noisy", polarity)


def test_which_is_absent() -> None:
    options = ["Noise", "Blur"]
    assert meaning("Which of these does the picture have?", options).polarity == 1
    assert meaning("Which of these does the picture NOT have?", options).polarity == -1
    assert meaning("All of the following harm the picture except", options).polarity == -1


def test_two_parts_of_a_question() -> None:
    read = meaning("Is it sharp but noisy?")
    assert [(each.property, each.polarity) for each in read.statements] == [("sharp", 1), ("noisy", 1)]
    assert read.joined == "and"
    apart = meaning("Is the sky noisy and the bridge blurry?")
    assert [(each.property, each.parts) for each in apart.statements] == [("noisy", ("sky",)), ("sharp", ("bridge",))]
    assert len(meaning("Is it sharp?").statements) == 1


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("Is the texture of the bark visible?", ["bark"]),
        ("Nothing to see in the doorway. Is it too dark?", ["doorway"]),
        ("My daughter took this at the zoo, is it blurry?", []),
        ("Is there a green tinge from the tubes on the wall?", ["wall"]),
        ("Are top and bottom equally sharp?", ["top", "bottom"]),
        ("Which half is lighter, the top or the bottom?", ["top", "bottom"]),
        ("How sharp is this painting?", []),
    ],
)
def test_parts(query: str, parts: list[str]) -> None:
    assert [part.name for part in meaning(query).parts] == parts


def test_options_beside_the_question() -> None:
    read = meaning("Is the unicorn sharp?", ["Yes", "No", "There is no unicorn", "Can't tell"])
    assert [option.amount for option in read.options] == [1.0, 0.0, None, None]
    assert [option.claim for option in read.options[2:]] == ["not_present", "unknown"]


# --- what the rest of the backend is told ---


def test_degrees_of_damage_follow_from_the_meaning() -> None:
    high, low, medium = understand("How would you rate the clarity?", ["High", "Low", "Medium"]).options
    assert [each.claim.degree for each in (high, medium, low)] == ["slight", "moderate", "severe"]


@pytest.mark.parametrize(
    ("query", "category", "polarity"),
    [
        ("Are the twigs mushy?", "Blurs", "bad"),
        ("Is the clarity low?", "Blurs", "bad"),
        ("Do the headlights leave trails?", "Blurs", "bad"),
        ("Was the file starved of bits?", "Compression", "bad"),
        ("Is the sky spotless?", "Noise", "good"),
    ],
)
def test_damage_that_no_word_names_by_its_name(query: str, category: str, polarity: str) -> None:
    question = understand(query)
    assert [(each.category, each.polarity) for each in question.distortions] == [(category, polarity)]
    assert question.type == "IQA"


# --- properties over generated questions ---


@pytest.mark.hard
@settings(deadline=None, max_examples=400)
@given(sense=senses, place=places, order=st.permutations(["Yes", "No", "Slightly", "Can't tell"]))
def test_turning_the_options_round_turns_the_directions_with_them(
    sense: tuple[str, int], place: str, order: list[str]
) -> None:
    query = f"Is the {place} {SYNONYMS[sense][0]}?"
    assert amounts(meaning(query, order)) == amounts(meaning(query, sorted(order)))


@pytest.mark.hard
@settings(deadline=None, max_examples=400)
@given(sense=senses, place=places, data=st.data())
def test_a_synonym_changes_nothing(sense: tuple[str, int], place: str, data: st.DataObject) -> None:
    word = data.draw(st.sampled_from(SYNONYMS[sense]))
    read = meaning(f"Is the {place} {word}?", ["Yes", "No"])
    assert (read.property, read.polarity, read.form) == (*sense, "yes_no")
    assert [part.name for part in read.parts] == [place]
    assert [option.amount for option in read.options] == ([1.0, 0.0] if sense[1] > 0 else [0.0, 1.0])


@pytest.mark.hard
@settings(deadline=None, max_examples=400)
@given(
    sense=senses,
    place=places,
    denied=st.sampled_from(
        ["Is the {} not {}?", "Would you say the {} is not {}?", "Is the {} far from {}?", "Is the {} never {}?"]
    ),
    data=st.data(),
)
def test_negation_flips_polarity(sense: tuple[str, int], place: str, denied: str, data: st.DataObject) -> None:
    word = data.draw(st.sampled_from(SYNONYMS[sense]))
    plain, other = (meaning(form.format(place, word), ["Yes", "No"]) for form in ("Is the {} {}?", denied))
    assert (other.property, other.polarity) == (plain.property, -plain.polarity)
    assert [option.amount for option in other.options] == [option.amount for option in reversed(plain.options)]


@settings(deadline=None, max_examples=400)
@given(sense=senses, place=places)
def test_asking_with_a_contracted_not_denies_nothing(sense: tuple[str, int], place: str) -> None:
    word = SYNONYMS[sense][0]
    assert meaning(f"Isn't the {place} {word}?").polarity == meaning(f"Is the {place} {word}?").polarity


@settings(deadline=None, max_examples=400)
@given(sense=senses, data=st.data())
def test_degrees_run_toward_the_end_that_the_question_names(sense: tuple[str, int], data: st.DataObject) -> None:
    word = data.draw(st.sampled_from(SYNONYMS[sense]))
    read = meaning(f"How {word} is it?", DEGREES)
    made = [option.amount for option in read.options]
    known = [amount for amount in made if amount is not None]
    assert known == sorted(known, reverse=sense[1] < 0)
    assert len(known) == len(DEGREES)


@pytest.mark.hard
@settings(deadline=None, max_examples=400)
@given(sense=senses, other=senses)
def test_both_claims_of_a_joined_question_are_kept(sense: tuple[str, int], other: tuple[str, int]) -> None:
    if sense[0] == other[0] or {sense[0], other[0]} == {"overexposed", "underexposed"}:
        return
    read = meaning(f"Is it {SYNONYMS[sense][0]} and {SYNONYMS[other][0]}?")
    assert {(each.property, each.polarity) for each in read.statements} == {sense, other}
    assert read.joined == "and"


@pytest.mark.hard
@settings(deadline=None, max_examples=400)
@given(query=st.text(max_size=200), options=st.lists(st.text(max_size=30), max_size=5))
def test_any_text_has_a_meaning(query: str, options: list[str]) -> None:
    read = meaning(query, options)
    assert all(option.amount is None or 0 <= option.amount <= 1 for option in read.options)
    json.dumps(read.as_dict())


# --- the vocabulary ---


def test_every_property_is_complete() -> None:
    names = set(properties())
    kinds = {term.kind for term in distortion_terms().values()}
    known = {
        "damage": {*CATEGORIES, "all"},
        "kind": kinds,
        "fact": {"picture kind"},
        "reader": names,
        "quality": {"level"},
    }
    for each in properties().values():
        assert each.title
        assert each.sentence.endswith("."), each.name
        assert {*each.implied_by, *each.between, *each.gives_way_to} <= names, each.name
        assert all(0 <= amount <= 1 for amount in (*each.degrees.values(), *each.implied_by.values())), each.name
        for means, name in each.reading.items():
            assert means == "nothing" or name in known[means], each.name


@pytest.fixture
def _another_entry() -> Iterator[None]:
    vocabulary("properties")["dusty"] = {
        "title": "dust",
        "words": "dusty, dust spot",
        "opposites": "dust free",
        "good": "little",
        "reading": {"nothing": "no probe sees dust"},
        "sentence": "Dust on the sensor leaves round grey spots.",
    }
    read_again()
    yield
    del vocabulary("properties")["dusty"]
    read_again()


def read_again() -> None:
    for cached in (entries.properties, entries._phrases, entries._owners, entries.property_words):
        cached.cache_clear()


@pytest.mark.usefixtures("_another_entry")
def test_adding_a_property_is_adding_an_entry() -> None:
    read = meaning("Is the sensor dusty?", ["Full of dust spots", "Dust-free"])
    assert (read.property, read.polarity) == ("dusty", 1)
    assert [round(option.amount or 0.0) for option in read.options] == [1, 0]
