"""The judge of odd places: taught by flaws made in large photographs.

    PYTHONPATH=src:. python -m training.odd_places_judge make PHOTOGRAPHS --out MADE [--count 132] [--seed 1]
    PYTHONPATH=src:. python -m training.odd_places_judge make PHOTOGRAPHS --out MADE --skip 132 --count 126 \\
        --seed 2 --kinds blur blocks
    PYTHONPATH=src:. python -m training.odd_places_judge collect PHOTOGRAPHS --made MADE --out SEEN.npz [--count 258]
    PYTHONPATH=src:. python -m training.odd_places_judge fit --train SEEN.npz --validation OTHERS.npz [--kinds blur]

``make`` stores each photograph with one flaw of each kind, far apart, made as ``benchmarks/accuracy/closer_look.py``
makes them. ``collect`` measures the candidates (``agenticiqa.vision.odd_places.candidates``) of the photographs as they
are, and of those in MADE with flaws: one at a flaw of its own kind is one, every other is none. ``fit`` teaches small
networks, one kind each, on training photographs; the bound from which on a flaw is said is the lowest that at most
``--false`` of the sound photographs reach, among training photographs judged by networks that have not seen them and
the validation ones. Photographs of both files must be different ones; figures are printed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from benchmarks.accuracy.closer_look import KINDS, VISIBLE, Pixels, chosen, make_flaw
from PIL import Image

from agenticiqa.vision.odd_places import JUDGE, candidates, chances

Floats = npt.NDArray[np.float32]
CROP, FOR_SCRATCH = 1300, 1900
"""Pixels of the part of a photograph that a flaw is made in, and a scratch, which is longer."""
HIDDEN, NETWORKS, FOLDS, STEPS, DECAY = 10, 3, 4, 250, 2e-3
Masks = dict[str, tuple[int, int, int, int]]


def with_flaws(pixels: Pixels, random: np.random.Generator, kinds: Sequence[str] = KINDS) -> tuple[Pixels, Masks]:
    """A photograph with a flaw of each kind where there is room, and the box of each: x, y, width, height."""
    changed, boxes = pixels.copy(), Masks()
    height, width = pixels.shape[:2]
    for kind in map(str, random.permutation(kinds)):
        side = FOR_SCRATCH if kind == "scratch" else CROP
        high, wide = min(side, height), min(side, width)
        limits = width - wide + 1, height - high + 1
        corners = [[int(random.integers(0, limit)) for limit in limits] for _ in range(8)]
        fittest = sorted(
            corners, key=lambda at: _unfit(kind, pixels[at[1] : at[1] + high : 8, at[0] : at[0] + wide : 8])
        )
        for x, y in fittest[:3]:
            own = np.ascontiguousarray(pixels[y : y + high, x : x + wide])
            made = make_flaw(own, kind, random)
            if made.strength(own) < VISIBLE[kind]:
                continue
            rows, columns = np.flatnonzero(made.mask.any(axis=1)), np.flatnonzero(made.mask.any(axis=0))
            box = (x + int(columns[0]), y + int(rows[0]), int(np.ptp(columns)) + 1, int(np.ptp(rows)) + 1)
            if all(_gap(box, other) > 350 for other in boxes.values()):
                # Only what the flaw changed: a seam reaches beyond its line.
                different = (made.pixels != own).any(axis=2)
                changed[y : y + high, x : x + wide][different] = made.pixels[different]
                boxes[kind] = box
                break
    return changed, boxes


def _unfit(kind: str, part: Pixels) -> float:
    """How little a part suits a flaw: noise is made in shadows, blocks in smooth light places, blur in detail."""
    detail = float(np.abs(np.diff(part.astype(np.float32).mean(axis=2), axis=1)).mean())
    return {"noise": abs(float(part.mean()) - 35), "blocks": detail, "blur": -detail, "seam": -detail}.get(kind, 0.0)


def _gap(a: tuple[int, int, int, int], b: tuple[int, int, int, int]) -> float:
    across = max(a[0] - b[0] - b[2], b[0] - a[0] - a[2], 0)
    return float(np.hypot(across, max(a[1] - b[1] - b[3], b[1] - a[1] - a[3], 0)))


def _touches(box: tuple[int, int, int, int], flaw: tuple[int, int, int, int]) -> bool:
    """Whether the middle of a candidate is in a flaw, or near a thin one."""
    x, y = box[0] + box[2] / 2, box[1] + box[3] / 2
    inside = flaw[0] - 60 <= x <= flaw[0] + flaw[2] + 60 and flaw[1] - 60 <= y <= flaw[1] + flaw[3] + 60
    return bool(inside)


def make(arguments: argparse.Namespace) -> None:
    arguments.out.mkdir(parents=True, exist_ok=True)
    stored = arguments.out / "flaws.json"
    about: dict[str, Masks] = json.loads(stored.read_text(encoding="utf-8")) if stored.exists() else {}
    for file in chosen(arguments):
        with Image.open(file) as opened:
            sound = np.asarray(opened.convert("RGB"))
        # Each photograph has its own random numbers, whatever comes before it.
        pixels, boxes = with_flaws(sound, np.random.default_rng([arguments.seed, *file.name.encode()]), arguments.kinds)
        Image.fromarray(pixels).save(arguments.out / file.name, "JPEG", quality=95, subsampling=0)
        about[file.name] = boxes
        stored.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def collect(arguments: argparse.Namespace) -> None:
    rows: dict[str, list[tuple[int, int, bool, tuple[float, ...]]]] = {kind: [] for kind in KINDS}
    about: dict[str, Masks] = json.loads((arguments.made / "flaws.json").read_text(encoding="utf-8"))
    files = list(chosen(arguments))
    for number, file in enumerate(files):
        boxes = about.get(file.name, Masks())
        for flawed, folder in enumerate([arguments.photographs, arguments.made][: 1 + bool(boxes)]):
            with Image.open(folder / file.name) as opened:
                pixels = np.asarray(opened.convert("RGB"))
            for each in candidates(pixels):
                box = (each.box.x, each.box.y, each.box.width, each.box.height)
                at_flaw = bool(flawed) and each.oddity in boxes and _touches(box, boxes[each.oddity])
                rows[each.oddity].append((number, flawed, at_flaw, each.features))
    kept: dict[str, Any] = {"names": np.array([file.name for file in files])}
    for kind, own in rows.items():
        kept[f"{kind}_made"] = sum(kind in about.get(file.name, ()) for file in files)
        kept[f"{kind}_where"] = np.array([row[:3] for row in own], np.int32)
        kept[f"{kind}_features"] = np.array([row[3] for row in own], np.float32)
    np.savez_compressed(arguments.out, **kept)


def taught(features: Floats, flawed: npt.NDArray[np.bool_], seed: int) -> dict[str, Any]:
    """A judge: the means and scales of the measures, and networks that differ by their beginnings alone."""
    mean, scale = np.median(features, axis=0), features.std(axis=0) + 1e-3
    given = ((features - mean) / scale).clip(-4, 4).astype(np.float64)
    weight = np.where(flawed, 0.5 / max(1, flawed.sum()) * 0.6, 0.5 / max(1, (~flawed).sum()) * 1.4)
    networks = []
    for number in range(NETWORKS):
        random = np.random.default_rng([seed, number])
        values = [random.normal(0, 1 / np.sqrt(given.shape[1]), (given.shape[1], HIDDEN)), np.zeros(HIDDEN),
                  random.normal(0, 0.3, HIDDEN), np.zeros(1)]  # fmt: skip
        first, second = [np.zeros_like(each) for each in values], [np.zeros_like(each) for each in values]
        for step in range(1, STEPS + 1):
            hidden = np.tanh(given @ values[0] + values[1])
            error = (1 / (1 + np.exp(-(hidden @ values[2] + values[3]))) - flawed) * weight
            back = error[:, None] * values[2] * (1 - hidden**2)
            slopes = [given.T @ back, back.sum(axis=0), hidden.T @ error, error.sum(keepdims=True)]
            slopes[0], slopes[2] = slopes[0] + DECAY * values[0], slopes[2] + DECAY * values[2]
            for at, slope in enumerate(slopes):
                first[at] = 0.9 * first[at] + 0.1 * slope
                second[at] = 0.99 * second[at] + 0.01 * slope**2
                moved = first[at] / (1 - 0.9**step) / (np.sqrt(second[at] / (1 - 0.99**step)) + 1e-8)
                values[at] = values[at] - 0.02 * (1 - step / STEPS) * moved
        rounded = [np.round(each, 4).tolist() for each in values]
        networks.append({"first": rounded[0], "first_bias": rounded[1], "last": rounded[2], "last_bias": rounded[3][0]})
    return {"mean": np.round(mean, 4).tolist(), "scale": np.round(scale, 4).tolist(), "networks": networks}


def _best(where: npt.NDArray[np.int32], said: Floats, *, sound: bool) -> Floats:
    """The highest chance in each photograph: of sound ones at all, of flawed ones at the flaw."""
    chosen = where[:, 1] == 0 if sound else where[:, 2] == 1
    best: dict[tuple[int, int], float] = {}
    for (number, pass_number, _), chance in zip(where[chosen], said[chosen], strict=True):
        best[number, pass_number] = max(best.get((number, pass_number), 0.0), float(chance))
    return np.array(list(best.values()), np.float32)


def fit(arguments: argparse.Namespace) -> None:
    train, validation = np.load(arguments.train), np.load(arguments.validation)
    assert not set(train["names"]) & set(validation["names"]), "A photograph is in both files."
    judges: dict[str, dict[str, Any]] = {}
    if arguments.out.exists():
        judges = json.loads(arguments.out.read_text(encoding="utf-8"))["judges"]
    for kind in arguments.kinds:
        where, features = train[f"{kind}_where"], train[f"{kind}_features"]
        flawed = where[:, 2] == 1
        unseen = np.zeros(len(where), np.float32)
        for fold in range(FOLDS):
            out = where[:, 0] % FOLDS == fold
            unseen[out] = chances(taught(features[~out], flawed[~out], 1), features[out])
        judges[kind] = taught(features, flawed, 1)
        others = validation[f"{kind}_where"]
        said = chances(judges[kind], validation[f"{kind}_features"])
        calm = np.sort(np.concatenate([_best(where, unseen, sound=True), _best(others, said, sound=True)]))[::-1]
        judges[kind]["bound"] = round(float(calm[int(arguments.false * len(calm))]) + 1e-3, 4)
        for name, data, places, chance in (
            ("training", train, where, unseen),
            ("validation", validation, others, said),
        ):
            made = int(data[f"{kind}_made"])
            at_flaw, sound = _best(places, chance, sound=False), _best(places, chance, sound=True)
            bound = judges[kind]["bound"]
            print(f"{kind:8} {name:10} made {made}, proposed {len(at_flaw) / made:.3f}, "
                  f"said {(at_flaw >= bound).sum() / made:.3f}, sound photographs {int((sound >= bound).sum())} "
                  f"of {len(data['names'])}, bound {bound}", flush=True)  # fmt: skip
    arguments.out.write_text(json.dumps({"about": __doc__.splitlines()[0], "judges": judges}) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(required=True)
    made = commands.add_parser("make")
    made.add_argument("photographs", type=Path)
    made.add_argument("--out", type=Path, required=True)
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    made.set_defaults(run=make)
    seen = commands.add_parser("collect")
    seen.add_argument("photographs", type=Path)
    seen.add_argument("--made", type=Path, required=True)
    seen.add_argument("--out", type=Path, required=True)
    seen.set_defaults(run=collect)
    for command in (made, seen):
        command.add_argument("--count", type=int, default=1000)
        command.add_argument("--skip", type=int, default=0)
    fitted = commands.add_parser("fit")
    fitted.add_argument("--train", type=Path, required=True)
    fitted.add_argument("--validation", type=Path, required=True)
    fitted.add_argument("--false", type=float, default=0.006, help="share of sound photographs said to have a kind")
    fitted.add_argument("--out", type=Path, default=JUDGE)
    fitted.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS, help="the others stay as they are in --out")
    fitted.set_defaults(run=fit)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
