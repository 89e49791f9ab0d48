"""``encode`` beside trying every setting: whether its file is the smallest, in how many encodes, in what time.

    python benchmarks/speed/encode_search.py PICTURES --rows rows.jsonl [--count 50] [--timed 5] [--workers 2]

For each of the pictures of a folder and each format: the setting found by bisection, and the best one found by trying
all of them (a copy that is not smaller than the one found is not measured: it cannot be better). Of the first few, the
time of a search stands beside a loop over all settings with scikit-image's SSIM, of the same picture in the same
process. Rows are kept in a file as they come; what is there is not done again. Prints JSON.
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

from agenticiqa.api.encode import BEST_JPEG, FORMATS, HIGHEST, LOWEST, Bound, decoded_pixels, encode, encoded_file
from agenticiqa.tools.metrics import Picture, Views
from agenticiqa.tools.registry import default_registry


def settings_of(name: str) -> range:
    return range(LOWEST, (BEST_JPEG if name == "jpeg" else HIGHEST) + 1)


def compared(file: Path, metric: str, timed: set[Path]) -> list[dict[str, Any]]:
    picture = Image.open(file).convert("RGB")
    bound = Bound.parsed(metric, None, default_registry())
    original, rows = Picture(np.asarray(picture), "reference"), []
    for name in FORMATS:
        started = time.process_time()
        found = encode(file, metric=metric, formats=[name])
        ours = time.process_time() - started
        best = (found.best.quality, found.best.bytes) if found.best else None
        smallest = best
        for quality in settings_of(name):
            data = encoded_file(picture, name, quality)
            if smallest is None or len(data) < smallest[1]:
                value = bound.tool.metric.measure(Views(decoded_pixels(data), original)).value
                if value >= bound.limit:
                    smallest = quality, len(data)
        peer = looped(picture, name) if file in timed else None
        rows.append(
            {"image": file.name, "format": name, "encodes": len(found.trials), "found": best, "best": smallest,
             "seconds": round(ours, 3), "seconds of a loop over scikit-image": peer}
        )  # fmt: skip
    return rows


def looped(picture: Image.Image, name: str) -> float:
    """Seconds of processor time of every setting with scikit-image's SSIM."""
    from skimage.metrics import structural_similarity

    pixels, started = np.asarray(picture), time.process_time()
    for quality in settings_of(name):
        structural_similarity(pixels, decoded_pixels(encoded_file(picture, name, quality)), channel_axis=2)
    return round(time.process_time() - started, 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", type=Path)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--timed", type=int, default=5)
    parser.add_argument("--metric", default="SSIMULACRA2>=80")
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    files = sorted(each for each in arguments.pictures.iterdir() if each.suffix.lower() in (".jpg", ".png", ".webp"))
    chosen = files[:: max(1, len(files) // arguments.count)][: arguments.count]
    with arguments.rows.open("a+", encoding="utf-8") as kept:
        kept.seek(0)
        done = {json.loads(line)["image"] for line in kept}
        left = [each for each in chosen if each.name not in done]
        work = partial(compared, metric=arguments.metric, timed=set(chosen[: arguments.timed]))
        with ProcessPoolExecutor(arguments.workers) as pool:
            for found in pool.map(work, left):
                kept.writelines(json.dumps(row) + "\n" for row in found)
                kept.flush()
    rows = [json.loads(line) for line in arguments.rows.read_text(encoding="utf-8").splitlines()]
    print(json.dumps({name: figures([row for row in rows if row["format"] == name]) for name in FORMATS}, indent=1))


def figures(rows: list[dict[str, Any]]) -> dict[str, Any]:
    both = [row for row in rows if row["found"]]
    timed = [row for row in rows if row["seconds of a loop over scikit-image"]]
    return {
        "searches": len(rows),
        "only trying all found one": sum(not row["found"] and bool(row["best"]) for row in rows),
        "within one setting of the best": sum(abs(row["found"][0] - row["best"][0]) <= 1 for row in both),
        "the best itself": sum(row["found"] == row["best"] for row in both),
        "most extra bytes, %": round(100 * max(row["found"][1] / row["best"][1] - 1 for row in both), 2),
        "encodes, mean": round(float(np.mean([row["encodes"] for row in both])), 1),
        "encodes, most": max(row["encodes"] for row in both),
        "seconds, median": float(np.median([row["seconds"] for row in timed])),
        "seconds of a loop over scikit-image, median": float(
            np.median([row["seconds of a loop over scikit-image"] for row in timed])
        ),
    }


if __name__ == "__main__":
    main()
