"""The figures that decide whether the model is good, on predictions as plain arrays; no torch here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import pearsonr, spearmanr
from training.distortions import PROTOCOL
from training.embedded.kinds import CATEGORY_INDEX, KIND_INDEX, KINDS, severity_of
from training.embedded.recipes import amount_is_neutral

Floats = npt.NDArray[np.floating[Any]]
TOLERANCE = 0.1
"""A score may rise by this much from one level to the next stronger one and still count as monotone."""


def srcc(a: Floats, b: Floats) -> float:
    return float(spearmanr(a, b)[0])


def plcc(a: Floats, b: Floats) -> float:
    return float(pearsonr(a, b)[0])


def interval(
    figure: Callable[..., float], *columns: Floats, groups: npt.NDArray[Any] | None = None, rounds: int = 1000
) -> list[float]:
    """The 95 % interval by drawing rows again with replacement; whole groups where rows depend on each other."""
    rng = np.random.default_rng(0)
    found = []
    if groups is None:
        for _ in range(rounds):
            rows = rng.integers(len(columns[0]), size=len(columns[0]))
            found.append(figure(*(column[rows] for column in columns)))
    else:
        members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
        for _ in range(min(rounds, 300)):
            rows = np.concatenate([members[index] for index in rng.integers(len(members), size=len(members))])
            found.append(figure(*(column[rows] for column in columns)))
    return [round(float(value), 4) for value in np.nanpercentile(found, (2.5, 97.5))]


def with_interval(
    figure: Callable[..., float], *columns: Floats, groups: npt.NDArray[Any] | None = None
) -> dict[str, Any]:
    return {"value": round(figure(*columns), 4), "interval": interval(figure, *columns, groups=groups)}


def mean(values: Floats) -> float:
    return float(np.mean(values))


def balanced_accuracy(said: npt.NDArray[np.bool_], truth: Floats) -> float:
    """The mean of how often yes is said where it is right and no where it is right; truth below 0 is not asked.

    >>> balanced_accuracy(np.array([True, True, False, True]), np.array([1, 1, 0, 0]))
    0.75
    """
    yes, no = truth == 1, truth == 0
    if not yes.any() or not no.any():
        return float("nan")
    return float((said[yes].mean() + (~said[no]).mean()) / 2)


def calibration_error(probabilities: Floats, levels: npt.NDArray[np.int64], bins: int = 10) -> float:
    """Expected calibration error of the likeliest level.

    >>> calibration_error(np.array([[0.75, 0.25]] * 4), np.array([0, 0, 0, 1]))
    0.0
    """
    best, sure = probabilities.argmax(axis=1), probabilities.max(axis=1)
    right = best == levels
    place = np.minimum((sure * bins).astype(int), bins - 1)
    gaps = [abs(right[place == b].mean() - sure[place == b].mean()) * (place == b).mean()
            for b in range(bins) if (place == b).any()]  # fmt: skip
    return float(np.sum(gaps))


def level_probabilities(score: Floats, spread: Floats) -> Floats:
    """Chances of the levels 1..5 of a logistic distribution about the score.

    >>> level_probabilities(np.array([3.0]), np.array([0.1])).round(3).tolist()
    [[0.0, 0.007, 0.987, 0.007, 0.0]]
    """
    bounds = np.array([1.5, 2.5, 3.5, 4.5])
    below = 1 / (1 + np.exp(-np.clip((bounds - score[:, None]) / spread[:, None], -50, 50)))
    ends = np.ones((len(score), 1))
    return np.asarray(np.diff(np.hstack([0 * ends, below, ends]), axis=1))


def nearest_level(opinion: Floats) -> npt.NDArray[np.int64]:
    """0 for bad .. 4 for excellent."""
    return np.asarray(np.clip(np.floor(opinion + 0.5), 1, 5) - 1, np.int64)


def chain_is_monotone(scores: Floats, kind: int, tolerance: float = TOLERANCE) -> bool:
    """Five scores of one photograph at levels 1..5; from the neutral level outwards where there is one.

    >>> chain_is_monotone(np.array([4.5, 4, 3, 2, 1]), 0), chain_is_monotone(np.array([4.0, 4.5, 4.6, 4.4, 3.9]), 17)
    (True, True)
    """
    neutral, amounts = PROTOCOL[kind].neutral, PROTOCOL[kind].amounts
    if neutral is None:
        return bool((np.diff(scores) <= tolerance).all())
    # Levels on one side of the amount that changes nothing, from it outwards; the two sides are not compared.
    above = [place for place in reversed(range(5)) if amounts[place] >= neutral]
    below = [place for place in range(5) if amounts[place] <= neutral]
    return all(bool((np.diff(scores[side]) <= tolerance).all()) for side in (above, below))


def protocol_figures(found: Mapping[str, Floats], level: Floats, row: Floats, photograph: Floats) -> dict[str, Any]:
    """Figures on whole KADID-protocol sets: ``row`` is the kind's place in the protocol, -1 for unchanged pictures.

    ``found`` holds score, damage, spread, severities (N×8×5 chances), kinds (N×K chances).
    """
    changed = row >= 0
    rows, levels = row[changed].astype(int), level[changed].astype(int)
    opinions = np.array([PROTOCOL[r].opinions[n - 1] for r, n in zip(rows, levels, strict=True)])
    groups = photograph[changed]
    score, damage = (np.asarray(found[name])[changed] for name in ("score", "damage"))
    kinds, severities = np.asarray(found["kinds"])[changed], np.asarray(found["severities"])[changed]
    truth = np.array([CATEGORY_INDEX[PROTOCOL[r].category] for r in rows])
    seen = np.array([severity_of(value) > 0 for value in opinions])
    made = np.array([not amount_is_neutral(PROTOCOL[r].name, float(n)) for r, n in zip(rows, levels, strict=True)])
    of_kind = np.array([CATEGORY_INDEX[kind.category] if kind.category else -1 for kind in KINDS])
    by_kind = np.stack([kinds[:, of_kind == category].sum(axis=1) for category in range(8)], axis=1)
    guess = by_kind.argmax(axis=1)
    expected = severities @ np.arange(5)
    by_severity = expected.argmax(axis=1)
    wanted = np.array([severity_of(value) for value in opinions])
    likeliest = severities.argmax(axis=2)[np.arange(len(truth)), truth]
    kind_truth = np.array([KIND_INDEX[PROTOCOL[r].name] for r in rows])
    order = np.lexsort((levels, rows, groups))
    chains = score[order].reshape(-1, 5)
    chain_rows = rows[order].reshape(-1, 5)[:, 0]
    chain_groups = groups[order].reshape(-1, 5)[:, 0]
    monotone = np.array([chain_is_monotone(chain, r) for chain, r in zip(chains, chain_rows, strict=True)])
    strict = np.array([chain_is_monotone(chain, r, 0.0) for chain, r in zip(chains, chain_rows, strict=True)])
    if "levels" in found:
        chances = np.asarray(found["levels"])[changed]
    else:
        chances = level_probabilities(score, np.asarray(found["spread"])[changed])
    right_kind = (guess == truth).astype(float)
    return {
        "pictures": int(changed.sum()),
        "srcc": with_interval(srcc, score, opinions, groups=groups),
        "plcc": with_interval(plcc, score, opinions, groups=groups),
        "damage_srcc": round(srcc(damage, opinions), 4),
        "category_accuracy_visible": with_interval(mean, right_kind[seen], groups=groups[seen]),
        "category_accuracy_changed": with_interval(mean, right_kind[made], groups=groups[made]),
        "category_accuracy_by_severity_visible": round(mean((by_severity == truth)[seen]), 4),
        "category_recall_visible": {
            name: round(mean(right_kind[seen & (truth == place)]), 3) for name, place in CATEGORY_INDEX.items()
        },
        "kind_accuracy_visible": round(mean((kinds.argmax(axis=1) == kind_truth)[seen]), 4),
        "severity_within_one": with_interval(mean, (abs(likeliest - wanted) <= 1).astype(float), groups=groups),
        "severity_exact": round(mean(likeliest == wanted), 4),
        "unchanged_false_alarm": round(
            mean((np.asarray(found["severities"])[~changed][:, :, 0] < 0.5).any(axis=1)) if (~changed).any() else 0.0, 4
        ),
        "level_calibration_error": round(calibration_error(chances, nearest_level(opinions)), 4),
        "monotone": with_interval(mean, monotone.astype(float), groups=chain_groups),
        "monotone_without_tolerance": round(mean(strict), 4),
        "monotone_by_kind": {PROTOCOL[r].name: round(mean(monotone[chain_rows == r]), 3) for r in range(len(PROTOCOL))},
    }
