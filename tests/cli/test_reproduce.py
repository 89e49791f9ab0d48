"""`agenticiqa reproduce` and `rescore`: what they print, refuse, cost and leave."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy import special, stats

from support.command_line import CommandLine
from support.paper_data import QUESTIONS, make_paper_data
from support.scripted_judge import ScriptedJudge

EXAMPLE = Path(__file__).parents[2] / "examples/results/kadid_protocol.jsonl"


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return make_paper_data(tmp_path_factory.mktemp("data"))


@pytest.fixture
def judge(command_line: CommandLine) -> Iterator[ScriptedJudge]:
    with ScriptedJudge() as server:
        command_line.environment |= {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.base_url}
        yield server


def test_dry_run_tells_calls_and_cost_and_leaves_nothing(command_line, data, judge):
    arguments = ("reproduce", "all", "--data", data, "--models", "openai.gpt-4o", "--dry-run", "--without", "tools")
    found = json.loads(command_line(*arguments, "--json").out)
    agents = next(each for each in found["cells"] if each["method"] == "AgenticIQA, openai.gpt-4o")
    assert (agents["samples"], agents["done"], agents["calls"]) == (13, 0, [65, 130])
    bare = next(each for each in found["cells"] if each["method"] == "openai.gpt-4o alone")
    assert bare["calls"] == [13, 13]
    assert bare["cost_usd"] == [pytest.approx(13 * (2000 * 2.5 + 250 * 10) / 1e6)] * 2
    assert found["calls"] == [sum(each["calls"][end] for each in found["cells"]) for end in (0, 1)]
    assert found["cost_usd"][0] == pytest.approx(sum(each["cost_usd"][0] for each in found["cells"]))
    text = command_line(*arguments).out
    assert "tools alone" in text
    assert f"{found['calls'][0]} to {found['calls'][1]} calls" in " ".join(text.split())
    assert list(command_line.folder.iterdir()) == []
    assert not judge.paid


def test_method_without_a_key_leaves_an_empty_row_that_says_why(command_line, data, judge):
    del command_line.environment["OPENAI_API_KEY"]
    command_line.environment |= {"COMPATIBLE_BASE_URL": judge.base_url}
    done = command_line(
        "reproduce", "eval", "--data", data, "--models", "compatible.tiny,openai.gpt-4o", "--methods", "agents",
        "--resamples", "0", "--workers", "1", "--json",
    )  # fmt: skip
    assert done.code == 2
    [table] = json.loads(done.out)
    states = {each["method"]: each["state"] for each in table["outcomes"]}
    assert states == {"AgenticIQA, compatible.tiny": "done", "AgenticIQA, openai.gpt-4o": "cannot run"}
    assert "OPENAI_API_KEY" in table["rows"][-1][-1]
    assert table["rows"][-1][1:6] == ["–"] * 5


def test_budget_ends_it_and_more_goes_on(command_line, data, judge):
    arguments = (
        "reproduce", "eval", "--data", data, "--models", "openai.gpt-4o", "--methods", "direct,agents",
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
    refused = command_line(*arguments[:4], "--models", "compatible.x", "--budget-usd", "1")
    assert (refused.code, "is not known" in refused.err) == (1, True)


def test_mixes_of_models_share_what_they_have_in_common(command_line, data, judge):
    done = command_line(
        "reproduce", "roles", "--data", data, "--datasets", "agenticiqa-eval", "--models", "openai.gpt-4o",
        "--summarizer", "openai.gpt-4o,openai.gpt-4o-mini", "--resamples", "0", "--workers", "1", "--json",
    )  # fmt: skip
    assert done.code == 0
    assert set(judge.paid.values()) == {1}
    assert judge.steps == {"plan": QUESTIONS, "detection": QUESTIONS, "analysis": QUESTIONS, "selection": QUESTIONS,
                           "answer": 2 * QUESTIONS}  # fmt: skip
    [table] = json.loads(done.out)
    large, small = (each["expense"] for each in table["outcomes"])
    call, mini = (1000 * 2.5 + 50 * 10) / 1e6, (1000 * 0.15 + 50 * 0.6) / 1e6
    assert large["usd"] == pytest.approx(5 * QUESTIONS * call)
    assert small["usd"] == pytest.approx(QUESTIONS * (4 * call + mini))
    assert small["paid"] == pytest.approx(QUESTIONS * mini)
    assert table["rows"][0][:3] == ["openai.gpt-4o"] * 3
    assert {row[-1] for row in table["rows"]} == {"best", "cheapest that is not clearly worse"}


def test_profile_lies_apart_and_counts_as_like_the_paper(command_line, data, judge):
    arguments = ("reproduce", "eval", "--data", data, "--models", "openai.gpt-4o", "--resamples", "0", "--json")
    for profile in ((), ("--profile", "paper")):
        done = command_line(*arguments, "--methods", "direct", *profile)
        assert done.code == 0, done.err
    folders = sorted(path.name for path in (command_line.folder / "reproduction/runs/agenticiqa-eval").iterdir())
    assert folders == ["direct-openai.gpt-4o", "direct-openai.gpt-4o-paper", "manifest.jsonl"]
    [table] = json.loads(done.out)
    assert table["rows"][-1][-1] == "≈ GPT-4o"  # a few questions of a thousand


@pytest.mark.hard
def test_stored_ratings_are_scored_anew_without_a_call(command_line, data, judge):
    arguments = (
        "reproduce", "ratings", "--data", data, "--datasets", "tid2013", "--models", "openai.gpt-4o", "--methods",
        "agents", "--max-replan", "0", "--resamples", "0", "--json",
    )  # fmt: skip
    [before] = json.loads(command_line(*arguments).out)
    paid = sum(judge.paid.values())
    [after] = json.loads(command_line(*arguments, "--no-run", "--eta", "5").out)
    assert sum(judge.paid.values()) == paid
    assert all("ratings-rescored." in file for file in after["files"])
    [stored] = (command_line.folder / "reproduction").glob("runs/*/*/results.jsonl")
    lines = [json.loads(line) for line in stored.read_text().splitlines()]
    expected = stats.pearsonr([fused(line, eta=5.0) for line in lines], [line["mos"] for line in lines])[0]
    new, old = (each["outcomes"][0]["scores"]["plcc"]["value"] for each in (after, before))
    assert new == pytest.approx(expected, abs=1e-9)
    assert abs(old - new) > 1e-3


def fused(line: dict, eta: float) -> float:
    """The formula of the paper, normalised, from what the line holds."""
    fusion = line["summarizer_result"]["used_evidence"]["fusion"]
    level = np.arange(1, 6)
    weights = special.softmax(-eta * (fusion["tool_mean"] - level) ** 2)
    products = weights * [fusion["p"][str(each)] for each in level]
    return float((products * level).sum() / products.sum())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("figure3",), "no table"),
        (("all", "--methods", "magic"), "--methods"),
        (("all", "--models", ","), "names no backend"),
        (("all", "--dry-run", "--no-run"), "contradict"),
        (("all", "--eta", "2"), "--no-run"),
        (("ablations", "--without", "brain"), "brain"),
        (("ratings", "--tools", "Nonesuch"), "Nonesuch"),
        (("ratings", "--datasets", "csiq"), "no folder for csiq"),
    ],
)
def test_wrong_words_are_refused_before_anything_runs(command_line, data, arguments, said):
    done = command_line("reproduce", *arguments, "--data", data)
    assert done.code in (1, 2)
    assert said in " ".join(done.err.split())
    assert not (command_line.folder / "reproduction").exists()


def test_rescore_writes_a_new_file(command_line):
    done = command_line("rescore", EXAMPLE, "--output", "new.jsonl", "--calibrations", "printed", "--json")
    assert done.code == 0
    found = json.loads(done.out)
    assert found["rescored"] == len(EXAMPLE.read_text().splitlines())
    there = command_line("rescore", EXAMPLE, "--output", "new.jsonl", "--eta", "2")
    assert "is there already" in there.err
    nothing = command_line("rescore", EXAMPLE, "--output", "c.jsonl")
    assert "nothing is to change" in " ".join(nothing.err.split())
    wrong = command_line("rescore", EXAMPLE, "--output", "b.jsonl", "--thresholds", "1,x")
    assert "--thresholds takes numbers" in " ".join(wrong.err.split())
