"""``encode`` beside trying every setting: whether its file is the smallest, in how many encodes, in what time.

    python benchmarks/speed/encode_search.py PICTURES [--count 50] [--metric "SSIMULACRA2>=80"] [--workers 2]

For each of the pictures of a folder and each format: the quality setting found by bisection and the best one found by
trying all of them, and the bytes of both. The time of a search stands beside a loop over all settings with
scikit-image's SSIM, of the same picture in the same process. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from skimage.metrics import structural_similarity

from agenticiqa.api.encode import BEST_JPEG, FORMATS, HIGHEST, LOWEST, Bound, decoded_pixels, encode, encoded_file
from agenticiqa.tools.metrics import Picture, Views
from agenticiqa.tools.registry import default_registry


def compared(file: Path, metric: str) -> list[dict[str, Any]]:
    picture = Image.open(file).convert("RGB")
    pixels = np.asarray(picture)
    bound = Bound.parsed(metric, None, default_registry())
    original, rows = Picture(pixels, "reference"), []
    for name in FORMATS:
        started = time.perf_counter()
        found = encode(file, metric=metric, formats=[name])
        ours = time.perf_counter() - started
        settings = range(LOWEST, (BEST_JPEG if name == "jpeg" else HIGHEST) + 1)
        smallest, peer = None, 0.0
        for quality in settings:
            started = time.perf_counter()
            data = encoded_file(picture, name, quality)
            copy = decoded_pixels(data)
            structural_similarity(pixels, copy, channel_axis=2)
            peer += time.perf_counter() - started
            value = bound.tool.metric.measure(Views(copy, original)).value
            if value >= bound.limit and (smallest is None or len(data) < smallest[1]):
                smallest = quality, len(data)
        rows.append(
            {
                "image": file.name, "format": name, "encodes": len(found.trials), "of": len(settings),
                "found": (found.best.quality, found.best.bytes) if found.best else None, "best": smallest,
                "seconds": round(ours, 3), "seconds of a loop over scikit-image": round(peer, 3),
            }
        )  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", type=Path)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--metric", default="SSIMULACRA2>=80")
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    files = sorted(each for each in arguments.pictures.iterdir() if each.suffix.lower() in (".jpg", ".png", ".webp"))
    chosen = files[:: max(1, len(files) // arguments.count)][: arguments.count]
    with ProcessPoolExecutor(arguments.workers) as pool:
        rows = [row for found in pool.map(partial(compared, metric=arguments.metric), chosen) for row in found]
    both = [row for row in rows if row["found"] and row["best"]]
    figures = {
        "searches": len(rows),
        "neither found one": sum(not row["found"] and not row["best"] for row in rows),
        "only one found one": sum(bool(row["found"]) != bool(row["best"]) for row in rows),
        "within one setting of the best": sum(abs(row["found"][0] - row["best"][0]) <= 1 for row in both),
        "the best itself": sum(row["found"][1] == row["best"][1] for row in both),
        "mean of extra bytes, %": round(
            100 * float(np.mean([row["found"][1] / row["best"][1] - 1 for row in both])), 3
        ),
        "encodes, mean and most": [
            round(float(np.mean([row["encodes"] for row in both])), 1), max(row["encodes"] for row in both)
        ],
        "time, as a share of a loop over scikit-image": round(
            float(np.median([row["seconds"] / row["seconds of a loop over scikit-image"] for row in both])), 3
        ),
    }  # fmt: skip
    print(json.dumps({"figures": figures, "worst": sorted(both, key=lambda row: row["best"][1] - row["found"][1])[:5]}))


if __name__ == "__main__":
    main()
