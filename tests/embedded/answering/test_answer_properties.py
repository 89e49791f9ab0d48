"""What must hold of every answer, over thousands of generated questions and made-up readings."""

from __future__ import annotations

from functools import cache
from itertools import permutations, product

import numpy as np
import pytest

from agenticiqa.embedded.answering import options as choosing
from agenticiqa.embedded.answering import words
from agenticiqa.embedded.answering.problem import AnswerProblem, EmbeddedAnswer
from agenticiqa.embedded.answering.yes_no import claims
from agenticiqa.embedded.question import ParsedQuestion, read_question, understand
from agenticiqa.embedded.readings.base import PropertyReading
from support.evidence import MadeEvidence

# Words that people use for the same end of a property.
MUCH = {
    "sharp": ("sharp", "crisp", "tack sharp"),
    "noisy": ("noisy", "grainy"),
    "compressed": ("compressed", "blocky"),
    "underexposed": ("underexposed", "too dark"),
    "overexposed": ("overexposed", "too bright", "blown out"),
    "hazy": ("hazy", "foggy", "misty"),
    "colourful": ("colourful", "vivid", "vibrant"),
    "pixelated": ("pixelated",),
    "oversharpened": ("oversharpened",),
    "in_focus": ("in focus",),
    "motion_blurred": ("shaky", "blurred by motion"),
    "well_exposed": ("well exposed", "well lit"),
    "symmetric": ("symmetrical", "symmetric"),
    "detailed": ("detailed", "rich in detail"),
    "cluttered": ("cluttered", "messy"),
}
LITTLE = {
    "sharp": ("blurry", "blurred", "fuzzy"),
    "in_focus": ("out of focus", "misfocused"),
    "colourful": ("faded", "pale"),
    "well_exposed": ("badly exposed", "poorly lit"),
    "symmetric": ("asymmetric", "asymmetrical"),
    "cluttered": ("tidy", "uncluttered"),
}
NOUNS = {
    "noisy": "Noise", "motion_blurred": "Motion blur", "overexposed": "Overexposure", "underexposed": "Underexposure",
    "hazy": "Haze", "compressed": "Compression artifacts", "pixelated": "Pixelation", "oversharpened": "Oversharpening",
}  # fmt: skip
SUBJECTS = ("it", "the picture", "this photo", "the image")
PROPERTIES = sorted(MUCH)
DENYING, AFFIRMING = "is not there", "is there"


@cache
def read(query: str, given: tuple[str, ...] = ()) -> ParsedQuestion:
    letters = {chr(ord("A") + at): text for at, text in enumerate(given)}
    return read_question(query, letters) if given else understand(query)


def answered(query: str, evidence: MadeEvidence, given: tuple[str, ...] = ()) -> EmbeddedAnswer:
    question = read(query, given)
    problem = AnswerProblem(question.meaning, evidence)
    return choosing.answer(problem) if given else words.answer(problem)


def chosen(query: str, evidence: MadeEvidence, given: tuple[str, ...]) -> str:
    return given[ord(answered(query, evidence, given).text) - ord("A")]


def made(rng: np.random.Generator) -> MadeEvidence:
    """Random readings of everything, each with a sentence that affirms or denies what was read."""
    return MadeEvidence({name: told(name, rng) for name in (*PROPERTIES, "quality", "flaw")})


def told(name: str, rng: np.random.Generator) -> PropertyReading:
    chances = rng.dirichlet([0.3] * 5)
    return PropertyReading(f"{name} {AFFIRMING if chances[0] < 0.5 else DENYING}.", tuple(map(float, chances)))


EVIDENCE = [made(np.random.default_rng(seed)) for seed in range(12)]
CLAIMS = [(word, name) for table in (MUCH, LITTLE) for name, words_ in table.items() for word in words_]


def is_close(answer: EmbeddedAnswer) -> bool:
    ranked = sorted(answer.chances.values())
    return len(ranked) > 1 and ranked[-1] - ranked[-2] < 1e-3


@pytest.mark.hard
def test_negation_flips_yes_and_no():
    """Of all wordings the reader may miss a few; where it reads the negation, every answer is turned round."""
    flipped = []
    for (word, _), subject in product(CLAIMS, SUBJECTS):
        plain, denied = f"Is {subject} {word}?", f"Is {subject} not {word}?"
        flipped.append(read(plain).meaning.end == -read(denied).meaning.end != 0)
        asked = read(plain).meaning.known()
        # "Not symmetric" is less than "asymmetric": where the middle is wanted, the ends are no opposites.
        if not flipped[-1] or asked != read(denied).meaning.known() or asked is None or asked.good == "middle":
            continue
        for evidence in EVIDENCE:
            one, other = answered(plain, evidence), answered(denied, evidence)
            assert {one.text, other.text} == {"Yes", "No"} or is_close(one), (word, subject)
            assert one.chances["Yes"] == pytest.approx(other.chances["No"])
    assert np.mean(flipped) >= 0.85, np.mean(flipped)


def test_synonyms_are_read_alike():
    asked = [(read(f"Is {subject} {word}?").meaning, name) for (word, name), subject in product(CLAIMS, SUBJECTS)]
    assert np.mean([meaning.property == name for meaning, name in asked]) >= 0.9
    ends = [
        meaning.end == (1 if word in MUCH.get(name, ()) else -1)
        for (word, name), meaning in zip(
            [claim for claim, _ in product(CLAIMS, SUBJECTS)], [meaning for meaning, _ in asked], strict=True
        )
    ]
    assert np.mean(ends) >= 0.95


@pytest.mark.hard
def test_and_is_yes_only_if_both_are():
    read_as_two = []
    for first, second in permutations(PROPERTIES, 2):
        if {first, second} <= {"sharp", "in_focus", "detailed"}:
            continue
        one, other = MUCH[first][0], MUCH[second][0]
        query = f"Is it {one} and {other}?"
        read_as_two.append({each.property for each in claims(read(query).meaning)} == {first, second})
        if not read_as_two[-1]:
            continue
        for evidence in EVIDENCE[:4]:
            each = [answered(f"Is it {word}?", evidence).text for word in (one, other)]
            assert answered(query, evidence).text == ("Yes" if each == ["Yes", "Yes"] else "No"), query
    assert np.mean(read_as_two) >= 0.75, np.mean(read_as_two)


DEGREES = ("Not at all", "Slightly", "Very")


@pytest.mark.hard
@pytest.mark.parametrize("word", [word for word, _ in CLAIMS])
def test_turning_degrees_round_turns_the_answer(word):
    for evidence in EVIDENCE:
        picked = {chosen(f"How {word} is it?", evidence, given) for given in permutations(DEGREES)}
        assert len(picked) == 1, word


@pytest.mark.parametrize("word", [word for word, _ in CLAIMS])
def test_turning_yes_and_no_round_turns_the_answer(word):
    for evidence in EVIDENCE:
        picked = {chosen(f"Is it {word}?", evidence, given) for given in (("Yes", "No"), ("No", "Yes"))}
        assert picked == {answered(f"Is it {word}?", evidence).text} or is_close(answered(f"Is it {word}?", evidence))


WHICH = ("Which of these do you see?", "Which distortion is the most severe?", "Which of these is NOT there?")


def offered(rng: np.random.Generator) -> tuple[str, ...]:
    names = rng.permutation(sorted(NOUNS))[: rng.integers(2, 5)]
    return tuple(NOUNS[str(name)] for name in names)


@pytest.mark.hard
@pytest.mark.parametrize("query", WHICH)
def test_of_flaws_the_order_changes_nothing_and_the_sentence_denies_no_choice(query):
    rng = np.random.default_rng(5)
    for _ in range(60):
        given = offered(rng)
        turned = tuple(reversed(given))
        for evidence in EVIDENCE[:6]:
            found = answered(query, evidence, given)
            assert chosen(query, evidence, turned) == given[ord(found.text) - ord("A")]
            denied = any(text.endswith(f"{DENYING}.") for text in found.sentences)
            if "NOT" not in query and denied:
                assert found.doubts
                assert "None of these can be seen" in found.doubts[0]


@pytest.mark.parametrize("word", [word for word, _ in CLAIMS])
def test_the_sentence_says_what_the_headline_says(word):
    meaning = read(f"Is it {word}?").meaning
    asked = meaning.known()
    assert asked is not None
    for evidence in EVIDENCE:
        found = answered(f"Is it {word}?", evidence)
        end = meaning.polarity if found.text == "Yes" else -meaning.polarity
        if asked.name in MUCH and asked.name != "symmetric":
            assert found.sentences[0].startswith(f"The picture is {asked.word(end)}"), word


@pytest.mark.parametrize("word", [word for word, _ in CLAIMS])
@pytest.mark.parametrize("given", [(), ("Yes", "No"), ("Not at all", "Slightly", "Very")])
def test_without_a_reading_of_the_asked_thing_there_is_always_a_doubt(word, given):
    name = dict(CLAIMS)[word]
    whole = EVIDENCE[0].whole
    without = MadeEvidence({other: each for other, each in whole.items() if other != name})
    guess = MadeEvidence({**whole, name: PropertyReading("Perhaps.", whole[name].amounts, guess=True)})
    query = f"How {word} is it?" if "Very" in given else f"Is it {word}?"
    assert answered(query, without, given).doubts
    assert answered(query, guess, given).doubts
