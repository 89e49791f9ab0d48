"""How work is told to stop: whoever starts it says how to find out, the work asks between two steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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
