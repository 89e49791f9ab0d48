"""Fit the gate anew: which pictures the damage head judges, and which the head of opinions.

    python -m training.embedded.gate --checkpoint PARTS... --data DATA --kept FILE.npz --out FOLDER [--pool POOL]

Training shows photographs as taken at few sizes: those with opinions at 512 pixels, all others at 256 or less. A gate
learnt there takes any other photograph for a processed one by its size alone (at 512 pixels its trust was 0.38 on the
collection with parts out of focus, and 0.24 on BIQ2021 at half to nine tenths of its size). Here only its last layer is
fitted again, to training pictures of all collections as they are and at another size, against made damage that people
see. Nothing else of the network changes. What the layer sees of them is kept in ``FILE.npz``; made where it is missing,
with an accelerator and the pool that ``train.py`` left.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from training.embedded import real_flaws, splits
from training.embedded.export import load
from training.embedded.network import CELL, Assessor, Joint
from training.embedded.pool import mapped
from training.embedded.train import read, save, squares

Floats = npt.NDArray[np.floating]
GATE = 2
"""The gate's place among the outputs of ``Joint.last``."""
SEEN_BELOW = 4.2
"""Damage below this opinion is seen by nearly everybody; fainter damage teaches nothing here."""
SCALES, LARGE = (0.5, 0.625, 0.75, 0.875), 320
ENLARGED = 1.25
EACH, MADE = 6, 9000
WEIGHTS = {"biq2021": 2.0, "defocus": 0.5, "dark": 0.5, "motion": 0.5, "ordinary": 0.5, "weather": 0.5,
           "generated": 0.25, "sort": 0.25, "made-plain": 1.0, "made-enlarged": 1.0, "made-reduced": 1.0}  # fmt: skip
PULL = 1e-3
"""How strongly the layer is held to what it was; of 1e-4, 1e-3 and 1e-2 on validation pictures all are alike."""
STEPS = 100


def taken(data: Path) -> Iterator[tuple[str, Path]]:
    """Photographs, paintings and generated pictures for training: collection and file."""
    for name in splits.load()["opinions"]["train"]:
        yield "biq2021", data / "biq2021" / name
    for name in real_flaws.load()["train"]:
        yield name.split("/", 1)[0], data / "real_flaws" / name


def resized(picture: Tensor, rng: np.random.Generator) -> Tensor:
    scale = float(rng.choice(SCALES)) if min(picture.shape[2:]) >= LARGE else ENLARGED
    found = torch.nn.functional.interpolate(picture, scale_factor=scale, mode="bilinear", antialias=True)
    return found.clamp(0, 1)


class Watcher:
    """What the last layer of the heads is given."""

    def __init__(self, model: Assessor, device: str):
        self.model, self.device = model.to(device).eval(), device
        self.found: list[np.ndarray] = []
        model.joint.last.register_forward_pre_hook(self._keep)

    def _keep(self, _: torch.nn.Module, inputs: tuple[Tensor]) -> None:
        self.found.append(inputs[0].float().cpu().numpy())

    @torch.no_grad()
    def __call__(self, pictures: Tensor) -> None:
        height, width = (side // CELL * CELL for side in pictures.shape[2:])
        cells = self.model.local(pictures[:, :, :height, :width])
        self.model.joint(cells.mean((2, 3)), self.model.content(squares(pictures)))

    def pixels(self, pictures: np.ndarray) -> Tensor:
        return torch.from_numpy(np.array(pictures)).to(self.device).permute(0, 3, 1, 2).float() / 255


def collected(model: Assessor, data: Path, pool: Path, device: str) -> dict[str, np.ndarray]:
    watch, rng = Watcher(model, device), np.random.default_rng(splits.SEED)
    collections: list[str] = []
    opinions: list[float] = []
    for collection, file in taken(data):
        picture = watch.pixels(read(file)[None])
        for shown in (picture, resized(picture, rng)):
            watch(shown)
            collections.append(collection)
            opinions.append(np.nan)
    files = sorted(pool.glob("train-*.npz"))
    for place in rng.permutation(len(files))[: MADE // EACH]:
        pictures = mapped(files[place], "pictures")
        rows = np.sort(rng.choice(len(pictures), min(EACH, len(pictures)), replace=False))
        watch(watch.pixels(pictures[rows]))
        collections += [f"made-{files[place].stem.split('-')[1]}"] * len(rows)
        with np.load(files[place]) as stored:
            opinions += [float(value) for value in stored["overall"][rows]]
    given = np.concatenate(watch.found).astype(np.float16)
    return {"given": given, "collection": np.array(collections), "opinion": np.array(opinions)}


def sides(collection: np.ndarray, opinion: Floats) -> tuple[Floats, Floats]:
    """Whether each row is processed, and its weight: both sides count alike, and within them as ``WEIGHTS`` says."""
    made = np.char.startswith(collection, "made-")
    weights = np.zeros(len(collection))
    for name, weight in WEIGHTS.items():
        rows = (collection == name) & (~made | (opinion < SEEN_BELOW))
        weights[rows] = weight / max(rows.sum(), 1)
    for side in (made, ~made):
        weights[side] /= weights[side].sum()
    return made.astype(np.float64), weights


def fitted(given: Floats, made: Floats, weights: Floats, weight: Floats, bias: float) -> tuple[Floats, float]:
    """Logistic regression (Newton), held to the layer as it was.

    >>> rows = np.array([[-1.0], [-0.5], [0.5], [1.0]])
    >>> weight, bias = fitted(rows, np.array([0.0, 0, 1, 1]), np.full(4, 0.5), np.zeros(1), 3.0)
    >>> bool(weight[0] > 2), round(bias, 3)
    (True, 0.0)
    """
    middle, deviation = given.mean(axis=0), given.std(axis=0) + 1e-3
    inputs = np.column_stack([(given - middle) / deviation, np.ones(len(given))])
    start = np.append(weight * deviation, bias + float(weight @ middle))
    pull = np.append(np.full(len(weight), 2 * PULL), 1e-9)
    values = start.copy()

    def loss(at: Floats) -> float:
        logits = inputs @ at
        return float((weights * (np.logaddexp(0, logits) - made * logits)).sum() + (pull * (at - start) ** 2).sum() / 2)

    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-np.clip(inputs @ values, -30, 30)))
        gradient = inputs.T @ (weights * (chance - made)) + pull * (values - start)
        hessian = (inputs * (weights * chance * (1 - chance))[:, None]).T @ inputs + np.diag(pull)
        step = np.linalg.solve(hessian, gradient)
        while loss(values - step) > loss(values) and np.abs(step).max() > 1e-9:
            step = step / 2
        values = values - step
        if np.abs(step).max() < 1e-7:
            break
    found = values[:-1] / deviation
    return found, float(values[-1] - middle @ found)


def fit(joint: Joint, kept: dict[str, np.ndarray]) -> None:
    """Sets the gate's row of the last layer."""
    made, weights = sides(kept["collection"], kept["opinion"])
    rows = weights > 0
    layer = joint.last
    with torch.no_grad():
        weight, bias = fitted(
            kept["given"][rows].astype(np.float64),
            made[rows],
            weights[rows],
            layer.weight[GATE].cpu().numpy().astype(np.float64),
            float(layer.bias[GATE]),
        )
        layer.weight[GATE] = torch.from_numpy(weight).to(layer.weight)
        layer.bias[GATE] = bias


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, nargs="+", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pool", type=Path, default=Path("/dev/shm/agenticiqa-pool"))
    parser.add_argument("--kept", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    model = load(sorted(arguments.checkpoint))
    if not arguments.kept.exists():
        device = "cuda" if torch.cuda.is_available() else "cpu"
        np.savez(arguments.kept, **collected(model, arguments.data, arguments.pool, device))
        model = model.to("cpu")
    fit(model.joint, dict(np.load(arguments.kept)))
    arguments.out.mkdir(parents=True, exist_ok=True)
    save(model, arguments.out)


if __name__ == "__main__":
    main()
