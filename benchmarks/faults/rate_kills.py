"""Rate a long list that is killed again and again: every entry once in the table, memory flat.

    PYTHONPATH=src python benchmarks/faults/rate_kills.py [--entries 1000000] [--files 100] [--kills 5] [--engine ray]

The list names a hundred files over and over, each time under another id. Every file is read and decoded each time; the
model looks at the same bytes once for each worker. SIGKILL goes to the whole process group, at even steps of the way.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from PIL import Image


def make_files(folder: Path, count: int) -> list[Path]:
    rng = np.random.default_rng(0)
    files = []
    for number in range(count):
        coarse = Image.fromarray(rng.integers(0, 256, (12, 16, 3), dtype=np.uint8))
        files.append(folder / f"{number:03d}.jpg")
        coarse.resize((320, 240), Image.Resampling.BICUBIC).save(files[-1], quality=90)
    return files


def memory_of(group: int) -> int:
    """Bytes that the processes of a group hold, of what they do not share."""
    total = 0
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.getpgid(int(entry.name)) == group:
                fields = (entry / "statm").read_text().split()
                total += (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError):
            continue
    return total


def lines_in(file: Path) -> int:
    """About how many: by size, once some are there."""
    if not file.exists():
        return 0
    with file.open("rb") as stream:
        first = stream.readline()
    return file.stat().st_size // len(first) if first.endswith(b"\n") else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--engine", default="processes")
    parser.add_argument("--workers", type=int)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = make_files(folder, arguments.files)
        with (folder / "list.csv").open("w") as stream:
            stream.write("sample_id,image_path\n")
            stream.writelines(f"n{number},{files[number % len(files)]}\n" for number in range(arguments.entries))
        command = [sys.executable, "-m", "agenticiqa", "rate", str(folder / "list.csv"), "-o",
                   str(folder / "scores.parquet"), "--device", "cpu", "--engine", arguments.engine]  # fmt: skip
        command += ["--workers", str(arguments.workers)] if arguments.workers else []
        lines, started = folder / "scores.parquet.part", time.monotonic()
        for turn in range(arguments.kills + 1):
            goal = arguments.entries * (turn + 1) // (arguments.kills + 1)
            resume = ["--resume"] if turn else []
            running = subprocess.Popen([*command, *resume], start_new_session=True, stderr=subprocess.DEVNULL)
            held: list[int] = []
            while running.poll() is None:
                time.sleep(1.0)
                held.append(memory_of(running.pid))
                if turn < arguments.kills and lines_in(lines) >= goal:
                    os.killpg(running.pid, signal.SIGKILL)
                    running.wait()
            third = max(1, len(held) // 3)
            middle, end = (np.median(some or held) / 1e6 for some in (held[third : 2 * third], held[-third:]))
            known = f"turn {turn + 1}: exit {running.returncode}, about {lines_in(lines):,} lines"
            held_words = f"private memory {middle:.0f} MB in the middle, {end:.0f} MB at the end"
            print(f"{known}, {time.monotonic() - started:.0f} s; {held_words}", flush=True)
        table = pq.read_table(folder / "scores.parquet", columns=["id", "error"])
        ids, errors = table.column("id").to_pylist(), table.column("error").null_count
        once = len(ids) == len(set(ids)) == arguments.entries
        pace = len(ids) / (time.monotonic() - started)
        print(f"{len(ids):,} rows, each once: {once}; without error {errors:,}; {pace:.0f} a second")
        if not once or errors != arguments.entries:
            raise SystemExit(1)


if __name__ == "__main__":
    main()
