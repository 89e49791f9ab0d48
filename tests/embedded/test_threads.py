"""Follow-ups with the embedded backend, on real pictures: what each takes from the question before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import agenticiqa
from agenticiqa import AgenticIQA, Assessment
from agenticiqa.embedded.follow_up import in_thread
from agenticiqa.embedded.question import Meaning, understand
from agenticiqa.vocabulary import UNABLE_TO_DETERMINE

PICTURES = Path(agenticiqa.__file__).parent / "serve" / "http" / "page" / "examples"


def read(*queries: str) -> Meaning:
    """The last of several questions, each in the thread of those before it."""
    found = None
    for query in queries:
        found = in_thread(understand(query), found)
    assert found is not None
    return found.meaning


def names(meaning: Meaning) -> list[str]:
    return [part.name for part in meaning.parts]


@pytest.mark.parametrize("words", ["and the background?", "what about the background?", "is the background too?"])
def test_another_part_keeps_the_property(words: str) -> None:
    meaning = read("Is the car blurry?", words)
    assert (meaning.property, meaning.form, meaning.end, names(meaning)) == ("sharp", "yes_no", -1, ["background"])


def test_another_property_keeps_the_part() -> None:
    assert names(read("Is the car blurry?", "and the noise?")) == ["car"]
    assert read("Is the car blurry?", "and the noise?").property == "noisy"
    compared = read("Which is sharper, the sky or the bridge?", "and the noise?")
    assert (compared.form, compared.property, names(compared)) == ("compare", "noisy", ["sky", "bridge"])


def test_one_part_is_not_compared() -> None:
    meaning = read("Which is sharper, the sky or the bridge?", "and the background?")
    assert (meaning.form, meaning.property, names(meaning)) == ("degree", "sharp", ["background"])


@pytest.mark.parametrize(
    ("words", "follows"),
    [
        ("why?", "why"),
        ("how come?", "why"),
        ("how can you tell?", "why"),
        ("are you sure?", "sure"),
        ("really?", "sure"),
        ("how do I fix that?", "fix"),
        ("what can I do about it?", "fix"),
        ("and there?", "unclear"),
    ],
)
def test_what_is_asked_of_the_answer(words: str, follows: str) -> None:
    meaning = read("Is the car blurry?", words)
    assert meaning.follows == follows
    if follows != "unclear":
        assert (meaning.property, names(meaning)) == ("sharp", ["car"])


def test_a_chain_leads_back_to_the_question() -> None:
    meaning = read("Is the car blurry?", "and the background?", "why?", "are you sure?")
    assert (meaning.property, names(meaning), meaning.follows) == ("sharp", ["background"], "sure")
    assert names(read("Is the car blurry?", "why?", "and the sky?")) == ["sky"]
    assert read("Is the car blurry?", "why?", "and the sky?").follows is None


@pytest.mark.parametrize(
    "query",
    [
        "Is the sky noisy?",
        "Rate it",
        "How can I improve the picture?",
        "Which? A. Blur B. Noise",
        "Who is in the picture?",
    ],
)
def test_a_complete_question_is_read_by_itself(query: str) -> None:
    assert in_thread(understand(query), understand("Is the car blurry?")) == understand(query)


def test_without_a_question_before_a_follow_up_is_read_as_it_was() -> None:
    assert in_thread(understand("why?"), None) == understand("why?")


# --- answers ---


@pytest.fixture(scope="module")
def asking() -> Iterator[AgenticIQA]:
    with AgenticIQA("embedded", record=False) as made:
        yield made


def thread(asking: AgenticIQA, picture: str, *queries: str) -> list[Assessment]:
    results = [asking.assess(PICTURES / picture, queries[0])]
    for query in queries[1:]:
        results.append(results[-1].ask(query))
    return results


def test_why_sure_and_remedy_of_what_is_there(asking: AgenticIQA) -> None:
    yes, why, sure, fix = thread(asking, "cat_noisy.jpg", "Is it noisy?", "why?", "are you sure?", "how do I fix that?")
    assert yes.answer == "Yes"
    assert "grain" in why.answer.lower()
    assert "Grain has a standard deviation of" in why.reasoning
    assert sure.answer.startswith("Still yes, ")
    assert "Chance of noise" in sure.reasoning
    assert "Denoise it" in fix.answer


def test_the_remedy_is_for_what_was_asked_and_not_for_something_worse(asking: AgenticIQA) -> None:
    """The picture is compressed first of all, and blurred."""
    fixes = [
        thread(asking, "dandelion_compressed.jpg", query, "how do I fix that?")[1].answer
        for query in ("Rate it", "Is it blurry?")
    ]
    assert "JPEG quality 90" in fixes[0]
    assert "JPEG" not in fixes[1]
    assert any(word in fixes[1] for word in ("focus", "steady"))


@pytest.mark.hard
def test_where_nothing_is_wrong_with_it_the_main_finding_is_mended(asking: AgenticIQA) -> None:
    sharp, fix = thread(asking, "coffee_dark.jpg", "Is it sharp or soft?", "how can I fix that?")
    assert sharp.answer == "Sharp"
    assert "Brighten it" in fix.answer


def test_asked_whether_it_is_sure_it_does_not_flip(asking: AgenticIQA) -> None:
    rated, again = thread(asking, "dandelion_compressed.jpg", "Rate it", "are you sure?")
    assert (again.answer, again.score) == (rated.answer, rated.score)
    assert "Of the five levels" in again.reasoning
    options = "Which distortion dominates? A. Motion blur B. JPEG compression C. Underexposure"
    chosen, still = thread(asking, "dandelion_compressed.jpg", options, "are you sure?")
    assert chosen.answer == "B"
    assert still.answer.startswith("Still JPEG compression, ")
    no, still_no = thread(asking, "coffee_dark.jpg", "Is it noisy?", "really?")
    assert (no.answer, still_no.answer[:8]) == ("No", "Still no")


def test_an_answer_of_another_model_is_not_called_its_own(asking: AgenticIQA) -> None:
    earlier = [{"query": "Is it noisy?", "answer": "No"}]
    result = asking.assess(PICTURES / "cat_noisy.jpg", "are you sure?", earlier=earlier)
    assert result.answer == "Yes"
    assert result.status == "partial"
    assert "The answer before was 'No'" in result.reasoning


@pytest.mark.hard
def test_another_part_is_looked_at(asking: AgenticIQA) -> None:
    queries = ("How sharp is the face?", "and the background?", "why?", "are you sure?")
    face, background, why, sure = thread(asking, "portrait.jpg", *queries)
    assert face.answer == "Sharp"
    assert "blurry" in background.answer
    assert background.plan is not None
    assert background.plan.query_scope == ["background"]
    assert "px wide" in why.reasoning
    assert sure.answer == f"Still {background.answer.lower()}"
    assert "The chance of blurry is" in sure.reasoning


def test_what_cannot_be_told_is_said(asking: AgenticIQA) -> None:
    unclear = thread(asking, "portrait.jpg", "Is it sharp?", "and there?")[1]
    assert unclear.answer == UNABLE_TO_DETERMINE
    assert "I cannot tell what this asks of the answer before it." in unclear.reasoning
    alone = asking.assess(PICTURES / "portrait.jpg", "why?")
    assert "I do not know what came before it" in alone.reasoning
