"""The service while somebody abuses it: what honest clients still get, and what it takes of memory.

    python benchmarks/faults/service_abuse.py [--seconds 180] [--memory 8G] [--command PATH]

Four keys on loopback. Honest: clients that send small pictures to be measured, and come back when they are told to.
Greedy: clients that send pairs of 49 megapixels to be measured with every tool, again and again. Slow: uploads that
dribble. Hostile: pictures that take minutes to read, megabytes of regions, uploads for tools that do not exist, and
paths that lead out of the allowed folder while they are looked at. The honest clients alone and all together, in turn,
so that whatever else the machine does meets both. Prints honest answers per second of both, what was lost, how abuse
was answered, the memory of the server with its workers round by round beside its budget, what it keeps on disk, and how
long it took to end when it was told to under abuse, as JSON. `--command` names the `agenticiqa` of another version, for
comparison; `--address-space` keeps such a one from taking the whole machine.
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
from dataclasses import dataclass, field
from itertools import cycle
from multiprocessing import Queue
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "speed"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from service_load import environment, make_pictures, wait_until_ready

from support.slow_pictures import blocks_j2k, many_chunks, many_pages, many_scans, scans_inside_tiff

SIDE = 7000
TOOLS = ["sharpness", "noise", "blockiness"]
GIGABYTE = 1024**3
POLL_INTERVAL_S = 3.0
"""Looking at gigabytes of memory takes time of the machine."""
GRACE_S = 30
LAST_ROUND_S = 40
FLAT = '"raw":100.0,'
COME_BACK_S = 0.2
"""How soon a greedy client asks again, whatever it is told."""


def harmless() -> bytes:
    """Without an edge: its sharpness is told as FLAT."""
    return stored(np.full((64, 64, 3), 90, np.uint8))


def secret() -> bytes:
    """A picture that no client may see, and that measures otherwise."""
    return stored(np.random.default_rng(7).integers(0, 256, (64, 64, 3), np.uint8))


def stored(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


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
    """``agenticiqa serve`` with a key for each sort of client, and a look at its memory."""

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

        self.home, self.root = home, home / "allowed"
        for folder, content in ((self.root / "inside", harmless()), (home / "out", secret())):
            folder.mkdir(parents=True)
            (folder / "picture.png").write_bytes(content)
        (self.root / "picture.png").write_bytes(harmless())
        limit = ["prlimit", f"--as={int(address_space * GIGABYTE)}"] if address_space else []
        self.log = (home / "stderr.log").open("w")
        self.process = subprocess.Popen(
            [*limit, str(command), "serve", "--port", "0", "--json", "--grace", str(GRACE_S),
             "--allowed-root", str(self.root), *file, *options],
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
        self.end()
        self.log.close()
        self._home.cleanup()

    def end(self) -> float:
        """Seconds from the signal to the end; killed after two minutes."""
        self._watching, told = False, time.monotonic()
        self.process.terminate()
        try:
            self.process.wait(120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        return time.monotonic() - told

    def resident(self) -> int:
        """Bytes of memory of the server and its workers; what forked processes share is counted once."""
        total, waiting = 0, [self.process.pid]
        while waiting:
            process = Path(f"/proc/{waiting.pop()}")
            try:
                proportional = (process / "smaps_rollup").read_text().split("Pss:", 1)[1].split()[0]
                children = [(task / "children").read_text().split() for task in (process / "task").iterdir()]
            except (OSError, IndexError):
                continue  # it ended meanwhile
            total += int(proportional) * 1024
            waiting += [int(child) for own in children for child in own]
        return total

    def stored(self) -> int:
        return sum(file.stat().st_size for file in self.home.rglob("*") if file.is_file() and not file.is_symlink())

    def _watch(self) -> None:
        while self._watching and self.process.poll() is None:
            self.peak = max(self.peak, self.resident())
            time.sleep(POLL_INTERVAL_S)


class Honest:
    """Clients that do as they are told: each request is repeated until it is answered."""

    def __init__(self, url: str, key: str, pictures: Path, every: float) -> None:
        self._every = every
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
            await asyncio.sleep(min(started + self._every, end) - time.monotonic())

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

    def __iadd__(self, other: Abuse) -> Abuse:
        self.greedy += other.greedy
        self.slow += other.slow
        self.hostile += other.hostile
        return self


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


def few_chunks() -> bytes:
    """Below the limit of an upload."""
    return many_chunks(200_000)


def hostile_requests(root: Path) -> dict[str, dict[str, Any]]:
    """By kind, what is sent: the path, and what ``httpx`` makes its body of."""
    found: dict[str, dict[str, Any]] = {}
    for made in (many_scans, scans_inside_tiff, many_pages, few_chunks, blocks_j2k):
        file = {"image": (made.__name__, made())}
        found[f"{made.__name__}, preview"] = {"url": "/v1/preview", "files": file}
        found[f"{made.__name__}, assess"] = {"url": "/v1/assess", "files": file, "data": {"query": "Is it sharp?"}}
    regions = {str(number): [0, 0, 1, 1] for number in range(1_000_000)}
    body = json.dumps({"image": {"path": str(root / "picture.png")}, "regions": regions})
    found["megabytes of regions"] = {
        "url": "/v1/assess", "content": body, "headers": {"Content-Type": "application/json"}
    }  # fmt: skip
    noise = stored(np.random.default_rng(0).integers(0, 256, (1500, 1500, 3), np.uint8))
    found["unknown tool"] = {
        "url": "/v1/measure", "files": {"image": ("a.png", noise)}, "data": {"tools": "no_such_tool"}
    }  # fmt: skip
    found["swapped link"] = {
        "url": "/v1/measure", "json": {"image": {"path": str(root / "swapped" / "picture.png")}, "tools": ["sharpness"]}
    }  # fmt: skip
    return found


async def hostile(url: str, key: str, kind: str, request: dict[str, Any], end: float, ended: Counter[str]) -> None:
    async with httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=300) as client:
        while time.monotonic() < end:
            try:
                reply = await asyncio.wait_for(client.post(**request), max(end - time.monotonic(), 1))
                seen = (
                    " SEEN FROM OUTSIDE"
                    if kind == "swapped link" and reply.is_success and FLAT not in reply.text
                    else ""
                )
                ended[f"{kind}: {reply.status_code}{seen}"] += 1
            except (httpx.TransportError, asyncio.TimeoutError) as error:
                ended[f"{kind}: {type(error).__name__}"] += 1
            await asyncio.sleep(COME_BACK_S if kind != "swapped link" else 0.02)


def swap(root: Path, end: float) -> None:
    """A folder of the root that is now itself, now a link out of it."""
    inside, link = root / "inside", root / "swapped"
    while time.monotonic() < end:
        for target in (inside, root.parent / "out"):
            made = root / "made"
            made.unlink(missing_ok=True)
            made.symlink_to(target, target_is_directory=True)
            made.replace(link)
            time.sleep(0.001)


def abusing(
    server: tuple[str, dict[str, str], Path],
    pair: tuple[bytes, bytes],
    arguments: argparse.Namespace,
    told: Queue[Abuse],
) -> None:
    """One round of abuse, in a process of its own: the honest clients' own work must not suffer from it."""
    url, keys, root = server
    if arguments.idle_abusers:
        # Abusers have processors of their own: these take no time from the server, or from honest clients, that waits.
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    abuse, requests = Abuse(), hostile_requests(root) if arguments.hostile else {}
    end = time.monotonic() + arguments.seconds / arguments.rounds

    async def all_of_it() -> None:
        await asyncio.gather(
            *(greedy(url, keys["greedy"], pair, end, abuse.greedy) for _ in range(arguments.greedy)),
            *(slow(url, keys["slow"], end, abuse.slow) for _ in range(arguments.slow)),
            *(hostile(url, keys["hostile"], kind, request, end, abuse.hostile) for kind, request in requests.items()),
        )

    swapping = threading.Thread(target=swap, args=(root, end), daemon=True)
    swapping.start()
    asyncio.run(all_of_it())
    told.put(abuse)


def together(server: Server, honest: Honest, pair: tuple[bytes, bytes], arguments: argparse.Namespace) -> Abuse:
    context = multiprocessing.get_context("spawn")
    told: Queue[Abuse] = context.Queue()
    process = context.Process(target=abusing, args=((server.url, server.keys, server.root), pair, arguments, told))
    process.start()
    asyncio.run(honest.all(arguments.clients, arguments.seconds / arguments.rounds))
    found = told.get(timeout=120)
    process.join(30)
    return found


def ended_under_abuse(server: Server, pair: tuple[bytes, bytes], arguments: argparse.Namespace) -> float:
    """Seconds that the server took to end, told so in the middle of a round of abuse."""
    context = multiprocessing.get_context("spawn")
    told: Queue[Abuse] = context.Queue()
    process = context.Process(target=abusing, args=((server.url, server.keys, server.root), pair, arguments, told))
    process.start()
    time.sleep(LAST_ROUND_S)
    if not process.is_alive():
        raise SystemExit("FAILED: nobody abused the server while it was told to end")
    taken = server.end()
    process.kill()
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=180, help="of abuse, in all rounds together")
    parser.add_argument("--alone-seconds", type=float, default=90, help="of honest clients alone")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument(
        "--every", type=float, default=5, help="seconds from one question of an honest client to its next"
    )
    parser.add_argument("--greedy", type=int, default=3)
    parser.add_argument("--slow", type=int, default=20)
    parser.add_argument("--hostile", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument(
        "--idle-abusers", action=argparse.BooleanOptionalAction, default=True, help="run them when nothing else would"
    )
    parser.add_argument("--memory", help="the server's budget, such as 8G; its default where none is given")
    parser.add_argument("--command", type=Path, default=Path(sys.executable).with_name("agenticiqa"))
    parser.add_argument("--address-space", type=float, help="gigabytes of addresses that the server may use")
    arguments = parser.parse_args()
    options = ["--memory", arguments.memory] if arguments.memory else []
    with tempfile.TemporaryDirectory() as folder:
        pictures, pair = make_pictures(Path(folder) / "pictures"), large_pair()
        with Server(arguments.command, options, arguments.address_space) as server:
            alone, honest = (Honest(server.url, server.keys["honest"], pictures, arguments.every) for _ in range(2))
            abuse = Abuse()
            peak_alone, after_rounds, kept = 0, [], []
            for _ in range(arguments.rounds):
                asyncio.run(alone.all(arguments.clients, arguments.alone_seconds / arguments.rounds))
                peak_alone = peak_alone or server.peak
                abuse += together(server, honest, pair, arguments)
                after_rounds.append(round(server.resident() / GIGABYTE, 2))
                kept.append(round(server.stored() / 1024**2))
                print(f"round {len(kept)}: {after_rounds[-1]} GB, {kept[-1]} MB on disk", file=sys.stderr, flush=True)
            died, peak = server.process.poll(), server.peak
            ending = ended_under_abuse(server, pair, arguments)
    figures = {
        "honest answers per second, alone": round(alone.rate, 2),
        "honest answers per second, under abuse": round(honest.rate, 2),
        "share kept": round(honest.rate / alone.rate, 3),
        "honest requests lost, alone and under abuse": [alone.lost, honest.lost],
        "honest requests by status, under abuse": dict(honest.ended),
        "honest clients ask every so many seconds": arguments.every,
        "median and longest wait of an honest client, alone and under abuse, s": [
            [round(float(np.median(each.waits)), 2), round(max(each.waits), 1)] for each in (alone, honest)
        ],
        "greedy requests by status": dict(abuse.greedy),
        "slow uploads by end": dict(abuse.slow),
        "hostile requests by kind and status": dict(sorted(abuse.hostile.items())),
        "peak memory GB, alone and under abuse": [round(peak_alone / GIGABYTE, 2), round(peak / GIGABYTE, 2)],
        "memory GB after each round": after_rounds,
        "MB kept on disk after each round": kept,
        "seconds to end when told under abuse": round(ending, 1),
        "grace": GRACE_S,
        "budget": arguments.memory or "70 % of the machine or container",
        "the server": "went on" if died is None else f"ended with {died}",
        "load average": [round(value, 1) for value in os.getloadavg()],
    }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
