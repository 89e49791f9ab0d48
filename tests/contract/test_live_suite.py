"""`make live` itself, run against servers that this project did not write, by the addresses in the environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from wire import KEY

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.contract, pytest.mark.hard]
LOG_PROBABILITIES = "test_levels_are_weighed_by_log_probabilities_or_it_is_known_why_not"


def live(home: Path, **environment: str) -> tuple[int, str]:
    kept = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_BASE_URL"))}
    kept = {name: value for name, value in kept.items() if not name.startswith(("AGENTICIQA_", "COV_", "PYTEST_"))}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/live", "-o", "addopts=--import-mode=importlib -ra -s"],
        cwd=ROOT,
        env={**kept, "AGENTICIQA_HOME": str(home), "XDG_CONFIG_HOME": str(home), **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_a_server_of_ones_own_with_schemas_and_log_probabilities_passes(llama_server, tmp_path):
    room = {f"AGENTICIQA_{role}__MAX_TOKENS": "6000" for role in ("PLANNER", "EXECUTOR", "SUMMARIZER")}
    code, told = live(
        tmp_path,
        AGENTICIQA_LIVE="compatible",
        AGENTICIQA_LIVE_MODEL=llama_server.model,
        COMPATIBLE_BASE_URL=llama_server.base_url,
        **room,
    )
    assert (code, "5 passed" in told) == (0, True), told
    assert "token probabilities: yes" in told


@pytest.mark.parametrize(
    ("provider", "path", "passes"), [("anthropic", "", True), ("openai", "/v1", False), ("google", "", False)]
)
def test_each_provider_is_really_asked(aimock, tmp_path, provider, path, passes):
    """aimock gives no log-probabilities and no reason: of OpenAI and Google the suite demands one of the two."""
    name = provider.upper()
    asked = {f"{name}_API_KEY": KEY, f"{name}_BASE_URL": f"{aimock.url}{path}"}
    code, told = live(tmp_path, AGENTICIQA_LIVE=provider, **asked)
    assert "10 calls, $0.0" in told, told
    if passes:
        assert (code, "5 passed" in told) == (0, True), told
    else:
        assert (code, "1 failed, 4 passed" in told) == (1, True), told
        assert f"FAILED tests/live/test_live.py::{LOG_PROBABILITIES}" in told


def test_without_a_provider_or_with_a_wrong_key_nothing_passes(aimock, tmp_path):
    code, told = live(tmp_path)
    assert (code, "Set AGENTICIQA_LIVE to one of openai, anthropic, google" in told) == (1, True)
    wrong = {"ANTHROPIC_API_KEY": "another-key", "ANTHROPIC_BASE_URL": aimock.url}
    code, told = live(tmp_path, AGENTICIQA_LIVE="anthropic", **wrong)
    assert (code, "5 failed" in told, "passed" in told.splitlines()[-1]) == (1, True, False)
