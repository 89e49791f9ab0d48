"""A batch's progress on standard error: a live line on a terminal, plain lines now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

if TYPE_CHECKING:
    from agenticiqa.batch.tally import Tally

PLAIN_LINE_EVERY_S = 10.0
LIVE_EVERY_S = 0.2


@contextmanager
def progress_display(console: Console) -> Iterator[Callable[[Tally], None]]:
    """A function to call with the tally, as often as one likes."""
    if not console.is_terminal:
        yield _PlainLines(console)
        return
    columns = (TextColumn("Batch"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[pace]}"))
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("Batch", total=None, pace="")
        last = 0.0

        def show(tally: Tally) -> None:
            nonlocal last
            if time.monotonic() - last >= LIVE_EVERY_S:
                last = time.monotonic()
                progress.update(task, total=tally.total, completed=tally.finished, pace=described(tally))

        yield show


class _PlainLines:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = time.monotonic()

    def __call__(self, tally: Tally) -> None:
        if time.monotonic() - self._last < PLAIN_LINE_EVERY_S:
            return
        self._last = time.monotonic()
        self._console.print(
            f"{tally.finished}/{tally.total} {described(tally)}", highlight=False, markup=False, soft_wrap=True
        )


def described(tally: Tally) -> str:
    """Rate, time left, errors by type and cost, in one line."""
    parts = [f"{tally.rate:.1f}/s"]
    if tally.seconds_left is not None:
        parts.append(f"{timedelta(seconds=round(tally.seconds_left))} left")
    parts += [f"{kind} {count}" for kind, count in tally.errors.most_common(4)]
    if tally.calls:
        parts.append(f"${tally.cost_usd:.4f}" if tally.cost_known else "cost unknown")
    return ", ".join(parts)
