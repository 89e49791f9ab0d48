"""Measure many pictures with many tools: one record for each picture and tool, one bad file never stops the rest."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import cv2
import numpy as np

from agenticiqa.errors import AgenticIQAError, ImageError, ImageNotFoundError
from agenticiqa.pictures.finding import STANDARD_INPUT, is_pattern, listed_paths, pictures_in, pictures_matching
from agenticiqa.pictures.images import Box, ImageLimits, LoadedImage, decode_image, load_image
from agenticiqa.runtime.cache import DiskCache
from agenticiqa.runtime.config import ImageSettings, ToolSettings
from agenticiqa.tools.maps import MapFolder
from agenticiqa.tools.measuring import Bench, Job
from agenticiqa.tools.registry import Tool, ToolRegistry

Align = Literal["none", "resize"]


@dataclass(frozen=True)
class Record:
    """One tool's verdict on one picture."""

    image: str
    tool: str
    type: str
    raw: float | None = None
    calibrated: float | None = None
    higher_is_better: bool | None = None
    region: str | None = None
    seconds: float = 0.0
    error: str | None = None
    reference: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Pair:
    """A picture and, for comparison, its reference."""

    image: str | Path
    reference: str | Path | None = None


@dataclass(frozen=True)
class Pairing:
    """Pictures to measure, and those left without a partner."""

    pairs: list[Pair]
    without_partner: list[Path]


def find_pairs(sources: Sequence[str | Path], reference: Path | None) -> Pairing:
    """Pictures, folders and patterns, alone or with references: a picture for all, or a folder with one for each.

    Those of a folder are paired by name without ending.
    """
    named = [str(source) for source in sources]
    pictures = list(dict.fromkeys(path for source in named for path in _pictures_of(source)))
    if reference is None or not reference.is_dir():
        # One reference for many versions of it: what codec people compare.
        return Pairing([Pair(picture, reference) for picture in pictures], [])
    if len(named) == 1 and not (os.path.isdir(named[0]) or is_pattern(named[0]) or named[0] == STANDARD_INPUT):
        raise ImageError(f"{str(reference)!r} is a folder, {named[0]!r} is a picture.", hint="Give two of a kind.")
    partners = {picture.stem.casefold(): picture for picture in pictures_in(reference)}
    pairs = [Pair(picture, partners.get(picture.stem.casefold())) for picture in pictures]
    used = {pair.reference for pair in pairs}
    lonely = [Path(pair.image) for pair in pairs if pair.reference is None]
    lonely += [partner for partner in partners.values() if partner not in used]
    return Pairing([pair for pair in pairs if pair.reference is not None], lonely)


def _pictures_of(source: str) -> list[Path]:
    if source == STANDARD_INPUT:
        return [Path(path) for path in listed_paths(sys.stdin.buffer)]
    if is_pattern(source):
        return [Path(path) for path in pictures_matching(source)]
    folder = Path(source)
    if not folder.is_dir():
        return [folder]
    found = pictures_in(folder)
    if not found:
        raise ImageNotFoundError(f"There is no picture in {source!r}.", hint="Subfolders are not searched.")
    return found


def choose_tools(
    registry: ToolRegistry, names: Sequence[str] | None, *, all_tools: bool, has_reference: bool
) -> list[Tool]:
    """The tools named, or every one that can run, or the usual ones for a picture with or without a reference."""
    if names:
        # A tool named twice runs once.
        return list({tool.name: tool for tool in map(registry.find, names)}.values())
    fitting = [tool for tool in registry.all() if has_reference or not tool.needs_reference]
    if all_tools:
        return fitting
    usual = [tool for tool in fitting if tool.needs_reference == has_reference and tool.calibration]
    # Networks are slow and refuse large pictures: they run when named, or with all tools.
    return [tool for tool in usual if tool.max_megapixels is None] or usual or fitting


@dataclass(frozen=True)
class Measurer:
    """Tools with everything they need to be run on pictures."""

    tools: Sequence[Tool]
    tool_settings: ToolSettings
    image_settings: ImageSettings
    cache: DiskCache | None = None
    align: Align = "none"
    maps: MapFolder | None = None

    def measure(self, pair: Pair, regions: Mapping[str, Box] | None = None) -> Iterator[Record]:
        """A record for every tool and region; a picture that cannot be opened gives error records."""
        try:
            test, reference = self.open(pair)
        except AgenticIQAError as error:
            yield from (self._failed(pair, tool, str(error)) for tool in self.tools)
            return
        yield from self.measure_opened(pair, test, reference, regions)

    def measure_opened(
        self, pair: Pair, test: LoadedImage, reference: LoadedImage | None, regions: Mapping[str, Box] | None = None
    ) -> Iterator[Record]:
        """A record for every tool and region of pictures that are open already."""
        names: dict[Box | None, str | None] = {box: name for name, box in (regions or {}).items()} or {None: None}
        jobs = [Job(tool, box) for box in names for tool in self.tools]
        bench = Bench(test, reference, self.cache, keep_maps=self.maps is not None)
        results = bench.run(jobs, max_workers=self.tool_settings.max_workers, timeout_s=self.tool_settings.timeout_s)
        for job, result in zip(jobs, results, strict=True):
            if self.maps is not None and result.map is not None:
                name = names[job.region]
                self.maps.write(test, job.tool.spec, result.map, path=pair.image, region=job.region, name=name)
            yield replace(
                self._failed(pair, job.tool, result.error),
                raw=result.raw,
                calibrated=result.calibrated,
                region=names[job.region],
                seconds=round(result.seconds, 6),
            )

    def _failed(self, pair: Pair, tool: Tool, error: str | None) -> Record:
        return Record(
            image=str(pair.image),
            tool=tool.name,
            type=tool.type,
            higher_is_better=tool.spec.higher_is_better,
            error=error,
            reference=str(pair.reference) if pair.reference and tool.needs_reference else None,
        )

    @property
    def limits(self) -> ImageLimits:
        return ImageLimits(self.image_settings.max_pixels, self.image_settings.max_bytes)

    def open(self, pair: Pair) -> tuple[LoadedImage, LoadedImage | None]:
        """Both pictures, the test picture scaled where that was asked for."""
        test = load_image(pair.image, self.limits)
        reference = load_image(pair.reference, self.limits) if pair.reference else None
        return self.aligned(test, reference), reference

    def aligned(self, test: LoadedImage, reference: LoadedImage | None) -> LoadedImage:
        """The test picture, scaled to its reference where that was asked for."""
        if reference is not None and self.align == "resize" and reference.size != test.size:
            return resized(test, reference.size)
        return test


def resized(image: LoadedImage, size: tuple[int, int]) -> LoadedImage:
    """The picture scaled to (width, height): an honest comparison only where the user asked for it.

    The samples are scaled as floats and kept in 16 bits, so that scaling adds no rounding of its own to the score.
    """
    shrinking = size[0] < image.size[0]
    samples = cv2.resize(image.pixels, size, interpolation=cv2.INTER_AREA if shrinking else cv2.INTER_CUBIC)
    deep = np.rint(np.clip(samples, 0, 1) * 65535).astype(np.uint16)
    data = cv2.imencode(".png", cv2.cvtColor(deep, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_PNG_COMPRESSION, 1])[1].tobytes()
    return decode_image(data, path=image.path)
