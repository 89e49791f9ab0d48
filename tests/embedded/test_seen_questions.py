"""Questions that were once answered wrongly, each with its right answer on the pictures of the examples."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest

from agenticiqa import AgenticIQA
from agenticiqa.nodes.results import Assessment
from agenticiqa.pictures.images import load_image
from agenticiqa.vision.network import load_vision
from agenticiqa.vision.quality_map import quality_map, worst_place
from agenticiqa.vocabulary import kind_titles

PICTURES = Path(__file__).resolve().parents[2] / "examples" / "pictures"
EXAMPLES = Path(str(resources.files("agenticiqa.serve.http.page") / "examples"))
SHARP, COMPRESSED = "dandelion.jpg", "dandelion_compressed.jpg"
UNABLE = "Unable to determine"


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    """One assessor for all questions: each picture is looked at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTICIQA_HOME", str(tmp_path_factory.mktemp("home")))
        with AgenticIQA("embedded") as assessor:
            yield lambda query, picture=SHARP: assessor.assess(PICTURES / picture, query)


def option(result: Assessment) -> str:
    return result.summarizer_result.used_evidence["options"][result.answer]


def test_clarity_is_praise_and_not_blur(ask):
    result = ask("How would you rate the clarity of this photo? High / Low / Medium")
    assert option(result) == "High"
    assert result.status == "ok"


def test_of_damage_that_is_not_there_none_is_claimed(ask):
    result = ask("Which of these distortions do you see? Noise / Overexposure / Motion blur / Underexposure")
    assert result.status == "partial"
    assert result.reasoning.startswith("None of these can be seen here")
    assert "comes nearest" in result.reasoning


def test_a_print_needs_pixels(ask):
    result = ask("Is it good enough to print at A3?")
    assert (result.answer, result.status) == ("No", "ok")
    assert result.plan.scope_names == ["Global"]
    assert "1024×576" in result.reasoning


@pytest.mark.parametrize("word", ["crisp", "soft", "spot on", "tack sharp", "good", "perfect", "flawless"])
def test_words_behind_focus_are_no_objects(ask, word):
    assert ask(f"Is the focus {word}?").plan.scope_names == ["Global"]


def test_a_thing_that_is_not_found_is_said_once(ask):
    result = ask("Is the bridge noisy?")
    assert result.status == "ok"
    assert result.reasoning.count("I could not find 'bridge'") == 1


def test_a_thing_of_an_unknown_kind_may_be_what_stands_out(ask):
    result = ask("Is the unicorn sharp?")
    assert (result.status, result.answer) == ("ok", "Yes, if 'unicorn' is what stands out")
    assert result.reasoning.count("I took 'unicorn' to be what stands out") == 1
    both = ask("Is the unicorn sharper than the teapot?")
    assert "what stands out" not in both.answer + both.reasoning


def test_a_thing_that_is_not_there_is_said_first(ask):
    result = ask("Is the bus in focus?")
    assert result.status == "ok"
    assert result.answer.startswith("I see no bus here; on the whole: ")
    assert result.reasoning.count("I see no bus here") == 1


@pytest.mark.parametrize("query", ["Write me a poem", "What time is it?", "What is in the picture?"])
def test_what_is_no_question_of_quality_is_declined(ask, query):
    result = ask(query)
    assert (result.answer, result.status) == (UNABLE, "partial")
    assert "vision-language model" in result.reasoning


@pytest.mark.parametrize(
    ("query", "picture", "answer"),
    [
        ("Is it blurry and compressed?", SHARP, "No"),
        ("Is it blurry and compressed?", COMPRESSED, "Yes"),
        ("Is it sharp but noisy?", SHARP, "No"),
    ],
)
def test_both_halves_decide_and_both_are_told(ask, query, picture, answer):
    result = ask(query, picture)
    assert (result.answer, result.status) == (answer, "ok")
    assert result.reasoning.count("The picture is ") == 2


@pytest.mark.hard
def test_where_agrees_with_what_is_seen_there(ask):
    result = ask("Where is it blurry?")
    assert result.answer == "Mostly in the top right"
    assert result.reasoning.startswith("The top right is the most blurry part.")
    assert "may be meant" in result.reasoning
    assert "No visible blur" not in result.reasoning


@pytest.mark.hard
@pytest.mark.parametrize("picture", sorted(path.name for path in EXAMPLES.glob("*.jpg")))
@pytest.mark.parametrize("query", ["Where is it worst?", "Where is the damage?"])
def test_where_it_is_worst_is_the_place_that_is_marked(ask, query, picture):
    result = ask(query, EXAMPLES / picture)
    image = load_image(EXAMPLES / picture)
    place = worst_place(quality_map(image), image.size)
    x, y, width, height = place.box.as_list()
    measured = " ".join(result.summarizer_result.used_evidence["measured"])
    assert f"{width} × {height} pixels at {x}, {y} score {place.score:.1f} of 5" in measured
    if result.answer == "Nowhere":  # then nothing is bad, and the place is the nearest to it
        assert place.even or f"the {place.position}" in result.reasoning
        assert place.score >= 4
    else:
        assert result.answer == "Evenly over the picture" if place.even else result.answer.endswith(place.position)


@pytest.mark.hard
def test_where_it_is_best_is_not_where_it_is_worst(ask):
    assert ask("Where is it best?", COMPRESSED).answer != ask("Where is it worst?", COMPRESSED).answer


def test_facts_of_the_file_are_told(ask):
    assert ask("What is the resolution?").answer.startswith("1024×576 pixels")


def test_advice_is_what_to_do(ask):
    assert "JPEG quality" in ask("How can I improve this?", COMPRESSED).answer
    assert "JPEG quality" in ask("What should I fix first?", COMPRESSED).answer
    assert ask("What should I fix first?").answer == "Nothing to mend stands out"


@pytest.mark.hard
def test_no_corner_is_compressed_where_nothing_is(ask):
    result = ask("Which corner is the most compressed?")
    assert (result.answer, result.status) == ("Nowhere", "ok")


@pytest.mark.parametrize("query", ["Is there lens flare?", "Is there moiré?"])
def test_what_nothing_sees_is_not_denied(ask, query):
    assert (ask(query).answer, ask(query).status) == (UNABLE, "partial")


def test_colour_fringes_are_read_from_the_channels(ask):
    result = ask("Is there chromatic aberration?")
    assert result.answer == "No"
    assert "free of colour fringes" in result.reasoning


@pytest.mark.parametrize(
    ("query", "scale"),
    [("Rate it from 1 to 10", " of 10"), ("Rate it in percent", " %"), ("Give it stars out of five", " of 5 stars")],
)
def test_the_scale_that_was_asked_for_is_answered(ask, query, scale):
    result = ask(query)
    assert result.reasoning.startswith("On the scale asked for: ")
    assert result.summarizer_result.used_evidence["asked_scale"].endswith(scale)


def test_stars_as_a_question(ask):
    assert ask("How many stars would you give it?").asked_scale == "4 of 5 stars"


def test_an_unknown_metric_is_remarked_upon(ask):
    result = ask("Rate it with the FooBar metric")
    assert result.status == "partial"
    assert "There is no tool 'FooBar' here" in result.reasoning


@pytest.mark.parametrize(
    ("query", "picture", "answer"),
    [
        ("Is it blurry or compressed?", SHARP, "Neither"),
        ("Is it blurry or compressed?", COMPRESSED, "Both"),
        ("Is the score above 4?", SHARP, "Yes"),
        ("Is the score above 4?", COMPRESSED, "No"),
        ("Is it a screenshot?", SHARP, "No"),
    ],
)
def test_what_is_known_is_answered(ask, query, picture, answer):
    result = ask(query, picture)
    assert (result.answer, result.status) == (answer, "ok")


def test_no_internal_names_of_damage():
    titles = [kind_titles().get(kind["name"], kind["title"]) for kind in load_vision().about["kinds"]]
    assert not {"Color saturation 1", "Color saturation 2", "Brighten", "Jitter", "Non-eccentricity patch"} & set(
        titles
    )


@pytest.mark.parametrize("picture", [SHARP, COMPRESSED])
def test_letter_level_and_score_agree(ask, picture):
    result = ask("Rate the quality.", picture)
    level = {"A": 5, "B": 4, "C": 3, "D": 2, "E": 1}[result.answer]
    assert level - 0.5 <= result.score < level + 0.5


def test_a_tool_that_is_asked_for_gives_its_value(ask):
    assert ask("What is the BRISQUE of this image?").answer.startswith("BRISQUE ")


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("keep or delete?", "Keep"),
        ("Is it too dark or fine?", "Fine"),
        ("hazy because of the lens or the weather?", "It does not look so"),
        ("what is wrong", "Nothing looks wrong"),
        ("Whats wrong with this pic", "Nothing looks wrong"),
        ("Can this be fixed in photoshop?", "Nothing to mend stands out"),
        ("good enough for linkedin?", "Yes"),
        ("would it work as a poster", "No"),
        ("good enough for a magazine cover?", "No"),
        ("What mood does it have?", UNABLE),
    ],
)
def test_everyday_questions_get_an_answer_of_their_form(ask, query, answer):
    result = ask(query)
    assert result.answer == answer
    assert "could not find" not in result.reasoning


def test_the_scale_asked_for_is_the_scale_answered(ask):
    result = ask("Rate from 1 to 10")
    assert result.asked_scale == f"{1 + (result.score - 1) / 4 * 9:.1f} of 10"


def test_chances_of_what_cannot_be_seen_stay_low(ask):
    result = ask("Which of these distortions do you see? Noise / Overexposure / Motion blur / Underexposure")
    assert max(result.summarizer_result.used_evidence["option_probabilities"].values()) < 0.5


def test_numbers_stand_beside_the_answer_and_not_in_it(ask):
    result = ask("Is it blurry?")
    assert not any(character.isdigit() for character in result.reasoning)
    assert any("px wide" in line for line in result.summarizer_result.used_evidence["measured"])


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("is the picture frozen or blurry", "Frozen"),
        ("does it look oversharpened or overprocessed to you", "Neither"),
        ("is it noisy or blurry?", "Neither"),
        ("is it blurred or in focus", "In focus"),
    ],
)
def test_a_side_that_is_not_seen_is_not_chosen(ask, query, answer):
    assert ask(query).answer == answer
