"""Rules for pictures: what each must be and must not be, read from YAML, and why a picture breaks them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import resources
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator, model_validator

from agenticiqa.auditing.findings import MEASURED_NAMES, checked_names
from agenticiqa.errors import ConfigError
from agenticiqa.pictures.formats import CAMERA_RAW, FORMATS, format_named
from agenticiqa.runtime.config import explained
from agenticiqa.runtime.layers import Layer, parse_layer

SHIPPED = ("marketplace", "dataset", "photo_desk")
"""Rules that come with the package."""
GROUND = 0.9
"""Share of a picture's margin that is white, or of one tone, where its background is."""
GROUPED = ("exact_duplicate", "near_duplicate", "burst")
Reasons = dict[str, str]
"""Rules that a picture breaks, and how."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Range(_Strict):
    """Bounds of a number, both included."""

    min: float | None = None
    max: float | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Range:
        if self.min is None and self.max is None:
            raise ValueError("give min, max or both")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min:g} is above max {self.max:g}")
        return self


class Rules(_Strict):
    """What is wanted of every picture; what is not named is free."""

    width: Range | None = None
    height: Range | None = None
    shorter_side: Range | None = None
    longer_side: Range | None = None
    megapixels: Range | None = None
    megabytes: Range | None = None
    """Of the file."""
    aspect_ratio: Range | None = None
    """Width by height."""
    sharpness: Range | None = None
    detail: Range | None = None
    brightness: Range | None = None
    score: Range | None = None
    formats: tuple[str, ...] | None = None
    background: Literal["white", "plain", "not_plain"] | None = None
    borders: Literal["forbid", "require"] | None = None
    text: Literal["forbid", "require"] | None = None
    forbid: tuple[str, ...] = ()
    """Findings of an audit."""

    @field_validator("formats")
    @classmethod
    def _known_formats(cls, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for name in names or ():
            if format_named(f"a.{name}") is None:
                known = ", ".join(each.endings[0].removeprefix(".") for each in FORMATS if each.code != CAMERA_RAW)
                raise ValueError(f"there is no format {name!r}; known: {known}, and the endings of camera raw")
        return names

    @field_validator("forbid")
    @classmethod
    def _known_findings(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        try:
            return checked_names(names)
        except ConfigError as error:
            raise ValueError(str(error)) from None

    @property
    def need_the_model(self) -> bool:
        """Whether the vision model must look at the pictures, which takes most of the time."""
        return bool(self.score or self.text or set(self.forbid) - set(MEASURED_NAMES))

    def broken_by(self, row: Mapping[str, Any]) -> Reasons:
        """What a row of an audit breaks; a picture that does not open breaks them all."""
        if row["width"] is None:
            return {"opens": str(row["error"])}
        return dict((*self._out_of_range(row), *self._unfit(row)))

    def _out_of_range(self, row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        for name, (value, shown, where) in _quantities(row).items():
            wanted: Range | None = getattr(self, name)
            if wanted is None:
                continue
            if value is None:
                yield name, f"no {name}: the picture is too small to be judged"
            elif wanted.min is not None and value < wanted.min:
                yield name, f"{shown}: at least {wanted.min:g} wanted{where}"
            elif wanted.max is not None and value > wanted.max:
                yield name, f"{shown}: at most {wanted.max:g} wanted{where}"

    def _unfit(self, row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        codes = {each.code for name in self.formats or () if (each := format_named(f"a.{name}"))}
        # The several pictures of an MPO file are JPEG.
        if codes and row["format"].replace("MPO", "JPEG") not in codes:
            yield "formats", f"{row['format']}: {' or '.join(self.formats or ())} wanted"
        white, plain = row["white_margin"], row["plain_margin"]
        if self.background == "white" and white < GROUND:
            yield "background", f"{white:.0%} of the margin is white: a white background wanted"
        if self.background == "plain" and plain < GROUND:
            yield "background", f"{plain:.0%} of the margin has one tone: a plain background wanted"
        if self.background == "not_plain" and plain >= GROUND:
            yield "background", f"{plain:.0%} of the margin has one tone: no plain background wanted"
        if self.borders == "forbid" and row["border"]:
            yield "borders", f"a border of {row['border']} pixels: none wanted"
        if self.borders == "require" and not row["border"]:
            yield "borders", "no border: one wanted"
        if self.text is not None and row["text"] is None:
            yield "text", "too small to look for text"
        elif self.text == "forbid" and "text_over_picture" in row["findings"]:
            yield "text", "text over the picture: none wanted"
        elif self.text == "require" and "text_over_picture" not in row["findings"]:
            yield "text", "no text over the picture: some wanted"
        for name in self.forbid:
            # Of pictures that belong together the best may stay.
            if name in row["findings"] and not (name in GROUPED and row["keep"]):
                why = row["why"] if name in GROUPED else row["findings"][name]
                yield name, f"{name.replace('_', ' ')}: {why}"


def _quantities(row: Mapping[str, Any]) -> dict[str, tuple[float | None, str, str]]:
    """Values, how they are shown, and where a bound is wanted."""
    width, height, size = row["width"], row["height"], f"{row['width']}×{row['height']} pixels"
    millions, ratio, megabytes = width * height / 1e6, round(width / height, 2), row["bytes"] / 1e6
    numbers = {name: row[name] for name in ("sharpness", "detail", "brightness", "score")}
    return {
        "width": (width, size, " in width"),
        "height": (height, size, " in height"),
        "shorter_side": (min(width, height), size, " on the shorter side"),
        "longer_side": (max(width, height), size, " on the longer side"),
        "megapixels": (millions, f"{millions:.2f} megapixels", ""),
        "megabytes": (megabytes, f"{megabytes:.2f} MB", ""),
        "aspect_ratio": (ratio, f"{size}, aspect ratio {ratio:.2f}", ""),
        **{name: (value, f"{name} {value or 0:.2f}", "") for name, value in numbers.items()},
    }


def load_rules(source: Rules | Mapping[str, Any] | str | PathLike[str]) -> Rules:
    """Rules by the name of shipped ones, of a YAML file, or as a dictionary.

    Raises:
        ConfigError: There are no such rules, or a key or value cannot be one; it says which, in what line.
    """
    if isinstance(source, Rules):
        return source
    if isinstance(source, Mapping):
        layer = Layer("", dict(source))
    else:
        layer = parse_layer(_content(fspath(source)), fspath(source), "", {})
    hint = f"Known keys: {', '.join(Rules.model_fields)}."
    if not layer.values:
        raise ConfigError("No rule is given: every picture would pass.", hint=hint)
    try:
        return Rules.model_validate(layer.values)
    except ValidationError as error:
        raise ConfigError(f"The rules are wrong. {explained(error, [layer])}.", hint=hint) from None


def _content(name: str) -> bytes:
    if name in SHIPPED:
        return resources.files(__package__).joinpath(f"{name}.yaml").read_bytes()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        hint = f"Name a YAML file, or one of {', '.join(SHIPPED)}."
        raise ConfigError(f"The rules {name!r} cannot be read: {error.strerror or error}.", hint=hint) from None
