"""What the shipped networks see of rated pictures, of copies of scenes and of damaged ones, on an accelerator.

    python -m training.embedded.see_copies --pictures FOLDER --weights WEIGHTS --out SEEN [--shard 0 --of 1]

``FOLDER`` holds voc/, biq/, coco/, generated/ (each with scores.csv, as they are laid out), photos/, csiq/ and
real_flaws/. ``SEEN`` is what ``opinions``, ``opinion_head`` and ``generated_heads`` read: names.txt ("path|operation")
and part*.bin, rows of 2060 values in 16 bits. Copies are named by operation and strength ("jpeg30"), damage by kind and
level ("jpeg2000:3", made of "cut", the scene without its last incomplete cells).
"""

from __future__ import annotations

import argparse
import hashlib
import io
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageFilter
from torch.utils.data import DataLoader, Dataset
from training.distortions import PROTOCOL, distort
from training.embedded.extra_damage import EXTRA_DAMAGE, damage
from training.embedded.further_damage import FURTHER_DAMAGE
from training.embedded.network import CELL, CHANNELS, VIEW, Content, Local
from training.embedded.start import by_layer, load_local

LARGEST = 1024
ROWS_OF_PART = 3600
ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".bmp")
Copy = Callable[[Image.Image, int], Image.Image]


def stored(image: Image.Image, kind: str, quality: int) -> Image.Image:
    kept = io.BytesIO()
    image.save(kept, kind, quality=quality)
    return Image.open(kept).convert("RGB")


def reduced(image: Image.Image, share: float) -> Image.Image:
    """Smaller, and back to its size."""
    small = image.resize(tuple(max(8, round(side * share)) for side in image.size), Image.Resampling.LANCZOS)
    return small.resize(image.size, Image.Resampling.BICUBIC)


def noisy(image: Image.Image, deviation: float, seed: int) -> Image.Image:
    pixels = np.asarray(image, np.float32)
    noise = np.random.default_rng(seed).normal(0, deviation, pixels.shape)
    return Image.fromarray((pixels + noise).round().clip(0, 255).astype(np.uint8))


COPIES: dict[str, Copy] = {
    **{f"jpeg{q}": lambda i, _, q=q: stored(i, "JPEG", q) for q in (95, 90, 75, 60, 45, 30, 15)},
    **{f"webp{q}": lambda i, _, q=q: stored(i, "WEBP", q) for q in (80, 50, 20)},
    **{f"avif{q}": lambda i, _, q=q: stored(i, "AVIF", q) for q in (60, 30)},
    **{f"down{p}": lambda i, _, p=p: reduced(i, p / 100) for p in (75, 50, 33)},
    **{f"blur{r}": lambda i, _, r=r: i.filter(ImageFilter.GaussianBlur(r / 10)) for r in (7, 15, 30)},
    **{f"noise{d}": lambda i, seed, d=d: noisy(i, d, seed) for d in (5, 12, 25)},
    **{f"median{m}": lambda i, _, m=m: i.filter(ImageFilter.MedianFilter(m)) for m in (3, 5)},
    **{f"sharp{p}": lambda i, _, p=p: i.filter(ImageFilter.UnsharpMask(2, p, 0)) for p in (150, 400)},
    "chain": lambda i, _: stored(stored(reduced(i, 0.8), "JPEG", 80), "JPEG", 60),
}
SEVERAL = ("gaussian_blur", "lens_blur", "motion_blur", "jpeg", "jpeg2000", "white_noise", "pixelate", "quantization")
"""Kinds of damage made at two levels of each scene; the others at one."""


def seed_of(name: str) -> int:
    return int(hashlib.sha256(name.encode()).hexdigest()[:8], 16)


def with_equal_history(image: Image.Image, seed: int) -> Image.Image:
    """A random square of a random size and JPEG quality: the same history for every collection."""
    rng = random.Random(seed)
    side = rng.choice((224, 288, 352, 448))
    scale = side / min(image.size)
    sized = image.resize(tuple(max(side, round(each * scale)) for each in image.size), Image.Resampling.BICUBIC)
    left, top = (rng.randrange(each - side + 1) for each in sized.size)
    return stored(sized.crop((left, top, left + side, top + side)), "JPEG", rng.randrange(70, 97))


def damaged(image: Image.Image, operation: str, seed: int) -> Image.Image:
    pixels = np.asarray(image)
    height, width = (side // CELL * CELL for side in pixels.shape[:2])
    cut = np.ascontiguousarray(pixels[:height, :width])
    if operation == "cut":
        return Image.fromarray(cut)
    kind, level = operation.split(":")
    if kind in EXTRA_DAMAGE or kind in FURTHER_DAMAGE:
        made = damage(np.asarray(cut / 255, np.float32), kind, int(level), np.random.default_rng(seed))
        return Image.fromarray(np.rint(255 * made).astype(np.uint8))
    return Image.fromarray(distort(cut, kind, int(level), seed=seed % 1_000_000))


def made(image: Image.Image, operation: str, seed: int) -> Image.Image:
    if operation.startswith("equal"):
        return with_equal_history(image, seed)
    if operation == "cut" or ":" in operation:
        return damaged(image, operation, seed)
    return COPIES[operation](image, seed) if operation else image


def listed(folder: Path) -> Iterator[tuple[str, str]]:
    """(path, operation) of everything that is looked at."""
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix.lower() in ENDINGS)
    scenes = [name for name in files if name.startswith("voc/") and seed_of(name) % 9 == 0][:750]
    scenes += [name for name in files if name.startswith("photos/") and seed_of(name) % 3 == 0][:300]
    yield from ((name, "") for name in files)
    yield from ((name, copy) for name in scenes for copy in COPIES)
    alike = ("generated/", "photos/", "real_flaws/generated", "real_flaws/sort")
    yield from ((name, f"equal{turn}") for name in files for turn in (0, 1)
                if name.startswith(alike) or seed_of(name) % 8 == 1)  # fmt: skip
    for name in scenes[::3]:
        yield name, "cut"
        rng = np.random.default_rng(seed_of(name))
        for kind in (*(each.name for each in PROTOCOL), *EXTRA_DAMAGE, *FURTHER_DAMAGE):
            yield from ((name, f"{kind}:{level + 1}") for level in rng.permutation(5)[: 1 + (kind in SEVERAL)])


class Pictures(Dataset[Any]):
    def __init__(self, folder: Path, rows: list[tuple[str, str]]):
        self.folder, self.rows = folder, rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: int) -> tuple[int, torch.Tensor, torch.Tensor]:
        name, operation = self.rows[at]
        with Image.open(self.folder / name) as opened:
            image = made(opened.convert("RGB"), operation, seed_of(name + operation))
        if max(image.size) > LARGEST:
            image.thumbnail((LARGEST, LARGEST), Image.Resampling.BICUBIC, reducing_gap=3.0)
        pixels = np.asarray(image)
        missing = [(0, -side % CELL) for side in pixels.shape[:2]]
        pixels = np.pad(pixels, (*missing, (0, 0)), mode="symmetric")
        view = np.array(image.resize((VIEW, VIEW), Image.Resampling.BILINEAR))
        return at, torch.from_numpy(np.ascontiguousarray(pixels)), torch.from_numpy(view)


@torch.no_grad()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--pictures", "--weights", "--out"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--shard", type=int, default=0)
    parser.add_argument("--of", type=int, default=1)
    parser.add_argument("--workers", type=int, default=14)
    given = parser.parse_args()
    rows = list(listed(given.pictures))[given.shard :: given.of]
    local, content = Local(), Content()
    load_local(local, by_layer(given.weights / "local.onnx", "local."))
    lost = content.load_state_dict(by_layer(given.weights / "content.onnx", "content."), strict=False)
    if lost.missing_keys:
        raise SystemExit(f"content.onnx lacks {lost.missing_keys}")
    local, content = local.cuda().eval(), content.cuda().eval()
    found = np.zeros((len(rows), 2 * CHANNELS + 1152), np.float16)
    for at, picture, view in DataLoader(Pictures(given.pictures, rows), batch_size=None, num_workers=given.workers):
        pixels, whole = (each.cuda().permute(2, 0, 1).float()[None] / 255 for each in (picture, view))
        cells = local(torch.cat([pixels, pixels.flip(3)])).mean((0, 2, 3), dtype=torch.float64)
        mean, square = cells[:CHANNELS], cells[CHANNELS:]
        deviation = (square - mean * mean).clamp_min(0).add(1e-4).sqrt()
        shown = content(torch.cat([whole, whole.flip(3)])).mean(0)
        found[at] = torch.cat([mean, deviation, shown]).half().cpu().numpy()
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "names.txt").write_text("\n".join("|".join(row) for row in rows))
    for part, start in enumerate(range(0, len(rows), ROWS_OF_PART)):
        found[start : start + ROWS_OF_PART].tofile(given.out / f"part{part:02d}.bin")


if __name__ == "__main__":
    main()
