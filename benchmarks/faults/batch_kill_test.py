"""Kill a batch again and again, resume it each time, and compare what comes out with an undisturbed run.

    python benchmarks/faults/batch_kill_test.py --samples 500 --kills 20
    python benchmarks/faults/batch_kill_test.py --full-disk          # as root: on a tmpfs that is too small

Everything runs through the installed command on tiny pictures. Exit code 0 only if every sample is there exactly once
and every line equals the undisturbed run's, byte for byte, apart from the times of samples, calls
and tools.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

COMMAND = str(Path(sys.executable).with_name("agenticiqa"))
PICTURES = 10


def make_manifest(folder: Path, samples: int) -> Path:
    rng = np.random.default_rng(0)
    for number in range(PICTURES):
        clean = np.kron(rng.integers(40, 216, (6, 8, 3)), np.ones((8, 8, 1))).astype(np.uint8)
        noisy = np.clip(clean + rng.normal(0, 12, clean.shape), 0, 255).astype(np.uint8)
        Image.fromarray(clean).save(folder / f"clean{number}.png")
        Image.fromarray(noisy).save(folder / f"noisy{number}.png")
    manifest = folder / "manifest.jsonl"
    with manifest.open("w") as file:
        for number in range(samples):
            row = {
                "sample_id": f"s{number}",
                "image_path": f"noisy{number % PICTURES}.png",
                "reference_path": f"clean{number % PICTURES}.png",
                "mos": number % 5,
            }
            file.write(json.dumps(row) + "\n")
    return manifest


def start(manifest: Path, output: Path, home: Path, *options: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "AGENTICIQA_HOME": str(home), "OMP_NUM_THREADS": "1"}
    arguments = [COMMAND, "batch", str(manifest), "-o", str(output), "--resume", "--json", *options]
    return subprocess.Popen(
        arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def finish(manifest: Path, output: Path, home: Path, *options: str) -> dict[str, object]:
    process = start(manifest, output, home, *options)
    out, err = process.communicate()
    if process.returncode:
        raise SystemExit(f"the last run ended with code {process.returncode}: {err}")
    summary: dict[str, object] = json.loads(out)
    return summary


def settled(output: Path) -> list[str]:
    return [json.dumps(without_times(json.loads(line))) for line in output.read_bytes().splitlines()]


def without_times(value: object) -> object:
    if isinstance(value, dict):
        return {key: without_times(each) for key, each in value.items() if key not in ("timings", "seconds")}
    return [without_times(each) for each in value] if isinstance(value, list) else value


def lines_in(output: Path) -> int:
    return output.read_bytes().count(b"\n") if output.exists() else 0


def compare(output: Path, undisturbed: Path, samples: int) -> None:
    found = settled(output)
    ids = [json.loads(line)["sample_id"] for line in found]
    if ids != [f"s{number}" for number in range(samples)]:
        raise SystemExit(f"FAILED: {len(ids)} lines, {len(set(ids))} different samples, {samples} wanted")
    if found != settled(undisturbed):
        raise SystemExit("FAILED: lines differ from the undisturbed run")
    leftovers = sorted(path.name for path in output.parent.glob(f"{output.name}.*"))
    if leftovers:
        raise SystemExit(f"FAILED: left behind {leftovers}")
    print(f"passed: {samples} samples, each once, equal to the undisturbed run")


def kill_runs(folder: Path, manifest: Path, output: Path, samples: int, kills: int, options: list[str]) -> None:
    """Some kills strike while Python still loads, most in the middle of work, some while the file is put in order."""
    chance = random.Random()
    for number in range(kills):
        before = lines_in(output)
        process = start(manifest, output, folder / "home", *options)
        if chance.random() < 0.2:
            time.sleep(chance.uniform(0, 2))
        else:
            aim = before + chance.randint(1, max(2, 2 * (samples - before) // (kills - number + 1)))
            while process.poll() is None and lines_in(output) < min(aim, samples):
                time.sleep(0.001)
            time.sleep(chance.uniform(0, 0.02))
        # The runner alone is killed: its workers must notice by themselves and not hold the lock.
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        print(f"kill {number + 1:2}: {before} -> {lines_in(output)} lines", flush=True)


def fill_disk(folder: Path, manifest: Path, output: Path, undisturbed: Path, options: list[str]) -> None:
    """A tmpfs with room for a third, then two thirds, then everything twice (ordering needs a copy)."""
    size = undisturbed.stat().st_size
    disk = output.parent
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size // 3}", "tmpfs", str(disk)], check=True)
    try:
        for share in (1 / 3, 2 / 3):
            subprocess.run(["mount", "-o", f"remount,size={int(size * share)}", str(disk)], check=True)
            process = start(manifest, output, folder / "home", *options)
            _, err = process.communicate()
            if process.returncode != 1 or "--resume" not in err:
                raise SystemExit(f"FAILED: code {process.returncode}: {err}")
            print(f"full at {share:.0%}: {lines_in(output)} whole lines; said: {err.strip().splitlines()[-2][:100]}")
            if not output.read_bytes().endswith(b"\n"):
                raise SystemExit("FAILED: a torn line")
        subprocess.run(["mount", "-o", f"remount,size={int(size * 2.5)}", str(disk)], check=True)
        finish(manifest, output, folder / "home", *options)
        compare(output, undisturbed, len(undisturbed.read_bytes().splitlines()))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--workers", default="2")
    parser.add_argument("--full-disk", action="store_true")
    chosen = parser.parse_args()
    options = ["--measure", "PSNR,SSIM", "--workers", chosen.workers]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        manifest = make_manifest(folder, chosen.samples)
        undisturbed = folder / "undisturbed.jsonl"
        finish(manifest, undisturbed, folder / "home", *options)
        if chosen.full_disk:
            fill_disk(folder, manifest, folder / "disk" / "results.jsonl", undisturbed, options)
            return
        output = folder / "results.jsonl"
        kill_runs(folder, manifest, output, chosen.samples, chosen.kills, options)
        finish(manifest, output, folder / "home", *options)
        compare(output, undisturbed, chosen.samples)


if __name__ == "__main__":
    main()
