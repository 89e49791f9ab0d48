"""Kill assess, batch, serve and mcp at random moments, and look at what is left.

    python benchmarks/faults/kill_everything.py                 # 200 kills, 50 of each
    python benchmarks/faults/kill_everything.py --kills 20

One home and one folder for temporary files serve all of them, through the installed command and the embedded model.
Exit code 0 only if every record can be read, every answer that was given is on record exactly once, every run that was
cut off can be resumed, the batch's results equal an undisturbed run's, and no temporary folder of a killed process
outlives the next start.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
from batch_kill_test import make_manifest, settled
from PIL import Image

from agenticiqa.api.assessor import AgenticIQA

COMMAND = str(Path(sys.executable).with_name("agenticiqa"))
SAMPLES = 400
BATCH = ["--measure", "PSNR,SSIM", "--workers", "2"]


class Ground:
    """The folders that everything happens in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.left: set[str] = set()
        """Temporary folders of processes that were killed."""
        noise = np.random.default_rng(0).normal(0, 12, (96, 128, 3))
        clean = np.kron(np.random.default_rng(1).integers(40, 216, (12, 16, 3)), np.ones((8, 8, 1)))
        self.picture = folder / "picture.png"
        Image.fromarray(np.clip(clean + noise, 0, 255).astype(np.uint8)).save(self.picture)

    def start(self, *words: str) -> subprocess.Popen[str]:
        environment = {
            **os.environ,
            "AGENTICIQA_HOME": str(self.home),
            "AGENTICIQA_BACKEND": "embedded",
            "TMPDIR": str(self.temporary),
            "OMP_NUM_THREADS": "1",
        }
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [COMMAND, *words], env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True, start_new_session=True
        )

    def kill(self, process: subprocess.Popen[str], *, whole_group: bool = False) -> None:
        with suppress(ProcessLookupError):
            (os.killpg if whole_group else os.kill)(process.pid, signal.SIGKILL)
        process.wait()
        self.left = self.scratch()

    def scratch(self) -> set[str]:
        return {path.name for path in self.temporary.iterdir() if path.name.startswith("agenticiqa-")}

    def check_cleared(self) -> None:
        """Once a process has started: nothing that an earlier one left is there."""
        stale = self.left & self.scratch()
        if stale:
            raise SystemExit(f"FAILED: temporary folders outlived a start: {sorted(stale)}")


Round = Callable[[Ground, random.Random], str]


# --- one kill of each ---


class Assessments:
    """Answers that were printed before the kill must be on record."""

    def __init__(self) -> None:
        self.answered: list[str] = []

    def kill_one(self, ground: Ground, chance: random.Random) -> str:
        process = ground.start("assess", str(ground.picture), "--json", "--no-cache")
        time.sleep(chance.uniform(0, 6))
        ground.kill(process)
        out = process.stdout.read() if process.stdout else ""
        with suppress(ValueError):
            self.answered.append(json.loads(out)["metadata"]["run_id"])
            return "answered before the kill"
        return "killed at work"

    def check(self, ground: Ground) -> str:
        if not (ground.home / "runs.sqlite").exists():
            return "no run got as far as the record"
        with AgenticIQA("embedded") as iqa:
            records = iqa.runs.latest(10_000)
            ids = Counter(record.id for record in records)
            missing = [run_id for run_id in self.answered if ids[run_id] != 1]
            if missing:
                raise SystemExit(f"FAILED: answers not on record exactly once: {missing}")
            cut_off = [record for record in records if record.status != "ok"]
            for record in cut_off:
                if record.result is not None:
                    raise SystemExit(f"FAILED: run {record.id} is {record.status} and has a result")
                resumed = iqa.resume(record.id)
                # A picture that an MCP client sent inside its request lived as long as the server.
                expected = "ok" if Path(record.image_path).exists() else "error"
                if resumed.status != expected:
                    raise SystemExit(f"FAILED: run {record.id} of {record.image_path}: {resumed.error}")
            statuses = Counter(record.status for record in iqa.runs.latest(10_000))
        if set(statuses) - {"ok", "error"}:
            raise SystemExit(f"FAILED: runs that did not end: {statuses}")
        return (
            f"{len(self.answered)} answers printed, {len(records)} runs of all kinds on record, "
            f"{len(cut_off)} resumed, of which {statuses['error']} say that their picture is gone"
        )


class Batches:
    """Killed and resumed until it is done: every sample once, as in an undisturbed run."""

    def __init__(self, ground: Ground) -> None:
        self.manifest = make_manifest(ground.folder, SAMPLES)
        self.output = ground.folder / "results.jsonl"
        self.undisturbed = ground.folder / "undisturbed.jsonl"
        self.rounds = 0
        self._finish(ground, self.undisturbed)

    def _start(self, ground: Ground, output: Path) -> subprocess.Popen[str]:
        return ground.start("batch", str(self.manifest), "-o", str(output), "--resume", "--json", *BATCH)

    def _finish(self, ground: Ground, output: Path) -> None:
        _, err = (process := self._start(ground, output)).communicate()
        if process.returncode:
            raise SystemExit(f"FAILED: the batch ended with code {process.returncode}: {err}")
        ground.check_cleared()

    def kill_one(self, ground: Ground, chance: random.Random) -> str:
        process = self._start(ground, self.output)
        time.sleep(chance.uniform(0, 5))
        if process.poll() is None and ground.scratch() - ground.left:
            ground.check_cleared()
        # The runner alone, or with its workers, as a machine without memory does it.
        ended = process.poll() is not None
        ground.kill(process, whole_group=chance.random() < 0.5)
        if ended:
            self._compare()
            self.rounds += 1
            self.output.unlink()
        return "done before the kill" if ended else "killed at work"

    def _compare(self) -> None:
        found = settled(self.output)
        if found != settled(self.undisturbed):
            raise SystemExit(f"FAILED: {len(found)} lines differ from the undisturbed run's {SAMPLES}")

    def check(self, ground: Ground) -> str:
        self._finish(ground, self.output)
        self._compare()
        beside = sorted(path.name for path in self.output.parent.glob("results.jsonl.*"))
        if beside:
            raise SystemExit(f"FAILED: left beside the results: {beside}")
        return f"{self.rounds + 1} times {SAMPLES} samples, each once, equal to the undisturbed run"


class Services:
    """Runs whose answer or acceptance a client got must be on record once, and none may stay under way."""

    def __init__(self) -> None:
        self.answered: list[str] = []
        self.accepted: list[str] = []

    def _serving(self, ground: Ground) -> tuple[subprocess.Popen[str], str | None]:
        process = ground.start("serve", "--port", "0", "--json")
        url: list[str] = []

        def read() -> None:
            lines = "".join(iter(process.stdout.readline, "}\n")) + "}" if process.stdout else ""
            with suppress(ValueError):
                url.append(json.loads(lines)["url"])

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        reader.join(30)
        return process, url[0] if url else None

    def kill_one(self, ground: Ground, chance: random.Random) -> str:
        if chance.random() < 0.2:
            process = ground.start("serve", "--port", "0", "--json")
            time.sleep(chance.uniform(0, 2))
            ground.kill(process)
            return "killed while it started"
        process, url = self._serving(ground)
        if url is None:
            raise SystemExit(f"FAILED: the service does not start: {process.communicate()[1]}")
        ground.check_cleared()
        clients = [threading.Thread(target=self._ask, args=(url, later), daemon=True) for later in (True, False, True)]
        for client in clients:
            client.start()
        time.sleep(chance.uniform(0, 4))
        ground.kill(process)
        for client in clients:
            client.join(30)
        return "killed at work"

    def _ask(self, url: str, later: bool) -> None:
        body = json.dumps({"image": {"example": "dandelion_compressed"}, "query": "Rate it."}).encode()
        request = urllib.request.Request(
            f"{url}/v1/assess{'?async=true' if later else ''}", body, {"Content-Type": "application/json"}
        )
        with suppress(OSError, ValueError, KeyError):
            with urllib.request.urlopen(request, timeout=60) as reply:
                found = json.load(reply)
            if later:
                self.accepted.append(found["id"])
            else:
                self.answered.append(found["metadata"]["run_id"])

    def check(self, ground: Ground) -> str:
        process, url = self._serving(ground)
        try:
            with urllib.request.urlopen(f"{url}/v1/runs?limit=100", timeout=60) as reply:
                shown = json.load(reply)["runs"]
        finally:
            process.terminate()
            process.communicate(timeout=60)
        with closing(sqlite3.connect(ground.home / "service" / "service.sqlite")) as database:
            if database.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                raise SystemExit("FAILED: the service's record is damaged")
            rows = database.execute("SELECT id, status FROM jobs").fetchall()
        statuses = dict(rows)
        lost = [run_id for run_id in self.accepted if run_id not in statuses]
        under_way = [run_id for run_id, status in statuses.items() if status in ("queued", "running")]
        if lost or under_way or len(statuses) != len(rows):
            raise SystemExit(f"FAILED: lost {lost}, still under way {under_way}, {len(rows) - len(statuses)} doubled")
        if any(statuses.get(run_id, "ok") not in ("ok", "partial") for run_id in self.answered):
            raise SystemExit("FAILED: an answer that a client has is not on record as one")
        return (
            f"{len(self.answered)} answers and {len(self.accepted)} acceptances sent, {len(rows)} runs on record "
            f"({dict(Counter(statuses.values()))}), {len(shown)} of them listed"
        )


class ToolServers:
    """Temporary pictures of killed servers go with the next start."""

    def __init__(self) -> None:
        self.started = 0

    def kill_one(self, ground: Ground, chance: random.Random) -> str:
        process = ground.start("mcp")
        data = base64.b64encode(ground.picture.read_bytes()).decode()
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "killer", "version": "1"},
        }
        call = {"name": "assess_image", "arguments": {"image": f"data:image/png;base64,{data}"}}
        messages = [
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
        ]
        with suppress(BrokenPipeError):
            if process.stdin:
                process.stdin.write("".join(json.dumps(message) + "\n" for message in messages))
                process.stdin.flush()
        time.sleep(chance.uniform(0, 6))
        up = {name for name in ground.scratch() - ground.left if "-mcp-" in name}
        if up:
            self.started += 1
            ground.check_cleared()
        ground.kill(process)
        return "killed at work" if up else "killed while it started"

    def check(self, ground: Ground) -> str:
        process = ground.start("mcp")
        deadline = time.monotonic() + 60
        while not {name for name in ground.scratch() - ground.left if "-mcp-" in name}:
            if time.monotonic() > deadline:
                raise SystemExit("FAILED: the MCP server does not start")
            time.sleep(0.05)
        ground.check_cleared()
        process.communicate("", timeout=60)
        if ground.scratch():
            raise SystemExit(f"FAILED: left at the end: {sorted(ground.scratch())}")
        return f"{self.started} of them at work; no temporary folder is left"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None, help="of the moments; another every time by default")
    chosen = parser.parse_args()
    chance = random.Random(chosen.seed)
    with tempfile.TemporaryDirectory() as name:
        ground = Ground(Path(name))
        os.environ["AGENTICIQA_HOME"] = str(ground.home)
        kinds: dict[str, Assessments | Batches | Services | ToolServers] = {
            "assess": Assessments(),
            "batch": Batches(ground),
            "serve": Services(),
            "mcp": ToolServers(),
        }
        moments: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
        order = [kind for kind in kinds for _ in range(chosen.kills // len(kinds))]
        chance.shuffle(order)
        for number, kind in enumerate(order, 1):
            moments[kind][kinds[kind].kill_one(ground, chance)] += 1
            if number % 20 == 0:
                print(f"{number} kills", flush=True)
        for kind, each in kinds.items():
            what = ", ".join(f"{count} {when}" for when, count in moments[kind].most_common())
            print(f"{kind}: {what}; {each.check(ground)}", flush=True)
    print(f"passed: {len(order)} kills; records readable, nothing lost or doubled, no temporary folder left")


if __name__ == "__main__":
    main()
