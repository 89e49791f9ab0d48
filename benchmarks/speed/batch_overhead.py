"""What a batch costs on top of the work itself: memory, scaling with workers, time for each sample.

    python benchmarks/speed/batch_overhead.py                         # all three, about ten minutes on two free cores
    python benchmarks/speed/batch_overhead.py --large 20000 --repeats 1

Batches measure PSNR and SSIM; the memory test does so on tiny pictures, because only their number matters there.
Memory is the highest sum of the resident sizes of the command and its workers. The bare loop calls the function that
the workers call (open two pictures, measure, note what they are) with the same settings in one process, one sample
after the other, and keeps nothing: no manifest, no result lines, no file, no other process. On a machine that others
use too, the processor time says more than the clock.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from agenticiqa.batch.engines.processes import ProcessEngine
from agenticiqa.batch.manifest import open_manifest
from agenticiqa.batch.preparing import BatchRequest, prepare_job
from agenticiqa.batch.runner import Batch, Tally

COMMAND = str(Path(sys.executable).with_name("agenticiqa"))
PICTURES = 50
TOOLS = "PSNR,SSIM"
TINY = (48, 64)

BARE_LOOP = """
import json, sys, time
from pathlib import Path
import cv2
cv2.setNumThreads(1)
from agenticiqa.batch.work import measure_sample
from agenticiqa.runtime.config import load_settings
from agenticiqa.api.measure import Measurer
from agenticiqa.batch.sample import Sample
from agenticiqa.tools.registry import default_registry
pipeline = load_settings().pipeline
registry = default_registry(pipeline.tools)
settings = pipeline.tools.model_copy(update={"max_workers": 1})
measurer = Measurer([registry.find(name) for name in sys.argv[2].split(",")], settings, pipeline.images)
manifest = Path(sys.argv[1])
samples = [Sample(**json.loads(line)) for line in manifest.read_text().splitlines()]
samples = [sample.model_copy(update={name: str(manifest.parent / getattr(sample, name))
           for name in ("image_path", "reference_path")}) for sample in samples]
measure_sample(measurer, samples[0], "")
started, cpu_started = time.perf_counter(), time.process_time()
for sample in samples:
    if measure_sample(measurer, sample, "")["error"]:
        raise SystemExit("a measurement failed")
print(time.perf_counter() - started, time.process_time() - cpu_started)
"""


@dataclass(frozen=True)
class Ran:
    seconds: float
    """By the clock: on a busy machine this says as much about the others as about us."""
    cpu_seconds: float
    """Processor time of all processes together."""
    peak_mb: float = 0.0


def make_manifest(folder: Path, samples: int) -> Path:
    manifest = folder / f"manifest{samples}.jsonl"
    with manifest.open("w") as file:
        for number in range(samples):
            picture = number % PICTURES
            row = {
                "sample_id": f"sample-{number:07}",
                "image_path": f"noisy{picture}.png",
                "reference_path": f"clean{picture}.png",
            }
            file.write(json.dumps(row) + "\n")
    return manifest


def make_pictures(folder: Path, height: int, width: int) -> None:
    rng = np.random.default_rng(0)
    for number in range(PICTURES):
        small = rng.integers(40, 216, (height // 8, width // 8, 3))
        clean = np.kron(small, np.ones((8, 8, 1))).astype(np.uint8)
        noisy = np.clip(clean + rng.normal(0, 12, clean.shape), 0, 255).astype(np.uint8)
        Image.fromarray(clean).save(folder / f"clean{number}.png")
        Image.fromarray(noisy).save(folder / f"noisy{number}.png")


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "AGENTICIQA_HOME": str(folder / "home"), "OMP_NUM_THREADS": "1"}


def run_batch(folder: Path, manifest: Path, workers: int) -> Ran:
    """Seconds as the summary tells them, and the highest memory of all processes together."""
    output = folder / "results.jsonl"
    arguments = [COMMAND, "batch", str(manifest), "-o", str(output), "--overwrite", "--json"]
    arguments += ["--measure", TOOLS, "--workers", str(workers)]
    process = subprocess.Popen(
        arguments, env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    peak = Peak(process.pid)
    peak.start()
    out, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"the batch ended with code {process.returncode}")
    peak.join()
    return Ran(json.loads(out)["seconds"], 0.0, peak.highest / 1024)


class Peak(threading.Thread):
    """Watches the resident memory of a process and its children."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid = pid
        self.highest = 0

    def run(self) -> None:
        while (total := self._resident()) is not None:
            self.highest = max(self.highest, total)
            time.sleep(0.1)

    def _resident(self) -> int | None:
        found = subprocess.run(["ps", "-eo", "pid=,ppid=,rss=,stat="], capture_output=True, text=True, check=True)
        rows = [line.split() for line in found.stdout.splitlines()]
        family = {self.pid}
        if not any(int(row[0]) == self.pid and row[3] != "Z" for row in rows):
            return None
        for pid, parent, *_ in rows:
            if int(parent) in family:
                family.add(int(pid))
        return sum(int(row[2]) for row in rows if int(row[0]) in family)


def bare_loop(folder: Path, manifest: Path) -> Ran:
    arguments = [sys.executable, "-c", BARE_LOOP, str(manifest), TOOLS]
    done = subprocess.run(arguments, env=environment(folder), capture_output=True, text=True, check=True)
    return Ran(*(float(number) / count_lines(manifest) for number in done.stdout.split()))


def count_lines(manifest: Path) -> int:
    return manifest.read_bytes().count(b"\n")


def steady_batch(folder: Path, manifest: Path, workers: int) -> Ran:
    """One sample's share of a running batch: from the first result to shortly before the last, start-up left out."""
    job = prepare_job(BatchRequest(tools=tuple(TOOLS.split(","))))
    marks: list[tuple[int, float, float]] = []
    end = count_lines(manifest) - 50

    def note(tally: Tally) -> None:
        if (not marks and tally.worked >= 50) or (len(marks) == 1 and tally.worked >= end):
            marks.append((tally.worked, time.perf_counter(), time.process_time() + workers_cpu()))

    opened = open_manifest(str(manifest))
    # One thread per worker, as the bare loop has: a single worker would otherwise take all cores for each picture.
    Batch(
        opened, job, folder / "steady.jsonl", lambda: ProcessEngine(job, workers, 1), overwrite=True, on_progress=note
    ).run()
    (few, started, cpu_started), (many, ended, cpu_ended) = marks
    return Ran((ended - started) / (many - few), (cpu_ended - cpu_started) / (many - few))


def workers_cpu() -> float:
    """Processor time that our worker processes have used so far (Linux)."""
    ticks = 0
    for process in multiprocessing.active_children():
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def show_memory(folder: Path, small: int, large: int) -> None:
    few = run_batch(folder, make_manifest(folder, small), 1)
    many = run_batch(folder, make_manifest(folder, large), 1)
    print(f"peak memory   {small:>7} samples {few.peak_mb:8.1f} MB")
    print(f"              {large:>7} samples {many.peak_mb:8.1f} MB   ratio {many.peak_mb / few.peak_mb:.3f} (<= 1.2)")
    print(f"              {large:>7} samples in {many.seconds:.1f} s, {large / many.seconds:.0f} samples/s", flush=True)


def show_speed(folder: Path, samples: int, repeats: int) -> None:
    """Bare loop, one worker and two workers in turn, so that a busy machine disturbs all of them alike."""
    manifest = make_manifest(folder, samples)
    rounds: list[tuple[Ran, Ran, Ran]] = []
    for number in range(repeats):
        bare = bare_loop(folder, manifest)
        one, two = (steady_batch(folder, manifest, workers) for workers in (1, 2))
        rounds.append((bare, one, two))
        each = [f"{ran.seconds * 1000:.3f} ({ran.cpu_seconds * 1000:.3f} cpu)" for ran in (bare, one, two)]
        print(f"round {number + 1}: ms per sample: bare {each[0]}, 1 worker {each[1]}, 2 workers {each[2]}", flush=True)
    show("2 workers / 1 worker, by the clock  (>= 1.85)", [one.seconds / two.seconds for _, one, two in rounds])
    show("1 worker / bare loop, by the clock  (<= 1.15)", [one.seconds / bare.seconds for bare, one, _ in rounds])
    show(
        "1 worker / bare loop, processor time         ", [one.cpu_seconds / bare.cpu_seconds for bare, one, _ in rounds]
    )
    print(f"(load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores)")


def show(name: str, ratios: list[float]) -> None:
    print(f"{name} {statistics.median(ratios):.2f}   rounds: {', '.join(f'{ratio:.2f}' for ratio in ratios)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", type=int, default=1000)
    parser.add_argument("--large", type=int, default=100_000)
    parser.add_argument("--speed-samples", type=int, default=600)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--size", default="384x512", help="height x width of the pictures whose time is taken")
    parser.add_argument("--only", choices=("memory", "speed"))
    chosen = parser.parse_args()
    height, width = map(int, chosen.size.split("x"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if chosen.only != "memory":
            make_pictures(folder, height, width)
            show_speed(folder, chosen.speed_samples, chosen.repeats)
        if chosen.only != "speed":
            make_pictures(folder, *TINY)
            show_memory(folder, chosen.small, chosen.large)


if __name__ == "__main__":
    main()
