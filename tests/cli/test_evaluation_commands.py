"""`evaluate` on the command line."""

from __future__ import annotations

import json

import pytest

from support.result_lines import chosen, scored, write


@pytest.fixture
def results(folder):
    lines = [scored(f"s{i}", i / 4, 1 + (i % 16) / 4, dataset="tid2013", distortion="ab"[i % 2]) for i in range(20)]
    return write(folder / "results.jsonl", [*lines, scored("f", 4.0, None, "error", dataset="tid2013")])


def test_evaluate_shows_failures_and_figures(run, results):
    done = run("evaluate", str(results), "--resamples", "50")
    assert done.code == 0
    for expected in ("1 (4.8%)", "20 of 21", "SRCC", "By distortion"):
        assert expected in done.out


def test_evaluate_as_json_and_markdown(run, results):
    report = run("evaluate", str(results), "--resamples", "0", "--json").json
    assert report["counts"]["error"] == 1
    assert report["scores"][0]["used"] == 20
    assert report["scores"][0]["srcc"]["low"] is None
    text = run("evaluate", str(results), "--resamples", "0", "--markdown").out
    assert "| Dataset | Samples | SRCC |" in text


def test_evaluate_compares_two_files(run, results, folder):
    other = write(folder / "other.jsonl", [scored(f"s{i}", i / 4, 1 + i / 5, dataset="tid2013") for i in range(20)])
    report = run("evaluate", str(results), str(other), "--resamples", "50", "--json").json
    assert report["comparison"]["scores"][0]["used"] == 20
    assert report["comparison"]["scores"][0]["srcc"][1] == pytest.approx(1.0)
    assert "Two files, scores" in run("evaluate", str(results), str(other), "--resamples", "20").out


def test_evaluate_answers(run, folder):
    lines = [chosen("1", "A", "A", concern="other"), chosen("2", "B", None, "error", concern="other")]
    done = run("evaluate", str(write(folder / "r.jsonl", lines)))
    assert "1 / 2" in done.out
    assert "1 samples have no answer" in done.out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--json", "--markdown"], 2),
        (["--by", "nothing"], 1),
        (["--truth", "nothing"], 1),
    ],
)
def test_evaluate_refuses(run, results, arguments, code):
    assert run("evaluate", str(results), *arguments).code == code


def test_an_option_for_a_second_file_needs_one(run, results):
    done = run("evaluate", str(results), "--other-score", "tool:SSIM")
    assert (done.code, "--other-score has no effect" in done.err) == (2, True)


def test_report_prints_its_facts_as_json(run, results, folder):
    told = run("report", str(results), "-o", "page.html", "--json").json
    assert (told["output"], told["samples"], told["ok"], told["error"]) == ("page.html", 21, 20, 1)
    assert told["evaluation"]["counts"]["samples"] == 21
    assert (folder / "page.html").exists()


def test_a_sample_named_like_markup_is_drawn(run, folder):
    named = scored("[bold]x[/bold] [/]", 3.0, 4.0)
    file = write(folder / "odd.jsonl", [named])
    done = run("report", str(file), "-o", "page.html")
    assert done.code == 0, done.err
    assert "[bold]x[/bold] [/]" in (folder / "page.html").read_text(encoding="utf-8")


@pytest.mark.hard
def test_an_output_without_room_for_every_character_is_no_failure(run_process, environment, folder):
    line = {"sample_id": "ä", "status": "ok", "mos": 3, "summarizer_result": {"final_answer": "B", "quality_score": 3}}
    (folder / "one.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    environment["PYTHONIOENCODING"] = "ascii"
    shown = run_process("evaluate", "one.jsonl")
    assert (shown.code, shown.err) == (0, "")
    assert "too few" in shown.out
    told = run_process("gate", "one.jsonl", "--min-score", "4", "--json")
    assert (told.code, told.json["problems"][0]["sample_id"]) == (3, "ä")
