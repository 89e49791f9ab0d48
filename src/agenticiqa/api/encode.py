"""The smallest file of a picture that keeps a bound of quality: bisection over the quality settings of encoders.

Each try is encoded, decoded and measured against the picture as it was; what depends on the picture alone is computed
once. Quality does not fall strictly with the setting: after the bisection the settings just below are tried too.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from PIL import Image, ImageOps, features

from agenticiqa.api.measure import Measurer, Pair
from agenticiqa.api.rate_quality import rate_quality_chart
from agenticiqa.errors import ConfigError, ToolError
from agenticiqa.pictures.images import DEEP_NOTE, TRANSPARENT_NOTE, LoadedImage, UInt8Image, on_white, opened_picture
from agenticiqa.pictures.inputs import PictureInput
from agenticiqa.runtime.config import ImageLimits, ToolSettings
from agenticiqa.tools.metrics import MetricInputError, Picture, Views
from agenticiqa.tools.registry import Tool, ToolRegistry, default_registry

FORMATS: Mapping[str, str] = MappingProxyType({"jpeg": ".jpg", "webp": ".webp", "avif": ".avif"})
"""By name, how files end."""
OPTIONS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {"jpeg": {"optimize": True, "progressive": True}, "webp": {"method": 4}, "avif": {}}
)
"""What else encoders are told."""
LOWEST, HIGHEST = 1, 100
BEST_JPEG = 95
"""Beyond it a JPEG grows and hardly gains, says Pillow's documentation."""
BELOW = 3
"""Settings below the one found that are tried too."""
DEFAULT_TOOL, DEFAULT_SCORE = "SSIMULACRA2", 4.2
_BOUND = re.compile(r"\s*([\w. +-]+?)\s*(>=|<=)\s*(-?\d+(?:\.\d+)?)\s*")


@dataclass(frozen=True)
class Bound:
    """What a copy must reach: a tool's own number, or its calibrated score from 1 to 5."""

    tool: Tool
    limit: float
    calibrated: bool = False

    @classmethod
    def parsed(cls, metric: str | None, min_score: float | None, registry: ToolRegistry) -> Bound:
        """Of ``"SSIMULACRA2>=80"``, of a score alone, or of a tool's name and a score.

        Raises ConfigError where it cannot be a bound of a tool that compares with a reference.
        """
        name, sign, limit = metric or DEFAULT_TOOL, None, DEFAULT_SCORE if min_score is None else min_score
        if found := _BOUND.fullmatch(name):
            if min_score is not None:
                raise ConfigError(f"{name!r} is a bound, and so is the score {limit:g}.", hint="Give one of them.")
            name, sign, limit = found[1], found[2], float(found[3])
        elif re.search("[<>=]", name):
            raise ConfigError(f"{name!r} is not a bound.", hint="Write it like SSIMULACRA2>=80 or GMSD<=0.05.")
        tool = registry.find(name)
        if not tool.needs_reference:
            raise ConfigError(f"{tool.name} does not compare with the original.", hint=f"Use {DEFAULT_TOOL}.")
        raw = cls(tool, limit)
        if sign not in (None, raw.sign):
            raise ConfigError(f"Of {tool.name} {raw.sign} is better.", hint=f"Write {raw}.")
        if sign is not None:
            return raw
        if tool.calibration is None or not 1 <= limit <= 5:
            what = f"A score is from 1 to 5, not {limit:g}." if tool.calibration else f"{tool.name} has no score."
            raise ConfigError(what, hint=f"For a bound on {tool.name} itself write {raw} and leave the score out.")
        return cls(tool, limit, calibrated=True)

    @property
    def sign(self) -> str:
        return ">=" if self.calibrated or self.tool.spec.higher_is_better else "<="

    def reached(self, trial: Trial) -> float:
        """What is compared with the limit."""
        return trial.score if self.calibrated and trial.score is not None else trial.value

    def is_met(self, trial: Trial) -> bool:
        return self.reached(trial) >= self.limit if self.sign == ">=" else self.reached(trial) <= self.limit

    def __str__(self) -> str:
        return f"{self.tool.name}{' (1 to 5) ' if self.calibrated else ''}{self.sign}{self.limit:g}"


@dataclass(frozen=True)
class Trial:
    """One encoded copy."""

    format: str
    quality: int
    """The encoder's setting."""
    bytes: int
    value: float
    """What the tool says of it, compared with the picture."""
    score: float | None
    """The same on the scale from 1 to 5."""
    is_met: bool = False


@dataclass(frozen=True)
class Encoded:
    """The smallest copy that keeps the bound, and all that were tried."""

    image: str
    source_bytes: int
    """Of the picture's own file."""
    bound: Bound
    trials: tuple[Trial, ...]
    best: Trial | None
    """None: even the best quality of every format stays below the bound."""
    notes: tuple[str, ...] = ()
    """What a copy cannot keep of the picture."""
    data: bytes | None = field(default=None, repr=False)
    """The file of ``best``."""

    def of_format(self, name: str) -> Trial | None:
        """The smallest of one format that keeps the bound."""
        return _smallest([each for each in self.trials if each.format == name])

    def plot(self) -> str:
        """Size against quality of all that were tried, as SVG."""
        return rate_quality_chart([self])

    def as_dict(self) -> dict[str, Any]:
        """Everything but the file, as JSON has it."""
        return {
            "image": self.image,
            "source_bytes": self.source_bytes,
            "bound": str(self.bound),
            "best": asdict(self.best) if self.best else None,
            "trials": [asdict(each) for each in self.trials],
            "notes": list(self.notes),
        }


def _smallest(trials: Sequence[Trial]) -> Trial | None:
    return min((each for each in trials if each.is_met), key=lambda each: each.bytes, default=None)


def encode(
    image: PictureInput,
    *,
    min_score: float | None = None,
    metric: str | None = None,
    formats: Sequence[str] = tuple(FORMATS),
    limits: ImageLimits | None = None,
    on_trial: Callable[[Trial], None] = lambda _: None,
) -> Encoded:
    """Find the smallest file of a picture that still looks good enough.

    The file is upright and keeps transparency (not as JPEG) and the colour profile; other metadata are left out.

    Args:
        image: A picture in any form that :func:`agenticiqa.assess` takes.
        min_score: What a copy must reach from 1 to 5; 4.2 where nothing is said.
        metric: The tool that compares (``"SSIMULACRA2"``), or with a bound of its own (``"SSIMULACRA2>=80"``).
        formats: Of ``jpeg``, ``webp`` and ``avif``; of a transparent picture JPEG is tried only where it stands alone.
        limits: Of the picture; the usual ones by default.
        on_trial: Called with each copy that was tried.
    Raises:
        ConfigError: The bound or a format cannot be used.
        ImageError: The picture cannot be opened.
        ToolError: The tool cannot measure this picture.
    """
    unusable = [name for name in formats if name not in FORMATS or not (name == "jpeg" or features.check(name))]
    if unusable or not formats:
        what = f"{unusable[0]!r} cannot be written here." if unusable else "No format was given."
        raise ConfigError(what, hint=f"Formats are {', '.join(FORMATS)}.")
    bound = Bound.parsed(metric, min_score, default_registry())
    limits = limits or ImageLimits()
    pair, files = Pair.of(image, image), dict[tuple[str, int], tuple[Trial, bytes]]()
    with Measurer([bound.tool], ToolSettings(), limits).admitted(pair) as (known, _):
        opened = known.image.open(limits)
        source, notes = _source(opened, limits), [each for each in opened.notes if each != TRANSPARENT_NOTE]
        if source.mode == "RGBA":
            formats = [name for name in formats if name != "jpeg"] or formats
            notes += ["transparent: a JPEG of it lies on white"] * ("jpeg" in formats)
        original = Picture(opened.rgb, "reference")

        def tried(name: str, quality: int) -> Trial:
            if (name, quality) not in files:
                data = encoded_file(source, name, quality)
                try:
                    value = bound.tool.metric.measure(Views(decoded_pixels(data), original)).value
                except MetricInputError as error:
                    raise ToolError(f"{known.image.name}: {error}") from error
                score = bound.tool.calibration(value) if bound.tool.calibration else None
                trial = Trial(name, quality, len(data), float(value), score)
                files[name, quality] = replace(trial, is_met=bound.is_met(trial)), data
                on_trial(files[name, quality][0])
            return files[name, quality][0]

        for name in formats:
            _search(name, tried)
    trials = sorted((trial for trial, _ in files.values()), key=lambda each: (each.format, each.quality))
    best = _smallest(trials)
    data = files[best.format, best.quality][1] if best else None
    notes = ["16 bits per sample: a copy has 8" if each == DEEP_NOTE else each for each in notes]
    return Encoded(known.image.name, len(opened.data), bound, tuple(trials), best, tuple(notes), data)


def _search(name: str, tried: Callable[[str, int], Trial]) -> None:
    """Try settings until the lowest that is good enough is known, then some below it."""
    low, high = LOWEST - 1, BEST_JPEG if name == "jpeg" else HIGHEST
    if not tried(name, high).is_met:
        return
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if tried(name, middle).is_met else (middle, high)
    for quality in range(high - 1, max(high - 1 - BELOW, LOWEST - 1), -1):
        tried(name, quality)


def _source(image: LoadedImage, limits: ImageLimits) -> Image.Image:
    """What is encoded: 8 bits per sample, upright, RGBA where something shines through."""
    if TRANSPARENT_NOTE in image.notes:
        with opened_picture(image.data, "The picture", limits, image.path) as opened:
            if isinstance(opened, Image.Image):
                return ImageOps.exif_transpose(opened).convert("RGBA")
    return image.pil


def encoded_file(picture: Image.Image, name: str, quality: int) -> bytes:
    """The picture as a file of this format and setting."""
    profile = picture.info.get("icc_profile") or b""
    buffer = io.BytesIO()
    picture = on_white(picture) if name == "jpeg" and picture.mode == "RGBA" else picture
    # A profile of inks or of grey does not describe the RGB that it became.
    kept = profile if profile[16:20] == b"RGB " else None
    picture.save(buffer, name.upper(), quality=quality, icc_profile=kept, **OPTIONS[name])
    return buffer.getvalue()


def decoded_pixels(data: bytes) -> UInt8Image:
    with Image.open(io.BytesIO(data)) as opened:
        return np.asarray(on_white(opened) if opened.mode == "RGBA" else opened.convert("RGB"))
