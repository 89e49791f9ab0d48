"""A tool's own map over the picture, coloured relative to its worst places, and as files with its numbers."""

import io
import re
from collections.abc import Iterable, Sequence
from itertools import chain, count
from pathlib import Path

import cv2
import numpy as np

from agenticiqa.pictures.images import Box, LoadedImage
from agenticiqa.pictures.regions import coloured
from agenticiqa.runtime.files import refuse_to_replace, write_atomic
from agenticiqa.tools.metrics import FloatArray, MetricSpec

WORST_SHARE = 1.0
"""Percent of a map that is shown as fully red, so that one outlier does not turn the rest blue."""
FAINT = 0.05
"""A loss of this share of a similarity's range is the least that is shown as fully red."""
ROUNDING = 1e-6
"""The same for errors, which mostly stay far below their range's end: less than this share is rounding."""


def badness_of(local: FloatArray, spec: MetricSpec) -> FloatArray:
    """A tool's map as 0 (nothing lost) to 1 (the worst places of this picture)."""
    low, high = spec.map_ends
    least = (FAINT if spec.map_is_quality else ROUNDING) * (high - low)
    loss = np.maximum(high - local, 0) if spec.map_is_quality else np.abs(local)
    return np.asarray(np.clip(loss / max(float(np.percentile(loss, 100 - WORST_SHARE)), least), 0, 1), np.float32)


class MapFolder:
    """Writes ``STEM_TOOL[_REGION].npy`` and ``.png``, never over ``inputs``, over others only with ``overwrite``."""

    def __init__(self, folder: Path, *, inputs: Iterable[str | Path | None] = (), overwrite: bool = False) -> None:
        self.folder = folder
        self._inputs = [given for given in inputs if given is not None]
        self._overwrite = overwrite
        self._owners: dict[str, str] = {}
        self._written: set[Path] = set()

    def refuse_taken(self, paths: Iterable[str], tools: Sequence[str], regions: Sequence[str | None] = (None,)) -> None:
        """Refuse, before anything is measured, what :meth:`write` would refuse for these pictures."""
        for path in paths:
            for file in (self._file(path, tool, region) for tool in tools for region in regions):
                self._refuse_taken(file)

    def _refuse_taken(self, file: Path) -> None:
        for ending in (".npy", ".png"):
            refuse_to_replace(file.with_name(file.name + ending), inputs=self._inputs, overwrite=self._overwrite)

    def _file(self, path: str | Path, tool: str, region: str | None) -> Path:
        parts = [self._stem(Path(path)), tool, *([region] if region else [])]
        return self.folder / "_".join(_safe(part) for part in parts)

    def write(
        self,
        image: LoadedImage,
        spec: MetricSpec,
        local: FloatArray,
        *,
        path: str | Path,
        region: Box | None = None,
        name: str | None = None,
    ) -> Path:
        """Write one map; returns where its overlay is."""
        file = self._file(path, spec.name, name)
        if file not in self._written:
            self._refuse_taken(file)
        self._written.add(file)
        numbers = io.BytesIO()
        np.save(numbers, local)
        write_atomic(file.with_name(f"{file.name}.npy"), numbers.getvalue())
        rgb = image.rgb if region is None else image.rgb[region.rows, region.columns]
        shown = coloured(rgb, badness_of(local, spec))
        picture = file.with_name(f"{file.name}.png")
        write_atomic(picture, cv2.imencode(".png", cv2.cvtColor(shown, cv2.COLOR_RGB2BGR))[1].tobytes())
        return picture

    def _stem(self, path: Path) -> str:
        """The first of stem, name and numbered names that no other picture of this folder has."""
        candidates = chain((path.stem, path.name), (f"{path.name}-{number}" for number in count(2)))
        return next(each for each in candidates if self._owners.setdefault(each.casefold(), str(path)) == str(path))


def _safe(name: str) -> str:
    """A name that stays inside its folder on any system.

    >>> _safe("the ../car: red")
    'the-car-red'
    """
    return re.sub(r"[^\w.]+", "-", name.replace("..", "")).strip("-.") or "region"
