"""Peak memory of each native metric on one large picture, each metric in a process of its own.

    PYTHONPATH=src python benchmarks/metrics_memory.py [--size 11547x8660] [--only PIQE VIF] [--limit-s 180]

Prints a Markdown table: the peak resident memory of the whole process, and what is left of it when an idle process
that only holds the two uint8 pictures is taken off. A metric that runs past the time limit is ended and named.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

import numpy as np

from agenticiqa.tools.metrics import METRICS, Array

NOTHING = "the pictures alone"
GIGABYTE = 1e9


def pictures(width: int, height: int) -> tuple[Array, Array]:
    """A textured uint8 pair, made without large temporary arrays so that making it is not the peak."""
    rng = np.random.default_rng(1)
    tile = rng.integers(0, 200, (256, width, 3), np.uint8)
    reference, test = np.empty((height, width, 3), np.uint8), np.empty((height, width, 3), np.uint8)
    for start in range(0, height, 256):
        rows = min(256, height - start)
        # Rolled and brightened, so that no two strips are alike and none is flat.
        reference[start : start + rows] = np.roll(tile, start // 7, axis=1)[:rows] // 2 + (start // 256) % 50
        test[start : start + rows] = reference[start : start + rows] + rng.integers(0, 9, (rows, width, 1), np.uint8)
    return test, reference


def child(name: str, width: int, height: int) -> None:
    test, reference = pictures(width, height)
    started = time.perf_counter()
    if name != NOTHING:
        METRICS[name].measure(*((test, reference) if METRICS[name].spec.kind == "FR" else (test,)))
    seconds = time.perf_counter() - started
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, seconds)


def measured(name: str, size: str, limit_s: float) -> tuple[float, float] | str:
    """Peak bytes and seconds, or why there are none."""
    command = [sys.executable, __file__, "--child", name, "--size", size]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired:
        return f"ended after {limit_s:g} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    peak, seconds = done.stdout.split()
    return float(peak), float(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="11547x8660")
    parser.add_argument("--only", nargs="*", default=[], help="metric names")
    parser.add_argument("--limit-s", type=float, default=180.0)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    width, height = (int(side) for side in arguments.size.split("x"))
    if arguments.child:
        child(arguments.child, width, height)
        return
    print("| metric | peak | beyond the pictures | seconds |\n|---|---|---|---|")
    base = measured(NOTHING, arguments.size, arguments.limit_s)
    idle = base[0] if not isinstance(base, str) else 0.0
    for name in [NOTHING, *(arguments.only or METRICS)]:
        found = measured(name, arguments.size, arguments.limit_s)
        if isinstance(found, str):
            print(f"| {name} | {found} | | |", flush=True)
            continue
        peak, seconds = found
        row = f"{peak / GIGABYTE:.2f} GB | {max(0.0, peak - idle) / GIGABYTE:.2f} GB | {seconds:.1f}"
        print(f"| {name} | {row} |", flush=True)


if __name__ == "__main__":
    main()
