"""The shipped model in worker processes: what it says of many pictures."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from PIL import Image
from rich.console import Console
from rich.progress import track

from agenticiqa.vision.network import WEIGHTS, Vision

Answer = dict[str, npt.NDArray[np.float32]]
Bytes = npt.NDArray[np.uint8]
Result = TypeVar("Result")
HEADS = ("score", "damage", "opinion", "trust", "levels", "severities", "kinds")


@cache
def vision(folder: Path) -> Vision:
    """One thread: the workers share the cores among them."""
    return Vision(folder, threads=1)


def answer(picture: Bytes, weights: Path = WEIGHTS) -> Answer:
    model = vision(weights)
    found = model.judge(model.look(np.ascontiguousarray(picture)))
    return {head: getattr(found, head)[0] for head in HEADS}


def collected(answers: Iterable[Answer]) -> Answer:
    listed = list(answers)
    return {head: np.stack([found[head] for found in listed]) for head in HEADS}


def joined(parts: Sequence[Answer]) -> Answer:
    return {head: np.concatenate([part[head] for part in parts]) for head in HEADS}


def read(path: Path) -> Bytes:
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB"))


def stretched(picture: Bytes) -> Bytes:
    """To the full range, as the published generator does before it damages a picture."""
    low, high = int(picture.min()), int(picture.max())
    return np.asarray(np.rint((picture - float(low)) * (255 / max(high - low, 1))), np.uint8)


def cores() -> int:
    return os.cpu_count() or 1


class Workers:
    """Processes, and a bar on stderr that says how far they are."""

    def __init__(self, count: int) -> None:
        self._pool = ProcessPoolExecutor(count)
        self._console = Console(stderr=True)

    def map(self, title: str, work: Callable[..., Result], *columns: Sequence[Any]) -> list[Result]:
        found = self._pool.map(work, *columns, chunksize=1)
        return list(track(found, title, total=len(columns[0]), console=self._console))

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)
