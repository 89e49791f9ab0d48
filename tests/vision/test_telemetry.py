"""Nothing leaves the machine, and nothing is prepared to leave it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PICTURE = Path(__file__).resolve().parents[2] / "examples" / "pictures" / "dandelion.jpg"


@pytest.mark.hard
def test_a_fresh_home_stays_empty(tmp_path: Path) -> None:
    """The verbs write nothing, and the runtime of the networks gets no place for a device id and its events."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "ORT_", "AGENTICIQA_"))}
    code = f"import agenticiqa; print(agenticiqa.assess({str(PICTURE)!r}).status)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**kept, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert done.stdout.strip() == "ok"
    assert list(tmp_path.rglob("*")) == []
