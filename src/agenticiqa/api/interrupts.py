"""Ctrl-C and SIGTERM while work goes on in other threads."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from agenticiqa.runtime.runs import INTERRUPTED
from agenticiqa.runtime.stopping import Cancelled


@contextmanager
def on_signals(
    numbers: Sequence[int],
    handler: Callable[[int, FrameType | None], None],
    *,
    then_ignored: Callable[[], bool] = lambda: False,
) -> Iterator[None]:
    """Inside, these signals call ``handler``; afterwards the earlier handlers count again.

    Other threads than the main one get no signals: there nothing changes. Where ``then_ignored`` says so at the end,
    Ctrl-C stays without effect: another one that is still on its way must not end what follows.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, signal.SIG_IGN if number == signal.SIGINT and then_ignored() else earlier)


class Interrupts:
    """Whether Ctrl-C was pressed; a check for :func:`agenticiqa.runtime.stopping.stoppable`."""

    def __init__(self) -> None:
        self._heard = threading.Event()

    def tell(self) -> None:
        self._heard.set()

    def check(self) -> None:
        if self._heard.is_set():
            raise Cancelled(INTERRUPTED)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Ctrl-C still raises KeyboardInterrupt inside; the work's other threads learn of it as well.

        Only where Python's own handler is in place: a program with one of its own decides itself.
        """
        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return

        def heard(number: int, frame: FrameType | None) -> None:
            self.tell()
            signal.default_int_handler(number, frame)

        with on_signals([signal.SIGINT], heard):
            yield
