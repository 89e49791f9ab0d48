"""What each measuring tool needs of memory per pixel, each tool in a process of its own.

    python benchmarks/speed/tool_memory.py [--megapixels 6 24] [--only PIQE VIF] [--limit-s 300]

Each tool runs on textured pictures of two sizes. What it needs per pixel is what the peak grows by from the small to
the large picture, beside the decoded 8-bit pictures themselves. `declared` is what the tool says of itself
(`MetricSpec.bytes_per_pixel`); one that needs more is marked.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np

from agenticiqa.tools.metrics import Array, Views
from agenticiqa.tools.registry import default_registry

NOTHING = "the pictures alone"
ASPECT = 1.5


def pictures(megapixels: float) -> tuple[Array, Array]:
    """A textured uint8 pair, made without large temporary arrays so that making it is not the peak."""
    height = round((megapixels * 1e6 / ASPECT) ** 0.5)
    width = round(height * ASPECT)
    rng = np.random.default_rng(1)
    tile = rng.integers(0, 200, (256, width, 3), np.uint8)
    reference, test = np.empty((height, width, 3), np.uint8), np.empty((height, width, 3), np.uint8)
    for start in range(0, height, 256):
        rows = min(256, height - start)
        # Rolled and brightened, so that no two strips are alike and none is flat.
        reference[start : start + rows] = np.roll(tile, start // 7, axis=1)[:rows] // 2 + (start // 256) % 50
        test[start : start + rows] = reference[start : start + rows] + rng.integers(0, 9, (rows, width, 1), np.uint8)
    return test, reference


def child(name: str, megapixels: float) -> None:
    test, reference = pictures(megapixels)
    started = time.perf_counter()
    if name != NOTHING:
        tool = default_registry().find(name)
        tool.metric.measure(Views(test, reference if tool.needs_reference else None))
    seconds = time.perf_counter() - started
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, test.shape[0] * test.shape[1], seconds)


def measured(name: str, megapixels: float, limit_s: float) -> tuple[float, float, float] | str:
    """Peak bytes, pixels and seconds, or why there are none."""
    command = [sys.executable, __file__, "--child", name, "--megapixels", str(megapixels), "0"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired:
        return f"ended after {limit_s:g} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    peak, pixels, seconds = map(float, done.stdout.split())
    return peak, pixels, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megapixels", type=float, nargs=2, default=[6, 24])
    parser.add_argument("--only", nargs="*", default=[], help="names of tools")
    parser.add_argument("--limit-s", type=float, default=300.0)
    parser.add_argument("--json", help="also write the figures to this file")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child, arguments.megapixels[0])
        return
    small, large = arguments.megapixels
    bases = [measured(NOTHING, size, arguments.limit_s) for size in (small, large)]
    print("| tool | peak | bytes per pixel | declared | seconds |\n|---|---|---|---|---|", flush=True)
    figures = {}
    for name in arguments.only or default_registry().names():
        found = [measured(name, size, arguments.limit_s) for size in (small, large)]
        if any(isinstance(each, str) for each in (*bases, *found)):
            print(f"| {name} | {[each for each in found if isinstance(each, str)]} | | | |", flush=True)
            continue
        (base_small, base_large), (first, second) = bases, found
        grown = ((second[0] - base_large[0]) - (first[0] - base_small[0])) / (second[1] - first[1])
        declared = default_registry().find(name).spec.bytes_per_pixel
        mark = " (too little!)" if grown > declared else ""
        figures[name] = {"bytes_per_pixel": round(grown, 1), "declared": declared, "seconds": round(second[2], 1)}
        peak = f"{second[0] / 1e9:.2f} GB"
        print(f"| {name} | {peak} | {max(grown, 0):.1f} | {declared:g}{mark} | {second[2]:.1f} |", flush=True)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=1)


if __name__ == "__main__":
    main()
