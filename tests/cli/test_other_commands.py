"""Everything beside ``assess``: runs, backends, config, doctor, graph, tools, measure."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import pytest
from PIL import Image


@pytest.mark.hard
def test_runs_are_listed_shown_and_replayed(run, model, pictures):
    """D2-26: every run is on record and can be asked again."""
    run_id = run("assess", pictures[0], "--json").json["metadata"]["run_id"]
    assert run_id in run("runs", "list").out
    assert [each["id"] for each in run("runs", "list", "--json").json] == [run_id]
    assert "Grain of moderate strength." in run("runs", "show", run_id[:6]).out
    assert run("runs", "show", run_id, "--json").json["metadata"]["run_id"] == run_id
    replayed = run("runs", "replay", run_id)
    assert replayed.code == 0
    assert "same as before" in replayed.out
    assert len(run("runs", "list", "--json").json) == 2


def test_lists_can_be_read_at_eighty_columns(run, model, pictures, monkeypatch: pytest.MonkeyPatch):
    # Rich keeps the environment that it was imported in.
    monkeypatch.setattr("rich.console.Console._environ", {"COLUMNS": "80"})
    run_id = run("assess", pictures[0], "--json").json["metadata"]["run_id"]
    listed = run("runs", "list").out
    assert run_id in listed
    assert Path(pictures[0]).name[:10] in listed
    assert "Rate the perc" in listed
    diagnosis = run("doctor").out
    for text in (listed, diagnosis):
        assert max(map(len, text.splitlines())) <= 80
    assert "…" not in diagnosis, "broken over lines, not cut"


def test_unknown_run_says_how_to_find_one(run):
    done = run("runs", "show", "nothing")
    assert done.code == 1
    assert "runs list" in done.err


def test_resume_of_a_finished_run_returns_it(run, model, pictures):
    run_id = run("assess", pictures[0], "--json").json["metadata"]["run_id"]
    asked = len(model.requests)
    assert run("runs", "resume", run_id, "--json").json["metadata"]["run_id"] == run_id
    assert len(model.requests) == asked


def test_backends_list_says_what_is_missing(run):
    rows = {row["provider"]: row for row in run("backends", "list", "--json").json}
    assert set(rows) >= {"openai", "anthropic", "google", "compatible", "qwen"}
    assert not rows["openai"]["ready"]
    assert "OPENAI_API_KEY" in rows["openai"]["reason"]


def test_backends_check_makes_a_real_call(run, model):
    model.replies["grey or B. red"] = "no JSON at all"
    prose = run("backends", "check", "compatible.tiny", "--json")
    assert (prose.code, "It was: 'no JSON at all'." in prose.json[0]["message"]) == (1, True)
    model.replies["grey or B. red"] = {"final_answer": "A", "quality_reasoning": "grey"}
    done = run("backends", "check", "compatible.tiny", "--json")
    assert done.code == 0
    assert done.json[0]["ok"] is True
    # A provider alone means its configured model, whatever the roles would fall back to.
    (named,) = run("backends", "check", "compatible", "--json").json
    assert (named["backend"], named["ok"]) == ("compatible.tiny", True)
    (other,) = run("backends", "check", "anthropic", "--json", AGENTICIQA_BACKEND="").json
    assert (other["backend"], other["ok"]) == ("anthropic.claude-3.5-sonnet", False)


def test_config_show_masks_keys(run):
    done = run("config", "show", OPENAI_API_KEY="sk-very-secret-key")
    assert "sk-very-secret-key" not in done.out
    assert "gpt-4o" in done.out
    assert run("config", "show", "--json").json["pipeline"]["max_replan_iterations"] == 2


def test_config_check_names_file_and_line(run, tmp_path: Path):
    folder = tmp_path / "conf"
    folder.mkdir()
    (folder / "pipeline.yaml").write_text("fusion:\n  etha: 2\n")
    done = run("config", "check", "--config", str(folder))
    assert done.code == 1
    assert "pipeline.yaml, line 2" in " ".join(done.err.split())
    assert "etha" in done.err
    assert run("config", "check").code == 0


def test_doctor_reports_tools_and_missing_keys(run):
    findings = {each["subject"]: each for each in run("doctor", "--json").json}
    assert "SSIM" in findings["measuring tools"]["detail"]
    assert findings["backend openai"]["state"] == "missing"
    assert run("doctor").code == 0


def test_graph_show_prints_the_documented_lines(run):
    assert "summarizer -->|need_replan=true & iter<max| planner" in run("graph", "show").out


@pytest.mark.hard
def test_tools_list_and_show(run):
    names = {each["name"]: each for each in run("tools", "list", "--json").json}
    assert names["PSNR"]["better"] == "higher"
    assert "SSIM" in run("tools", "list").out
    assert run("tools", "show", "ms_ssim", "--json").json["name"] == "MS-SSIM"
    done = run("tools", "show", "nonsense")
    assert done.code == 1
    assert "PSNR" in done.err


def test_measure_json_has_the_documented_keys(run, pictures):
    test, reference = pictures
    records = run("measure", test, "--reference", reference, "--tool", "PSNR", "--tool", "ssim", "--json").json
    assert [each["tool"] for each in records] == ["PSNR", "SSIM"]
    wanted = {"image", "tool", "type", "raw", "calibrated", "higher_is_better", "region", "seconds", "error"}
    assert wanted <= set(records[0])
    assert 15 < records[0]["raw"] < 35


def test_measure_folders_pairs_by_name_and_reports_the_rest(run, pictures, tmp_path: Path):
    left, right = tmp_path / "left", tmp_path / "right"
    for folder in (left, right):
        folder.mkdir()
    for folder, names in ((left, ("a", "b", "broken")), (right, ("a", "broken", "c"))):
        for name in names:
            Image.open(pictures[0]).save(folder / f"{name}.png")
    (left / "broken.png").write_bytes(b"not a picture")
    done = run("measure", str(left), "--reference", str(right), "--tool", "PSNR", "--json")
    by_name = {Path(each["image"]).stem: each for each in done.json}
    assert by_name["a"]["raw"] == pytest.approx(100)
    assert by_name["broken"]["raw"] is None
    assert "not a picture" in by_name["broken"]["error"]
    assert "b.png" in done.err
    assert "c.png" in done.err
    assert done.code == 2


def test_measure_takes_patterns_and_lists_and_writes_what_the_output_s_name_says(
    run, pictures, folder: Path, tmp_path: Path, monkeypatch
):
    pattern = str(tmp_path / "*.png")
    lines = run("measure", pattern, "--tool", "sharpness", "-o", "-").out.splitlines()
    found = [json.loads(line) for line in lines]
    assert [Path(each["image"]).name for each in found] == ["clean.png", "noisy.png"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(pictures).encode())))
    assert run("measure", "-", "--tool", "sharpness", "-o", "m.csv").code == 0
    with (folder / "m.csv").open(newline="", encoding="utf-8") as file:
        assert [row["image"] for row in csv.DictReader(file)] == list(pictures)
    assert run("measure", *pictures, "-r", pictures[1], "--tool", "PSNR", "-o", "m.csv", "--overwrite").code == 0
    with (folder / "m.csv").open(newline="", encoding="utf-8") as file:
        assert [float(row["raw"]) for row in csv.DictReader(file)][1] == pytest.approx(100)
    assert run("measure", *pictures, "--tool", "sharpness", "-o", "m.jsonl").code == 0
    assert len((folder / "m.jsonl").read_text().splitlines()) == 2
    assert run("measure", *pictures, "--json", "-o", "m.csv").code == 2
    assert ".txt" in run("measure", *pictures, "-o", "m.txt").err


def test_sizes_that_differ_are_refused_unless_resizing_was_asked_for(run, pictures, tmp_path: Path):
    smaller = tmp_path / "smaller.png"
    Image.open(pictures[0]).resize((64, 48)).save(smaller)
    refused = run("measure", str(smaller), "--reference", pictures[1], "--tool", "PSNR", "--json")
    assert refused.code == 1
    assert "64×48" in refused.json[0]["error"]
    assert "128×96" in refused.json[0]["error"]
    assert run("measure", str(smaller), "-r", pictures[1], "-t", "PSNR", "--align", "resize", "--json").code == 0


def test_help_of_every_command_works(run):
    for command in (["--help"], ["assess", "-h"], ["runs", "-h"], ["tools", "-h"], ["measure", "-h"], ["--version"]):
        assert run(*command).code == 0


def test_log_file_is_json_lines_without_keys(run, model, pictures, tmp_path: Path):
    """D2-30, D2-36: logs are JSON lines and hold no key."""
    run(
        "assess", pictures[0], COMPATIBLE_API_KEY="sk-secret-secret-secret", AGENTICIQA_PIPELINE__LOGGING__LEVEL="DEBUG"
    )
    text = (tmp_path / "home" / "log.jsonl").read_text()
    entries = [json.loads(line) for line in text.splitlines()]
    assert any("You are a planner" in entry["message"] for entry in entries)
    assert "sk-secret-secret-secret" not in text


def test_ask_explain_needs_no_picture(run):
    out = run("ask", "explain", "Isn't the sky noisy?", "--option", "Yes", "--option", "No").out
    assert "noise" in out
    assert "sky" in out
    assert "'No': 0% noise" in out
    meaning = run("ask", "explain", "Is it sharp but noisy?", "--json").json
    assert (meaning["property"], meaning["form"]) == ("sharp", "yes_no")
    assert 0.5 < meaning["chances"]["property"] <= 1
    assert "not about how it looks" in run("ask", "explain", "Write me a poem").out
