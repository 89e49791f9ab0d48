"""How much memory work may take: what the user said, or a share of what the machine or its container gives.

Work is admitted by what it declares to need. Where that is more than there will ever be, it is refused; where others
hold what it needs, it waits its turn. So many large pictures at once become one after the other, and never more than
the machine has.
"""

import os
import re
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path

from agenticiqa.errors import ConfigError, MemoryLimitError
from agenticiqa.runtime.stopping import checkpoint

MEGABYTE = 1024 * 1024
SHARE = 0.7
"""The default share of the memory of the machine or its container."""
OWN_BYTES = 700 * MEGABYTE
"""What the program itself takes: libraries, the embedded model, caches (measured in docs/running/service.md)."""
POLL_INTERVAL_S = 0.2
"""How often work that waits for memory looks whether it was told to stop."""

_UNITS = {"": 1, "K": 1024, "M": MEGABYTE, "G": 1024 * MEGABYTE, "T": 1024 * 1024 * MEGABYTE}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?", re.IGNORECASE)
# Version 1 of control groups writes a number near 2**63 for "no limit".
_UNLIMITED = 1 << 60
_HELD: ContextVar[int | None] = ContextVar("agenticiqa_memory_held", default=None)


def parse_size(text: str) -> int:
    """Bytes of an amount such as 4G, 1.5 GB or 800m; units are those of 1024."""
    found = _SIZE.fullmatch(text.strip())
    size = int(float(found[1]) * _UNITS[found[2].upper()]) if found else 0
    if size < MEGABYTE:
        raise ConfigError(f"{text!r} is not an amount of memory.", hint="Write 4G or 800M.")
    return size


def available_bytes(root: Path = Path("/")) -> int:
    """What this process may use at most: the machine's memory, or less where a control group limits it."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 8192 * MEGABYTE
    return min([machine, *_group_limits(root)])


def _group_limits(root: Path) -> Iterator[int]:
    """The limits of the process's control group and of all above it; none on systems without such groups."""
    groups = root / "sys/fs/cgroup"
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            top, name = groups, "memory.max"
        elif "memory" in controllers.split(","):
            top, name = groups / "memory", "memory.limit_in_bytes"
        else:
            continue
        # In a container the path may be that of the host: the limit then stands at the top.
        inside = [top.joinpath(*path.strip("/").split("/")[:depth]) for depth in range(path.count("/") + 1)]
        for folder in dict.fromkeys([top, *inside]):
            with suppress(OSError, ValueError):
                limit = int((folder / name).read_text(encoding="ascii"))
                if 0 <= limit < _UNLIMITED:
                    yield limit


class MemoryBudget:
    """The memory that all work of this process may take together, given out first come, first served."""

    def __init__(self, total: int) -> None:
        self.total = total
        self._for_work = max(total - OWN_BYTES, total // 4)
        self._set_aside = 0
        self.taken = 0
        self._turns: deque[object] = deque()
        self._changed = threading.Condition()

    @property
    def largest(self) -> int:
        """What one piece of work can ever get."""
        return self._for_work - self._set_aside

    def check(self, need: int, what: str) -> None:
        """Refuse what can never be admitted."""
        if need > self.largest:
            raise MemoryLimitError(what, need, self.largest)

    @contextmanager
    def hold(self, need: int, what: str) -> Iterator[int]:
        """Wait for memory for the work inside, or use what work around it holds; refused if there is never enough."""
        already = _HELD.get()
        if already is not None:
            yield already
            return
        self.check(need, what)
        turn = object()
        with self._changed:
            self._turns.append(turn)
            try:
                while self._turns[0] is not turn or (self.taken and self.taken + need > self.largest):
                    self._changed.wait(POLL_INTERVAL_S)
                    checkpoint()
                self.taken += need
            finally:
                self._turns.remove(turn)
                self._changed.notify_all()
        try:
            yield need
        finally:
            with self._changed:
                self.taken -= need
                self._changed.notify_all()

    @contextmanager
    def without(self, part: int) -> Iterator[None]:
        """Set a part aside for work that is counted by its own rules."""
        with self._changed:
            self._set_aside += part
        try:
            yield
        finally:
            with self._changed:
                self._set_aside -= part


@contextmanager
def given(amount: int) -> Iterator[None]:
    """Work inside was given this much memory and takes no more from a budget."""
    token = _HELD.set(amount)
    try:
        yield
    finally:
        _HELD.reset(token)


@lru_cache(maxsize=16)
def process_budget(limit: int | None) -> MemoryBudget:
    """The budget of this process; None: a share of what the machine or its container gives, looked up once."""
    return MemoryBudget(int(SHARE * available_bytes()) if limit is None else limit)
