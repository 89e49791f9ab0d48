"""Small flaws in large photographs: whether the planned views show them, and whether the embedded answer finds them.

    python benchmarks/accuracy/closer_look.py flaws PHOTOGRAPHS [--count 40] [--seed 1] [--skip 0]
    python benchmarks/accuracy/closer_look.py sound PHOTOGRAPHS [--count 40]
    python benchmarks/accuracy/closer_look.py views PHOTOGRAPHS [--backend openai.gpt-4o] [--count 10]

PHOTOGRAPHS is a folder of photographs of 12 to 50 megapixels. ``flaws`` makes one flaw in each (blur of a face or of
another detail of that size, compression blocks in a smooth light place, noise in a shadow, a scratch, a seam whose sides
do not fit), stores it as JPEG (quality 95), and asks "What is wrong with this picture?" with and without views. ``sound``
asks the same of the photographs as they are and compares scores and findings. ``views`` compares scores with and without
views with the model at hand. Photographs are taken in an order that depends on their names alone; ``--skip`` leaves out
the first ones.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image

Pixels = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
KINDS = ("blur", "blocks", "noise", "scratch", "seam")
TRIES = 8
VISIBLE = {"blur": 4.0, "blocks": 0.8, "noise": 5.0, "scratch": 30.0, "seam": 8.0}
"""Mean change of the flawed pixels, or of blocks the mean step at their borders, from which on a flaw shows; in levels."""
SMALLEST, LARGEST = 11_500_000, 60_000_000


@dataclass(frozen=True)
class Flawed:
    kind: str
    pixels: Pixels
    mask: Mask
    about: str
    shows: float = 0.0
    """How strong it is, where that is something else than the mean change."""


def photographs(folder: Path, count: int, skip: int = 0) -> Iterator[Path]:
    """Large ones, in an order that their names alone decide."""
    files = [file for file in folder.iterdir() if file.suffix.lower() in (".jpg", ".jpeg", ".png", ".webp")]
    large = 0
    for file in sorted(files, key=lambda each: hashlib.sha256(each.name.encode()).hexdigest()):
        with Image.open(file) as opened:
            if not SMALLEST <= opened.width * opened.height <= LARGEST:
                continue
        large += 1
        if large > skip + count:
            return
        if large > skip:
            yield file


def make_flaw(pixels: Pixels, kind: str, random: np.random.Generator) -> Flawed:
    """One that shows at native resolution: of a few places the first where it changes enough, else the most."""
    make = {"blur": _blur, "blocks": _blocks, "noise": _noise, "scratch": _scratch, "seam": _seam}[kind]
    best, most = None, -1.0
    for _ in range(TRIES):
        made = make(pixels, random)
        changed = made.shows or float(np.abs(made.pixels[made.mask].astype(np.int16) - pixels[made.mask]).mean())
        if changed > most:
            best, most = made, changed
        if most >= VISIBLE[kind]:
            break
    assert best is not None
    return best


def _tiles(pixels: Pixels, side: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Mean brightness and strength of detail (standard deviation of the fine structure) of places of a side."""
    grey = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY).astype(np.float32)
    fine = np.abs(grey - cv2.GaussianBlur(grey, (0, 0), 1.2))
    size = pixels.shape[1] // side, pixels.shape[0] // side
    return cv2.resize(grey, size, interpolation=cv2.INTER_AREA), cv2.resize(fine, size, interpolation=cv2.INTER_AREA)


def _place(
    weights: npt.NDArray[np.float32], side: int, random: np.random.Generator, best: float = 0.05
) -> tuple[int, int]:
    """Left and top of one of the places with the highest weights, away from the frame."""
    inner = weights[1:-1, 1:-1]
    order = np.argsort(-inner, axis=None)[: max(1, int(best * inner.size))]
    row, column = np.unravel_index(int(random.choice(order)), inner.shape)
    return int(column + 1) * side, int(row + 1) * side


def _blur(pixels: Pixels, random: np.random.Generator) -> Flawed:
    from agenticiqa.vision.locators import load_locators

    faces = [face for face in load_locators().faces(pixels) if min(face.width, face.height) >= 80]
    if faces:
        face, about = faces[0], "a face"
        x, y, wide, high = face.x, face.y, face.width, face.height
    else:
        wide = high = int(random.integers(220, 420))
        _, detail = _tiles(pixels, 256)
        x, y = _place(detail, 256, random, 0.1)
        about = "a detail"
    soft = cv2.GaussianBlur(pixels[y : y + high, x : x + wide], (0, 0), max(4.0, wide / 40))
    mask = np.zeros(pixels.shape[:2], np.float32)
    cv2.ellipse(mask, (x + wide // 2, y + high // 2), (wide // 2, high // 2), 0, 0, 360, 1.0, -1)
    weight = cv2.GaussianBlur(mask[y : y + high, x : x + wide], (0, 0), wide / 40)[..., None]
    changed = pixels.copy()
    part = changed[y : y + high, x : x + wide]
    part[:] = (weight * soft + (1 - weight) * part).round()
    return Flawed("blur", changed, mask > 0.5, about)


def _blocks(pixels: Pixels, random: np.random.Generator) -> Flawed:
    light, detail = _tiles(pixels, 256)
    x, y = _place(np.where((light > 60) & (light < 235), 1 / (0.5 + detail), 0), 256, random, 0.15)
    x, y = x + int(random.integers(0, 40)), y + int(random.integers(0, 40))
    side = int(random.integers(240, 480))
    buffer = io.BytesIO()
    Image.fromarray(pixels[y : y + side, x : x + side]).save(buffer, "JPEG", quality=int(random.integers(6, 16)))
    changed = pixels.copy()
    part = changed[y : y + side, x : x + side]
    part[:] = np.asarray(Image.open(buffer))[: part.shape[0], : part.shape[1]]
    steps = np.abs(np.diff(part.astype(np.float32).mean(axis=2), axis=1)).mean(axis=0)
    grid = float(steps[7::8].mean() - np.delete(steps, np.s_[7::8]).mean())
    return Flawed("blocks", changed, _boxed(pixels, x, y, side, side), f"{side} px, steps {grid:.1f}", grid)


def _noise(pixels: Pixels, random: np.random.Generator) -> Flawed:
    light, _ = _tiles(pixels, 256)
    x, y = _place(-np.abs(light - 35), 256, random, 0.1)
    side, sigma = int(random.integers(220, 440)), float(random.uniform(9, 16))
    changed = pixels.copy()
    part = changed[y : y + side, x : x + side]
    part[:] = (part + random.normal(0, sigma, part.shape)).clip(0, 255).round()
    return Flawed("noise", changed, _boxed(pixels, x, y, side, side), f"sigma {sigma:.0f}")


def _scratch(pixels: Pixels, random: np.random.Generator) -> Flawed:
    height, width = pixels.shape[:2]
    length, angle = random.uniform(400, 700), random.uniform(0, np.pi)
    x, y = random.uniform(800, width - 800), random.uniform(800, height - 800)
    along = np.linspace(-0.5, 0.5, 12) * length
    bend = random.uniform(-8, 8) * (1 - (2 * along / length) ** 2)
    points = np.stack(
        [x + along * np.cos(angle) - bend * np.sin(angle), y + along * np.sin(angle) + bend * np.cos(angle)]
    )
    drawn = np.zeros((height, width), np.uint8)
    thick = int(random.integers(2, 4))
    cv2.polylines(
        drawn, [points.T.round().astype(np.int32)], isClosed=False, color=255, thickness=thick, lineType=cv2.LINE_AA
    )
    weight = (drawn.astype(np.float32) / 255 * 0.75)[..., None]
    around = float(pixels[int(y) - 60 : int(y) + 60, int(x) - 60 : int(x) + 60].mean())
    colour = 235.0 if around < 150 else 30.0
    changed = (weight * colour + (1 - weight) * pixels).round().astype(np.uint8)
    return Flawed("scratch", changed, drawn > 127, f"{length:.0f} px, {np.degrees(angle):.0f}°")


def _seam(pixels: Pixels, random: np.random.Generator) -> Flawed:
    """To the right of an upright line, or below a level one, the picture is shifted along it; away from it less."""
    turned = bool(random.integers(0, 2))
    own = np.ascontiguousarray(pixels.transpose(1, 0, 2)) if turned else pixels
    _, detail = _tiles(own, 256)
    x, y = _place(detail, 256, random, 0.25)
    wide, high = 300, int(random.integers(380, 640))
    y = min(y, own.shape[0] - high - 40)
    part = own[y - 20 : y + high + 20, x : x + wide].astype(np.float32)
    fade = np.clip(1 - np.arange(wide) / wide, 0, 1)[None, :] * np.clip(np.arange(high + 40) / 40, 0, 1)[:, None]
    fade = fade * np.clip((high + 40 - np.arange(high + 40)) / 40, 0, 1)[:, None]
    columns, rows = np.meshgrid(np.arange(wide), np.arange(high + 40))
    moved = cv2.remap(part, columns.astype(np.float32), (rows + random.uniform(7, 14) * fade).astype(np.float32),
                      cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)  # fmt: skip
    changed = own.copy()
    changed[y - 20 : y + high + 20, x : x + wide] = moved.round().astype(np.uint8)
    mask = _boxed(own, x, y, 3, high)
    if turned:
        changed, mask = np.ascontiguousarray(changed.transpose(1, 0, 2)), np.ascontiguousarray(mask.T)
    return Flawed("seam", changed, mask, "level" if turned else "upright")


def _boxed(pixels: Pixels, x: int, y: int, wide: int, high: int) -> Mask:
    mask = np.zeros(pixels.shape[:2], bool)
    mask[y : y + high, x : x + wide] = True
    return mask
