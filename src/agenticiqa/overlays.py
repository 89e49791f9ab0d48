"""Where quality is lost: maps of tools as colours over the picture, and as files.

Red is worse, blue is better. A quality map (1..5) has fixed colours; a tool's own map is coloured relative to its worst
places, because tools share no scale; its numbers stand in the ``.npy`` file beside the picture.
"""

from __future__ import annotations

import re
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from agenticiqa.files import write_whole
from agenticiqa.images import Box, LoadedImage
from agenticiqa.tools.metrics import FloatArray, MetricSpec

Bytes = npt.NDArray[np.uint8]

WORST_SHARE = 1.0
"""Percent of a map that is shown as fully red, so that one outlier does not turn the rest blue."""
FAINT = 0.05
"""A loss of this share of a similarity's range is the least that is shown as fully red."""
ROUNDING = 1e-6
"""The same for errors, which mostly stay far below their range's end: less than this share is rounding."""


def coloured(rgb: Bytes, badness: FloatArray) -> Bytes:
    """The picture in grey under a colour map of ``badness`` (0 blue, 1 red), which is scaled to the picture."""
    levels = (np.clip(badness, 0, 1) * 255).astype(np.uint8)
    large = cv2.resize(levels, (rgb.shape[1], rgb.shape[0]), interpolation=_interpolation(levels, rgb))
    colours = cv2.cvtColor(cv2.applyColorMap(large, cv2.COLORMAP_TURBO), cv2.COLOR_BGR2RGB)
    grey = cv2.cvtColor(cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB)
    return np.asarray(cv2.addWeighted(grey, 0.55, colours, 0.45, 0), np.uint8)


def _interpolation(levels: Bytes, rgb: Bytes) -> int:
    return cv2.INTER_AREA if levels.shape[0] > rgb.shape[0] else cv2.INTER_CUBIC


def overlay(rgb: Bytes, quality: FloatArray) -> Bytes:
    """The picture under a map of quality, 1 (bad) to 5 (excellent)."""
    return coloured(rgb, np.asarray((5 - quality) / 4, np.float32))


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
