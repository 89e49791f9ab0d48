"""Closer looks at one place of a picture: each a pure function of the pictures, as a picture of its own.

A model sees a large picture reduced: fine blur, noise and blocks are gone before it is asked. A view shows a place with
its own pixels, enlarged by a whole number so that nothing is smoothed, or shows something about the place that eyes
miss. Which places are worth it is decided in :mod:`agenticiqa.vision.closer_look`.
"""

from collections.abc import Callable

import cv2
import numpy as np
from PIL import Image

from agenticiqa.errors import BadResponseError, RegionError
from agenticiqa.pictures.images import Box, LoadedImage, UInt8Image, png_bytes
from agenticiqa.state import View, ViewKind
from agenticiqa.vision.appearance.views import band_passed, luma
from agenticiqa.vision.network import Floats

SIDE = 768
"""Pixels of a view's longer side: no provider reduces so few."""
LIFT, LOWER = 0.45, 2.2
"""Exponents that open shadows and lights."""
AMPLIFIED = 8
"""How many times a difference, or the grain, is made larger."""
MOST_SHIFT = 4.0
"""Pixels by which a reference may lie beside its picture and is still laid on it."""

SHOWN: dict[ViewKind, str] = {
    "magnified": "the picture's own pixels",
    "shadows": "shadows lifted, to see into dark parts; the brightness is not the picture's",
    "lights": "lights lowered, to see into bright parts; the brightness is not the picture's",
    "difference": f"the difference from the reference, {AMPLIFIED} times amplified around grey",
    "focus": "how much fine detail each place has, white most",
    "clipping": "pure white in red, pure black in blue, the rest in grey",
    "noise": f"what fine grain is left without structure, {AMPLIFIED} times amplified around grey",
    "red": "the red channel alone",
    "green": "the green channel alone",
    "blue": "the blue channel alone",
}
"""What each kind shows, for whoever sees it."""


def scale_for(box: Box, side: int = SIDE) -> int:
    """The whole number by which a place is enlarged so that its longer side is at most ``side``.

    >>> scale_for(Box(0, 0, 200, 100)), scale_for(Box(0, 0, 900, 900))
    (3, 1)
    """
    return max(1, side // max(box.width, box.height))


def place_around(x: float, y: float, width: float, height: float, size: tuple[int, int], side: int = SIDE) -> Box:
    """A place for a view about a middle: no larger than ``side``, inside a picture of this size.

    >>> place_around(10, 2990, 100, 4000, (4000, 3000))
    Box(x=0, y=2232, width=100, height=768)
    """
    wide, high = (int(min(max(1, length), side, whole)) for length, whole in zip((width, height), size, strict=True))
    left, top = (
        int(min(max(0, round(middle - length / 2)), whole - length))
        for middle, length, whole in zip((x, y), (wide, high), size, strict=True)
    )
    return Box(left, top, wide, high)


def asked_view(
    kind: ViewKind, place: tuple[int, int, int, int], reason: str, size: tuple[int, int], side: int = SIDE
) -> View:
    """A view that a model asked for, as far as the picture goes; a place wholly outside it is a BadResponseError.

    >>> asked_view("noise", (3900, -50, 400, 300), "grain?", (4000, 3000)).box
    (3900, 0, 100, 250)
    """
    x, y, wide, high = place
    left, top = max(0, x), max(0, y)
    right, bottom = min(size[0], x + wide), min(size[1], y + high)
    if right - left < 1 or bottom - top < 1:
        raise BadResponseError(f"The reply asks for a view at {list(place)}, outside {size[0]}×{size[1]} pixels.")
    longest = min(SIDE, side)
    box = place_around((left + right) / 2, (top + bottom) / 2, right - left, bottom - top, size, longest)
    numbers = (box.x, box.y, box.width, box.height)
    return View(kind=kind, box=numbers, scale=scale_for(box, longest), reason=reason, chosen_by="model")


def view_label(number: int, view: View, size: tuple[int, int]) -> str:
    """The words beside a view's picture: that it is a part, which, at which scale, and what it shows."""
    x, y, width, height = view.box
    enlarged = f", each pixel enlarged {view.scale} times" if view.scale > 1 else ""
    return (
        f"view {number}, a part of the test image ({width}×{height} pixels at x {x}, y {y} of {size[0]}×{size[1]}"
        f"{enlarged}): {SHOWN[view.kind]}"
    )


def render(view: View, image: LoadedImage, reference: LoadedImage | None = None) -> LoadedImage:
    """The view as a PNG picture; a place outside the picture, or a difference without a reference, is a RegionError."""
    box = Box(*view.box)
    box.check_inside(image.size)
    pixels = image.rgb[box.rows, box.columns]
    if view.kind == "difference":
        if reference is None or reference.size != image.size:
            raise RegionError("A difference needs a reference of the picture's size.")
        shown = difference(pixels, reference.rgb[box.rows, box.columns])
    else:
        shown = _MAKERS[view.kind](pixels)
    enlarged = np.repeat(np.repeat(shown, view.scale, axis=0), view.scale, axis=1)
    picture = Image.fromarray(np.ascontiguousarray(enlarged))
    return LoadedImage(png_bytes(picture), picture, "PNG")


# --- what each kind shows ---


def with_gamma(pixels: UInt8Image, exponent: float) -> UInt8Image:
    """
    >>> with_gamma(np.array([[[0, 64, 255]]], np.uint8), LIFT).tolist()
    [[[0, 137, 255]]]
    """
    curve = (255 * (np.arange(256) / 255) ** exponent).round().astype(np.uint8)
    return np.asarray(curve[pixels], np.uint8)


def difference(pixels: UInt8Image, original: UInt8Image) -> UInt8Image:
    """Signed, around grey; a small shift of the whole place is taken out first."""
    own, other = (np.ascontiguousarray(luma(each)) for each in (pixels, original))
    right = down = 0.0
    if min(own.shape) > 2 * MOST_SHIFT:
        (right, down), _ = cv2.phaseCorrelate(other, own, cv2.createHanningWindow(own.shape[::-1], cv2.CV_32F))
    if 0.5 <= max(abs(right), abs(down)) <= MOST_SHIFT:
        moved = np.array([[1, 0, round(right)], [0, 1, round(down)]], np.float32)
        original = np.asarray(
            cv2.warpAffine(original, moved, own.shape[::-1], flags=cv2.INTER_NEAREST, borderMode=cv2.BORDER_REFLECT),
            np.uint8,
        )
    return _around_grey(pixels.astype(np.float32) - original)


def focus(pixels: UInt8Image) -> UInt8Image:
    """Local strength of fine structure, from none (black) to that of the sharpest places (white)."""
    strength = np.asarray(cv2.GaussianBlur(np.abs(band_passed(luma(pixels), 0, 2)), (0, 0), 6), np.float32)
    return _grey(255 * strength / max(float(np.percentile(strength, 99)), 0.02))


def clipping(pixels: UInt8Image) -> UInt8Image:
    shown = _grey(64 + luma(pixels) * 127)
    shown[pixels.min(axis=2) >= 253] = (255, 0, 0)
    shown[pixels.max(axis=2) <= 2] = (0, 64, 255)
    return shown


def grain(pixels: UInt8Image) -> UInt8Image:
    """The picture less its median over 3×3 pixels: edges stay out of it."""
    return _around_grey(pixels.astype(np.float32) - cv2.medianBlur(np.ascontiguousarray(pixels), 3))


def _around_grey(signed: Floats) -> UInt8Image:
    return np.asarray((128 + AMPLIFIED * signed).clip(0, 255), np.uint8)


def _grey(values: Floats) -> UInt8Image:
    return np.repeat(np.asarray(values.clip(0, 255), np.uint8)[..., None], 3, axis=2)


_MAKERS: dict[ViewKind, Callable[[UInt8Image], UInt8Image]] = {
    "magnified": lambda pixels: pixels,
    "shadows": lambda pixels: with_gamma(pixels, LIFT),
    "lights": lambda pixels: with_gamma(pixels, LOWER),
    "focus": focus,
    "clipping": clipping,
    "noise": grain,
    "red": lambda pixels: _grey(pixels[..., 0].astype(np.float32)),
    "green": lambda pixels: _grey(pixels[..., 1].astype(np.float32)),
    "blue": lambda pixels: _grey(pixels[..., 2].astype(np.float32)),
}
