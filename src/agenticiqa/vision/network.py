"""The trained vision model, and how networks are opened: weights checked, ONNX Runtime, each loaded once."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
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


# --- The trained vision model: small ONNX graphs, run on the CPU ---


Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]

WEIGHTS = Path(__file__).with_name("weights")
LONGEST = 1024
"""Pictures with a longer side are large: seen reduced as a whole, and in a few native windows."""
FAR, FAR_FROM = 512, 768
"""Pictures whose longer side is above the second number are also seen reduced to the first: as in training."""
FEW_CELLS = 128
"""Pictures of no more cells are seen with their mirror images, which leaves less to chance where there is little."""
WINDOW = 256
WINDOW_PLACES = ((2, 2), (2, 4), (4, 2), (4, 4))
"""Middles of the windows at native resolution, in sixths of height and width."""
SMOOTH_PLACES, DARKEST_SMOOTH, LIGHTEST_SMOOTH = 2, 30.0, 225.0
"""How many windows lie where the picture is smoothest, and between which brightnesses."""
NATIVE_RESOLUTION_SHARE = {"Noise": 0.6, "Compression": 0.75}
"""What the windows are asked about, with the flaws of these categories, and how much they count beside the reduced
picture, which hides such damage. Single pixels of large photographs are soft: that is no blur to the eye."""
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

    def place(self, number: int) -> Judgement:
        """Of one place alone."""
        return Judgement(**{each.name: getattr(self, each.name)[number : number + 1] for each in fields(Judgement)})


@dataclass(frozen=True)
class Features:
    """A picture as the model saw it, before any judgement."""

    cells: Floats
    """rows × columns × statistics; none where they stayed on a device (``mean`` and ``in_focus`` are known then)."""
    content: Floats
    tokens: Floats
    """What the network that sees the content knows of each place of its view: rows × columns × width."""
    scale: float
    """Pixels of the reduced picture per pixel of the original, along a side."""
    farther: Floats | None = None
    """Statistics of the whole picture, reduced once more; None for small pictures."""
    closer: Floats | None = None
    """Statistics of windows at native resolution; None where ``cells`` are native."""
    mean: Floats | None = None
    """Of all cells, where it is known already; :meth:`Vision.judge_all` makes it otherwise."""
    in_focus: Floats | None = None
    """The chance of every cell to be in focus, where it is known already; rows × columns."""


@dataclass(frozen=True)
class Prepared:
    """A picture as the networks take it: bytes of RGB, made without them."""

    view: Bytes | None
    """All of it, squeezed to the side that the content network sees; None where the device does that."""
    whole: Bytes
    """What the cells are made of: the picture, or a large one reduced; sides are whole cells …"""
    size: tuple[int, int]
    """… of which so many rows and columns are the picture itself."""
    scale: float
    farther: Bytes | None
    windows: tuple[Bytes, ...]


def prepared(picture: Bytes, side: int | None, cell: int) -> Prepared:
    """A picture (H×W×3 RGB) made ready for networks with this side of the view (None: without one) and this cell."""
    height, width = picture.shape[:2]
    longer, scale, whole = max(height, width), 1.0, picture
    windows: tuple[Bytes, ...] = ()
    if longer > LONGEST:
        scale = FAR / longer
        # Most of the way by averaging squares of pixels, which is quick; the last factor of three by the usual filter.
        step = max(1, int(1 / (3 * scale)))
        coarse = cv2.resize(picture, (width // step, height // step), interpolation=cv2.INTER_AREA)
        whole = np.asarray(_reduced(Image.fromarray(coarse), scale * step))
        places = [(height * row // 6, width * column // 6) for row, column in WINDOW_PLACES]
        smooth = _smooth_places(np.asarray(coarse, np.uint8), WINDOW // step)
        places += [(row * step, column * step) for row, column in smooth]
        windows = tuple(_padded(_window(picture, *place), cell) for place in places)
    far = scale == 1.0 and longer > FAR_FROM
    return Prepared(
        view=np.asarray(Image.fromarray(whole).resize((side, side), Image.Resampling.BILINEAR)) if side else None,
        whole=_padded(whole, cell),
        size=(whole.shape[0], whole.shape[1]),
        scale=scale,
        farther=_padded(np.asarray(_reduced(Image.fromarray(whole), FAR / longer)), cell) if far else None,
        windows=windows,
    )


class Vision:
    """The loaded model. Safe to use from several threads."""

    def __init__(self, folder: Path = WEIGHTS, threads: int = 0) -> None:
        self.about: dict[str, Any] = described(folder)
        self._sessions = {
            name: self._opened(checked_file(folder / name, expected), threads)
            for name, expected in self.about["files"].items()
        }
        self.categories: tuple[str, ...] = tuple(self.about["categories"])
        self.kinds: tuple[str, ...] = tuple(kind["name"] for kind in self.about["kinds"])
        self.flaws: dict[str, str] = {flaw["name"]: flaw["category"] for flaw in self.about["flaws"]}
        self.sorts: tuple[str, ...] = tuple(self.about["sorts"])

    def _opened(self, data: bytes, threads: int) -> Any:
        return open_session(data, threads)

    def look(self, picture: Bytes) -> Features:
        """See a picture (H×W×3 RGB, 8 bit)."""
        return self.see([prepared(picture, int(self.about["view"]), int(self.about["cell"]))])[0]

    def see(self, pictures: Sequence[Prepared]) -> list[Features]:
        """See several pictures; each as if it were alone."""
        return [self._seen(each) for each in pictures]

    def _seen(self, picture: Prepared) -> Features:
        if picture.view is None:
            raise ValueError("a picture is prepared with a view for the CPU")
        content, tokens = self._run("content.onnx", view=picture.view[None])
        return Features(
            cells=self._cells(picture.whole, mirrored=self.is_small(picture.whole.shape)),
            content=content[0],
            tokens=tokens[0],
            scale=picture.scale,
            farther=None if picture.farther is None else _mean(self._cells(picture.farther)),
            closer=closer_of([self._cells(window) for window in picture.windows]),
        )

    def is_small(self, shape: Sequence[int]) -> bool:
        """Whether pictures of this shape (height, width and colours last; whole cells) are of few cells."""
        height, width, _ = shape[-3:]
        return height * width <= FEW_CELLS * int(self.about["cell"]) ** 2

    def judge(self, features: Features, places: npt.NDArray[np.bool_] | None = None) -> Judgement:
        """Judge the whole picture from all distances, or the cells chosen by ``places`` (rows × columns)."""
        if places is not None:
            return self._judged(_mean(features.cells[places])[None], features.content)
        return self.judge_all([features])

    def judge_all(self, pictures: Sequence[Features]) -> Judgement:
        """Judge whole pictures from all distances: one place for each."""
        content = np.stack([each.content for each in pictures])
        means = [_mean(each.cells) if each.mean is None else each.mean for each in pictures]
        found = self._judged(np.stack(means), content)
        values = {field.name: getattr(found, field.name) for field in fields(Judgement)}
        if far := [place for place, each in enumerate(pictures) if each.farther is not None]:
            farther = self._judged(_stacked(pictures[place].farther for place in far), content[far])
            for name in ("score", "levels", "damage", "opinion", "trust"):
                values[name][far] = (values[name][far] + getattr(farther, name)) / 2
        if near := [place for place, each in enumerate(pictures) if each.closer is not None]:
            closer = self._judged(_stacked(pictures[place].closer for place in near), content[near])
            shares = NATIVE_RESOLUTION_SHARE
            of_categories = np.array([shares.get(name, 0.0) for name in self.categories], np.float32)[None, :, None]
            of_flaws = np.array([shares.get(name, 0.0) for name in self.flaws.values()], np.float32)[None]
            for name, share in (("severities", of_categories), ("flaws", of_flaws)):
                values[name][near] += share * (getattr(closer, name) - values[name][near])
        return Judgement(**values)

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
        if features.in_focus is not None:
            return features.in_focus
        rows, columns = features.cells.shape[:2]
        cells = np.ascontiguousarray(features.cells.reshape(rows * columns, -1))
        (found,) = self._run("focus.onnx", statistics=cells, content=features.content[None])
        return np.asarray(found.reshape(rows, columns), np.float32)

    def _cells(self, pixels: Bytes, *, mirrored: bool = False) -> Floats:
        """Statistics of each cell; ``mirrored``: means of what is seen of the picture and of its mirror image."""
        looks = np.stack([pixels, pixels[:, ::-1]]) if mirrored else pixels[None]
        found = np.asarray(self._run("local.onnx", picture=looks)[0], np.float32)
        return np.asarray((found[0] + found[1, :, ::-1]) / 2 if mirrored else found[0], np.float32)

    def _judged(self, statistics: Floats, content: Floats) -> Judgement:
        """``content`` of one picture for all places, or of one for each."""
        names = [field.name for field in fields(Judgement)]
        given = {"statistics": statistics, "content": np.atleast_2d(content)}
        found = self._sessions["joint.onnx"].run(names, given)
        values = dict(zip(names, (np.array(value, np.float32) for value in found), strict=True))
        for name in ("score", "damage", "opinion"):
            values[name] = values[name].clip(1, 5)
        return Judgement(**values)

    def _run(self, name: str, **inputs: Bytes | Floats) -> list[Floats]:
        found: list[Floats] = self._sessions[name].run(None, inputs)
        return found


@loaded_once
def weights_version() -> str:
    """Changes with the weights; known without loading them."""
    hashes = "".join(sorted(described(WEIGHTS)["files"].values()))
    return hashlib.sha256(hashes.encode()).hexdigest()[:12]


def _mean(cells: Floats) -> Floats:
    """Over all cells, in double precision: sums of many squares would lose digits."""
    return np.asarray(cells.reshape(-1, cells.shape[-1]).mean(axis=0, dtype=np.float64), np.float32)


def closer_of(windows: Sequence[Floats]) -> Floats | None:
    """Statistics of windows together, from the cells of each; None where there is none."""
    return _mean(np.concatenate([cells.reshape(-1, cells.shape[-1]) for cells in windows])) if windows else None


def _stacked(values: Iterable[Floats | None]) -> Floats:
    return np.stack([each for each in values if each is not None])


def _reduced(picture: Image.Image, scale: float) -> Image.Image:
    wanted = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    return picture.resize(wanted, Image.Resampling.BICUBIC, reducing_gap=3.0)


def _window(picture: Bytes, row: int, column: int) -> Bytes:
    """The window at native resolution about a place, as far as the frame allows."""
    sides = zip(picture.shape, (row, column), strict=False)
    top, left = (min(max(at - WINDOW // 2, 0), max(side - WINDOW, 0)) for side, at in sides)
    return np.ascontiguousarray(picture[top : top + WINDOW, left : left + WINDOW])


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
    down, across = -height % cell, -width % cell
    if not down and not across:
        return np.ascontiguousarray(pixels)
    return np.asarray(cv2.copyMakeBorder(pixels, 0, down, 0, across, cv2.BORDER_REFLECT), np.uint8)


@loaded_once
def load_vision() -> Vision:
    return Vision(WEIGHTS)
