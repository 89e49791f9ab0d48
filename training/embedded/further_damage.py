"""Damage that no finer kind has a name for: it teaches the score and the categories, so that both hold elsewhere too.

Laboratory sets hold noise that texture hides, noise in the colours alone, errors of transmission, damage in single
blocks, dithering and more. None of these is a kind of its own in the answers; each belongs to categories that are.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFile

Pixels = npt.NDArray[np.float32]
Damage = Callable[[Pixels, float, np.random.Generator], Pixels]
TRIES = 12
SAFE_HEADER = 700
"""Bytes of a JPEG file before which no error is put: tables and sizes."""


def _normal(shape: tuple[int, ...], rng: np.random.Generator) -> Pixels:
    return rng.standard_normal(shape, dtype=np.float32)


def _smooth(pixels: Pixels, deviation: float) -> Pixels:
    found = np.asarray(cv2.GaussianBlur(pixels, (0, 0), deviation), np.float32)
    return found.reshape(pixels.shape)


def _unit(noise: Pixels) -> Pixels:
    return np.asarray(noise / max(float(noise.std()), 1e-6), np.float32)


def _eight(rgb: Pixels) -> npt.NDArray[np.uint8]:
    return np.asarray(np.rint(rgb.clip(0, 1) * 255), np.uint8)


def masked_noise(rgb: Pixels, deviation: float, rng: np.random.Generator) -> Pixels:
    """Noise where texture hides it, hardly any on smooth places."""
    grey = rgb.mean(axis=2)
    busy = np.sqrt(_smooth(np.asarray((grey - _smooth(grey, 2.0)) ** 2, np.float32), 4.0))
    share = np.asarray(busy / max(float(busy.mean()), 1e-4), np.float32).clip(0, 3)[..., None]
    return np.asarray(rgb + np.float32(deviation) * share * _normal(rgb.shape, rng), np.float32)


def high_frequency_noise(rgb: Pixels, deviation: float, rng: np.random.Generator) -> Pixels:
    noise = _normal(rgb.shape if rng.random() < 0.6 else (*rgb.shape[:2], 1), rng)
    return np.asarray(rgb + np.float32(deviation) * _unit(noise - _smooth(noise, 1.0)), np.float32)


def correlated_noise(rgb: Pixels, deviation: float, rng: np.random.Generator) -> Pixels:
    """Soft grain of a few pixels."""
    noise = _normal(rgb.shape if rng.random() < 0.6 else (*rgb.shape[:2], 1), rng)
    return np.asarray(rgb + np.float32(deviation) * _unit(_smooth(noise, float(rng.uniform(0.8, 2.5)))), np.float32)


def colour_noise(rgb: Pixels, deviation: float, rng: np.random.Generator) -> Pixels:
    """Noise in the colours, a third of it in brightness."""
    noise = _normal(rgb.shape, rng)
    grey = noise.mean(axis=2, keepdims=True)
    return np.asarray(rgb + np.float32(deviation) * _unit(noise - np.float32(0.67) * grey), np.float32)


def comfort_noise(rgb: Pixels, share: float, rng: np.random.Generator) -> Pixels:
    """Fine detail replaced by noise of the same strength, as coders do to spare bits."""
    soft = _smooth(rgb, 1.2)
    detail = rgb - soft
    strength = np.sqrt(_smooth(np.asarray(detail**2, np.float32), 3.0))
    made = strength * _unit(_smooth(_normal(rgb.shape, rng), 0.6))
    return np.asarray(soft + (1 - share) * detail + share * 1.3 * made, np.float32)


def compressed_noise(rgb: Pixels, deviation: float, rng: np.random.Generator) -> Pixels:
    """A noisy picture, stored as JPEG or JPEG 2000."""
    noisy = _eight(np.asarray(rgb + np.float32(deviation) * _normal(rgb.shape, rng), np.float32))
    buffer = io.BytesIO()
    if rng.random() < 0.5:
        Image.fromarray(noisy).save(buffer, "JPEG", quality=int(np.interp(deviation, (0.03, 0.2), (55, 12))))
    else:
        rate = float(np.interp(deviation, (0.03, 0.2), (15, 70)))
        Image.fromarray(noisy).save(buffer, "JPEG2000", quality_mode="rates", quality_layers=[rate])
    return np.asarray(Image.open(buffer).convert("RGB"), np.float32) / np.float32(255)


@contextmanager
def broken_files_read() -> Iterator[None]:
    """Pillow shows what it can of a broken file. The switch is one for the whole process: it goes back at once."""
    before, ImageFile.LOAD_TRUNCATED_IMAGES = ImageFile.LOAD_TRUNCATED_IMAGES, True
    try:
        yield
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = before


def transmission_errors(rgb: Pixels, count: float, rng: np.random.Generator) -> Pixels:
    """Wrong bytes in a JPEG file; each spoils the row of blocks up to the next mark of restart."""
    buffer = io.BytesIO()
    Image.fromarray(_eight(rgb)).save(
        buffer, "JPEG", quality=int(rng.integers(60, 90)), restart_marker_rows=1, subsampling=2
    )
    stored = np.frombuffer(buffer.getvalue(), np.uint8)
    for _ in range(TRIES):
        spoiled = stored.copy()
        for place in rng.integers(SAFE_HEADER, len(stored) - 2, max(1, round(count))):
            if 0xFF not in stored[place - 1 : place + 2]:
                spoiled[place] = rng.integers(0, 255)
        try:
            with broken_files_read():
                found = np.asarray(Image.open(io.BytesIO(spoiled.tobytes())).convert("RGB"), np.float32)
        except OSError:
            continue  # the decoder gave up on this one; other errors are tried
        if found.shape == rgb.shape:
            return found / np.float32(255)
    return rgb


def wavelet_errors(rgb: Pixels, count: float, rng: np.random.Generator) -> Pixels:
    """Wrong coefficients in the bands of a pyramid: soft ringing blots, as of broken JPEG 2000 files."""
    result = rgb.copy()
    height, width = rgb.shape[:2]
    for _ in range(max(1, round(count))):
        scale = int(2 ** rng.integers(1, 5))
        rows, columns = height // scale, width // scale
        spot = np.zeros((rows, columns, 3), np.float32)
        for _ in range(int(rng.integers(1, 5))):
            y, x = int(rng.integers(rows)), int(rng.integers(columns))
            way = rng.normal(0, 1, 3) if rng.random() < 0.3 else np.full(3, rng.normal())
            spot[y, x] = 0.8 * way
            if x + 1 < columns and rng.random() < 0.7:
                spot[y, x + 1] = -0.8 * way
        result += cv2.resize(spot, (width, height), interpolation=cv2.INTER_CUBIC)
    return result


def local_blocks(rgb: Pixels, count: float, rng: np.random.Generator) -> Pixels:
    """Single blocks lighter, darker or of another colour, the fewer the stronger."""
    result = rgb.copy()
    side, height, width = 32, *rgb.shape[:2]
    strength = 0.9 / np.sqrt(max(count, 1))
    for _ in range(round(count)):
        top, left = (int(rng.integers(length - side)) for length in (height, width))
        shift = rng.normal(0, strength, 3 if rng.random() < 0.5 else 1).astype(np.float32)
        result[top : top + side, left : left + side] += shift
    return result


def dithered(rgb: Pixels, colours: float, rng: np.random.Generator) -> Pixels:
    """Few colours, spread by error diffusion."""
    del rng
    picture = Image.fromarray(_eight(rgb))
    palette = picture.quantize(max(4, round(colours)), Image.Quantize.MEDIANCUT)
    few = picture.quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG)
    return np.asarray(few.convert("RGB"), np.float32) / np.float32(255)


def sparse(rgb: Pixels, share: float, rng: np.random.Generator) -> Pixels:
    """Put together again from few coefficients of a cosine transform, the strongest or a random choice."""
    height, width = (length // 2 * 2 for length in rgb.shape[:2])
    result = rgb.copy()
    side = 16 if rng.random() < 0.5 else 32
    for top in range(0, height - side + 1, side):
        for left in range(0, width - side + 1, side):
            for channel in range(3):
                block = np.ascontiguousarray(rgb[top : top + side, left : left + side, channel])
                values = cv2.dct(block)
                bound = np.quantile(np.abs(values), 1 - share)
                values[np.abs(values) < bound] = 0
                result[top : top + side, left : left + side, channel] = cv2.idct(values)
    return result


FURTHER_DAMAGE: dict[str, tuple[Damage, tuple[float, float, float, float, float]]] = {
    "masked_noise": (masked_noise, (0.02, 0.035, 0.06, 0.09, 0.14)),
    "high_frequency_noise": (high_frequency_noise, (0.015, 0.03, 0.05, 0.08, 0.13)),
    "correlated_noise": (correlated_noise, (0.015, 0.03, 0.05, 0.08, 0.13)),
    "colour_noise": (colour_noise, (0.02, 0.04, 0.06, 0.1, 0.16)),
    "comfort_noise": (comfort_noise, (0.25, 0.45, 0.65, 0.85, 1.0)),
    "compressed_noise": (compressed_noise, (0.03, 0.06, 0.09, 0.14, 0.2)),
    "transmission_errors": (transmission_errors, (1, 3, 7, 15, 30)),
    "wavelet_errors": (wavelet_errors, (2, 5, 10, 20, 40)),
    "local_blocks": (local_blocks, (1, 3, 6, 12, 24)),
    "dithered": (dithered, (96, 48, 24, 12, 6)),
    "sparse": (sparse, (0.2, 0.1, 0.05, 0.025, 0.012)),
}
FURTHER_CATEGORIES: dict[str, tuple[str, ...]] = {
    "masked_noise": ("Noise",),
    "high_frequency_noise": ("Noise",),
    "correlated_noise": ("Noise",),
    "colour_noise": ("Noise",),
    "comfort_noise": ("Noise",),
    "compressed_noise": ("Noise", "Compression"),
    "transmission_errors": ("Spatial distortions",),
    "wavelet_errors": ("Spatial distortions",),
    "local_blocks": ("Spatial distortions",),
    "dithered": ("Color distortions",),
    "sparse": ("Compression",),
}
