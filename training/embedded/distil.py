"""Teach a content network what another one sees of a view and of its mirror image, on the mean.

    python -m training.embedded.distil --weights WEIGHTS --views FOLDER --out RUN [--minutes 20] [--grid 20]

``FOLDER`` holds views*.tar as ``look_lessons`` makes them: whole pictures of 280×280 pixels; of those whose name begins
with "e" it is only asked how close the student came. ``WEIGHTS`` is a folder with content.onnx and local.onnx in 32
bits and the shipped joint.onnx. A student learns also what the heads say beside the statistics of the view. It sees
with one look what two looks saw, and joins places that look alike (:mod:`training.embedded.merging`). With fewer and
larger patches than the teacher's 20 along a side it costs less still, and sees less.
"""

from __future__ import annotations

import argparse
import io
import json
import tarfile
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from PIL import Image
from torch import Tensor, nn
from training.embedded.merging import MERGED
from training.embedded.network import CONTENT, PATCH, VIEW, WIDTH, Content, Local
from training.embedded.start import by_layer, load_local

from agenticiqa.vision.accelerator import TorchGraph

BATCH = 384
HEADS = {"content": 256, "flaw_content": 192}
"""First layers behind the content, and how many values each makes of it."""
SAID = ("score", "damage", "opinion", "trust", "levels", "severities", "flaws", "sorts", "generated")
"""What the heads say, as far as it is taught."""
PLAIN = 0.4
"""Share of views that are shown as they are."""
TAUGHT = (0.65, 0.8, 1.0)
"""… mixed with those of the beginning, of which the rest is: so much of them as serves views best that it is asked."""
WARMING = 50
"""So many steps pass before the rate is whole."""
SNAPSHOT = 4.0
"""So many minutes between one snapshot and the next."""
MEMORY = 0.99
"""What is kept is the mean of the weights over the last steps: so much of it stays at each …"""


def student_of(teacher: Content, grid: int, merged: Mapping[int, int]) -> Content:
    """The teacher's own weights: larger patches, places of a coarser grid."""
    student = Content(grid, merged)
    own = teacher.state_dict()
    # What a patch is to the teacher's filters once it is reduced to their size.
    same = torch.eye(student.patch)[None, None]
    reduce = F.interpolate(same, (student.patch, PATCH), mode="bilinear", antialias=True)[0, 0]
    own["patches.weight"] = torch.einsum("ocij,hi,wj->ochw", own["patches.weight"], reduce, reduce)
    position = own["position"]
    places = position[:, 1:].reshape(1, teacher.side, teacher.side, WIDTH).permute(0, 3, 1, 2)
    places = F.interpolate(places, (grid, grid), mode="bicubic", antialias=True)
    own["position"] = torch.cat([position[:, :1], places.permute(0, 2, 3, 1).flatten(1, 2)], 1)
    student.load_state_dict(own)
    for layer in student.layers:
        layer.drop = 0.0
    return student


def decoded(entry: tuple[str, bytes]) -> tuple[str, np.ndarray]:
    return entry[0], np.asarray(Image.open(io.BytesIO(entry[1])).convert("RGB"))


def read_views(folder: Path) -> tuple[Tensor, Tensor]:
    """Views to learn from and views to ask about, N×3×280×280 bytes."""
    entries = []
    for file in sorted(folder.glob("views*.tar")):
        with tarfile.open(file) as packed:
            for member in packed:
                stream = packed.extractfile(member)
                assert stream is not None
                entries.append((member.name, stream.read()))
    with ProcessPoolExecutor() as workers:
        found = list(workers.map(decoded, entries, chunksize=256))
    learnt = np.stack([view for name, view in found if not name.startswith("e")])
    asked = np.stack([view for name, view in found if name.startswith("e")])
    return tuple(torch.from_numpy(each).permute(0, 3, 1, 2).contiguous() for each in (learnt, asked))  # type: ignore[return-value]


def varied(views: Tensor) -> Tensor:
    """Views in 0..1 with the variety of pictures: parts of them, mirrored, lighter, softer, noisier, paler."""
    count, device = len(views), views.device

    def some(share: float, *shape: int) -> Tensor:
        return (torch.rand(count, device=device) < share).float().view(-1, *shape)

    scale = 1 - some(0.6) * 0.45 * torch.rand(count, device=device)
    aspect = (1 + 0.2 * (2 * torch.rand(count, device=device) - 1)).clamp_max(1 / scale)
    wide, high = (scale * aspect).clamp_max(1), (scale / aspect).clamp_max(1)
    flip = 1 - 2 * some(0.5)
    move = [(1 - extent) * (2 * torch.rand(count, device=device) - 1) for extent in (wide, high)]
    zero = torch.zeros(count, device=device)
    grid = torch.stack([torch.stack([flip * wide, zero, move[0]], 1), torch.stack([zero, high, move[1]], 1)], 1)
    x = F.grid_sample(views.float() / 255, F.affine_grid(grid, [count, 3, VIEW, VIEW], align_corners=False),
                      align_corners=False, padding_mode="reflection")  # fmt: skip
    gamma = torch.exp(some(0.3) * 1.4 * (torch.rand(count, device=device) - 0.5)).view(-1, 1, 1, 1)
    x = x.clamp_min(1e-4) ** gamma
    grey = x.mean(1, keepdim=True)
    x = grey + (x - grey) * (1 - some(0.2, 1, 1, 1) * torch.rand(count, device=device).view(-1, 1, 1, 1))
    soft = F.interpolate(F.interpolate(x, scale_factor=float(np.random.uniform(0.2, 0.9)), mode="bilinear",
                                       antialias=True), (VIEW, VIEW), mode="bicubic")  # fmt: skip
    x = torch.where(some(0.2, 1, 1, 1) > 0, soft, x)
    noise = some(0.2, 1, 1, 1) * 0.15 * torch.rand(count, device=device).view(-1, 1, 1, 1)
    return ((x + noise * torch.randn_like(x)).clamp(0, 1) * 255).round() / 255


class Lesson(nn.Module):
    """How far a student is from the teacher, in variances of what the teacher says."""

    def __init__(self, folder: Path, device: str):
        super().__init__()
        self.teacher = Content().requires_grad_(False).eval()
        print(self.teacher.load_state_dict(by_layer(folder / "content.onnx", "content."), strict=False))
        heads = by_layer(folder / "joint.onnx", "joint.")
        self.heads = nn.ModuleDict()
        for name, width in HEADS.items():
            head = nn.Sequential(nn.LayerNorm(CONTENT), nn.Linear(CONTENT, width))
            head.load_state_dict({key: heads[f"{name}.{key}"] for key in head.state_dict()})
            self.heads[f"{name}_head"] = head.requires_grad_(False)
        self.local = Local().requires_grad_(False).eval()
        load_local(self.local, by_layer(folder / "local.onnx", "local."))
        self.joint = TorchGraph((folder / "joint.onnx").read_bytes(), device)
        self.known = {name: value.clone() for name, value in self.joint.known.items()}
        self.moments: dict[str, Tensor] = {}
        self.looks = self.teacher.seen
        self.to(device)

    @torch.no_grad()
    def statistics(self, views: Tensor) -> Tensor:
        """Of whole views (N×3×280×280 bytes) and of their mirror images, on the mean."""
        x = F.interpolate(views.float(), (288, 288), mode="bilinear").round() / 255
        return (self.local(x) + self.local(x.flip(3))).mean((2, 3)) / 2

    def said(self, content: Tensor, statistics: Tensor) -> dict[str, Tensor]:
        values = self.known | {"content": content, "statistics": statistics}
        for node in self.joint.nodes:
            self.joint._run_node(node, values)
        return {name: values[name].reshape(len(content), -1) for name in SAID}

    @torch.no_grad()
    def targets(self, views: Tensor, statistics: Tensor) -> dict[str, Tensor]:
        with torch.autocast(views.device.type, torch.bfloat16):
            (content, tokens), (other, turned) = self.looks(views), self.looks(views.flip(3))
        grid = (len(views), self.teacher.side, self.teacher.side, 2 * WIDTH)
        places = (tokens.float().reshape(grid) + turned.float().reshape(grid).flip(2)) / 2
        content = (content.float() + other.float()) / 2
        found = {"content": content, "tokens": places.permute(0, 3, 1, 2), **self.said(content, statistics)}
        return found | {name: head(content) for name, head in self.heads.items()}

    def measure(self, targets: dict[str, Tensor]) -> None:
        """Variances by value, from one large batch."""
        flat = {name: values if name != "tokens" else values.permute(0, 2, 3, 1).flatten(0, 2)
                for name, values in targets.items()}  # fmt: skip
        self.moments = {name: values.var(0) + (1e-3 if name in SAID else 1e-6) for name, values in flat.items()}

    def distances(
        self, content: Tensor, tokens: Tensor, targets: dict[str, Tensor], statistics: Tensor
    ) -> dict[str, Tensor]:
        side = round(tokens.shape[1] ** 0.5)
        wanted = F.interpolate(targets["tokens"], (side, side), mode="bilinear", antialias=True)
        own = {"content": content, "tokens": tokens, **self.said(content, statistics)}
        own |= {name: head(content) for name, head in self.heads.items()}
        asked = targets | {"tokens": wanted.flatten(2).transpose(1, 2)}
        return {name: ((own[name] - asked[name]).square() / self.moments[name]).mean() for name in own}


def loss_of(parts: dict[str, Tensor]) -> Tensor:
    heads = parts["content_head"] + parts["flaw_content_head"]
    said = torch.stack([parts[name] for name in SAID]).mean()
    return parts["content"] + 0.2 * parts["tokens"] + 0.5 * heads + 2.0 * said


def asked_about(lesson: Lesson, see: object, views: Tensor, statistics: Tensor) -> dict[str, float]:
    sums: dict[str, float] = {}
    with torch.no_grad():
        for start in range(0, len(views), 128):
            x, known = views[start : start + 128].float() / 255, statistics[start : start + 128]
            parts = lesson.distances(*see(x), lesson.targets(x, known), known)  # type: ignore[operator]
            for name, value in parts.items():
                sums[name] = sums.get(name, 0.0) + float(value) * len(x) / len(views)
    return {name: round(value, 4) for name, value in sums.items()}


def save(student: Content, values: list[Tensor], out: Path) -> None:
    names = [name for name, _ in student.named_parameters()]
    state = {name: value.detach().cpu().numpy().astype(np.float16) for name, value in zip(names, values, strict=True)}
    np.savez(out / "student.npz", **state)


def run(arguments: argparse.Namespace) -> None:
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    torch._dynamo.config.suppress_errors = True  # type: ignore[attr-defined]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    lesson = Lesson(arguments.weights, device)
    views, asked = (each.to(device) for each in read_views(arguments.views))
    print(f"{len(views)} views to learn from, {len(asked)} to ask about", flush=True)
    known, of_asked = (torch.cat([lesson.statistics(some[start : start + 128]) for start in range(0, len(some), 128)])
                       for some in (views, asked))  # fmt: skip
    count = min(len(views), 6 * BATCH)
    found = [lesson.targets(views[start : start + BATCH].float() / 255, known[start : start + BATCH])
             for start in range(0, count, BATCH)]  # fmt: skip
    lesson.measure({name: torch.cat([each[name] for each in found]) for name in found[0]})
    del found
    print("teacher without its mirror image:", asked_about(lesson, lesson.teacher.seen, asked, of_asked), flush=True)
    arguments.out.mkdir(parents=True, exist_ok=True)
    student = student_of(lesson.teacher.cpu(), arguments.grid, MERGED).to(device)
    lesson.to(device)
    print("untaught:", asked_about(lesson, student.eval().seen, asked, of_asked), flush=True)
    parameters, see = list(student.parameters()), student.train().seen
    begun, mean = ([value.detach().clone() for value in parameters] for _ in range(2))
    optimiser = torch.optim.AdamW(parameters, lr=arguments.rate, weight_decay=0.02)
    if arguments.compile:
        see, lesson.looks = (torch.compile(each, dynamic=False) for each in (see, lesson.looks))
    started, step, told, saved = time.monotonic(), 0, 0.0, 0.0
    while (spent := (time.monotonic() - started) / 60) < arguments.minutes:
        chosen = torch.randint(len(views), (BATCH,), device=device)
        plain, rest = chosen.split([int(PLAIN * BATCH), BATCH - int(PLAIN * BATCH)])
        simple = views[plain].float() / 255
        turned = (torch.rand(len(plain), 1, 1, 1, device=device) < 0.5).expand_as(simple)
        batch = torch.cat([torch.where(turned, simple.flip(3), simple), varied(views[rest])])
        statistics = known[chosen]
        targets = lesson.targets(batch, statistics)
        for group in optimiser.param_groups:
            share = (1 + np.cos(np.pi * spent / arguments.minutes)) / 2
            group["lr"] = arguments.rate * min(1.0, step / WARMING) * share
        with torch.autocast(device, torch.bfloat16):
            content, tokens = see(batch)
        parts = lesson.distances(content.float(), tokens.float(), targets, statistics)
        optimiser.zero_grad(set_to_none=True)
        loss_of(parts).backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        torch._foreach_lerp_(mean, [value.detach() for value in parameters], 1 - min(MEMORY, step / (step + 9)))
        step += 1
        if spent - saved > SNAPSHOT:
            saved = spent
            save(student, mean, arguments.out)
        if spent - told > 0.5 or step == 3:
            told = spent
            said = {name: round(value.item(), 4) for name, value in parts.items()}
            print(f"{spent:.2f} min, step {step}:", json.dumps(said), flush=True)
    lesson.looks = lesson.teacher.seen
    student.eval()
    best = np.inf
    for share in TAUGHT:
        with torch.no_grad():
            torch._foreach_copy_(parameters, torch._foreach_lerp(begun, mean, share))
        found = asked_about(lesson, student.seen, asked, of_asked)
        print(f"{share} of what {step} steps taught:", found, flush=True)
        if found["score"] < best:
            best = found["score"]
            save(student, parameters, arguments.out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--views", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--rate", type=float, default=5e-5)
    parser.add_argument("--grid", type=int, default=20)
    parser.add_argument("--compile", action="store_true")
    run(parser.parse_args())


if __name__ == "__main__":
    main()
