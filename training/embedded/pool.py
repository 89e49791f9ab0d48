"""All training pictures on the accelerator, read from shards as these appear."""

from __future__ import annotations

import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

TARGETS = {
    "damage": torch.float32,
    "overall": torch.float32,
    "rated": torch.bool,
    "kind": torch.int64,
    "level": torch.float32,
    "chain": torch.int64,
    "local": torch.bool,
    "categories": torch.float32,
}
STORED_VIEW = 308
"""Whole views are kept a little larger than the network takes them, so that training can shift them."""


def whole_views(pictures: Tensor, side: int) -> Tensor:
    """uint8 N×H×W×3 shrunk to squares, with the filter of Pillow's BILINEAR."""
    small = F.interpolate(pictures.permute(0, 3, 1, 2).float(), (side, side), mode="bilinear", antialias=True)
    return small.round().clamp(0, 255).byte().permute(0, 2, 3, 1)


class Store:
    """Pictures of one size with views and targets, growing."""

    def __init__(self, capacity: int, size: tuple[int, int], device: str, *, targets: bool = True):
        self.pictures = torch.empty((capacity, *size, 3), dtype=torch.uint8, device=device)
        self.views = torch.empty((capacity, STORED_VIEW, STORED_VIEW, 3), dtype=torch.uint8, device=device)
        self.targets = {}
        for name, kind in TARGETS.items() if targets else ():
            shape = (capacity, 8) if name == "categories" else (capacity,)
            self.targets[name] = torch.empty(shape, dtype=kind, device=device)
        self.count = 0
        self._lock = threading.Lock()

    def add(self, pictures: np.ndarray, targets: dict[str, np.ndarray]) -> None:
        moved = torch.from_numpy(pictures).to(self.pictures.device)
        views = whole_views(moved, STORED_VIEW)
        with self._lock:
            start, stop = self.count, min(self.count + len(moved), len(self.pictures))
            room = stop - start
            self.pictures[start:stop] = moved[:room]
            self.views[start:stop] = views[:room]
            for name, values in self.targets.items():
                values[start:stop] = torch.from_numpy(targets[name][:room]).to(values)
            self.count = stop

    def pairs(self, count: int) -> Tensor:
        """``2 × count`` rows: each followed by a neighbour of its chain where it has one, else by any other."""
        device = self.pictures.device
        one = torch.randint(self.count, (count,), device=device)
        chain = self.targets["chain"]
        after, before = (one + 1).clamp_max(self.count - 1), (one - 1).clamp_min(0)
        other = torch.randint(self.count, (count,), device=device)
        other = torch.where((chain[before] == chain[one]) & (before != one), before, other)
        other = torch.where((chain[after] == chain[one]) & (after != one), after, other)
        return torch.stack([one, other], 1).flatten()


def crops(pictures: Tensor, rows: Tensor, size: tuple[int, int], flip: Tensor) -> Tensor:
    """Windows at random places, some mirrored, as N×3×H×W in 0..1."""
    device = pictures.device
    count, (height, width) = len(rows), size
    top = torch.randint(pictures.shape[1] - height + 1, (count, 1), device=device)
    left = torch.randint(pictures.shape[2] - width + 1, (count, 1), device=device)
    y = top + torch.arange(height, device=device)
    x = left + torch.arange(width, device=device)
    x = torch.where(flip[:, None], x.flip(1), x)
    return pictures[rows[:, None, None], y[:, :, None], x[:, None, :]].permute(0, 3, 1, 2).float() / 255


def shifted_views(views: Tensor, rows: Tensor, side: int, flip: Tensor) -> Tensor:
    """Half the views whole, half a window of them, of one random size."""
    half = len(rows) // 2
    window = int(torch.randint(STORED_VIEW * 7 // 10, STORED_VIEW + 1, ()))
    whole = views[rows[:half]].permute(0, 3, 1, 2).float() / 255
    whole = torch.where(flip[:half, None, None, None], whole.flip(3), whole)
    cut = crops(views, rows[half:], (window, window), flip[half:])
    return torch.cat([F.interpolate(part, (side, side), mode="bilinear", antialias=True) for part in (whole, cut)])


class Reader:
    """Threads that move finished training shards into the stores."""

    def __init__(self, pool: Path, stores: dict[tuple[int, int], Store], threads: int = 3):
        self.pool, self.stores = pool, stores
        self.seen: set[str] = set()
        self.stopped = False
        self.failure: BaseException | None = None
        self.workers = ThreadPoolExecutor(threads)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        while not self.stopped:
            fresh = [file for file in self.pool.glob("train-*.npz") if file.name not in self.seen]
            self.seen.update(file.name for file in fresh)
            try:
                list(self.workers.map(self._load, fresh))
            except BaseException as error:
                self.failure = error
                raise
            if not fresh and (self.pool / "complete").exists():
                return
            time.sleep(0.5)

    def _load(self, file: Path) -> None:
        if self.stopped:
            return
        pictures = mapped(file, "pictures")
        with np.load(file) as stored:
            targets = {name: stored[name] for name in TARGETS}
        self.stores[pictures.shape[1:3]].add(pictures, targets)


def mapped(file: Path, name: str) -> np.ndarray:
    """An uncompressed member of an npz file as a memory map: reading it through zipfile would hold the interpreter
    lock for most of the time, and the thread that feeds the accelerator would starve."""
    with zipfile.ZipFile(file) as archive:
        start = archive.getinfo(f"{name}.npy").header_offset
    with file.open("rb") as stream:
        stream.seek(start)
        header = stream.read(30)
        stream.seek(start + 30 + int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"))
        version = np.lib.format.read_magic(stream)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, kind = read_header(stream)
        return np.memmap(file, kind, "c", stream.tell(), shape)
