"""Readers on scenes whose truth is known because they were drawn."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from agenticiqa.embedded.properties import properties
from agenticiqa.embedded.readings.base import PropertyReading, reader_of
from agenticiqa.embedded.readings.light import colour_cast
from agenticiqa.pictures.images import Box
from support.drawn import (
    HEIGHT,
    WIDTH,
    bare_look,
    disc,
    grainy,
    ground,
    horizon,
    mirrored,
    page,
    patches,
    shapes,
    tiled,
)


def told(name: str, rgb: np.ndarray, box: Box | None = None, **saving: object) -> PropertyReading:
    reader = reader_of(name)
    assert reader is not None
    found = reader(bare_look(rgb, box, **saving))
    assert found is not None
    return found


def likeliest(found: PropertyReading) -> str:
    return max(found.values, key=lambda name: found.values[name])


def test_every_property_has_a_reader_or_says_why_not():
    for name, entry in properties().items():
        said = "nothing" in entry.reading
        assert said == (reader_of(name) is None), name
        if said:
            assert len(entry.reading["nothing"]) > 10


def test_readers_name_only_values_of_the_vocabulary():
    scene = disc(1, 1 / 3, 1 / 3)
    for name in ("composition", "colour_scheme", "aspect", "file_format", "mood", "symmetric"):
        values = set(properties()[name].values.values())
        assert set(told(name, scene).values) <= values, name


# --- light ---


def test_brightness_of_parts_can_be_compared():
    scene = np.concatenate([ground(1, (50, 50, 50)), ground(1, (190, 190, 190))], axis=1)
    left, right = (told("bright", scene, Box(x, 0, WIDTH, HEIGHT)) for x in (0, WIDTH))
    assert left.amount < 0.4 < 0.6 < right.amount
    assert "Dark" in left.sentence
    assert "right" not in left.sentence


def test_contrast_follows_how_far_tones_lie_apart():
    scene = shapes(3).astype(np.float32)
    flat = (scene.mean() + 0.2 * (scene - scene.mean())).astype(np.uint8)
    assert told("contrasty", flat).amount < 0.2
    assert told("contrasty", shapes(3, 120)).amount > 0.4  # neither black nor white is in it


def test_even_and_one_sided_light():
    even = ground(2)
    one_sided = (even * np.linspace(1, 0.1, WIDTH)[None, :, None]).astype(np.uint8)
    assert told("evenly_lit", even).amount > 0.75
    found = told("evenly_lit", one_sided)
    assert found.amount < 0.5
    assert found.guess


def test_dark_corners_are_seen_and_never_certain():
    rows, columns = np.mgrid[-1 : 1 : HEIGHT * 1j, -1 : 1 : WIDTH * 1j]
    fall = 2.0 ** (-2 * (rows**2 + columns**2) / 2)
    dark = (ground(4) * fall[..., None]).astype(np.uint8)
    assert told("vignetted", dark).presence > 0.8 > 0.3 > told("vignetted", ground(4)).presence
    assert told("vignetted", dark).guess


# --- colour ---

COLOURS = {
    "red": (200, 20, 30),
    "orange": (255, 150, 20),
    "yellow": (250, 220, 30),
    "green": (40, 140, 50),
    "blue": (30, 80, 200),
    "purple": (120, 30, 150),
    "pink": (255, 150, 190),
    "brown": (110, 65, 30),
    "gray": (128, 128, 128),
    "black": (10, 10, 10),
    "white": (250, 250, 250),
}


@pytest.mark.parametrize("name", COLOURS)
def test_the_main_colour_has_its_name(name):
    other = (120, 125, 118) if name != "gray" else (30, 80, 200)
    found = told("colour_scheme", patches(1, [COLOURS[name], other], [0.75, 0.25]))
    chances = {each: found.values.get(each, 0.0) for each in COLOURS}
    assert max(chances, key=lambda each: chances[each]) == name
    assert name in found.sentence or name in ("gray", "black", "white")


def test_black_and_white_is_told_from_colour():
    grey = shapes(5).mean(axis=2, keepdims=True).repeat(3, axis=2).astype(np.uint8)
    assert told("colour_scheme", grey).values["monochrome"] > 0.9
    assert told("colourful", grey).amount < 0.1
    assert "black and white" in told("colour_cast", grey).sentence
    assert told("colour_scheme", shapes(5)).values["monochrome"] < 0.1


def test_warm_and_cool():
    warm = told("colour_scheme", patches(2, [(220, 80, 30), (240, 190, 60)], [0.5, 0.5])).values
    cool = told("colour_scheme", patches(2, [(30, 90, 200), (60, 160, 200)], [0.5, 0.5])).values
    assert warm["warm"] > 0.9 > 0.1 > warm["cool"]
    assert cool["cool"] > 0.9 > 0.1 > cool["warm"]
    both = told("colour_scheme", patches(2, [(220, 60, 30), (30, 90, 200)], [0.5, 0.5])).values
    assert both["complementary"] > 0.5
    assert both["mixed"] > max(both["warm"], both["cool"])


def test_colourfulness_by_degree():
    amounts = [told("colourful", patches(3, [(128 + s, 128 - s, 128), (128, 128 - s, 128 + s)], [1, 1])).amount
               for s in (4, 20, 50, 110)]  # fmt: skip
    assert amounts == sorted(amounts)
    assert amounts[0] < 0.3
    assert amounts[-1] > 0.7


def test_a_cast_names_its_hue_and_is_a_guess():
    yellow = (shapes(6).mean(axis=2, keepdims=True) * [1.0, 0.85, 0.45]).astype(np.uint8)
    found = colour_cast(bare_look(yellow))  # without the networks, which weigh in where people's word is asked for
    assert found.presence > 0.7
    assert found.guess
    assert found.numbers["hue"] in ("yellow", "orange")


# --- arrangement ---


@pytest.mark.parametrize("axis", ["left_right_mirror", "top_bottom_mirror", "rotational"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_symmetry_with_its_axis(axis, seed):
    found = told("symmetric", grainy(mirrored(shapes(seed), axis)))
    assert found.amount > 0.7
    assert likeliest(found) == axis


@pytest.mark.parametrize("seed", range(6))
def test_shapes_at_random_are_neither_symmetric_nor_repetitive(seed):
    assert told("symmetric", shapes(seed)).amount < 0.55
    assert told("repetitive", shapes(seed)).amount < 0.5


@pytest.mark.parametrize(("across", "down"), [(4, 3), (6, 4), (8, 8)])
def test_a_pattern_that_comes_back(across, down):
    found = told("repetitive", grainy(tiled(shapes(7, 12), across, down)))
    assert found.amount > 0.7
    assert "comes back" in found.sentence


@pytest.mark.parametrize("degrees", [-7, 0, 4])
def test_the_tilt_of_a_horizon(degrees):
    found = told("level", horizon(3, degrees))
    assert found.numbers["degrees"] == pytest.approx(degrees, abs=0.7)
    assert (found.amount > 0.5) == (degrees == 0)
    assert found.guess


# --- subject ---


@pytest.mark.parametrize(
    ("x", "y", "where"), [(0.5, 0.5, "centred"), (1 / 3, 1 / 3, "thirds"), (2 / 3, 0.6, "thirds"), (0.9, 0.5, "edge")]
)
def test_where_the_subject_lies(x, y, where):
    found = told("composition", disc(1, x, y))
    assert max(("centred", "thirds", "edge"), key=lambda name: found.values[name]) == where


@pytest.mark.hard
def test_the_rule_of_thirds():
    on, off = told("rule_of_thirds", disc(2, 1 / 3, 2 / 3)), told("rule_of_thirds", disc(2, 0.5, 0.5))
    assert on.amount > 0.7 > 0.4 > off.amount


def test_what_stands_out_is_emphasised():
    scene = disc(3, 0.25, 0.5)
    assert told("emphasised", scene).amount > 0.6
    left, right = (told("emphasised", scene, Box(x, 0, WIDTH // 2, HEIGHT)) for x in (0, WIDTH // 2))
    assert left.amount > 0.5 > right.amount


def test_empty_and_crowded():
    assert told("empty", disc(4, 0.5, 0.5)).amount > 0.6
    assert told("empty", shapes(8, 150)).amount < 0.4
    assert told("cluttered", disc(4, 0.5, 0.5)).presence < 0.3


# --- detail, size, file, text ---


def test_detail_enlarging_and_fringes():
    rng = np.random.default_rng(1)
    fine = cv2.GaussianBlur(rng.uniform(0, 255, (256, 256, 3)).astype(np.float32), (0, 0), 0.6).astype(np.uint8)
    enlarged = cv2.resize(fine[:100, :100], (256, 256), interpolation=cv2.INTER_CUBIC)
    assert told("upscaled", fine).presence < 0.2
    assert not told("upscaled", fine).guess
    assert told("upscaled", enlarged).presence > 0.8
    assert told("upscaled", enlarged).guess
    assert told("detailed", fine).amount > 0.8
    assert told("detailed", cv2.GaussianBlur(fine, (0, 0), 3)).amount < 0.4
    grey = shapes(9, 60).mean(axis=2).astype(np.uint8)
    middle = (WIDTH - 1) / 2, (HEIGHT - 1) / 2
    larger = cv2.getRotationMatrix2D(middle, 0, 1.006)
    red = cv2.warpAffine(grey, larger, (WIDTH, HEIGHT), borderMode=cv2.BORDER_REFLECT)
    assert told("fringed", np.stack([red, grey, grey], axis=2)).presence > 0.8
    assert told("fringed", np.stack([grey, grey, grey], axis=2)).presence < 0.2


def test_sizes_shapes_and_prints():
    large = np.zeros((2480, 3508, 3), np.uint8)
    assert told("printable", large).numbers["largest_at_300_dpi"] == "A4"
    assert "A4" in told("printable", large).sentence
    small = told("printable", ground(1))
    assert small.amount < 0.15
    assert told("resolution", ground(1)).sentence == "320×240 pixels, 0.077 megapixels."
    assert told("resolution", large).amount > 0.6 > told("resolution", ground(1)).amount
    assert likeliest(told("aspect", ground(1))) == "landscape_format"
    assert told("aspect", ground(1)).values["ratio_4:3"] == 1.0
    assert told("aspect", np.zeros((64, 64, 3), np.uint8)).values["square"] > 0.9


def test_facts_of_the_file():
    found = told("file_format", ground(1), format="JPEG", quality=60)
    assert found.numbers["jpeg_quality"] == 60
    assert found.values["jpeg"] == 1.0
    assert "JPEG quality 60" in found.sentence
    assert told("file_format", ground(1)).values["lossless"] == 1.0
    assert reader_of("camera_settings")(bare_look(ground(1))) is None


def test_text_large_and_strong_is_legible_tiny_or_faint_is_not():
    assert told("legible", page(24, 0)).amount > 0.6
    assert told("legible", page(24, 225)).amount < 0.5
    assert told("legible", page(24, 0)).guess
    assert reader_of("legible")(bare_look(ground(1))) is None


def test_moods_are_guesses():
    for name in ("mood",):
        assert told(name, shapes(1)).guess
