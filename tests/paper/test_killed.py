"""Every table in one command against a model on loopback: killed twice in the middle, nothing is paid twice."""

from __future__ import annotations

import json
import signal
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from scipy import stats

from support.command_line import CommandLine
from support.paper_data import FEW_PICTURES, PICTURES, QUESTIONS, make_paper_data
from support.scripted_judge import ScriptedJudge

pytestmark = pytest.mark.hard

SAMPLES = PICTURES + 2 * FEW_PICTURES + 2 * QUESTIONS
METHODS = ("direct-openai.gpt-4o", "agents-openai.gpt-4o", "agents-openai.gpt-4o-without-executor")
KILLED_AFTER = (40, 110)
"""Requests that had been answered by then, of all that were ever made."""


def outcomes(output: Path, table: str) -> list[dict]:
    return json.loads((output / f"{table}.json").read_text())["outcomes"]


def lines_of(output: Path, outcome: dict) -> list[dict]:
    """The file is named from the folder that the command ran in."""
    return [json.loads(line) for line in (output.parent / outcome["results"]).read_text().splitlines()]


def test_killed_twice_and_resumed_every_table_is_filled_and_no_sample_paid_twice(tmp_path, command_line: CommandLine):
    data = make_paper_data(tmp_path / "data")
    command_line = replace(command_line, module="benchmarks.paper")
    arguments = (
        "all", "--data", data, "--models", "openai.gpt-4o", "--methods", "direct,agents",
        "--without", "executor", "--output", "out", "--workers", "1", "--max-replan", "0", "--resamples", "0", "--json",
    )  # fmt: skip
    output = command_line.folder / "out"
    with ScriptedJudge() as judge:
        command_line.environment |= {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": judge.base_url}
        for answered in KILLED_AFTER:
            running = command_line.start(*arguments)
            judge.kill_at(running.pid, answered)
            running.communicate(timeout=300)
            assert running.returncode == -signal.SIGKILL
            assert not (output / "ratings.md").exists()
        done = command_line(*arguments)
        assert done.code == 0, done.err
        assert set(judge.paid.values()) == {1}
        paid = sum(judge.paid.values())
        again = command_line(*arguments)
        assert again.code == 0
        assert sum(judge.paid.values()) == paid

    tables = json.loads(done.out)
    assert [table["table"] for table in tables] == ["ratings", "eval", "qbench", "ablations"]
    assert all(outcome["state"] == "done" for table in tables for outcome in table["outcomes"])
    for suffix in ("md", "json"):
        assert len(list(output.glob(f"*.{suffix}"))) == 4
    files = list(output.glob("runs/*/*/results.jsonl"))
    assert {file.parent.name for file in files} == set(METHODS)
    answered_samples = Counter(
        (file.parent.name, json.loads(line)["sample_id"]) for file in files for line in file.read_text().splitlines()
    )
    assert len(answered_samples) == len(METHODS) * SAMPLES
    assert set(answered_samples.values()) == {1}
    check_against_scipy(output)


def check_against_scipy(output: Path) -> None:
    """The tables' figures, computed again from the result lines."""
    seen = Counter()
    for table in ("ratings", "ablations"):
        for each in outcomes(output, table):
            if not each["scores"]:
                continue
            lines = lines_of(output, each)
            scores = [line["summarizer_result"]["quality_score"] for line in lines]
            opinions = [line["mos"] for line in lines]
            assert each["scores"]["srcc"]["value"] == pytest.approx(stats.spearmanr(scores, opinions)[0], abs=1e-12)
            assert each["scores"]["plcc"]["value"] == pytest.approx(stats.pearsonr(scores, opinions)[0], abs=1e-12)
            calls = [call for line in lines for call in line["metadata"]["call_log"]]
            assert each["expense"]["usd"] == pytest.approx(len(calls) * (1000 * 2.5 + 50 * 10) / 1e6)
            seen[table] += 1
    for table in ("eval", "qbench"):
        for each in outcomes(output, table):
            lines = lines_of(output, each)
            right = sum(line["summarizer_result"]["final_answer"] == line["answer"] for line in lines)
            interval = stats.binomtest(right, len(lines)).proportion_ci(0.95, "wilson")
            found = each["choices"]["accuracy"]
            assert found["value"] == right / len(lines)
            assert (found["low"], found["high"]) == pytest.approx((interval.low, interval.high), abs=1e-12)
            seen[table] += 1
    assert seen == {"ratings": 6, "ablations": 9, "eval": 2, "qbench": 2}
