"""Small flaws in large photographs: whether the planned views show them, and whether the embedded answer finds them.

    python benchmarks/accuracy/closer_look.py flaws PHOTOGRAPHS [--count 40] [--seed 1] [--skip 0]
    python benchmarks/accuracy/closer_look.py sound PHOTOGRAPHS [--count 40]

PHOTOGRAPHS is a folder of photographs of 12 to 50 megapixels. ``flaws`` makes one flaw in each (blur of a face or of
another detail of that size, compression blocks in a smooth light place, noise in a shadow, a scratch, a seam whose
sides do not fit), stores it as JPEG (quality 95), and asks "What is wrong with this picture?" with and without views.
``sound`` asks for a rating of the photographs as they are and compares scores and findings. Photographs are taken in an
order that depends on their names alone; ``--skip`` leaves out the first.

``python -m benchmarks.paper views`` compares the scores of any model, with views and without.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.paper.views import photographs

Pixels = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
KINDS = ("blur", "blocks", "noise", "scratch", "seam")
TRIES = 20
VISIBLE = {"blur": 4.0, "blocks": 0.8, "noise": 5.0, "scratch": 30.0, "seam": 8.0}
"""Mean change of the flawed pixels, of blocks the mean step at their borders, in levels, from which on a flaw shows."""


@dataclass(frozen=True)
class Flawed:
    kind: str
    pixels: Pixels
    mask: Mask
    about: str
    shows: float | None = None
    """How strong it is, where that is something else than the mean change."""

    def strength(self, sound: Pixels) -> float:
        """How far it shows, in levels, beside the same picture without it; see :data:`VISIBLE`."""
        changed = self.pixels[self.mask].astype(np.int16) - sound[self.mask]
        return float(np.abs(changed).mean()) if self.shows is None else self.shows


def make_flaw(pixels: Pixels, kind: str, random: np.random.Generator) -> Flawed:
    """One that shows at native resolution: of a few places the first where it changes enough, else the most."""
    make = {"blur": _blur, "blocks": _blocks, "noise": _noise, "scratch": _scratch, "seam": _seam}[kind]
    best, most = None, -np.inf
    for _ in range(TRIES):
        made = make(pixels, random)
        changed = made.strength(pixels)
        if changed > most:
            best, most = made, changed
        if most >= VISIBLE[kind]:
            break
    assert best is not None
    return best


def _tiles(pixels: Pixels, side: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Mean brightness and strength of detail (standard deviation of the fine structure) of places of a side."""
    grey = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY).astype(np.float32)
    fine = np.abs(grey - cv2.GaussianBlur(grey, (0, 0), 1.2))
    size = pixels.shape[1] // side, pixels.shape[0] // side
    return cv2.resize(grey, size, interpolation=cv2.INTER_AREA), cv2.resize(fine, size, interpolation=cv2.INTER_AREA)


def _place(
    weights: npt.NDArray[np.float32], side: int, random: np.random.Generator, best: float = 0.05
) -> tuple[int, int]:
    """Left and top of one of the places with the highest weights, away from the frame."""
    inner = weights[1:-1, 1:-1]
    order = np.argsort(-inner, axis=None)[: max(1, int(best * inner.size))]
    row, column = np.unravel_index(int(random.choice(order)), inner.shape)
    return int(column + 1) * side, int(row + 1) * side


def _blur(pixels: Pixels, random: np.random.Generator) -> Flawed:
    from agenticiqa.vision.locators import load_locators

    faces = [face for face in load_locators().faces(pixels) if min(face.width, face.height) >= 80]
    if faces:
        face, about = faces[0], "a face"
        x, y, wide, high = face.x, face.y, face.width, face.height
    else:
        wide = high = int(random.integers(220, 420))
        _, detail = _tiles(pixels, 256)
        x, y = _place(detail, 256, random, 0.1)
        about = "a detail"
    soft = cv2.GaussianBlur(pixels[y : y + high, x : x + wide], (0, 0), max(4.0, wide / 40))
    mask = np.zeros(pixels.shape[:2], np.float32)
    cv2.ellipse(mask, (x + wide // 2, y + high // 2), (wide // 2, high // 2), 0, 0, 360, 1.0, -1)
    weight = cv2.GaussianBlur(mask[y : y + high, x : x + wide], (0, 0), wide / 40)[..., None]
    changed = pixels.copy()
    part = changed[y : y + high, x : x + wide]
    part[:] = (weight * soft + (1 - weight) * part).round()
    return Flawed("blur", changed, mask > 0.5, about)


def _blocks(pixels: Pixels, random: np.random.Generator) -> Flawed:
    light, detail = _tiles(pixels, 256)
    x, y = _place(np.where((light > 60) & (light < 235), 1 / (0.5 + detail), 0), 256, random, 0.15)
    x, y = x + int(random.integers(0, 40)), y + int(random.integers(0, 40))
    side = int(random.integers(240, 480))
    buffer = io.BytesIO()
    Image.fromarray(pixels[y : y + side, x : x + side]).save(buffer, "JPEG", quality=int(random.integers(6, 16)))
    changed = pixels.copy()
    part = changed[y : y + side, x : x + side]
    part[:] = np.asarray(Image.open(buffer))[: part.shape[0], : part.shape[1]]
    steps = np.abs(np.diff(part.astype(np.float32).mean(axis=2), axis=1)).mean(axis=0)
    grid = float(steps[7::8].mean() - np.delete(steps, np.s_[7::8]).mean())
    return Flawed("blocks", changed, _boxed(pixels, x, y, side, side), f"{side} px, steps {grid:.1f}", grid)


def _noise(pixels: Pixels, random: np.random.Generator) -> Flawed:
    light, _ = _tiles(pixels, 256)
    x, y = _place(-np.abs(light - 35), 256, random, 0.1)
    side, sigma = int(random.integers(220, 440)), float(random.uniform(9, 16))
    changed = pixels.copy()
    part = changed[y : y + side, x : x + side]
    part[:] = (part + random.normal(0, sigma, part.shape)).clip(0, 255).round()
    return Flawed("noise", changed, _boxed(pixels, x, y, side, side), f"sigma {sigma:.0f}")


def _scratch(pixels: Pixels, random: np.random.Generator) -> Flawed:
    height, width = pixels.shape[:2]
    length, angle = random.uniform(400, 700), random.uniform(0, np.pi)
    x, y = random.uniform(800, width - 800), random.uniform(800, height - 800)
    along = np.linspace(-0.5, 0.5, 12) * length
    bend = random.uniform(-8, 8) * (1 - (2 * along / length) ** 2)
    points = np.stack(
        [x + along * np.cos(angle) - bend * np.sin(angle), y + along * np.sin(angle) + bend * np.cos(angle)]
    )
    drawn = np.zeros((height, width), np.uint8)
    thick = int(random.integers(2, 4))
    cv2.polylines(
        drawn, [points.T.round().astype(np.int32)], isClosed=False, color=255, thickness=thick, lineType=cv2.LINE_AA
    )
    weight = (drawn.astype(np.float32) / 255 * 0.75)[..., None]
    around = float(pixels[int(y) - 60 : int(y) + 60, int(x) - 60 : int(x) + 60].mean())
    colour = 235.0 if around < 150 else 30.0
    changed = (weight * colour + (1 - weight) * pixels).round().astype(np.uint8)
    return Flawed("scratch", changed, drawn > 127, f"{length:.0f} px, {np.degrees(angle):.0f}°")


def _seam(pixels: Pixels, random: np.random.Generator) -> Flawed:
    """To the right of an upright line, or below a level one, the picture is shifted along it; away from it less."""
    turned = bool(random.integers(0, 2))
    own = np.ascontiguousarray(pixels.transpose(1, 0, 2)) if turned else pixels
    _, detail = _tiles(own, 256)
    x, y = _place(detail, 256, random, 0.25)
    wide, high = 300, int(random.integers(380, 640))
    y = min(y, own.shape[0] - high - 40)
    part = own[y - 20 : y + high + 20, x : x + wide].astype(np.float32)
    fade = np.clip(1 - np.arange(wide) / wide, 0, 1)[None, :] * np.clip(np.arange(high + 40) / 40, 0, 1)[:, None]
    fade = fade * np.clip((high + 40 - np.arange(high + 40)) / 40, 0, 1)[:, None]
    columns, rows = np.meshgrid(np.arange(wide), np.arange(high + 40))
    moved = cv2.remap(part, columns.astype(np.float32), (rows + random.uniform(7, 14) * fade).astype(np.float32),
                      cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)  # fmt: skip
    changed = own.copy()
    changed[y - 20 : y + high + 20, x : x + wide] = moved.round().astype(np.uint8)
    mask = _boxed(own, x, y, 3, high)
    if turned:
        changed, mask = np.ascontiguousarray(changed.transpose(1, 0, 2)), np.ascontiguousarray(mask.T)
    return Flawed("seam", changed, mask, "level" if turned else "upright")


def _boxed(pixels: Pixels, x: int, y: int, wide: int, high: int) -> Mask:
    mask = np.zeros(pixels.shape[:2], bool)
    mask[y : y + high, x : x + wide] = True
    return mask


# --- measuring ---


@dataclass(frozen=True)
class Answered:
    text: str
    score: float | None
    interval: tuple[float, float] | None
    oddities: list[str]
    boxes: list[tuple[int, int, int, int]]
    seconds: float


WRONG, RATE = "What is wrong with this picture?", "Rate the quality of this picture."
# Words of an answer that name the flaw, without views too: a sentence of the whole picture counts as well.
NAMED = {
    "blur": ("blur", "soft"),
    "blocks": ("block", "compress", "grid of 8"),
    "noise": ("nois", "grain"),
    "scratch": ("scratch", "thin line"),
    "seam": ("seam", "do not fit"),
}


def ask(assessor: Any, file: Path, query: str, views: str) -> Answered:
    started = time.perf_counter()
    result = assessor.assess(file, query, views=views)
    if result.status == "error":
        raise SystemExit(f"{file}: {result.error}")
    found = result.executor_evidence.views if result.executor_evidence else []
    return Answered(
        f"{result.answer}. {result.reasoning}",
        result.score,
        result.score_interval,
        [view.oddity for view in found if view.oddity],
        [view.box for view in found],
        time.perf_counter() - started,
    )


def shown(mask: Mask, boxes: list[tuple[int, int, int, int]]) -> bool:
    """Whether some view holds at least half of the flawed pixels."""
    return any(mask[y : y + high, x : x + wide].sum() >= 0.5 * mask.sum() for x, y, wide, high in boxes)


def names(kind: str, answered: Answered) -> bool:
    """Whether the answer speaks of the flaw: also where it speaks of such a flaw of the whole picture."""
    return any(word in answered.text.casefold() for word in NAMED[kind])


def chosen(arguments: argparse.Namespace) -> Iterable[Path]:
    return islice(photographs(arguments.photographs), arguments.skip, arguments.skip + arguments.count)


def flaws(arguments: argparse.Namespace) -> dict[str, Any]:
    from agenticiqa import AgenticIQA

    rows = []
    with AgenticIQA("embedded", record=False) as assessor, tempfile.TemporaryDirectory() as folder:
        for number, file in enumerate(chosen(arguments)):
            kind = KINDS[number % len(KINDS)]
            with Image.open(file) as opened:
                sound = np.asarray(opened.convert("RGB"))
            made = make_flaw(sound, kind, np.random.default_rng([arguments.seed, number]))
            target, clean = Path(folder) / "flawed.jpg", Path(folder) / "sound.jpg"
            Image.fromarray(made.pixels).save(target, "JPEG", quality=95, subsampling=0)
            Image.fromarray(sound).save(clean, "JPEG", quality=95, subsampling=0)
            without, with_views = (ask(assessor, target, WRONG, views) for views in ("off", "auto"))
            # What the answer says of the same photograph without the flaw is no find.
            said_of_sound = names(kind, ask(assessor, clean, WRONG, "off"))
            rows.append(
                {
                    "photograph": file.name,
                    "megapixels": round(sound.shape[0] * sound.shape[1] / 1e6, 1),
                    "flaw": kind,
                    "about": made.about,
                    "shown": shown(made.mask, with_views.boxes),
                    "found_before": names(kind, without) and not said_of_sound,
                    "found": kind in with_views.oddities or (names(kind, without) and not said_of_sound),
                    "oddities": with_views.oddities,
                    "seconds": [round(without.seconds, 2), round(with_views.seconds, 2)],
                }
            )
            print(json.dumps(rows[-1], ensure_ascii=False), file=sys.stderr, flush=True)
    of_kinds = {kind: [row for row in rows if row["flaw"] == kind] for kind in KINDS}
    return {"pictures": len(rows), **_shares(rows), "by_flaw": {kind: _shares(own) for kind, own in of_kinds.items()}}


def _shares(rows: list[dict[str, Any]]) -> dict[str, float]:
    return {key: round(float(np.mean([row[key] for row in rows])), 3) for key in ("shown", "found_before", "found")}


def sound(arguments: argparse.Namespace) -> dict[str, Any]:
    """Of photographs as they are: how far views move the score, and what is found with them and without."""
    from agenticiqa import AgenticIQA

    moved, outside, odd, changed = [], 0, [], 0
    with AgenticIQA("embedded", record=False) as assessor:
        for file in chosen(arguments):
            without, with_views = (ask(assessor, file, RATE, views) for views in ("off", "auto"))
            if without.score is None or with_views.score is None:
                continue
            moved.append(with_views.score - without.score)
            low = without.interval[0] if without.interval else without.score
            outside += with_views.score < low
            odd += [(file.name, oddity) for oddity in with_views.oddities]
            changed += bool(with_views.oddities)
            print(json.dumps({"photograph": file.name, "scores": [without.score, with_views.score],
                              "oddities": with_views.oddities}), file=sys.stderr, flush=True)  # fmt: skip
    return {
        "pictures": len(moved),
        "largest_move": round(float(np.abs(moved).max()), 4),
        "below_interval": outside,
        "with_false_finding": changed,
        "false_findings": odd,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["flaws", "sound"])
    parser.add_argument("photographs", type=Path)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    found = flaws(arguments) if arguments.what == "flaws" else sound(arguments)
    print(json.dumps(found, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
