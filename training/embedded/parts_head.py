"""Teach the head that says where named things are, from the tokens of the content network; write it, and measure it.

    python -m training.embedded.parts_head --voc VOC.git --data DATA --kept FOLDER --out src/agenticiqa/vision/weights

``VOC.git`` is a git directory whose tree holds VOCdevkit/VOC2012, ``DATA`` has ``photos/`` and ``biq2021/``, ``FOLDER``
keeps tokens between runs. Needs torch and onnx; an hour on one core.

Things (twenty kinds of VOC): masks of its train part but the last pictures, which choose the bounds, and boxes of 2,900
more pictures, in which a first head taught by the masks says which places are the thing. Stuff (sky, vegetation,
water): seeds by colour, smoothness and height in pictures whose kinds of things say that they were taken outdoors, and
``parts_seen.json``: in which of 144 photographs sky, vegetation or water was seen by eye, and in which not.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from training.embedded.export import graph_of, packed
from training.embedded.voc import GRID, STUFF, THINGS, VIEW, Snapshot, seeds

from agenticiqa.vision.named_parts import judged_box, surest
from agenticiqa.vision.network import open_session

SHIPPED = 2
"""Water is told from the others in teaching, and too often found in misty hills to be shipped."""
LEARNT = 1200
"""Of the train part; the other 264 pictures choose the bounds."""
BOXED = 2900
WIDTH, AXES = 768, 256
SEEN = Path(__file__).with_name("parts_seen.json")


def tokens_of(pictures: Iterable[Image.Image], count: int, kept: Path, weights: Path) -> Tensor:
    """What the content network knows of each place, pictures × places × width, in 16 bits."""
    if not kept.is_file():
        session = open_session((weights / "content.onnx").read_bytes(), threads=1)
        stored = np.lib.format.open_memmap(
            str(kept) + ".part", mode="w+", dtype=np.float16, shape=(count, GRID * GRID, WIDTH)
        )
        for number, picture in enumerate(pictures):
            view = np.asarray(picture.resize((VIEW, VIEW), Image.Resampling.BILINEAR))[None]
            stored[number] = session.run(["tokens"], {"view": view})[0].reshape(GRID * GRID, WIDTH)
        Path(str(kept) + ".part").rename(kept)
    return torch.from_numpy(np.load(kept))


class Things(nn.Module):
    """Tokens of a view (N×400×width), normalised, to the logits of background and twenty kinds."""

    def __init__(self, width: int = AXES, hidden: int = 192) -> None:
        super().__init__()
        self.first, self.whole = nn.Linear(width, hidden), nn.Linear(hidden, hidden)
        self.around = nn.Conv2d(hidden, hidden, 3, padding=1, groups=hidden)
        self.last, self.drop = nn.Linear(hidden, 1 + len(THINGS)), nn.Dropout(0.3)

    def forward(self, x: Tensor) -> Tensor:
        y = nn.functional.gelu(self.first(self.drop(x)))
        grid = y.transpose(1, 2).unflatten(2, (GRID, GRID))
        y = y + nn.functional.gelu(self.around(grid)).flatten(2).transpose(1, 2)
        y = y + self.whole(y.mean(1, keepdim=True))
        return self.last(self.drop(y))


class Parts(nn.Module):
    """Tokens as the content network gives them (N×20×20×768) to the chances of all kinds (N×20×20×kinds)."""

    def __init__(self, things: Things, stuff: nn.Linear) -> None:
        super().__init__()
        self.things, self.stuff = things, stuff

    def forward(self, tokens: Tensor) -> Tensor:
        x = normalised(tokens.flatten(1, 2))
        found = torch.cat([self.things(x).softmax(-1)[..., 1:], torch.sigmoid(self.stuff(x))[..., :SHIPPED]], -1)
        return found.unflatten(1, (GRID, GRID))


def normalised(tokens: Tensor) -> Tensor:
    """Each of the two layers by itself."""
    layers = tokens.float().unflatten(-1, (2, WIDTH // 2))
    return nn.functional.layer_norm(layers, (WIDTH // 2,)).flatten(-2)


def main_axes(tokens: Tensor) -> nn.Linear:
    """Tokens to the axes along which they vary most, the largest shrunk: teaching takes a third of the time."""
    some = normalised(tokens[::2, ::8]).flatten(0, 1)
    mean = some.mean(0)
    spread, axes = torch.linalg.eigh((some - mean).T @ (some - mean) / len(some))
    spread, axes = spread[-AXES:].clamp_min(1e-6), axes[:, -AXES:]
    net = nn.Linear(WIDTH, AXES).requires_grad_(False)
    net.weight.copy_((axes / spread.sqrt() * (spread / spread[-1]) ** 0.25).T)
    net.bias.copy_(-net.weight @ mean)
    return net


def along(axes: nn.Linear, tokens: Tensor) -> Tensor:
    return torch.cat([axes(normalised(tokens[at : at + 64])).half() for at in range(0, len(tokens), 64)])


def joined(axes: nn.Linear, things: Things) -> Things:
    """The same head for tokens as they are."""
    net = Things(WIDTH)
    net.load_state_dict(
        {
            **things.state_dict(),
            "first.weight": things.first.weight @ axes.weight,
            "first.bias": things.first.bias + things.first.weight @ axes.bias,
        }
    )
    return net.eval()


def shares(masks: np.ndarray) -> Tensor:
    """How much of each place is of each kind: pictures × places × 21."""
    step = VIEW // GRID
    cells = masks.reshape(-1, GRID, step, GRID, step).transpose(0, 1, 3, 2, 4).reshape(len(masks), GRID**2, -1)
    return torch.tensor(np.stack([(cells == kind).mean(-1) for kind in range(1 + len(THINGS))], -1), dtype=torch.half)


def taught_things(tokens: Tensor, targets: Tensor, steps: int) -> Things:
    net, rate = Things(), 2e-3
    optimiser = torch.optim.AdamW(net.parameters(), rate, weight_decay=0.1)
    pace = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, steps)
    for step in range(steps):
        chosen = torch.randint(len(tokens), (16,))
        x, y = tokens[chosen].float(), targets[chosen].float()
        if step % 2:
            x, y = (each.unflatten(1, (GRID, GRID)).flip(2).flatten(1, 2) for each in (x, y))
        loss = -(y * net(x).log_softmax(-1)).sum(-1).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        pace.step()
    return net.eval()


@torch.no_grad()
def chances(net: nn.Module, tokens: Tensor) -> Tensor:
    return torch.cat([net(tokens[at : at + 32].float()).softmax(-1) for at in range(0, len(tokens), 32)])


def within_boxes(found: Tensor, boxes: list[list[tuple[int, list[float]]]]) -> Tensor:
    """A first head's opinion where a box allows it; nothing but background elsewhere."""
    allowed = torch.zeros_like(found)
    allowed[..., 0] = 1
    down, across = (np.stack(np.divmod(np.arange(GRID**2), GRID)) + 0.5) / GRID
    for number, of_picture in enumerate(boxes):
        for kind, (left, top, right, bottom) in of_picture:
            inside = (across >= left) & (across <= right) & (down >= top) & (down <= bottom)
            allowed[number, torch.from_numpy(inside), kind] = 1
    sharper = (found * allowed) ** 1.5
    return (sharper / sharper.sum(-1, keepdim=True)).half()


def taught_stuff(tokens: Tensor, known: Tensor, seen: Tensor, said: Tensor) -> nn.Linear:
    """From seeds alone first; then also from photographs, in which ``said`` tells what a person saw (-1: unsure)."""
    x, photographs = normalised(tokens).flatten(0, 1).half(), normalised(seen).flatten(0, 1).half()
    mean, deviation = x.float().mean(0), x.float().std(0)
    everything, none = torch.cat([x, photographs]), torch.full((len(photographs), len(STUFF)), -1.0)
    targets, whole = torch.cat([known.flatten(0, 1).float(), none]), said.float().repeat_interleave(GRID**2, 0)
    net = nn.Linear(WIDTH, len(STUFF))
    optimiser = torch.optim.AdamW(net.parameters(), 1.5e-3, weight_decay=0.3)
    for _ in range(3):
        told = torch.nonzero((targets >= 0).any(1))[:, 0]
        weight = torch.where((targets[told] == 1).any(1), 3.0, 1.0) * torch.where(told >= len(x), 4.0, 1.0)
        weight *= torch.where(targets[told, 2] == 1, 3.0, 1.0)
        for _ in range(500):
            chosen = told[torch.multinomial(weight, 4096, replacement=True)]
            target = targets[chosen]
            logits = net((everything[chosen].float() - mean) / deviation)
            softened = target.clamp(0, 1) * 0.96 + 0.02
            lost = nn.functional.binary_cross_entropy_with_logits(logits, softened, reduction="none")
            loss = (lost * (target >= 0)).sum() / (target >= 0).sum()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        with torch.no_grad():
            found = torch.sigmoid(net((photographs.float() - mean) / deviation))
        unsure = torch.where(found > 0.6, 1.0, torch.where(found < 0.2, 0.0, -1.0))
        targets[len(x) :] = torch.where(whole == 1, unsure, whole)
    with torch.no_grad():  # what was subtracted and divided by goes into the weights
        net.weight /= deviation
        net.bias -= net.weight @ mean
    return net


def bounds(found: np.ndarray, present: np.ndarray) -> tuple[float, float]:
    """From which chance on a kind is claimed, and below which it is said to be absent: what 3 in 100 pictures without
    it reach, and a fifth of what every picture with it does, because few pictures tell of each kind."""
    claimed = float(np.quantile(found[~present], 0.97))
    return claimed, min(claimed, float(found[present].min()) / 5)


def measured(found: np.ndarray, masks: np.ndarray, kinds: list[dict]) -> dict[str, float]:
    """What the product would do when asked for each kind of thing in each picture."""
    rows = []
    for of_picture, mask in zip(found, masks, strict=True):
        for number, kind in enumerate(kinds[: len(THINGS)]):
            own, chance = mask == number + 1, surest(of_picture[..., number])
            box = judged_box(of_picture[..., number], (VIEW, VIEW)) if chance >= kind["found"] else None
            known = mask[box.rows, box.columns] != 255 if box else None
            on_it = float(own[box.rows, box.columns][known].mean()) if box is not None and known.any() else 0.0
            rows.append((own.mean(), box is not None, on_it, chance < kind["absent"]))
    share, claimed, on_it, denied = np.array(rows, np.float64).T
    there, clear, claims = share > 0, share > 0.02, claimed > 0
    return {
        "asked, present": int(there.sum()),
        "claimed where absent": float(claims[~there].mean()),
        "said absent where absent": float(denied[~there].mean()),
        "said absent where present": float(denied[there].mean()),
        "found where present": float(claims[there].mean()),
        "found where 2 % of the frame": float(claims[clear].mean()),
        "box on it, of those found": float((on_it[claims & there] >= 0.6).mean()),
    }


def mean_iou(found: np.ndarray, masks: np.ndarray) -> float:
    background = 1 - found[..., : len(THINGS)].sum(-1, keepdims=True)
    said = np.concatenate([background, found[..., : len(THINGS)]], -1).reshape(len(found), GRID**2, -1).argmax(-1)
    true = shares(masks).numpy().argmax(-1)
    return float(np.mean([((said == k) & (true == k)).sum() / ((said == k) | (true == k)).sum() for k in range(21)]))


def write(parts: Parts, kinds: list[dict], out: Path) -> None:
    example = (torch.zeros(1, GRID, GRID, WIDTH),)
    free = {"tokens": {0: "views"}, "parts": {0: "views"}}
    data = packed(graph_of(parts, example, ["tokens"], ["parts"], free), eight_bit=False).SerializeToString()
    (out / "parts.onnx").write_bytes(data)
    about = json.loads((out / "model.json").read_text())
    about["parts"] = kinds
    for name in ("content.onnx", "parts.onnx"):
        about["files"][name] = hashlib.sha256((out / name).read_bytes()).hexdigest()
    (out / "model.json").write_text(json.dumps(about, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("voc", "data", "kept", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    voc, said = Snapshot(arguments.voc), json.loads(SEEN.read_text())
    names = {part: voc.names(f"Segmentation/{part}") for part in ("train", "val")}
    segmented = {*names["train"], *names["val"]}
    names["boxed"] = [name for name in voc.names("Main/trainval") if name not in segmented][:BOXED]
    tokens = {
        part: tokens_of(map(voc.picture, own), len(own), arguments.kept / f"{part}.npy", arguments.out)
        for part, own in names.items()
    }
    photographs = (Image.open(arguments.data / name).convert("RGB") for name, *_ in said["pictures"])
    seen = tokens_of(photographs, len(said["pictures"]), arguments.kept / "seen.npy", arguments.out)
    masks = {part: np.stack([voc.mask(name) for name in names[part]]) for part in ("train", "val")}
    axes, targets = main_axes(tokens["train"]), shares(masks["train"])[:LEARNT]
    learnt, boxed = along(axes, tokens["train"][:LEARNT]), along(axes, tokens["boxed"])
    first = taught_things(learnt, targets, 400)
    guessed = within_boxes(chances(first, boxed), [voc.boxes(name) for name in names["boxed"]])
    things = joined(axes, taught_things(torch.cat([learnt, boxed]), torch.cat([targets, guessed]), 1200))
    known = [seeds(voc.picture(name), mask) for name, mask in zip(names["train"], masks["train"], strict=True)]
    by_eye = torch.tensor([row[1:] for row in said["pictures"]])
    stuff = taught_stuff(tokens["train"], torch.tensor(np.stack(known)), seen, by_eye)
    parts = Parts(things, stuff).eval()
    with torch.no_grad():
        kept = parts(tokens["train"][LEARNT:].unflatten(1, (GRID, GRID))).numpy()
        test = parts(tokens["val"].unflatten(1, (GRID, GRID))).numpy()
    kinds = []
    for number, name in enumerate(THINGS):
        chance = np.array([surest(each[..., number]) for each in kept])
        found, absent = bounds(chance, (masks["train"][LEARNT:] == number + 1).any((1, 2)))
        kinds.append({"name": name, "found": round(found, 4), "absent": round(absent, 4)})
    kinds += [{"name": name, "found": at, "absent": 0.0} for name, at in said["found"].items()]
    write(parts, kinds, arguments.out)
    print(json.dumps({"mean IoU": mean_iou(test, masks["val"]), **measured(test, masks["val"], kinds)}, indent=1))


if __name__ == "__main__":
    main()
