"""Between where training began and where it ended: weights that keep most of what either knows.

    python -m training.embedded.mix --start FOLDERS... --trained RUN/checkpoint.* --data DATA --out MIX [--share 0.65]

A run that goes on from a good network forgets a little of it, opinions of photographs above all, of which there are
few. Both ends lie close enough for every point between them to work; ``--share`` of the trained weights and the rest
of the start are taken, normalisation included as it stands (measured anew on other pictures it is worse). Prints how
both ends and the mean stand on validation pictures, and writes checkpoint and features as ``train.py`` does, from the
pool that it left.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
from torch import Tensor
from training.embedded import real_flaws, splits
from training.embedded.export import load
from training.embedded.network import Assessor
from training.embedded.train import WATCHED_VARIANTS, Clean, Rated, Real, Watch, save, save_features, started

TEST_KINDS, CAMERA_ROUNDS = 10, 30


def between(start: dict[str, Tensor], trained: dict[str, Tensor], share: float) -> dict[str, Tensor]:
    return {
        name: (1 - share) * start[name].float() + share * value.float() if value.is_floating_point() else value
        for name, value in trained.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--start", type=Path, nargs="+", required=True)
    parser.add_argument("--trained", type=Path, nargs="+", required=True)
    parser.add_argument("--share", type=float, default=0.65)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pool", type=Path, default=Path("/dev/shm/agenticiqa-pool"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    data, device = arguments.data, "cuda" if torch.cuda.is_available() else "cpu"
    opinions, photographs = splits.load()["opinions"], splits.load()["photos"]
    rated = {part: Rated(data / "biq2021", opinions[part], device) for part in ("train", "validation")}
    clean = {part: Clean(data, photographs[part], rated[part], device) for part in rated}
    listed = real_flaws.part_of(real_flaws.read(data / "real_flaws"), "validation", [])
    watch = Watch(rated["validation"], Real(data / "real_flaws", listed, WATCHED_VARIANTS, device))
    typical = clean["train"].pictures[:64].permute(0, 3, 1, 2).float() / 255
    start = started(data, device, arguments.start, typical).eval()
    trained = load(sorted(arguments.trained)).to(device)
    mixed = Assessor().to(device)
    mixed.load_state_dict(between(start.state_dict(), trained.state_dict(), arguments.share))
    for name, model in {"start": start, "trained": trained, "between": mixed.eval()}.items():
        print(name, json.dumps(watch(model)), flush=True)
    arguments.out.mkdir(parents=True, exist_ok=True)
    save(mixed, arguments.out)
    torch.manual_seed(arguments.seed)
    folder = arguments.out / "features"
    save_features(mixed, rated["validation"], clean["validation"], arguments.pool, folder, TEST_KINDS, CAMERA_ROUNDS)


if __name__ == "__main__":
    main()
