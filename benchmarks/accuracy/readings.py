"""How often each reading of the embedded backend is right, on pictures whose truth is known.

    PYTHONPATH=. python benchmarks/accuracy/readings.py               drawn scenes alone
    PYTHONPATH=. python benchmarks/accuracy/readings.py --data FOLDER   photographs too: photos/ and real_flaws/ there

Truth comes from drawing (symmetry, repetition, colours, positions, horizons, text), from what was done to photographs
of the test part (``training/embedded/splits.json``: mirrored, tiled, smeared, darkened, enlarged …), and from labels
(``real_flaws``: masks of focus, haze, darkness, exposure, noise). Every reading is asked for a yes or a no, or for one
of its values, the way the answers do; a share is given with its Wilson interval.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np
from PIL import Image
from training.distortions import distort

from agenticiqa.embedded.answering.chances import claim_chance
from agenticiqa.embedded.looking import Look, Looker
from agenticiqa.embedded.properties import properties
from agenticiqa.embedded.readings.base import PropertyReading, reader_of
from agenticiqa.pictures.images import Box, load_image
from agenticiqa.research.statistics import proportion
from agenticiqa.vision.network import load_vision

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(ROOT))

from support import drawn  # noqa: E402 - lies beside the tests, whose folder was just added

Pixels = np.ndarray


@dataclass
class Bench:
    """Pictures, and what was right of what."""

    photos: list[Pixels]
    flaws: Path | None
    per_folder: int
    part: str = "test"
    looker: Looker = field(default_factory=lambda: Looker(load_vision()))
    counts: dict[tuple[str, str], list[bool]] = field(default_factory=lambda: defaultdict(list))
    guesses: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))

    def look(self, rgb: Pixels, box: Box | None = None, **saving: object) -> Look:
        return self.looker.look(drawn.loaded(rgb, **saving), box)

    def told(self, name: str, look: Look) -> PropertyReading | None:
        reader = reader_of(name)
        found = reader(look) if reader else None
        if found:
            self.guesses[name].append(found.guess)
        return found

    def ask(self, name: str, case: str, look: Look, truth: bool) -> None:
        """Whether a plain word for much of the property is agreed to exactly where it is true."""
        found = self.told(name, look)
        chance = claim_chance(found, properties()[name], 1) if found else None
        self.counts[name, case].append(chance is not None and (chance >= 0.5) == truth)

    def choose(self, name: str, case: str, look: Look, truth: str, among: tuple[str, ...]) -> None:
        found = self.told(name, look)
        chosen = max(among, key=lambda value: found.values.get(value, 0.0)) if found else None
        self.counts[name, case].append(chosen == truth)

    def more(self, name: str, case: str, high: Look, low: Look) -> None:
        """Which of two has more of it."""
        first, second = self.told(name, high), self.told(name, low)
        self.counts[name, case].append(bool(first and second and (first.amount or 0) > (second.amount or 0)))

    def note(self, name: str, case: str, right: bool) -> None:
        self.counts[name, case].append(right)


# --- drawn scenes ---

COLOURS = {
    "red": [(200, 20, 30), (230, 40, 40), (150, 10, 20)],
    "orange": [(255, 150, 20), (240, 120, 30)],
    "yellow": [(250, 220, 30), (240, 230, 90)],
    "green": [(40, 140, 50), (120, 180, 60), (20, 90, 40)],
    "blue": [(30, 80, 200), (110, 170, 230), (20, 40, 110)],
    "purple": [(120, 30, 150), (150, 90, 200)],
    "pink": [(255, 150, 190), (240, 180, 200)],
    "brown": [(110, 65, 30), (140, 90, 50)],
    "gray": [(128, 128, 128), (90, 92, 95)],
    "black": [(10, 10, 10), (25, 25, 28)],
    "white": [(250, 250, 250), (240, 240, 238)],
}


def drawn_scenes(bench: Bench, count: int) -> None:
    """Everything that can be drawn."""
    names = tuple(COLOURS)
    for seed in range(count):
        rng = random.Random(seed)
        scene = drawn.shapes(seed)
        for axis in ("left_right_mirror", "top_bottom_mirror", "rotational"):
            look = drawn.bare_look(drawn.grainy(drawn.mirrored(scene, axis), seed=seed))
            bench.ask("symmetric", "drawn", look, True)
            bench.choose(
                "symmetric", "drawn: which axis", look, axis, ("left_right_mirror", "top_bottom_mirror", "rotational")
            )
        bench.ask("symmetric", "drawn", drawn.bare_look(scene), False)
        tiles = drawn.tiled(drawn.shapes(seed + 500, 12), rng.randint(3, 8), rng.randint(3, 6))
        bench.ask("repetitive", "drawn", drawn.bare_look(drawn.grainy(tiles, seed=seed)), True)
        bench.ask("repetitive", "drawn", drawn.bare_look(scene), False)
        name = names[seed % len(names)]
        colour = rng.choice(COLOURS[name])
        other = (120, 124, 120) if name != "gray" else rng.choice(COLOURS["blue"])
        mixed = drawn.patches(seed, [colour, other], [0.7, 0.3])
        bench.choose("colour_scheme", "drawn: main colour", drawn.bare_look(mixed), name, names)
        warm, cool = (
            [rng.choice(COLOURS[c]) for c in group] for group in (("red", "orange", "yellow"), ("blue", "green"))
        )
        for colours, tone in ((warm, "warm"), (cool, "cool")):
            bench.choose(
                "colour_scheme",
                "drawn: warm or cool",
                drawn.bare_look(drawn.patches(seed, colours, [1] * len(colours))),
                tone,
                ("warm", "cool"),
            )
        for tone, truth in ((rng.uniform(10, 70), False), (rng.uniform(185, 250), True)):
            wall = drawn.ground(seed, (round(tone),) * 3)
            bench.ask("bright", "drawn: dark and light walls", drawn.bare_look(wall), truth)
        where, x, y = rng.choice(
            [
                ("centred", 0.5, 0.5),
                ("thirds", rng.choice([1 / 3, 2 / 3]), rng.choice([1 / 3, 2 / 3])),
                ("edge", rng.choice([0.1, 0.9]), rng.uniform(0.3, 0.7)),
            ]
        )
        look = drawn.bare_look(drawn.disc(seed, x, y, rng.uniform(0.08, 0.13)))
        bench.choose("composition", "drawn: centre, thirds, edge", look, where, ("centred", "thirds", "edge"))
        if where != "edge":
            bench.ask("rule_of_thirds", "drawn", look, where == "thirds")
        bench.ask("emphasised", "drawn", look, True)
        bench.ask("emphasised", "drawn", drawn.bare_look(drawn.ground(seed)), False)
        degrees = rng.choice([0, 0, 3.5, 5, 8, -4, -6])
        bench.ask("level", "drawn", drawn.bare_look(drawn.horizon(seed, degrees)), degrees == 0)
        bench.ask("empty", "drawn", drawn.bare_look(drawn.disc(seed, 0.5, 0.5, 0.1)), True)
        bench.ask("empty", "drawn", drawn.bare_look(drawn.shapes(seed, 150)), False)
        bench.ask("cluttered", "drawn", drawn.bare_look(drawn.shapes(seed, 400)), True)
        bench.ask("cluttered", "drawn", drawn.bare_look(drawn.shapes(seed, 6)), False)
        size = rng.choice([18, 22, 28])
        bench.ask("legible", "drawn", drawn.bare_look(drawn.page(size, rng.choice([0, 40, 80]))), True)
        bench.ask("legible", "drawn", drawn.bare_look(drawn.page(size, rng.choice([222, 230]))), False)
    for width, height, paper in (
        (3508, 2480, "A4"),
        (4961, 3508, "A3"),
        (1748, 1240, "a postcard"),
        (1024, 576, "a stamp"),
    ):
        found = bench.told("printable", drawn.bare_look(np.zeros((height, width, 3), np.uint8)))
        bench.note(
            "printable", "drawn: largest paper at 300 dpi", bool(found and found.numbers["largest_at_300_dpi"] == paper)
        )
    for quality in (20, 50, 75, 90, 95):
        found = bench.told("file_format", drawn.bare_look(drawn.shapes(1), format="JPEG", quality=quality))
        bench.note("file_format", "written: JPEG quality", bool(found and found.numbers["jpeg_quality"] == quality))


# --- photographs with something done to them ---


def stops(rgb: Pixels, change: float, gains: tuple[float, float, float] = (1, 1, 1)) -> Pixels:
    light = (rgb / 255.0) ** 2.2 * 2.0**change * np.array(gains)
    return np.rint(255 * np.clip(light, 0, 1) ** (1 / 2.2)).astype(np.uint8)


def saturated(rgb: Pixels, factor: float) -> Pixels:
    grey = rgb.mean(axis=2, keepdims=True)
    return np.clip(grey + factor * (rgb - grey), 0, 255).astype(np.uint8)


def flattened(rgb: Pixels, factor: float) -> Pixels:
    return np.clip(rgb.mean() + factor * (rgb - rgb.mean()), 0, 255).astype(np.uint8)


def smeared(rgb: Pixels, length: int, degrees: float) -> Pixels:
    kernel = np.zeros((length, length), np.float32)
    kernel[length // 2] = 1
    turn = cv2.getRotationMatrix2D(((length - 1) / 2, (length - 1) / 2), degrees, 1)
    kernel = cv2.warpAffine(kernel, turn, (length, length))
    return cv2.filter2D(rgb, -1, kernel / kernel.sum(), borderType=cv2.BORDER_REFLECT)


def enlarged(rgb: Pixels, factor: float) -> Pixels:
    small = cv2.resize(rgb, None, fx=1 / factor, fy=1 / factor, interpolation=cv2.INTER_AREA)
    return cv2.resize(small, rgb.shape[1::-1], interpolation=cv2.INTER_CUBIC)


def fringed(rgb: Pixels, share: float) -> Pixels:
    height, width = rgb.shape[:2]
    found = rgb.copy()
    for channel, scale in ((0, 1 + share), (2, 1 - share)):
        turn = cv2.getRotationMatrix2D(((width - 1) / 2, (height - 1) / 2), 0, scale)
        found[..., channel] = cv2.warpAffine(
            rgb[..., channel], turn, (width, height), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT
        )
    return found


def dark_cornered(rgb: Pixels, change: float) -> Pixels:
    rows, columns = np.mgrid[-1 : 1 : rgb.shape[0] * 1j, -1 : 1 : rgb.shape[1] * 1j]
    fall = 2.0 ** (-change * (rows**2 + columns**2) / 2)
    return np.rint(255 * ((rgb / 255.0) ** 2.2 * fall[..., None]) ** (1 / 2.2)).astype(np.uint8)


def turned(rgb: Pixels, degrees: float) -> Pixels:
    height, width = rgb.shape[:2]
    turn = cv2.getRotationMatrix2D((width / 2, height / 2), degrees, 1.25)
    return cv2.warpAffine(rgb, turn, (width, height), flags=cv2.INTER_CUBIC)


def measured(bench: Bench) -> None:
    """Readings that need no vision model."""
    axes = ("left_right_mirror", "top_bottom_mirror", "rotational")
    for seed, rgb in enumerate(bench.photos):
        plain = drawn.bare_look(rgb)
        rng = random.Random(seed)
        for axis in axes:
            look = drawn.bare_look(drawn.grainy(drawn.mirrored(rgb, axis), seed=seed))
            bench.ask("symmetric", "photographs mirrored", look, True)
            bench.choose("symmetric", "photographs mirrored: which axis", look, axis, axes)
        bench.ask("symmetric", "photographs as they are", plain, False)
        tiles = drawn.grainy(drawn.tiled(rgb, rng.randint(3, 7), rng.randint(3, 5)), seed=seed)
        bench.ask("repetitive", "photographs tiled", drawn.bare_look(tiles), True)
        bench.ask("repetitive", "photographs as they are", plain, False)
        half = Box(0, 0, rgb.shape[1] // 2, rgb.shape[0]), Box(rgb.shape[1] // 2, 0, rgb.shape[1] // 2, rgb.shape[0])
        both = drawn.mirrored(rgb, "left_right_mirror")
        both[:, : both.shape[1] // 2] = stops(both[:, : both.shape[1] // 2], -1)
        bench.more(
            "bright",
            "which half is brighter (one stop)",
            drawn.bare_look(both, half[1]),
            drawn.bare_look(both, half[0]),
        )
        bench.more("bright", "which is brighter (one stop)", plain, drawn.bare_look(stops(rgb, -1)))
        bench.ask("contrasty", "contrast × 0.3", drawn.bare_look(flattened(rgb, 0.3)), False)
        bench.ask("contrasty", "contrast × 1.5", drawn.bare_look(flattened(rgb, 1.5)), True)
        bench.ask("colourful", "no colour", drawn.bare_look(saturated(rgb, 0)), False)
        bench.ask("colourful", "saturation × 0.25", drawn.bare_look(saturated(rgb, 0.25)), False)
        bench.more("colourful", "which is more colourful", plain, drawn.bare_look(saturated(rgb, 0.6)))
        grey = drawn.bare_look(saturated(rgb, 0))
        values = bench.told("colour_scheme", grey), bench.told("colour_scheme", plain)
        bench.note(
            "colour_scheme", "black and white or colour", bool(values[0] and values[0].values["monochrome"] > 0.5)
        )
        coloured = float((rgb.max(axis=2).astype(int) - rgb.min(axis=2)).mean()) > 8
        bench.note(
            "colour_scheme",
            "black and white or colour",
            bool(values[1] and (values[1].values["monochrome"] < 0.5) == coloured),
        )
        tone = (saturated(rgb, 0) / 255.0) ** 0.9 * np.array([1.0, 0.87, 0.68])
        sepia = bench.told("colour_scheme", drawn.bare_look(np.rint(255 * tone).astype(np.uint8)))
        bench.note("colour_scheme", "sepia", bool(sepia and sepia.values["sepia"] > 0.5))
        bench.ask("detailed", "as they are", plain, True)
        bench.ask("detailed", "blurred (3 px)", drawn.bare_look(cv2.GaussianBlur(rgb, (0, 0), 3)), False)
        bench.ask("upscaled", "as they are", plain, False)
        bench.ask("upscaled", "enlarged 2.5 times", drawn.bare_look(enlarged(rgb, 2.5)), True)
        bench.ask("fringed", "as they are", plain, False)
        bench.ask("fringed", "colours parted by 1.3 px at the corners", drawn.bare_look(fringed(rgb, 0.004)), True)
        bench.ask("vignetted", "as they are", plain, False)
        bench.ask("vignetted", "corners 2 stops darker", drawn.bare_look(dark_cornered(rgb, 2)), True)
        gains = rng.choice([(1.6, 1.0, 0.6), (0.6, 1.0, 1.6), (0.7, 1.2, 0.7)])
        bench.ask("colour_cast", "as they are", plain, False)
        bench.ask("colour_cast", "white balance off by 0.7 stops", drawn.bare_look(stops(rgb, 0, gains)), True)
        degrees = rng.choice([-8, -5, 5, 8])
        tilted = bench.told("level", drawn.bare_look(turned(rgb, degrees)))
        if tilted:
            bench.note(
                "level", "turned by 5° or 8°, where lines agree", abs(float(tilted.numbers["degrees"]) - degrees) < 1.5
            )
        bench.note("legible", "no text in photographs", bench.told("legible", plain) is None)


def seen(bench: Bench) -> None:
    """Readings of the vision model, on damage that was made."""
    made: dict[str, tuple[str, Callable[[Pixels], Pixels], bool]] = {
        "noisy": ("white noise", lambda rgb: distort(rgb, "white_noise", 4), True),
        "compressed": ("JPEG", lambda rgb: distort(rgb, "jpeg", 4), True),
        "sharp": ("Gaussian blur", lambda rgb: distort(rgb, "gaussian_blur", 4), False),
        "pixelated": ("pixelated", lambda rgb: distort(rgb, "pixelate", 4), True),
        "oversharpened": ("sharpened", lambda rgb: distort(rgb, "high_sharpen", 5), True),
        "banded": ("quantised", lambda rgb: distort(rgb, "quantization", 4), True),
        "chroma_bleeding": ("colour diffusion", lambda rgb: distort(rgb, "color_diffusion", 5), True),
        "underexposed": ("3 stops under", lambda rgb: stops(rgb, -3), True),
        "overexposed": ("2.5 stops over", lambda rgb: stops(rgb, 2.5), True),
    }
    for seed, rgb in enumerate(bench.photos):
        plain = bench.look(rgb)
        for name, (case, change, truth) in made.items():
            bench.ask(name, case, bench.look(change(rgb)), truth)
            bench.ask(name, "as they are", plain, not truth)
        degrees, way = random.Random(seed).choice(
            [(0, "horizontal"), (90, "vertical"), (45, "diagonal"), (135, "diagonal")]
        )
        look = bench.look(smeared(rgb, 19, degrees))
        bench.ask("motion_blurred", "smeared over 19 px", look, True)
        bench.ask("motion_blurred", "as they are", plain, False)
        bench.choose(
            "motion_blurred", "direction, smeared over 19 px", look, way, ("horizontal", "vertical", "diagonal")
        )


# --- labelled photographs ---


def labelled(bench: Bench) -> None:
    assert bench.flaws is not None
    held = set(json.loads((ROOT / "training/embedded/flaw_splits.json").read_text())[bench.part])

    def files(folder: str, wanted: str = "") -> list[Path]:
        own = sorted(name for name in held if name.startswith(f"{folder}/") and wanted in name)
        random.Random(0).shuffle(own)
        return [bench.flaws / name for name in own[: bench.per_folder]]

    for path in files("defocus"):
        _focus(bench, path)
    for path in files("dark", "low"):
        bench.ask("bright", "too dark (LOL)", bench.looker.look(load_image(path)), False)
    for path in files("dark", "high"):
        bench.ask("background_blurred", "deep scenes (LOL, well lit)", bench.looker.look(load_image(path)), False)
    for path in files("weather"):
        bench.ask("hazy", "fog and smog", bench.looker.look(load_image(path)), True)
    for path in files("motion", "still"):
        bench.ask("hazy", "clear pictures", bench.looker.look(load_image(path)), False)


def _focus(bench: Bench, path: Path) -> None:
    image = load_image(path)
    whole = bench.looker.look(image)
    width, height = image.size
    mask = (
        np.asarray(Image.open(path.with_suffix(".mask.png")).convert("L").resize(image.size, Image.Resampling.NEAREST))
        > 127
    )
    for row in range(3):
        for column in range(3):
            box = Box(column * width // 3, row * height // 3, width // 3, height // 3)
            out = float(mask[box.rows, box.columns].mean())
            if out <= 0.05 or out >= 0.95:
                bench.ask("in_focus", "ninths in or out of focus (CUHK)", Look(whole.scene, image, box), out <= 0.05)
    if 0.4 <= float(mask.mean()) <= 0.9:
        bench.ask("background_blurred", "partly out of focus (CUHK)", whole, True)


# --- table ---


def rows(bench: Bench) -> Iterator[tuple[str, str, str, int, float, float, float]]:
    for (name, case), right in sorted(bench.counts.items()):
        share = proportion(sum(right), len(right))
        guessed = bench.guesses[name]
        kind = "guess" if guessed and all(guessed) else "reading"
        yield properties()[name].title, case, kind, len(right), share.value or 0.0, share.low or 0.0, share.high or 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with photos/ and real_flaws/")
    parser.add_argument("--part", default="test", choices=("test", "validation", "train"), help="of the photographs")
    parser.add_argument("--photos", type=int, default=30, help="photographs of the test part")
    parser.add_argument("--drawn", type=int, default=60, help="drawn scenes of each kind")
    parser.add_argument("--labelled", type=int, default=30, help="labelled photographs of each folder")
    asked = parser.parse_args()
    names = sorted(json.loads((ROOT / "training/embedded/splits.json").read_text())["photos"][asked.part])
    random.Random(5).shuffle(names)
    paths = [asked.data / "photos" / name for name in names[: asked.photos]] if asked.data else []
    bench = Bench(
        [load_image(path).rgb for path in paths],
        asked.data / "real_flaws" if asked.data else None,
        asked.labelled,
        asked.part,
    )
    steps = [lambda: drawn_scenes(bench, asked.drawn), lambda: measured(bench), lambda: seen(bench)]
    for step in [*steps, *([lambda: labelled(bench)] if asked.data else [])]:
        step()
        print(f"{sum(map(len, bench.counts.values()))} questions", file=sys.stderr)
    print("| reading | asked of | | questions | right |\n|---|---|---|---|---|")
    for title, case, kind, count, value, low, high in rows(bench):
        print(f"| {title} | {case} | {kind} | {count} | {value:.0%} [{100 * low:.0f}, {100 * high:.0f}] |")


if __name__ == "__main__":
    main()
