"""Damage beyond the published protocol: what cameras, raw converters, scalers and transmission do to pictures.

Amounts are given for five levels and interpolated between them. People's opinions of these are not published; they
are estimated from full-reference metrics (``opinion_map.py``).
"""

from __future__ import annotations

import io
from collections.abc import Callable

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image
from training.embedded.further_damage import FURTHER_DAMAGE

Pixels = npt.NDArray[np.float32]
Damage = Callable[[Pixels, float, np.random.Generator], Pixels]


def pink_noise(rgb: Pixels, deviation: float, rng: np.random.Generator) -> Pixels:
    """Noise with the spectrum of natural pictures, 1/f, the same in all channels or in each its own."""
    height, width = rgb.shape[:2]
    channels = 1 if rng.random() < 0.6 else 3
    frequency = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None, :])
    frequency[0, 0] = np.inf
    noise = np.empty((height, width, channels), np.float32)
    for channel in range(channels):
        spectrum = np.fft.rfft2(rng.standard_normal((height, width), dtype=np.float32)) / frequency
        field = np.fft.irfft2(spectrum, (height, width))
        noise[..., channel] = field / field.std()
    return np.asarray(rgb + np.float32(deviation) * noise, np.float32)


def sensor_noise(rgb: Pixels, deviation: float, rng: np.random.Generator) -> Pixels:
    """Shot noise in linear light, slightly smoothed by demosaicing, coarser in colour."""
    linear = rgb**2.2
    noise = rng.standard_normal(rgb.shape, dtype=np.float32)
    fine = cv2.GaussianBlur(noise, (0, 0), 0.5 + 0.4 * float(rng.random()))
    coarse = cv2.GaussianBlur(rng.standard_normal(rgb.shape, dtype=np.float32), (0, 0), 1.5)
    noise = fine / fine.std() + 0.5 * coarse / coarse.std()
    noisy = linear + np.float32(deviation) * np.sqrt(linear + np.float32(0.01)) * noise
    return np.asarray(noisy.clip(0, 1) ** (1 / 2.2), np.float32)


def smear(rgb: Pixels, size: float, rng: np.random.Generator) -> Pixels:
    """Texture wiped away by a median or an edge-keeping filter, as strong noise reduction does."""
    odd = 2 * max(1, round(size)) + 1
    if rng.random() < 0.5:
        eight = np.asarray(np.rint(rgb * 255), np.uint8)
        return np.asarray(cv2.medianBlur(eight, odd), np.float32) / np.float32(255)
    return np.asarray(cv2.bilateralFilter(rgb, odd + 2, 0.08 + 0.03 * size, 1.0 + size), np.float32)


def underexposure(rgb: Pixels, stops: float, rng: np.random.Generator) -> Pixels:
    """Too little light: linear gain, with a little read noise that shows in the shadows."""
    linear = rgb**2.2 * np.float32(2.0**-stops)
    linear += np.float32(0.0006) * rng.standard_normal(rgb.shape, dtype=np.float32)
    return np.asarray(linear.clip(0, 1) ** (1 / 2.2), np.float32)


def overexposure(rgb: Pixels, stops: float, rng: np.random.Generator) -> Pixels:
    """Too much light: linear gain, highlights clipped."""
    del rng
    return np.asarray((rgb**2.2 * np.float32(2.0**stops)).clip(0, 1) ** (1 / 2.2), np.float32)


def haze(rgb: Pixels, amount: float, rng: np.random.Generator) -> Pixels:
    """A veil of bright air, evenly or thicker towards the top."""
    air = np.float32(0.75 + 0.2 * rng.random()) + rng.normal(0, 0.02, 3).astype(np.float32)
    veil = np.full(rgb.shape[0], amount, np.float32)
    if rng.random() < 0.5:
        veil *= np.linspace(1.15, 0.85, rgb.shape[0], dtype=np.float32)
    veil = veil[:, None, None].clip(0, 0.95)
    return np.asarray(rgb * (1 - veil) + air * veil, np.float32)


def low_contrast(rgb: Pixels, factor: float, rng: np.random.Generator) -> Pixels:
    """All values pulled towards the mean, or towards mid-grey."""
    middle = rgb.mean() if rng.random() < 0.7 else np.float32(0.5)
    return np.asarray(middle + np.float32(factor) * (rgb - middle), np.float32)


def color_cast(rgb: Pixels, amount: float, rng: np.random.Generator) -> Pixels:
    """Wrong white balance: gains along warm-cold and green-magenta, brightness kept."""
    angle = rng.choice([0.0, np.pi, np.pi / 2, -np.pi / 2]) + rng.normal(0, 0.3)
    warm, green = np.cos(angle) * amount, 0.7 * np.sin(angle) * amount
    gains = np.exp(np.array([warm - green / 2, green, -warm - green / 2], np.float32))
    shifted = rgb * gains
    weights = np.array([0.299, 0.587, 0.114], np.float32)
    scale = (rgb @ weights).mean() / max(float((shifted @ weights).mean()), 1e-3)
    return np.asarray(shifted * np.float32(scale), np.float32)


def aberration(rgb: Pixels, pixels: float, rng: np.random.Generator) -> Pixels:
    """Red and blue magnified differently from green, or slipped sideways against it."""
    height, width = rgb.shape[:2]
    result = rgb.copy()
    slipped = rng.random() < 0.5
    angle = rng.uniform(0, 2 * np.pi)
    for channel, sign in ((0, 1.0), (2, -1.0)):
        if slipped:
            matrix = np.float32([[1, 0, sign * pixels / 2 * np.cos(angle)], [0, 1, sign * pixels / 2 * np.sin(angle)]])
        else:
            scale = 1 + sign * pixels / (width / 2)
            matrix = np.float32([[scale, 0, (1 - scale) * width / 2], [0, scale, (1 - scale) * height / 2]])
        plane = np.ascontiguousarray(rgb[..., channel])
        result[..., channel] = cv2.warpAffine(
            plane, matrix, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT_101
        )
    return result


def upscaling(rgb: Pixels, factor: float, rng: np.random.Generator) -> Pixels:
    """Shrunk and enlarged again with a smooth filter."""
    height, width = rgb.shape[:2]
    small = cv2.resize(rgb, (round(width / factor), round(height / factor)), interpolation=cv2.INTER_AREA)
    way = (cv2.INTER_CUBIC, cv2.INTER_LINEAR, cv2.INTER_LANCZOS4)[int(rng.integers(3))]
    return np.asarray(cv2.resize(small, (width, height), interpolation=way), np.float32)


def webp(rgb: Pixels, quality: float, rng: np.random.Generator) -> Pixels:
    del rng
    buffer = io.BytesIO()
    Image.fromarray(np.asarray(np.rint(rgb * 255), np.uint8)).save(buffer, "WEBP", quality=round(quality), method=2)
    buffer.seek(0)
    return np.asarray(Image.open(buffer).convert("RGB"), np.float32) / np.float32(255)


def block_loss(rgb: Pixels, count: float, rng: np.random.Generator) -> Pixels:
    """Runs of 16-pixel blocks are flat, displaced or wrongly coloured, as after a broken transmission."""
    result = rgb.copy()
    height, width = rgb.shape[:2]
    for _ in range(round(count)):
        top = 16 * int(rng.integers(height // 16))
        left = 16 * int(rng.integers(width // 16))
        right = min(width, left + 16 * int(rng.integers(2, 12)))
        run = result[top : top + 16, left:right]
        way = rng.integers(3)
        if way == 0:
            run[...] = run.mean(axis=(0, 1))
        elif way == 1:
            run[...] = np.roll(result[top : top + 16], int(rng.integers(16, 96)), axis=1)[:, left:right]
        else:
            run[...] = (run + rng.normal(0, 0.2, 3).astype(np.float32)).clip(0, 1)
    return result


EXTRA_DAMAGE: dict[str, tuple[Damage, tuple[float, float, float, float, float]]] = {
    "pink_noise": (pink_noise, (0.02, 0.04, 0.08, 0.13, 0.2)),
    "sensor_noise": (sensor_noise, (0.02, 0.045, 0.08, 0.14, 0.22)),
    "smear": (smear, (1, 2, 3, 4, 6)),
    "underexposure": (underexposure, (0.7, 1.5, 2.5, 3.5, 5.0)),
    "overexposure": (overexposure, (0.4, 0.8, 1.4, 2.0, 2.8)),
    "haze": (haze, (0.15, 0.3, 0.45, 0.6, 0.75)),
    "low_contrast": (low_contrast, (0.8, 0.62, 0.45, 0.3, 0.15)),
    "color_cast": (color_cast, (0.08, 0.18, 0.3, 0.45, 0.65)),
    "aberration": (aberration, (1, 2, 4, 6, 9)),
    "upscaling": (upscaling, (1.4, 2, 3, 4.5, 7)),
    "webp": (webp, (45, 25, 12, 5, 0)),
    "block_loss": (block_loss, (1, 2, 4, 8, 16)),
}


def damage(rgb: Pixels, name: str, level: float, rng: np.random.Generator) -> Pixels:
    """``rgb`` in 0..1 damaged by an extra or a further kind at a level from 1 to 5."""
    change, amounts = (EXTRA_DAMAGE | FURTHER_DAMAGE)[name]
    amount = float(np.interp(level, (1, 2, 3, 4, 5), amounts))
    return np.asarray(change(rgb, amount, rng).clip(0, 1), np.float32)
