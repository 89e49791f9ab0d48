"""Teach a cheaper content network what the shipped one sees: a smaller view, its mirror image learnt, 8-bit sums.

    python -m training.embedded.distil --weights WEIGHTS --views FOLDER --out RUN [--minutes 8] [--sides 196 196]
        [--depths 12 6]

``FOLDER`` holds views*.tar with JPEGs of 280×280 pixels: whole pictures resized by Pillow's BILINEAR, none of a picture
that figures are measured on, but for those whose name begins with "e", on which it is only asked how close the
student came. ``WEIGHTS`` is a folder with content.onnx and joint.onnx. A student learns the mean of what the teacher
sees of a view and of its mirror image. Its matrices are rounded as the runtime rounds them: columns of weights to 7
bits, so that no processor's 8-bit sums overflow, and what goes into them to 8 bits.
"""

from __future__ import annotations

import argparse
import io
import json
import tarfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from PIL import Image
from torch import Tensor, nn
from training.embedded.network import CONTENT, DEPTH, VIEW, WIDTH, Content
from training.embedded.start import by_layer

BATCH = 384
PART_BYTES = 15_000_000
HEADS = {"content": 256, "flaw_content": 192}
"""First layers behind the content, and how many values each makes of it."""


def rounded(values: Tensor, low: Tensor, step: Tensor) -> Tensor:
    """To whole steps from ``low``; gradients pass as if nothing were rounded."""
    step = step.clamp_min(1e-8)
    return values + ((((values - low) / step).round() * step + low) - values).detach()


class RoundedLinear(nn.Linear):
    """A linear layer with weights of 7 bits (by column) and inputs of 8 bits (by picture)."""

    def forward(self, x: Tensor) -> Tensor:
        exact = x.float()
        axes = tuple(range(1, x.ndim))
        low, high = exact.amin(axes, keepdim=True).clamp_max(0), exact.amax(axes, keepdim=True).clamp_min(0)
        inputs = rounded(exact, low, (high - low) / 255)
        weight = rounded(
            self.weight.float(), torch.zeros(()).to(x.device), self.weight.abs().amax(1, keepdim=True) / 64
        )
        return F.linear(inputs.to(x.dtype), weight.to(x.dtype), self.bias.to(x.dtype))


def with_rounding(network: Content) -> Content:
    for layer in network.layers:
        for name in ("qkv", "out", "fc1", "fc2"):
            getattr(layer, name).__class__ = RoundedLinear
        layer.drop = 0.0
    return network


def student_of(teacher: Content, view: int, depth: int) -> Content:
    """The teacher's own weights: places of a coarser grid, and layers spread over its depth."""
    student = Content(view, depth)
    state = teacher.state_dict()
    kept = [round(number * (DEPTH - 1) / (depth - 1)) for number in range(depth)]
    own = {name: value for name, value in state.items() if not name.startswith("layers.")}
    for number, of in enumerate(kept):
        prefix = f"layers.{of}."
        own |= {f"layers.{number}.{name.removeprefix(prefix)}": value for name, value in state.items()
                if name.startswith(prefix)}  # fmt: skip
    position = state["position"]
    places = position[:, 1:].reshape(1, teacher.side, teacher.side, WIDTH).permute(0, 3, 1, 2)
    places = F.interpolate(places, (student.side, student.side), mode="bicubic", antialias=True)
    own["position"] = torch.cat([position[:, :1], places.permute(0, 2, 3, 1).flatten(1, 2)], 1)
    student.load_state_dict(own)
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


def smaller(views: Tensor, side: int) -> Tensor:
    return (F.interpolate(views, (side, side), mode="bilinear", antialias=True).clamp(0, 1) * 255).round() / 255


class Lesson(nn.Module):
    """How far a student is from the teacher, in variances of what the teacher says."""

    def __init__(self, teacher: Content, heads: dict[str, Tensor]):
        super().__init__()
        self.teacher = teacher.eval().requires_grad_(False)
        self.heads = nn.ModuleDict()
        for name, width in HEADS.items():
            head = nn.Sequential(nn.LayerNorm(CONTENT), nn.Linear(CONTENT, width))
            head.load_state_dict({key: heads[f"{name}.{key}"] for key in head.state_dict()})
            self.heads[f"{name}_head"] = head.requires_grad_(False)
        self.moments: dict[str, tuple[Tensor, Tensor]] = {}

    @torch.no_grad()
    def targets(self, views: Tensor) -> dict[str, Tensor]:
        (content, tokens), (other, turned) = self.teacher.seen(views), self.teacher.seen(views.flip(3))
        grid = (len(views), self.teacher.side, self.teacher.side, 2 * WIDTH)
        places = (tokens.reshape(grid) + turned.reshape(grid).flip(2)) / 2
        return {"content": (content + other) / 2, "tokens": places.permute(0, 3, 1, 2)}

    def measure(self, targets: dict[str, Tensor]) -> None:
        """Means and variances by value, from one large batch."""
        known = {"content": targets["content"], "tokens": targets["tokens"].permute(0, 2, 3, 1).flatten(0, 2)}
        known |= {name: head(targets["content"]) for name, head in self.heads.items()}
        self.moments = {name: (values.mean(0), values.var(0) + 1e-6) for name, values in known.items()}

    def distances(self, content: Tensor, tokens: Tensor, targets: dict[str, Tensor], side: int) -> dict[str, Tensor]:
        wanted = F.interpolate(targets["tokens"], (side, side), mode="bilinear", antialias=True)
        pairs = {"content": (content, targets["content"]), "tokens": (tokens, wanted.flatten(2).transpose(1, 2))}
        pairs |= {name: (head(content), head(targets["content"])) for name, head in self.heads.items()}
        return {name: ((own - asked).square() / self.moments[name][1]).mean() for name, (own, asked) in pairs.items()}


def run(arguments: argparse.Namespace) -> None:
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    torch._dynamo.config.suppress_errors = True  # type: ignore[attr-defined]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    teacher = Content()
    weights = by_layer(arguments.weights / "content.onnx", "content.")
    print(teacher.load_state_dict(weights, strict=False))
    lesson = Lesson(teacher, by_layer(arguments.weights / "joint.onnx", "joint.")).to(device)
    views, asked = (each.to(device) for each in read_views(arguments.views))
    print(f"{len(views)} views to learn from, {len(asked)} to ask about", flush=True)
    students = [with_rounding(student_of(teacher.cpu(), side, depth)).to(device)
                for side, depth in zip(arguments.sides, arguments.depths, strict=True)]  # fmt: skip
    lesson.to(device)
    kept = [{name: value.clone() for name, value in one.state_dict().items()} for one in students]
    rate = 3e-4
    optimisers = [torch.optim.AdamW(one.parameters(), lr=rate, weight_decay=0.02) for one in students]
    see = (
        [torch.compile(one.seen, dynamic=False) for one in students]
        if arguments.compile
        else [one.seen for one in students]
    )
    if arguments.compile:
        lesson.teacher.seen = torch.compile(lesson.teacher.seen, dynamic=False)  # type: ignore[method-assign]
    with torch.autocast(device, torch.bfloat16):
        found = [lesson.targets(views[start : start + BATCH].float() / 255) for start in range(0, 6 * BATCH, BATCH)]
    lesson.measure({name: torch.cat([each[name].float() for each in found]) for name in found[0]})
    started, step, told = time.monotonic(), 0, 0.0
    while (spent := (time.monotonic() - started) / 60) < arguments.minutes:
        batch = varied(views[torch.randint(len(views), (BATCH,), device=device)])
        with torch.autocast(device, torch.bfloat16):
            targets = lesson.targets(batch)
        targets = {name: value.float() for name, value in targets.items()}
        share = spent / arguments.minutes
        for one, seen, optimiser, mean in zip(students, see, optimisers, kept, strict=True):
            for group in optimiser.param_groups:
                group["lr"] = rate * min(1.0, step / 200) * (0.02 + 0.98 * (1 + np.cos(np.pi * share)) / 2)
            with torch.autocast(device, torch.bfloat16):
                content, tokens = seen(smaller(batch, one.side * 14))
            parts = lesson.distances(content.float(), tokens.float(), targets, one.side)
            loss = parts["content"] + 0.3 * parts["tokens"] + 0.5 * (parts["content_head"] + parts["flaw_content_head"])
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(one.parameters(), 1.0)
            optimiser.step()
            with torch.no_grad():
                for name, value in one.state_dict().items():
                    if value.is_floating_point():
                        mean[name].lerp_(value, 0.002 if step > 1000 else 0.02)
        step += 1
        if spent - told > 0.5 or step == 3:
            told = spent
            print(f"{spent:.2f} min, step {step}:", json.dumps({n: round(float(v), 4) for n, v in parts.items()}),
                  flush=True)  # fmt: skip
    arguments.out.mkdir(parents=True, exist_ok=True)
    for number, (one, mean) in enumerate(zip(students, kept, strict=True)):
        one.load_state_dict(mean)
        one.eval()
        for exactly in (False, True):
            for layer in one.layers:
                for name in ("qkv", "out", "fc1", "fc2"):
                    getattr(layer, name).__class__ = nn.Linear if exactly else RoundedLinear
            sums: dict[str, float] = {}
            with torch.no_grad():
                for start in range(0, len(asked), 128):
                    x = asked[start : start + 128].float() / 255
                    parts = lesson.distances(*one.seen(smaller(x, one.side * 14)), lesson.targets(x), one.side)
                    for name, value in parts.items():
                        sums[name] = sums.get(name, 0.0) + float(value) * len(x) / len(asked)
            print(f"student {number} ({one.side * 14}, {len(one.layers)} layers), {'exact' if exactly else 'rounded'}: "
                  + json.dumps({name: round(value, 4) for name, value in sums.items()}))  # fmt: skip
        stream = io.BytesIO()
        np.savez(stream, **{name: value.cpu().numpy().astype(np.float16) for name, value in mean.items()})
        data = stream.getvalue()
        for place, start in enumerate(range(0, len(data), PART_BYTES)):
            (arguments.out / f"student{number}.{place}").write_bytes(data[start : start + PART_BYTES])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--views", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--sides", type=int, nargs="+", default=[196, 196])
    parser.add_argument("--depths", type=int, nargs="+", default=[12, 6])
    parser.add_argument("--compile", action="store_true")
    run(parser.parse_args())


if __name__ == "__main__":
    main()
