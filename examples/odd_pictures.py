"""Draws pictures that are no photographs: ``python examples/odd_pictures.py FOLDER``.

A black frame, pure noise, a screenshot, a drawing and a scanned page, always the same ones. They show what the embedded
backend says of pictures it was not trained on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

SIZE = (512, 384)
TEXT = (
    "The quality of a picture is what people say of it when they see it. A meter that agrees with them is useful; a "
    "meter that agrees with itself is not. Every figure on this page was measured on pictures that nobody had used "
    "before, and each comes with the interval in which the true value lies."
)


def black_frame() -> Image.Image:
    return Image.new("RGB", SIZE)


def pure_noise() -> Image.Image:
    return Image.fromarray(np.random.default_rng(1).integers(0, 256, (SIZE[1], SIZE[0], 3), dtype=np.uint8))


def screenshot() -> Image.Image:
    """A window with a menu, a list, a chart and a button."""
    picture = Image.new("RGB", SIZE, "#f4f5f7")
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(13)
    draw.rectangle((0, 0, 512, 34), fill="#24292f")
    draw.text((14, 9), "Reports    Pictures    Settings    Help", fill="white", font=font)
    draw.rectangle((0, 34, 130, 384), fill="#e4e7eb")
    for row, name in enumerate(("Overview", "Runs", "Tools", "Backends", "Logs")):
        if row == 1:
            draw.rectangle((0, 52 + 30 * row, 130, 80 + 30 * row), fill="#0969da")
        draw.text((16, 58 + 30 * row), name, fill="white" if row == 1 else "#24292f", font=font)
    draw.rectangle((150, 54, 492, 240), fill="white", outline="#d0d7de")
    for bar, height in enumerate((60, 110, 85, 140, 45, 120)):
        draw.rectangle((172 + 52 * bar, 224 - height, 204 + 52 * bar, 224), fill="#54aeff")
    for row in range(4):
        draw.text((152, 254 + 22 * row), f"run-{1042 + row}   ok   4.{31 + 7 * row}", fill="#57606a", font=font)
    draw.rounded_rectangle((400, 340, 492, 368), 6, fill="#1f883d")
    draw.text((420, 346), "Assess", fill="white", font=font)
    return picture


def drawing() -> Image.Image:
    """A house, a tree, the sun: outlined areas of one colour each."""
    picture = Image.new("RGB", (SIZE[0] * 2, SIZE[1] * 2), "#9bd3f5")
    draw = ImageDraw.Draw(picture)
    draw.rectangle((0, 520, 1024, 768), fill="#7cc15e")
    draw.ellipse((820, 50, 960, 190), fill="#ffd84d", outline="black", width=6)
    draw.rectangle((180, 320, 520, 600), fill="#f2c9a1", outline="black", width=6)
    draw.polygon([(150, 320), (350, 160), (550, 320)], fill="#c0483c", outline="black", width=6)
    draw.rectangle((310, 450, 400, 600), fill="#7a4b2a", outline="black", width=6)
    draw.rectangle((210, 370, 290, 440), fill="#d8f0ff", outline="black", width=6)
    draw.rectangle((720, 420, 760, 620), fill="#7a4b2a", outline="black", width=6)
    draw.ellipse((630, 240, 850, 460), fill="#3f8f3f", outline="black", width=6)
    return picture.resize(SIZE, Image.Resampling.LANCZOS)


def scanned_page() -> Image.Image:
    """Text on slightly uneven paper, a little turned and soft, as a scanner sees it."""
    page = Image.new("L", (SIZE[0] * 2, SIZE[1] * 2), 242)
    draw = ImageDraw.Draw(page)
    font, line, top = ImageFont.load_default(30), "", 60
    draw.text((90, top), "On measuring pictures", fill=25, font=ImageFont.load_default(44))
    top += 90
    for word in (TEXT + " " + TEXT).split():
        if draw.textlength(f"{line} {word}", font=font) > 840:
            draw.text((90, top), line, fill=30, font=font)
            line, top = "", top + 44
        line = f"{line} {word}".strip()
    turned = page.rotate(0.6, Image.Resampling.BICUBIC, fillcolor=242).filter(ImageFilter.GaussianBlur(0.8))
    samples = np.asarray(turned.resize(SIZE, Image.Resampling.LANCZOS), np.float32)
    samples += np.random.default_rng(2).normal(0, 1.5, samples.shape) + np.linspace(2, -6, SIZE[0])
    return Image.fromarray(samples.clip(0, 255).astype(np.uint8)).convert("RGB")


PICTURES: dict[str, Callable[[], Image.Image]] = {
    "black-frame": black_frame,
    "pure-noise": pure_noise,
    "screenshot": screenshot,
    "drawing": drawing,
    "scanned-page": scanned_page,
}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        draw().save(folder / f"{name}.png")
        print(folder / f"{name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "odd-pictures"))
