"""Pictures as programs hold them: every kind is the same picture, and what is none is refused with a reason."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from agenticiqa.errors import ImageError, ImageFormatError, ImageNotFoundError, ImageTooLargeError
from agenticiqa.pictures import inputs
from agenticiqa.pictures.images import ImageLimits, LoadedImage, decode_image, load_image
from agenticiqa.pictures.inputs import given_picture
from support.pictures import save, scene

LIMITS = ImageLimits()
PIXELS = scene()
GREY = PIXELS[..., 0]


def type_name(value: object) -> str:
    """Ids that are the same in every worker; an object's own text is not."""
    return type(value).__name__


class Tensor:
    """What this package asks of a torch tensor, and no more; torch itself takes a minute to install."""

    def __init__(self, samples: np.ndarray, *, detached: bool = False, on_cpu: bool = False) -> None:
        self.samples = samples
        self.detached = detached
        self.on_cpu = on_cpu

    def detach(self) -> Tensor:
        return Tensor(self.samples, detached=True, on_cpu=self.on_cpu)

    def cpu(self) -> Tensor:
        return Tensor(self.samples, detached=self.detached, on_cpu=True)

    def numpy(self) -> np.ndarray:
        # As torch does: a tensor that takes part in training, or lies on a GPU, is no array.
        assert self.detached
        assert self.on_cpu
        return self.samples


Tensor.__module__ = "torch"


def opened(value: object) -> LoadedImage:
    return given_picture(value).open(LIMITS)


def png_of(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


# --- the same picture, however it is held ---

HELD: dict[str, Callable[[Path], Any]] = {
    "path": lambda file: file,
    "text": str,
    "bytes": lambda file: file.read_bytes(),
    "bytearray": lambda file: bytearray(file.read_bytes()),
    "memoryview": lambda file: memoryview(file.read_bytes()),
    "BytesIO": lambda file: io.BytesIO(file.read_bytes()),
    "open file": lambda file: file.open("rb"),
    "PIL image": Image.open,
    "loaded": load_image,
    "given": given_picture,
    "uint8 array": lambda _: PIXELS,
    "array of another order": lambda _: np.asfortranarray(PIXELS),
    "view": lambda _: np.flip(np.flip(PIXELS, 1), 1)[::1],
    "read-only array": lambda _: np.frombuffer(PIXELS.tobytes(), np.uint8).reshape(PIXELS.shape),
    "uint16 array": lambda _: PIXELS.astype(np.uint16) * 257,
    "float32 array": lambda _: (PIXELS / 255).astype(np.float32),
    "float64 array": lambda _: PIXELS / 255,
    "RGBA array": lambda _: np.dstack([PIXELS, np.full_like(GREY, 255)]),
    "tensor": lambda _: Tensor(PIXELS.transpose(2, 0, 1)),
    "float tensor": lambda _: Tensor((PIXELS / 255).astype(np.float32).transpose(2, 0, 1)),
    "batch of one": lambda _: Tensor(PIXELS.transpose(2, 0, 1)[None]),
    "channels-last tensor": lambda _: Tensor(PIXELS),
}


@pytest.mark.parametrize("held", HELD.values(), ids=HELD.keys())
def test_every_way_to_hold_a_picture_gives_its_pixels(held: Callable[[Path], Any], tmp_path: Path) -> None:
    file = save(tmp_path / "picture.png", PIXELS)
    found = opened(held(file))
    assert np.array_equal(found.rgb, PIXELS)
    assert np.allclose(found.pixels, PIXELS / 255, atol=1e-7)


@pytest.mark.parametrize(
    "grey",
    [GREY, GREY[..., None], GREY.astype(np.uint16) * 257, GREY / 255, (GREY / 255)[..., None], Tensor(GREY[None])],
    ids=["H×W", "H×W×1", "uint16", "float", "float H×W×1", "tensor"],
)
def test_grey_pictures(grey: Any) -> None:
    assert np.array_equal(opened(grey).rgb, np.repeat(GREY[..., None], 3, axis=2))


def test_a_mask_is_black_and_white() -> None:
    mask = GREY > 128
    assert np.array_equal(opened(mask).rgb[..., 1], np.where(mask, 255, 0))


@pytest.mark.parametrize("white", [255, 65535, 1.0])
def test_transparency_lies_on_white_as_in_a_file(white: float, tmp_path: Path) -> None:
    layer = np.dstack([PIXELS, np.full_like(GREY, 128)])
    kind = {255: np.uint8, 65535: np.uint16, 1.0: np.float64}[white]
    samples = layer * (white / 255)
    Image.fromarray(layer).save(tmp_path / "layer.png")
    expected = load_image(tmp_path / "layer.png").rgb.astype(int)
    found = opened(samples.astype(kind))
    assert np.abs(found.rgb.astype(int) - expected).max() <= 1
    assert any("transparent" in note for note in found.notes)


def test_floats_keep_what_eight_bits_would_lose() -> None:
    ramp = np.tile(np.linspace(0.2, 0.21, 160), (20, 1))
    found = opened(ramp)
    assert len(np.unique(found.pixels)) == 160
    assert np.abs(found.pixels[..., 0] - ramp).max() < 1 / 65535


@pytest.mark.parametrize("beyond", [-1e-9, 1 + 1e-9])
def test_rounding_errors_beyond_the_range_are_forgiven(beyond: float) -> None:
    samples = np.full((8, 8), 0.5)
    samples[0, 0] = beyond
    assert opened(samples).rgb[0, 0, 0] == round(beyond) * 255


# --- PIL ---


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr", "HSV", "LAB"])
def test_pil_images_of_every_mode(mode: str) -> None:
    picture = Image.fromarray(PIXELS)
    converted = picture.convert("RGB" if mode == "LAB" else mode)
    if mode == "LAB":
        from PIL import ImageCms

        profiles = ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB")
        converted = ImageCms.profileToProfile(picture, *profiles, outputMode="LAB")
        assert converted is not None
    found = opened(converted)
    assert found.size == picture.size
    if mode in ("1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr", "HSV"):
        assert np.array_equal(found.rgb, np.asarray(converted.convert("RGB")))


def test_pil_images_of_16_bits_keep_them() -> None:
    samples = (GREY.astype(np.uint16) << 8) + 77
    for picture in (
        Image.fromarray(samples),
        Image.fromarray(samples.astype(np.int32)),
        Image.fromarray(samples.astype(">u2")),
    ):
        assert np.array_equal(opened(picture).measurable, samples), picture.mode


@pytest.mark.parametrize("mode", ["RGBa", "La", "PA"])
def test_pil_images_of_rarer_modes_keep_their_transparency(mode: str) -> None:
    layer = Image.fromarray(np.dstack([GREY, np.full_like(GREY, 128)]), "LA")
    if mode == "PA":
        converted = Image.new("PA", layer.size)
        converted.putpalette([level for level in range(256) for _ in range(3)])
        converted.putdata([tuple(pair) for pair in np.asarray(layer).reshape(-1, 2).tolist()])
    else:
        converted = layer.convert("RGBA").convert("RGBa") if mode == "RGBa" else layer.convert("La")
    found = opened(converted)
    assert "transparent: judged on a white background" in found.notes
    assert np.abs(found.rgb.astype(int) - opened(layer).rgb).max() <= 1


@pytest.mark.parametrize("mode", ["F", "I"])
def test_pil_images_without_a_white_are_refused(mode: str) -> None:
    """As files with such samples are: clipping them to 255 would invent a picture."""
    picture = Image.fromarray(GREY.astype(np.float32) * 1e4).convert(mode)
    with pytest.raises(ImageFormatError, match="samples"):
        opened(picture)


# --- names ---


def test_a_path_is_named_as_it_was_given() -> None:
    assert given_picture("pictures/../photo.jpg").name == "pictures/../photo.jpg"
    assert given_picture(Path("photo.jpg")).name == "photo.jpg"
    assert not given_picture("photo.jpg").in_memory


def test_pictures_in_memory_are_named_by_their_content() -> None:
    first, again, other = (given_picture(each) for each in (PIXELS, PIXELS.copy(), PIXELS[::-1]))
    assert first.name == again.name != other.name
    assert first.name.startswith("memory:")
    assert given_picture(np.zeros((4, 6), np.uint8)).name != given_picture(np.zeros((6, 4), np.uint8)).name
    assert given_picture(np.zeros((2, 4), np.uint8)).name != given_picture(np.zeros((2, 2), np.uint16)).name
    assert given_picture(Image.new("L", (4, 6))).name != given_picture(Image.new("L", (6, 4))).name
    red, green = Image.new("P", (4, 4)), Image.new("P", (4, 4))
    red.putpalette([255, 0, 0])
    green.putpalette([0, 255, 0])
    assert given_picture(red).name != given_picture(green).name


def test_a_loaded_picture_keeps_its_path(tmp_path: Path) -> None:
    file = save(tmp_path / "picture.png", PIXELS)
    loaded = load_image(file)
    assert given_picture(loaded).name == str(file)
    assert opened(loaded) is loaded


# --- what is no picture ---


@pytest.mark.parametrize(
    "value", [None, 7, 3.5, [1, 2], {"image": 1}, object(), (PIXELS,), type], ids=lambda value: type(value).__name__
)
def test_what_cannot_be_a_picture_is_a_type_error(value: object) -> None:
    with pytest.raises(TypeError, match="A picture is a path, bytes"):
        given_picture(value)


def test_a_file_opened_as_text_is_a_type_error(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("no picture")
    with (tmp_path / "a.txt").open() as file, pytest.raises(TypeError, match="'rb'"):
        given_picture(file)
    with pytest.raises(TypeError, match="'rb'"):
        given_picture(io.StringIO("no picture"))


@pytest.mark.parametrize(
    "shape", [(0, 8), (8, 0, 3), (8,), (8, 8, 2), (8, 8, 5), (2, 8, 8, 3), (1, 1, 8, 8, 3), ()], ids=str
)
def test_shapes_that_are_no_pictures_are_named(shape: tuple[int, ...]) -> None:
    given = given_picture(np.zeros(shape, np.uint8))
    with pytest.raises(ImageFormatError, match="shape") as caught:
        given.open(LIMITS)
    assert "height × width" in str(caught.value.hint)


def test_several_pictures_in_one_tensor_are_not_one() -> None:
    with pytest.raises(ImageFormatError, match="shape"):
        opened(Tensor(np.zeros((2, 3, 16, 16), np.float32)))


@pytest.mark.parametrize(
    "kind", [np.int8, np.int32, np.int64, np.uint32, np.complex64, "U1", object], ids=lambda value: type(value).__name__
)
def test_samples_without_a_white_are_refused(kind: Any) -> None:
    given = given_picture(np.zeros((8, 8), kind))
    with pytest.raises(ImageFormatError):
        given.open(LIMITS)


@pytest.mark.parametrize("value", [255.0, 1.01, -0.01, np.nan, np.inf, -np.inf])
def test_floats_out_of_range_are_refused(value: float) -> None:
    samples = np.full((8, 8, 3), 0.5)
    samples[3, 4, 1] = value
    with pytest.raises(ImageFormatError) as caught:
        opened(samples)
    assert "0 (black) to 1 (white)" in str(caught.value.hint)


@pytest.mark.parametrize("data", [b"", b"no picture", png_of(PIXELS)[:60]])
def test_bytes_that_are_no_picture_are_refused_when_opened(data: bytes) -> None:
    for value in (data, io.BytesIO(data)):
        given = given_picture(value)
        with pytest.raises(ImageError):
            given.open(LIMITS)


def test_a_missing_file_is_refused_when_opened(tmp_path: Path) -> None:
    given = given_picture(tmp_path / "nowhere.png")
    with pytest.raises(ImageNotFoundError, match="nowhere"):
        given.open(LIMITS)


@pytest.mark.parametrize(
    "value",
    [PIXELS, PIXELS / 255, png_of(PIXELS), Image.fromarray(PIXELS), Tensor(PIXELS)],
    ids=lambda v: type(v).__name__,
)
def test_limits_hold_for_pictures_in_memory(value: object) -> None:
    with pytest.raises(ImageTooLargeError, match="limit"):
        given_picture(value).open(ImageLimits(max_pixels=1000))


def test_what_merely_calls_itself_a_tensor_is_none() -> None:
    class Lookalike:
        pass

    Lookalike.__module__ = "torch.nn"
    with pytest.raises(TypeError, match="Lookalike"):
        given_picture(Lookalike())


def test_a_pil_image_is_judged_upright_like_its_file(tmp_path: Path) -> None:
    file = tmp_path / "rotated.png"
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(PIXELS).save(file, exif=exif)
    by_path = given_picture(file).open(ImageLimits())
    with Image.open(file) as opened:
        by_image = given_picture(opened).open(ImageLimits())
    assert by_image.size == by_path.size == PIXELS.shape[:2]
    assert np.array_equal(by_image.rgb, by_path.rgb)


@pytest.mark.parametrize(
    "samples",
    [
        PIXELS,
        GREY,
        GREY[..., None],
        PIXELS.astype(np.uint16) * 251 + 7,
        GREY.astype(np.uint16) * 251 + 7,
        PIXELS / 255,
        GREY > 100,
    ],
    ids=["rgb", "grey", "one channel", "rgb16", "grey16", "floats", "mask"],
)
def test_an_array_is_what_its_png_file_would_be_and_is_encoded_only_for_models(samples, monkeypatch):
    made, encoded = [], inputs._encoded
    monkeypatch.setattr(inputs, "_encoded", lambda kept: made.append(kept) or encoded(kept))
    found = given_picture(samples).open(ImageLimits())
    measured = found.measurable.copy()
    assert (found.size, found.pixels.shape) == ((samples.shape[1], samples.shape[0]), (*samples.shape[:2], 3))
    assert (len(found.sha256), made) == (64, [])
    by_file = decode_image(found.data, path=found.path)
    assert len(made) == 1
    assert np.array_equal(measured, by_file.measurable)
    assert np.array_equal(found.rgb, by_file.rgb)
    assert np.array_equal(found.pixels, by_file.pixels)
    assert (found.format, found.notes, found.path) == (by_file.format, by_file.notes, by_file.path)
    assert found.encode().media_type == by_file.encode().media_type
    with pytest.raises(ImageTooLargeError, match="more than the limit of 10"):
        given_picture(samples).open(ImageLimits(max_pixels=10))


def test_an_array_that_is_changed_later_stays_the_picture_that_was_opened():
    samples = PIXELS.copy()
    found = given_picture(samples).open(ImageLimits())
    samples[:] = 0
    assert np.array_equal(found.rgb, PIXELS)
    assert np.array_equal(decode_image(found.data).rgb, PIXELS)
