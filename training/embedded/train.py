"""Train the embedded model: one command, on any machine with an accelerator.

    python -m training.embedded.train --data DATA --out OUT [--minutes 9] [--pool POOL]

``DATA`` is what ``prepare.py`` lays out. Damaged pictures are made beside training by worker processes into ``--pool``
(memory-backed, about 55 GB) and are on the accelerator from then on. Writes the checkpoint (16 bit, in parts of
15 MB), the results on pictures that training has not seen, and a log. ``export.py`` makes the shipped files of it.
"""

from __future__ import annotations

import argparse
import copy
import csv
import io
import json
import math
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from training.embedded import losses, measure, splits
from training.embedded.calibrate import fit
from training.embedded.generate import FULL, REDUCED, read_ratings
from training.embedded.network import VIEW, Assessor, lite0_weights, vit_weights
from training.embedded.pool import Reader, Store, crops, shifted_views, whole_views

SIZES = ((288, 288), (384, 384), (288, 384))
PAIRS, RATED = 64, 48
RATES = {"local": 6e-4, "content": 6e-5, "joint": 1e-3}
LAYER_DECAY = 0.85
SMOOTHING = 0.998
PART = 15_000_000


# --- data -----------------------------------------------------------------------------------------------------


def read(path: Path) -> np.ndarray:
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB"))


def read_all(paths: list[Path]) -> list[np.ndarray]:
    with ThreadPoolExecutor(16) as threads:
        return list(threads.map(read, paths))


class Rated:
    """Photographs as taken, with opinions; rare opinions are drawn more often."""

    def __init__(self, folder: Path, names: list[str], device: str):
        ratings = read_ratings(folder / "scores.csv")
        self.store = Store(len(names), (512, 512), device, targets=False)
        opened = zip(names, read_all([folder / name for name in names]), strict=True)
        usable = [(name, picture) for name, picture in opened if picture.shape[:2] == (512, 512)]
        names, pictures = [name for name, _ in usable], [picture for _, picture in usable]
        for start in range(0, len(pictures), 128):
            self.store.add(np.stack(pictures[start : start + 128]), {})
        self.rating = torch.tensor([ratings[name] for name in names], device=device)
        crowd = torch.exp(-(((self.rating[:, None] - self.rating[None]) / 0.15) ** 2)).sum(1)
        self.chance = crowd**-0.4

    def draw(self, count: int) -> Tensor:
        return torch.multinomial(self.chance, count, replacement=True)


# --- model ----------------------------------------------------------------------------------------------------


def started(data: Path, device: str, checkpoint: Path | None) -> Assessor:
    model = Assessor()
    if checkpoint:
        stored = np.load(checkpoint)
        model.load_state_dict(
            {name: torch.from_numpy(stored[name].astype(np.float32)) for name in stored.files}, strict=False
        )
    else:
        stored = np.load(data / "start.npz")
        of = lambda part: {name.split("/", 1)[1]: stored[name] for name in stored.files if name.startswith(part)}  # noqa: E731
        lite = {name: torch.from_numpy(value.astype(np.float32)) for name, value in of("lite0/").items()}
        missing = model.local.load_state_dict(lite0_weights(lite), strict=False)
        assert set(missing.missing_keys) <= {"top.weight", "top.bias"}, missing
        model.content.load_state_dict(vit_weights(of("vit/")))
    return model.to(device)


def parameter_groups(model: Assessor) -> list[dict[str, Any]]:
    """Weights decay, biases and norms do not; the transformer's lower layers move less."""
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        part = name.split(".", 1)[0]
        rate = RATES[part]
        if part == "content":
            depth = int(name.split(".")[2]) + 1 if ".layers." in name else (13 if ".norm." in name else 0)
            rate *= LAYER_DECAY ** (13 - depth)
        decay = 0.05 if parameter.ndim > 1 and "position" not in name else 0.0
        groups.setdefault((rate, decay), []).append(parameter)
    return [
        {"params": members, "lr": rate, "rate": rate, "weight_decay": decay}
        for (rate, decay), members in groups.items()
    ]


class Smoothed:
    """The running mean of the weights; that is the model that ships."""

    def __init__(self, model: Assessor):
        self.model = copy.deepcopy(model).eval().requires_grad_(False)
        self.steps = 0

    @torch.no_grad()
    def update(self, model: Assessor) -> None:
        self.steps += 1
        keep = min(SMOOTHING, (1 + self.steps) / (10 + self.steps))
        mine, theirs = list(self.model.parameters()), list(model.parameters())
        torch._foreach_mul_(mine, keep)
        torch._foreach_add_(mine, theirs, alpha=1 - keep)
        mine, theirs = ([value for value in of.buffers() if value.is_floating_point()] for of in (self.model, model))
        torch._foreach_mul_(mine, keep)
        torch._foreach_add_(mine, theirs, alpha=1 - keep)


def forward(model: Assessor, pictures: Tensor, views: Tensor) -> tuple[Tensor, Tensor]:
    with torch.autocast(pictures.device.type, torch.bfloat16):
        cells = model.local(pictures.contiguous(memory_format=torch.channels_last))
        content = model.content(views)
    return cells.float(), content.float()


def windows(cells: Tensor) -> Tensor:
    """Statistics of a random window of 2×2 to 5×5 cells of each picture."""
    side = int(torch.randint(2, 6, ()))
    smooth = nn.functional.avg_pool2d(cells, side, 1)
    count, _, height, width = smooth.shape
    y = torch.randint(height, (count,), device=cells.device)
    x = torch.randint(width, (count,), device=cells.device)
    return smooth[torch.arange(count, device=cells.device), :, y, x]


def kept(count: int, device: str) -> tuple[Tensor, Tensor]:
    """Now and then one branch is left out, so that each learns to stand alone."""
    draw = torch.rand(count, device=device)
    return (draw > 0.1).float(), ((draw < 0.1) | (draw > 0.3)).float()


def train(
    model: Assessor, stores: dict[tuple[int, int], Store], rated: Rated, watched: Rated, minutes: float, out: Path
) -> Smoothed:
    device = str(next(model.parameters()).device)
    optimizer = torch.optim.AdamW(parameter_groups(model), betas=(0.9, 0.98))
    smoothed = Smoothed(model)
    start, step = time.time(), 0
    full, reduced = stores[FULL], stores[REDUCED]
    totals: dict[str, float] = {}
    while (progress := (time.time() - start) / (60 * minutes)) < 1:
        factor = min(1.0, (step + 1) / 150) * (0.5 * (1 + math.cos(math.pi * progress)) + 1e-3)
        for group in optimizer.param_groups:
            group["lr"] = group["rate"] * factor
        model.train()
        size = SIZES[step % len(SIZES)]
        # Reduced pictures are small: only small windows fit.
        source = reduced if size == (288, 288) and step % 2 == 0 and reduced.count > 500 else full
        rows = source.pairs(PAIRS)
        flips = torch.rand(len(rows), device=device) < 0.5
        opinion_rows = rated.draw(RATED)
        opinion_flips = torch.rand(RATED, device=device) < 0.5
        pictures = torch.cat(
            [crops(source.pictures, rows, size, flips), crops(rated.store.pictures, opinion_rows, size, opinion_flips)]
        )
        # Views are halved into whole and shifted ones by place; pairs stay pairs, so the order is as good as random.
        views = torch.cat(
            [
                shifted_views(source.views, rows, VIEW, flips),
                shifted_views(rated.store.views, opinion_rows, VIEW, opinion_flips),
            ]
        )
        cells, content = forward(model, pictures, views)
        found = model.joint(cells.mean((2, 3)), content, kept(len(content), device))
        batch = {name: values[rows] for name, values in source.targets.items()}
        made = {name: value[: len(rows)] for name, value in found.items()}
        taken = {name: value[len(rows) :] for name, value in found.items()}
        small = model.joint(windows(cells[: len(rows)]), content[: len(rows)], kept(len(rows), device))
        parts = losses.damage_losses(made, batch) | losses.opinion_losses(taken, rated.rating[opinion_rows])
        parts |= losses.window_losses(small, batch)
        loss = torch.stack(list(parts.values())).sum()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        optimizer.step()
        smoothed.update(model)
        step += 1
        if step % 100 == 0 or step in (5, 20, 50):
            shown = {name: round(value.item(), 3) for name, value in parts.items()}
            if not math.isfinite(sum(shown.values())):
                raise SystemExit(f"training failed at step {step}: {shown}")
            used = torch.cuda.max_memory_allocated() / 2**30 if device.startswith("cuda") else 0
            pool = f"{full.count}+{reduced.count} pictures"
            print(f"step {step} {time.time() - start:.0f} s, {pool}, {used:.0f} GiB, {shown}", flush=True)
            totals = shown
        if step % 500 == 0:
            guess = predict(smoothed.model, watched.store.pictures[: watched.store.count])
            wanted = watched.rating.cpu().numpy()
            seen = {head: round(measure.srcc(guess[head], wanted), 4) for head in ("score", "opinion")}
            print(f"step {step} rated validation pictures: SRCC {seen}", flush=True)
            if progress > 0.4 and not (out / "middle").exists():
                (out / "middle").mkdir()
                save(smoothed.model, out / "middle")
    print(f"trained {step} steps in {time.time() - start:.0f} s: {totals}", flush=True)
    return smoothed


# --- measuring ------------------------------------------------------------------------------------------------


@torch.no_grad()
def predict(model: Assessor, pictures: Tensor, keep: tuple[float, float] | None = None) -> dict[str, np.ndarray]:
    """Predictions for uint8 N×H×W×3 of one size, in float32 all through."""
    found: list[dict[str, Tensor]] = []
    for start in range(0, len(pictures), 128):
        part = pictures[start : start + 128].to(next(model.parameters()).device)
        pixels = part.permute(0, 3, 1, 2).float() / 255
        height, width = (32 * math.ceil(side / 32) for side in pixels.shape[2:])
        padded = nn.functional.pad(pixels, (0, width - pixels.shape[3], 0, height - pixels.shape[2]), mode="reflect")
        views = whole_views(part, VIEW).permute(0, 3, 1, 2).float() / 255
        cells, content = model.local(padded), model.content(views)
        chosen = None
        if keep is not None:
            chosen = tuple(torch.full((len(part),), value, device=cells.device) for value in keep)
        result = model.joint(cells.mean((2, 3)), content, chosen)
        result["severities"], result["kinds"] = result["severities"].softmax(-1), result["kinds"].softmax(-1)
        found.append(result)
    return {name: torch.cat([part[name] for part in found]).cpu().numpy() for name in found[0]}


def check_shards(pool: Path, part: str, limit: int | None = None) -> tuple[Tensor, dict[str, np.ndarray]]:
    files = sorted(pool.glob(f"{part}-chains-*.npz"), key=lambda file: int(file.stem.split("-")[-1]))[:limit]
    pictures, columns = [], []
    for number, file in enumerate(files):
        with np.load(file) as stored:
            pictures.append(torch.from_numpy(stored["pictures"]))
            # 25 kinds × 5 levels in order, then unchanged ones: see recipes_for("chains").
            rest = len(stored["level"]) - 125
            row = np.concatenate([np.repeat(np.arange(25), 5), np.full(rest, -1)])
            level = np.concatenate([np.tile(np.arange(1, 6), 25), np.zeros(rest)])
            columns.append((row, level, np.full(len(row), number)))
    row, level, photograph = (np.concatenate(column) for column in zip(*columns, strict=True))
    return torch.cat(pictures), {"row": row, "level": level, "photograph": photograph}


def calibrate(model: Assessor, pool: Path, rated: Rated) -> dict[str, Any]:
    pictures, columns = check_shards(pool, "validation")
    seen = features(model, rated.store.pictures[: rated.store.count])
    return fit(
        model.joint,
        columns | {"features": features(model, pictures)},
        {"features": seen, "rating": rated.rating.cpu().numpy()},
    )


BRANCHES = {"both": None, "local_only": (1.0, 0.0), "content_only": (0.0, 1.0)}


def agreement_figures(guess: dict[str, np.ndarray], opinion: np.ndarray) -> dict[str, Any]:
    figures: dict[str, Any] = {
        head: {
            "srcc": measure.with_interval(measure.srcc, guess[head], opinion),
            "plcc": measure.with_interval(measure.plcc, guess[head], opinion),
        }
        for head in ("score", "damage", "opinion")
    }
    return figures | {"trust": round(float(guess["trust"].mean()), 3)}


def results(model: Assessor, data: Path, pool: Path, rated_test: Rated) -> dict[str, Any]:
    """Everything on pictures that training has not seen."""
    found: dict[str, Any] = {}
    rating = rated_test.rating.cpu().numpy()
    pictures = rated_test.store.pictures[: rated_test.store.count]
    for name, keep in BRANCHES.items():
        guess = predict(model, pictures, keep)
        chances = measure.level_probabilities(guess["score"], guess["spread"])
        error = measure.calibration_error(chances, measure.nearest_level(rating))
        found[f"biq2021_{name}"] = agreement_figures(guess, rating) | {"level_calibration_error": round(error, 4)}
    if (data / "csiq" / "scores.csv").exists():
        with (data / "csiq" / "scores.csv").open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        quality = -np.array([float(row["dmos_0_to_1"]) for row in rows])
        pictures = torch.from_numpy(np.stack(read_all([data / "csiq" / row["image"] for row in rows])))
        kinds = np.array([row["type"] for row in rows])
        for name, keep in BRANCHES.items():
            guess = predict(model, pictures, keep)
            by_kind = {
                kind: round(measure.srcc(guess["score"][kinds == kind], quality[kinds == kind]), 3)
                for kind in np.unique(kinds)
            }
            found[f"csiq_{name}"] = agreement_figures(guess, quality) | {"srcc_by_kind": by_kind}
    pictures, columns = check_shards(pool, "test")
    guess = predict(model, pictures)
    found["protocol"] = measure.protocol_figures(guess, columns["level"], columns["row"], columns["photograph"])
    found["robustness"] = robustness(model, pictures, rated_test)
    for name, figures in found.items():
        print(name, json.dumps(figures), flush=True)
    return found


def robustness(model: Assessor, pictures: Tensor, rated: Rated) -> dict[str, float]:
    """Change of the score under a shift by two pixels and under mirroring."""
    chosen = torch.cat([pictures[:: max(1, len(pictures) // 600)][:600]])
    found = {}
    for name, some in (("protocol", chosen), ("biq2021", rated.store.pictures[: rated.store.count])):
        here = predict(model, some[:, 2:, 2:])["score"]
        there = predict(model, some[:, :-2, :-2])["score"]
        plain, mirrored = predict(model, some)["score"], predict(model, some.flip(2))["score"]
        for way, change in (("shift", abs(here - there)), ("flip", abs(plain - mirrored))):
            found[f"{name}_{way}_p95"] = round(float(np.percentile(change, 95)), 4)
            found[f"{name}_{way}_within_0.1"] = round(float((change <= 0.1).mean()), 4)
    return found


def save(model: Assessor, out: Path) -> None:
    state = {name: value for name, value in model.state_dict().items() if value.is_floating_point()}
    split_file({name: value.half().cpu().numpy() for name, value in state.items()}, out, "checkpoint")


def split_file(arrays: dict[str, np.ndarray], out: Path, name: str) -> None:
    """An npz file in parts small enough to be carried; joined by concatenation."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    whole = buffer.getvalue()
    for start in range(0, len(whole), PART):
        (out / f"{name}.{start // PART}").write_bytes(whole[start : start + PART])


@torch.no_grad()
def features(model: Assessor, pictures: Tensor) -> np.ndarray:
    """What the heads see of uint8 N×H×W×3 pictures: statistics and content side by side, 16 bit."""
    found = []
    for start in range(0, len(pictures), 128):
        part = pictures[start : start + 128].to(next(model.parameters()).device)
        pixels = part.permute(0, 3, 1, 2).float() / 255
        content = model.content(whole_views(part, VIEW).permute(0, 3, 1, 2).float() / 255)
        found.append(torch.cat([model.local(pixels).mean((2, 3)), content], 1).half().cpu().numpy())
    return np.concatenate(found)


def save_features(
    model: Assessor, store: Store, rated: dict[str, Rated], pool: Path, out: Path, count: int = 4500
) -> None:
    """For refitting the heads elsewhere without the pictures."""
    rows = torch.randperm(store.count, device=store.pictures.device)[:count].sort().values
    stored = {f"made/{name}": values[rows].cpu().numpy() for name, values in store.targets.items()}
    stored["made/features"] = features(model, store.pictures[rows])
    for part in ("train", "validation"):
        stored[f"rated_{part}/features"] = features(model, rated[part].store.pictures[: rated[part].store.count])
        stored[f"rated_{part}/rating"] = rated[part].rating.cpu().numpy()
    pictures, columns = check_shards(pool, "validation")
    stored["chains/features"] = features(model, pictures)
    stored |= {f"chains/{name}": values for name, values in columns.items()}
    out.mkdir(exist_ok=True)
    split_file(stored, out, "features")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pool", type=Path, default=Path("/dev/shm/agenticiqa-pool"))
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--begin-with", type=int, default=15_000, help="wait for so many made pictures")
    parser.add_argument("--checkpoint", type=Path, help="go on from this one")
    parser.add_argument("--trial", action="store_true", help="a few steps on little data, to see that all runs")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    sys.setswitchinterval(5e-4)  # the readers' threads must not keep the one that feeds the accelerator waiting
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    generator = None
    if not (arguments.pool / "complete").exists() and not (arguments.pool / "started").exists():
        command = [
            sys.executable,
            "-m",
            "training.embedded.generate",
            "--data",
            str(arguments.data),
            "--pool",
            str(arguments.pool),
        ]
        generator = subprocess.Popen(command)
    stores = {
        FULL: Store(200 if arguments.trial else 70_000, FULL, device),
        REDUCED: Store(100 if arguments.trial else 16_000, REDUCED, device),
    }
    reader = Reader(arguments.pool, stores)
    names = {part: members[:40] if arguments.trial else members for part, members in splits.load()["opinions"].items()}
    rated = {part: Rated(arguments.data / "biq2021", members, device) for part, members in names.items()}
    begin = time.time()
    model = started(arguments.data, device, arguments.checkpoint)
    model.local = model.local.to(memory_format=torch.channels_last)
    while stores[FULL].count + stores[REDUCED].count < (50 if arguments.trial else arguments.begin_with):
        if reader.failure:
            raise SystemExit(f"reading made pictures failed: {reader.failure!r}")
        time.sleep(1)
    print(f"waited {time.time() - begin:.0f} s for {stores[FULL].count}+{stores[REDUCED].count} pictures", flush=True)
    smoothed = train(model, stores, rated["train"], rated["validation"], arguments.minutes, arguments.out)
    reader.stopped = True
    save(smoothed.model, arguments.out)
    if generator:
        generator.wait()
    scales = calibrate(smoothed.model, arguments.pool, rated["validation"])
    print("calibration", scales, flush=True)
    save(smoothed.model, arguments.out)
    found = {"calibration": scales} | results(smoothed.model, arguments.data, arguments.pool, rated["test"])
    (arguments.out / "results.json").write_text(json.dumps(found, indent=1) + "\n")
    save_features(smoothed.model, stores[FULL], rated, arguments.pool, arguments.out / "features")
    (arguments.out / "done").touch()


if __name__ == "__main__":
    main()
