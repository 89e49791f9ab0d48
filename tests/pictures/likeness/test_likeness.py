"""Candidates among many pictures, and the closer comparison of two."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageEnhance

from agenticiqa.auditing.findings import measured
from agenticiqa.pictures.images import decode_image, png_bytes
from agenticiqa.pictures.likeness import (
    NEAREST,
    NUMBERS,
    VIEWS,
    SmallView,
    as_text,
    close_pairs,
    from_text,
    matched,
    tone_departure,
)
from support.shoots import moved, photograph


def view(picture: Image.Image) -> SmallView:
    return measured(decode_image(png_bytes(picture)))[1]


def likeness(one: SmallView, other: SmallView) -> float:
    return matched(one, other).likeness


def encoded(picture: Image.Image, quality: int) -> Image.Image:
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=quality)
    return Image.open(buffer).convert("RGB")


VERSIONS = {
    "encoded": lambda picture: encoded(picture, 40),
    "scaled": lambda picture: picture.resize((picture.width // 2, picture.height // 2)),
    "cropped": lambda picture: picture.crop((14, 4, picture.width - 4, picture.height - 10)),
    "brightened": lambda picture: ImageEnhance.Brightness(picture).enhance(1.2),
    "without colours": lambda picture: picture.convert("L").convert("RGB"),
}


@pytest.mark.parametrize("name", ["astronaut", "cat", "coffee"])
@pytest.mark.parametrize("change", VERSIONS)
def test_a_version_is_close_and_alike(name, change):
    original, version = view(photograph(name)), view(VERSIONS[change](photograph(name)))
    assert close_pairs(np.stack([original.fingerprints, version.fingerprints])).tolist() == [[0, 1]]
    assert likeness(original, version) > 0.96
    assert likeness(version, original) > 0.96


def test_other_pictures_are_neither():
    views = [view(photograph(name)) for name in ("astronaut", "cat", "coffee")]
    assert close_pairs(np.stack([each.fingerprints for each in views])).size == 0
    assert max(likeness(views[0], views[1]), likeness(views[1], views[2])) < 0.5


def test_another_shot_of_a_scene_is_alike_but_not_the_same():
    coffee = photograph("coffee")
    pixels = np.asarray(moved(coffee, 5, -4, 1.0)).copy()
    # Something has come into the picture since.
    pixels[40:120, 60:150] = np.asarray(photograph("cat").resize((90, 80)))
    found = likeness(view(moved(coffee, 0, 0)), view(Image.fromarray(pixels)))
    assert 0.5 < found < 0.96


def test_what_shows_nothing_is_like_nothing():
    flat = view(Image.new("RGB", (120, 90), (80, 80, 80)))
    assert likeness(flat, flat) == 0.0


def test_fingerprints_travel_as_text():
    fingerprints = view(photograph("cat")).fingerprints
    assert (from_text(as_text(fingerprints)) == fingerprints).all()


def test_copies_are_found_among_thousands_without_comparing_all():
    """Cost and candidates do not grow with the square: random fingerprints have no partner, copies have theirs."""
    random = np.random.default_rng(3)
    fingerprints = random.normal(size=(4000, 1, NUMBERS))
    fingerprints = np.repeat(fingerprints / np.linalg.norm(fingerprints, axis=2, keepdims=True), VIEWS, axis=1)
    fingerprints[3000:] = fingerprints[:1000] + random.normal(0, 0.02, (1000, VIEWS, NUMBERS))
    found = close_pairs(np.rint(fingerprints * 110).astype(np.int8))
    right = {(number, 3000 + number) for number in range(1000)}
    assert len(right & set(map(tuple, found.tolist()))) >= 990
    assert len(found) < 1200


def test_a_folder_of_equals_has_few_candidates_each():
    alike = np.tile(view(photograph("cat")).fingerprints, (500, 1, 1))
    found = close_pairs(alike)
    assert len(found) <= 500 * NEAREST
    # All hang together.
    reached, front = {0}, [0]
    partners: dict[int, set[int]] = {}
    for one, other in found.tolist():
        partners.setdefault(one, set()).add(other)
        partners.setdefault(other, set()).add(one)
    while front:
        new = partners[front.pop()] - reached
        reached |= new
        front += new
    assert len(reached) == 500


def exposed(picture: Image.Image, stops: float) -> Image.Image:
    """As a camera would have done it: more light, then a curve that spares the highlights."""
    light = (np.asarray(picture, np.float64) / 255) ** 2.2
    more = light * 2**stops
    return Image.fromarray(np.rint(255 * (more * (1 + 0.3) / (more + 0.3)) ** (1 / 2.2)).clip(0, 255).astype(np.uint8))


@pytest.mark.parametrize("name", ["astronaut", "cat", "coffee"])
@pytest.mark.parametrize("change", ["encoded", "scaled", "cropped", "brightened"])
def test_tones_of_a_version_are_brightened_at_most(name, change):
    original, version = view(photograph(name)), view(VERSIONS[change](photograph(name)))
    assert tone_departure(matched(original, version)) < 0.025
    assert tone_departure(matched(version, original)) < 0.025


@pytest.mark.parametrize("name", ["astronaut", "cat", "coffee"])
def test_another_exposure_has_other_tones(name):
    shot, brighter = view(exposed(photograph(name), 0)), view(exposed(photograph(name), 1.0))
    assert matched(shot, brighter).likeness > 0.96
    assert tone_departure(matched(shot, brighter)) > 0.03
    assert tone_departure(matched(brighter, shot)) > 0.03


@pytest.mark.parametrize("tone", [0, 80, 255])
def test_nothing_is_said_of_tones_where_there_are_none(tone):
    flat = view(Image.new("RGB", (120, 90), (tone, tone, tone)))
    assert tone_departure(matched(flat, flat)) == 0.0
