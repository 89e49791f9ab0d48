"""Ctrl-C and SIGTERM while work goes on in other threads."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType


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


@contextmanager
def set_on_interrupt(interrupted: threading.Event) -> Iterator[None]:
    """Ctrl-C inside also sets the event, for other threads; not where a program has a handler of its own."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        interrupted.set()
        signal.default_int_handler(number, frame)

    with on_signals([signal.SIGINT], on_interrupt):
        yield
