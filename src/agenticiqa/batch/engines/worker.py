"""Inside a worker process: take a task from the runner, do it, send back its result, take the next."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
from contextlib import suppress
from multiprocessing import connection
from multiprocessing.connection import Connection

from agenticiqa.batch.work import BatchJob, SampleWorker

READY = "ready"
ABANDONED = 70
"""The exit code of a worker whose runner is gone."""


def serve(pipe: Connection, job: BatchJob, threads: int, scratch: str) -> None:
    """Do tasks until the other end closes: the runner is done, or gone."""
    import cv2

    # Standard output is the runner's: whatever a tool or library prints here goes where messages go.
    with suppress(OSError):
        os.dup2(2, 1)
    # Ctrl-C reaches every process of a terminal; the runner decides what happens then.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_runner, args=(scratch,), daemon=True, name="watch").start()
    cv2.setNumThreads(threads)
    tempfile.tempdir = scratch
    worker = SampleWorker(job.with_tool_threads(threads))
    with suppress(EOFError, OSError):
        pipe.send(READY)
        while True:
            pipe.send(worker.work(pipe.recv()))
    worker.close()
    # The runner does this too, unless it was killed.
    shutil.rmtree(scratch, ignore_errors=True)


def _end_with_the_runner(scratch: str) -> None:
    """A sample that never ends must not outlive the runner: nobody would read its result, or stop it."""
    runner = multiprocessing.parent_process()
    if runner is None:
        raise RuntimeError("a worker is started by a runner")
    connection.wait([runner.sentinel])
    shutil.rmtree(scratch, ignore_errors=True)
    os._exit(ABANDONED)
