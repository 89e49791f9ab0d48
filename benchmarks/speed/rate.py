"""Pictures a second of ``agenticiqa rate``, beside metrics that people would pick instead, in one run.

    PYTHONPATH=src python benchmarks/speed/rate.py [--sizes 500x500 1920x1080 4000x3000] [--pictures 120]
        [--device cpu|cuda] [--before AGENTICIQA] [--json FILE]
    PYTHONPATH=src python benchmarks/speed/rate.py --equal FOLDER

JPEG files (quality 92) are made of the example photograph, no two files alike. Ours is timed over the last two thirds
of the results, when all processes have loaded the model; files are read and decoded, on all cores. ``--before`` names
the command of an earlier version, which is timed alike on ``batch --measure AIQA_NR`` of the same files. ``--equal``
rates the pictures of a folder on the GPU and on the CPU, and tells how far their scores lie apart. Peers (pyiqa's NIQE
and BRISQUE with parameters of the right shape, TOPIQ and CLIP-IQA's image network with random weights) decode with
Pillow and run one picture at a time: as many threads as there are cores, or the GPU. Their weights cannot be had here:
this is about speed alone. ``without_avx512.py`` before the command runs all of it as on an older processor.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from agenticiqa.batch.rating_run import RatingRequest, run_rating
from agenticiqa.batch.runner import Tally
from agenticiqa.tools.pyiqa_adapter import import_torchvision
from agenticiqa.vision.accelerator import Device

PHOTOGRAPH = Path(__file__).resolve().parents[2] / "examples" / "pictures" / "dandelion.jpg"
PEER_SECONDS = 6.0
PIXELS = 1_000_000_000
"""So many are drawn at the most."""


def make_picture(file: Path, size: tuple[int, int], seed: int) -> Path:
    """A crop of one photograph at a random place and scale, with a little noise: each seed another picture."""
    rng = np.random.default_rng(seed)
    with Image.open(PHOTOGRAPH) as opened:
        whole = opened.convert("RGB")
    share = rng.uniform(0.5, 1.0)
    wide, high = int(whole.width * share), int(whole.height * share)
    left, top = int(rng.integers(whole.width - wide + 1)), int(rng.integers(whole.height - high + 1))
    crop = whole.crop((left, top, left + wide, top + high)).resize(size, Image.Resampling.BICUBIC)
    noise = rng.normal(0, 2, (size[1] // 4 + 1, size[0] // 4 + 1, 3)).repeat(4, 0).repeat(4, 1)
    pixels = np.asarray(crop, np.float32) + noise[: size[1], : size[0]]
    Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(file, quality=92)
    return file


def make_pictures(folder: Path, size: tuple[int, int], count: int) -> list[Path]:
    """No two files alike; of many and large ones some hold the same picture."""
    files = [folder / f"{number:06d}.jpg" for number in range(count)]
    distinct = min(count, max(64, PIXELS // (size[0] * size[1])))
    with ProcessPoolExecutor() as workers:
        list(workers.map(make_picture, files[:distinct], [size] * distinct, range(distinct), chunksize=8))
    for number in range(distinct, count):
        # Behind its end a decoder reads nothing.
        files[number].write_bytes(files[number % distinct].read_bytes() + str(number).encode())
    return files


@contextmanager
def gpu_watched(device: str) -> Iterator[list[float]]:
    """The GPU's utilisation in percent, five times a second, as its driver tells."""
    found: list[float] = []
    if device != "cuda":
        yield found
        return
    command = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "-lms", "200"]
    watching = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert watching.stdout is not None
    lines = watching.stdout
    threading.Thread(target=lambda: found.extend(float(line) for line in lines), daemon=True).start()
    yield found
    watching.terminate()
    watching.wait()


def settled_rate(noted: list[tuple[float, int]]) -> float:
    """Results a second from (time, results so far): of the last two thirds."""
    begun = next(each for each in noted if each[1] >= noted[-1][1] / 3)
    return (noted[-1][1] - begun[1]) / (noted[-1][0] - begun[0])


def ours(folder: Path, lines: Path, device: Device) -> float:
    noted: list[tuple[float, int]] = []

    def note(tally: Tally) -> None:
        if tally.worked > (noted[-1][1] if noted else 0):
            noted.append((time.perf_counter(), tally.worked))

    run_rating(RatingRequest([str(folder)], lines, device=device, overwrite=True, on_progress=note))
    return settled_rate(noted)


def earlier(command: str, folder: Path, output: Path) -> float:
    """Timed as ours, by the results that stand in the file."""
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    # Its own code, not ours; but a runtime that stands in for the installed one (without_avx512.py) is for both.
    kept = [each for each in paths if each and (Path(each) / "onnxruntime").is_dir()]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(kept)}
    running = subprocess.Popen(
        [command, "batch", str(folder), "--measure", "AIQA_NR", "--output", str(output), "--no-cache", "--overwrite"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment,
    )  # fmt: skip
    seen: list[tuple[float, int]] = []
    while running.poll() is None:
        count = output.read_bytes().count(b"\n") if output.exists() else 0
        if count > (seen[-1][1] if seen else 0):
            seen.append((time.perf_counter(), count))
        time.sleep(0.02)
    if running.returncode:
        raise RuntimeError(f"{command} failed with {running.returncode}")
    return settled_rate(seen)


def differences(folder: Path) -> dict[str, float]:
    """Of scores from the GPU and from the CPU."""
    with tempfile.TemporaryDirectory() as name:
        scores = []
        for device in ("cuda", "cpu"):
            lines = Path(name) / f"{device}.jsonl"
            run_rating(RatingRequest([str(folder)], lines, device=device))
            records = [json.loads(line) for line in lines.read_text().splitlines()]
            scores.append({each["image_path"]: each["rating"]["score"] for each in records if each["status"] == "ok"})
    apart = np.array([abs(scores[0][name] - score) for name, score in scores[1].items()])
    above = int((apart > 0.02).sum())
    return {"pictures": len(apart), "mean": apart.mean(), "largest": apart.max(), "above 0.02": above}


def peers(device: str) -> dict[str, Callable[[Any], Any]]:
    """Networks and metrics by name; those that cannot be made here are left out, with the reason."""
    try:
        import torch
    except ImportError as error:
        print(f"  peers are left out: {error} (pip install '.[pyiqa]')", file=sys.stderr)
        return {}
    import_torchvision()
    found: dict[str, Callable[[Any], Any]] = {}

    def attempt(name: str, make: Callable[[], Any]) -> None:
        try:
            module = make()
            found[name] = module.to(device).eval() if hasattr(module, "to") else module
        except Exception as error:  # noqa: BLE001 - a peer that is not there is no failure of ours
            print(f"  {name} is left out: {type(error).__name__}: {str(error)[:90]}", file=sys.stderr)

    def topiq() -> Any:
        from pyiqa.archs.topiq_arch import CFANet

        return CFANet(use_ref=False, pretrained=False, backbone_pretrain=False)

    def clip_iqa() -> Any:
        from clip.model import ModifiedResNet

        return ModifiedResNet(layers=(3, 4, 6, 3), output_dim=1024, heads=32, input_resolution=224)

    def niqe() -> Any:
        from pyiqa.archs.niqe_arch import calculate_niqe

        mean, spread = torch.ones(1, 36, device=device).double(), torch.eye(36, device=device).double()
        return lambda x: calculate_niqe(x, mu_pris_param=mean, cov_pris_param=spread)

    def brisque() -> Any:
        from pyiqa.archs.brisque_arch import brisque

        vectors, factors = torch.randn(774, 36, device=device), torch.randn(774, 1, device=device)
        return lambda x: brisque(x, sv_coef=factors.double(), sv=vectors.double())

    attempt("TOPIQ, random weights", topiq)
    attempt("CLIP RN50, random weights", clip_iqa)
    attempt("NIQE of pyiqa", niqe)
    attempt("BRISQUE of pyiqa", brisque)
    return found


def timed_peer(peer: Callable[[Any], Any], name: str, files: list[Path], device: str) -> float:
    import torch

    started, count = 0.0, 0
    with torch.inference_mode():
        for number, file in enumerate(files):
            with Image.open(file) as opened:
                x = torch.from_numpy(np.array(opened.convert("RGB"))).permute(2, 0, 1)[None].to(device) / 255
            if name.startswith("CLIP"):
                # It sees every picture at its own resolution of 224.
                x = torch.nn.functional.interpolate(x, (224, 224), mode="bicubic", antialias=True)
            peer(x)
            if device == "cuda":
                torch.cuda.synchronize()
            if number == 1:
                started, count = time.perf_counter(), 0
            count += 1
            if number > 2 and time.perf_counter() - started > PEER_SECONDS:
                break
    return (count - 1) / (time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=["500x500", "1920x1080", "4000x3000"])
    parser.add_argument("--pictures", type=int, default=120)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--before")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--equal", type=Path)
    arguments = parser.parse_args()
    if arguments.equal:
        print(differences(arguments.equal))
        return
    rows, others = [], peers(arguments.device)
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, {arguments.device}")
    for text in arguments.sizes:
        width, height = map(int, text.split("x"))
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "pictures"
            folder.mkdir()
            count = max(24, round(arguments.pictures * min(1.0, 1e6 / (width * height))))
            files = make_pictures(folder, (width, height), count)
            row: dict[str, Any] = {"size": text, "pictures": count}
            with gpu_watched(arguments.device) as busy:
                row["rate"] = ours(folder, Path(name) / "lines.jsonl", arguments.device)
            if busy:
                # While pictures are being seen: before the first one it idles, whatever the decoding does.
                working = [each for each in busy if each]
                row["gpu_busy_percent"] = round(sum(working) / max(1, len(working)), 1)
            if arguments.before:
                row["before"] = earlier(arguments.before, folder, Path(name) / "before.jsonl")
            row |= {peer: timed_peer(others[peer], peer, files, arguments.device) for peer in others}
        rows.append(row)
        said = ", ".join(f"{key} {value:.2f}/s ({row['rate'] / value:.1f} times)" for key, value in row.items()
                         if isinstance(value, float) and key not in ("rate", "gpu_busy_percent"))  # fmt: skip
        busy_words = f", GPU busy {row['gpu_busy_percent']} %" if "gpu_busy_percent" in row else ""
        print(f"{text}: rate {row['rate']:.2f}/s{busy_words}; beside {said}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
