"""Metric values of the KADID-protocol set and of CSIQ, computed once and kept outside the repository.

Each photograph has its own cache file, and each metric its own entry in it under its name and version, so that a new
or changed metric costs only its own time.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from zlib import crc32

import cv2
import numpy as np
import numpy.typing as npt
from embedded.extra_damage import EXTRA_DAMAGE, damage
from PIL import Image
from training.distortions import LEVELS, PROTOCOL, distort

from agenticiqa.tools.metrics import METRICS, Picture, Views

Floats = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]

OPINIONS: Floats = np.array([distortion.opinions for distortion in PROTOCOL])
"""25 × 5 mean opinions."""
SELECTION_SEED = 20190605
DISTORTION_SEED = 0
PROCESSES = 2


@dataclass(frozen=True)
class ProtocolValues:
    """One metric on the protocol set: photographs × kinds × levels, and on the photographs as they are."""

    damaged: Floats
    unchanged: Floats


def key(name: str) -> str:
    return f"{name}@{METRICS[name].spec.version}"


def chosen_photographs(folder: Path, count: int) -> list[Path]:
    """A seeded choice; a larger count keeps the smaller choice and adds to it."""
    files = sorted(folder.glob("*.jpg"))
    if len(files) < count:
        raise SystemExit(f"{folder} holds {len(files)} photographs, not {count}")
    order = np.random.default_rng(SELECTION_SEED).permutation(len(files))
    return [files[index] for index in order[:count]]


def read_rgb(path: Path) -> Bytes:
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB"))


def full_range(picture: Bytes) -> Bytes:
    low, high = int(picture.min()), int(picture.max())
    return np.asarray(np.rint((picture - float(low)) * (255 / max(high - low, 1))), np.uint8)


def protocol_values(photographs: Sequence[Path], metrics: Sequence[str], cache: Path) -> dict[str, ProtocolValues]:
    """Every metric on every photograph, kind and level."""
    cache.mkdir(parents=True, exist_ok=True)
    work = partial(_measure_photograph, metrics=tuple(metrics), cache=cache)
    stored: list[dict[str, Floats]] = []
    with ProcessPoolExecutor(PROCESSES) as pool:
        for count, entry in enumerate(pool.map(work, photographs), start=1):
            stored.append(entry)
            if count % 5 == 0:
                print(f"{count} of {len(photographs)} photographs", flush=True)
    return {
        name: ProtocolValues(
            np.stack([entry[key(name)] for entry in stored]),
            np.array([float(entry[f"{key(name)}/unchanged"]) for entry in stored]),
        )
        for name in metrics
    }


def _measure_photograph(path: Path, metrics: tuple[str, ...], cache: Path) -> dict[str, Floats]:
    cv2.setNumThreads(1)
    file = cache / f"{path.stem}.npz"
    stored = _load(file)
    missing = [name for name in metrics if key(name) not in stored]
    if missing:
        reference = full_range(read_rgb(path))
        shared = Picture(reference, "reference")
        found = {name: np.zeros((len(PROTOCOL), len(LEVELS))) for name in missing}
        for row, column, damaged in _damaged(reference):
            for name, value in _values(damaged, shared, missing).items():
                found[name][row, column] = value
        stored |= {key(name): values for name, values in found.items()}
        for name, value in _values(reference, shared, missing).items():
            stored[f"{key(name)}/unchanged"] = np.array(value)
        _save(file, stored)
    return stored


def _damaged(reference: Bytes) -> Iterator[tuple[int, int, Bytes]]:
    for row, distortion in enumerate(PROTOCOL):
        for column, level in enumerate(LEVELS):
            yield row, column, distort(reference, distortion.name, level, DISTORTION_SEED, full_range=True)


def _values(test: Bytes, reference: Picture, names: Sequence[str]) -> dict[str, float]:
    views = Views(test, reference)
    return {name: METRICS[name].measure(views).value for name in names}


def _load(file: Path) -> dict[str, Floats]:
    if not file.exists():
        return {}
    with np.load(file) as stored:
        return dict(stored)


def _save(file: Path, values: dict[str, Floats]) -> None:
    temporary = file.with_suffix(f".{os.getpid()}.npz")
    np.savez(temporary, **values)  # type: ignore[arg-type]
    temporary.replace(file)


def extra_values(photographs: Sequence[Path], metrics: Sequence[str], cache: Path) -> dict[str, Floats]:
    """Every metric on every photograph, kind and level of the damage that the protocol lacks."""
    work = partial(_measure_extra, metrics=tuple(metrics), cache=cache)
    with ProcessPoolExecutor(PROCESSES) as pool:
        stored = list(pool.map(work, photographs))
    return {name: np.stack([entry[f"{key(name)}/extra"] for entry in stored]) for name in metrics}


def _measure_extra(path: Path, metrics: tuple[str, ...], cache: Path) -> dict[str, Floats]:
    cv2.setNumThreads(1)
    file = cache / f"{path.stem}.npz"
    stored = _load(file)
    missing = [name for name in metrics if f"{key(name)}/extra" not in stored]
    if missing:
        reference = full_range(read_rgb(path))
        shared, pixels = Picture(reference, "reference"), np.asarray(reference / 255, np.float32)
        found = {name: np.zeros((len(EXTRA_DAMAGE), len(LEVELS))) for name in missing}
        for row, kind in enumerate(EXTRA_DAMAGE):
            for column, level in enumerate(LEVELS):
                # All levels of a kind go the same way: the same cast of colour, the same blocks lost.
                chances = np.random.default_rng(crc32(f"{path.stem} {kind}".encode()))
                damaged = damage(pixels, kind, level, chances)
                for name, value in _values(np.asarray(np.rint(damaged * 255), np.uint8), shared, missing).items():
                    found[name][row, column] = value
        stored |= {f"{key(name)}/extra": values for name, values in found.items()}
        _save(file, stored)
    return stored


# --- CSIQ ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CsiqValues:
    """Metric values with the difference opinion (lower is better), the distortion and the reference of each picture."""

    values: dict[str, Floats]
    unchanged: dict[str, Floats]
    """The same metrics on each picture's reference, compared with itself."""
    dmos: Floats
    kinds: list[str]
    references: list[str]


def csiq_values(folder: Path, metrics: Sequence[str], cache: Path) -> CsiqValues:
    with (folder / "scores.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    cache.mkdir(parents=True, exist_ok=True)
    file = cache / "csiq.npz"
    stored = _load(file)
    missing = [name for name in metrics if f"{key(name)}/unchanged" not in stored]
    if missing:
        measure = partial(_measure_pair, folder=folder, metrics=tuple(missing))
        with ProcessPoolExecutor(PROCESSES) as pool:
            found = list(pool.map(measure, rows, chunksize=8))
        references = {row["reference"] for row in rows}
        own = {name: measure({"image": name, "reference": name}) for name in references}
        for name in missing:
            stored[key(name)] = np.array([values[name] for values in found])
            stored[f"{key(name)}/unchanged"] = np.array([own[row["reference"]][name] for row in rows])
        _save(file, stored)
    return CsiqValues(
        {name: stored[key(name)] for name in metrics},
        {name: stored[f"{key(name)}/unchanged"] for name in metrics},
        np.array([float(row["dmos_0_to_1"]) for row in rows]),
        [row["type"] for row in rows],
        [row["reference"] for row in rows],
    )


def _measure_pair(row: dict[str, str], folder: Path, metrics: tuple[str, ...]) -> dict[str, float]:
    cv2.setNumThreads(1)
    reference = Picture(read_rgb(folder / row["reference"]), "reference")
    return _values(read_rgb(folder / row["image"]), reference, metrics)
