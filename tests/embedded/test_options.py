"""What options claim, and how they are found."""

from __future__ import annotations

import pytest

from agenticiqa.embedded.language.options import claim_of, read_options, split_options


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Yes", "yes"),
        ("No.", "no"),
        ("Motion blur", "distortion"),
        ("Very", "degree"),
        ("Excellent", "level"),
        ("Good quality", "level"),
        ("Center", "region"),
        ("The man in the hat", "region"),
        ("on the left side", "region"),
        ("Both", "comparison"),
        ("Better than the reference", "comparison"),
        ("Melancholy", "nothing"),
        ("", "nothing"),
    ],
)
def test_kind_of_claim(text: str, kind: str) -> None:
    assert claim_of(text).kind == kind


@pytest.mark.parametrize(
    ("text", "category", "distortion"),
    [
        ("Overexposure", "Brightness change", "overexposure"),
        ("Out of focus", "Blurs", "defocus"),
        ("JPEG artefacts", "Compression", "jpeg"),
        ("Too warm", "Color distortions", "color cast"),
        ("Salt and pepper noise", "Noise", "impulse noise"),
        ("Hazy", "Contrast", "haze"),
        ("Pixelation", "Spatial distortions", "pixelation"),
        ("Oversharpened", "Sharpness", "oversharpening"),
    ],
)
def test_distortions(text: str, category: str, distortion: str) -> None:
    claim = claim_of(text)
    assert (claim.category, claim.distortion) == (category, distortion)


@pytest.mark.parametrize(
    ("text", "degree"),
    [
        ("Not at all", "none"),
        ("None", "none"),
        ("A little bit", "slight"),
        ("Slightly", "slight"),
        ("Moderate", "moderate"),
        ("Medium", "moderate"),
        ("Very", "severe"),
        ("Severe", "severe"),
        ("Extremely", "extreme"),
        ("Very severe", "extreme"),
        ("Just right", "none"),
    ],
)
def test_degrees(text: str, degree: str) -> None:
    assert claim_of(text).degree == degree


def test_degree_of_a_distortion() -> None:
    assert claim_of("Slightly noisy").degree == "slight"
    assert claim_of("Extremely blurry").degree == "extreme"
    assert claim_of("Noisy").degree is None


@pytest.mark.parametrize(
    ("text", "denies"),
    [
        ("Sharp", True),
        ("Not sharp", False),
        ("Blurry", False),
        ("Not blurry", True),
        ("No noise", True),
        ("Well exposed", True),
        ("Very clear", True),
        ("Unclear", False),
    ],
)
def test_praise_denies_damage(text: str, denies: bool) -> None:
    assert claim_of(text).denies_damage is denies


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("Excellent", 5),
        ("Good", 4),
        ("Fairly good", 4),
        ("Acceptable", 3),
        ("Poor", 2),
        ("Not acceptable", 2),
        ("Bad", 1),
        ("Very bad", 1),
        ("5 (excellent)", 5),
        ("3", 3),
    ],
)
def test_levels(text: str, level: int) -> None:
    assert claim_of(text).level == level


def test_where_options_are_found() -> None:
    expected = {"A": "Blur", "B": "Noise"}
    for query in ("What? A. Blur B. Noise", "What? Blur / Noise", "What?\nBlur\nNoise", "What?\n(a) Blur\n(b) Noise"):
        assert split_options(query) == ("What?", expected)
    assert split_options("What?", ["Blur", "Noise"]) == ("What?", expected)
    assert split_options("Is it blurry? Thanks!") == ("Is it blurry? Thanks!", {})


def test_region_of_an_option() -> None:
    region = claim_of("the upper left corner").region
    assert region is not None
    assert (region.position, region.is_region) == ("top left", True)


def test_right_is_a_side_beside_left() -> None:
    assert [option.claim.kind for option in read_options({"A": "Left", "B": "Right"})] == ["region", "region"]
    assert [option.claim.kind for option in read_options({"A": "Wrong", "B": "Right"})] == ["no", "yes"]


def test_yes_with_a_reason() -> None:
    claim = claim_of("Yes, it is blurry")
    assert (claim.kind, claim.category) == ("yes", "Blurs")
    assert claim_of("No, it is sharp").kind == "no"


@pytest.mark.parametrize(
    ("text", "side"), [("Both are blurry", "both"), ("Equally sharp", "same"), ("Less noisy", "less")]
)
def test_comparing_distortions(text: str, side: str) -> None:
    assert claim_of(text).side == side


@pytest.mark.parametrize(
    ("text", "polarity"), [("Appropriate brightness", "good"), ("Poor sharpness", "bad"), ("Brightness", "neutral")]
)
def test_attributes_praised_and_blamed(text: str, polarity: str) -> None:
    assert claim_of(text).polarity == polarity


@pytest.mark.parametrize("text", ["Cannot tell", "None of the above", "Not sure"])
def test_no_answer_claims_nothing(text: str) -> None:
    assert claim_of(text).kind == "nothing"
