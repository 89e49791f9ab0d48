"""The real object detector, whose package ``make parity`` installs: what it finds in scikit-image's pictures."""

from __future__ import annotations

import pytest
from PIL import Image
from skimage import data

from agenticiqa.embedded.parts import labels_meant, parse_part
from agenticiqa.embedded.places import locate, object_place
from agenticiqa.pictures.images import Box, decode_image, png_bytes
from agenticiqa.vision.locators import overlap
from agenticiqa.vision.objects import load_detector


# The boxes were drawn by eye.
@pytest.mark.parametrize(
    ("picture", "asked", "where", "label"),
    [
        (data.chelsea, "cat", Box(20, 0, 430, 300), "cat"),
        (data.coffee, "mug", Box(172, 18, 236, 265), "cup"),
        (data.astronaut, "woman", Box(20, 0, 410, 512), "person"),
        (lambda: data.stereo_motorcycle()[0], "vehicle", Box(85, 70, 560, 420), "motorcycle"),
    ],
)
def test_object_is_found_where_it_is(picture, asked, where, label):
    image = decode_image(png_bytes(Image.fromarray(picture())))
    detector = load_detector()
    assert detector is not None
    largest = detector.find(image.rgb, labels_meant(parse_part(asked)))[0]
    assert largest.label == label
    assert overlap(largest.box, where) > 0.6, largest
    # What the vision model knows itself is not looked for by the detector.
    place = object_place(parse_part(asked), labels_meant(parse_part(asked)), image)
    assert place.box is not None, place.note
    assert f"({label}, chance 0." in (place.note or "")
    assert largest.box.x <= place.box.x
    assert place.box.x + place.box.width <= largest.box.x + largest.box.width
    assert overlap(locate(parse_part(asked), image).box or Box(0, 0, 1, 1), where) > 0.1


def test_what_is_not_there_is_not_found():
    image = decode_image(png_bytes(Image.fromarray(data.coffee())))
    assert load_detector() is not None
    assert locate(parse_part("elephant"), image).note == (
        "I could not find 'elephant' here, so this is about the whole picture"
    )
