"""Time our metrics against pyiqa, piq, scikit-image, sewar and others in one run; decoding is excluded for all.

    PYTHONPATH=src python benchmarks/speed/metrics_speed.py [--sizes 1920x1080] [--threads 1|all]
        [--without-avx512] [--json FILE]

Peers that are not installed are left out. Each row gives the median time of ours, of the fastest peer, and
the ratio (above 1: ours is faster). Ours starts from float32 arrays and peers from float32 tensors of the
same pictures (sewar from the uint8 arrays it is made for, luma where ours is luma); nothing is shared between
repetitions, so ours includes checking the input and computing luma. Ours and its peers take turns, so that a
busy moment of the machine meets all of them; what takes longer than two seconds runs once. A peer that was more than
three times slower than the fastest one at a size before is left out from then on. ``--clock cpu`` counts processor time
instead of waiting time: on a machine that others use too it is the steadier of the two, and with one thread it means
the same. ``--without-avx512`` switches those instructions off in OpenCV, NumPy, SciPy and torch, for ours and for
peers: what a processor without them does, but for its caches and memory.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import json
import os
import platform
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "tools" / "metrics"))

from without_avx512 import WITHOUT_AVX512

from agenticiqa.tools.metrics import METRICS, Views
from agenticiqa.tools.pyiqa_adapter import import_torchvision
from pictures import blurred, noisy, scene

Pair = tuple[np.ndarray, np.ndarray]
Timed = Callable[[], object]
SLOW = 2.0
FAR_BEHIND = 3.0
PACKAGES = ("opencv-python-headless", "opencv-python", "numpy", "torch", "pyiqa", "piq", "scikit-image", "sewar")
MORE_PACKAGES = ("ssimulacra2", "psnr_hvsm")
SET = ("PSNR", "SSIM", "MS-SSIM", "GMSD", "VSI", "FSIM")


def torch_peers(test: np.ndarray, reference: np.ndarray, threads: int) -> dict[str, dict[str, Timed]]:
    found: dict[str, dict[str, Timed]] = {}
    try:
        import torch
    except ImportError:
        return found
    torch.set_num_threads(threads)
    with contextlib.suppress(ImportError):
        import_torchvision()
    x, y = (torch.from_numpy(np.ascontiguousarray(p.transpose(2, 0, 1)))[None] for p in (test, reference))

    def add(name: str, peer: str, function: Callable[..., object], *arguments: object) -> None:
        def call() -> object:
            with torch.inference_mode():
                return function(*arguments)

        found.setdefault(name, {})[peer] = call

    with contextlib.suppress(ImportError):
        import pyiqa

        names = ("PSNR", "SSIM", "MS-SSIM", "FSIM", "GMSD", "VIF", "VSI", "NLPD")
        for name in names:
            # Called below its wrapper, which would add its own checks and progress handling.
            metric = pyiqa.create_metric(name.lower().replace("-", "_"), device="cpu").net
            add(name, "pyiqa", metric, x, y)
        add("PIQE", "pyiqa", pyiqa.create_metric("piqe", device="cpu").net, x)
    with contextlib.suppress(ImportError):
        import piq

        pairs = {
            "PSNR": piq.psnr,
            # piq shrinks the picture first unless told not to: a quarter of the rows and columns at 1080p.
            "SSIM": partial(piq.ssim, downsample=False),
            "MS-SSIM": piq.multi_scale_ssim,
            "FSIM": piq.fsim,
            "GMSD": piq.gmsd,
            "VIFp": piq.vif_p,
            "VSI": piq.vsi,
            "MDSI": piq.mdsi,
            "HaarPSI": piq.haarpsi,
        }
        for name, function in pairs.items():
            add(name, "piq", function, x, y)
    return found


def array_peers(test: np.ndarray, reference: np.ndarray) -> dict[str, dict[str, Timed]]:
    found: dict[str, dict[str, Timed]] = {}
    with contextlib.suppress(ImportError):
        from skimage.color import deltaE_ciede2000, rgb2gray, rgb2lab
        from skimage.metrics import peak_signal_noise_ratio, structural_similarity

        def gaussian_ssim() -> object:
            options = {
                "gaussian_weights": True,
                "sigma": 1.5,
                "use_sample_covariance": False,
                "data_range": 1.0,
            }
            return structural_similarity(rgb2gray(test), rgb2gray(reference), **options)

        found["PSNR"] = {"scikit-image": lambda: peak_signal_noise_ratio(reference, test, data_range=1.0)}
        found["SSIM"] = {"scikit-image": gaussian_ssim}
        found["CIEDE2000"] = {"scikit-image": lambda: deltaE_ciede2000(rgb2lab(reference), rgb2lab(test)).mean()}
    with contextlib.suppress(ImportError):
        import psnr_hvsm

        height, width = (side // 8 * 8 for side in test.shape[:2])
        luma = [cv2.cvtColor(p, cv2.COLOR_RGB2GRAY)[:height, :width].astype(np.float64) for p in (test, reference)]
        found["PSNR-HVS-M"] = {"psnr_hvsm": lambda: psnr_hvsm.psnr_hvs_hvsm(luma[1], luma[0])}
    with contextlib.suppress(ImportError):
        from ssimulacra2 import ssimulacra2 as port

        def ported() -> object:
            return port_score(port, test, reference)

        found["SSIMULACRA2"] = {"ssimulacra2": ported}
    return found


def sewar_peers(test: np.ndarray, reference: np.ndarray) -> dict[str, dict[str, Timed]]:
    try:
        import sewar
    except ImportError:
        return {}
    bytes_test, bytes_reference = (np.rint(p * 255).astype(np.uint8) for p in (test, reference))
    luma = [cv2.cvtColor(p, cv2.COLOR_RGB2GRAY) for p in (bytes_reference, bytes_test)]
    return {
        "PSNR": {"sewar": lambda: sewar.psnr(bytes_reference, bytes_test)},
        "SSIM": {"sewar": lambda: sewar.ssim(*luma)},
        "MS-SSIM": {"sewar": lambda: sewar.msssim(*luma)},
        "VIFp": {"sewar": lambda: sewar.vifp(*luma)},
    }


def port_score(port: object, test: np.ndarray, reference: np.ndarray) -> object:
    """The port reads files only; give it arrays in place of decoded files so that decoding is excluded."""

    class Decoded:
        def __init__(self, pixels: np.ndarray) -> None:
            self.pixels = pixels

        def convert(self, _mode: str) -> np.ndarray:
            return self.pixels

    class Opener:
        @staticmethod
        def open(pixels: np.ndarray) -> Decoded:
            return Decoded(pixels)

    kept = port.Image
    port.Image = Opener
    try:
        return port.compute_ssimulacra2(reference * 255, test * 255)
    finally:
        port.Image = kept


@dataclass(frozen=True)
class Watch:
    """How long to measure, and with which clock."""

    seconds: float
    clock: Callable[[], float]

    def medians(self, functions: dict[str, Timed]) -> dict[str, float]:
        """The median time of each; they take turns. The first turn warms up and counts for slow ones alone."""
        first = {name: self._once(function) for name, function in functions.items()}
        times = {name: [seconds] if seconds >= SLOW else [] for name, seconds in first.items()}
        end = time.perf_counter() + self.seconds * len(functions)
        turn = 0
        while turn < 3 or (time.perf_counter() < end and turn < 50):
            for name, function in functions.items():
                if first[name] < SLOW:
                    times[name].append(self._once(function))
            turn += 1
        return {name: statistics.median(found) for name, found in times.items()}

    def _once(self, function: Timed) -> float:
        begin = self.clock()
        function()
        return self.clock() - begin


def run_size(
    size: tuple[int, int], threads: int, watch: Watch, only: list[str], before: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The rows of one size; ``before`` are those of the sizes already measured, which tell the hopeless peers."""
    width, height = size
    hopeless = far_behind(before)
    reference = scene(height, width, seed=1)
    test = noisy(blurred(reference, 1.0), 4)
    peers = torch_peers(test, reference, threads)
    for found in (array_peers(test, reference), sewar_peers(test, reference)):
        for name, functions in found.items():
            peers.setdefault(name, {}).update(functions)
    peers = {name: {p: f for p, f in found.items() if (name, p) not in hopeless} for name, found in peers.items()}
    rows: list[dict[str, Any]] = []
    for name, metric in METRICS.items():
        if only and name not in only:
            continue
        pair = (test, reference) if metric.spec.kind == "FR" else (test,)
        own: Timed = partial(metric.measure, *pair)
        timed = watch.medians({"ours": own, **peers.get(name, {})})
        ours = timed.pop("ours")
        rows.append({"metric": name, "size": f"{width}x{height}", "threads": threads, "ours": ours, "peers": timed})
        print(line(rows[-1]), flush=True)
    if not only or set(SET) <= set(only):
        rows.append(shared_set(test, reference, rows, watch))
        print(line(rows[-1]), flush=True)
    return rows


def far_behind(rows: list[dict[str, Any]]) -> set[tuple[str, str]]:
    """Metric and peer wherever the peer was far slower than the fastest one."""
    found = set()
    for row in rows:
        peers = dict(row["peers"])
        found |= {
            (str(row["metric"]), peer) for peer, time_s in peers.items() if time_s > FAR_BEHIND * min(peers.values())
        }
    return found


def shared_set(test: np.ndarray, reference: np.ndarray, rows: list[dict[str, Any]], watch: Watch) -> dict[str, Any]:
    """Six metrics on one pair: ours with shared work done once, against the fastest peer of each, summed."""

    def together() -> object:
        views = Views(test, reference)
        return [METRICS[name].measure(views) for name in SET]

    fastest = 0.0
    for row in rows:
        if row["metric"] in SET and row["peers"]:
            fastest += min(row["peers"].values())
    first = rows[0]
    return {
        "metric": "set of six",
        "size": first["size"],
        "threads": first["threads"],
        "ours": watch.medians({"ours": together})["ours"],
        "peers": {"fastest of each": fastest} if fastest else {},
    }


def line(row: dict[str, Any]) -> str:
    ours, peers = float(row["ours"]), dict(row["peers"])
    text = f"{row['size']:>10}  {row['metric']:<14}{1000 * ours:9.1f} ms"
    if peers:
        best = min(peers, key=peers.__getitem__)
        text += f"   {best:<15}{1000 * peers[best]:9.1f} ms   ratio {peers[best] / ours:5.1f}"
    return text


def machine() -> dict[str, str]:
    """Processor and versions: ratios hold for these."""
    cpuinfo = Path("/proc/cpuinfo")
    models = [line for line in cpuinfo.read_text().splitlines() if "model name" in line] if cpuinfo.exists() else []
    facts = {
        "processor": models[0].split(":")[1].strip() if models else platform.processor(),
        "cores": str(os.cpu_count()),
        # A question mark stands behind what was switched off.
        "vectors": cv2.getCPUFeaturesLine(),
    }
    for package in (*PACKAGES, *MORE_PACKAGES):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            facts[package] = importlib.metadata.version(package)
    return facts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="*", default=["512x384", "1920x1080", "4000x3000"])
    parser.add_argument("--threads", default="1", help="a number, or all")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall", help="cpu: with one thread only")
    parser.add_argument("--seconds", type=float, default=1.0, help="time spent on each function")
    parser.add_argument("--only", nargs="*", default=[], help="metric names")
    parser.add_argument("--without-avx512", action="store_true", help="as on a processor that has none")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.without_avx512 and not os.environ.items() >= WITHOUT_AVX512.items():
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **WITHOUT_AVX512})
    warnings.simplefilter("ignore")
    threads = os.cpu_count() or 1 if arguments.threads == "all" else int(arguments.threads)
    if arguments.clock == "cpu" and threads > 1:
        parser.error("--clock cpu adds up the threads' times: use it with --threads 1")
    watch = Watch(arguments.seconds, time.process_time if arguments.clock == "cpu" else time.perf_counter)
    cv2.setNumThreads(threads)
    facts = machine()
    print(
        ", ".join(f"{name} {fact}" for name, fact in facts.items()), f"threads {threads}", arguments.clock, flush=True
    )
    rows: list[dict[str, Any]] = []
    for size in arguments.sizes:
        width, height = (int(side) for side in size.split("x"))
        rows += run_size((width, height), threads, watch, arguments.only, rows)
        if arguments.json:
            arguments.json.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
