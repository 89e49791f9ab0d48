"""Sending to a worker process without ever waiting for it."""

from __future__ import annotations

import pickle
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import SimpleQueue

LAST_WAIT_S = 1.0


class Courier:
    """Sends from a thread of its own. A pipe holds little: whoever sends more waits until the other end reads, and a
    worker that is stuck, was stopped, or is sending something large itself does not. The runner must go on meanwhile:
    only what it reads lets that worker go on, and only what it sees on the clock ends it.
    """

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._messages: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._deliver, daemon=True, name="courier")
        self._thread.start()

    def send(self, message: object) -> None:
        self._messages.put(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))

    def _deliver(self) -> None:
        for message in iter(self._messages.get, None):
            # A worker that has died is found out by whoever reads from the pipe.
            with suppress(OSError):
                self._pipe.send_bytes(message)
        # Closed here, never while it is being written to.
        self._pipe.close()

    def close_pipe(self) -> None:
        """Once everything is delivered. What cannot be delivered ends when the worker does."""
        self._messages.put(None)

    def wait(self) -> None:
        """After the worker has ended and the pipe was to be closed."""
        self._thread.join(LAST_WAIT_S)
