"""Which of several pictures that belong together to keep, and why, in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agenticiqa.batch.audit.collecting import Entry

CLOSE_SCORES = 0.1
"""Scores nearer than this say the same."""
CLOSE_AREAS = 0.98


@dataclass(frozen=True)
class Choice:
    """The picture to keep."""

    best: Entry
    why: str
    instead: str
    """What is said of the others, before the name of the best."""


def best_of_equals(members: Sequence[Entry]) -> Choice:
    """The one with the shortest path: copies are named "photo (1)", or lie deeper."""
    best = min(members, key=lambda entry: (len(entry.path), entry.path))
    return Choice(best, f"kept of {len(members)} equal pictures" if len(members) > 1 else "", "the same pixels as")


def best_of_versions(members: Sequence[Entry]) -> Choice:
    """The largest version; of several, the one that was least compressed or scores best."""
    largest = max(entry.area for entry in members)
    large = [entry for entry in members if entry.area >= CLOSE_AREAS * largest]
    count = f"of {len(members)} versions"
    if len(large) == 1:
        return Choice(large[0], f"largest {count} ({large[0].width}×{large[0].height})", "another version of")
    if leader := _clear_leader(large, lambda entry: entry.score, CLOSE_SCORES):
        return Choice(leader, f"best score {count} ({leader.score:.1f})", "another version of")
    heaviest = max(large, key=lambda entry: (entry.bytes, entry.path))
    return Choice(heaviest, f"least compressed {count}", "another version of")


def best_of_burst(shots: Sequence[Entry]) -> Choice:
    """The shot with the best score; where scores say the same, or there are none, the sharpest."""
    count = f"of {len(shots)} shots"
    sharpest = max(shots, key=lambda entry: entry.detail)
    leader = _clear_leader(shots, lambda entry: entry.score, CLOSE_SCORES)
    if leader is None:
        softest = min(shots, key=lambda entry: entry.detail)
        why = f"sharpest {count} (detail {sharpest.detail:.0f}, others from {softest.detail:.0f})"
        return Choice(sharpest, why, "the same scene as")
    others = [entry.score for entry in shots if entry is not leader and entry.score is not None]
    also = " and sharpest" if leader is sharpest else ""
    why = f"best score{also} {count} ({leader.score:.1f}, others {min(others):.1f} to {max(others):.1f})"
    return Choice(leader, why, "the same scene as")


def _clear_leader(members: Sequence[Entry], worth: Callable[[Entry], float | None], close: float) -> Entry | None:
    """The one that is better than all others by more than ``close``; None where there is none."""
    known = [(value, entry) for entry in members if (value := worth(entry)) is not None]
    if len(known) < max(2, len(members)):
        return None
    (first, leader), (second, _), *_ = sorted(known, key=lambda each: each[0], reverse=True)
    return leader if first - second > close else None
