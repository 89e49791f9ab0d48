"""How well an audit decides what to keep of a shoot, on 400 pictures of which everything is known.

    python benchmarks/accuracy/shoot.py --data DATA --more MORE [--half tuned] [--work FOLDER]

Made of photographs that the vision model never learnt from (``photos/``, the test part) and of Pascal VOC's that people
rate best: bursts with one sharp frame, originals with noisy, enlarged, re-encoded and reduced copies, black frames,
shaken and unfocused ones, and good ones. Bounds of decisions were chosen on ``--half tuned``, made of other scenes;
the other half is what is reported. Everything runs through the installed command.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import math
import random
import subprocess
import sys
import tempfile
import zlib
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from PIL import ExifTags, Image

BURSTS, COPIES, BLACK, SHAKEN, UNFOCUSED, GOOD = 30, 15, 20, 30, 20, 90
"""Bursts of four; copies of each of four kinds, beside their originals."""
COMMAND = str(Path(sys.executable).with_name("agenticiqa"))
SPLITS = Path(__file__).resolve().parents[2] / "training" / "embedded" / "splits.json"


def scenes(data: Path, more: Path, half: str) -> list[Path]:
    """Photographs of one half: pristine ones first, then well rated ones of another collection."""
    part = json.loads(SPLITS.read_text())["photos"]["validation" if half == "tuned" else "test"]
    with (more / "voc" / "scores.csv").open(newline="") as stream:
        rated = [(float(row["mos"]), row["image"]) for row in csv.DictReader(stream)]
    upper = float(np.quantile([opinion for opinion, _ in rated], 0.75))
    own = [
        name for opinion, name in rated
        if opinion >= upper and (zlib.crc32(f"voc/{name}".encode()) % 2 == 0) == (half == "tuned")
    ]  # fmt: skip
    random.Random(7).shuffle(own)
    return [data / "photos" / name for name in part] + [more / "voc" / name for name in own]


def shaken(pixels: np.ndarray, length: float, chance: random.Random) -> np.ndarray:
    """Blurred along a path that bends, as a hand moves."""
    side = 2 * math.ceil(length) + 3
    kernel = np.zeros((side, side), np.float32)
    x = y = side / 2
    angle, bend = chance.uniform(0, 2 * math.pi), chance.uniform(-0.6, 0.6)
    for _ in range(60):
        x, y = x + length / 60 * math.cos(angle), y + length / 60 * math.sin(angle)
        angle += bend / 60
        kernel[int(np.clip(y, 0, side - 1)), int(np.clip(x, 0, side - 1))] += 1
    kernel = cv2.GaussianBlur(kernel, (0, 0), 0.5)
    return cv2.filter2D(pixels, -1, kernel / kernel.sum(), borderType=cv2.BORDER_REFLECT)


def unfocused(pixels: np.ndarray, radius: float) -> np.ndarray:
    side = 2 * math.ceil(radius) + 1
    y, x = np.mgrid[:side, :side] - side // 2
    disc = np.clip(radius + 0.5 - np.hypot(x, y), 0, 1).astype(np.float32)
    return cv2.filter2D(pixels, -1, disc / disc.sum(), borderType=cv2.BORDER_REFLECT)


def noisy(pixels: np.ndarray, levels: float, chance: random.Random) -> np.ndarray:
    noise = np.random.default_rng(chance.randrange(2**32)).normal(0, levels, pixels.shape)
    return np.clip(pixels + noise, 0, 255).astype(np.uint8)


def darker(pixels: np.ndarray, stops: float) -> np.ndarray:
    return (255 * ((pixels / 255.0) ** 2.2 * 2.0**-stops) ** (1 / 2.2)).astype(np.uint8)


class Shoot:
    """The folder and what is known of it: ``wanted``: decision by name; ``bursts`` and ``copies``: what to choose."""

    def __init__(self, folder: Path, data: Path, more: Path, half: str) -> None:
        self.folder, self.chance = folder, random.Random(f"shoot {half}")
        self.wanted: dict[str, str] = {}
        self.kinds: dict[str, str] = {}
        self.bursts: list[list[str]] = []
        self.copies: list[tuple[str, str, str]] = []
        self.time = datetime(2026, 5, 1, 9)
        self.scenes = scenes(data, more, half)
        folder.mkdir(parents=True)
        parts = [self.burst] * BURSTS + [self.pair] * (4 * COPIES) + [self.black] * BLACK
        parts += [self.single] * (SHAKEN + UNFOCUSED) + [self.good] * GOOD
        # Every kind has its share of both collections.
        source = self.scenes[: len(parts)]
        self.chance.shuffle(source)
        for number, (make, scene) in enumerate(zip(parts, source, strict=True)):
            make(number, scene)

    def save(self, name: str, pixels: np.ndarray, wanted: str, kind: str, *, quality: int = 93, timed: bool = True,
             **options: Any) -> str:  # fmt: skip
        self.time += timedelta(seconds=self.chance.uniform(20, 90)) if timed else timedelta()
        exif = Image.Exif()
        if timed:
            exif.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.DateTimeOriginal] = f"{self.time:%Y:%m:%d %H:%M:%S}"
        Image.fromarray(pixels).save(self.folder / name, quality=quality, exif=exif, **options)
        self.wanted[name], self.kinds[name] = wanted, kind
        return name

    def burst(self, number: int, scene: Path) -> None:
        pixels, chance = opened(scene), self.chance
        spoilt = {
            "slightly shaken": lambda given: shaken(given, chance.uniform(5, 8), chance),
            "shaken": lambda given: shaken(given, chance.uniform(9, 18), chance),
            "unfocused": lambda given: unfocused(given, chance.uniform(2, 4)),
            "too dark": lambda given: darker(given, chance.uniform(2, 3)),
        }
        kinds = ["sharp", *chance.sample(sorted(spoilt), 3)]
        order, names = chance.sample(range(4), 4), [""] * 4
        start = self.time = self.time + timedelta(seconds=60)
        for place in range(4):
            kind = kinds[order[place]]
            left, top = chance.randint(0, 6), chance.randint(0, 6)
            frame = np.ascontiguousarray(pixels[top : top + len(pixels) - 6, left : left + pixels.shape[1] - 6])
            frame = noisy(spoilt[kind](frame) if kind in spoilt else frame, chance.uniform(0.5, 2), chance)
            self.time = start + timedelta(seconds=place * 0.6)
            exif = Image.Exif()
            fine = exif.get_ifd(ExifTags.IFD.Exif)
            fine[ExifTags.Base.DateTimeOriginal] = f"{self.time:%Y:%m:%d %H:%M:%S}"
            fine[ExifTags.Base.SubsecTimeOriginal] = f"{self.time.microsecond // 10000:02}"
            name = f"burst{number:03}_{place}.jpg"
            Image.fromarray(frame).save(self.folder / name, quality=93, exif=exif)
            names[order[place]] = name
            self.wanted[name], self.kinds[name] = "keep" if kind == "sharp" else "reject", f"burst, {kind}"
        self.bursts.append(names)

    def pair(self, number: int, scene: Path) -> None:
        pixels, chance = opened(scene), self.chance
        kind = ("noisy", "enlarged", "re-encoded", "reduced")[number % 4]
        first = chance.randint(80, 95)
        original = self.save(f"pair{number:03}_a.jpg", pixels, "keep", "original", quality=first)
        pixels = opened(self.folder / original)
        height, width = pixels.shape[:2]
        name, quality, ending = f"pair{number:03}_b.jpg", chance.randint(80, 97), ".jpg"
        if kind == "noisy":
            pixels = noisy(pixels, chance.uniform(8, 30), chance)
        elif kind == "re-encoded":
            pixels = encoded(pixels, chance.randint(30, first - 5))
        else:
            scale = chance.uniform(1.3, 2.5) if kind == "enlarged" else chance.uniform(0.4, 0.8)
            how = chance.choice((Image.Resampling.BICUBIC, Image.Resampling.LANCZOS, Image.Resampling.BILINEAR))
            size = (round(width * scale), round(height * scale))
            pixels = np.asarray(Image.fromarray(pixels).resize(size, how if kind == "enlarged" else how.LANCZOS))
            ending = chance.choice((".jpg", ".jpg", ".png"))
        made = self.save(name.replace(".jpg", ending), pixels, "reject", f"{kind} copy", quality=quality, timed=False)
        self.copies.append((original, made, kind))

    def black(self, number: int, scene: Path) -> None:
        pixels = darker(opened(scene), self.chance.uniform(7, 9))
        self.save(f"single{number:03}.jpg", noisy(pixels, 2, self.chance), "reject", "black frame")

    def single(self, number: int, scene: Path) -> None:
        pixels, chance = opened(scene), self.chance
        if number % 5 < 3:
            self.save(f"single{number:03}.jpg", shaken(pixels, chance.uniform(9, 20), chance), "reject", "shaken")
        else:
            self.save(f"single{number:03}.jpg", unfocused(pixels, chance.uniform(3, 6)), "reject", "unfocused")

    def good(self, number: int, scene: Path) -> None:
        self.save(f"single{number:03}.jpg", opened(scene), "keep", "good")


def opened(path: Path) -> np.ndarray:
    return np.array(Image.open(path).convert("RGB"))


def encoded(pixels: np.ndarray, quality: int) -> np.ndarray:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=quality)
    return np.array(Image.open(buffer))


def judged(rows: dict[str, dict[str, str]], truth: dict[str, Any]) -> dict[str, Any]:
    wanted, kinds = truth["wanted"], truth["kinds"]
    told: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name, kind in kinds.items():
        told[kind][rows[name]["decision"]] += 1
    right = sum(rows[name]["decision"] == decision for name, decision in wanted.items())
    good = [name for name, kind in kinds.items() if kind in ("good", "original")]
    chosen = [max(names, key=lambda name: rows[name]["decision"] == "keep") for names in truth["bursts"]]
    only = sum(sum(rows[name]["decision"] == "keep" for name in names) == 1 for names in truth["bursts"])
    originals = Counter(kind for first, made, kind in truth["copies"]
                        if rows[first]["decision"] != "reject" and rows[made]["decision"] == "reject")  # fmt: skip
    return {
        "pictures": len(wanted),
        "decided rightly": round(right / len(wanted), 4),
        "right frame of a burst": [sum(a == b[0] for a, b in zip(chosen, truth["bursts"], strict=True)), len(chosen)],
        "bursts with one frame kept": only,
        "original over copy": [originals.total(), len(truth["copies"]), dict(originals)],
        "good ones rejected": [sum(rows[name]["decision"] == "reject" for name in good), len(good)],
        "decisions by kind": {kind: dict(counted) for kind, counted in sorted(told.items())},
        "wrong": {name: f"{kinds[name]}: {rows[name]['decision']}, {rows[name]['why']}"
                  for name, decision in wanted.items() if rows[name]["decision"] != decision},
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--more", type=Path, required=True)
    parser.add_argument("--half", choices=["tuned", "reported"], default="reported")
    parser.add_argument("--work", type=Path, help="keep the folder and what was found here; what is there is used")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = given.work or Path(temporary)
        folder, known, table = work / given.half, work / f"{given.half}.json", work / f"{given.half}.csv"
        if not known.exists():
            made = Shoot(folder, given.data, given.more, given.half)
            truth = {name: getattr(made, name) for name in ("wanted", "kinds", "bursts", "copies")}
            known.write_text(json.dumps(truth))
        subprocess.run([COMMAND, "audit", folder, "-o", table, "--resume"], check=True, stdout=subprocess.DEVNULL)
        with table.open(newline="", encoding="utf-8") as stream:
            rows = {row["path"]: row for row in csv.DictReader(stream)}
    print(json.dumps(judged(rows, json.loads(known.read_text()) if given.work else truth), indent=1))


if __name__ == "__main__":
    main()
