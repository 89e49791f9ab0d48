"""Rate a long list that is killed again and again: every entry once in the table, memory flat.

    PYTHONPATH=src python benchmarks/faults/rate_kills.py [--entries 1000000] [--files 100] [--kills 5]
        [--engine ray] [--workers 2]

The list names a hundred files over and over, each time under another id. Every file is read and decoded each time; the
model looks at the same bytes once for each worker. At even steps of the way SIGKILL goes to the run's process group,
and whatever it started must then end by itself: Ray's processes have groups of their own. On the way to every second
of these steps a single worker process is killed first, and the run goes on.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from PIL import Image

LAST_WAIT_S = 30.0


def make_files(folder: Path, count: int) -> list[Path]:
    rng = np.random.default_rng(0)
    files = []
    for number in range(count):
        coarse = Image.fromarray(rng.integers(0, 256, (12, 16, 3), dtype=np.uint8))
        files.append(folder / f"{number:03d}.jpg")
        coarse.resize((320, 240), Image.Resampling.BICUBIC).save(files[-1], quality=90)
    return files


def family(root: int) -> dict[int, str]:
    """Process numbers and command lines of a process and of all that stem from it."""
    parents, commands = {}, {}
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit():
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                commands[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
    found, new = {}, {root} & parents.keys()
    while new:
        found |= {number: commands[number] for number in new}
        new = {number for number, parent in parents.items() if parent in new}
    return found


def memory_of(processes: Iterable[int]) -> int:
    """Bytes that processes hold, of what they do not share."""
    total = 0
    for number in processes:
        with suppress(OSError, IndexError):
            fields = Path(f"/proc/{number}/statm").read_text().split()
            total += (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")
    return total


def kill_worker(root: int) -> int:
    """Kill one process that rates pictures; how many were (0: none has started yet)."""
    for number, command in family(root).items():
        if "ray::RatingActor" in command or "spawn_main" in command:
            os.kill(number, signal.SIGKILL)
            return 1
    return 0


def left_after(seconds: float, processes: Iterable[int]) -> list[int]:
    """Processes that are still there after so long."""
    end, left = time.monotonic() + seconds, list(processes)
    while left and time.monotonic() < end:
        time.sleep(0.2)
        left = [number for number in left if Path(f"/proc/{number}").exists()]
    return left


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
        step, forgotten = arguments.entries // (arguments.kills + 1), 0
        for turn in range(arguments.kills + 1):
            goal = step * (turn + 1)
            resume = ["--resume"] if turn else []
            running = subprocess.Popen([*command, *resume], start_new_session=True, stderr=subprocess.DEVNULL)
            held: list[int] = []
            left: list[int] = []
            workers_killed = 0
            while running.poll() is None:
                time.sleep(0.5)
                processes = family(running.pid)
                held.append(memory_of(processes))
                if turn % 2 and not workers_killed and lines_in(lines) >= goal - step // 2:
                    workers_killed = kill_worker(running.pid)
                if turn < arguments.kills and lines_in(lines) >= goal:
                    os.killpg(running.pid, signal.SIGKILL)
                    running.wait()
                    left = left_after(LAST_WAIT_S, processes)
            third = max(1, len(held) // 3)
            middle, end = (np.median(some or held) / 1e6 for some in (held[third : 2 * third], held[-third:]))
            forgotten += len(left)
            known = f"turn {turn + 1}: exit {running.returncode}, about {lines_in(lines):,} lines"
            known += f", {workers_killed} workers killed, {len(left)} processes left behind"
            held_words = f"private memory {middle:.0f} MB in the middle, {end:.0f} MB at the end"
            print(f"{known}, {time.monotonic() - started:.0f} s; {held_words}", flush=True)
        table = pq.read_table(folder / "scores.parquet", columns=["id", "error"])
        ids, errors = table.column("id").to_pylist(), table.column("error").null_count
        once = len(ids) == len(set(ids)) == arguments.entries
        pace = len(ids) / (time.monotonic() - started)
        print(f"{len(ids):,} rows, each once: {once}; without error {errors:,}; {pace:.0f} a second")
        if not once or errors != arguments.entries or forgotten:
            raise SystemExit(1)


if __name__ == "__main__":
    main()
