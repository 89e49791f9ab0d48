"""Pictures read in processes of their own, which can be ended: for programs that open the files of strangers.

Readers of pictures are native code that nothing interrupts, and a small file can keep one busy for minutes. Here each
has so much processor time and memory as an honest picture of its size may need; and whoever waits for it is asked
meanwhile whether to go on (:func:`agenticiqa.runtime.stopping.checkpoint`).
"""

import contextlib
import json
import math
import os
import pkgutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from agenticiqa import errors
from agenticiqa.runtime.config import ImageLimits
from agenticiqa.runtime.stopping import POLL_INTERVAL_S, OverdueError, checkpoint, run_cancellable

if sys.platform != "win32":
    import resource

Reply = tuple[dict[str, Any], list[npt.NDArray[Any]]]
"""Facts as JSON has them, and pixels."""
TASKS = {
    "size": "agenticiqa.pictures.images:size_apart",
    "decode": "agenticiqa.pictures.images:decode_apart",
    "facts": "agenticiqa.pictures.file_facts:facts_apart",
}
HEADER_S = 2
"""Processor time for a header. Honest ones take milliseconds."""
PIXELS_S = 4
"""And for the pixels, at least; …"""
S_PER_MEGAPIXEL = 0.5
"""… of large pictures so much for each million: raw files and JPEG 2000 take a third of it."""
LONGEST_S = 120.0
"""By the clock, where nobody who waits has a limit of their own."""
BYTES_PER_PIXEL = 48
"""What reading may take of memory (tools/needs.py counts with 40), beside EXTRA_BYTES."""
HEADER_BYTES_PER_PIXEL = 10
"""Of the largest picture: the reader of WebP makes room for all pixels when it reads the header."""
EXTRA_BYTES = 256 * 1024 * 1024
ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    # glibc: what a large picture took goes back to the system, instead of being kept for the next.
    "MALLOC_MMAP_THRESHOLD_": "1048576",
    "MALLOC_TRIM_THRESHOLD_": "1048576",
}
START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from agenticiqa.pictures.isolation import serve; serve()"
)


# --- inside a process ---


def serve() -> None:
    """Answer until the other end closes: the program is done, or gone."""
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # Whatever a library prints goes where messages go.
    os.dup2(2, 1)
    # The program decides when it ends, not whoever stops all its processes: accepted work may need this one.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    functions = {name: pkgutil.resolve_name(where) for name, where in TASKS.items()}
    memory = _data_bytes() + EXTRA_BYTES
    while line := requests.readline():
        _answer(json.loads(line), requests, replies, functions, memory)


def _answer(
    request: dict[str, Any], requests: IO[bytes], replies: IO[bytes], functions: dict[str, Any], memory: int
) -> None:
    given = {"path": request["path"], "limits": ImageLimits(**request["limits"])}
    data = requests.read(request["bytes"])
    arrays: list[npt.NDArray[Any]] = []
    try:
        _allow(HEADER_S, memory + HEADER_BYTES_PER_PIXEL * given["limits"].max_pixels)
        facts, _ = functions["size"](data, **given)
        if request["task"] != "size":
            pixels = math.prod(facts["size"])
            _allow(PIXELS_S + S_PER_MEGAPIXEL * pixels / 1e6, memory + BYTES_PER_PIXEL * pixels)
            facts, arrays = functions[request["task"]](data, **given)
    except errors.ImageError as error:
        told = {"message": error.message, "hint": error.hint, "client_hint": error.client_hint}
        facts = {"error": type(error).__name__, **told}
    described = {**facts, "arrays": [(str(each.dtype), each.shape) for each in arrays]}
    replies.write(json.dumps(described).encode() + b"\n")
    for each in arrays:
        replies.write(np.ascontiguousarray(each).data.cast("B"))
    replies.flush()


def _allow(seconds: float, memory: int) -> None:
    """From now on this process may use so much; beyond that its time ends it, and memory is refused."""
    if sys.platform == "win32":
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for kind, limit in (
        (resource.RLIMIT_CPU, math.ceil(time.process_time() + seconds)),
        (resource.RLIMIT_DATA, memory),
    ):
        most = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (limit if most == resource.RLIM_INFINITY else min(limit, most), most))


def _data_bytes() -> int:
    """What this process has of its own already; 0 where the system does not say."""
    with contextlib.suppress(OSError), open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    return 0


# --- the processes, seen from the program ---


class _Process:
    def __init__(self) -> None:
        path = [os.path.abspath(each) for each in sys.path if each]
        self._popen = subprocess.Popen(  # noqa: S603 - this interpreter, with code of this file
            [sys.executable, "-I", "-c", START, json.dumps(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Ctrl-C is for the program alone.
            start_new_session=True,
            env={**os.environ, **ENVIRONMENT},
        )
        self._pipes: tuple[IO[bytes], IO[bytes]] = (self._popen.stdin, self._popen.stdout)  # type: ignore[assignment]

    @property
    def is_alive(self) -> bool:
        return self._popen.poll() is None

    def ask(self, request: dict[str, Any], data: bytes) -> Reply:
        """Raises EOFError where the process ends meanwhile."""
        requests, replies = self._pipes
        try:
            requests.write(json.dumps(request).encode() + b"\n" + data)
            requests.flush()
            facts = json.loads(replies.readline())
        except (OSError, ValueError):
            raise EOFError from None
        arrays = [np.empty(shape, np.dtype(kind)) for kind, shape in facts.pop("arrays")]
        for each in arrays:
            if replies.readinto(each.data.cast("B")) != each.nbytes:  # type: ignore[attr-defined]
                raise EOFError
        return facts, arrays

    def end(self) -> int:
        """The exit status: its own, or that of being ended here."""
        self._popen.kill()
        status = self._popen.wait()
        for pipe in self._pipes:
            with contextlib.suppress(OSError):
                pipe.close()
        return status


class DecodingProcesses:
    """Up to ``most`` processes, started when they are needed; ``kept`` of them wait for the next picture."""

    def __init__(self, most: int, kept: int) -> None:
        self._places = threading.BoundedSemaphore(most)
        self._kept = kept
        self._all: set[_Process] = set()
        self._idle: list[tuple[int, _Process]] = []
        """With the priority of each, which is that of the thread that started it."""
        self._lock = threading.Lock()
        self._closed = False

    def ask(self, task: str, data: bytes, path: str | None, limits: ImageLimits) -> Reply:
        """The reply of one of the tasks; a picture that cannot be read in its time and memory is an ImageError."""
        request = {"task": task, "bytes": len(data), "path": path, "limits": limits.model_dump()}
        while not self._places.acquire(timeout=POLL_INTERVAL_S):
            checkpoint()
        try:
            process, priority = self._taken()
            try:
                facts, arrays = run_cancellable(lambda: process.ask(request, data), LONGEST_S, "reading a picture")
            except (EOFError, OverdueError):
                raise self._unreadable(path, process.end()) from None
            except BaseException:
                process.end()
                raise
            finally:
                self._returned(process, priority)
        finally:
            self._places.release()
        if kind := facts.get("error"):
            words = {name: facts[name] for name in ("hint", "client_hint")}
            raise getattr(errors, kind)(facts["message"], **words)
        return facts, arrays

    def _taken(self) -> tuple[_Process, int]:
        priority = os.sched_getscheduler(0) if sys.platform == "linux" else 0
        with self._lock:
            if self._closed:
                raise errors.ImageError("The program is stopping: no more pictures are read.", hint="Ask again.")
            for entry in [each for each in self._idle if each[0] == priority]:
                self._idle.remove(entry)
                if entry[1].is_alive:
                    return entry[1], priority
                self._all.discard(entry[1])
            process = _Process()
            self._all.add(process)
            return process, priority

    def _returned(self, process: _Process, priority: int) -> None:
        with self._lock:
            if process.is_alive and len(self._idle) < self._kept and not self._closed:
                self._idle.append((priority, process))
                return
            self._all.discard(process)
        process.end()

    def _unreadable(self, path: str | None, status: int) -> errors.ImageError:
        name = repr(path) if path else "The picture"
        if self._closed:
            return errors.ImageError(f"{name} was not read: the program is stopping.", hint="Ask again.")
        if sys.platform != "win32" and status in (-signal.SIGXCPU, -signal.SIGKILL):
            return errors.ImageError(
                f"{name} takes far longer to open than a picture of its size should.", hint="Save it anew, plainly."
            )
        return errors.ImageFormatError(f"{name} makes its reader fail.", hint="Save it anew, plainly.")

    def close(self) -> None:
        """End all of them, also those at work."""
        with self._lock:
            self._closed = True
            processes, self._all, self._idle = self._all, set(), []
        for process in processes:
            process.end()


_pools: list[DecodingProcesses] = []


def pool() -> DecodingProcesses | None:
    """Where pictures are read; None: in this process."""
    return _pools[-1] if _pools else None


@contextmanager
def isolated_reading(most: int, kept: int) -> Iterator[None]:
    """Inside, this program reads pictures in other processes."""
    processes = DecodingProcesses(most, kept)
    _pools.append(processes)
    try:
        yield
    finally:
        _pools.remove(processes)
        processes.close()
