"""A tool's own map as colours over the picture, and as files.

A map is coloured relative to its worst places, because tools share no scale; its numbers stand in the ``.npy`` file
beside the picture.
"""

from __future__ import annotations

import re
from pathlib import Path

import cv2
import numpy as np

from agenticiqa.pictures.images import Box, LoadedImage
from agenticiqa.pictures.overlays import coloured
from agenticiqa.runtime.files import write_whole
from agenticiqa.tools.metrics import FloatArray, MetricSpec

WORST_SHARE = 1.0
"""Percent of a map that is shown as fully red, so that one outlier does not turn the rest blue."""
FAINT = 0.05
"""A loss of this share of a similarity's range is the least that is shown as fully red."""
ROUNDING = 1e-6
"""The same for errors, which mostly stay far below their range's end: less than this share is rounding."""


def badness_of(local: FloatArray, spec: MetricSpec) -> FloatArray:
    """A tool's map as 0 (nothing lost) to 1 (the worst places of this picture).

    >>> spec = MetricSpec("Toy", "FR", (0.0, 1.0), True, "as printed", "nobody, 2000", ("Blurs",))
    >>> badness_of(np.array([[1.0, 0.5]], np.float32), spec).round(1).tolist()
    [[0.0, 1.0]]
    >>> badness_of(np.ones((2, 2), np.float32), spec).max()
    np.float32(0.0)
    """
    low, high = spec.map_ends
    least = (FAINT if spec.map_is_quality else ROUNDING) * (high - low)
    loss = np.maximum(high - local, 0) if spec.map_is_quality else np.abs(local)
    return np.asarray(np.clip(loss / max(float(np.percentile(loss, 100 - WORST_SHARE)), least), 0, 1), np.float32)


class MapFolder:
    """Writes maps as ``STEM_TOOL[_REGION].npy`` and ``.png``; two pictures of one stem keep their endings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stems: dict[str, str] = {}

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
        self.folder.mkdir(parents=True, exist_ok=True)
        parts = [self._stem(Path(path)), spec.name, *([name] if name else [])]
        file = self.folder / "_".join(_safe(part) for part in parts)
        np.save(file.with_name(f"{file.name}.npy"), local)
        rgb = image.rgb if region is None else image.rgb[region.rows, region.columns]
        shown = coloured(rgb, badness_of(local, spec))
        picture = file.with_name(f"{file.name}.png")
        write_whole(picture, cv2.imencode(".png", cv2.cvtColor(shown, cv2.COLOR_RGB2BGR))[1].tobytes())
        return picture

    def _stem(self, path: Path) -> str:
        owner = self._stems.setdefault(path.stem.casefold(), path.name)
        return path.stem if owner == path.name else path.name


def _safe(name: str) -> str:
    """A name that stays inside its folder on any system.

    >>> _safe("the ../car: red")
    'the-car-red'
    """
    return re.sub(r"[^\w.]+", "-", name.replace("..", "")).strip("-.") or "region"
