"""How often a lead of AIQA_NR agrees with people: for versions of one photograph, and for photographs of other scenes.

    python -m training.embedded.pair_slopes --weights WEIGHTS --seen SEEN.npz ... --features PARTS... --data DATA

Slopes of a logistic curve without offset are fitted on validation pictures: pairs of protocol versions of one
photograph (at least 0.2 points apart), and pairs of photographs as taken, each of the two opinion sets for itself
(their mean counts). Both are checked on test pictures; versions of one photograph also on CSIQ. The slopes stand in
``agenticiqa/api/comparison.py``, the tables in ``docs/one-picture/comparison.md``.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
from training.distortions import PROTOCOL
from training.embedded import held_out
from training.embedded.evaluate_heads import Heads
from training.embedded.held_out import HeldOut

Floats = npt.NDArray[np.floating]
BINS = (0.5, 0.65, 0.8, 0.9, 0.97, 1.0)
CLEAR_POINTS, CLEAR_DMOS = 0.2, 0.05


def pairs(score: Floats, opinion: Floats, clear: float) -> tuple[Floats, Floats]:
    """Leads of the favourites, and whether people prefer them."""
    one, other = np.triu_indices(len(score), 1)
    apart = opinion[one] - opinion[other]
    kept = (abs(apart) >= clear) & (apart != 0)
    lead = score[one] - score[other]
    return abs(lead[kept]), ((lead * apart)[kept] > 0).astype(float)


def within(groups: Iterable[tuple[Floats, Floats]], clear: float) -> tuple[Floats, Floats]:
    found = [pairs(score, opinion, clear) for score, opinion in groups]
    return np.concatenate([lead for lead, _ in found]), np.concatenate([right for _, right in found])


def slope_of(lead: Floats, right: Floats) -> float:
    """Of greatest likelihood, by Newton's method.

    >>> round(slope_of(np.array([1.0] * 4), np.array([1.0, 1.0, 1.0, 0.0])), 3)
    1.099
    """
    slope = 1.0
    for _ in range(60):
        chance = 1 / (1 + np.exp(-slope * lead))
        bend = (lead**2 * chance * (1 - chance)).mean()
        slope -= float(np.clip((lead * (chance - right)).mean() / max(bend, 1e-9), -1, 1))
    return slope


def table(lead: Floats, right: Floats, slope: float) -> list[str]:
    told = 1 / (1 + np.exp(-slope * lead))
    rows = [("all", np.ones(len(told), bool))]
    rows += [(f"{low:.2f} to {high:.2f}", (told >= low) & (told < high)) for low, high in pairwise(BINS)]
    return [
        f"{name} | {kept.sum()} | {told[kept].mean():.3f} | {right[kept].mean():.3f}"
        for name, kept in rows
        if kept.any()
    ]


def of_chains(heads: Heads, stored: Mapping[str, npt.NDArray], part: str) -> list[tuple[Floats, Floats]]:
    row, level, photograph = (stored[f"chains_{part}/{name}"] for name in ("row", "level", "photograph"))
    score = heads(stored[f"chains_{part}/features"])["score"]
    opinion = np.array(
        [PROTOCOL[int(r)].opinions[int(n) - 1] if r >= 0 else np.nan for r, n in zip(row, level, strict=True)]
    )
    return [(score[rows], opinion[rows]) for number in np.unique(photograph)
            if (rows := (photograph == number) & (row >= 0)).any()]  # fmt: skip


def of_csiq(heads: Heads, held: HeldOut) -> list[tuple[Floats, Floats]]:
    rows = held.of("csiq")
    score, opinion = heads(held.features[rows])["score"], held.column("opinion")[rows]
    scene = np.array([Path(one.image).name.split(".")[0] for one in held.examples])[rows]
    return [(score[scene == name], opinion[scene == name]) for name in np.unique(scene)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--seen", type=Path, nargs="+", required=True)
    parser.add_argument("--features", type=Path, nargs="+", required=True)
    parser.add_argument("--data", type=Path, required=True)
    arguments = parser.parse_args()
    heads, parts = Heads(arguments.weights), held_out.load(arguments.seen, arguments.data)
    stored = np.load(io.BytesIO(b"".join(file.read_bytes() for file in sorted(arguments.features))))
    same = slope_of(*within(of_chains(heads, stored, "validation"), CLEAR_POINTS))
    rated = [(heads(stored["rated_validation/features"])["score"], stored["rated_validation/rating"])]
    rows = parts["validation"].of("ordinary")
    rated.append((heads(parts["validation"].features[rows])["score"], parts["validation"].column("opinion")[rows]))
    other = float(np.mean([slope_of(*pairs(score, opinion, 0)) for score, opinion in rated]))
    print(f"one scene {same:.2f}, other scenes {other:.2f}")
    print("one scene, CSIQ", *table(*within(of_csiq(heads, parts["measure"]), CLEAR_DMOS), same), sep="\n")
    for name in ("biq2021", "ordinary"):
        rows = parts["test"].of(name)
        score, opinion = heads(parts["test"].features[rows])["score"], parts["test"].column("opinion")[rows]
        print("other scenes", name, *table(*pairs(score, opinion, 0), other), sep="\n")


if __name__ == "__main__":
    main()
