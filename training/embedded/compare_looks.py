"""Looks beside each other: what the shipped heads say of rated pictures from what each look sees of them.

    python -m training.embedded.compare_looks see --weights WEIGHTS --more MORE --data SHARED --out LOOK.npz
        [--mirrored] [--statistics LOOK.npz]
    python -m training.embedded.compare_looks figures FIRST.npz OTHER.npz ... --more MORE --data SHARED
    python -m training.embedded.compare_looks order --more MORE [--scenes 200] [--out FILE]

``WEIGHTS`` holds content.onnx and local.onnx. ``--mirrored`` looks at every mirror image, as versions up to 2.5 did.
``--statistics`` takes what the local network saw from another look whose local network is the same. The pictures are
those that no look was taught on: of ``look_lessons.measured`` half choose between looks and the other half reports;
``look_lessons.fresh`` is for one last look, when everything is settled (``--fresh``; it chooses nothing).
Differences to the first look come with their 95 % interval over pictures drawn again. ``order`` asks the shipped files
about copies (``see_copies.COPIES``) of scenes that no head learnt the order from: how many score above their original.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image
from scipy.stats import spearmanr
from training.embedded.look_lessons import fresh, measured
from training.embedded.opinions import CHAINS, FALL, LEARNT, NEVER, RISE, held_scene, ratings
from training.embedded.see_copies import COPIES, made, seed_of

from agenticiqa.vision.network import Prepared, Vision, load_vision, open_session, prepared

Values = npt.NDArray[Any]
ROUNDS = 300


def file_of(name: str, more: Path, data: Path) -> Path:
    return (data if name.startswith(("csiq/", "real_flaws/")) else more) / name


def see(given: argparse.Namespace) -> None:
    vision = load_vision()
    content, local = (open_session((given.weights / f"{one}.onnx").read_bytes(), 1) for one in ("content", "local"))
    names = measured(given.more, given.data) + fresh(given.more, given.data)
    known = dict(zip(*(np.load(given.statistics)[key] for key in ("names", "statistics")), strict=True)) \
        if given.statistics else {}  # fmt: skip

    def ready(pixels: Values) -> Prepared:
        return prepared(np.ascontiguousarray(pixels), int(vision.about["view"]), int(vision.about["cell"]))

    def seen(name: str) -> tuple[Values, Values]:
        pixels = np.asarray(Image.open(file_of(name, given.more, given.data)).convert("RGB"))
        looks = [ready(pixels)]
        if given.mirrored or vision.is_small(looks[0].whole.shape):
            looks.append(ready(pixels[:, ::-1]))
        shown = [content.run(None, {"view": look.view[None]})[0][0] for look in looks[: 1 + given.mirrored]]
        statistics = [known[name]] if known else [
            local.run(None, {"picture": look.whole[None]})[0][0].mean((0, 1)) for look in looks
        ]  # fmt: skip
        return np.mean(shown, axis=0), np.mean(statistics, axis=0)

    with ThreadPoolExecutor(given.threads) as threads:
        rows = list(threads.map(seen, names))
    np.savez(given.out, names=names, content=[row[0] for row in rows], statistics=[row[1] for row in rows])


def scores(vision: Vision, look: Path) -> dict[str, float]:
    stored = np.load(look)
    found = vision._judged(stored["statistics"].astype(np.float32), stored["content"].astype(np.float32))
    return dict(zip(stored["names"].tolist(), found.score.tolist(), strict=True))


def figures(given: argparse.Namespace) -> None:
    said, vision = ratings(given.more, given.data), load_vision()
    looks = {look.stem: scores(vision, look) for look in given.looks}
    first, kept = next(iter(looks.values())), set(fresh(given.more, given.data))
    parts = {"fresh": kept} if given.fresh else {
        half: {name for name in first if name not in kept
               and (half == "both" or (seed_of(f"half{name}") % 2 == 0) == (half == "chooses"))}
        for half in ("chooses", "reports", "both")
    }  # fmt: skip
    for half, own_names in parts.items():
        print(f"\n{half}: rank correlation (difference to the first, 95 % interval)")
        lost: dict[str, list[Values]] = {look: [] for look in looks}
        table = {look: list[str]() for look in looks}
        for collection in (*LEARNT, *NEVER):
            names = [name for name in first if said[name][1] == collection and name in own_names]
            if not names:
                continue
            opinion = np.array([said[name][0] for name in names])
            rng = np.random.default_rng(0)
            drawn = [np.arange(len(names)), *(rng.integers(len(names), size=len(names)) for _ in range(ROUNDS))]
            values = {look: np.array([found[name] for name in names]) for look, found in looks.items()}
            own = {look: np.array([spearmanr(value[rows], opinion[rows])[0] for rows in drawn])
                   for look, value in values.items()}  # fmt: skip
            base = next(iter(own.values()))
            for look, found in own.items():
                low, high = np.percentile((found - base)[1:], (2.5, 97.5))
                table[look].append(
                    f"{collection} ({len(names)}) {found[0]:.3f} ({found[0] - base[0]:+.3f} {low:+.3f}..{high:+.3f})"
                )
                lost[look].append(np.array([found[0], found[0] - base[0]]))
        for look, cells in table.items():
            mean, moved = np.mean(lost[look], axis=0)
            print(f"{look}: mean {mean:.4f} ({moved:+.4f}); " + "; ".join(cells))


def order(given: argparse.Namespace) -> None:
    vision = load_vision()
    scenes = [f"voc/{file.name}" for file in sorted((given.more / "voc").glob("*.jpg"))]
    scenes = [name for name in scenes if held_scene(name) and seed_of(f"order{name}") % 16 == 0][: given.scenes]

    def scored(name: str) -> dict[str, float]:
        image = Image.open(given.more / name).convert("RGB")
        copies = {copy: made(image, copy, seed_of(name + copy)) for copy in ("", *COPIES)}
        return {copy: float(vision.judge(vision.look(np.asarray(one))).score[0]) for copy, one in copies.items()}

    with ThreadPoolExecutor(given.threads) as threads:
        rows = list(threads.map(scored, scenes))
    change = np.array([[row[copy] - row[""] for copy in COPIES if not copy.startswith("sharp")] for row in rows])
    found = {"scenes": len(rows), "pairs": change.size, "copies that rise": float((change > RISE).mean()),
             "JPEG 30 falls": float(np.mean([row["jpeg30"] - row[""] < -FALL for row in rows]))}  # fmt: skip
    for chain in CHAINS:
        steps = np.diff([[row[step] for step in chain] for row in rows], axis=1)
        found[f"chains in order: {' '.join(chain[1:])}"] = float((steps <= RISE).all(axis=1).mean())
    print(json.dumps(found, indent=1))
    if given.out:
        given.out.write_text(json.dumps({"figures": found, "scores": dict(zip(scenes, rows, strict=True))}) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(required=True)
    seeing, telling, ordering = (parts.add_parser(name) for name in ("see", "figures", "order"))
    for each in (seeing, telling, ordering):
        each.add_argument("--more", type=Path, required=True)
        each.add_argument("--data", type=Path, required=each is not ordering)
        each.add_argument("--threads", type=int, default=2)
    seeing.add_argument("--weights", type=Path, required=True)
    seeing.add_argument("--out", type=Path, required=True)
    seeing.add_argument("--statistics", type=Path)
    seeing.add_argument("--mirrored", action="store_true")
    seeing.set_defaults(run=see)
    telling.add_argument("looks", type=Path, nargs="+")
    telling.add_argument("--fresh", action="store_true")
    telling.set_defaults(run=figures)
    ordering.add_argument("--scenes", type=int, default=200)
    ordering.add_argument("--out", type=Path)
    ordering.set_defaults(run=order)
    given = parser.parse_args()
    given.run(given)


if __name__ == "__main__":
    main()
