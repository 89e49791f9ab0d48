"""Ctrl-C while the work goes on in other threads: they are told, so that ending does not wait for a model's reply."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from agenticiqa.runtime.runs import INTERRUPTED, StopRun


class Interrupts:
    """Whether Ctrl-C was pressed; a check for :func:`agenticiqa.runtime.stopping.stoppable`."""

    def __init__(self) -> None:
        self._heard = threading.Event()

    def tell(self) -> None:
        self._heard.set()

    def check(self) -> None:
        if self._heard.is_set():
            raise StopRun(INTERRUPTED)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Ctrl-C still raises KeyboardInterrupt inside; the work's other threads learn of it as well.

        Only where Python's own handler is in place: a program with one of its own decides itself.
        """
        ours = threading.current_thread() is threading.main_thread()
        if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return

        def heard(number: int, frame: FrameType | None) -> None:
            self.tell()
            signal.default_int_handler(number, frame)

        signal.signal(signal.SIGINT, heard)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
