"""How work is told to stop: whoever starts it says how to find out, the work asks between two steps."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("agenticiqa_stop_check", default=None)


@contextmanager
def stoppable(check: Callable[[], None]) -> Iterator[None]:
    """Work inside calls ``check`` between its steps; what that raises (a ``StopRun``) ends the work.

    Work inside work is stopped by either. Threads that the work starts must run in a copy of its context.
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
    """Go on, or unwind."""
    check = _CHECK.get()
    if check is not None:
        check()


# --- Waiting that ends at once when the work is told to stop ---


T = TypeVar("T")

LOOK_S = 0.1
"""How often a wait asks whether to go on."""


def pause(seconds: float) -> None:
    """Sleep, or unwind."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        checkpoint()
        time.sleep(min(left, LOOK_S))
    checkpoint()


def run_cancellable(call: Callable[[], T], seconds: float, name: str) -> T:
    """What a call gives or raises; TimeoutError when it takes longer, and whatever stops the work when told so.

    An abandoned call ends by itself, in a daemon thread: nobody waits for it, and it keeps no program from ending.
    """
    outcome = _Outcome[T]()
    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(outcome.of, call), daemon=True, name=name).start()
    end = time.monotonic() + seconds
    while not outcome.done.wait(max(0.0, min(LOOK_S, end - time.monotonic()))):
        checkpoint()
        if time.monotonic() >= end:
            raise OverdueError
    return outcome.result()


class OverdueError(TimeoutError):
    """The call itself has not ended in time; one that ended with a time-out of its own raised that."""


class _Outcome(Generic[T]):
    """Takes whatever a call returns or raises from one thread to another."""

    def __init__(self) -> None:
        self._found: list[T] = []
        self._error: BaseException | None = None
        self.done = threading.Event()

    def of(self, call: Callable[[], T]) -> None:
        try:
            self._found.append(call())
        except BaseException as error:  # noqa: BLE001 - raised again, in the thread that waits
            self._error = error
        finally:
            self.done.set()

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        return self._found[0]
