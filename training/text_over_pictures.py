"""Weights of the detector of text over pictures, and how right it is.

    python -m training.text_over_pictures PHOTOGRAPHS --elsewhere OTHERS [--count 800] [--sheet FILE]

Photographs as they are, and with words laid over them: captions, prices, signatures and watermarks in several fonts,
sizes, colours, opacities and angles, stored as JPEG again. The lines of one half of the photographs fit the weights,
and the bound is where 1 % of them have a finding; the other half, and those of another folder, are counted. ``--sheet``
shows photographs without added words in which most text was seen: some do have text. Prints what
``agenticiqa.vision.appearance.text`` holds.
"""

from __future__ import annotations

import argparse
import io
import json
import random
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from agenticiqa.vision.appearance import text

WORDS = (
    "© Jane Doe", "www.shop-example.com", "SAMPLE", "SALE 50% OFF", "Photo: M. Rossi 2021", "NEW", "Free shipping!",
    "Copyright protected", "PREVIEW", "Autumn collection", "stock image 482913", "Only 19.99 €", "Do not copy",
    "Best price guaranteed", "@street_art", "Bestseller",
)  # fmt: skip
COLOURS = (*[(255, 255, 255)] * 4, *[(0, 0, 0)] * 2, (230, 30, 30), (250, 220, 40), (30, 80, 200))
HEIGHTS = {
    "corner": (0.03, 0.07),
    "caption": (0.04, 0.07),
    "tiled": (0.04, 0.07),
    "banner": (0.08, 0.16),
    "centre": (0.08, 0.2),
}
KEPT_FALSE = 0.01
"""Photographs without text in which some is found, on the half that is learnt from."""


def laid_over(picture: Image.Image, fonts: list[str], rng: random.Random) -> tuple[Image.Image, dict[str, Any]]:
    """The picture with words over it, and which."""
    width, height = picture.size
    words, style = rng.choice(WORDS), rng.choice(("corner", *HEIGHTS))
    opacity = rng.choice((0.8, 1.0) if style in ("caption", "banner") else (0.3, 0.45, 0.6, 0.8, 1.0))
    angle = rng.choice((0, 0, 0, 30, 45)) if style in ("tiled", "centre") else 0
    size = max(10, round(rng.uniform(*HEIGHTS[style]) * height))
    size = min(size, round(1.6 * width / len(words)))
    font = ImageFont.truetype(rng.choice(fonts), size)
    mask = Image.new("L", picture.size, 0)
    draw = ImageDraw.Draw(mask)
    wide, high = (round(each) for each in draw.textbbox((0, 0), words, font=font)[2:])
    left, top = (width - wide) // 2, (height - high) // 2
    if style == "corner":
        left, top = rng.choice((width // 30, width - wide - width // 30)), rng.choice((height // 30, height - 2 * high))
    elif style in ("caption", "banner"):
        top = rng.choice((height // 20, height - high - height // 14))
    places = [(left, top)]
    if style == "tiled":
        places = [(x, y) for y in range(0, height, 4 * size) for x in range(-wide // 2, width, round(1.4 * wide))]
    for place in places:
        draw.text(place, words, font=font, fill=255)
    mask = mask.rotate(angle, Image.Resampling.BICUBIC)
    out = picture.copy()
    out.paste(rng.choice(COLOURS), mask=mask.point(lambda value: int(value * opacity)))
    return out, {"style": style, "opacity": opacity, "angle": angle, "height": size, "words": words}


def looked_at(file: Path, fonts: list[str]) -> list[dict[str, Any]]:
    """Lines of a photograph with and without words over it; those of the words are told by where the two differ."""
    rng = random.Random(file.name)
    plain = Image.open(file).convert("RGB")
    over, made = laid_over(plain, fonts, rng)
    quality = rng.choice((75, 85, 92))
    differs = np.abs(np.asarray(over, np.int16) - np.asarray(plain, np.int16)).max(axis=2) > 8
    rows = []
    for picture, has_text in ((plain, False), (over, True)):
        stored = io.BytesIO()
        picture.save(stored, "JPEG", quality=quality)
        lines = []
        for line in text.lines_in(np.asarray(Image.open(stored))):
            shape = line.mask.shape[::-1]
            words = cv2.resize(differs.astype(np.uint8), shape, interpolation=cv2.INTER_NEAREST)[line.mask].mean()
            lines.append((line.numbers, float(words) if has_text else 0.0))
        rows.append({"file": str(file), "has_text": has_text, "lines": lines, **made})
    return rows


def fitted(values: Any, truth: Any, ridge: float = 10.0) -> Any:
    """Weights of a logistic regression, the last one the offset."""
    weights = np.zeros(values.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-values @ weights))
        slope = values.T @ (chance - truth) + ridge * weights
        bend = (values * (chance * (1 - chance))[:, None]).T @ values + ridge * np.eye(len(weights))
        weights -= np.linalg.solve(bend, slope)
    return weights


def fit(rows: list[dict[str, Any]]) -> None:
    """Set the detector's weights to those that tell the words' lines from all others."""
    sure = [(numbers, share > 0.7) for row in rows for numbers, share in row["lines"] if not 0.1 < share <= 0.7]
    names = list(sure[0][0])
    table = np.array([[numbers[name] for name in names] for numbers, _ in sure])
    usual, spread = table.mean(axis=0).round(3), table.std(axis=0).round(3)
    scaled = np.clip((table - usual) / spread, -text.FARTHEST, text.FARTHEST)
    terms = np.hstack([scaled, scaled**2, np.ones((len(scaled), 1))])
    weights = fitted(terms, np.array([is_text for _, is_text in sure])).round(3)
    text.OFFSET = float(weights[-1])
    columns = (usual, spread, weights[: len(names)], weights[len(names) : -1])
    text.WEIGHTS = {name: tuple(map(float, each)) for name, *each in zip(names, *columns, strict=True)}


def counts(rows: list[dict[str, Any]], bound: float) -> dict[str, list[float]]:
    """How many there are of each kind, and the share of them in which text is found."""
    by: dict[str, list[bool]] = defaultdict(list)
    for row in rows:
        kinds = [f"{name} {row[name]}" for name in ("style", "opacity", "angle")] if row["has_text"] else []
        for kind in (*kinds, "with words" if row["has_text"] else "without"):
            by[kind].append(row["weight"] > bound)
    return {name: [len(each), round(float(np.mean(each)), 3)] for name, each in sorted(by.items())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("photographs", type=Path)
    parser.add_argument("--elsewhere", type=Path, required=True)
    parser.add_argument("--pattern", default="*.jpg", help="which of those elsewhere")
    parser.add_argument("--count", type=int, default=800)
    parser.add_argument("--fonts", type=Path, default=Path("/usr/share/fonts/truetype"))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--sheet", type=Path)
    arguments = parser.parse_args()
    fonts = sorted(str(each) for each in arguments.fonts.rglob("*.ttf") if "Math" not in each.name)
    chosen = random.Random(0)
    half = arguments.count // 2
    files = chosen.sample(sorted(arguments.photographs.glob("*.jpg")), 2 * half)
    files += chosen.sample(sorted(arguments.elsewhere.glob(arguments.pattern)), half)
    with ProcessPoolExecutor(arguments.workers) as pool:
        found = pool.map(partial(looked_at, fonts=fonts), files, chunksize=8)
        rows = [row for pair in found for row in pair]
    learnt, counted, elsewhere = rows[: 2 * half], rows[2 * half : 4 * half], rows[4 * half :]
    fit(learnt)
    for row in rows:
        row["weight"] = max((text.line_weight(numbers) for numbers, _ in row["lines"]), default=-np.inf)
    bound = float(np.quantile([row["weight"] for row in learnt if not row["has_text"]], 1 - KEPT_FALSE))
    found_in = {"other half": counts(counted, bound), "elsewhere": counts(elsewhere, bound)}
    chance = 1 / (1 + np.exp(-bound))
    print(json.dumps({"weights": text.WEIGHTS, "offset": text.OFFSET, "bound": chance, "found": found_in}, indent=1))
    if arguments.sheet:
        seen = sorted((row for row in counted + elsewhere if not row["has_text"]), key=lambda row: -row["weight"])
        sheet = Image.new("RGB", (8 * 200, 3 * 200))
        for at, row in enumerate(seen[:24]):
            small = Image.open(row["file"]).convert("RGB")
            small.thumbnail((195, 195))
            sheet.paste(small, (at % 8 * 200, at // 8 * 200))
            print(row["file"], round(row["weight"] - bound, 2))
        sheet.save(arguments.sheet)


if __name__ == "__main__":
    main()
