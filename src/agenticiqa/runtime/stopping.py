"""Cooperative cancellation: the caller installs a check, the work calls it between two steps."""

import contextvars
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

POLL_INTERVAL_S = 0.1
"""How often a wait asks whether to go on."""

_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("agenticiqa_stop_check", default=None)


class Cancelled(Exception):  # noqa: N818 - a signal to unwind, not a failure
    """Raised by a check or a listener to end the work. ``status`` is recorded."""

    def __init__(self, status: str = "cancelled") -> None:
        super().__init__(status)
        self.status = status


@contextmanager
def stoppable(check: Callable[[], None]) -> Iterator[None]:
    """Work inside calls ``check`` between its steps; the :class:`Cancelled` that it raises ends the work.

    Work inside work is stopped by either check. Threads that the work starts must run in a copy of its context.
    """
    outer = _CHECK.get()

    def both() -> None:
        if outer is not None:
            outer()
        check()

    token = _CHECK.set(both)
    try:
        yield
    finally:
        _CHECK.reset(token)


def checkpoint() -> None:
    """Call the checks of all :func:`stoppable` blocks around, if any, the outermost first; raises what they raise."""
    check = _CHECK.get()
    if check is not None:
        check()


def pause(seconds: float) -> None:
    """Sleep, with a :func:`checkpoint` at least every :data:`POLL_INTERVAL_S` seconds and one at the end."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        checkpoint()
        time.sleep(min(left, POLL_INTERVAL_S))
    checkpoint()


class OverdueError(TimeoutError):
    """The call itself has not ended in time; one that ended with a time-out of its own raised that."""


def run_cancellable(call: Callable[[], T], seconds: float, name: str) -> T:
    """Run ``call`` in a thread called ``name``, in a copy of this context; returns or raises what it does.

    Raises :class:`OverdueError` after ``seconds``, and what a :func:`checkpoint` raises meanwhile. The call is then
    abandoned: it ends by itself, in a daemon thread, which keeps no program from ending.
    """
    future: Future[T] = Future()

    def work() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised again, in the thread that waits
            future.set_exception(error)

    threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True, name=name).start()
    end = time.monotonic() + seconds
    while not wait([future], max(0.0, min(POLL_INTERVAL_S, end - time.monotonic()))).done:
        checkpoint()
        if time.monotonic() >= end:
            raise OverdueError
    return future.result()
