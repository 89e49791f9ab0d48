"""``agenticiqa gate`` as a build runs it."""

from __future__ import annotations

import json

import pytest


def results(folder, name, **scores):
    lines = [
        {"sample_id": key, "status": "ok", "summarizer_result": {"final_answer": "B", "quality_score": score}}
        for key, score in scores.items()
    ]
    (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return name


def test_exit_codes_and_files(run, folder):
    now, then = results(folder, "now.jsonl", a=4.0, b=3.2), results(folder, "then.jsonl", a=4.0, b=4.0)
    assert run("gate", now, "--min-score", "3").code == 0
    closed = run("gate", now, "--min-score", "3", "--max-regression", then, "--junit", "out/junit.xml")
    assert closed.code == 3
    assert "b: 3.20 was 4.00" in closed.out
    assert (folder / "out" / "junit.xml").read_text(encoding="utf-8").count("<failure") == 1
    assert run("gate", now, "--max-regression", then, "--json").json["problems"][0]["reason"] == "regression"


def test_hostile_ids_neither_steer_the_terminal_nor_break_the_output(run, folder):
    now = results(folder, "now.jsonl", **{"half \ud800": 1.0, "red \x1b[31m": 1.0, "x\nPassed, 3 samples.": 1.0})
    shown = run("gate", now, "--min-score", "3")
    assert shown.code == 3
    assert "\x1b" not in shown.out
    assert "half \ufffd: 1.00 is below" in shown.out
    assert "x Passed, 3 samples.: 1.00 is below" in shown.out
    told = run("gate", now, "--min-score", "3", "--json")
    assert told.json["problems"][0]["sample_id"] == "half \ud800"


def test_a_score_nobody_has_cannot_be_judged(run, folder):
    done = run("gate", results(folder, "now.jsonl", a=4.0), "--min-score", "3", "--score", "tool:NIX")
    assert (done.code, "tool:NIX" in done.err) == (1, True)


def test_wrong_usage_is_told(run, folder):
    now = results(folder, "now.jsonl", a=4.0)
    assert run("gate", now).code == 2
    missing = run("gate", "nowhere.jsonl", "--min-score", "3")
    assert missing.code == 1
    assert "nowhere.jsonl" in missing.err


def test_a_threshold_that_is_no_number_does_not_let_everything_pass(run, folder):
    now = results(folder, "now.jsonl", a=1.0)
    for options in (("--min-score", "nan"), ("--min-score", "inf"), ("--min-score", "1", "--tolerance", "inf")):
        done = run("gate", now, *options)
        assert (done.code, "finite" in done.err) == (2, True), options


def test_a_junit_file_that_cannot_be_written_is_told(run, folder):
    now = results(folder, "now.jsonl", a=4.0)
    done = run("gate", now, "--min-score", "3", "--junit", f"{now}/junit.xml")
    assert (done.code, "cannot be written" in done.err) == (1, True)


def test_raw_values_that_fall_with_quality_are_no_gate(run, folder):
    def measured(tool, raw, higher):
        entry = {"tool": tool, "region": None, "raw": raw, "calibrated": 4.0, "higher_is_better": higher}
        line = {"sample_id": "a", "status": "ok", "measurements": [entry]}
        (folder / f"{tool}.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
        return f"{tool}.jsonl"

    refused = run("gate", measured("GMSD", 0.3, False), "--score", "raw:gmsd", "--min-score", "0.1")
    assert (refused.code, "--score tool:gmsd" in refused.err) == (1, True)
    assert run("gate", measured("PSNR", 38.0, True), "--score", "raw:PSNR", "--min-score", "35").code == 0


def test_a_bound_outside_the_scale_is_refused(run, folder):
    now = results(folder, "now.jsonl", a=4.0)
    for bound in ("70", "0", "-1", "5.01"):
        done = run("gate", now, "--min-score", bound)
        assert (done.code, "outside the scale" in done.err) == (1, True), bound
    # A raw value has the scale of its tool.
    assert "outside the scale" not in run("gate", now, "--min-score", "70", "--score", "raw:PSNR").err


@pytest.mark.hard
def test_a_gate_reads_the_table_that_a_batch_writes(run, folder, pictures):
    (folder / "pairs.csv").write_text("image,reference,id\n{},{},007\n".format(*pictures))
    for name in ("r.csv", "r.jsonl"):
        assert run("batch", "pairs.csv", "-o", name, "--measure", "SSIM,PSNR", "--workers", "1").code == 0
    told = {}
    for name in ("r.csv", "r.jsonl"):
        for option in (("--score", "tool:SSIM", "--min-score", "2"), ("--score", "raw:PSNR", "--min-score", "60")):
            done = run("gate", name, *option, "--json")
            told[name, option] = (done.code, done.json)
        assert run("gate", name, "--score", "tool:SSIM", "--max-regression", "r.csv").code == 0
    assert [told["r.csv", option] for name, option in told if name == "r.csv"] == [
        told["r.jsonl", option] for name, option in told if name == "r.jsonl"
    ]
    assert {code for code, _ in told.values()} == {0, 3}
    (folder / "broken.csv").write_text('sample_id,status,summarizer_result\na,ok,"{""final"\n')
    assert "broken.csv, line 2" in run("gate", "broken.csv", "--min-score", "3").err
