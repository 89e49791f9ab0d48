"""Make the damaged pictures, in worker processes, into shards that training reads as they appear.

    python -m training.embedded.generate --data DATA --pool POOL [--processes N]

A shard holds what was made of one photograph in one way: pictures and targets. It is
written under a temporary name and then renamed, so that a reader never sees half of one.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import cv2
import numpy as np
from PIL import Image
from training.embedded import splits
from training.embedded.kinds import joined
from training.embedded.recipes import made, prepared, recipes_for

from agenticiqa.tools.metrics import Picture

FULL, REDUCED = (384, 512), (288, 384)


@dataclass(frozen=True)
class Task:
    """One photograph in one way; ``rating`` is its opinion on 1..5, where people gave one."""

    part: str
    path: Path
    way: str
    number: int
    rating: float = np.nan


def opinion_scale(mos: float) -> float:
    """BIQ2021's 0..1 on the scale from 1 to 5."""
    return 1 + 4 * mos


def read_ratings(file: Path) -> dict[str, float]:
    with file.open(newline="") as stream:
        return {row["image"]: opinion_scale(float(row["mos_0_to_1"])) for row in csv.DictReader(stream)}


def tasks(data: Path, test_photographs: int) -> list[Task]:
    """Training first, ways and photographs mixed, so that any beginning is a fair sample; checks last."""
    photos, rated = splits.load()["photos"], splits.load()["opinions"]
    ratings = read_ratings(data / "biq2021" / "scores.csv")
    train = [Task("train", data / "photos" / name, way, number)
             for number, name in enumerate(photos["train"]) for way in ("plain", "enlarged", "reduced")]  # fmt: skip
    rng = np.random.default_rng(splits.SEED)
    train = [train[index] for index in rng.permutation(len(train))]
    first = len(train) // 3  # enough to begin with; rated ones join later
    later = train[first:] + [
        Task("train", data / "biq2021" / name, "rated", 10_000 + number, ratings[name])
        for number, name in enumerate(rated["train"])
    ]
    train = train[:first] + [later[index] for index in rng.permutation(len(later))]
    checks = [Task("validation", data / "photos" / name, "chains", 20_000 + number)
              for number, name in enumerate(photos["validation"])]  # fmt: skip
    checks += [Task("test", data / "photos" / name, "chains", 30_000 + number)
               for number, name in enumerate(photos["test"][:test_photographs])]  # fmt: skip
    return train + checks


def make_shard(task: Task, pool: Path, wait: float = 0.0) -> int:
    """Everything the plan says, unless the shard is there already; gives the number of pictures."""
    latest = time.time() + wait
    while not task.path.exists() and time.time() < latest:
        time.sleep(0.5)
    target = pool / f"{task.part}-{task.way}-{task.number}.npz"
    if target.exists():
        return 0
    cv2.setNumThreads(1)
    rng = np.random.default_rng([splits.SEED, task.number, len(task.way)])
    with Image.open(task.path) as opened:
        photograph = np.asarray(opened.convert("RGB"))
    if photograph.shape[0] > photograph.shape[1]:
        photograph = np.ascontiguousarray(np.rot90(photograph))  # the few upright ones share the others' stores
    if task.way == "rated":
        height, width = FULL
        if photograph.shape[0] < height or photograph.shape[1] < width:
            return 0
        top = int(rng.integers(photograph.shape[0] - height + 1))
        photograph = photograph[top : top + height, :width]
    source = prepared(photograph, task.way, rng)
    reference = Picture(np.ascontiguousarray(source), "reference")
    rgb = np.divide(source, 255, dtype=np.float32)
    results = [made(rgb, reference, recipe) for recipe in recipes_for(task.way, rng)]
    damage = np.array([result.opinion for result in results], np.float32)
    overall = damage
    if np.isfinite(task.rating):
        overall = np.array([joined([float(value), task.rating]) for value in damage], np.float32)
    temporary = target.with_suffix(f".{os.getpid()}.part")
    with temporary.open("wb") as stream:
        np.savez(
            stream,
            pictures=np.stack([result.picture for result in results]),
            damage=damage,
            overall=overall,
            rated=np.full(len(results), np.isfinite(task.rating)),
            kind=np.array([result.kind for result in results], np.int64),
            level=np.array([result.level for result in results], np.float32),
            chain=np.array([result.chain for result in results], np.int64) + (task.number << 41),
            local=np.array([result.local for result in results]),
            categories=np.stack([result.category_opinions for result in results]),
        )
    temporary.rename(target)
    return len(results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pool", type=Path, required=True)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--test-photographs", type=int, default=92)
    parser.add_argument("--wait", type=float, default=0.0, help="seconds to wait for pictures that are still arriving")
    parser.add_argument("--only", type=int, default=0, help="stop after so many shards (for a trial)")
    arguments = parser.parse_args()
    arguments.pool.mkdir(parents=True, exist_ok=True)
    start, count = time.time(), 0
    plan = tasks(arguments.data, arguments.test_photographs)
    if arguments.only:
        checks = [task for task in plan if task.part != "train"]
        plan = plan[: arguments.only] + checks[:2] + checks[-2:]
    with ProcessPoolExecutor(arguments.processes) as workers:
        for done, number in enumerate(
            workers.map(partial(make_shard, pool=arguments.pool, wait=arguments.wait), plan, chunksize=2), 1
        ):
            count += number
            if done % 200 == 0:
                print(f"{done} of {len(plan)} shards, {count} pictures, {time.time() - start:.0f} s", flush=True)
    (arguments.pool / "complete").touch()
    print(f"complete: {count} pictures in {time.time() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
