"""The service under load, beside the library called directly.

For measure and for assess (embedded backend) in turn: many clients ask for a while, each obeying Retry-After, while a
prober asks /healthz and the server's memory is watched. Before and after, the same work is done by calling the library
in one process, so that the ratio is taken under the same conditions.

    python benchmarks/speed/service_load.py --clients 50 --seconds 60
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from itertools import cycle
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "examples" / "pictures" / "dandelion_compressed.jpg"
VARIANTS = 64
TOOLS = ["sharpness", "blockiness", "NIQE"]
DIRECT = """
import sys, time
from itertools import cycle
from pathlib import Path
from threading import Thread
from agenticiqa.api.assessor import AgenticIQA
from agenticiqa.api.measure import Measurer, Pair, choose_tools

kind, folder, seconds, threads, tools = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
pictures = cycle(sorted(Path(folder).iterdir()))
assessor = AgenticIQA("embedded")
pipeline = assessor.settings.pipeline
chosen = choose_tools(assessor.tools, tools.split(","), all_tools=False, has_reference=False)
measurer = Measurer(chosen, pipeline.tools, pipeline.images)

def once():
    picture = next(pictures)
    if kind == "assess":
        assert assessor.assess(picture).status != "error"
    else:
        assert not [record for record in measurer.measure(Pair.of(picture)) if record.error]

once()
done = []
end = time.monotonic() + seconds

def work():
    while time.monotonic() < end:
        once()
        done.append(1)

started = time.monotonic()
workers = [Thread(target=work) for _ in range(threads)]
[worker.start() for worker in workers]
[worker.join() for worker in workers]
print(len(done) / (time.monotonic() - started))
"""


# The least a server can be: what the machine itself costs a request at that moment.
BARE = """
import asyncio
async def answer(reader, writer):
    while await reader.readuntil(b"\\r\\n\\r\\n"):
        writer.write(b"HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\n\\r\\nok")
        await writer.drain()
async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""


class BareServer:
    """A server that does nothing, for comparison."""

    def __enter__(self) -> BareServer:
        self.process = subprocess.Popen(
            [sys.executable, "-c", BARE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout is not None
        self.url = f"http://127.0.0.1:{self.process.stdout.readline().strip()}"
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()


def environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_BASE_URL"))}
    # Without the cache every request is work.
    return {**kept, "AGENTICIQA_HOME": str(home), "AGENTICIQA_PIPELINE__CACHE__ENABLED": "false"}


def make_pictures(folder: Path) -> Path:
    """Cuttings of one picture, more than the vision model remembers: every request and every call is work."""
    folder.mkdir()
    with Image.open(PICTURE) as opened:
        for place in range(VARIANTS):
            cutting = opened.crop((place, 0, opened.width - VARIANTS + place, opened.height))
            cutting.save(folder / f"{place:03}.jpg", quality=90)
    return folder


def direct_rate(kind: str, pictures: Path, seconds: float, threads: int) -> float:
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-c", DIRECT, kind, str(pictures), str(seconds), str(threads), ",".join(TOOLS)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment(Path(home)))
    return float(done.stdout)


def wait_until_ready(url: str) -> None:
    """A service says when it is warm; version 0.1 announced its address before it listened there."""
    while True:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{url}/readyz").status_code == 200:
                return
        time.sleep(0.2)


class Server:
    """``agenticiqa serve`` in a process of its own."""

    def __init__(self, workers: int, queue: int) -> None:
        self._home = tempfile.TemporaryDirectory()
        command = [str(Path(sys.executable).with_name("agenticiqa")), "serve", "--port", "0", "--json"]
        command += ["--workers", str(workers), "--queue", str(queue)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=environment(Path(self._home.name))
        )
        assert self.process.stdout is not None
        self.url: str = json.loads("".join(self.process.stdout.readline() for _ in range(3)))["url"]

    def __enter__(self) -> Server:
        wait_until_ready(self.url)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(120)
        self._home.cleanup()

    def memory_mb(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024


class Watcher(threading.Thread):
    """Asks /healthz twenty times a second and looks at the server's memory once a second."""

    def __init__(self, url: str, server: Server | None = None) -> None:
        super().__init__(daemon=True)
        self.url = url
        self.server = server
        self.latencies: list[float] = []
        self.memory: list[float] = []
        self.failures = 0
        self._stop_asked = threading.Event()

    def run(self) -> None:
        address = urlsplit(self.url)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
        while not self._stop_asked.wait(0.05):
            started = time.perf_counter()
            try:
                connection.request("GET", "/healthz")
                reply = connection.getresponse()
                reply.read()
                self.failures += reply.status != 200
            except (OSError, http.client.HTTPException):
                self.failures += 1
                connection.close()
            self.latencies.append(time.perf_counter() - started)
            if self.server is not None and len(self.latencies) % 20 == 1:
                self.memory.append(self.server.memory_mb())

    def stop(self) -> None:
        self._stop_asked.set()
        self.join()


async def load(url: str, kind: str, pictures: Path, clients: int, seconds: float) -> tuple[Counter[str], float]:
    """How each request ended, and answered requests per second."""
    contents = cycle([file.read_bytes() for file in sorted(pictures.iterdir())])
    ended: Counter[str] = Counter()
    started = time.monotonic()
    end = started + seconds

    async def one(client: httpx.AsyncClient) -> None:
        data = {"tools": TOOLS} if kind == "measure" else {}
        while time.monotonic() < end:
            try:
                reply = await client.post(f"/v1/{kind}", files={"image": ("p.jpg", next(contents))}, data=data)
            except httpx.TransportError as error:
                ended[type(error).__name__] += 1
                continue
            ended[str(reply.status_code)] += 1
            if reply.status_code == 429:
                await asyncio.sleep(min(float(reply.headers["retry-after"]), max(0.0, end - time.monotonic())))

    limits = httpx.Limits(max_connections=clients)
    async with httpx.AsyncClient(base_url=url, timeout=180, limits=limits) as client:
        await asyncio.gather(*(one(client) for _ in range(clients)))
    return ended, ended["200"] / (time.monotonic() - started)


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def _spread(latencies: list[float]) -> list[float]:
    values = (statistics.median(latencies), percentile(latencies, 0.99), max(latencies))
    return [round(1000 * value, 1) for value in values]


def measured(kind: str, pictures: Path, arguments: argparse.Namespace) -> dict[str, object]:
    before = [direct_rate(kind, pictures, arguments.direct_seconds, threads) for threads in (1, arguments.workers)]
    with Server(arguments.workers, arguments.queue) as server, BareServer() as bare:
        watchers = [Watcher(server.url, server), Watcher(bare.url)]
        for watcher in watchers:
            watcher.start()
        ended, rate = asyncio.run(load(server.url, kind, pictures, arguments.clients, arguments.seconds))
        for watcher in watchers:
            watcher.stop()
    watcher, idle = watchers
    after = [direct_rate(kind, pictures, arguments.direct_seconds, threads) for threads in (1, arguments.workers)]
    single, threaded = (statistics.mean(pair) for pair in zip(before, after, strict=True))
    third = max(1, len(watcher.memory) // 3)
    return {
        "kind": kind,
        "ended": dict(ended),
        "failures other than 429": sum(ended.values()) - ended["200"] - ended["429"],
        "answered per second": round(rate, 3),
        "library per second, one thread": [round(value, 3) for value in (before[0], after[0])],
        f"library per second, {arguments.workers} threads": [round(value, 3) for value in (before[1], after[1])],
        "ratio to one thread": round(rate / single, 2),
        f"ratio to {arguments.workers} threads": round(rate / threaded, 2),
        "healthz ms (median, p99, max)": _spread(watcher.latencies),
        "a bare server at the same time, ms (median, p99, max)": _spread(idle.latencies),
        "healthz failures": watcher.failures,
        "memory MB (first, middle, last third; medians)": [
            round(statistics.median(part))
            for part in (watcher.memory[:third], watcher.memory[third : 2 * third], watcher.memory[2 * third :])
            if part
        ],
        "load average of the machine": [round(value, 1) for value in os.getloadavg()],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--direct-seconds", type=float, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--queue", type=int, default=16)
    parser.add_argument("--kind", choices=["measure", "assess"], action="append")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        pictures = make_pictures(Path(folder) / "pictures")
        for kind in arguments.kind or ["measure", "assess"]:
            print(json.dumps(measured(kind, pictures, arguments), indent=2), flush=True)


if __name__ == "__main__":
    main()
