"""A long measurement can be stopped between two tiles: whoever measures says how, the metrics ask.

The same idea as ``agenticiqa.runtime.stopping``, whose check is handed in here: metrics import nothing of the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("between_tiles", default=None)


@contextmanager
def interruptible(check: Callable[[], None]) -> Iterator[None]:
    """Inside, ``check`` is called between tiles; what it raises ends the measurement."""
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)


def checkpoint() -> None:
    """Between two tiles or two steps over the whole picture: go on, or unwind."""
    check = _CHECK.get()
    if check is not None:
        check()
