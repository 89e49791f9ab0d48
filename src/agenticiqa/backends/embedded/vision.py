"""The trained vision model: from pixels to quality levels, severities and kinds of damage, for any region.

A convolutional part gives statistics for every cell of 32×32 pixels at native resolution, a transformer looks at the
whole view, and small joint heads turn both into a reading. Averaging the statistics over any set of cells and asking
the heads again gives that region's reading, so that picture, region and map agree.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
from PIL import Image
from scipy.ndimage import uniform_filter

from agenticiqa.backends.embedded.kinds import model_kinds_for
from agenticiqa.errors import BackendUnavailableError
from agenticiqa.images import Box, UInt8Image

if TYPE_CHECKING:
    from importlib.abc import Traversable

Floats = npt.NDArray[np.float32]

CARD = "model.json"
FILES = ("local.onnx", "content.onnx", "joint.onnx")
LEVELS = (1, 2, 3, 4, 5)
# Tiles keep memory bounded; the margin is what the network sees beyond a cell, and is cut off again.
TILE_CELLS, MARGIN_CELLS = 24, 2


@dataclass(frozen=True)
class KindLabel:
    """A finer kind of damage that the model tells apart."""

    name: str
    title: str
    category: str | None


@dataclass(frozen=True)
class Reading:
    """What the model says about a region."""

    score: float
    """Expected quality, 1 (bad) to 5 (excellent)."""
    level_probabilities: dict[int, float]
    severity_probabilities: dict[str, tuple[float, ...]]
    """For each category the chances of none, slight, moderate, severe, extreme."""
    kinds: dict[str, float]
    """Probability of each finer kind, ``unchanged`` among them."""
    trust_in_damage: float
    """Near 1 for processed pictures, near 0 for photographs judged as taken."""

    @property
    def severity(self) -> dict[str, float]:
        """Expected severity of each category, 0 (none) to 4 (extreme)."""
        return {
            name: sum(place * chance for place, chance in enumerate(chances))
            for name, chances in self.severity_probabilities.items()
        }


class VisionModel:
    """The three networks, loaded once, checked against the fingerprint in their card."""

    def __init__(self, folder: Traversable | None = None) -> None:
        folder = folder or resources.files("agenticiqa.backends.embedded").joinpath("weights")
        if not folder.joinpath(CARD).is_file():
            raise BackendUnavailableError(
                "The weights of the embedded model are missing.", hint="Install agenticiqa again."
            )
        self.card: dict[str, Any] = json.loads(folder.joinpath(CARD).read_text(encoding="utf-8"))
        self.cell = int(self.card["cell"])
        self.view = int(self.card["view"])
        self.categories: list[str] = self.card["categories"]
        self.kinds = [KindLabel(**entry) for entry in self.card["kinds"]]
        self._local, self._content, self._joint = (_session(folder, name, self.card["files"][name]) for name in FILES)

    @property
    def name(self) -> str:
        return str(self.card["name"])

    @property
    def fingerprint(self) -> str:
        """Changes with the weights."""
        joined = "".join(self.card["files"][name] for name in FILES)
        return hashlib.sha256(joined.encode()).hexdigest()[:12]

    def see(self, rgb: UInt8Image) -> Scene:
        """Look at a whole picture once."""
        return Scene(self, self._statistics(rgb), self._whole_view(rgb), rgb.shape[1], rgb.shape[0])

    def _statistics(self, rgb: UInt8Image) -> Floats:
        """Statistics of every cell: rows × columns × channels."""
        height, width = rgb.shape[:2]
        rows, columns = -(-height // self.cell), -(-width // self.cell)
        below, beside = rows * self.cell - height, columns * self.cell - width
        padded = np.pad(rgb, ((0, below), (0, beside), (0, 0)), mode="symmetric")
        out: Floats | None = None
        for top in range(0, rows, TILE_CELLS):
            for left in range(0, columns, TILE_CELLS):
                found, place = self._tile(padded, top, left, rows, columns)
                if out is None:
                    out = np.empty((rows, columns, found.shape[2]), np.float32)
                out[place] = found
        return cast("Floats", out)

    def _tile(
        self, padded: UInt8Image, top: int, left: int, rows: int, columns: int
    ) -> tuple[Floats, tuple[slice, slice]]:
        bottom, right = min(rows, top + TILE_CELLS), min(columns, left + TILE_CELLS)
        outer = (
            max(0, top - MARGIN_CELLS), min(rows, bottom + MARGIN_CELLS),
            max(0, left - MARGIN_CELLS), min(columns, right + MARGIN_CELLS),
        )  # fmt: skip
        y0, y1, x0, x1 = (edge * self.cell for edge in outer)
        found = self._local.run(None, {"picture": np.ascontiguousarray(padded[None, y0:y1, x0:x1])})[0]
        inner = found[0, top - outer[0] : bottom - outer[0], left - outer[2] : right - outer[2]]
        return inner, (slice(top, bottom), slice(left, right))

    def _whole_view(self, rgb: UInt8Image) -> Floats:
        # Pillow's filter, because the network was trained on views that Pillow made.
        small = Image.fromarray(rgb).resize((self.view, self.view), Image.Resampling.BILINEAR)
        return cast("Floats", self._content.run(None, {"view": np.asarray(small, np.uint8)[None]})[0])

    def heads(self, statistics: Floats, content: Floats) -> dict[str, Floats]:
        """The joint heads on N sets of statistics that share one view."""
        inputs = {"statistics": statistics.astype(np.float32), "content": np.repeat(content, len(statistics), axis=0)}
        names = [output.name for output in self._joint.get_outputs()]
        return dict(zip(names, self._joint.run(None, inputs), strict=True))


@dataclass(frozen=True, eq=False)
class Scene:
    """A picture the model has looked at; readings of any region of it are cheap."""

    model: VisionModel
    statistics: Floats
    content: Floats
    width: int
    height: int

    def read(self, box: Box | None = None) -> Reading:
        """The reading of a box, or of the whole picture."""
        weights = self._weights(box)
        mean = np.tensordot(weights, self.statistics, axes=2) / weights.sum()
        return self._readings(mean[None])[0]

    def score_map(self) -> Floats:
        """The quality of every cell with its neighbours, rows × columns, 1 (bad) to 5."""
        around = uniform_filter(self.statistics, size=(3, 3, 1), mode="nearest")
        flat = np.asarray(around.reshape(-1, self.statistics.shape[2]), np.float32)
        return np.clip(self.model.heads(flat, self.content)["score"], 1, 5).reshape(self.statistics.shape[:2])

    def _weights(self, box: Box | None) -> Floats:
        """How much of each cell lies inside the box; cells that are mostly padding count for what they hold."""
        box = box or Box(0, 0, self.width, self.height)
        rows, columns = self.statistics.shape[:2]
        down = _overlap(rows, self.model.cell, box.y, box.y + box.height)
        across = _overlap(columns, self.model.cell, box.x, box.x + box.width)
        return np.outer(down, across).astype(np.float32)

    def _readings(self, statistics: Floats) -> list[Reading]:
        out = self.model.heads(statistics, self.content)
        levels, severities, kinds = out["levels"], out["severities"], out["kinds"]
        return [
            Reading(
                score=float(np.clip(out["score"][i], 1, 5)),
                level_probabilities=dict(zip(LEVELS, map(float, levels[i]), strict=True)),
                severity_probabilities={
                    name: tuple(map(float, severities[i, place])) for place, name in enumerate(self.model.categories)
                },
                kinds={label.name: float(kinds[i, place]) for place, label in enumerate(self.model.kinds)},
                trust_in_damage=float(out["trust"][i]),
            )
            for i in range(len(statistics))
        ]

    # --- finer kinds ---

    def likeliest_kind(self, category: str, reading: Reading) -> tuple[str | None, float]:
        """The title of a category's likeliest kind, and its share of what speaks for the category."""
        own = {label.title: reading.kinds[label.name] for label in self.model.kinds if label.category == category}
        total = sum(own.values())
        if total <= 0:
            return None, 0.0
        title = max(own, key=lambda name: own[name])
        return title, own[title] / total

    def kind_share(self, category: str, kind: str, reading: Reading) -> float | None:
        """The share of a kind that a person named within its category; None where the model knows no such kind."""
        wanted = model_kinds_for(kind)
        own = {label.name: reading.kinds[label.name] for label in self.model.kinds if label.category == category}
        total = sum(own.values())
        if not wanted & own.keys() or total <= 0:
            return None
        return sum(own[name] for name in wanted & own.keys()) / total


def _session(folder: Traversable, name: str, sha256: str) -> Any:
    """An inference session of one network file, whose bytes must be the ones that were trained."""
    try:
        import onnxruntime
    except ImportError as error:
        raise BackendUnavailableError(
            "The embedded backend needs onnxruntime.", hint="pip install onnxruntime"
        ) from error
    data = folder.joinpath(name).read_bytes()
    if hashlib.sha256(data).hexdigest() != sha256:
        raise BackendUnavailableError(
            f"The weights file {name!r} is not the one this version was made with.", hint="Install agenticiqa again."
        )
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def _overlap(cells: int, cell: int, start: int, stop: int) -> Floats:
    edges = np.arange(cells) * cell
    inside = np.minimum(edges + cell, stop) - np.maximum(edges, start)
    return np.asarray(np.clip(inside, 0, None), np.float32)
