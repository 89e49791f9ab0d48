"""Answers from readings made by hand: every form of question."""

from __future__ import annotations

import pytest

from agenticiqa.embedded.findings import finding
from agenticiqa.embedded.readings.base import PropertyReading
from agenticiqa.state import Advice
from support.evidence import MadeEvidence, asked, at, chosen, of_look
from support.looks import SEVERE, SLIGHT, made_look

NOISY = of_look(made_look({"Noise": SEVERE}, kinds={"white_noise": 0.9}, levels=(0.1, 0.5, 0.3, 0.1, 0.0)))
PAINTING = of_look(made_look(sorts={"painting": 0.8, "photograph": 0.2}, generated=0.9))


# --- options ---


def test_what_is_not_there_is_asked_for():
    look = of_look(made_look({"Noise": SEVERE, "Compression": SEVERE}, kinds={"white_noise": 0.9, "jpeg": 0.9}))
    options = ["Noise", "Motion blur", "JPEG compression"]
    assert chosen("Which of these distortions is NOT present in the picture?", options, look) == "Motion blur"
    assert chosen("Which of these is present?", options, look) != "Motion blur"


def test_a_general_word_beside_a_finer_one_means_the_rest():
    options = ["Noise", "Salt-and-pepper noise"]
    query = "Which of these affects the picture?"
    impulses = of_look(made_look({"Noise": SEVERE}, kinds={"impulse_noise": 0.9}))
    assert chosen(query, options, impulses) == "Salt-and-pepper noise"
    assert chosen(query, options, NOISY) == "Noise"


def test_a_finer_word_may_stand_for_its_category_where_no_other_option_does():
    look = of_look(made_look({"Blurs": SEVERE}, kinds={"motion_blur": 0.9}))
    assert chosen("What is the main problem?", ["Out-of-focus blur", "Noise", "Underexposure"], look) != "Noise"


def test_of_things_that_are_not_there_none_is_told_to_fit():
    found = asked("Which do you see?", of_look(made_look()), ["Noise", "Overexposure", "Motion blur"])
    assert found.doubts[0].startswith("None of these can be seen here")
    assert "comes nearest" in found.doubts[0]
    assert max(found.chances.values()) < 0.5
    assert not any("fits best" in sentence for sentence in found.sentences)


def test_none_is_chosen_where_it_is_offered():
    query, options = "Which of these do you see?", ["Noise", "Motion blur", "None of these"]
    assert chosen(query, options, of_look(made_look())) == "None of these"
    assert chosen(query, options, NOISY) == "Noise"


@pytest.mark.parametrize(("place", "right"), [(1.0, "High"), (0.5, "Medium"), (0.0, "Low")])
def test_degrees_of_something_wanted(place, right):
    evidence = MadeEvidence({"sharp": at(place)})
    assert chosen("How would you rate the clarity of this photo?", ["High", "Low", "Medium"], evidence) == right


def test_alternatives_that_spoil_the_same_thing_in_two_ways():
    evidence = MadeEvidence({"well_exposed": at(0.25), "overexposed": at(0.0), "underexposed": at(0.75)})
    assert chosen("Is it overexposed or underexposed?", ["Overexposed", "Underexposed"], evidence) == "Underexposed"


def test_an_option_is_answered_though_nothing_reads_it_and_the_doubt_is_told():
    found = asked("Is the composition pleasing?", MadeEvidence(), ["Yes", "No"])
    assert found.text in ("A", "B")
    assert found.doubts
    assert max(found.chances.values()) < 0.8


def test_cannot_tell_is_chosen_where_nothing_was_read():
    assert chosen("Who is it?", ["Anna", "Can't tell", "Berta"], MadeEvidence()) == "Can't tell"


def test_a_guess_is_told():
    found = asked("Is there a vignette?", MadeEvidence({"vignetted": at(1.0, guess=True)}))
    assert found.text == "Yes"
    assert "guess" in found.doubts[0]


# --- yes and no ---


@pytest.mark.parametrize(
    ("query", "yes"),
    [
        ("Is the picture degraded?", True),
        ("Is the picture free of artifacts?", False),
        ("Is the quality good?", False),
        ("Is the quality poor?", True),
        ("Is it noisy?", True),
        ("Is it not noisy?", False),
        ("Is it sharp but noisy?", True),
        ("Is it blurry and noisy?", False),
    ],
)
def test_yes_or_no(query, yes):
    assert asked(query, NOISY).text == ("Yes" if yes else "No")


def test_beside_a_reference_less_damage_is_noticed():
    levels = (0.0, 0.0, 0.0, 0.9, 0.1)
    alone, beside = made_look(levels=levels), made_look(levels=levels)
    beside.beside = {4: 0.9, 5: 0.1}
    query = "Is the picture damaged?"
    assert asked(query, of_look(alone)).chances["Yes"] < asked(query, of_look(beside)).chances["Yes"]


def test_both_halves_are_answered():
    found = asked("Is it blurry and noisy?", NOISY)
    assert found.text == "No"
    assert [text.split(":")[0].rstrip(".") for text in found.sentences] == [
        "The picture is sharp",
        "The picture is noisy",
    ]


@pytest.mark.parametrize(
    ("query", "answer"),
    [("Is the score above 4?", "No"), ("Is the score below 3?", "Yes"), ("Is the quality at least 90 percent?", "No"),
     ("Is the quality better than 1 out of 10?", "Yes")],
)  # fmt: skip
def test_bounds(query, answer):
    assert asked(query, NOISY).text == answer


def test_a_part_that_was_not_found_is_said_first():
    found = asked("Is the unicorn noisy?", MadeEvidence({"noisy": at(0.0)}))
    assert found.text == "No, on the whole ('unicorn' not found)"
    assert found.verdict().reasoning.count("'unicorn'") == 1
    assert found.doubts == ()


def test_a_part_that_is_not_there_is_said_before_the_answer(monkeypatch):
    monkeypatch.setattr(MadeEvidence, "is_absent", lambda self, part: part == "dog")
    assert asked("Is the dog hazy?", MadeEvidence({"hazy": at(0.0)})).text == "I see no dog here; on the whole: No"
    only_one = asked("Are the dog and the unicorn noisy?", MadeEvidence({"noisy": at(0.0)}))
    assert only_one.text.startswith("No, on the whole")


def test_what_was_only_taken_for_a_part_is_said_first(monkeypatch):
    monkeypatch.setattr(MadeEvidence, "is_guess", lambda self, part: part == "flower")
    monkeypatch.setattr(MadeEvidence, "note", lambda self, part: "'flower' was taken for the yellow area")
    found = asked("Is the flower sharp?", HALVES)
    assert found.text == "Yes"
    assert found.notes == ("'flower' was taken for the yellow area.",)
    compared = asked("Which is sharper, the flower or the meadow?", HALVES)
    assert compared.text == "Flower"
    assert compared.notes


# --- sorts of picture ---


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("Is this a painting?", "Yes"),
        ("Is it a photograph?", "No"),
        ("Is this a photograph or a painting?", "Painting"),
        ("What kind of picture is this?", "Painting"),
        ("Was this picture generated by AI?", "Yes"),
        ("Is this an AI-generated image?", "Yes"),
        ("Is it a real photograph?", "No"),
        ("Is this not a sketch?", "Yes"),
        ("Is this picture generated or real?", "Generated"),
    ],
)
def test_sorts_in_words(query, answer):
    assert asked(query, PAINTING).text == answer


@pytest.mark.parametrize(
    ("options", "right"),
    [
        (["Photograph", "Painting", "Cartoon", "Sketch"], "Painting"),
        (["A real photo", "Generated by AI"], "Generated by AI"),
    ],
)
def test_sorts_with_options(options, right):
    assert chosen("Which is it?", options, PAINTING) == right


@pytest.mark.parametrize("wider", ["Cartoon", "Drawing"])
def test_a_sketch_is_a_drawing_unless_both_are_offered(wider):
    values = {"photo": 0.0, "painting": 0.01, "drawing": 0.99, "sketch": 0.96}
    sketch = MadeEvidence({"picture_kind": PropertyReading("Read.", values=values, within={"sketch": "drawing"})})
    assert chosen("Which is it?", ["Photograph", "Painting", wider, "Sketch"], sketch) == "Sketch"
    assert chosen("Which is it?", ["Photograph", "Painting", wider], sketch) == wider
    assert asked("Is this a drawing?", sketch).text == "Yes"


# --- places and parts ---

HALVES = MadeEvidence(
    {"sharp": at(0.5), "noisy": at(0.0)},
    {
        "left": {"sharp": at(1.0)}, "right": {"sharp": at(0.0)}, "flower": {"sharp": at(1.0)},
        "meadow": {"sharp": at(0.0)}, "top left": {"sharp": at(1.0)}, "top right": {"sharp": at(0.0)},
        "bottom left": {"sharp": at(1.0)}, "bottom right": {"sharp": at(0.5)}, "center": {"sharp": at(0.75)},
    },
)  # fmt: skip


def test_where_something_shows_most():
    assert asked("Where is it blurry?", HALVES).text == "Mostly in the top right"
    assert asked("Where is it noisy?", HALVES).text == "Nowhere"


def test_which_of_two_parts():
    assert asked("Which is sharper, the flower or the meadow?", HALVES).text == "Flower"
    assert asked("Is the meadow sharper than the flower?", HALVES).text == "No"
    assert chosen("Which side is blurrier?", ["Left", "Right"], HALVES) == "Right"
    assert chosen("Which side is sharpest?", ["Left", "Right"], HALVES) == "Left"


def test_parts_that_cannot_be_found_are_not_compared():
    found = asked("Which is sharper, the unicorn or the flower?", HALVES)
    assert found.text == "Unable to determine"
    assert "unicorn" in found.doubts[0]


# --- words ---


@pytest.mark.parametrize(
    ("query", "answer"),
    [("How noisy is it?", "Very noisy"), ("How sharp is it?", "Sharp"),
     ("How blurry is it?", "Not blurry"), ("Is it blurry or noisy?", "Noisy")],
)  # fmt: skip
def test_how_much(query, answer):
    assert asked(query, NOISY).text == answer


def test_neither_and_both():
    clean = of_look(made_look())
    assert asked("Is it blurry or noisy?", clean).text == "Neither"
    both = of_look(made_look({"Noise": SEVERE, "Blurs": SEVERE}))
    assert asked("Is it blurry or noisy?", both).text == "Both"


def test_the_worst_is_named_in_words_for_people():
    assert asked("What is the main problem?", NOISY).text == "Very grainy"


def test_advice_comes_from_the_rules():
    advised = [Advice(do="Denoise it.", because="Severe noise.", source="a book")]
    assert asked("What should I fix first?", MadeEvidence(advised=advised)).text == "Denoise it."
    assert "Nothing to mend" in asked("How can I improve this?", MadeEvidence({"flaw": at(0.0)})).text


def test_what_has_values_is_answered_with_the_likeliest():
    evidence = MadeEvidence({"colour_scheme": PropertyReading("Mostly green.", values={"green": 0.7, "blue": 0.2})})
    assert asked("Which colour dominates?", evidence).text == "Green"
    assert chosen("Which colour dominates?", ["Red", "Green"], evidence) == "Green"


def test_values_of_which_none_is_there_are_not_told_to_fit():
    evidence = MadeEvidence({"colour_scheme": PropertyReading("Mostly brown.", values={"brown": 0.9, "red": 0.02})})
    found = asked("Which colour dominates?", evidence, ["Red", "Blue"])
    assert found.text == "A"
    assert found.doubts[0].startswith("None of these can be seen here")


@pytest.mark.parametrize(("place", "answer"), [(0.75, "No"), (1.0, "Yes")])
def test_more_than_people_want(place, answer):
    evidence = MadeEvidence({"colourful": at(place)})
    assert asked("Is it oversaturated?", evidence).text == answer
    assert asked("Is it colourful?", evidence).text == "Yes"


def test_generated_or_real_wants_one_of_the_two():
    assert asked("Was this generated or is it real?", PAINTING).text == "Generated"


def test_of_facts_the_number_is_told():
    evidence = MadeEvidence({"resolution": PropertyReading("320×240 pixels, 0.077 megapixels.", at(0.0).amounts)})
    assert asked("How many megapixels does it have?", evidence).text == "320×240 pixels, 0.077 megapixels"


@pytest.mark.parametrize("query", ["What time is it?", "What is in the picture?", "Is there moiré?"])
def test_what_nothing_reads_is_not_answered_with_something_else(query):
    found = asked(query, MadeEvidence({"sharp": at(1.0), "quality": at(0.75), "flaw": at(0.0)}))
    assert found.text == "Unable to determine"
    assert "vision-language model" in found.doubts[-1]


@pytest.mark.parametrize(("category", "hinted"), [("Blurs", True), ("Color distortions", True), ("Noise", False)])
def test_slight_findings_that_may_be_style_are_called_hints(category, hinted):
    assert ("perhaps on purpose" in finding(category, made_look({category: SLIGHT}))) == hinted
    assert "perhaps on purpose" not in finding(category, made_look({category: SEVERE}))


# --- when nothing reads just what was asked ---


def test_what_implies_a_property_stands_in_for_it():
    found = asked("Is the text legible?", MadeEvidence({"sharp": at(0.0), "quality": at(1.0)}), ["Yes", "No"])
    assert found.text == "B"
    assert any("sharpness was taken as a hint" in doubt for doubt in found.doubts)


def test_neither_end_of_something_in_between_is_certain():
    found = asked("How is the brightness?", MadeEvidence({"bright": at(0.5)}), ["Bright", "Dark"])
    assert "What was read lies between the options." in found.doubts


@pytest.mark.parametrize(("place", "right"), list(enumerate(("Bad", "Poor", "Fair", "Good", "Excellent"))))
def test_each_of_five_levels_has_its_place(place, right):
    options = ["Excellent", "Good", "Fair", "Poor", "Bad"]
    evidence = MadeEvidence({"quality": at(place / 4)})
    assert chosen("What is the overall quality of the picture?", options, evidence) == right


@pytest.mark.parametrize(("hue", "right"), [("yellow", "Yellowish"), ("blue", "Bluish"), (None, "No cast")])
def test_which_cast(hue, right):
    values = {name: 0.9 * (name == hue) for name in ("yellow", "blue", "green")}
    told = PropertyReading("Read.", at(1.0 if hue else 0.0).amounts, values=values, guess=True)
    query = "Is there a colour cast, and if so which?"
    assert chosen(query, ["Yellowish", "Bluish", "No cast"], MadeEvidence({"colour_cast": told})) == right


def test_the_last_of_two_values_is_claimed():
    evidence = MadeEvidence({"time_of_day": PropertyReading("Read.", values={"day": 0.1, "night": 0.9}, guess=True)})
    assert chosen("Is this photo taken at night?", ["Yes", "No"], evidence) == "Yes"
    kind = MadeEvidence({"picture_kind": PropertyReading("Read.", values={"photo": 0.9, "painting": 0.1})})
    assert chosen("Is this photo a painting?", ["Yes", "No"], kind) == "No"


def test_colours_that_are_too_strong_are_there_among_flaws():
    vivid = MadeEvidence({"colourful": at(1.0), "sharp": at(1.0), "oversharpened": at(1.0), "flaw": at(0.5)})
    options = ["Blur", "Oversharpening", "Oversaturation"]
    assert chosen("Which of these distortions is NOT present in the picture?", options, vivid) == "Blur"


# --- one part beside another ---


@pytest.mark.parametrize(("blue", "right"), [(0.0, "Yes"), (1.0, "No")])
def test_more_than_another_is_a_comparison(blue, right):
    cars = MadeEvidence(parts={"blue car": {"sharp": at(blue)}, "red car": {"sharp": at(0.5)}})
    assert chosen("Is the blue car more blurred than the red car?", ["Yes", "No"], cars) == right


@pytest.mark.parametrize(("behind", "right"), [(0.0, "Blurrier"), (1.0, "Sharper"), (0.5, "The same")])
def test_the_first_part_beside_the_second(behind, right):
    evidence = MadeEvidence(parts={"background": {"sharp": at(behind)}, "subject": {"sharp": at(0.5)}})
    query = "How is the sharpness of the background compared with the subject?"
    assert chosen(query, ["Blurrier", "Sharper", "The same"], evidence) == right


def test_kinds_of_the_same_amount_are_told_apart():
    evidence = MadeEvidence({"sharp": at(0.0), "motion_blurred": at(1.0), "in_focus": at(1.0), "flaw": at(1.0)})
    assert chosen("What kind of blur is it?", ["Motion blur", "Out of focus", "None"], evidence) == "Motion blur"


def test_the_first_part_beside_the_second_where_neither_is_found():
    query = "How is the sharpness of the background compared with the subject?"
    assert asked(query, MadeEvidence(), ["Blurrier", "Sharper"]).doubts
