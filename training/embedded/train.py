"""Train the embedded model: one command, on any machine with an accelerator.

    python -m training.embedded.train --data DATA --out OUT [--start FOLDER] [--minutes 9] [--pool POOL]

``DATA`` is what ``prepare.py`` lays out. Damaged pictures are made beside training by worker processes into ``--pool``
(memory-backed, about 55 GB) and are on the accelerator from then on; the camera's damage is made there for every step.
``--start`` goes on from a folder of shipped ONNX files instead of the public networks in ``DATA/start.npz``.
Writes the checkpoint (16 bit, in parts of 15 MB) and, under ``features/``, what the heads see of validation and test
pictures, so that ``calibrate.py`` and ``evaluate.py`` need no accelerator. ``export.py`` makes the shipped files.
"""

from __future__ import annotations

import argparse
import copy
import io
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
from training.embedded import losses, measure, real_flaws, splits
from training.embedded.anchor import Anchor
from training.embedded.chain import Chained, chain
from training.embedded.generate import FULL, REDUCED, read_ratings
from training.embedded.network import VIEW, Assessor, lite0_weights, vit_weights
from training.embedded.pool import Reader, Store, crops, shifted_views, whole_views
from training.embedded.real_flaws import FLAWS, Example
from training.embedded.start import load_shipped, unfolded
from training.embedded.variants import all_variants, screens

SIZES = ((288, 384),)
"""Windows of the larger pictures. Each further size costs half a minute of planning in cuDNN."""
PAIRS, RATED, CHAINED, CHAINED_SMALL = 38, 44, 32, 20
SMALL_SIZE = (240, 320)
"""The camera's pictures, reduced to about the size of the collections of real flaws."""
SMALL_WINDOW = (224, 224)
DRAWN = {
    "motion": 12, "dark": 6, "weather": 6, "defocus": 10, "sort": 10, "screens": 4, "generated": 10, "ordinary": 22,
}  # fmt: skip
"""So many pictures of each collection in a step."""
VARIANTS, WATCHED_VARIANTS = 8, 2
RATES = {"local": 5e-4, "content": 6e-5, "joint": 1e-3}
LAYER_DECAY = 0.85
SMOOTHING = 0.998
PART = 15_000_000
LIKED = 3.9
"""Rated photographs from this opinion up are clean enough to be damaged by the camera's chain."""


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


class Real:
    """Variants of pictures with flaws that happened, with what is known of them."""

    def __init__(self, folder: Path, examples: list[Example], count: int, device: str):
        windows, views, focus = all_variants(examples, folder, count)
        self.windows, self.views = (torch.from_numpy(part).to(device) for part in (windows, views))
        repeated = [example for example in examples for _ in range(count)]
        column = lambda name, kind: torch.tensor(  # noqa: E731
            [getattr(example, name) for example in repeated], dtype=kind, device=device
        )
        self.targets = {
            "flaws": column("flaws", torch.float32), "sort": column("sort", torch.int64),
            "generated": column("generated", torch.float32), "opinion": column("opinion", torch.float32),
            "focus": torch.from_numpy(focus).to(device),
        }  # fmt: skip
        # Within a collection each value is drawn as often as the others: moving and still, each sort, made and real.
        self.rows: dict[str, list[Tensor]] = {}
        for collection in DRAWN:
            values = sorted({one.value for one in repeated if one.collection == collection})
            if len(values) > 8:
                values = [""]
            groups = [
                [place for place, one in enumerate(repeated)
                 if one.collection == collection and (one.value == value or value == "")]
                for value in values
            ]  # fmt: skip
            self.rows[collection] = [torch.tensor(group, device=device) for group in groups if group]
        self.device = device

    def draw(self) -> Tensor:
        """Rows of all collections; those of ``defocus`` come last."""
        found = []
        for collection in sorted(DRAWN, key=lambda name: name == "defocus"):
            groups = self.rows[collection]  # none where the collection was left out
            for place, group in enumerate(groups):
                count = DRAWN[collection] // len(groups) + (place < DRAWN[collection] % len(groups))
                found.append(group[torch.randint(len(group), (count,), device=self.device)])
        return torch.cat(found)

    def batch(self, rows: Tensor) -> dict[str, Tensor]:
        return {name: values[rows] for name, values in self.targets.items()}


class Clean:
    """Photographs for the camera's chain: pristine ones, and rated ones that people like."""

    def __init__(self, data: Path, names: list[str], rated: Rated, device: str):
        pictures = [upright(picture) for picture in read_all([data / "photos" / name for name in names])]
        kept = np.stack([picture for picture in pictures if picture.shape[:2] == FULL])
        liked = rated.store.pictures[: rated.store.count][rated.rating > LIKED][:, 64 : 64 + FULL[0]]
        self.pictures = torch.cat([torch.from_numpy(kept).to(device), liked])

    def made(self, count: int, size: tuple[int, int]) -> Chained:
        rows = torch.randint(len(self.pictures), (count,), device=self.pictures.device)
        chosen = self.pictures[rows].permute(0, 3, 1, 2).float() / 255
        flipped = torch.rand(count, 1, 1, 1, device=chosen.device) < 0.5
        return chain(torch.where(flipped, chosen.flip(3), chosen), size)


def upright(picture: np.ndarray) -> np.ndarray:
    """The few upright photographs lie on their side and share the others' stores."""
    return np.ascontiguousarray(np.rot90(picture)) if picture.shape[0] > picture.shape[1] else picture


def squares(pictures: Tensor) -> Tensor:
    """Whole views of N×3×H×W in 0..1."""
    return nn.functional.interpolate(pictures, (VIEW, VIEW), mode="bilinear", antialias=True)


def window_of(pictures: Tensor, size: tuple[int, int]) -> Tensor:
    """One random window, the same for all: the pictures differ anyway."""
    top = int(torch.randint(pictures.shape[2] - size[0] + 1, ()))
    left = int(torch.randint(pictures.shape[3] - size[1] + 1, ()))
    return pictures[:, :, top : top + size[0], left : left + size[1]]


# --- model ----------------------------------------------------------------------------------------------------


def started(data: Path, device: str, shipped: list[Path], typical: Tensor) -> Assessor:
    """The network with the weights to begin with; ``typical`` pictures N×3×H×W."""
    model = Assessor()
    if shipped:
        print(f"new layers: {load_shipped(model, *shipped)}", flush=True)
        model.to(device)
        unfolded(model.local, typical)
    else:
        stored = np.load(data / "start.npz")
        of = lambda part: {name.split("/", 1)[1]: stored[name] for name in stored.files if name.startswith(part)}  # noqa: E731
        lite = {name: torch.from_numpy(value.astype(np.float32)) for name, value in of("lite0/").items()}
        missing = model.local.load_state_dict(lite0_weights(lite), strict=False)
        assert set(missing.missing_keys) <= {"top.weight", "top.bias"}, missing
        model.content.load_state_dict(vit_weights(of("vit/")))
    return model.to(device)


def parameter_groups(model: Assessor, pace: float) -> list[dict[str, Any]]:
    """Weights decay, biases and norms do not; the transformer's lower layers move less."""
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        part = name.split(".", 1)[0]
        rate = RATES[part] * pace
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


class Data:
    """Everything a step draws from."""

    def __init__(self, stores: dict[tuple[int, int], Store], rated: Rated, clean: Clean, real: Real, anchor: Anchor):
        self.full, self.reduced = stores[FULL], stores[REDUCED]
        self.rated, self.clean, self.real, self.anchor = rated, clean, real, anchor


def large_rows(model: Assessor, data: Data, step: int) -> dict[str, Tensor]:
    """Made damage, rated photographs and the camera's pictures, through windows of one size."""
    device = data.rated.rating.device
    size = SIZES[step % len(SIZES)]
    fits = size[0] <= REDUCED[0] and size[1] <= REDUCED[1]
    source = data.reduced if fits and step % 4 == 0 and data.reduced.count > 500 else data.full
    rows, opinion_rows = source.pairs(PAIRS), data.rated.draw(RATED)
    flips, opinion_flips = (torch.rand(len(part), device=device) < 0.5 for part in (rows, opinion_rows))
    camera = data.clean.made(CHAINED, REDUCED if fits and step % 2 else FULL)
    pictures = torch.cat(
        [
            crops(source.pictures, rows, size, flips),
            crops(data.rated.store.pictures, opinion_rows, size, opinion_flips),
            window_of(camera.pictures, size),
        ]
    )
    # Views are halved into whole and shifted ones by place; pairs stay pairs, so the order is as good as random.
    views = torch.cat(
        [
            shifted_views(source.views, rows, VIEW, flips),
            shifted_views(data.rated.store.views, opinion_rows, VIEW, opinion_flips),
            squares(camera.pictures),
        ]
    )
    cells, content = model.seen(pictures, views)
    found = model.joint(cells.mean((2, 3)), content, kept(len(content), str(device)))
    batch = {name: values[rows] for name, values in source.targets.items()}
    made, taken, shot = (
        {name: value[part] for name, value in found.items()}
        for part in (slice(PAIRS * 2), slice(PAIRS * 2, PAIRS * 2 + RATED), slice(PAIRS * 2 + RATED, None))
    )
    patches = model.joint(windows(cells[: len(rows)]), content[: len(rows)], kept(len(rows), str(device)))
    rating = data.rated.rating[opinion_rows]
    parts = losses.damage_losses(made, batch) | losses.opinion_losses(taken, rating)
    parts["made_flaws"] = losses.told(made["flaws"], losses.made_flaws(batch), 0.4)
    parts |= losses.some_flaw(taken["flaws"], rating)
    parts["rated_nothing"] = losses.nothing_found(taken["severities"], rating)
    parts |= losses.window_losses(patches, batch)
    parts["rated_sort"] = 0.1 * nn.functional.cross_entropy(taken["sorts"], torch.zeros_like(opinion_rows))
    parts["rated_generated"] = losses.told(taken["generated"], torch.zeros_like(rating), 0.1)
    parts |= data.anchor.losses(found, pictures, views, "kept")
    return parts | losses.chain_losses(shot, camera.amounts, camera.flaws, camera.categories)


def small_rows(model: Assessor, data: Data) -> dict[str, Tensor]:
    """Pictures of the collections of real flaws, and the camera's at their size."""
    device = data.rated.rating.device
    rows = data.real.draw()
    camera = data.clean.made(CHAINED_SMALL, SMALL_SIZE)
    flip = torch.rand(len(rows), 1, 1, 1, device=device) < 0.5
    shown, seen = (part[rows].permute(0, 3, 1, 2).float() / 255 for part in (data.real.windows, data.real.views))
    shown, seen = torch.where(flip, shown.flip(3), shown), squares(torch.where(flip, seen.flip(3), seen))
    batch = data.real.batch(rows)
    batch["focus"] = torch.where(flip[:, 0], batch["focus"].flip(2), batch["focus"])
    pictures = torch.cat([shown, window_of(camera.pictures, SMALL_WINDOW)])
    views = torch.cat([seen, squares(camera.pictures)])
    cells, content = model.seen(pictures, views)
    found = model.joint(cells.mean((2, 3)), content, kept(len(content), str(device)))
    real, shot = (
        {name: value[part] for name, value in found.items()} for part in (slice(len(rows)), slice(len(rows), None))
    )
    parts = losses.real_losses(real, batch) | data.anchor.losses(found, pictures, views, "small_kept")
    parts |= {f"small_{name}": 0.6 * value for name, value in
              losses.chain_losses(shot, camera.amounts, camera.flaws, camera.categories).items()}  # fmt: skip
    count = DRAWN["defocus"]
    marked = slice(len(rows) - count, len(rows))
    each = cells[marked].permute(0, 2, 3, 1).reshape(-1, cells.shape[1])
    repeated = content[marked].repeat_interleave(cells.shape[2] * cells.shape[3], 0)
    focus = model.joint(each, repeated)["in_focus"]
    parts["focus"] = losses.focus_loss(focus, batch["focus"][marked].flatten())
    return parts


def ready(model: Assessor, *, steady: bool) -> None:
    """To be trained; ``steady`` keeps the means and variances of the normalisation.

    A trained network whose normalisation is suddenly measured on damaged pictures, few at a time, is thrown off and has
    to learn much of what it knew again.
    """
    model.train()
    for layer in model.local.modules():
        if steady and isinstance(layer, nn.BatchNorm2d):
            layer.eval()


def train(
    model: Assessor, data: Data, watch: Watch, minutes: float, pace: float = 1.0, limit: int = 0, *, steady: bool
) -> Smoothed:
    device = str(next(model.parameters()).device)
    optimizer = torch.optim.AdamW(parameter_groups(model, pace), betas=(0.9, 0.98), fused=device.startswith("cuda"))
    smoothed = Smoothed(model)
    start, step = time.time(), 0
    totals: dict[str, float] = {}
    while (progress := (time.time() - start) / (60 * minutes)) < 1 and (not limit or step < limit):
        factor = min(1.0, (step + 1) / 150) * (0.5 * (1 + math.cos(math.pi * progress)) + 1e-3)
        for group in optimizer.param_groups:
            group["lr"] = group["rate"] * factor
        ready(model, steady=steady)
        optimizer.zero_grad(set_to_none=True)
        parts = large_rows(model, data, step)
        torch.stack(list(parts.values())).sum().backward()
        more = small_rows(model, data)
        torch.stack(list(more.values())).sum().backward()
        parts |= more
        nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        optimizer.step()
        smoothed.update(model)
        step += 1
        if step % 100 == 0 or step in (2, 20):
            totals = {name: round(value.item(), 3) for name, value in parts.items()}
            if not math.isfinite(sum(totals.values())):
                raise SystemExit(f"training failed at step {step}: {totals}")
            used = torch.cuda.max_memory_allocated() / 2**30 if device.startswith("cuda") else 0
            pool = f"{data.full.count}+{data.reduced.count} pictures"
            print(f"step {step} {time.time() - start:.0f} s, {pool}, {used:.0f} GiB, {totals}", flush=True)
        if step % 1000 == 0:
            print(f"step {step} validation: {watch(smoothed.model)}", flush=True)
    print(f"trained {step} steps in {time.time() - start:.0f} s: {totals}", flush=True)
    print(f"end validation: {watch(smoothed.model)}", flush=True)
    return smoothed


class Watch:
    """How training stands on validation pictures."""

    def __init__(self, rated: Rated, real: Real):
        self.rated, self.real = rated, real

    def __call__(self, model: Assessor) -> dict[str, float]:
        guess = predict(model, self.rated.store.pictures[: self.rated.store.count])
        wanted = self.rated.rating.cpu().numpy()
        found = {f"biq_{head}": measure.srcc(guess[head], wanted) for head in ("score", "opinion", "ordinary")}
        guess = predict(model, self.real.windows, self.real.views)
        targets = {name: values.cpu().numpy() for name, values in self.real.targets.items()}
        rated = np.isfinite(targets["opinion"])
        for head in ("opinion", "ordinary"):
            found[f"ordinary_{head}"] = measure.srcc(guess[head][rated], targets["opinion"][rated])
        for place, flaw in enumerate(FLAWS):
            found[flaw] = measure.balanced_accuracy(guess["flaws"][:, place] > 0, targets["flaws"][:, place])
        found["generated"] = measure.balanced_accuracy(guess["generated"] > 0, targets["generated"])
        sorted_ = targets["sort"] >= 0
        found["sort"] = float((guess["sorts"].argmax(1) == targets["sort"])[sorted_].mean())
        return {name: round(float(value), 3) for name, value in found.items()}


# --- measuring ------------------------------------------------------------------------------------------------


@torch.no_grad()
def predict(model: Assessor, pictures: Tensor, stored_views: Tensor | None = None) -> dict[str, np.ndarray]:
    """What the heads give (logits where they are) for uint8 N×H×W×3 of one size, in float32 all through."""
    found: list[dict[str, Tensor]] = []
    for start in range(0, len(pictures), 128):
        part = pictures[start : start + 128].to(next(model.parameters()).device)
        pixels = part.permute(0, 3, 1, 2).float() / 255
        views = (part if stored_views is None else stored_views[start : start + 128]).permute(0, 3, 1, 2).float() / 255
        cells, content = model.local(pixels), model.content(squares(views))
        found.append(model.joint(cells.mean((2, 3)), content))
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
    """What the heads see of uint8 N×H×W×3 pictures: statistics and content side by side, 16 bit.

    The mean of the picture and its mirror image, as the runtime looks at pictures of this size.
    """
    found = []
    for start in range(0, len(pictures), 128):
        part = pictures[start : start + 128].to(next(model.parameters()).device)
        pixels = part.permute(0, 3, 1, 2).float() / 255
        views = whole_views(part, VIEW).permute(0, 3, 1, 2).float() / 255
        seen = [torch.cat([model.local(p).mean((2, 3)), model.content(v)], 1)
                for p, v in ((pixels, views), (pixels.flip(3), views.flip(3)))]  # fmt: skip
        found.append(((seen[0] + seen[1]) / 2).half().cpu().numpy())
    return np.concatenate(found)


def camera_features(model: Assessor, clean: Clean, rounds: int) -> dict[str, np.ndarray]:
    """The camera's pictures of validation photographs, at two sizes."""
    stored: dict[str, list[np.ndarray]] = {"features": [], "flaws": [], "categories": []}
    for number in range(rounds):
        made = clean.made(48, FULL if number % 2 else SMALL_SIZE)
        whole = window_of(made.pictures, FULL if number % 2 else SMALL_WINDOW)
        pictures = (whole * 255).round().byte().permute(0, 2, 3, 1)
        stored["features"].append(features(model, pictures))
        stored["flaws"].append(made.flaws.cpu().numpy())
        stored["categories"].append(made.categories.cpu().numpy())
    return {name: np.concatenate(parts) for name, parts in stored.items()}


def save_features(model: Assessor, rated: Rated, clean: Clean, pool: Path, out: Path, each: int, rounds: int) -> None:
    """For calibrating and measuring without the pictures and without an accelerator."""
    stored: dict[str, np.ndarray] = {}
    stored["rated_validation/features"] = features(model, rated.store.pictures[: rated.store.count])
    stored["rated_validation/rating"] = rated.rating.cpu().numpy()
    for part in ("validation", "test"):
        pictures, columns = check_shards(pool, part)
        rows = np.ones(len(columns["row"]), bool)
        if part == "test":
            # Some kinds on each photograph, in turn: all of them would be too much to carry.
            turn = (columns["row"] - each * columns["photograph"]) % 25
            rows = (columns["row"] < 0) | (turn < each)
        stored[f"chains_{part}/features"] = features(model, pictures[torch.from_numpy(rows)])
        stored |= {f"chains_{part}/{name}": values[rows] for name, values in columns.items()}
    stored |= {f"camera/{name}": values for name, values in camera_features(model, clean, rounds).items()}
    out.mkdir(exist_ok=True)
    split_file(stored, out, "features")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pool", type=Path, default=Path("/dev/shm/agenticiqa-pool"))
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--begin-with", type=int, default=15_000, help="wait for so many made pictures")
    parser.add_argument("--start", type=Path, nargs="*", default=[], help="go on from the mean of shipped ONNX folders")
    parser.add_argument("--pace", type=float, default=1.0, help="factor on all learning rates")
    parser.add_argument("--anchor", type=float, default=0.0, help="weight of staying with the opinions of the start")
    parser.add_argument("--steady", action="store_true", help="keep the normalisation of the start as it is")
    parser.add_argument("--leave-out", nargs="*", default=[], help="collections of real flaws that must not be learnt")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-features", action="store_true", help="only the checkpoint")
    parser.add_argument("--trial", type=int, default=0, metavar="STEPS", help="few steps on little data: does all run?")
    arguments = parser.parse_args()
    run(arguments, "cuda" if torch.cuda.is_available() else "cpu")


def generator_of(data: Path, pool: Path) -> subprocess.Popen[bytes] | None:
    """The workers that make damaged pictures, unless they run or have run already."""
    if (pool / "complete").exists() or (pool / "started").exists():
        return None
    command = [sys.executable, "-m", "training.embedded.generate", "--data", str(data), "--pool", str(pool)]
    return subprocess.Popen(command)


def run(arguments: argparse.Namespace, device: str) -> None:
    data, trial = arguments.data, arguments.trial
    arguments.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(arguments.seed)
    sys.setswitchinterval(5e-4)  # the readers' threads must not keep the one that feeds the accelerator waiting
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    begin = time.time()
    generator = generator_of(data, arguments.pool)
    room = (400, 200) if trial and device == "cpu" else (70_000, 16_000)
    stores = {FULL: Store(room[0], FULL, device), REDUCED: Store(room[1], REDUCED, device)}
    reader = Reader(arguments.pool, stores)
    few = 40 if trial and device == "cpu" else None
    opinions, photographs = splits.load()["opinions"], splits.load()["photos"]
    parts = ("train", "validation")
    rated = {part: Rated(data / "biq2021", opinions[part][:few], device) for part in parts}
    clean = {part: Clean(data, photographs[part][:few], rated[part], device) for part in parts}
    listed, drawn = real_flaws.read(data / "real_flaws"), screens(data / "screens")
    real = {}
    for part, count in (("train", VARIANTS), ("validation", WATCHED_VARIANTS)):
        chosen = real_flaws.part_of(listed, part, arguments.leave_out) + drawn[part]
        real[part] = Real(data / "real_flaws", chosen[:: 20 if few else 1], 1 if few else count, device)
    print(
        f"{len(clean['train'].pictures)} clean, {len(real['train'].windows)} variants, {time.time() - begin:.0f} s",
        flush=True,
    )
    typical = clean["train"].pictures[:64].permute(0, 3, 1, 2).float() / 255
    model = started(data, device, arguments.start, typical)
    model.local = model.local.to(memory_format=torch.channels_last)
    while stores[FULL].count + stores[REDUCED].count < (50 if few else arguments.begin_with):
        if reader.failure:
            raise SystemExit(f"reading made pictures failed: {reader.failure!r}")
        time.sleep(1)
    print(f"waited {time.time() - begin:.0f} s for {stores[FULL].count}+{stores[REDUCED].count} pictures", flush=True)
    watch = Watch(rated["validation"], real["validation"])
    anchor = Anchor(model, arguments.anchor)
    drawn_from = Data(stores, rated["train"], clean["train"], real["train"], anchor)
    smoothed = train(model, drawn_from, watch, arguments.minutes, arguments.pace, trial, steady=arguments.steady)
    reader.stopped = True
    save(smoothed.model, arguments.out)
    (arguments.out / "trained").touch()
    if arguments.no_features:
        return
    if generator:
        generator.wait()
    while not (arguments.pool / "complete").exists():
        time.sleep(1)
    torch.manual_seed(arguments.seed + 1)
    save_features(
        smoothed.model,
        rated["validation"],
        clean["validation"],
        arguments.pool,
        arguments.out / "features",
        10,
        2 if few else 30,
    )
    (arguments.out / "done").touch()


if __name__ == "__main__":
    main()
