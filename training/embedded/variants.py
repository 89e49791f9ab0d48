"""Pictures of all collections brought to the same sizes and encodings, so that none is known by its file's history.

Each picture is cut, resized and stored again in a few random ways. Of each there is a window at its own resolution, a
view of the whole, and, where it is known, which cells of the window are in focus.
"""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image
from training.embedded.real_flaws import SORTS, Example, known

Bytes = npt.NDArray[np.uint8]
SIDE, CELL = 224, 32
SHORTEST, LONGEST = 224, 330
VIEW = 308
FILTERS = (Image.Resampling.BILINEAR, Image.Resampling.BICUBIC, Image.Resampling.LANCZOS)


@dataclass
class Variant:
    window: Bytes
    view: Bytes
    focus: npt.NDArray[np.float32]
    """Share of each cell that is in focus; -1 where nobody marked it."""


def screens(folder: Path) -> dict[str, list[Example]]:
    """The drawn screens in parts; see ``screens.py``."""
    parts: dict[str, list[Example]] = {"train": [], "validation": [], "test": []}
    for number, file in enumerate(sorted(folder.glob("*.jpg"))):
        part = {0: "test", 1: "validation"}.get(number % 5, "train")
        parts[part].append(
            Example(
                str(file.absolute()), "screens", "", known(motion_blur=0, hazy=0), SORTS.index("screen"), generated=0
            )
        )
    return parts


def opened(path: Path) -> tuple[Image.Image, Image.Image | None]:
    """A picture and the mask of what is out of focus, where there is one beside it."""
    with Image.open(path) as picture:
        found = picture.convert("RGB")
    beside = path.with_suffix(".mask.png")
    if not beside.exists():
        return found, None
    with Image.open(beside) as mask:
        return found, mask.convert("L").resize(found.size)


def made(picture: Image.Image, mask: Image.Image | None, whole: bool, rng: np.random.Generator) -> Variant:
    """One random way; ``whole`` keeps the frame, where the opinion is about all of it."""
    box = (0, 0, *picture.size)
    if not whole and rng.random() < 0.6 and min(picture.size) > SHORTEST:
        share = float(rng.uniform(0.75, 1.0))
        wide, high = (max(SHORTEST, round(side * share)) for side in picture.size)
        left, top = int(rng.integers(picture.width - wide + 1)), int(rng.integers(picture.height - high + 1))
        box = (left, top, left + wide, top + high)
    wide, high = box[2] - box[0], box[3] - box[1]
    scale = float(rng.uniform(SHORTEST, 288 if whole else LONGEST)) / min(wide, high)
    if scale < 0.75 and rng.random() < 0.35:
        scale = 1.0  # some large ones at their own resolution
    size = (max(SIDE, round(wide * scale)), max(SIDE, round(high * scale)))
    kept = picture.resize(size, FILTERS[int(rng.integers(len(FILTERS)))], box=box, reducing_gap=None)
    if rng.random() < 0.8:
        buffer = io.BytesIO()
        kept.save(buffer, "JPEG", quality=int(rng.integers(70, 98)), subsampling=int(rng.choice([0, 2])))
        kept = Image.open(buffer).convert("RGB")
    left, top = int(rng.integers(size[0] - SIDE + 1)), int(rng.integers(size[1] - SIDE + 1))
    window = kept.crop((left, top, left + SIDE, top + SIDE))
    cells = SIDE // CELL
    focus = np.full((cells, cells), -1, np.float32)
    if mask is not None:
        of_window = mask.resize(size, Image.Resampling.BILINEAR, box=box).crop((left, top, left + SIDE, top + SIDE))
        share_out = np.asarray(of_window, np.float32).reshape(cells, CELL, cells, CELL).mean(axis=(1, 3)) / 255
        focus = 1 - share_out
    return Variant(np.asarray(window), np.asarray(kept.resize((VIEW, VIEW), Image.Resampling.BILINEAR)), focus)


def variants_of(task: tuple[int, Example], folder: Path, count: int) -> list[Variant]:
    number, example = task
    picture, mask = opened(folder / example.image)
    rng = np.random.default_rng([2026, number])
    return [made(picture, mask, bool(np.isfinite(example.opinion)), rng) for _ in range(count)]


def all_variants(
    examples: Sequence[Example], folder: Path, count: int, processes: int = os.cpu_count() or 2
) -> tuple[Bytes, Bytes, npt.NDArray[np.float32]]:
    """Windows, views and focus of all examples: those of the first, those of the second, and so on."""
    work = partial(variants_of, folder=folder, count=count)
    with ProcessPoolExecutor(processes) as workers:
        found = [one for some in workers.map(work, enumerate(examples), chunksize=8) for one in some]
    return tuple(np.stack([getattr(one, name) for one in found]) for name in ("window", "view", "focus"))  # type: ignore[return-value]
