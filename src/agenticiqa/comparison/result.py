"""What a comparison of two pictures gives."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from agenticiqa.assessment import Assessment, Status

Side = Literal["A", "B"]
Winner = Literal["A", "B", "tie"]


class ToolComparison(BaseModel):
    """One tool on both pictures, on the same pixels and with the same settings."""

    tool: str
    type: Literal["FR", "NR"]
    raw_a: float | None = None
    raw_b: float | None = None
    calibrated_a: float | None = None
    calibrated_b: float | None = None
    better: Winner | None = None
    error: str | None = None


class Place(BaseModel):
    """A ninth of the frame and who is better there; ``lead`` is A's lead in points of 1..5 or of similarity."""

    name: str
    lead: float
    better: Winner


class Comparison(BaseModel):
    """The verdict on two pictures and everything it rests on.

    ``chance_a`` is the chance that people prefer A; ``confidence`` is that of the winner (of a tie: of the side with
    the better score). Both are kept between 0.001 and 0.999, which is as far as they were checked; identical pixels are
    a certain tie, with confidence 1. Both are None when no tool with a measured reliability could run.
    """

    status: Status
    image_a: str
    image_b: str
    reference_path: str | None = None
    winner: Winner | None = None
    confidence: float | None = None
    chance_a: float | None = None
    verdict: str = ""
    reasons: list[str] = Field(default_factory=list)
    decided_by: str | None = None
    score_a: float | None = None
    score_b: float | None = None
    tools: list[ToolComparison] = Field(default_factory=list)
    places: list[Place] = Field(default_factory=list)
    map_shows: str | None = None
    """What the difference map is made of; None when there is none."""
    notes: list[str] = Field(default_factory=list)
    error: str | None = None
    a: Assessment | None = None
    b: Assessment | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
