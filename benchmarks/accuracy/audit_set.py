"""A folder of 2,000 pictures of which everything is known: copies, versions, bursts, blank and broken files.

Made of photographs laid out as training/README.md says (``photos/``, ``real_flaws/``). What was made is written down
beside the folder, for ``benchmarks/accuracy/audit.py``.
"""

from __future__ import annotations

import csv
import io
import json
import random
import shutil
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image, ImageEnhance, ImageFilter

BURSTS, SHOTS = 60, 4
SERIES, OF_SERIES = 30, 4
EXACT, NEAR, BLANK, BROKEN = 250, 400, 40, 30
TOTAL = 2000


@dataclass
class Truth:
    """What is known, by the names of files in the folder."""

    exact: dict[str, str] = field(default_factory=dict)
    """Copy → original."""
    near: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    """How each version was made."""
    bursts: list[list[str]] = field(default_factory=list)
    """Made of one photograph each, with times; the first of each is the sharp one."""
    series: list[list[str]] = field(default_factory=list)
    """Exposures of one scene, as photographed, without times."""
    blank: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Truth:
        return cls(**json.loads(path.read_text(encoding="utf-8")))


def make_set(data: Path, folder: Path, total: int = TOTAL, seed: int = 0) -> Truth:
    """Fill the folder; the same pictures for the same seed. ``total`` scales every part."""
    chance = random.Random(seed)
    share = total / TOTAL
    folder.mkdir(parents=True)
    truth = Truth()
    photographs = sorted((data / "photos").glob("*.jpg"))
    chance.shuffle(photographs)
    burst_count = round(BURSTS * share)
    _make_bursts(photographs[:burst_count], folder, truth, chance)
    rest = photographs[burst_count:]
    _make_series(data / "real_flaws", folder, truth, round(SERIES * share), chance)
    _make_useless(folder, truth, round(BLANK * share), round(BROKEN * share), chance, photographs)
    used = sum(len(each) for each in (*truth.bursts, *truth.series)) + len(truth.blank) + len(truth.broken)
    exact, near = round(EXACT * share), round(NEAR * share)
    singles = min(len(rest), total - used - exact - near)
    originals = [shutil.copy(path, folder / f"photo_{path.name}") for path in rest[:singles]]
    names = [Path(path).name for path in originals]
    for number, name in enumerate(chance.sample(names, exact)):
        truth.exact[_copied(folder, name, number)] = name
    for number, name in enumerate(chance.sample(names, near)):
        kind = list(VERSIONS)[number % len(VERSIONS)]
        made = f"version_{number:04}.jpg"
        version = VERSIONS[kind](Image.open(folder / name).convert("RGB"), chance)
        version.save(folder / made, quality=chance.randint(70, 92))
        truth.near[made], truth.kinds[made] = name, kind
    fillers = sorted((data / "real_flaws" / "ordinary").glob("*.jpg"))
    for path in chance.sample(fillers, max(0, total - len(list(folder.iterdir())))):
        shutil.copy(path, folder / f"other_{path.name}")
    return truth


def _copied(folder: Path, name: str, number: int) -> str:
    """Most copies are files of the same bytes, some hold the same pixels in another format."""
    if number % 5:
        made = f"copy_{number:04}.jpg"
        shutil.copy(folder / name, folder / made)
        return made
    made = f"copy_{number:04}.png"
    Image.open(folder / name).save(folder / made)
    return made


def _encoded(picture: Image.Image, quality: int) -> Image.Image:
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=quality)
    return Image.open(buffer).convert("RGB")


def _cropped(picture: Image.Image, chance: random.Random) -> Image.Image:
    share = chance.uniform(0.03, 0.08)
    width, height = round(picture.width * (1 - share)), round(picture.height * (1 - share))
    left, top = chance.randint(0, picture.width - width), chance.randint(0, picture.height - height)
    return picture.crop((left, top, left + width, top + height))


def _scaled(picture: Image.Image, chance: random.Random) -> Image.Image:
    scale = chance.uniform(0.35, 0.8)
    return picture.resize((round(picture.width * scale), round(picture.height * scale)), Image.Resampling.BICUBIC)


def _brightened(picture: Image.Image, chance: random.Random) -> Image.Image:
    return ImageEnhance.Brightness(picture).enhance(
        chance.choice((chance.uniform(0.75, 0.9), chance.uniform(1.1, 1.25)))
    )


VERSIONS = {
    "encoded": lambda picture, chance: _encoded(picture, chance.randint(25, 60)),
    "scaled": _scaled,
    "cropped": _cropped,
    "brightened": _brightened,
    "all": lambda picture, chance: _scaled(_brightened(_cropped(picture, chance), chance), chance),
}


def _make_bursts(sources: list[Path], folder: Path, truth: Truth, chance: random.Random) -> None:
    for number, source in enumerate(sources):
        shots = []
        for shot in range(SHOTS):
            name = f"burst_{number:03}_{shot}.jpg"
            picture = _shot(
                Image.open(source).convert("RGB"), chance, blur=0.0 if shot == 0 else chance.uniform(0.7, 2.0)
            )
            exif = Image.Exif()
            block = exif.get_ifd(0x8769)
            block[0x9003] = f"2024:03:{1 + number // 24:02} {number % 24:02}:15:{shot // 3:02}"
            block[0x9291] = f"{shot % 3 * 300:03}"
            picture.save(folder / name, quality=90, exif=exif)
            shots.append(name)
        truth.bursts.append(shots)


def _shot(picture: Image.Image, chance: random.Random, blur: float) -> Image.Image:
    """The scene from a hand that moves, with something that moves in it, and noise of its own."""
    turned = picture.rotate(chance.uniform(-1, 1), Image.Resampling.BICUBIC)
    width, height = round(picture.width * 0.9), round(picture.height * 0.9)
    middle = (picture.width - width) // 2, (picture.height - height) // 2
    left, top = (place + chance.randint(-14, 14) for place in middle)
    shown = turned.crop((left, top, left + width, top + height))
    mover = picture.crop((40, 40, 40 + width // 7, 40 + height // 6)).rotate(90)
    shown.paste(mover, (chance.randint(0, width - mover.width), height - mover.height - chance.randint(5, 30)))
    shown = shown.filter(ImageFilter.GaussianBlur(blur)) if blur else shown
    noise = np.random.default_rng(chance.randint(0, 2**31)).normal(0, 3, (height, width, 3))
    return Image.fromarray((np.asarray(shown) + noise).clip(0, 255).astype(np.uint8))


def _make_series(flaws: Path, folder: Path, truth: Truth, count: int, chance: random.Random) -> None:
    scenes: dict[str, list[str]] = defaultdict(list)
    with (flaws / "labels.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if row["flaw"] == "exposure":
                scenes[row["group"]].append(row["image"])
    fitting = sorted(group for group, members in scenes.items() if len(members) >= 2)
    for group in chance.sample(fitting, min(count, len(fitting))):
        names = []
        for member in scenes[group][:OF_SERIES]:
            names.append(f"series_{group}_{Path(member).name}")
            shutil.copy(flaws / member, folder / names[-1])
        truth.series.append(names)


def _make_useless(
    folder: Path, truth: Truth, blank: int, broken: int, chance: random.Random, photographs: list[Path]
) -> None:
    for number in range(blank):
        name = f"blank_{number:03}.png"
        tone = np.full((384, 512, 3), chance.randint(0, 255), np.int16)
        # Every one another picture: sensor noise on nothing.
        noise = np.random.default_rng(number).integers(-2, 3, tone.shape)
        Image.fromarray((tone + noise).clip(0, 255).astype(np.uint8)).save(folder / name)
        truth.blank.append(name)
    for number in range(broken):
        name = f"broken_{number:03}.jpg"
        whole = photographs[number].read_bytes()
        parts = (b"", whole[: len(whole) // 3], b"\0" * 4000, b"no picture at all", whole[:200])
        (folder / name).write_bytes(parts[number % len(parts)])
        truth.broken.append(name)
