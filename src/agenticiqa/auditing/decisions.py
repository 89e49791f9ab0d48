"""Keep, maybe or reject: what an audit decides of every picture, why, and how a person's own decisions replace it."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agenticiqa.auditing.findings import PURPOSES, WEAK, reason_of
from agenticiqa.auditing.grouping import GroupPlace
from agenticiqa.errors import ConfigError, ManifestError

Decision = Literal["keep", "maybe", "reject"]
Purpose = Literal["any", "web", "print", "listing", "dataset"]
_USELESS = ("corrupt", "unreadable", "blank")
FOUR_STARS, FIVE_STARS = 3.8, 4.2
"""Scores from which a picture that is kept has more than three."""


class Bounds(BaseModel):
    """What a picture must reach; ``Bounds.of("web")`` are those of a purpose, and each can be given by itself."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    keep_from: float = Field(ge=1, le=5)
    """The score from which a picture is kept, or the shoot's middle where that is lower."""
    reject_below: float = Field(ge=1, le=5)
    sure_from: float = Field(ge=1, le=5)
    """A picture that scores so much is not rejected for a finding: people may not see it."""
    least_side: int = Field(ge=0)
    """Of the shorter side, in pixels."""
    rejects: tuple[str, ...]
    doubts: tuple[str, ...]

    @classmethod
    def of(cls, purpose: str = "any", **changed: Any) -> Bounds:
        """The bounds of a purpose; those that are given and not None instead.

        Raises:
            ConfigError: There is no such purpose, or a bound lies outside the scale.
        """
        if purpose not in PURPOSES:
            raise ConfigError(f"There is no purpose {purpose!r}.", hint=f"Known: {', '.join(get_args(Purpose))}.")
        given = {name: value for name, value in changed.items() if value is not None}
        try:
            bounds = cls(**PURPOSES[purpose] | given)
        except ValidationError as error:
            wrong = ", ".join(f"{each['loc'][0]} {each['input']!r}" for each in error.errors())
            raise ConfigError(f"These are no bounds: {wrong}.", hint="Scores are 1 (bad) to 5 (excellent).") from error
        if bounds.reject_below > bounds.keep_from:
            raise ConfigError(
                f"Nothing can be kept from {bounds.keep_from} and rejected below {bounds.reject_below}.",
                hint="Give a lower bound for rejecting, or a higher one for keeping.",
            )
        return bounds


@dataclass(frozen=True)
class Decided:
    """Of one picture."""

    decision: Decision
    why: str
    stars: int
    by: Literal["agenticiqa", "you"] = "agenticiqa"


@dataclass(frozen=True)
class Decider:
    """Decides by bounds, and by the middle score of the shoot."""

    bounds: Bounds
    middle: float | None = None

    def decide(self, picture: Mapping[str, Any], found: Mapping[str, str], place: GroupPlace) -> Decided:
        """``picture``: its record, empty where it did not open; ``found``: all its findings."""
        decision, why = self._decided(picture, found, place)
        return Decided(decision, why, _stars(decision, picture.get("score")))

    def _decided(self, picture: Mapping[str, Any], found: Mapping[str, str], place: GroupPlace) -> tuple[Decision, str]:
        useless = reason_of(found, _USELESS)
        if useless is not None:
            return "reject", useless.words
        if not place.keep:
            return "maybe" if place.too else "reject", place.why
        if fault := self._fault(picture.get("score"), found):
            return "reject", fault
        if doubt := self._doubt(picture, found):
            return "maybe", doubt
        return "keep", place.why or f"nothing wrong stands out{_shown(picture.get('score'))}"

    def _fault(self, score: float | None, found: Mapping[str, str]) -> str | None:
        wrong = reason_of(found, self.bounds.rejects)
        if wrong is not None and (score is None or score < self.bounds.sure_from):
            return wrong.words
        if score is not None and score < self.bounds.reject_below:
            return f"{(reason_of(found) or WEAK).words}{_shown(score)}"
        return None

    def _doubt(self, picture: Mapping[str, Any], found: Mapping[str, str]) -> str | None:
        bounds, score, side = self.bounds, picture.get("score"), min(picture["width"], picture["height"])
        if side < bounds.least_side:
            return f"small: {side} pixels, {bounds.least_side} wanted"
        wrong = reason_of(found, bounds.rejects)
        if wrong is None and (score is None or score < bounds.sure_from):
            wrong = reason_of(found, bounds.doubts)
        if wrong is not None:
            return f"perhaps {wrong.words}"
        least = bounds.keep_from if self.middle is None else min(bounds.keep_from, self.middle)
        return f"weaker than most{_shown(score)}" if score is not None and score < least else None


def _shown(score: float | None) -> str:
    return "" if score is None else f" ({score:.1f} of 5)"


def _stars(decision: Decision, score: float | None) -> int:
    """As culling programs count: none for what is rejected."""
    if decision == "keep":
        return 3 if score is None else 3 + (score >= FOUR_STARS) + (score >= FIVE_STARS)
    return 2 if decision == "maybe" else 0


def read_decisions(file: Path) -> dict[str, Decided]:
    """A person's decisions by path, from a CSV file: ``path`` and ``decision``, perhaps ``stars`` and ``by``.

    Rows whose ``by`` is not ``you`` are ours, and are decided anew.

    Raises:
        ManifestError: The file cannot be read, a column is missing, or a value is none of ours.
    """
    try:
        with file.open(newline="", encoding="utf-8-sig") as stream:
            return dict(_decisions_in(csv.DictReader(stream), file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ManifestError(
            f"{str(file)!r} cannot be read: {error}.", hint="Export it from a contact sheet."
        ) from error


def _decisions_in(rows: csv.DictReader[str], file: Path) -> Iterable[tuple[str, Decided]]:
    if not {"path", "decision"} <= set(rows.fieldnames or ()):
        raise ManifestError(
            f"{str(file)!r} has no columns path and decision.", hint="Export it from a contact sheet, or write them."
        )
    for number, row in enumerate(rows, 2):
        decision, stars = row["decision"], row.get("stars") or ""
        if decision not in get_args(Decision) or stars not in ("", *"012345"):
            raise ManifestError(
                f"{str(file)!r}, line {number}: decision {decision!r}, stars {stars!r}.",
                hint="A decision is keep, maybe or reject; stars are 0 to 5.",
            )
        if row.get("by", "you") == "you":
            wanted = cast("Decision", decision)
            # So are names written that a table program would take for formulas.
            yield (
                re.sub(r"^'(?=[=+\-@\t])", "", row["path"]),
                Decided(wanted, "your decision", int(stars or _stars(wanted, None)), "you"),
            )
