"""The real object detector, whose package ``make parity`` installs: what it finds in scikit-image's pictures."""

from __future__ import annotations

import pytest
from PIL import Image
from skimage import data

from agenticiqa.backends.embedded.noun_phrases import parse_object
from agenticiqa.backends.embedded.objects import load_detector
from agenticiqa.backends.embedded.places import locate
from agenticiqa.images import decode_image, png_bytes


@pytest.mark.parametrize(
    ("picture", "asked", "centre", "label"),
    [
        (data.chelsea, "cat", (225, 150), "cat"),
        (data.coffee, "mug", (300, 190), "cup"),
        (data.astronaut, "woman", (220, 250), "person"),
        (lambda: data.stereo_motorcycle()[0], "vehicle", (370, 280), "motorcycle"),
    ],
)
def test_object_is_found_where_it_is(picture, asked, centre, label):
    image = decode_image(png_bytes(Image.fromarray(picture())))
    place = locate(parse_object(asked), image)
    assert place.box is not None, place.note
    assert f"({label}, chance 0." in (place.note or "")
    x, y = place.box.x + place.box.width / 2, place.box.y + place.box.height / 2
    assert abs(x - centre[0]) < image.size[0] / 6
    assert abs(y - centre[1]) < image.size[1] / 6


def test_what_is_not_there_is_not_found():
    image = decode_image(png_bytes(Image.fromarray(data.coffee())))
    assert load_detector() is not None
    assert locate(parse_object("elephant"), image).note == (
        "'elephant' was not found in the picture, so the whole picture was judged"
    )
