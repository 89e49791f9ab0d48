"""Inside a worker process: take tasks from the runner, do one after the other, send back what was found."""

from __future__ import annotations

import ctypes
import logging
import os
import pickle
import shutil
import signal
import tempfile
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, NamedTuple

from agenticiqa.batch.work import Done, Job, Outcome, SampleWorker, Task

logger = logging.getLogger(__name__)

READY = "ready"
# Results of quick samples wait for others: written down and sent together, each takes a third of the time.
GATHER_S = 0.02
# What still waits behind a slow sample is sent after this time.
WATCH_S = 0.1
# How long a worker whose runner is gone may go on with its sample.
LAST_S = 5.0
BROKEN = 70


class Results(NamedTuple):
    """What a worker tells of one or several samples, in the order in which it did them."""

    outcomes: list[Outcome]
    seconds: float
    """For all of them together; waiting is not counted."""


# Messages are plain data: pickled directly they take half the time that a connection's own ``send`` needs.
def send(pipe: Connection, message: object) -> None:
    pipe.send_bytes(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))


def receive(pipe: Connection) -> Any:
    return pickle.loads(pipe.recv_bytes())  # noqa: S301 - a private pipe to our own process


def serve(pipe: Connection, job: Job, threads: int, scratch: str, finished: ctypes.c_uint64) -> None:
    """Do tasks until the other end closes: the runner is done, or gone.

    ``finished`` is shared with the runner, which learns from it what a worker that died was working on.
    """
    import cv2

    # Standard output is the runner's: whatever a tool or library prints here goes where messages go.
    with suppress(OSError):
        os.dup2(2, 1)
    # Ctrl-C reaches every process of a terminal; the runner decides what happens then.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    cv2.setNumThreads(threads)
    tempfile.tempdir = scratch
    worker = SampleWorker(job.with_tool_threads(threads))
    outbox = _Outbox(pipe, worker)
    parcels: SimpleQueue[list[Task]] = SimpleQueue()
    with suppress(OSError):
        send(pipe, READY)
        threading.Thread(target=_attend, args=(pipe, parcels, outbox, scratch), daemon=True, name="attend").start()
        while parcel := parcels.get():
            _work_off(parcel, worker, outbox, finished)
    worker.close()
    # The runner does this too, unless it was killed.
    shutil.rmtree(scratch, ignore_errors=True)


def _work_off(parcel: list[Task], worker: SampleWorker, outbox: _Outbox, finished: ctypes.c_uint64) -> None:
    # Rows are read together: one by one between two pictures, with other code in the processor's caches, this would
    # take three times as long.
    started = time.monotonic()
    for task in parcel:
        task.row.read()
    for task in parcel:
        found = worker.do(task)
        finished.value += 1
        outbox.add(found, time.monotonic() - started)
        started = time.monotonic()
    outbox.send_all()


def _attend(pipe: Connection, parcels: SimpleQueue[list[Task]], outbox: _Outbox, scratch: str) -> None:
    """In a thread of its own, while a sample is worked on: the next ones are here when it is done; what is done need
    not wait for the next sample, which may take long; and no sample that never ends outlives the runner.
    """
    try:
        while True:
            if pipe.poll(WATCH_S):
                parcels.put(receive(pipe))
            outbox.send_what_waited(WATCH_S)
    except (EOFError, OSError):
        parcels.put([])  # The runner is done, or gone.
        time.sleep(LAST_S)
        shutil.rmtree(scratch, ignore_errors=True)
        os._exit(BROKEN)
    except BaseException:
        # Nobody would hear of any more results: the runner shall see this worker die.
        logger.exception("The worker cannot go on")
        os._exit(BROKEN)


class _Outbox:
    """Samples that are done and whose results are still to be written down and sent."""

    def __init__(self, pipe: Connection, worker: SampleWorker) -> None:
        self._pipe = pipe
        self._worker = worker
        self._done: list[Done] = []
        self._seconds = 0.0
        self._sent_at = time.monotonic()
        self._lock = threading.Lock()

    def add(self, done: Done, seconds: float) -> None:
        with self._lock:
            self._done.append(done)
            self._seconds += seconds
            if time.monotonic() - self._sent_at >= GATHER_S:
                self._send()

    def send_all(self) -> None:
        with self._lock:
            self._send()

    def send_what_waited(self, seconds: float) -> None:
        with self._lock:
            if time.monotonic() - self._sent_at >= seconds:
                self._send()

    def _send(self) -> None:
        if self._done:
            send(self._pipe, Results([self._worker.outcome(each) for each in self._done], self._seconds))
            self._done, self._seconds = [], 0.0
            self._sent_at = time.monotonic()
