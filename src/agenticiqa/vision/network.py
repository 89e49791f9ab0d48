"""The trained vision model, and how networks are opened: weights checked, ONNX Runtime, each loaded once."""

import hashlib
import json
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image

from agenticiqa.errors import BackendUnavailableError

Arguments = ParamSpec("Arguments")
T = TypeVar("T")


def loaded_once(load: Callable[Arguments, T]) -> Callable[Arguments, T]:
    """``load``, called once per process for the same arguments, however many threads ask at the same time."""
    lock, kept = threading.Lock(), dict[Hashable, T]()

    @wraps(load)
    def loaded(*args: Arguments.args, **kwargs: Arguments.kwargs) -> T:
        key = (args, *kwargs.items())
        with lock:
            if key not in kept:
                kept[key] = load(*args, **kwargs)
            return kept[key]

    return loaded


class LRUCache(Generic[T]):
    """A thread-safe cache of the ``max_size`` values used last, by key.

    >>> lengths = LRUCache[int](max_size=8)
    >>> lengths.get("four", lambda: len("four"))
    4
    """

    def __init__(self, max_size: int) -> None:
        self._max_size = max_size
        self._kept: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        with self._lock:
            found = self._kept.pop(key, None)
        if found is None:
            found = make()
        with self._lock:
            self._kept[key] = found
            while len(self._kept) > self._max_size:
                self._kept.popitem(last=False)
        return found


def open_session(
    data: bytes, threads: int = 0, weights: Mapping[str, npt.NDArray[Any]] | None = None, *, keeps_memory: bool = True
) -> Any:
    """An ONNX graph ready to run on the CPU; ``threads`` 0 takes the usual number.

    ``weights`` are the tensors that the graph itself only names. A session that ``keeps_memory`` holds for its whole
    life what its largest picture took: quick for pictures of a bounded size, gigabytes for others. Every session of
    this package is opened here.
    """
    # Nothing of ours leaves the machine: importing ONNX Runtime writes a device id into the user's cache and collects
    # events for its maker, unless this is set before. A program that wants that sets the variable itself.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # What OMP_NUM_THREADS allows, as other numeric libraries read it; 0 leaves the choice to ONNX Runtime.
    allowed = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    options.intra_op_num_threads = threads or (int(allowed) if allowed.isdigit() else 0)
    options.log_severity_level = 3
    # Planning memory for each new size of picture costs a tenth of a second at the first look and gains nothing later.
    options.enable_mem_pattern = False
    options.enable_cpu_mem_arena = keeps_memory
    # Threads that wait by spinning take the processor from whatever else runs: tools, other requests.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if weights:
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(each) for each in weights.values()]
        options.add_external_initializers(list(weights), values)
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def described(folder: Path, file: str = "model.json") -> dict[str, Any]:
    """What stands in a folder of weights beside them, their hashes among it."""
    try:
        about: dict[str, Any] = json.loads((folder / file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BackendUnavailableError(
            f"The embedded model's description is missing or broken in {folder}.", hint="Install the package again."
        ) from error
    return about


def checked_file(file: Path, expected: str) -> bytes:
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


# --- The trained vision model: three small ONNX graphs, run on the CPU ---


Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]

WEIGHTS = Path(__file__).with_name("weights")
LONGEST = 1024
"""Pictures with a longer side are large; ``look`` takes another limit."""
FAR, FAR_FROM = 512, 768
"""Pictures whose longer side is above the second number are also seen reduced to the first: as in training."""
WINDOW = 256
WINDOW_PLACES = ((2, 2), (2, 4), (4, 2), (4, 4))
"""Middles of the windows at native resolution, in sixths of height and width."""
SMOOTH_PLACES, DARKEST_SMOOTH, LIGHTEST_SMOOTH = 2, 30.0, 225.0
"""How many windows lie where the picture is smoothest, and between which brightnesses."""
NATIVE_RESOLUTION_SHARE = {"Noise": 0.6, "Compression": 0.75}
"""What the windows are asked about, with the flaws of these categories, and how much they count beside the reduced
picture, which hides such damage. Single pixels of large photographs are soft: that is no blur to the eye."""
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
    flaws: Floats
    """places × flaws of photographs as taken: chances of their own, none above that of its category."""
    sorts: Floats
    """places × sorts of pictures (photograph, painting, drawing, sketch, screen, document)."""
    generated: Floats
    """The chance that the picture comes from a generator."""
    in_focus: Floats
    """The chance that the place is in focus; meant for single places."""


@dataclass(frozen=True)
class Features:
    """A picture as the model saw it, before any judgement."""

    cells: Floats
    """rows × columns × statistics."""
    content: Floats
    tokens: Floats
    """What the network that sees the content knows of each place of its view: rows × columns × width."""
    scale: float
    """Pixels of the reduced picture per pixel of the original, along a side."""
    farther: Floats | None = None
    """Statistics of the whole picture, reduced once more; None for small pictures."""
    closer: Floats | None = None
    """Statistics of windows at native resolution; None where ``cells`` are native."""


class Vision:
    """The loaded model. Safe to use from several threads."""

    def __init__(self, folder: Path = WEIGHTS, threads: int = 0) -> None:
        self.about: dict[str, Any] = described(folder)
        self._sessions = {
            name: open_session(checked_file(folder / name, expected), threads)
            for name, expected in self.about["files"].items()
        }
        self.categories: tuple[str, ...] = tuple(self.about["categories"])
        self.kinds: tuple[str, ...] = tuple(kind["name"] for kind in self.about["kinds"])
        self.flaws: dict[str, str] = {flaw["name"]: flaw["category"] for flaw in self.about["flaws"]}
        self.sorts: tuple[str, ...] = tuple(self.about["sorts"])

    def look(self, picture: Bytes, *, longest: int | None = LONGEST, mirrored: bool = True) -> Features:
        """See a picture (H×W×3 RGB, 8 bit), reduced to ``longest`` unless None; ``mirrored``: its mirror image too."""
        height, width = picture.shape[:2]
        longer = max(height, width)
        if longest is not None and longer > longest:
            return self._large(picture, min(FAR, longest) / longer)
        opened = Image.fromarray(picture)
        content, tokens = self._content(opened, mirrored)
        cells = self._cells(picture, mirrored)
        farther = _mean(self._cells(_reduced(opened, FAR / longer), mirrored)) if longer > FAR_FROM else None
        return Features(cells, content, tokens, 1.0, farther)

    def _large(self, picture: Bytes, scale: float) -> Features:
        """One look at the whole, without its mirror image, and a few native windows."""
        height, width = picture.shape[:2]
        # Most of the way by averaging squares of pixels, which is quick; the last factor of three by the usual filter.
        step = max(1, int(1 / (3 * scale)))
        coarse = cv2.resize(picture, (width // step, height // step), interpolation=cv2.INTER_AREA)
        reduced = _reduced(Image.fromarray(coarse), scale * step)
        places = [(height * row // 6, width * column // 6) for row, column in WINDOW_PLACES]
        smooth = _smooth_places(np.asarray(coarse, np.uint8), WINDOW // step)
        places += [(row * step, column * step) for row, column in smooth]
        windows = [self._cells(_window(picture, *place), mirrored=False) for place in places]
        content, tokens = self._content(Image.fromarray(reduced), mirrored=False)
        return Features(
            cells=self._cells(reduced, mirrored=False),
            content=content,
            tokens=tokens,
            scale=scale,
            closer=_mean(np.concatenate([cells.reshape(-1, cells.shape[-1]) for cells in windows])),
        )

    def _content(self, opened: Image.Image, mirrored: bool) -> tuple[Floats, Floats]:
        side = int(self.about["view"])
        view = np.asarray(opened.resize((side, side), Image.Resampling.BILINEAR))
        views = np.stack([view, view[:, ::-1]]) if mirrored else view[None]
        content, tokens = self._run("content.onnx", view=views)
        if mirrored:
            tokens = np.stack([tokens[0], tokens[1, :, ::-1]])
        return np.asarray(content.mean(axis=0), np.float32), np.asarray(tokens.mean(axis=0), np.float32)

    def judge(self, features: Features, places: npt.NDArray[np.bool_] | None = None) -> Judgement:
        """Judge the whole picture from all distances, or the cells chosen by ``places`` (rows × columns)."""
        if places is not None:
            return self._judged(_mean(features.cells[places])[None], features.content)
        found = self._judged(_mean(features.cells)[None], features.content)
        if features.farther is not None:
            farther = self._judged(features.farther[None], features.content)
            names = ("score", "levels", "damage", "opinion", "trust")
            found = replace(found, **{name: (getattr(found, name) + getattr(farther, name)) / 2 for name in names})
        if features.closer is not None:
            closer = self._judged(features.closer[None], features.content)
            shares = NATIVE_RESOLUTION_SHARE
            of_categories = np.array([shares.get(name, 0.0) for name in self.categories], np.float32)[None, :, None]
            of_flaws = np.array([shares.get(name, 0.0) for name in self.flaws.values()], np.float32)[None]
            found = replace(
                found,
                severities=found.severities + of_categories * (closer.severities - found.severities),
                flaws=found.flaws + of_flaws * (closer.flaws - found.flaws),
            )
        return found

    def parts(self, features: Features) -> Floats:
        """The chance of each kind of thing (``about["parts"]``) at each place of the view, rows × columns × kinds."""
        return np.asarray(self._run("parts.onnx", tokens=features.tokens[None])[0][0], np.float32)

    def map(self, features: Features) -> Judgement:
        """A judgement for every cell with its neighbours: arrays of rows × columns places, flattened row by row."""
        reach = REGION_CELLS // 2
        rows, columns = features.cells.shape[:2]
        padded = np.pad(features.cells, ((reach, reach), (reach, reach), (0, 0)), mode="edge")
        total = sum(
            padded[down : down + rows, across : across + columns]
            for down in range(REGION_CELLS)
            for across in range(REGION_CELLS)
        )
        smooth = np.asarray(total, np.float32) / np.float32(REGION_CELLS**2)
        return self._judged(smooth.reshape(rows * columns, -1), features.content)

    def focus(self, features: Features) -> Floats:
        """The chance of every cell, without its neighbours, to be in focus: rows × columns."""
        rows, columns = features.cells.shape[:2]
        found = self._judged(np.ascontiguousarray(features.cells.reshape(rows * columns, -1)), features.content)
        return np.asarray(found.in_focus.reshape(rows, columns), np.float32)

    def _cells(self, pixels: Bytes, mirrored: bool) -> Floats:
        """Tiles keep memory bounded; each is a multiple of the cell, so that cells of all tiles make one grid."""
        pixels = _padded(pixels, int(self.about["cell"]))
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
        names = [field.name for field in fields(Judgement)]
        found = self._sessions["joint.onnx"].run(names, {"statistics": statistics, "content": repeated})
        values = dict(zip(names, (np.asarray(value, np.float32) for value in found), strict=True))
        for name in ("score", "damage", "opinion"):
            values[name] = values[name].clip(1, 5)
        return Judgement(**values)

    def _run(self, name: str, **inputs: Bytes | Floats) -> list[Floats]:
        found: list[Floats] = self._sessions[name].run(None, inputs)
        return found


def weights_version() -> str:
    """Changes with the weights; known without loading them."""
    hashes = "".join(sorted(described(WEIGHTS)["files"].values()))
    return hashlib.sha256(hashes.encode()).hexdigest()[:12]


def _mean(cells: Floats) -> Floats:
    """Over all cells, in double precision: sums of many squares would lose digits."""
    return np.asarray(cells.reshape(-1, cells.shape[-1]).mean(axis=0, dtype=np.float64), np.float32)


def _reduced(picture: Image.Image, scale: float) -> Bytes:
    wanted = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    return np.asarray(picture.resize(wanted, Image.Resampling.BICUBIC, reducing_gap=3.0))


def _window(picture: Bytes, row: int, column: int) -> Bytes:
    """The window at native resolution about a place, as far as the frame allows."""
    sides = zip(picture.shape, (row, column), strict=False)
    top, left = (min(max(at - WINDOW // 2, 0), max(side - WINDOW, 0)) for side, at in sides)
    return picture[top : top + WINDOW, left : left + WINDOW]


def _smooth_places(picture: Bytes, side: int) -> list[tuple[int, int]]:
    """Middles of the smoothest places of a size that are neither black nor white: grain and blocks show most there."""
    height, width = (max(1, length // side) for length in picture.shape[:2])
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.float32)
    mean = cv2.resize(grey, (width, height), interpolation=cv2.INTER_AREA)
    spread = cv2.resize(grey * grey, (width, height), interpolation=cv2.INTER_AREA) - mean * mean
    spread[(mean < DARKEST_SMOOTH) | (mean > LIGHTEST_SMOOTH)] = np.inf
    chosen = np.argsort(spread, axis=None, kind="stable")[:SMOOTH_PLACES]
    return [(side * (2 * (int(at) // width) + 1) // 2, side * (2 * (int(at) % width) + 1) // 2)
            for at in chosen if np.isfinite(spread.flat[at])]  # fmt: skip


def _padded(pixels: Bytes, cell: int) -> Bytes:
    """Mirrored at the right and lower border up to whole cells; a picture smaller than a cell is repeated."""
    height, width = pixels.shape[:2]
    missing = ((0, -height % cell), (0, -width % cell), (0, 0))
    return np.pad(pixels, missing, mode="symmetric") if any(map(any, missing)) else pixels


@loaded_once
def load_vision() -> Vision:
    return Vision(WEIGHTS)
