"""Which head of opinions carries over: plain heads on what the networks see, judged by collections left out whole.

    python -m training.embedded.opinions --seen SEEN --more MORE --data SHARED --weights WEIGHTS [--out FILE]
        [--chosen]

``SEEN`` holds names.txt ("path|operation", operation empty for the picture itself) and part*.bin: rows of 2060 values
in 16 bits, as ``Joint.forward`` has them (908 ``seen``, 1152 ``content``). ``WEIGHTS`` is a folder with joint.onnx.

A head is ridge regression on standardised values. Opinions become normal scores within each collection, and each
collection has a level of its own. Order is learnt beside them: differences between a copy and what it was made of, with
targets that fall with its strength; and damage: the same of copies damaged by the KADID-10k protocol and by further
kinds (operations "kind:level", made of what is called "cut"), with what people said of them. The protocol learns
without a collection and ranks it, for each in turn; CSIQ and photographs partly out of focus are never learnt. Half of
the scenes with copies are held out. ``see_copies`` writes ``SEEN``, ``opinion_head`` the chosen head into joint.onnx.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls
from scipy.stats import norm, rankdata, spearmanr
from training.distortions import DISTORTIONS
from training.embedded import splits

from agenticiqa.vocabulary import UNCHANGED_OPINION

Floats = npt.NDArray[Any]
CHANNELS, SEEN, VALUES = 454, 908, 2060
LEARNT = ("biq", "voc", "coco", "sd1.5", "midjourney", "attngan")
NEVER = ("defocus", "csiq")
STRENGTH = {
    "jpeg95": 0.1, "jpeg90": 0.2, "jpeg75": 0.45, "jpeg60": 0.65, "jpeg45": 0.85, "jpeg30": 1.2, "jpeg15": 2.0,
    "webp80": 0.4, "webp50": 0.8, "webp20": 1.4, "avif60": 0.4, "avif30": 1.2, "down75": 0.4, "down50": 1.0,
    "down33": 1.7, "blur7": 0.6, "blur15": 1.7, "blur30": 2.8, "noise5": 0.5, "noise12": 1.2, "noise25": 2.0,
    "median3": 0.7, "median5": 1.6, "sharp400": 1.2, "chain": 0.9,
}  # fmt: skip
"""How far a copy shall fall, in deviations of opinions within a collection; set by hand, from the known strength."""
LEVEL_FALL = (0.4, 0.9, 1.5, 2.1, 2.7)
"""How far people's opinion falls by the levels of damage that nobody was asked about, in points of five."""
CHAINS = (
    ("", "jpeg90", "jpeg60", "jpeg30"),
    ("", "jpeg95", "jpeg90", "jpeg75", "jpeg60", "jpeg45", "jpeg30", "jpeg15"),
    ("", "blur7", "blur15", "blur30"), ("", "noise5", "noise12", "noise25"), ("", "down75", "down50", "down33"),
)  # fmt: skip
RISE, FALL, CLEAR_LOSS = 0.03, 0.25, 0.5
HIDDEN = {"hidden": "/joint/Concat_1_output_0", "mixed": "/joint/mixed/mixed.2/Mul_output_0"}
ROWS = 20000.0
"""What the collections together weigh against a penalty."""
CHOSEN = {
    "raw": {"penalty": 1e5, "order": 0.6, "damage": 0.1},
    "mixed": {"penalty": 1e4, "order": 0.6, "damage": 0.1},
}
SAY, SAY_UP, LATER = 0.6, 0.4, -6.0
"""How far the damage head may move an opinion down and up, and what is added to the gate before it may."""


@dataclass
class Table:
    """All rows: which picture, what was done to it, what people said, and its values by space."""

    path: Floats
    operation: Floats
    collection: Floats
    opinion: Floats
    apart: Floats
    """BIQ2021's validation and test pictures: in no training."""
    known: Floats
    """Pictures whose opinions the networks themselves learnt; left-out figures go without them."""
    values: dict[str, Floats]
    shipped: dict[str, Floats]
    pairs: Floats = field(default_factory=lambda: np.zeros((0, 2), int))
    """Worse and better row."""
    fall: Floats = field(default_factory=lambda: np.zeros(0))
    held: Floats = field(default_factory=lambda: np.zeros(0, bool))
    damaged: Floats = field(default_factory=lambda: np.zeros((0, 2), int))
    """Damaged row and the row that it was made of."""
    lost: Floats = field(default_factory=lambda: np.zeros(0))
    """Points of five that people took off for it."""
    spoilt_held: Floats = field(default_factory=lambda: np.zeros(0, bool))

    def rows(self, collection: str) -> Floats:
        return np.flatnonzero((self.collection == collection) & ~np.isnan(self.opinion) & ~self.apart)

    def asked(self, collection: str) -> Floats:
        return np.flatnonzero((self.collection == collection) & ~np.isnan(self.opinion) & ~self.known)


def held_scene(path: str) -> bool:
    """Half of the scenes, and every photograph that is not for training."""
    parts = splits.load()["photos"]
    return path.removeprefix("photos/") in {*parts["test"], *parts["validation"]} or (
        int(hashlib.sha256(f"half{path}".encode()).hexdigest()[:8], 16) % 2 == 0
    )


def ratings(more: Path, data: Path) -> dict[str, tuple[float, str]]:
    """Opinion (higher is better, on the collection's scale) and collection of each rated picture."""
    found = {}
    for name in ("voc", "biq", "coco", "generated"):
        with (more / name / "scores.csv").open(newline="") as stream:
            for row in csv.DictReader(stream):
                found[f"{name}/{row['image']}"] = (float(row["mos"]), row["generator"] or name)
    with (data / "real_flaws" / "labels.csv").open(newline="") as stream:
        for row in csv.DictReader(stream):
            if row["mos"] and row["flaw"] == "defocus":
                found[f"real_flaws/{row['image']}"] = (float(row["mos"]), "defocus")
    with (data / "csiq" / "scores.csv").open(newline="") as stream:
        for row in csv.DictReader(stream):
            found[f"csiq/{row['image']}"] = (-float(row["dmos_0_to_1"]), "csiq")
    return found


def judged(file: Path, values: Floats) -> dict[str, Floats]:
    """What joint.onnx says of all rows, its hidden values among it."""
    import onnx
    import onnxruntime

    model = onnx.load(str(file))
    for name in HIDDEN.values():
        model.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    names = ["score", "opinion", "damage", "trust", "spread", "generated", *HIDDEN.values()]
    parts = []
    for start in range(0, len(values), 2000):
        rows = values[start : start + 2000].astype(np.float32)
        mean, deviation = rows[:, :CHANNELS], rows[:, CHANNELS:SEEN]
        square = np.maximum(deviation**2 - 1e-4, 0) + mean**2
        parts.append(session.run(names, {"statistics": np.hstack([mean, square]), "content": rows[:, SEEN:]}))
    return {name: np.concatenate([part[place] for part in parts]) for place, name in enumerate(names)}


def load(seen: Path, more: Path, data: Path, weights: Path) -> Table:
    names = (seen / "names.txt").read_text().split("\n")
    raw = np.concatenate([np.fromfile(file, np.float16).reshape(-1, VALUES) for file in sorted(seen.glob("part*.bin"))])
    said, parts = ratings(more, data), splits.load()["opinions"]
    path, operation = np.array([name.split("|") for name in names]).T
    folder = np.char.partition(path, "/")[:, 0]
    rated = [said.get(name) if not done else None for name, done in zip(path, operation, strict=True)]
    plain = np.char.replace(np.char.replace(path, "(", ""), ")", "")
    ordinary = [f"coco/{name.rsplit('/', 1)[1]}" for name in path if name.startswith("real_flaws/ordinary/")]
    found = judged(weights / "joint.onnx", raw)
    values = {"raw": raw.astype(np.float32)} | {name: found.pop(node) for name, node in HIDDEN.items()}
    table = Table(
        path, operation,
        np.array([one[1] if one else name for one, name in zip(rated, folder, strict=True)]),
        np.array([one[0] if one else np.nan for one in rated]),
        np.isin(plain, [f"biq/{name}" for part in ("test", "validation") for name in parts[part]]),
        np.isin(plain, [f"biq/{name}" for part in parts for name in parts[part]]) | np.isin(path, ordinary),
        values, found,
    )  # fmt: skip
    place = {key: row for row, key in enumerate(zip(path, operation, strict=True))}
    scenes = sorted({name for name, done in place if done == "jpeg30"})
    steps = list(dict.fromkeys(STRENGTH, "").items())
    steps += [(chain[at + 1], chain[at]) for chain in CHAINS for at in range(1, len(chain) - 1)]
    table.pairs = np.array([[place[name, done], place[name, old]] for name in scenes for done, old in steps])
    fall = [STRENGTH[done] - STRENGTH.get(old, 0.0) for done, old in steps]
    table.fall, table.held = np.tile(fall, len(scenes)), np.repeat([held_scene(name) for name in scenes], len(steps))
    made = [(row, place[name, "cut"]) for (name, done), row in place.items() if ":" in done]
    table.damaged = np.array(made).reshape(-1, 2)
    table.lost = np.array([points_lost(operation[row]) for row, _ in made])
    table.spoilt_held = np.array([held_scene(path[row]) for row, _ in made], bool)
    return table


def points_lost(operation: str) -> float:
    """
    >>> points_lost("jpeg:5") > points_lost("jpeg:2") > 0
    True
    """
    kind, level = operation.split(":")
    if kind in DISTORTIONS:
        return max(0.0, UNCHANGED_OPINION - DISTORTIONS[kind].opinions[int(level) - 1])
    return LEVEL_FALL[int(level) - 1]


def normal_scores(opinions: Floats) -> Floats:
    """Ranks as quantiles of the normal distribution.

    >>> normal_scores(np.array([5.0, 1.0, 3.0])).round(2).tolist()
    [0.97, -0.97, 0.0]
    """
    return np.asarray(norm.ppf((rankdata(opinions) - 0.5) / len(opinions)))


class Space:
    """Standardised values and the sums that a head is solved from, for each collection and for the order."""

    def __init__(self, table: Table, name: str):
        values = {"seen": table.values["raw"][:, :SEEN], "content": table.values["raw"][:, SEEN:]}.get(name)
        values = table.values[name] if values is None else values
        rows = np.concatenate([table.rows(one) for one in LEARNT])
        self.middle = values[rows].mean(axis=0)
        self.deviation = values[rows].std(axis=0) + 1e-3 * np.abs(values[rows]).mean() + 1e-6
        self.values = (values - self.middle) / self.deviation
        self.sums: dict[str, tuple[Floats, Floats, int]] = {}
        for one in LEARNT:
            own = self.values[table.rows(one)]
            self._add(one, own - own.mean(axis=0), normal_scores(table.opinion[table.rows(one)]))
        learn = ~table.held
        worse, better = table.pairs[learn].T
        self._add("order", self.values[worse] - self.values[better], -table.fall[learn])
        spoilt, whole = table.damaged[~table.spoilt_held].T
        self._add("damage", self.values[spoilt] - self.values[whole], -table.lost[~table.spoilt_held])

    def _add(self, name: str, rows: Floats, wanted: Floats) -> None:
        wanted = wanted.astype(np.float32)
        self.sums[name] = ((rows.T @ rows).astype(float), (rows.T @ wanted).astype(float), len(rows))

    def head(
        self, learnt: list[str], penalty: float, order: float = 0.0, damage: float = 0.0, evenness: float = 0.5,
        rank: int = 0, apart: bool = False,
    ) -> Floats:  # fmt: skip
        """Weights of the values. ``evenness`` 0 counts pictures, 1 collections; ``rank`` keeps so many directions;
        ``apart`` takes the mean of one head for each collection."""
        if apart:
            return np.mean([self.head([one], penalty, order, damage, evenness, rank) for one in learnt], axis=0)
        weight = {one: self.sums[one][2] ** -evenness for one in learnt}
        total = sum(weight[one] * self.sums[one][2] for one in learnt)
        shares = {one: weight[one] * ROWS / total for one in learnt}
        shares |= {name: share * ROWS / self.sums[name][2] for name, share in (("order", order), ("damage", damage))
                   if share}  # fmt: skip
        square = sum(share * self.sums[one][0] for one, share in shares.items())
        wanted = sum(share * self.sums[one][1] for one, share in shares.items())
        if rank:
            found, directions = np.linalg.eigh(square)
            directions, found = directions[:, -rank:], found[-rank:]
            return np.asarray(directions @ (directions.T @ wanted / (found + penalty)))
        return np.asarray(np.linalg.solve(square + penalty * np.eye(len(wanted)), wanted))


def answers(table: Table, space: Space, **how: Any) -> dict[str, Floats]:
    """What is said of all rows by heads that did not learn one collection, by its name; "all" learnt every one."""
    found = {}
    for left_out in (*LEARNT, "all"):
        said = space.values @ space.head([one for one in LEARNT if one != left_out], **how)
        own = said[table.rows("biq")]
        found[left_out] = (said - own.mean()) / own.std()
    return found


def rank(said: Floats, opinion: Floats, rounds: int = 200) -> list[float]:
    """Rank correlation with the ends of its 95 % interval over pictures drawn again."""
    rng = np.random.default_rng(0)
    drawn = [rng.integers(len(said), size=len(said)) for _ in range(rounds)]
    ends = np.percentile([spearmanr(said[rows], opinion[rows])[0] for rows in drawn], (2.5, 97.5))
    return [round(float(value), 3) for value in (spearmanr(said, opinion)[0], *ends)]


def left_out_figures(table: Table, said: dict[str, Floats]) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for one in (*LEARNT, *NEVER):
        rows = table.asked(one)
        figures[one] = rank(said.get(one, said["all"])[rows], table.opinion[rows])
    figures["mean"] = round(float(np.mean([value[0] for value in figures.values()])), 4)
    rows = np.flatnonzero(table.apart & (table.collection == "biq") & (table.operation == ""))
    return figures | {"learnt: biq held out": rank(said["all"][rows], table.opinion[rows])}


def order_figures(table: Table, score: Floats) -> dict[str, float]:
    """Of held-out scenes, on the scale from 1 to 5."""
    score = score.clip(1, 5)
    worse, better = table.pairs[table.held].T
    change, done = score[worse] - score[better], table.operation[worse]
    first = table.operation[better] == ""
    asked = first & ~np.char.startswith(done, "sharp")
    found = {"copies that rise": (change[asked] > RISE).mean(),
             "JPEG 30 falls": (change[first & (done == "jpeg30")] < -FALL).mean()}  # fmt: skip
    if len(table.damaged):
        spoilt, whole = table.damaged[table.spoilt_held & (table.lost > CLEAR_LOSS)].T
        found["damaged copies that rise"] = (score[spoilt] - score[whole] > RISE).mean()
        found["rank of damage"] = spearmanr(score[table.damaged[table.spoilt_held][:, 0]],
                                            -table.lost[table.spoilt_held])[0]  # fmt: skip
    scenes = np.unique(table.path[worse])
    place = {key: row for row, key in enumerate(zip(table.path, table.operation, strict=True))}
    for chain in CHAINS:
        steps = np.diff(score[[[place[scene, step] for step in chain] for scene in scenes]], axis=1)
        found[f"chains in order: {' '.join(chain[1:])}"] = (steps <= RISE).all(axis=1).mean()
    return {name: round(float(value), 4) for name, value in found.items()}


def curve(said: Floats, opinion: Floats) -> tuple[Floats, Floats]:
    """Knots and the steps of slope at them (the first value is the height at the first knot), rising throughout."""
    knots = np.quantile(said, (0.02, 0.1, 0.25, 0.45, 0.65, 0.85, 0.95))
    ends = np.append(knots[1:], np.inf)
    pieces = np.stack([np.clip(said, low if at else -np.inf, high) - low
                       for at, (low, high) in enumerate(zip(knots, ends, strict=True))], axis=1)  # fmt: skip
    found, _ = nnls(np.column_stack([np.ones(len(said)), pieces]), opinion)
    return knots, np.append(found[0], np.diff(found[1:], prepend=0.0))


def bent(said: Floats, knots: Floats, steps: Floats) -> Floats:
    """On the scale from 1 to 5; the first piece goes on below its knot, and the worst stay in order above 1."""
    value = steps[0] + steps[1] * np.minimum(said - knots[0], 0) + np.maximum(said[:, None] - knots, 0) @ steps[1:]
    return np.asarray(1 + np.logaddexp(0, 6 * (value - 1)) / 6)


def final(table: Table, opinion: Floats) -> Floats:
    """The score: the opinion, moved a part of the way to what the damage head says, where the gate sees processing."""
    trust = table.shipped["trust"].astype(float).clip(1e-7, 1 - 1e-7)
    later = 1 / (1 + np.exp(-np.log(trust / (1 - trust)) - LATER))
    gap = table.shipped["damage"] - opinion
    return np.asarray(opinion + np.where(gap > 0, SAY_UP, SAY) * later * gap)


def on_scale(table: Table, said: dict[str, Floats]) -> tuple[Floats, Floats, Floats]:
    rows = table.rows("biq")
    knots, steps = curve(said["all"][rows], 1 + 4 * table.opinion[rows])
    return bent(said["all"], knots, steps), knots, steps


def mixed(table: Table, parts: list[dict[str, Floats]]) -> dict[str, Floats]:
    """The mean of several heads, each on the same deviation."""
    found = {name: np.mean([part[name] for part in parts], axis=0) for name in parts[0]}
    own = {name: said[table.rows("biq")] for name, said in found.items()}
    return {name: (said - own[name].mean()) / own[name].std() for name, said in found.items()}


def noted(table: Table, name: str, said: dict[str, Floats], scale: Floats | None = None) -> dict[str, Any]:
    found = left_out_figures(table, said) | order_figures(table, on_scale(table, said)[0] if scale is None else scale)
    print(name, json.dumps(found), flush=True)
    return {name: found}


def chosen_figures(table: Table) -> dict[str, Any]:
    """The shipped model, which has learnt part of biq and coco, and the chosen head, alone and in the score."""
    found: dict[str, Any] = {}
    for name in ("score", "opinion"):
        found |= noted(table, f"shipped {name}", {"all": table.shipped[name]}, table.shipped[name])
    parts = [answers(table, Space(table, name), **how) for name, how in CHOSEN.items()]
    both = mixed(table, parts)
    found |= noted(table, "chosen", both)
    curve_of_all = on_scale(table, both)[1:]
    score = {name: final(table, bent(said, *curve_of_all)) for name, said in both.items()}
    return found | noted(table, "chosen, in the score", score, score["all"])


def candidate_figures(table: Table) -> dict[str, Any]:
    found: dict[str, Any] = {}
    ways: list[dict[str, Any]] = [{"penalty": penalty} for penalty in (3e2, 3e3, 3e4, 1e5)]
    ways += [{"penalty": 1e4, "rank": 100}, {"penalty": 1e4, "apart": True}]
    ways += [{"penalty": 1e5, "evenness": value, "order": 0.3} for value in (0.0, 0.5, 1.0)]
    ways += [{"penalty": penalty, "order": order} for penalty, order in ((3e4, 0.1), (3e4, 0.3), (1e5, 0.1))]
    ways += [{"penalty": 1e5, "order": order, "damage": damage}
             for order, damage in ((0.3, 0.1), (0.6, 0.1), (1.0, 0.1), (3.0, 0.1), (0.3, 0.3), (0.6, 1.0))]  # fmt: skip
    plain: list[dict[str, Any]] = [{"penalty": 1e4}, {"penalty": 1e4, "order": 0.3}, {"penalty": 1e5, "order": 0.3}]
    for name in ("raw", "seen", "content", "hidden", "mixed"):
        space = Space(table, name)
        for how in ways if name == "raw" else plain:
            found |= noted(table, f"{name} {how}", answers(table, space, **how))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--seen", "--more", "--data", "--weights"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--chosen", action="store_true", help="without the other candidates")
    given = parser.parse_args()
    table = load(given.seen, given.more, given.data, given.weights)
    found = chosen_figures(table) | ({} if given.chosen else candidate_figures(table))
    if given.out:
        given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
