"""What one assessment on the embedded backend costs, against six full-reference metrics on the same picture.

    python benchmarks/speed/embedded_cost.py [--size 4000x3000] [--passes 7] [--clock wall|cpu]

An assessment starts from a JPEG file and ends with the answer; every pass takes another picture, so that no cache and
no loading of the model helps (the first picture of the process is not counted). The six metrics (PSNR, SSIM, MS-SSIM,
GMSD, VSI, FSIM) start from decoded arrays and share their intermediate work. Printed: the medians, and the median of
the ratios of each pass (below 1: the assessment is cheaper). ``--clock cpu`` counts processor time, the steadier
measure on a busy machine.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "tools" / "metrics"))

from agenticiqa import AgenticIQA
from agenticiqa.tools.metrics import METRICS, Views
from pictures import as_bytes, scene

SET = ("PSNR", "SSIM", "MS-SSIM", "GMSD", "VSI", "FSIM")


def six_metrics(test: np.ndarray, reference: np.ndarray) -> None:
    views = Views(test, reference)
    for name in SET:
        METRICS[name].measure(views)


def timed(function: Callable[[], object], clock: Callable[[], float]) -> float:
    begin = clock()
    function()
    return clock() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="4000x3000")
    parser.add_argument("--passes", type=int, default=7)
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    arguments = parser.parse_args()
    width, height = (int(side) for side in arguments.size.split("x"))
    clock = time.process_time if arguments.clock == "cpu" else time.perf_counter
    assessments, metrics = [], []
    with tempfile.TemporaryDirectory() as folder:
        overrides = {
            "pipeline.runs.database": Path(folder) / "runs.sqlite",
            "pipeline.logging.file": Path(folder) / "log.jsonl",
            "pipeline.cache.enabled": False,
        }
        with AgenticIQA("embedded", overrides=overrides) as assessor:
            for number in range(arguments.passes + 1):
                reference = as_bytes(scene(height, width, seed=number))
                file = Path(folder) / f"{number}.jpg"
                Image.fromarray(reference).save(file, quality=80)
                test = cv2.cvtColor(cv2.imread(str(file)), cv2.COLOR_BGR2RGB)
                assessments.append(timed(partial(assessor.assess, file), clock))
                metrics.append(timed(partial(six_metrics, test, reference), clock))
    one, six = statistics.median(assessments[1:]), statistics.median(metrics[1:])
    print(
        f"assessment of {arguments.size}, embedded backend: {one:.2f} s; six metrics: {six:.2f} s ({arguments.clock})"
    )
    ratios = sorted(a / b for a, b in zip(assessments[1:], metrics[1:], strict=True))
    print(
        f"ratio {statistics.median(ratios):.2f} (median of {len(ratios)} passes, {ratios[0]:.2f} to {ratios[-1]:.2f})"
    )


if __name__ == "__main__":
    main()
