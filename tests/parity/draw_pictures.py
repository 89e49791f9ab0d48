"""Draw the picture pairs on which other libraries were run, and store them in tests/data/parity.

    python tests/parity/draw_pictures.py

The pictures are photographs with every distortion, and synthetic scenes. Three photographs lie in
tests/data/photographs, the fourth is the sample in examples/pictures; each of the 25 distortions of
:mod:`training.distortions` is applied to one of them. OpenCV's filters round differently on different
processors, so whoever draws the pictures anew must also measure them anew (make_reference_values.py).
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
from PIL import Image
from training.distortions import DISTORTIONS, distort

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools" / "metrics"))

from pictures import as_bytes, block_quantised, blurred, motion_blurred, noisy, quantised, scene

ROOT = Path(__file__).resolve().parents[2]
STORE = ROOT / "tests" / "data" / "parity"
Case = tuple[str, np.ndarray, np.ndarray]
# Levels at which the distortion changes the picture: others leave it nearly or wholly as it was.
LEVELS = {"mean_shift": 2, "contrast_change": 5, "color_saturation_2": 4}


def _impulses(picture: np.ndarray) -> np.ndarray:
    out = picture.copy()
    rng = np.random.default_rng(9)
    out[rng.random(out.shape[:2]) < 0.02] = 0
    out[rng.random(out.shape[:2]) < 0.02] = 1
    return out


def _pixelated(picture: np.ndarray) -> np.ndarray:
    height, width = picture.shape[:2]
    small = cv2.resize(picture, (width // 5, height // 5), interpolation=cv2.INTER_AREA)
    return quantised(cv2.resize(small, (width, height), interpolation=cv2.INTER_NEAREST))


def photographs() -> dict[str, np.ndarray]:
    """Four photographs, two of them with odd sides; float32 RGB in [0, 1]."""
    folder = ROOT / "tests" / "data" / "photographs"
    found = {name: _opened(folder / f"{name}.webp") for name in ("coffee", "cat", "astronaut")}
    dandelion = _opened(ROOT / "examples" / "pictures" / "dandelion.jpg")
    return found | {"dandelion": np.ascontiguousarray(dandelion[96:480, 300:812])}


def _opened(path: Path) -> np.ndarray:
    with Image.open(path) as picture:
        return quantised(np.asarray(picture.convert("RGB")) / 255)


def photograph_cases() -> Iterator[Case]:
    """Every distortion once, strong and weak levels in turn, the photographs in turn."""
    pictures = photographs()
    names = list(pictures)
    for number, kind in enumerate(DISTORTIONS):
        name = names[number % len(names)]
        reference = pictures[name]
        level = LEVELS.get(kind, 2 + number % 3)
        test = quantised(distort(reference, kind, level))
        yield f"{name}_{kind}_{level}", test, reference


def cases() -> Iterator[Case]:
    """Name, test picture, reference; float32 RGB, values multiples of 1/255."""
    yield from photograph_cases()
    yield from scene_cases()


def scene_cases() -> Iterator[Case]:
    a = scene(256, 320, seed=11)
    yield "noise_slight_256x320", noisy(a, 3), a
    yield "noise_strong_256x320", noisy(a, 30), a
    yield "blur_slight_256x320", blurred(a, 0.8), a
    yield "contrast_256x320", quantised((a - 0.5) * 0.6 + 0.5), a
    b = scene(384, 512, seed=12)
    yield "blur_strong_384x512", blurred(b, 4), b
    yield "blocks_slight_384x512", block_quantised(b, 2), b
    yield "blocks_strong_384x512", block_quantised(b, 12), b
    yield "darker_384x512", quantised(b * 0.7), b
    c = scene(197, 263, seed=13)
    yield "odd_noise_197x263", noisy(c, 10), c
    yield "odd_gamma_197x263", quantised(c**1.6), c
    d = scene(333, 211, seed=14)
    yield "odd_motion_333x211", motion_blurred(d, 9, 30), d
    yield "odd_colour_shift_333x211", quantised(d + np.array([0.08, -0.05, 0.02], np.float32)), d
    e = scene(600, 800, seed=15)
    yield "saturation_600x800", quantised(e.mean(axis=2, keepdims=True) * 0.7 + e * 0.3), e
    yield "impulses_600x800", _impulses(e), e
    yield "mixed_600x800", block_quantised(noisy(blurred(e, 1.2), 5), 4), e
    f = scene(721, 1003, seed=16)
    yield "odd_pixelated_721x1003", _pixelated(f), f
    yield "odd_shift_721x1003", np.roll(f, (1, 2), axis=(0, 1)), f
    yield "identical_256x320", a, a


def main() -> None:
    """Write each different picture once, lossless, and which two make each pair."""
    cv2.setUseOptimized(False)
    STORE.mkdir(exist_ok=True)
    for old in STORE.glob("*.webp"):
        old.unlink()
    names: dict[bytes, str] = {}
    pairs: dict[str, tuple[str, str]] = {}
    for name, test, reference in cases():
        files = [(f"{name}.webp", as_bytes(test)), (f"{name}.reference.webp", as_bytes(reference))]
        for file, pixels in files:
            if names.setdefault(pixels.tobytes(), file) == file:
                stream = io.BytesIO()
                Image.fromarray(pixels).save(stream, "WEBP", lossless=True, quality=100, method=4)
                (STORE / file).write_bytes(stream.getvalue())
        pairs[name] = (names[files[0][1].tobytes()], names[files[1][1].tobytes()])
    (STORE / "pairs.json").write_text(json.dumps(pairs, indent=1) + "\n")


if __name__ == "__main__":
    main()
