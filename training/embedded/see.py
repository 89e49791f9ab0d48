"""What the two networks of exported files see of all held-out pictures, through the runtime, kept for the heads.

    python -m training.embedded.see --data DATA --weights FOLDER --out FILE.npz [--parts test ...] [--only motion ...]

Calibrating and measuring the heads then takes seconds. Cells are kept too where a mask tells which are in focus.
"""

from __future__ import annotations

import argparse
import csv
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image
from training.embedded import real_flaws, splits
from training.embedded.shipped import read, vision
from training.embedded.variants import screens

Seen = tuple[npt.NDArray[np.float32], npt.NDArray[np.float32] | None]


def asked(data: Path) -> list[tuple[str, Path]]:
    """(part/name, file) of everything that is not trained on."""
    found: list[tuple[str, Path]] = []
    for part in ("validation", "test", "measure"):
        found += [(f"{part}/{name}", data / "real_flaws" / name) for name in real_flaws.load()[part]]
    for part, examples in screens(data / "screens").items():
        if part != "train":
            found += [(f"{part}/screens/{Path(one.image).name}", Path(one.image)) for one in examples]
    for part in ("validation", "test"):
        found += [(f"{part}/biq2021/{name}", data / "biq2021" / name) for name in splits.load()["opinions"][part]]
        found += [(f"{part}/photos/{name}", data / "photos" / name) for name in splits.load()["photos"][part]]
    if (data / "csiq" / "scores.csv").exists():
        with (data / "csiq" / "scores.csv").open(newline="") as stream:
            found += [(f"measure/csiq/{row['image']}", data / "csiq" / row["image"]) for row in csv.DictReader(stream)]
    return found


def seen(file: Path, weights: Path) -> Seen:
    """Statistics and content side by side, and the cells of pictures with a mask."""
    model = vision(weights)
    features = model.look(read(file))
    mean = features.cells.reshape(-1, features.cells.shape[-1]).mean(axis=0, dtype=np.float64)
    whole = np.concatenate([mean, features.content]).astype(np.float32)
    marked = file.with_suffix(".mask.png").exists()
    return whole, np.asarray(features.cells, np.float32) if marked else None


def shares_in_focus(file: Path, rows: int, columns: int) -> npt.NDArray[np.float32]:
    """Of each cell of a picture, how much is in focus by its mask; cells may reach over the border."""
    with Image.open(file.with_suffix(".mask.png")) as opened, Image.open(file) as picture:
        mask = np.asarray(opened.convert("L").resize(picture.size), np.float32) / 255
    missing = ((0, rows * 32 - mask.shape[0]), (0, columns * 32 - mask.shape[1]))
    padded = np.pad(1 - mask, missing, mode="symmetric")
    return np.asarray(padded.reshape(rows, 32, columns, 32).mean(axis=(1, 3)), np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--parts", nargs="*", default=["validation", "test", "measure"])
    parser.add_argument("--only", nargs="*", default=[], help="collections; all unless told otherwise")
    arguments = parser.parse_args()
    listed = [(name, file) for name, file in asked(arguments.data)
              if name.split("/")[0] in arguments.parts
              and (not arguments.only or name.split("/")[1] in arguments.only)]  # fmt: skip
    with ProcessPoolExecutor(arguments.workers) as workers:
        found = list(workers.map(partial(seen, weights=arguments.weights), [file for _, file in listed], chunksize=4))
    stored: dict[str, np.ndarray] = {
        "names": np.array([name for name, _ in listed]),
        "features": np.stack([whole for whole, _ in found]),
    }
    for (name, file), (_, cells) in zip(listed, found, strict=True):
        if cells is not None:
            stored[f"cells/{name}"] = cells.astype(np.float16)
            stored[f"focus/{name}"] = shares_in_focus(file, *cells.shape[:2])
    np.savez(arguments.out, **stored)


if __name__ == "__main__":
    main()
