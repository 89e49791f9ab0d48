"""What a provider receives decodes to the very pixels of the file."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageOps
from scripted_server import Answer
from wire import WIRES, Wire

from agenticiqa.pictures.images import EXIF_ORIENTATION, load_image
from agenticiqa.vlm_client import LabelledImage, ModelRequest

pytestmark = pytest.mark.contract

FORMATS = ("png", "jpeg", "bmp", "rotated", "palette", "webp")


@pytest.fixture(params=list(WIRES), ids=list(WIRES))
def wire(request) -> Wire:
    return WIRES[request.param]


def _gradient() -> Image.Image:
    y, x = np.mgrid[0:48, 0:64]
    noise = np.random.default_rng(5).integers(0, 20, (48, 64))
    return Image.fromarray(np.stack([x * 3 + noise, y * 4 + noise, (x + y) + noise], axis=2).astype(np.uint8))


def _write(folder, kind: str):
    picture, file = _gradient(), folder / f"picture-{kind}"
    if kind == "png":
        picture.save(file, "PNG")
    elif kind == "jpeg":
        picture.save(file, "JPEG", quality=60)
    elif kind == "bmp":
        picture.save(file, "BMP")
    elif kind == "rotated":
        exif = Image.Exif()
        exif[EXIF_ORIENTATION] = 6
        picture.save(file, "JPEG", quality=60, exif=exif)
    elif kind == "palette":
        picture.quantize(64).save(file, "PNG")
    else:
        picture.save(file, "WEBP", quality=50)
    return file


@pytest.mark.parametrize("kind", FORMATS)
def test_pixels_arrive_unchanged(wire, scripted, tmp_path, kind):
    file = _write(tmp_path, kind)
    server = scripted(Answer(wire.good("hello")))
    image = load_image(file)
    wire.make(server.url).complete(
        ModelRequest(
            user="rate it",
            system="You judge.",
            images=(LabelledImage("test image", image), LabelledImage("reference image", image)),
        )
    )
    body = server.asked[0].body
    parts = wire.parts(body)
    assert [content for name, content in parts if name == "text"] == ["test image:", "reference image:", "rate it"]
    assert [name for name, _ in parts] == ["text", "image", "text", "image", "text"]
    assert wire.system(body) == "You judge."
    media_type, data = parts[1][1]
    assert media_type in ("image/png", "image/jpeg", "image/webp")
    with Image.open(file) as original, Image.open(io.BytesIO(data)) as received:
        upright = ImageOps.exif_transpose(original).convert("RGB")
        assert Image.MIME[received.format] == media_type
        np.testing.assert_array_equal(np.asarray(received.convert("RGB")), np.asarray(upright))
        # Viewers that honour the orientation tag must not turn the picture a second time.
        assert received.getexif().get(EXIF_ORIENTATION, 1) == 1


@pytest.mark.parametrize("kind", ["png", "jpeg", "webp", "palette"])
def test_common_formats_travel_as_the_files_own_bytes(wire, scripted, tmp_path, kind):
    file = _write(tmp_path, kind)
    server = scripted(Answer(wire.good("hello")))
    wire.make(server.url).complete(ModelRequest(user="x", images=(LabelledImage("test image", load_image(file)),)))
    assert wire.parts(server.asked[0].body)[1][1][1] == file.read_bytes()


def test_shrinking_is_noted(wire, scripted, tmp_path, caplog):
    server = scripted(Answer(wire.good("hello")))
    image = load_image(_write(tmp_path, "png"))
    client = wire.make(server.url, max_image_side=32)
    reply = client.complete(ModelRequest(user="x", images=(LabelledImage("test image", image),)))
    assert reply.notes == ("test image: shrunk from 64×48 to 32×24 to fit the provider's limit",)
    assert "shrunk from 64×48" in caplog.text
    with Image.open(io.BytesIO(wire.parts(server.asked[0].body)[1][1][1])) as received:
        assert received.size == (32, 24)
