"""When people use a word: logistic weights of what readings measure, fitted to pictures of which it is known.

    python -m training.embedded.people_words --data DATA --seen FILE.jsonl [--write]

Fitted on the validation parts, and on photographs for training where no network is asked; told of the test parts and
of ``exposure``, which only ever measures. What is known: real flaws; photographs with something done to them,
strong enough that a word fits (milder ones say when "a bit" fits); and ``eye_labels.json``, what one pair of eyes
called 192 pictures of BIQ2021 before any answer to them was seen (those of its train part were never labelled by flaws
in training). FILE keeps what is seen; ``--write`` writes the weights to the package.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import cv2
import numpy as np
import numpy.typing as npt
import yaml
from PIL import Image
from training.embedded import real_flaws, splits

from agenticiqa.embedded.looking import Look
from agenticiqa.embedded.readings import people
from agenticiqa.embedded.readings.base import _READERS, reader_of
from agenticiqa.pictures.images import load_image
from agenticiqa.vision.network import Vision
from agenticiqa.vision.scene import Scene

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]
FILE = Path(people.__file__).parents[1] / "people.yaml"
EYES = Path(__file__).with_name("eye_labels.json")
EYE_WEIGHT = 3.0
SEEN_BY_NETWORKS = ("sharp", "motion_blurred", "underexposed", "overexposed", "noisy", "colour_cast")


@dataclass(frozen=True)
class Known:
    """Of which pictures a word is known to fit: made ones by their recipes, real ones by a flaw, and by eye."""

    property: str
    end: int
    numbers: str
    yes: str
    no: str
    mild: str = ""
    flaw: str = ""
    eye: str = ""


_UNCHANGED = "asis stop-1 sat0.35 sat0.6 warm0.35 cold0.35"
WORDS = (
    Known("sharp", -1, "blur motion soft sharpest", "gauss2 lens2 lens4 move9 move19", _UNCHANGED, "gauss1",
          "blurry", "blurry"),
    Known("motion_blurred", 1, "motion out_of_focus", "move9 move19", f"{_UNCHANGED} lens2 lens4 gauss2",
          flaw="motion_blur"),
    Known("underexposed", 1, "too_dark lights", "stop-2 stop-3", "asis sat0.35 sat0.6 stop+1 lens2", "stop-1",
          "too_dark", "too_dark"),
    Known("overexposed", 1, "too_bright lightness white partly_white", "stop+2", "asis sat0.35 stop-1 stop-2 lens2",
          "stop+1", "too_bright", "overexposed"),
    Known("noisy", 1, "noise", "grain4 grain8 grain16", "asis stop+1 sat0.6 lens2", "grain2"),
    Known("colour_cast", 1, "wrong_colours lean lean_beside_spread", "warm0.7 cold0.7 green0.5 magenta0.5 sepia",
          "asis stop-1 stop+1 sat0.6 lens2", "warm0.35 cold0.35", eye="cast"),
    Known("bright", -1, "lightness", "stop-2 stop-3", "asis stop+1", "stop-1", eye="dark"),
    Known("bright", 1, "lightness darkest", "stop+1 stop+2", "asis stop-1"),
    Known("colourful", -1, "colourfulness strongest", "sat0.15 sat0.35", "asis sat1.6 sat2.5", "sat0.6", eye="dull"),
    Known("colourful", 1, "colourfulness strongest spent", "sat1.6 sat2.5", "asis sat0.6 sat0.35", eye="vivid"),
    Known("colourful", people.TOO_MUCH, "colourfulness strongest spent", "sat2.5", "asis sat0.6 sat0.35", "sat1.6"),
    Known("contrasty", -1, "spread range", "con0.25 con0.45 haze0.5 haze0.75", "asis con1.4 con1.9",
          "con0.7 haze0.3", eye="flat"),
    Known("contrasty", 1, "spread range", "con1.4 con1.9", "asis con0.7 con0.45"),
    Known("contrasty", people.TOO_MUCH, "spread range white", "con1.9", "asis con0.7 con0.45", "con1.4"),
)  # fmt: skip


# --- Pictures with something done to them ---


def made(rgb: Bytes, recipe: str, rng: np.random.Generator) -> Bytes:
    """A recipe's name ends in its amount: pixels of a blur, stops of light, levels of grain, factors, white air."""
    name = recipe.rstrip("0123456789.+-")
    amount = float(recipe[len(name) :] or 0)
    light = (rgb / 255.0) ** 2.2
    if name == "gauss":
        return np.asarray(cv2.GaussianBlur(rgb, (0, 0), amount), np.uint8)
    if name in ("lens", "move"):
        return _coded(cv2.filter2D(light, -1, _disc(amount) if name == "lens" else _smear(int(amount), rng)))
    if name == "stop":
        return _coded(light * 2**amount)
    if name == "grain":
        return _bytes(rgb + rng.normal(0, amount, rgb.shape))
    grey = (rgb @ np.array([0.299, 0.587, 0.114]))[..., None]
    if name == "sepia":
        return _bytes(grey * np.array([1.07, 0.9, 0.68]) + 8)
    if name == "sat":
        return _bytes(grey + (rgb - grey) * amount)
    if name == "con":
        middle = (128 + float(rgb.mean())) / 2
        return _bytes(middle + (rgb - middle) * amount)
    if name == "haze":
        air = np.linspace(1, 0.5, len(rgb))[:, None, None] * amount
        return _bytes(rgb * (1 - air) + 215 * air)
    leans = {"warm": (0.65, 0, -1), "cold": (-1, 0, 0.65), "green": (-0.6, 0.6, -0.6), "magenta": (0.6, -0.6, 0.6)}
    return _coded(light * 2 ** (amount * np.array(leans[name]))) if name in leans else rgb


def _bytes(pixels: npt.NDArray[Any]) -> Bytes:
    return np.clip(np.rint(pixels), 0, 255).astype(np.uint8)


def _coded(light: npt.NDArray[Any]) -> Bytes:
    return _bytes(255 * np.clip(light, 0, 1) ** (1 / 2.2))


def _disc(radius: float) -> Floats:
    reach = np.arange(-int(radius) - 1, int(radius) + 2)
    inside = (np.hypot(*np.meshgrid(reach, reach)) <= radius).astype(float)
    return np.asarray(inside / inside.sum())


def _smear(length: int, rng: np.random.Generator) -> Floats:
    along = np.linspace(-0.5, 0.5, 4 * length) * (length - 1)
    angle, kernel = rng.uniform(0, np.pi), np.zeros((length, length))
    middle = (length - 1) / 2
    kernel[np.rint(middle + along * np.sin(angle)).astype(int), np.rint(middle + along * np.cos(angle)).astype(int)] = 1
    return np.asarray(kernel / kernel.sum())


# --- What is seen of them ---


Task = tuple[str, str, str, Path, bool]
"""Name, part, recipe, file, and whether the networks are asked."""


def tasks(data: Path) -> Iterator[Task]:
    eyes = {name for own in json.loads(EYES.read_text()).values() for name in own}
    test = set(splits.load()["opinions"]["test"])
    for name in sorted(eyes):
        yield f"biq2021/{name}", "test" if name in test else "fit", "", data / "biq2021" / name, True
    collections = ("motion/", "dark/", "defocus/", "ordinary/", "exposure/")
    for part in ("validation", "test", "measure"):
        for name in (each for each in real_flaws.load()[part] if each.startswith(collections)):
            yield name, "fit" if part == "validation" else part, "", data / "real_flaws" / name, True
    recipes = sorted({each for word in WORDS for each in f"{word.yes} {word.no} {word.mild}".split()})
    networks = {each for word in WORDS if word.property in SEEN_BY_NETWORKS
                for each in f"{word.yes} {word.no} {word.mild}".split()}  # fmt: skip
    for part, count in (("validation", 46), ("test", 40), ("train", 60)):
        for place, name in enumerate(sorted(splits.load()["photos"][part])[:count]):
            for turn, recipe in enumerate(recipes):
                asked = part != "train" and recipe in networks and (place + turn) % 3 == 0
                yield name, "test" if part == "test" else "fit", recipe, data / "photos" / name, asked


@cache
def _vision() -> Vision:
    return Vision(threads=1)


def seen(task: Task) -> dict[str, Any]:
    name, part, recipe, file, asked = task
    rng = np.random.default_rng(list(f"{name} {recipe}".encode()))
    with tempfile.NamedTemporaryFile(suffix=".png") as kept:
        with Image.open(file) as opened:
            small = bool(recipe) and asked and rng.random() < 0.5
            rgb = np.asarray(opened.convert("RGB").reduce(2 if small else 1))
        Image.fromarray(made(rgb, recipe, rng)).save(kept, "PNG", compress_level=1)
        image = load_image(Path(kept.name))
        look = Look(Scene.of(_vision(), image.rgb) if asked else cast("Scene", None), image)
        own = [word for word in WORDS if asked or word.property not in SEEN_BY_NETWORKS]
        numbers = people.numbers(look, {each for word in own for each in word.numbers.split()})
        found = {}
        for property_ in {word.property for word in own}:
            reader_of(property_)
            told = _READERS[property_](look)
            found[property_] = list(told.amounts or ()) if told else []
    return {"name": name, "part": part, "made": recipe, "asked": asked, "numbers": numbers, "found": found}


# --- Fitting ---


def truth(row: dict[str, Any], word: Known, eyes: dict[str, dict[str, int]], flaws: dict[str, Sequence[int]]) -> float:
    """1 where the word fits, 0 where not, a half where "a bit" of it does, else not a number."""
    if row["made"]:
        groups = ((word.yes, 1.0), (word.no, 0.0), (word.mild, 0.5))
        return next((value for names, value in groups if row["made"] in names.split()), np.nan)
    if row["name"] in flaws and word.flaw:
        own = flaws[row["name"]]
        known = own[real_flaws.FLAWS.index(word.flaw)]
        if word.flaw == "blurry" and own[real_flaws.FLAWS.index("out_of_focus")] == 1:
            known = 1
        return float(known) if known >= 0 else np.nan
    return float(eyes.get(word.eye, {}).get(row["name"].removeprefix("biq2021/"), np.nan))


def fitted(numbers: Floats, fits: Floats, weights: Floats, ridge: float = 2.0) -> tuple[Floats, float]:
    """Weights and bias of a logistic regression, by Newton's method; a ridge on standardised numbers.

    >>> at = np.linspace(-2, 2, 41)
    >>> slope, bias = fitted(at[:, None], (at > 0.5).astype(float), np.ones(41))
    >>> bool(0.3 < -bias / slope[0] < 0.7)
    True
    """
    mean, spread = numbers.mean(axis=0), numbers.std(axis=0) + 1e-9
    known = np.column_stack([(numbers - mean) / spread, np.ones(len(numbers))])
    held = ridge * np.diag([*np.ones(len(mean)), 1e-6])
    found = np.zeros(known.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-known @ found))
        slope = known.T @ (weights * (fits - chance)) - held @ found
        found = found + np.linalg.solve((known * (weights * chance * (1 - chance))[:, None]).T @ known + held, slope)
    return found[:-1] / spread, float(found[-1] - (found[:-1] * mean / spread).sum())


def fit_word(rows: Sequence[dict[str, Any]], word: Known, known: Callable[[dict[str, Any]], float]) -> people.Word:
    names = word.numbers.split()
    own = [(row, known(row)) for row in rows if row["part"] == "fit" and set(names) <= row["numbers"].keys()]
    plain = [(row, fits) for row, fits in own if fits in (0, 1)]
    table = np.array([[row["numbers"][name] for name in names] for row, _ in plain])
    fits = np.array([value for _, value in plain])
    weights = np.array([EYE_WEIGHT if row["name"].startswith("biq") else 1.0 for row, _ in plain])
    # As many as not: what people ask about is as often there as not.
    weights *= len(fits) / 2 / np.where(fits == 1, weights[fits == 1].sum(), weights[fits == 0].sum())
    slopes, bias = fitted(table, fits, weights)
    mild = [bias + float(slopes @ [row["numbers"][name] for name in names]) for row, value in own if value == 0.5]
    a_bit = float(np.clip(-np.median(mild), 0.5, 2.5)) if mild else 1.0
    return people.Word(round(bias, 3), round(a_bit, 3), dict(zip(names, np.round(slopes, 3).tolist(), strict=True)))


def before(row: dict[str, Any], word: Known) -> float:
    """The chance that was told without the word: of damage that it is seen, else of the places beyond the middle."""
    amounts = row["found"][word.property]
    if word.property in SEEN_BY_NETWORKS:
        return 1 - float(amounts[-1 if word.end < 0 else 0])
    if word.end == people.TOO_MUCH:
        return float(amounts[-1] + amounts[-2] / 4)
    half = 0 if word.property == "bright" else amounts[2] / 2
    return float(sum(amounts[:2] if word.end < 0 else amounts[3:]) + half)


def after(row: dict[str, Any], word: Known, found: people.Word) -> float:
    chance, strict = found.chance(row["numbers"]), before(row, word)
    is_finding = word.property in SEEN_BY_NETWORKS and word.property != "colour_cast"
    return max(chance, strict) if is_finding and strict >= 0.5 else chance


def figures(chances: Floats, fits: Floats) -> str:
    """Said yes where it fits, said no where not, and how often a chance of four fifths or more is right."""
    right, sure = (chances >= 0.5) == (fits == 1), np.maximum(chances, 1 - chances) >= 0.8
    yes, no, told = (f"{right[chosen].mean():.2f}" if chosen.any() else "–" for chosen in (fits == 1, fits == 0, sure))
    return f"yes {yes} no {no}, told at 80 % or more {sure.mean():.2f} of which right {told}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seen", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    if not arguments.seen.exists():
        with ProcessPoolExecutor() as pool, arguments.seen.open("w") as stream:
            for row in pool.map(seen, tasks(arguments.data), chunksize=8):
                stream.write(json.dumps(row) + "\n")
    rows = [json.loads(line) for line in arguments.seen.read_text().splitlines()]
    eyes = json.loads(EYES.read_text())
    flaws = {one.image: one.flaws for one in real_flaws.read(arguments.data / "real_flaws")}
    stored: dict[str, dict[int, dict[str, Any]]] = {}
    for word in WORDS:
        found = fit_word(rows, word, lambda row, word=word: truth(row, word, eyes, flaws))
        stored.setdefault(word.property, {})[word.end] = vars(found)
        held = [(row, fits) for row in rows if row["part"] != "fit" and word.property in row["found"]
                and found.weights.keys() <= row["numbers"].keys()
                and (fits := truth(row, word, eyes, flaws)) in (0, 1)]  # fmt: skip
        for name in dict.fromkeys(row["name"].rpartition("/")[0] or "made" for row, _ in held):
            own = [(row, fits) for row, fits in held if (row["name"].rpartition("/")[0] or "made") == name]
            known = np.array([fits for _, fits in own])
            was, now = (
                np.array([told(row) for row, _ in own])
                for told in (
                    lambda row, word=word: before(row, word),
                    lambda row, word=word, f=found: after(row, word, f),
                )
            )
            print(f"{word.property} {word.end:+d} {name} ({len(own)}, {int(known.sum())} yes)")
            print(f"    before {figures(was, known)}\n    after  {figures(now, known)}", flush=True)
    if arguments.write:
        text = "# Written by training/embedded/people_words.py: when people use a word, by property and end.\n"
        FILE.write_text(text + yaml.safe_dump(stored, sort_keys=False), encoding="utf-8")


if __name__ == "__main__":
    main()
