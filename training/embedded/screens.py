"""Pictures of screens, drawn: windows, menus, tables and text, some with a photograph in them.

No collection of screenshots is at hand; these teach flat panels, ruled lines and type.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from training.embedded import splits

FONTS = ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSansMono.ttf", "DejaVuSerif.ttf", "DejaVuSansCondensed.ttf")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
COUNT = 120
SIZES = ((640, 480), (512, 384), (480, 640), (720, 400), (360, 640))
Box = tuple[int, int, int, int]
Colour = tuple[int, int, int]


class Screen:
    """One picture in the making."""

    def __init__(self, rng: np.random.Generator, photographs: list[Path]) -> None:
        self.rng, self.photographs = rng, photographs
        self.dark = rng.random() < 0.35
        base = int(rng.integers(12, 60) if self.dark else rng.integers(225, 256))
        tint = rng.integers(-8, 9, 3)
        self.ground: Colour = tuple(int(np.clip(base + t, 0, 255)) for t in tint)  # type: ignore[assignment]
        ink = int(rng.integers(190, 256) if self.dark else rng.integers(0, 70))
        self.ink: Colour = (ink, ink, ink)
        self.accent: Colour = tuple(int(v) for v in rng.integers(20, 230, 3))  # type: ignore[assignment]
        self.picture = Image.new("RGB", SIZES[int(rng.integers(len(SIZES)))], self.ground)
        self.draw = ImageDraw.Draw(self.picture)

    def words(self, count: int) -> str:
        lengths = self.rng.integers(1, 10, count)
        return " ".join("".join(self.rng.choice(list(LETTERS), int(n))) for n in lengths).capitalize()

    def shade(self, step: int) -> Colour:
        step = step if self.dark else -step
        return tuple(int(np.clip(v + step, 0, 255)) for v in self.ground)  # type: ignore[return-value]

    def text(self, box: Box) -> None:
        size = int(self.rng.integers(9, 19))
        font = ImageFont.truetype(FONTS[int(self.rng.integers(len(FONTS)))], size)
        top = box[1] + 4
        while top + size < box[3]:
            if self.rng.random() < 0.85:
                line = self.words(int(self.rng.integers(1, 12)))
                while line and self.draw.textlength(line, font=font) > box[2] - box[0] - 8:
                    line = line[:-3]
                colour = self.accent if self.rng.random() < 0.1 else self.ink
                self.draw.text((box[0] + 4, top), line, font=font, fill=colour)
            top += int(size * 1.5)

    def table(self, box: Box) -> None:
        rows, columns = int(self.rng.integers(4, 14)), int(self.rng.integers(2, 6))
        high, wide = (box[3] - box[1]) // rows, (box[2] - box[0]) // columns
        font = ImageFont.truetype(FONTS[int(self.rng.integers(len(FONTS)))], max(8, min(14, high - 6)))
        for row in range(rows):
            for column in range(columns):
                left, top = box[0] + column * wide, box[1] + row * high
                fill = self.shade(20 if row == 0 else 6 * (row % 2))
                self.draw.rectangle((left, top, left + wide, top + high), fill, self.shade(40))
                self.draw.text((left + 3, top + 2), self.words(1)[: wide // 9], font=font, fill=self.ink)

    def buttons(self, box: Box) -> None:
        left = box[0] + 6
        font = ImageFont.truetype("DejaVuSans.ttf", 11)
        while left + 60 < box[2]:
            wide = int(self.rng.integers(40, 90))
            fill = self.accent if self.rng.random() < 0.3 else self.shade(25)
            high = min(box[1] + 30, box[3])
            self.draw.rounded_rectangle((left, box[1] + 5, left + wide, max(high, box[1] + 6)), 5, fill)
            self.draw.text((left + 6, box[1] + 9), self.words(1)[: wide // 9], font=font, fill=self.ink)
            left += wide + 10

    def photograph(self, box: Box) -> None:
        wide, high = box[2] - box[0], box[3] - box[1]
        if wide < 40 or high < 40:
            return
        with Image.open(self.photographs[int(self.rng.integers(len(self.photographs)))]) as opened:
            self.picture.paste(opened.convert("RGB").resize((wide, high)), box[:2])

    def divided(self, box: Box, depth: int) -> None:
        """Panels within panels, down to one that is filled."""
        wide, high = box[2] - box[0], box[3] - box[1]
        if depth and min(wide, high) > 120:
            share = float(self.rng.uniform(0.25, 0.75))
            self.draw.rectangle(box, self.shade(int(self.rng.integers(0, 18))), self.shade(45))
            if self.rng.random() < wide / (wide + high):
                middle = box[0] + int(wide * share)
                parts = ((box[0], box[1], middle, box[3]), (middle, box[1], box[2], box[3]))
            else:
                middle = box[1] + int(high * share)
                parts = ((box[0], box[1], box[2], middle), (box[0], middle, box[2], box[3]))
            for part in parts:
                self.divided(part, depth - 1)
            return
        way = self.rng.choice(["text", "table", "buttons", "photograph", "none"], p=[0.45, 0.2, 0.13, 0.12, 0.1])
        if way != "none":
            getattr(self, str(way))(box)


def drawn(rng: np.random.Generator, photographs: list[Path]) -> Image.Image:
    screen = Screen(rng, photographs)
    wide, high = screen.picture.size
    bar = int(rng.integers(18, 44))
    screen.draw.rectangle((0, 0, wide, bar), screen.accent if rng.random() < 0.4 else screen.shade(30))
    screen.buttons((0, 0, wide, bar))
    screen.divided((0, bar, wide, high), int(rng.integers(1, 4)))
    return screen.picture


def write(photos: Path, out: Path, count: int = COUNT) -> None:
    """The same pictures every time; those in them are photographs that train."""
    out.mkdir(parents=True, exist_ok=True)
    photographs = [photos / name for name in splits.load()["photos"]["train"]]
    for number in range(count):
        picture = drawn(np.random.default_rng([7, number]), photographs)
        picture.save(out / f"screen_{number:04d}.jpg", quality=85)
