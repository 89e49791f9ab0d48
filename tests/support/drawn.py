"""Drawn scenes whose truth is known: where things are, which colours, how symmetric, how level."""

from __future__ import annotations

import io

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from agenticiqa.embedded.looking import Look
from agenticiqa.pictures.images import Box, LoadedImage, decode_image

HEIGHT, WIDTH = 240, 320


def loaded(rgb: np.ndarray, **saving: object) -> LoadedImage:
    """As a file in memory; PNG unless told otherwise."""
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, **({"format": "PNG", "compress_level": 1} | saving))
    return decode_image(buffer.getvalue())


def bare_look(rgb: np.ndarray, box: Box | None = None, **saving: object) -> Look:
    """A look for readers that need no vision model."""
    return Look(None, loaded(rgb, **saving), box)  # type: ignore[arg-type]


def ground(seed: int, colour: tuple[int, int, int] | None = None) -> np.ndarray:
    """A plain, slightly graded and grainy wall."""
    rng = np.random.default_rng(seed)
    base = np.array(colour if colour is not None else rng.integers(60, 180, 3), np.float32)
    rows, columns = np.mgrid[:HEIGHT, :WIDTH].astype(np.float32)
    graded = base + (12 * rows / HEIGHT + 8 * columns / WIDTH)[..., None] - 10
    return np.clip(graded + rng.normal(0, 2, (HEIGHT, WIDTH, 1)), 0, 255).astype(np.uint8)


def disc(seed: int, x: float, y: float, radius: float = 0.13) -> np.ndarray:
    """A checked disc before a wall, its middle at shares of width and height."""
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    inside = (rows - y * HEIGHT) ** 2 + (columns - x * WIDTH) ** 2 < (radius * HEIGHT * 2) ** 2 / 4 * 2
    checks = np.where(((rows // 10 + columns // 10) % 2)[..., None] > 0, [235, 60, 30], [250, 215, 60])
    return np.where(inside[..., None], checks, ground(seed, (90, 110, 130))).astype(np.uint8)


def shapes(seed: int, count: int = 25) -> np.ndarray:
    """Rectangles, circles and lines at random."""
    rng = np.random.default_rng(seed)
    scene = ground(seed)
    for _ in range(count):
        colour = tuple(int(each) for each in rng.integers(0, 256, 3))
        x, y = int(rng.integers(0, WIDTH)), int(rng.integers(0, HEIGHT))
        size = int(rng.integers(8, 50))
        kind = int(rng.integers(0, 3))
        if kind == 0:
            cv2.rectangle(scene, (x, y), (x + size, y + size // 2), colour, -1)
        elif kind == 1:
            cv2.circle(scene, (x, y), size // 2, colour, -1)
        else:
            cv2.line(scene, (x, y), (x + size, y - size), colour, 4)
    return scene


def mirrored(scene: np.ndarray, axis: str) -> np.ndarray:
    """The first half and its image: ``left_right_mirror``, ``top_bottom_mirror`` or ``rotational``."""
    half_w, half_h = scene.shape[1] // 2, scene.shape[0] // 2
    if axis == "left_right_mirror":
        return np.concatenate([scene[:, :half_w], scene[:, :half_w][:, ::-1]], axis=1)
    upper = scene[:half_h]
    return np.concatenate([upper, upper[::-1] if axis == "top_bottom_mirror" else upper[::-1, ::-1]])


def tiled(scene: np.ndarray, across: int, down: int) -> np.ndarray:
    """The scene, small, again and again."""
    size = scene.shape[1] // across, scene.shape[0] // down
    small = cv2.resize(scene, size, interpolation=cv2.INTER_AREA)
    return np.tile(small, (down, across, 1))


def grainy(scene: np.ndarray, deviation: float = 6.0, seed: int = 0) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(0, deviation, scene.shape)
    return np.clip(scene + noise, 0, 255).astype(np.uint8)


def patches(seed: int, colours: list[tuple[int, int, int]], shares: list[float]) -> np.ndarray:
    """Blocks of colours, each on about its share of the frame, slightly varied."""
    rng = np.random.default_rng(seed)
    cells = rng.choice(len(colours), size=(12, 16), p=np.array(shares) / sum(shares))
    # Every colour gets exactly its share: sorted cells, then shuffled.
    counts = np.floor(np.array(shares) / sum(shares) * cells.size + 0.5).astype(int)
    flat = np.repeat(np.arange(len(colours)), counts)[: cells.size]
    flat = np.concatenate([flat, np.zeros(cells.size - len(flat), int)])
    cells = rng.permutation(flat).reshape(cells.shape)
    scene = np.asarray(colours, np.float32)[cells].repeat(HEIGHT // 12, axis=0).repeat(WIDTH // 16, axis=1)
    return np.clip(scene + rng.normal(0, 4, scene.shape), 0, 255).astype(np.uint8)


def horizon(seed: int, degrees: float) -> np.ndarray:
    """Sky over ground, the border turned counter-clockwise by degrees."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:HEIGHT, :WIDTH].astype(np.float32)
    middle = HEIGHT * rng.uniform(0.4, 0.6)
    above = rows < middle - (columns - WIDTH / 2) * np.tan(np.radians(degrees))
    sky, land = ground(seed, (150, 180, 220)), ground(seed + 1, (70, 90, 50))
    scene = np.where(above[..., None], sky, land).astype(np.uint8)
    return cv2.GaussianBlur(grainy(scene, 4, seed), (0, 0), 0.7)


def page(size: int, ink: int, paper: int = 250) -> np.ndarray:
    """Lines of text of a height in pixels, in tones of 255."""
    picture = Image.new("RGB", (480, 320), (paper,) * 3)
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default(size)
    for top in range(8, 320 - size, round(size * 1.6)):
        draw.text((8, top), "The quick brown fox jumps over the lazy dog", fill=(ink,) * 3, font=font)
    return np.asarray(picture)
