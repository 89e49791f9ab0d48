"""Finding the answer's token in a reply and reading what else might have stood there."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenticiqa.models.replies import ReplyToken, answer_logprobs
from agenticiqa.vocabulary import LETTER_LEVELS

LETTERS = tuple(LETTER_LEVELS)

LN = math.log


def reply(
    pieces: list[str], place: int, alternatives: dict[str, float], logprob: float | None = None
) -> list[ReplyToken]:
    """Tokens of a reply; the one at ``place`` has these alternatives, given as probabilities."""
    pairs = tuple((text, LN(p)) for text, p in alternatives.items())
    chosen = pieces[place]
    own = LN(alternatives[chosen]) if logprob is None else logprob
    return [ReplyToken(text, own, pairs) if i == place else ReplyToken(text, -0.01) for i, text in enumerate(pieces)]


@pytest.mark.parametrize(
    ("pieces", "place"),
    [
        (['{"final_answer": "', "C", '", "why": "x"}'], 1),
        (['{"final_answer":', ' "', "C", '"}'], 2),
        (['{"final', '_answer": ', '"C', '", "why": "x"}'], 2),
        (['{"final_answer":', ' "C', '"}'], 1),
        (['{"final_answer":', ' "C"', "}"], 1),
        (['{"final_answer": "', 'C"', "}"], 1),
        (['{"final_answer": "', 'C",', ' "why": 1}'], 1),
        (['{\n  "final_answer"', " :\n", '  "', " C", '"\n}'], 3),
        (['{"final_answer":', '"', "(", "C", ")", '"}'], 3),
        (['{"why": "it says \\"final_answer\\": \\"A\\"", "final_answer": "', "C", '"}'], 1),
        (['```json\n{"final_answer": "', "C", '"}\n```'], 1),
        (['{"final_answer": "', "C", ". Fair", '"}'], 1),
        (['{"final_answer": "', "C.", " Fair", '"}'], 1),
        (["{", '"', "final", "_", "answer", '"', ":", '"', "C", '"', "}"], 8),
    ],
)
def test_the_letter_is_found_in_every_tokenisation(pieces, place):
    chosen = pieces[place]
    other = chosen.replace("C", "B")
    found = answer_logprobs(reply(pieces, place, {chosen: 0.6, other: 0.3}), LETTERS)
    assert found is not None
    assert found["C"] == pytest.approx(LN(0.6))
    assert found["B"] == pytest.approx(LN(0.3))


def test_variants_of_one_letter_add_up():
    tokens = reply(['{"final_answer": "', "C", '"}'], 1, {"C": 0.3, "c": 0.1, " C": 0.05, 'C"': 0.05, "B": 0.2})
    found = answer_logprobs(tokens, LETTERS)
    assert found["C"] == pytest.approx(LN(0.5))
    assert found["B"] == pytest.approx(LN(0.2))


def test_level_words_stand_for_letters():
    tokens = reply(['{"final_answer": "', "Good", '"}'], 1, {"Good": 0.5, "B": 0.1, "Fair": 0.2, "excellent": 0.1})
    found = answer_logprobs(tokens, LETTERS)
    assert found["B"] == pytest.approx(LN(0.6))
    assert found["C"] == pytest.approx(LN(0.2))
    assert found["A"] == pytest.approx(LN(0.1))


def test_first_pieces_of_level_words():
    tokens = reply(['{"final_answer": "', "Ex", "cellent", '"}'], 1, {"Ex": 0.5, "Po": 0.2, "Ba": 0.1, "E": 0.05})
    found = answer_logprobs(tokens, LETTERS)
    assert found["A"] == pytest.approx(LN(0.5))
    assert found["D"] == pytest.approx(LN(0.2))
    assert found["E"] == pytest.approx(LN(0.15))


def test_a_single_character_is_read_as_the_whole_answer_says():
    word = reply(['{"final_answer": "', "E", "xcellent", '"}'], 1, {"E": 0.6, "B": 0.2, "A": 0.1})
    assert answer_logprobs(word, LETTERS)["A"] == pytest.approx(LN(0.7))
    assert answer_logprobs(word, LETTERS)["E"] == pytest.approx(LN(0.2))
    letter = reply(['{"final_answer": "', "E", '"}'], 1, {"E": 0.6, "B": 0.2})
    assert answer_logprobs(letter, LETTERS)["E"] == pytest.approx(LN(0.6))
    assert answer_logprobs(letter, LETTERS)["B"] == pytest.approx(LN(0.2))


def test_words_mean_nothing_where_the_letters_are_not_levels():
    tokens = reply(['{"final_answer": "', "B", '"}'], 1, {"B": 0.6, "Excellent": 0.2, "A": 0.1})
    found = answer_logprobs(tokens, ("A", "B"))
    assert found == {"A": pytest.approx(LN(0.1)), "B": pytest.approx(LN(0.6))}


def test_letters_outside_the_alternatives_share_what_is_left():
    tokens = reply(['{"final_answer": "', "C", '"}'], 1, {"C": 0.5, "B": 0.44})
    found = answer_logprobs(tokens, LETTERS)
    assert found["A"] == found["D"] == found["E"] == pytest.approx(LN(0.02))


def test_the_floor_is_not_above_the_least_likely_alternative():
    tokens = reply(['{"final_answer": "', "C", '"}'], 1, {"C": 0.5, "B": 0.001})
    assert answer_logprobs(tokens, LETTERS)["A"] == pytest.approx(LN(0.001))


def test_no_mass_left_gives_a_finite_floor():
    tokens = [ReplyToken('{"final_answer": "', 0.0), ReplyToken("C", 0.0, (("C", 0.0),)), ReplyToken('"}', 0.0)]
    found = answer_logprobs(tokens, LETTERS)
    assert found["C"] == 0
    assert math.isfinite(found["A"])
    assert found["A"] < -20


def test_infinite_figures_are_left_out():
    pairs = (("C", -0.1), ("B", -math.inf), ("A", math.nan))
    tokens = [ReplyToken('{"final_answer": "', 0.0), ReplyToken("C", -0.1, pairs), ReplyToken('"}', 0.0)]
    assert all(math.isfinite(value) for value in answer_logprobs(tokens, LETTERS).values())


def test_a_chosen_token_missing_from_the_alternatives_counts():
    tokens = reply(['{"final_answer": "', "D", '"}'], 1, {"C": 0.5, "B": 0.3}, logprob=LN(0.1))
    assert answer_logprobs(tokens, LETTERS)["D"] == pytest.approx(LN(0.1))


@pytest.mark.parametrize(
    "pieces",
    [
        [],
        ["I think it is ", "C"],
        ['{"answer": "', "C", '"}'],
        ['{"final_answer": "', "Cat", '"}'],
        ['{"final_answer": "', "Unable", " to determine", '"}'],
        ['{"final_answer": "', '"}'],
        ['{"final_answer": ', "3", "}"],
        ['{"final_answer": '],
        ['{"final_answer": "'],
        ['{"final_answer": "', "The", " answer is B", '"}'],
    ],
)
def test_no_letter_no_figures(pieces):
    assert answer_logprobs([ReplyToken(piece, -0.1, ((piece, -0.1),)) for piece in pieces], LETTERS) is None


def test_no_letters_asked_for():
    assert answer_logprobs([ReplyToken('{"final_answer": "C"}', 0.0)], ()) is None


@given(
    answer=st.sampled_from(LETTERS),
    before=st.text(max_size=20),
    after=st.text(max_size=20),
    cuts=st.lists(st.integers(0, 200), max_size=12),
    indent=st.sampled_from([None, 0, 2]),
    escape=st.booleans(),
)
def test_any_cut_of_any_json_finds_the_letter(answer, before, after, cuts, indent, escape):
    value = {"first": before, "final_answer": answer, "last": after}
    text = json.dumps(value, indent=indent, ensure_ascii=escape)
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[a:b] for a, b in pairwise(edges)]
    found = answer_logprobs([ReplyToken(piece, LN(0.5)) for piece in pieces], LETTERS)
    assert found is not None
    assert found[answer] == pytest.approx(LN(0.5))
    assert max(found, key=found.__getitem__) == answer or found[answer] == max(found.values())


@given(
    probabilities=st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=20),
    texts=st.lists(st.sampled_from(["A", "B", "C", "D", "E", "a", " b", "x", '"', "Good", "fa"]), min_size=20),
)
def test_figures_are_finite_and_a_sub_distribution(probabilities, texts):
    total = sum(probabilities) * 1.0001
    pairs = tuple((text, LN(p / total)) for text, p in zip(texts, probabilities, strict=False))
    tokens = [
        ReplyToken('{"final_answer": "', 0.0),
        ReplyToken("C", pairs[0][1], (("C", pairs[0][1]), *pairs[1:])),
        ReplyToken('"', 0.0),
    ]
    found = answer_logprobs(tokens, LETTERS)
    assert set(found) == set(LETTERS)
    assert all(math.isfinite(value) for value in found.values())
    assert sum(math.exp(value) for value in found.values()) <= 1 + 1e-6
