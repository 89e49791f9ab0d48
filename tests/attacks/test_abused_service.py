"""A short round of ``benchmarks/faults/service_abuse.py``: its long ones are run by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "faults" / "service_abuse.py"


@pytest.mark.hard
def test_honest_clients_are_answered_while_others_abuse_the_service() -> None:
    ended = subprocess.run(
        [sys.executable, SCRIPT, "--seconds", "40", "--alone-seconds", "5", "--rounds", "1", "--clients", "10",
         "--no-idle-abusers"],
        capture_output=True, text=True, check=True, timeout=400,
    )  # fmt: skip
    found = json.loads(ended.stdout)
    assert found["the server"] == "went on"
    assert found["honest requests lost, alone and under abuse"] == [0, 0]
    assert found["honest requests by status, under abuse"]["200"] > 0
    assert found["seconds to end when told under abuse"] < found["grace"]
    hostile = found["hostile requests by kind and status"]
    # How often the race is won here is up to the machine: `test_refused_requests.py` runs it by itself.
    assert any(kind.startswith("swapped link: ") for kind in hostile)
    assert not any("SEEN" in kind for kind in hostile)
