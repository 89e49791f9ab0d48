"""The trained vision model: three small ONNX graphs, run on the CPU.

``local.onnx`` looks at pixels in their native size and gives statistics for every cell of 32×32 pixels;
``content.onnx`` looks at the whole picture shrunk to a square; ``joint.onnx`` turns the mean of the statistics over any
set of cells, with the content, into scores, chances of the five levels, severities and kinds of damage. The picture,
a region and a single place of the map are thus judged by the same rule.
"""

from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from agenticiqa.errors import BackendUnavailableError
from agenticiqa.tools.perceptual.sessions import thread_limit

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]

WEIGHTS = Path(__file__).with_name("weights")
LONGEST = 1024
"""Larger pictures are judged as people see them, reduced to this longer side; ``look`` can be told otherwise."""
TILE = 1024
REGION_CELLS = 3
"""A place of the map is judged by so many cells across: fewer would be too little to see damage in."""


@dataclass(frozen=True)
class Judgement:
    """What the model says of one place or of several (first axis). Probabilities sum to one along the last axis."""

    score: Floats
    """Quality from 1 (bad) to 5 (excellent)."""
    levels: Floats
    """Chances of bad, poor, fair, good, excellent."""
    damage: Floats
    """The score from processing damage alone, as in a laboratory test."""
    opinion: Floats
    """The score as people rate photographs as taken."""
    trust: Floats
    """How much of ``score`` is ``damage``; the rest is ``opinion``."""
    severities: Floats
    """places × categories × severities (none .. extreme)."""
    kinds: Floats
    """places × kinds."""


@dataclass(frozen=True)
class Sight:
    """A picture as the model saw it, before any judgement."""

    cells: Floats
    """rows × columns × statistics."""
    content: Floats
    size: tuple[int, int]
    """Height and width in the picture's own pixels."""
    scale: float
    """Looked-at pixels per own pixel."""


class Vision:
    """The loaded model. Safe to use from several threads."""

    def __init__(self, folder: Path = WEIGHTS, threads: int = 0) -> None:
        try:
            import onnxruntime
        except ImportError as error:
            raise BackendUnavailableError(
                "The embedded model needs onnxruntime.", hint="Install it: pip install onnxruntime"
            ) from error
        self.about: dict[str, Any] = _described(folder)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or thread_limit()
        options.log_severity_level = 3
        self._sessions = {}
        for name, expected in self.about["files"].items():
            data = _checked(folder / name, expected)
            self._sessions[name] = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        self.categories: tuple[str, ...] = tuple(self.about["categories"])
        self.kinds: tuple[str, ...] = tuple(kind["name"] for kind in self.about["kinds"])

    def look(self, picture: Bytes, *, longest: int | None = LONGEST, mirrored: bool = True) -> Sight:
        """See a picture (H×W×3 RGB, 8 bit). ``longest=None`` keeps the native resolution at any size.

        ``mirrored`` looks a second time at the mirrored picture: twice the time, steadier answers.
        """
        height, width = picture.shape[:2]
        opened = Image.fromarray(picture)
        scale = 1.0 if longest is None else min(1.0, longest / max(height, width))
        pixels = picture
        if scale < 1:
            wanted = (max(1, round(width * scale)), max(1, round(height * scale)))
            pixels = np.asarray(opened.resize(wanted, Image.Resampling.BICUBIC, reducing_gap=3.0))
        side = int(self.about["view"])
        view = np.asarray(opened.resize((side, side), Image.Resampling.BILINEAR))
        views = np.stack([view, view[:, ::-1]]) if mirrored else view[None]
        content = self._run("content.onnx", view=views)[0].mean(axis=0)
        return Sight(self._cells(_padded(pixels, int(self.about["cell"])), mirrored), content, (height, width), scale)

    def judge(self, sight: Sight, places: npt.NDArray[np.bool_] | None = None) -> Judgement:
        """Judge the whole picture, or the cells chosen by ``places`` (rows × columns)."""
        chosen = sight.cells.reshape(-1, sight.cells.shape[-1]) if places is None else sight.cells[places]
        return self._judged(chosen.mean(axis=0, dtype=np.float64)[None].astype(np.float32), sight.content)

    def judge_box(self, sight: Sight, box: tuple[int, int, int, int]) -> Judgement:
        """Judge x, y, width, height in the picture's own pixels: all cells that the box touches by half or more."""
        return self.judge(sight, self.cells_of(sight, box))

    def cells_of(self, sight: Sight, box: tuple[int, int, int, int]) -> npt.NDArray[np.bool_]:
        x, y, wide, high = (value * sight.scale / int(self.about["cell"]) for value in box)
        rows, columns = sight.cells.shape[:2]
        chosen = np.zeros((rows, columns), bool)
        top, left = min(round(y), rows - 1), min(round(x), columns - 1)
        chosen[top : max(top + 1, round(y + high)), left : max(left + 1, round(x + wide))] = True
        return chosen

    def map(self, sight: Sight) -> Judgement:
        """A judgement for every cell with its neighbours: arrays of rows × columns places, flattened row by row."""
        reach = REGION_CELLS // 2
        rows, columns = sight.cells.shape[:2]
        padded = np.pad(sight.cells, ((reach, reach), (reach, reach), (0, 0)), mode="edge")
        total = sum(
            padded[down : down + rows, across : across + columns]
            for down in range(REGION_CELLS)
            for across in range(REGION_CELLS)
        )
        smooth = np.asarray(total, np.float32) / np.float32(REGION_CELLS**2)
        return self._judged(smooth.reshape(rows * columns, -1), sight.content)

    def _cells(self, pixels: Bytes, mirrored: bool) -> Floats:
        """Tiles keep memory bounded; each is a multiple of the cell, so that cells of all tiles make one grid."""
        rows = []
        for top in range(0, pixels.shape[0], TILE):
            tiles = []
            for left in range(0, pixels.shape[1], TILE):
                tile = np.ascontiguousarray(pixels[None, top : top + TILE, left : left + TILE])
                found = self._run("local.onnx", picture=tile)[0][0]
                if mirrored:
                    other = self._run("local.onnx", picture=np.ascontiguousarray(tile[:, :, ::-1]))[0][0]
                    found = (found + other[:, ::-1]) / 2
                tiles.append(found)
            rows.append(np.concatenate(tiles, axis=1))
        return np.asarray(np.concatenate(rows, axis=0), np.float32)

    def _judged(self, statistics: Floats, content: Floats) -> Judgement:
        repeated = np.ascontiguousarray(np.broadcast_to(content, (len(statistics), len(content))))
        names = ["score", "levels", "damage", "opinion", "trust", "severities", "kinds"]
        found = self._sessions["joint.onnx"].run(names, {"statistics": statistics, "content": repeated})
        values = dict(zip(names, (np.asarray(value, np.float32) for value in found), strict=True))
        for name in ("score", "damage", "opinion"):
            values[name] = values[name].clip(1, 5)
        return Judgement(**values)

    def _run(self, name: str, **inputs: Bytes) -> list[Floats]:
        found: list[Floats] = self._sessions[name].run(None, inputs)
        return found


def weights_version(folder: Path = WEIGHTS) -> str:
    """Changes with the weights; known without loading them."""
    hashes = "".join(sorted(_described(folder)["files"].values()))
    return hashlib.sha256(hashes.encode()).hexdigest()[:12]


def _described(folder: Path) -> dict[str, Any]:
    try:
        about: dict[str, Any] = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BackendUnavailableError(
            f"The embedded model's description is missing or broken in {folder}.", hint="Install the package again."
        ) from error
    return about


def _checked(file: Path, expected: str) -> bytes:
    """The file's bytes, if they are the ones that were shipped."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise BackendUnavailableError(f"{file} cannot be read.", hint="Install the package again.") from error
    if hashlib.sha256(data).hexdigest() != expected:
        raise BackendUnavailableError(
            f"{file} is not the file that was shipped (its SHA-256 differs).", hint="Install the package again."
        )
    return data


def _padded(pixels: Bytes, cell: int) -> Bytes:
    """Mirrored at the right and lower border up to whole cells; a picture smaller than a cell is repeated."""
    height, width = pixels.shape[:2]
    missing = ((0, -height % cell), (0, -width % cell), (0, 0))
    return np.pad(pixels, missing, mode="symmetric") if any(map(any, missing)) else pixels


_LOCK = threading.Lock()


@cache
def _loaded(folder: Path) -> Vision:
    return Vision(folder)


def load_vision(folder: Path = WEIGHTS) -> Vision:
    """The shipped model, loaded once in a process."""
    with _LOCK:
        return _loaded(folder)
