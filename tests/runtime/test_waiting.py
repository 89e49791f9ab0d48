"""Waiting for a call in another thread."""

from __future__ import annotations

import threading
import time

import pytest

from agenticiqa.runtime.stopping import Cancelled, OverdueError, checkpoint, pause, run_cancellable, stoppable


def test_what_a_call_gives_or_raises_is_had_where_it_is_waited_for() -> None:
    def fail() -> None:
        raise ValueError("as it was")

    with pytest.raises(ValueError, match="as it was"):
        run_cancellable(fail, 10, "call")
    assert run_cancellable(lambda: 7, 10, "call") == 7


def test_a_call_that_takes_too_long_is_left() -> None:
    forever = threading.Event()
    with pytest.raises(OverdueError):
        run_cancellable(forever.wait, 0.05, "call")
    forever.set()


def test_waiting_ends_when_the_work_is_stopped() -> None:
    forever, stop = threading.Event(), threading.Event()

    def check() -> None:
        if stop.is_set():
            raise Cancelled

    for wait in (lambda: run_cancellable(forever.wait, 600, "call"), lambda: pause(600)):
        stop.clear()
        threading.Timer(0.1, stop.set).start()
        started = time.monotonic()
        with stoppable(check), pytest.raises(Cancelled):
            wait()
        assert time.monotonic() - started < 60
    forever.set()


def test_work_inside_work_is_stopped_by_either() -> None:
    def stop() -> None:
        raise Cancelled

    with stoppable(stop), stoppable(lambda: None), pytest.raises(Cancelled):
        checkpoint()
    with stoppable(lambda: None), stoppable(stop), pytest.raises(Cancelled):
        checkpoint()
    checkpoint()
