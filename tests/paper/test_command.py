"""`python -m benchmarks.paper`: what it prints, refuses, costs and leaves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from support.command_line import CommandLine
from support.paper_data import QUESTIONS, make_paper_data
from support.scripted_judge import ScriptedJudge


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return make_paper_data(tmp_path_factory.mktemp("data"))


@pytest.fixture
def command_line(command_line: CommandLine) -> CommandLine:
    return replace(command_line, module="benchmarks.paper")


@pytest.fixture
def judge(command_line: CommandLine) -> Iterator[ScriptedJudge]:
    with ScriptedJudge() as server:
        command_line.environment |= {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.base_url}
        yield server


@pytest.mark.hard
def test_dry_run_tells_calls_and_cost_and_leaves_nothing(command_line, data, judge):
    arguments = ("all", "--data", data, "--models", "openai.gpt-4o", "--dry-run", "--without", "tools")
    found = json.loads(command_line(*arguments, "--json").out)
    agents = next(each for each in found["cells"] if each["method"] == "AgenticIQA, openai.gpt-4o")
    assert (agents["samples"], agents["done"], agents["calls"]) == (13, 0, [65, 130])
    bare = next(each for each in found["cells"] if each["method"] == "openai.gpt-4o alone")
    assert bare["calls"] == [13, 13]
    assert bare["cost_usd"] == [pytest.approx(13 * (2000 * 2.5 + 250 * 10) / 1e6)] * 2
    assert found["calls"] == [sum(each["calls"][end] for each in found["cells"]) for end in (0, 1)]
    assert found["cost_usd"][0] == pytest.approx(sum(each["cost_usd"][0] for each in found["cells"]))
    text = command_line(*arguments).out
    assert "more cells are tools alone" in " ".join(text.split())
    assert f"{found['calls'][0]} to {found['calls'][1]} calls" in " ".join(text.split())
    assert list(command_line.folder.iterdir()) == []
    assert not judge.paid


@pytest.mark.hard
def test_method_without_a_key_leaves_an_empty_row_that_says_why(command_line, data, judge):
    del command_line.environment["OPENAI_API_KEY"]
    command_line.environment |= {"COMPATIBLE_BASE_URL": judge.base_url}
    done = command_line(
        "eval", "--data", data, "--models", "compatible.tiny,openai.gpt-4o", "--methods", "agents",
        "--resamples", "0", "--workers", "1", "--json",
    )  # fmt: skip
    assert done.code == 2
    [table] = json.loads(done.out)
    states = {each["method"]: each["state"] for each in table["outcomes"]}
    assert states == {"AgenticIQA, compatible.tiny": "done", "AgenticIQA, openai.gpt-4o": "cannot run"}
    assert "OPENAI_API_KEY" in table["rows"][-1][-1]
    assert table["rows"][-1][1:6] == ["–"] * 5


@pytest.mark.hard
def test_budget_ends_it_and_more_goes_on(command_line, data, judge):
    arguments = (
        "eval", "--data", data, "--models", "openai.gpt-4o", "--methods", "direct,agents",
        "--workers", "1", "--resamples", "0", "--json",
    )  # fmt: skip
    # One call costs $0.003; a bare answer is expected at $0.0075 until some have shown what they cost.
    first = command_line(*arguments, "--budget-usd", "0.015")
    assert first.code == 2
    [table] = json.loads(first.out)
    assert [each["state"] for each in table["outcomes"]] == ["done", "unfinished"]
    assert "the budget is used up" in table["rows"][-1][-1]
    assert sum(judge.paid.values()) * 0.003 <= 0.015
    again = command_line(*arguments, "--budget-usd", "1")
    assert again.code == 0
    assert set(judge.paid.values()) == {1}
    # A model whose price nobody knows cannot be kept to a budget, and that is said before anything is asked.
    command_line.environment |= {"COMPATIBLE_BASE_URL": judge.base_url}
    refused = command_line(*arguments[:3], "--models", "compatible.x", "--budget-usd", "1")
    assert (refused.code, "is not known" in refused.err) == (1, True)


@pytest.mark.hard
def test_methods_share_the_calls_that_they_have_in_common(command_line, data, judge):
    done = command_line(
        "ablations", "--data", data, "--datasets", "agenticiqa-eval", "--models", "openai.gpt-4o",
        "--methods", "agents", "--without", "replan", "--max-replan", "0", "--resamples", "0", "--workers", "1",
        "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert set(judge.paid.values()) == {1}
    assert judge.steps == dict.fromkeys(("plan", "detection", "analysis", "selection", "answer"), QUESTIONS)
    [table] = json.loads(done.out)
    whole, ablated = (each["expense"] for each in table["outcomes"])
    price = 5 * QUESTIONS * (1000 * 2.5 + 50 * 10) / 1e6
    assert (whole["usd"], whole["paid"]) == (pytest.approx(price), pytest.approx(price))
    assert (ablated["usd"], ablated["paid"]) == (pytest.approx(price), 0)
    published, ours = table["rows"][:-2], table["rows"][-2:]
    assert ours[0][1] == ours[1][1]  # the same answers
    assert ours[1][2] == "+0.0% (p 1)"
    # What the paper prints of the set stands beside: no single ablation, but the bare models.
    assert [row[:2] for row in published] == [
        ["GPT-4o (published)", "76.3%"],
        ["Qwen2.5-VL, tuned (published)", "75.4%"],
    ]


@pytest.mark.hard
def test_no_row_claims_more_than_was_run_with_half_of_the_profile(command_line, data, judge):
    """Ten of the 28 tools, our prompts, parts of the sets, partial results: each is said, and nowhere stands "="."""
    arguments = ("all", "--data", data, "--models", "openai.gpt-4o", "--methods", "direct,agents", "--profile", "paper")
    arguments += ("--datasets", "tid2013,agenticiqa-eval,llvisionqa")
    done = command_line(*arguments, "--without", "replan", "--resamples", "0", "--workers", "4", "--json")
    assert done.code == 0, done.err
    tables = {table["table"]: table for table in json.loads(done.out)}
    assert {*tables} == {"ratings", "eval", "qbench", "ablations"}
    told = [row[-1] for table in tables.values() for row in table["rows"] if "(published)" not in row[0]]
    assert len(told) > 6
    assert not any(text.startswith("=") for text in told)
    whole = tables["ratings"]["rows"][-1][-1]
    for reason in (
        "≈ AgenticIQA (GPT-4o): 13 of 3,000 samples of TID2013",
        "13 of 13 results are partial",
        "our prompts (planner, detection, analysis, selection)",
        "18 of 28 tools were missing (TOPIQ_FR, AHIQ, DISTS,",
    ):
        assert reason in whole
    assert whole.endswith(" partial")
    assert "our prompts (direct_answer)" in tables["eval"]["rows"][-2][-1]
    for table in tables.values():
        written = Path(command_line.folder / table["files"][0]).read_text()
        assert "| = " not in written
        assert "18 of 28 tools were missing" in written or table["table"] == "eval"
    # On the terminal too, with what to do about it.
    assert "18 of the 28 tools that are asked for do not run here" in done.err
    assert "agenticiqa tools fetch --profile paper" in done.err
    assert "TOPIQ_FR, AHIQ," in done.err
    before = sum(judge.paid.values())
    refused = command_line(*arguments, "--strict", "--output", "elsewhere")
    assert (refused.code, "18 of the 28 tools" in refused.err) == (1, True)
    assert sum(judge.paid.values()) == before


@pytest.mark.hard
def test_profile_lies_apart_and_counts_as_like_the_paper(command_line, data, judge):
    arguments = ("eval", "--data", data, "--models", "openai.gpt-4o", "--resamples", "0", "--json")
    for profile in ((), ("--profile", "paper")):
        done = command_line(*arguments, "--methods", "direct", *profile)
        assert done.code == 0, done.err
    folders = sorted(path.name for path in (command_line.folder / "reproduction/runs/agenticiqa-eval").iterdir())
    assert folders == ["direct-openai.gpt-4o", "direct-openai.gpt-4o-paper", "manifest.jsonl"]
    [table] = json.loads(done.out)
    assert table["rows"][-1][-1] == "≈ GPT-4o: 4 of 1,000 samples of AgenticIQA-Eval; our prompts (direct_answer)"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("figure3",), "no table"),
        (("all", "--methods", "magic"), "--methods"),
        (("all", "--models", ","), "names no backend"),
        (("all", "--dry-run", "--no-run"), "contradict"),
        (("ablations", "--without", "brain"), "brain"),
        (("ratings", "--tools", "Nonesuch"), "Nonesuch"),
        (("ratings", "--datasets", "csiq"), "no folder for csiq"),
    ],
)
def test_wrong_words_are_refused_before_anything_runs(command_line, data, arguments, said):
    done = command_line(*arguments, "--data", data)
    assert done.code in (1, 2)
    assert said in " ".join(done.err.split())
    assert not (command_line.folder / "reproduction").exists()
