"""Measure many pictures with many tools: one record for each picture and tool, one bad file never stops the rest."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agenticiqa.api.arguments import Regions
from agenticiqa.errors import AgenticIQAError, ImageError, ImageNotFoundError, MissingExtraError
from agenticiqa.pictures import formats
from agenticiqa.pictures.images import Box, LoadedImage
from agenticiqa.pictures.inputs import Align, GivenPicture, PictureInput, Size, aligned, given_picture
from agenticiqa.runtime.cache import DiskCache, open_cache
from agenticiqa.runtime.config import ImageLimits, Settings, ToolSettings, load_settings
from agenticiqa.runtime.memory import MemoryBudget, process_budget
from agenticiqa.tools.catalogue import same_tool
from agenticiqa.tools.maps import MapFolder
from agenticiqa.tools.measuring import ToolJob, ToolRunner
from agenticiqa.tools.metrics import FloatArray
from agenticiqa.tools.needs import measuring_need
from agenticiqa.tools.registry import Tool, ToolRegistry, default_registry


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
    map: FloatArray | None = field(default=None, repr=False, compare=False)
    """Where the value comes from, if maps were asked for and the tool has one; not part of tables."""

    def as_dict(self) -> dict[str, Any]:
        """Everything but the map."""
        return {name: value for name, value in vars(self).items() if name != "map"}


@dataclass(frozen=True)
class Pair:
    """A picture and, for comparison, its reference."""

    image: GivenPicture
    reference: GivenPicture | None = None

    @classmethod
    def of(cls, image: PictureInput, reference: PictureInput | None = None) -> Pair:
        return cls(given_picture(image), given_picture(reference) if reference is not None else None)


@dataclass(frozen=True)
class Pairing:
    """Pictures to measure, and those left without a partner."""

    pairs: list[Pair]
    without_partner: list[Path]
    skipped: formats.Skipped = field(default_factory=formats.Skipped)
    """Files of the folders and patterns that do not open here."""


def find_pairs(sources: Sequence[str | Path], reference: Path | None) -> Pairing:
    """Pictures, folders and patterns, alone, with one reference for all, or with a folder of them, paired by stem."""
    named = [str(source) for source in sources]
    skipped = formats.Skipped()
    pictures = list(dict.fromkeys(path for source in named for path in _pictures_of(source, skipped)))
    if reference is None or not reference.is_dir():
        # One reference for many versions of it: what codec people compare.
        return Pairing([Pair.of(picture, reference) for picture in pictures], [], skipped)
    if len(named) == 1 and not (
        os.path.isdir(named[0]) or formats.is_pattern(named[0]) or named[0] == formats.STANDARD_INPUT
    ):
        raise ImageError(f"{str(reference)!r} is a folder, {named[0]!r} is a picture.", hint="Give two of a kind.")
    partners = {picture.stem.casefold(): picture for picture in formats.pictures_in(reference, skipped)}
    stems = {picture: picture.stem.casefold() for picture in pictures}
    pairs = [Pair.of(picture, partners[stem]) for picture, stem in stems.items() if stem in partners]
    unpaired = [picture for picture, stem in stems.items() if stem not in partners]
    alone = partners.keys() - {*stems.values()}
    unpaired += [partner for stem, partner in partners.items() if stem in alone]
    return Pairing(pairs, unpaired, skipped)


def _pictures_of(source: str, skipped: formats.Skipped) -> list[Path]:
    if source == formats.STANDARD_INPUT:
        return [Path(path) for path in formats.listed_paths(sys.stdin.buffer)]
    if formats.is_pattern(source):
        return [Path(path) for path in formats.pictures_matching(source, skipped)]
    if not os.path.isdir(source):
        return [Path(source)]
    found = formats.pictures_in(Path(source), skipped)
    if not found:
        hint = " ".join(skipped.lines()) or "Subfolders are not searched."
        raise ImageNotFoundError(f"There is no picture in {source!r}.", hint=hint)
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
    typical = [tool for tool in fitting if tool.needs_reference == has_reference and tool.calibration]
    # Networks are slow and refuse large pictures: they run when named, or with all tools.
    return [tool for tool in typical if tool.spec.max_megapixels is None] or typical or fitting


@dataclass(frozen=True)
class Measurer:
    """Tools with everything they need to be run on pictures."""

    tools: Sequence[Tool]
    tool_settings: ToolSettings
    limits: ImageLimits
    cache: DiskCache | None = None
    align: Align = "none"
    maps: MapFolder | None = None
    keep_maps: bool = False
    memory: MemoryBudget = field(default_factory=lambda: process_budget(None))

    @classmethod
    def configured(cls, settings: Settings, tools: Sequence[Tool], *, cached: bool, **more: Any) -> Measurer:
        """One that works under these settings; ``more`` are fields of its own: ``align``, ``maps``, ``keep_maps``."""
        pipeline, cache = settings.pipeline, None
        if cached and pipeline.cache.enabled:
            cache = open_cache(settings.cache_folder, pipeline.cache.size_limit_mb)
        return cls(tools, pipeline.tools, pipeline.images, cache, memory=process_budget(pipeline.memory), **more)

    def measure(self, pair: Pair, regions: Mapping[str, Box] | None = None) -> list[Record]:
        """A record for every tool and region; a picture that cannot be opened gives error records."""
        try:
            with self.admitted(pair) as (known, memory):
                test, reference = self.open(known)
                return list(self.measure_opened(known, test, reference, regions, memory))
        except AgenticIQAError as error:
            return [self._failed(pair, tool, str(error)) for tool in self.tools]

    @contextmanager
    def admitted(self, pair: Pair) -> Iterator[tuple[Pair, int]]:
        """Memory for the work inside; a pair whose size only opening tells is open afterwards."""
        known = [_peeked(each, self.limits) for each in (pair.image, pair.reference) if each is not None]
        with self.memory.hold(self.need([size for _, size in known]), "Measuring a picture of this size") as memory:
            yield Pair(*(picture for picture, _ in known)), memory

    def need(self, sizes: Sequence[Size]) -> int:
        """Bytes; tools that need more than there will ever be are refused one by one, but the pictures must fit."""
        resize, maps = self.align == "resize", len(self.tools) if self._with_maps else 0
        typical = measuring_need(sizes, self.tools, resize=resize, maps=maps).typical
        return max(measuring_need(sizes, (), resize=resize).least, min(typical, self.memory.largest))

    @property
    def _with_maps(self) -> bool:
        return self.keep_maps or self.maps is not None

    def measure_opened(
        self,
        pair: Pair,
        test: LoadedImage,
        reference: LoadedImage | None,
        regions: Mapping[str, Box] | None = None,
        memory: int | None = None,
    ) -> Iterator[Record]:
        """A record for every tool and region of pictures that are open already."""
        names: dict[Box | None, str | None] = {box: name for name, box in (regions or {}).items()} or {None: None}
        jobs = [ToolJob(tool, box) for box in names for tool in self.tools]
        bench = ToolRunner(test, reference, self.cache, keep_maps=self._with_maps, memory=memory)
        results = bench.run(jobs, max_workers=self.tool_settings.max_workers, timeout_s=self.tool_settings.timeout_s)
        for job, result in zip(jobs, results, strict=True):
            if self.maps is not None and result.map is not None:
                name = names[job.region]
                self.maps.write(test, job.tool.spec, result.map, path=pair.image.name, region=job.region, name=name)
            yield replace(
                self._failed(pair, job.tool, result.error),
                raw=result.raw,
                calibrated=result.calibrated,
                region=names[job.region],
                seconds=round(result.seconds, 6),
                map=result.map if self.keep_maps else None,
            )

    def _failed(self, pair: Pair, tool: Tool, error: str | None) -> Record:
        return Record(
            image=pair.image.name,
            tool=tool.name,
            type=tool.type,
            higher_is_better=tool.spec.higher_is_better,
            error=error,
            reference=pair.reference.name if pair.reference and tool.needs_reference else None,
        )

    def open(self, pair: Pair) -> tuple[LoadedImage, LoadedImage | None]:
        """Both pictures, the test picture scaled where that was asked for."""
        test = pair.image.open(self.limits)
        reference = pair.reference.open(self.limits) if pair.reference else None
        if reference is not None and self.align == "resize":
            test = aligned(test, reference)
        return test, reference


def _peeked(picture: GivenPicture, limits: ImageLimits) -> tuple[GivenPicture, Size]:
    """The picture and its size, from its header where that is possible."""
    if picture.peek is not None:
        return picture, picture.peek(limits)
    opened = picture.open(limits)
    return replace(picture, open=lambda _limits: opened), opened.size


# --- one picture, from Python ----------------------------------------------------------------------------


class Measurements(list[Record]):
    """What the tools said of one picture, in the order in which they ran."""

    def __str__(self) -> str:
        """One line.

        >>> str(Measurements([Record("a.png", "NIQE", "NR", raw=3.2, calibrated=3.4)]))
        'NIQE 3.2'
        """
        return ", ".join(f"{each.tool} {each.error or format(each.raw or 0.0, '.4g')}" for each in self)

    def __getitem__(self, key: Any) -> Any:
        """By index or slice like any list, or by the name of a tool.

        Raises:
            KeyError: No tool of this name was run.
        """
        if not isinstance(key, str):
            return super().__getitem__(key)
        found = [each for each in self if same_tool(each.tool, key)]
        if not found:
            raise KeyError(f"{key} was not measured; these were: {', '.join(each.tool for each in self)}")
        return found[0]

    def model_dump(self) -> list[dict[str, Any]]:
        """Everything but the maps as plain data, one entry per tool and region; results of questions have the same.

        >>> Measurements([Record("a.png", "NIQE", "NR", raw=3.2)]).model_dump()[0]["raw"]
        3.2
        """
        return [each.as_dict() for each in self]

    def to_row(self) -> dict[str, Any]:
        """One flat record: the raw value of every tool under its name.

        >>> Measurements([Record("a.png", "NIQE", "NR", raw=3.2)]).to_row()
        {'image_path': 'a.png', 'NIQE': 3.2}
        """
        raw = {f"{each.tool}@{each.region}" if each.region else each.tool: each.raw for each in self}
        return {"image_path": self[0].image if self else None, **raw}

    def to_dataframe(self) -> Any:
        """A pandas DataFrame with one row per tool and region.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        return dataframe(self.model_dump())


def dataframe(rows: Sequence[Mapping[str, Any]]) -> Any:
    """A pandas DataFrame, where pandas is installed."""
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError("A data frame needs pandas.", hint="pip install 'agenticiqa[dataframe]'") from error
    return pandas.DataFrame(list(rows))


def measure(
    image: PictureInput,
    *,
    reference: PictureInput | None = None,
    tools: Sequence[str] | None = None,
    all_tools: bool = False,
    regions: Regions | None = None,
    align: Align = "none",
    maps: bool = False,
) -> Measurements:
    """Measure one picture with tools alone; no model is asked.

    Args:
        image: The picture, in any form that :func:`agenticiqa.assess` takes.
        reference: The undistorted picture; without one only no-reference tools run.
        tools: Names of tools; by default those suited to a picture with or without a reference.
        all_tools: Run every tool that is available here.
        regions: Boxes (x, y, width, height) to measure instead of the whole picture, by name.
        align: ``"resize"`` scales the picture to the reference; ``"none"`` refuses another size.
        maps: Keep each tool's map in its record.
    Returns:
        A record for every tool and region; one that failed has ``error`` set.
    Raises:
        ToolUnavailableError: A named tool is unknown or cannot run here.
        ConfigError: The configuration cannot be used.

    >>> import numpy as np
    >>> black, white = np.zeros((32, 32), np.uint8), np.full((32, 32), 255, np.uint8)
    >>> measure(black, reference=white, tools=["PSNR"])["psnr"].raw
    0.0
    """
    settings = load_settings()
    registry = default_registry(settings.pipeline.tools)
    chosen = choose_tools(registry, tools, all_tools=all_tools, has_reference=reference is not None)
    measurer = Measurer.configured(settings, chosen, cached=False, align=align, keep_maps=maps)
    boxes = {name: Box.parse(",".join(map(str, numbers))) for name, numbers in (regions or {}).items()}
    return Measurements(measurer.measure(Pair.of(image, reference), boxes or None))
