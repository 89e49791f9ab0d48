"""Questions as people ask them about photographs and generated pictures, with two to four options: each is read as
what it asks, of the part it names, and its options lie on the right side.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agenticiqa.embedded.language.question import understand

QUESTIONS = Path(__file__).resolve().parents[1] / "data" / "people_questions.jsonl"
CASES = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
ON_AXIS = ("yes_no", "degree", "rating")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["query"])
def test_read_as_meant(case: dict[str, Any]):
    read = understand(case["query"], case["options"]).meaning
    assert case["property"] == ["any"] or str(read.property) in case["property"]
    assert "any" in case["form"] or read.form in case["form"]
    parts = " / ".join(part.name for part in read.parts)
    if case["part"] == "Global":
        assert not parts
    elif case["part"] != "any":
        assert case["part"] in parts
    if case["axis"] and read.form in ON_AXIS and read.property == case["property"][0]:
        found = {option.text: option.amount for option in read.options}
        assert all(_same_side(found[text], amount) for text, amount in case["axis"].items()), found


def _same_side(found: float | None, wanted: float) -> bool:
    return found is not None and (wanted == 0.5 or (found > 0.5) == (wanted > 0.5))


# --- what describes a part is not what is asked of it ---


@pytest.mark.parametrize(
    ("query", "asked", "part"),
    [
        ("Is the dark corner noisy?", "noisy", "corner"),
        ("Is the bright sky noisy?", "noisy", "sky"),
        ("Is the colourful flower sharp?", "sharp", "flower"),
        ("Is the soft background noisy?", "noisy", "background"),
        ("Is the out of focus dog noisy?", "noisy", "dog"),
        ("Is the very dark area underexposed?", "underexposed", "dark area"),
        ("Does the noisy shadow look too dark?", "underexposed", "shadow"),
        ("Are the blurry people in the background moving?", "motion_blurred", "people in the background"),
        ("Is the low-light area at the bottom full of noise?", "noisy", "bottom"),
        ("Is the blurry background intentional?", "intended", "background"),
    ],
)
def test_the_predicate_is_asked_about(query, asked, part):
    read = understand(query).meaning
    assert (read.property, [each.name for each in read.parts], read.polarity) == (asked, [part], 1)


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("Is there a dark corner?", "vignetted"),
        ("Is there a blurry background?", "sharp"),
        ("Do the colours pop?", "colourful"),
        ("Is the noise level high?", "noisy"),
        ("Is the horizon level?", "level"),
        ("Is the whole picture sharp?", "sharp"),
    ],
)
def test_a_description_is_asked_about_where_nothing_else_is(query, asked):
    assert understand(query).meaning.property == asked


def test_words_of_amount_are_no_claims():
    read = understand("How noticeable is the blur?", ["Clearly noticeable", "Hardly noticeable"]).meaning
    strong, weak = (option.amount or 0.0 for option in read.options)
    assert strong < 0.5 < weak


@pytest.mark.parametrize("order", [1, -1])
def test_five_levels_of_quality_are_five(order):
    levels = ["Bad", "Poor", "Fair", "Good", "Excellent"][::order]
    read = understand("What is the overall quality of the picture?", levels).meaning
    found = [option.amount for option in read.options][::order]
    assert found == sorted(set(found))
