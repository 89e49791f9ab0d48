"""Which of several pictures that belong together to keep, and what is said of the others, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import cv2
import numpy as np
import numpy.typing as npt

from agenticiqa.auditing.collecting import Entry, Views
from agenticiqa.auditing.findings import DETAIL_GRID, NEAR_MIDDLE, reason_of
from agenticiqa.auditing.traces import is_enlarged
from agenticiqa.pictures.likeness import SmallView
from agenticiqa.vision.locators import load_locators

CLOSE_SCORES = 0.1
"""Scores nearer than this say the same."""
CLOSE_AREAS = 0.98
CLOSE_QUALITIES = 4
"""JPEG qualities nearer than this were guessed alike."""
SOFTER = 0.85
"""Share of the best one's detail below which another shot is called softer."""
AS_GOOD = 0.25
"""A shot whose score is nearer than this to the best one's, and with which nothing is wrong, may be wanted too."""
SEEN_SIDE = 320


@dataclass(frozen=True)
class Choice:
    """The picture to keep."""

    best: Entry
    why: str
    others: dict[int, tuple[str, bool]]
    """Of every other one, by its position: what is said of it, and whether it could be kept as well."""


def best_of_equals(members: Sequence[Entry]) -> Choice:
    """The one with the shortest path: copies are named "photo (1)", or lie deeper."""
    best = min(members, key=lambda entry: (len(entry.path), entry.path))
    others = {each.position: (f"the same pixels as {best.path}", False) for each in members if each is not best}
    return Choice(best, f"the first of {len(members)} equal pictures" if others else "", others)


def best_of_versions(members: Sequence[Entry]) -> Choice:
    """The original: the largest that is no enlargement; of equally large ones the best scored or least compressed."""
    enlarged = {each.position for each in members if any(_enlarges(each, other) for other in members)}
    genuine = [each for each in members if each.position not in enlarged]
    largest = max(each.area for each in genuine)
    large = [each for each in genuine if each.area >= CLOSE_AREAS * largest]
    leader, count = _clear_leader(large), f"of {len(members)} versions"
    if len(large) == 1:
        best, why = large[0], "the original" if enlarged else f"the largest {count}"
    elif leader is not None:
        best, why = leader, f"the best {count}"
    else:
        finest = max(each.saved_at for each in large)
        fine = [each for each in large if each.saved_at >= finest - CLOSE_QUALITIES]
        best, why = max(fine, key=lambda each: (each.bytes, each.path)), f"the least compressed {count}"
    others = {
        each.position: (f"{_version(each, best, enlarged)} {best.path}", False) for each in members if each is not best
    }
    return Choice(best, why, others)


def best_of_burst(shots: Sequence[Entry], view: Views) -> Choice:
    """The best scored of those with which least is wrong; where scores say the same, or there are none, the sharpest.

    Sharpness counts where people look: at faces, at what stands out, or, without the vision model, in the middle.
    """
    sound = [each for each in shots if reason_of(each.findings) is None] or list(shots)
    leader, count = _clear_leader(sound), f"of {len(shots)} shots"
    attention = _attention(view(leader or sound[0]), looked_at=sound[0].score is not None and leader is None)
    focus = {each.position: float(np.average(each.details, weights=attention)) for each in shots}
    best = leader or max(sound, key=lambda each: focus[each.position])
    why = f"the {'best' if leader else 'sharpest'} {count}"
    others = [each for each in shots if each is not best]
    return Choice(best, why, {
        each.position: _shot(each, best, softer=focus[each.position] < SOFTER * focus[best.position]) for each in others
    })  # fmt: skip


def _attention(view: SmallView, *, looked_at: bool) -> npt.NDArray[np.float32]:
    """How much each of the places counts for which an entry has its detail."""
    if not looked_at:
        return NEAR_MIDDLE.astype(np.float32).ravel()
    # Blue comes first there.
    rgb = np.ascontiguousarray(view.colours(SEEN_SIDE)[..., ::-1].clip(0, 255).astype(np.uint8))
    locators, weights = load_locators(), np.zeros(rgb.shape[:2], np.float32)
    for box in locators.faces(rgb):
        weights[box.rows, box.columns] = 1
    if not weights.any():
        weights = np.asarray(locators.saliency(rgb), np.float32)
    found = cv2.resize(weights, (DETAIL_GRID, DETAIL_GRID), interpolation=cv2.INTER_AREA)
    return np.asarray(found.ravel() + 0.01, np.float32)


def _enlarges(one: Entry, other: Entry) -> bool:
    return is_enlarged(one.spectrum, other.spectrum, sqrt(one.area / other.area))


def _version(one: Entry, best: Entry, enlarged: set[int]) -> str:
    if one.position in enlarged:
        return "an enlarged copy of"
    if one.area < CLOSE_AREAS * best.area:
        return "a smaller copy of"
    if "noisy" in one.findings and "noisy" not in best.findings:
        return "a noisier copy of"
    return "a more compressed copy of" if one.saved_at < best.saved_at - CLOSE_QUALITIES else "another version of"


def _shot(one: Entry, best: Entry, *, softer: bool) -> tuple[str, bool]:
    wrong = reason_of(one.findings)
    if wrong is not None:
        verdict = "is sharp" if wrong.is_blur and not reason_of(best.findings) else "is better"
        return f"{wrong.words}; {best.path} {verdict}", False
    if softer:
        return f"softer than {best.path}", False
    near = one.score is None or best.score is None or best.score - one.score < AS_GOOD
    return f"{'as good as' if near else 'weaker than'} {best.path}, the same scene", near


def _clear_leader(members: Sequence[Entry]) -> Entry | None:
    """The one whose score is clearly above all others; None where there is none, or where a score is missing."""
    known = [(entry.score, entry) for entry in members if entry.score is not None]
    if len(known) < max(2, len(members)):
        return None
    (first, leader), (second, _), *_ = sorted(known, key=lambda each: each[0], reverse=True)
    return leader if first - second > CLOSE_SCORES else None
