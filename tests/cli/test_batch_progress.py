"""What a batch shows while it runs."""

from __future__ import annotations

import io

from rich.console import Console

from agenticiqa.batch.runner import Tally
from agenticiqa.batch.work import SampleOutcome
from agenticiqa.cli import batch as batch_progress
from agenticiqa.cli.batch import described, progress_display


def tally_of(*outcomes: SampleOutcome, total: int = 10) -> Tally:
    tally = Tally(total=total)
    for outcome in outcomes:
        tally.add(outcome)
    return tally


OK = SampleOutcome(0, b"", "ok", None, 5, 0.25)
FAILED = SampleOutcome(1, b"", "error", "rate_limit", 1, 0.0)


def test_one_line_tells_rate_time_left_errors_and_cost():
    tally = tally_of(OK, FAILED, FAILED)
    told = described(tally)
    assert "/s, " in told
    assert " left" in told
    assert "rate_limit 2" in told
    assert told.endswith("$0.2500")
    assert (tally.finished, tally.worked) == (3, 3)


def test_cost_that_is_not_known_is_not_made_up():
    assert described(tally_of(OK, SampleOutcome(1, b"", "ok", None, 5, None))).endswith("cost unknown")


def test_nothing_is_said_of_cost_where_no_model_is_asked():
    assert "$" not in described(tally_of(SampleOutcome(0, b"", "ok")))


def test_plain_lines_where_nobody_watches(monkeypatch):
    monkeypatch.setattr(batch_progress, "PLAIN_LINE_EVERY_S", 0.0)
    written = io.StringIO()
    with progress_display(Console(file=written)) as show:
        show(tally_of(OK))
    assert written.getvalue().startswith("1/10 ")
    assert "\x1b" not in written.getvalue()


def test_live_line_on_a_terminal():
    written = io.StringIO()
    with progress_display(Console(file=written, force_terminal=True, width=120)) as show:
        show(tally_of(OK, FAILED))
    assert "2/10" in written.getvalue()
    assert "rate_limit 1" in written.getvalue()
