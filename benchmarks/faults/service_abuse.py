"""The service while somebody abuses it: what honest clients still get, and what it takes of memory.

    python benchmarks/faults/service_abuse.py [--seconds 180] [--memory 8G] [--command PATH]

Four keys on loopback. Honest: 200 clients that send small pictures to be measured, and come back when they are told
to. Greedy: clients that send pairs of 49 megapixels to be measured with every tool, again and again. Slow: 50 uploads
that dribble. Hostile: small files that take minutes to read, JSON that grows when it is built, uploads that are
refused. The honest clients alone and all together, in turn, so that whatever else the machine does meets both.
Prints honest answers per second of both, what was lost, how abuse was answered, and the server's peak of memory beside
its budget, as JSON. `--command` names the
`agenticiqa` of another version, for comparison; `--address-space` keeps such a one from taking the whole machine.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import cycle
from multiprocessing import Queue
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "speed"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from service_load import environment, make_pictures, wait_until_ready

from support.slow_pictures import blocks_j2k, many_chunks, many_pages, many_scans

SIDE = 7000
TOOLS = ["sharpness", "noise", "blockiness"]
GIGABYTE = 1024**3
POLL_INTERVAL_S = 0.2
COME_BACK_S = 0.2
"""How soon a greedy client asks again, whatever it is told."""


def large_pair() -> tuple[bytes, bytes]:
    """Two pictures of 49 megapixels in a few hundred kilobytes each."""
    rows = np.repeat((np.arange(SIDE) // 28).astype(np.uint8)[:, None], SIDE, axis=1)
    found = []
    for shift in (0, 3):
        buffer = io.BytesIO()
        Image.fromarray(np.dstack([rows + shift] * 3).astype(np.uint8)).save(buffer, "PNG")
        found.append(buffer.getvalue())
    return found[0], found[1]


class Server:
    """``agenticiqa serve`` with four keys, and a look at its memory."""

    def __init__(self, command: Path, options: list[str], address_space: float | None) -> None:
        self._home = tempfile.TemporaryDirectory()
        home = Path(self._home.name)
        file = ["--api-keys-file", str(home / "keys.json")]
        self.keys = {
            name: subprocess.run(
                [str(command), "serve", "keys", "add", name, *file],
                capture_output=True, text=True, check=True, env=environment(home),
            ).stdout.strip()
            for name in ("honest", "greedy", "slow", "hostile")
        }  # fmt: skip

        limit = ["prlimit", f"--as={int(address_space * GIGABYTE)}"] if address_space else []
        self.log = (home / "stderr.log").open("w")
        self.process = subprocess.Popen(
            [*limit, str(command), "serve", "--port", "0", "--json", *file, *options],
            stdout=subprocess.PIPE, stderr=self.log, text=True, env=environment(home), cwd=home,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.url: str = json.loads("".join(self.process.stdout.readline() for _ in range(3)))["url"]
        self.peak = 0
        self._watching = True
        threading.Thread(target=self._watch, daemon=True).start()

    def __enter__(self) -> Server:
        wait_until_ready(self.url)
        return self

    def __exit__(self, *_: object) -> None:
        self._watching = False
        self.process.terminate()
        try:
            self.process.wait(120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        self._home.cleanup()

    def _watch(self) -> None:
        while self._watching and self.process.poll() is None:
            # Together with the processes that read pictures, which belong to the threads that started them.
            tasks = Path(f"/proc/{self.process.pid}/task").glob("*/children")
            resident = _resident(self.process.pid) + sum(_resident(int(child)) for child in _words(tasks))
            self.peak = max(self.peak, resident)
            time.sleep(POLL_INTERVAL_S)


def _words(files: Iterable[Path]) -> Iterator[str]:
    for file in files:
        with suppress(OSError):
            yield from file.read_text().split()


def _resident(pid: int) -> int:
    """Bytes; 0 for a process that is gone."""
    pages = list(_words([Path(f"/proc/{pid}/statm")]))
    return int(pages[1]) * 4096 if pages else 0


class Honest:
    """Clients that do as they are told: each request is repeated until it is answered."""

    def __init__(self, url: str, key: str, pictures: Path) -> None:
        self.ended: Counter[str] = Counter()
        self.waits: list[float] = []
        self.seconds = 0.0
        self._url = url
        self._headers = {"Authorization": f"Bearer {key}"}
        self._contents = cycle([file.read_bytes() for file in sorted(pictures.iterdir())])

    async def one(self, client: httpx.AsyncClient, end: float) -> None:
        while time.monotonic() < end:
            content, started = next(self._contents), time.monotonic()
            while True:
                try:
                    reply = await client.post("/v1/measure", files={"image": ("p.jpg", content)}, data={"tools": TOOLS})
                except httpx.TransportError as error:
                    self.ended[type(error).__name__] += 1
                    break
                self.ended[str(reply.status_code)] += 1
                if reply.status_code not in (429, 503) or time.monotonic() > end:
                    break
                await asyncio.sleep(float(reply.headers.get("retry-after", "1")))
            self.waits.append(time.monotonic() - started)

    @property
    def rate(self) -> float:
        """Answers per second, over all rounds."""
        return self.ended["200"] / self.seconds

    async def all(self, clients: int, seconds: float) -> None:
        """One round."""
        started = time.monotonic()
        limits = httpx.Limits(max_connections=clients)
        async with httpx.AsyncClient(base_url=self._url, headers=self._headers, timeout=180, limits=limits) as client:
            await asyncio.gather(*(self.one(client, started + seconds) for _ in range(clients)))
        self.seconds += time.monotonic() - started

    @property
    def lost(self) -> int:
        return sum(count for kind, count in self.ended.items() if kind not in ("200", "429", "503"))


@dataclass
class Abuse:
    """How the server answered it."""

    greedy: Counter[str] = field(default_factory=Counter)
    slow: Counter[str] = field(default_factory=Counter)
    hostile: Counter[str] = field(default_factory=Counter)


async def greedy(url: str, key: str, pair: tuple[bytes, bytes], end: float, ended: Counter[str]) -> None:
    test, reference = pair
    async with httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=300) as client:
        while time.monotonic() < end:
            files = {"image": ("large.png", test), "reference": ("original.png", reference)}
            try:
                reply = await asyncio.wait_for(
                    client.post("/v1/measure", files=files, data={"all_tools": "true"}), max(end - time.monotonic(), 1)
                )
                ended[str(reply.status_code)] += 1
            except (httpx.TransportError, asyncio.TimeoutError) as error:
                ended[type(error).__name__] += 1
            await asyncio.sleep(COME_BACK_S)


async def slow(url: str, key: str, end: float, ended: Counter[str]) -> None:
    address = urlsplit(url)
    head = (
        f"POST /v1/assess HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {key}\r\n"
        "Content-Type: application/json\r\nContent-Length: 30000000\r\n\r\n"
    )
    while time.monotonic() < end:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        try:
            writer.write(head.encode())
            answered = asyncio.ensure_future(reader.read(64))
            while time.monotonic() < end and not answered.done():
                writer.write(b" ")
                await writer.drain()
                await asyncio.wait({answered}, timeout=1)
            if answered.done():
                ended[answered.result()[9:12].decode() or "closed"] += 1
            else:
                answered.cancel()
                ended["still open at the end"] += 1
        except OSError as error:
            ended[type(error).__name__] += 1
        finally:
            writer.close()


async def hostile(url: str, key: str, end: float, ended: Counter[str]) -> None:
    slow_files = [many_scans(), many_pages(250_000, side=400), many_chunks(200_000), blocks_j2k()]
    regions = {str(number): [0, 0, 1, 1] for number in range(1_000_000)}
    hidden = json.dumps({"image": {"example": "dandelion"}, "regions": regions})
    requests = [
        *(("/v1/preview", {"files": {"image": ("a", data)}}) for data in slow_files),
        *(("/v1/assess", {"files": {"image": ("a", data)}}) for data in slow_files),
        ("/v1/assess", {"content": hidden, "headers": {"Content-Type": "application/json"}}),
        ("/v1/measure", {"files": {"image": ("a.png", large_pair()[0])}, "data": {"tools": "no_such_tool"}}),
    ]
    async with httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=300) as client:
        for path, given in cycle(requests):
            if time.monotonic() > end:
                return
            try:
                ended[str((await client.post(path, **given)).status_code)] += 1
            except httpx.TransportError as error:
                ended[type(error).__name__] += 1


def abusing(
    server: tuple[str, dict[str, str]], pair: tuple[bytes, bytes], arguments: argparse.Namespace, told: Queue[Abuse]
) -> None:
    """One round of abuse, in a process of its own: the honest clients' own work must not suffer from it."""
    url, keys = server
    end = time.monotonic() + arguments.seconds / arguments.rounds
    abuse = Abuse()

    async def all_of_it() -> None:
        await asyncio.gather(
            *(greedy(url, keys["greedy"], pair, end, abuse.greedy) for _ in range(arguments.greedy)),
            *(slow(url, keys["slow"], end, abuse.slow) for _ in range(arguments.slow)),
            *(hostile(url, keys["hostile"], end, abuse.hostile) for _ in range(arguments.hostile)),
        )

    asyncio.run(all_of_it())
    told.put(abuse)


def together(server: Server, honest: Honest, pair: tuple[bytes, bytes], arguments: argparse.Namespace) -> Abuse:
    context = multiprocessing.get_context("spawn")
    told: Queue[Abuse] = context.Queue()
    process = context.Process(target=abusing, args=((server.url, server.keys), pair, arguments, told))
    process.start()
    asyncio.run(honest.all(arguments.clients, arguments.seconds / arguments.rounds))
    found = told.get(timeout=120)
    process.join(30)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=180, help="of abuse, in all rounds together")
    parser.add_argument("--alone-seconds", type=float, default=90, help="of honest clients alone")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--greedy", type=int, default=6)
    parser.add_argument("--slow", type=int, default=50)
    parser.add_argument("--hostile", type=int, default=4)
    parser.add_argument("--memory", help="the server's budget, such as 8G; its default where none is given")
    parser.add_argument("--command", type=Path, default=Path(sys.executable).with_name("agenticiqa"))
    parser.add_argument("--address-space", type=float, help="gigabytes of addresses that the server may use")
    arguments = parser.parse_args()
    options = ["--memory", arguments.memory] if arguments.memory else []
    with tempfile.TemporaryDirectory() as folder:
        pictures, pair = make_pictures(Path(folder) / "pictures"), large_pair()
        with Server(arguments.command, options, arguments.address_space) as server:
            alone, honest = (Honest(server.url, server.keys["honest"], pictures) for _ in range(2))
            abuse = Abuse()
            peak_alone = 0
            for _ in range(arguments.rounds):
                asyncio.run(alone.all(arguments.clients, arguments.alone_seconds / arguments.rounds))
                peak_alone = peak_alone or server.peak
                found = together(server, honest, pair, arguments)
                abuse.greedy += found.greedy
                abuse.slow += found.slow
                abuse.hostile += found.hostile
            died = server.process.poll()
            peak = server.peak
    figures = {
        "honest answers per second, alone": round(alone.rate, 2),
        "honest answers per second, under abuse": round(honest.rate, 2),
        "share kept": round(honest.rate / alone.rate, 3),
        "honest requests lost, alone and under abuse": [alone.lost, honest.lost],
        "honest requests by status, under abuse": dict(honest.ended),
        "longest an honest client waited for an answer, s": [round(max(each.waits), 1) for each in (alone, honest)],
        "greedy requests by status": dict(abuse.greedy),
        "slow uploads by end": dict(abuse.slow),
        "hostile requests by status": dict(abuse.hostile),
        "peak memory GB, alone and under abuse": [round(peak_alone / GIGABYTE, 2), round(peak / GIGABYTE, 2)],
        "budget": arguments.memory or "70 % of the machine or container",
        "the server": "went on" if died is None else f"ended with {died}",
        "load average": [round(value, 1) for value in os.getloadavg()],
    }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
