"""Which pictures of a folder belong together: the same pixels, versions of one shot, shots of one scene."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from statistics import median

import numpy as np

from agenticiqa.auditing.choosing import Choice, best_of_burst, best_of_equals, best_of_versions
from agenticiqa.auditing.collecting import Entry, Views, entries_in, views_in
from agenticiqa.pictures.likeness import Match, close_pairs, matched, tone_departure

SAME_SHOT = 0.96
"""Likeness from which two pictures are versions of one shot: 99 % of copies lie above, other shots below."""
ONE_STOP = 2 ** (1 / 2.2)
"""Ratio of brightness from which two pictures are rather two exposures than one that was brightened."""
SAME_EXPOSURE = 2 ** (1 / 6 / 2.2)
"""Ratio of brightness up to which they were exposed alike: half of a third of a stop, the smallest step of cameras."""
TONE_CURVE_DIFFERENCE = 0.03
"""Departure of tones from a mere brightening, from which two pictures are two exposures; 99 % of copies lie below."""
SAME_SCENE = 0.85
"""Likeness from which two pictures of unknown time show one scene; of different scenes hardly any is above 0.8."""
SAME_SCENE_AT_ONCE = 0.5
"""Likeness that is enough where a camera says that they were taken within seconds."""
BURST_S = 3.0
"""At most so long lies between two shots of a burst."""
SAME_MOMENT_S = 0.02
"""Times that differ by less are those of one shot."""
NEXT_SHOTS = 3

SIZE_REACH = 3.0
"""Sizes are odd beyond so many times the middle half's width."""

Progress = Callable[[int, int], None]


@dataclass
class GroupPlace:
    """Where one picture stands among the others."""

    exact_group: int | None = None
    near_group: int | None = None
    burst_group: int | None = None
    keep: bool = True
    """False: another one of its group is kept instead."""
    too: bool = False
    """It could be kept as well."""
    why: str = ""
    odd_size: bool = False


@dataclass
class Groups:
    """Sets of pictures that belong together, by position; and the place of every picture that has one."""

    exact: list[list[int]] = field(default_factory=list)
    near: list[list[int]] = field(default_factory=list)
    bursts: list[list[int]] = field(default_factory=list)
    places: defaultdict[int, GroupPlace] = field(default_factory=lambda: defaultdict(GroupPlace))
    best: dict[int, str] = field(default_factory=dict)
    """The best of each burst by position, and why."""
    middle_score: float | None = None
    """The median of all scores."""

    def place(self, position: int) -> GroupPlace:
        return self.places.get(position, GroupPlace())

    def choose(self, chosen: Choice) -> None:
        """Keep one of a group, and say so of all."""
        kept = self.places[chosen.best.position]
        kept.why = "; ".join(filter(None, (kept.why, chosen.why)))
        for position, (why, too) in chosen.others.items():
            place = self.places[position]
            place.keep, place.too, place.why = False, too, why

    def with_equals(self, entries: Iterable[Entry]) -> list[int]:
        """Positions of these pictures and of those with the same pixels."""
        found: set[int] = set()
        for entry in entries:
            equal = self.place(entry.position).exact_group
            found.update([entry.position] if equal is None else self.exact[equal])
        return sorted(found)


def group(lines: Path, on_progress: Progress = lambda _done, _of: None) -> Groups:
    """Read the records and find all groups. Pictures are numbered by their position in the file."""
    with views_in(lines) as view:
        return grouped(list(entries_in(lines)), view, on_progress)


def grouped(entries: Sequence[Entry], view: Views, on_progress: Progress = lambda _done, _of: None) -> Groups:
    """The groups of these pictures, by their positions."""
    scores = [entry.score for entry in entries if entry.score is not None]
    groups = Groups(middle_score=median(scores) if scores else None)
    _note_odd_sizes(entries, groups)
    originals = _note_exact(entries, groups)
    # Of every original the list of those that it belongs together with, the same list for all of them.
    near, bursts = ([[number] for number in range(len(originals))] for _ in range(2))
    pairs = list(dict.fromkeys((min(pair), max(pair)) for pair in _pairs(originals)))
    for number, (one, other) in enumerate(pairs):
        on_progress(number, len(pairs))
        if near[one] is near[other]:
            continue
        found = relation(originals[one], originals[other], view)
        if found == "shot":
            _join(near, one, other)
        if found is not None:
            _join(bursts, one, other)
    for members in _several(near):
        versions = [originals[member] for member in members]
        groups.near.append(groups.with_equals(versions))
        for position in groups.near[-1]:
            groups.places[position].near_group = len(groups.near) - 1
        groups.choose(best_of_versions(versions))
    for members in _several(bursts):
        if all(near[member] is near[members[0]] for member in members):
            # All are versions of one shot.
            continue
        shots = [originals[member] for member in members]
        groups.bursts.append(groups.with_equals(shots))
        for position in groups.bursts[-1]:
            groups.places[position].burst_group = len(groups.bursts) - 1
        kept = [shot for shot in shots if groups.place(shot.position).keep]
        chosen = best_of_burst(kept, view)
        groups.best[chosen.best.position] = chosen.why
        groups.choose(chosen)
    return groups


def _join(sets: list[list[int]], one: int, other: int) -> None:
    few, many = sorted((sets[one], sets[other]), key=len)
    if few is not many:
        many += few
        for member in few:
            sets[member] = many


def _several(sets: list[list[int]]) -> list[list[int]]:
    return sorted(sorted(members) for members in {id(each): each for each in sets}.values() if len(members) > 1)


def relation(one: Entry, other: Entry, view: Views) -> str | None:
    """``shot``: versions of one shot; ``scene``: shots of one scene; None: neither."""
    between = abs((one.taken - other.taken).total_seconds()) if one.taken and other.taken else None
    if between is not None and between > BURST_S:
        return None
    match = matched(view(one), view(other))
    if between is not None and between > SAME_MOMENT_S:
        return "scene" if match.likeness >= SAME_SCENE_AT_ONCE else None
    if match.likeness >= SAME_SHOT and not _differs_in_exposure(one, other, match):
        return "shot"
    return "scene" if match.likeness >= (SAME_SCENE if between is None else SAME_SCENE_AT_ONCE) else None


def _differs_in_exposure(one: Entry, other: Entry, match: Match) -> bool:
    """Much brighter, or brighter in another way than a file is brightened."""
    darker, brighter = sorted((one.brightness, other.brightness))
    if brighter <= SAME_EXPOSURE * darker:
        return False
    return brighter > ONE_STOP * darker or tone_departure(match) > TONE_CURVE_DIFFERENCE


def _pairs(originals: Sequence[Entry]) -> Iterator[tuple[int, int]]:
    """Numbers of originals that may belong together: by their looks, and by the time they were taken."""
    shown = [number for number, entry in enumerate(originals) if not entry.blank]
    if len(shown) < 2:
        return
    fingerprints = np.stack([originals[number].fingerprints for number in shown])
    for one, other in close_pairs(fingerprints):
        yield shown[one], shown[other]
    timed = sorted(
        (entry.taken.timestamp(), number) for number, entry in enumerate(originals) if entry.taken and not entry.blank
    )
    for place, (when, number) in enumerate(timed):
        following = timed[place + 1 : place + 1 + NEXT_SHOTS]
        for _, other in takewhile(lambda shot: shot[0] - when <= BURST_S, following):  # noqa: B023 - used at once
            yield number, other


def _note_odd_sizes(entries: Sequence[Entry], groups: Groups) -> None:
    sides = np.sqrt([entry.area for entry in entries])
    lower, upper = np.percentile(sides, [25, 75]) if entries else (0.0, 0.0)
    reach = SIZE_REACH * (upper - lower)
    for entry, side in zip(entries, sides, strict=True):
        if not lower - reach <= side <= upper + reach:
            groups.places[entry.position].odd_size = True


def _note_exact(entries: Iterable[Entry], groups: Groups) -> list[Entry]:
    """The pictures that are left when of equal ones only the best is."""
    equal: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        equal[entry.pixels].append(entry)
    originals = []
    for members in equal.values():
        chosen = best_of_equals(members)
        originals.append(chosen.best)
        if len(members) > 1:
            groups.exact.append([member.position for member in members])
            for member in members:
                groups.places[member.position].exact_group = len(groups.exact) - 1
            groups.choose(chosen)
    return originals
