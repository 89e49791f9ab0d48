"""``agenticiqa batch`` as a user runs it."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from model_server import ModelServer

from support.batches import make_manifest, make_pictures, records, settled, write_jsonl


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    return make_manifest(tmp_path / "set", 4)


@pytest.mark.hard
def test_measure_only_and_summary(run, manifest, folder):
    done = run("batch", str(manifest), "-o", "r.jsonl", "--measure", "psnr, SSIM", "--workers", "1")
    assert done.code == 0, done.err
    assert done.out.startswith("4 of 4 samples have a result: r.jsonl\n")
    (first, *_) = records(folder / "r.jsonl")
    assert [each["tool"] for each in first["measurements"]] == ["PSNR", "SSIM"]
    assert (first["mos"], first["distortion"]) == (0.0, "noise")


@pytest.mark.hard
def test_failed_samples_are_named_and_resumed(run, tmp_path, manifest, folder):
    with manifest.open("a") as file:
        file.write(json.dumps({"sample_id": "late", "image_path": "late.png", "reference_path": "clean0.png"}) + "\n")
    options = ("-o", "r.jsonl", "--measure", "PSNR", "--workers", "1")
    done = run("batch", str(manifest), *options)
    assert done.code == 2
    assert "1 failed: image_not_found 1\n  late\n" in done.out
    assert "--resume continues" in done.out
    (manifest.parent / "late.png").write_bytes((manifest.parent / "noisy0.png").read_bytes())
    done = run("batch", str(manifest), *options, "--resume", "--json")
    assert (done.code, done.json["ok"], done.json["done_earlier"], done.json["failed_ids"]) == (0, 5, 4, [])
    assert done.json["exit_code"] == 0


def test_dry_run_lists_every_problem_and_writes_nothing(run, tmp_path, folder):
    make_pictures(tmp_path / "set", 1)
    rows = [{"sample_id": "a", "image_path": "noisy0.png"}, {"sample_id": "a", "image_path": "gone.png"}, {}]
    manifest = write_jsonl(tmp_path / "set" / "m.jsonl", rows)
    done = run("batch", str(manifest), "--dry-run", "--backend", "embedded")
    assert done.code == 1
    assert "line 2: sample_id 'a' is already used on line 1." in done.err
    assert "gone.png" in done.err
    assert "line 3: image_path is missing." in done.err
    assert "1 samples, 1 selected, 2 invalid rows\n1 pictures are missing" in done.out
    assert list(folder.iterdir()) == []
    done = run("batch", str(manifest), "-o", "r.jsonl", "--backend", "embedded")
    assert done.code == 1
    assert "2 rows that cannot be used" in done.err
    assert not (folder / "r.jsonl").exists()


@pytest.mark.parametrize(("there", "code"), [(("a", "b"), 0), (("a",), 2), ((), 1)])
def test_dry_run_tells_by_its_exit_code_whether_the_pictures_are_there(run, tmp_path, there, code):
    make_pictures(tmp_path / "set", 1)
    rows = [{"sample_id": name, "image_path": "noisy0.png" if name in there else "gone.png"} for name in ("a", "b")]
    for row in rows:
        row["reference_path"] = row["image_path"]
    done = run("batch", str(write_jsonl(tmp_path / "set" / "m.jsonl", rows)), "--dry-run", "--measure", "PSNR")
    assert done.code == code
    assert f"{4 - 2 * len(there)} pictures are missing" in done.out


def test_dry_run_estimates_calls_and_cost(run, manifest):
    done = run("batch", str(manifest), "--dry-run", "--json", "--backend", "openai.gpt-4o", OPENAI_API_KEY="sk-x")
    assert done.code == 0, done.err
    assert (done.json["samples"], done.json["calls"]) == (4, [20, 40])
    # Four views in each of three calls of two passes, at 800 tokens.
    assert (done.json["views"], done.json["cost_usd"]) == ("auto", [0.15, 0.492])
    ways = (("off", [20, 40], [0.15, 0.3]), ("ask", [20, 48], [0.15, 0.712]))
    for views, calls, cost in ways:
        told = run(
            "batch", str(manifest), "--dry-run", "--json", "--backend", "openai.gpt-4o", "--views", views,
            OPENAI_API_KEY="sk-x",
        )  # fmt: skip
        assert (told.json["calls"], told.json["cost_usd"]) == (calls, cost)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--align", "crop"), "'--align'"),
        (("--resume", "--overwrite"), "contradict"),
        (("--rpm", "fast"), "not a limit"),
        (("--sample-range", "3"), "not a range"),
        (("--measure", "PSNR"), "--backend has no effect"),
        (("--rpm", "60"), "would have no effect"),
        (("--rpm", "opnai=60"), "no provider 'opnai'"),
    ],
)
def test_unusable_options(run, manifest, options, words):
    done = run("batch", str(manifest), "-o", "r.jsonl", "--backend", "embedded", *options)
    assert done.code in (1, 2)
    assert words in done.err


def test_output_is_needed(run, manifest):
    done = run("batch", str(manifest))
    assert done.code == 2
    assert "--output" in done.err


# --- with models ---


def test_agents_answer_with_each_row_s_own_question(run, model, manifest, folder):
    rows = [json.loads(line) for line in manifest.read_text().splitlines()]
    rows[1] |= {"query": "Which distortion dominates?", "options": "A. Blur|B. Noise|C. Fog", "answer": "B"}
    write_jsonl(manifest, rows)
    done = run("batch", str(manifest), "-o", "r.jsonl", "--query", "Rate it.", "--json", "--workers", "3")
    assert done.code == 0, done.err
    assert done.json["calls"] == len(model.requests)
    found = records(folder / "r.jsonl")
    assert [each["query"] for each in found] == ["Rate it.", "Which distortion dominates?", "Rate it.", "Rate it."]
    assert found[1]["metadata"]["options"] == ["A. Blur", "B. Noise", "C. Fog"]
    assert found[1]["answer"] == "B"
    assert found[0]["summarizer_result"]["quality_score"] is not None


@pytest.mark.hard
def test_two_runs_with_models_are_the_same_apart_from_times(run, model, manifest, folder):
    for name in ("a.jsonl", "b.jsonl"):
        assert run("batch", str(manifest), "-o", name, "--no-cache", "--workers", "3").code == 0
    assert settled(folder / "a.jsonl") == settled(folder / "b.jsonl")


@pytest.mark.hard
def test_model_that_is_down_gives_typed_errors_that_are_tried_again(run, environment, manifest, folder):
    server = ModelServer()
    options = ("-o", "r.jsonl", "--backend", "compatible.tiny", "--json")
    environment["AGENTICIQA_PROVIDERS__COMPATIBLE__MAX_RETRIES"] = "0"
    with server:
        server.status = 500
        environment["COMPATIBLE_BASE_URL"] = server.base_url
        done = run("batch", str(manifest), *options)
        assert (done.code, done.json["errors"], done.json["ok"]) == (1, {"backend_server": 4}, 0)
        assert all(each["summarizer_result"] is None for each in records(folder / "r.jsonl"))
        server.status = 200
        done = run("batch", str(manifest), *options, "--resume")
        assert (done.code, done.json["ok"] + done.json["partial"]) == (0, 4)


@pytest.mark.hard
def test_too_many_requests_are_waited_for(run, environment, manifest, monkeypatch):
    from agenticiqa.batch import rate_limits

    monkeypatch.setattr(rate_limits, "FIRST_WAIT_S", 0.05)
    environment["AGENTICIQA_PROVIDERS__COMPATIBLE__MAX_RETRIES"] = "0"
    with ModelServer() as server:
        environment["COMPATIBLE_BASE_URL"] = server.base_url
        server.status = 429

        def relent() -> None:
            while len(server.requests) < 3:
                time.sleep(0.01)
            server.status = 200

        threading.Thread(target=relent, daemon=True).start()
        done = run("batch", str(manifest), "-o", "r.jsonl", "--backend", "compatible.tiny", "--workers", "2", "--json")
    assert (done.code, done.json["failed"]) == (0, 0)
    assert len(server.requests) >= done.json["calls"] + 3


# --- from outside ---


@pytest.mark.hard
def test_ctrl_c_finishes_cleanly_and_says_how_to_resume(environment, tmp_path, folder):
    manifest = make_manifest(tmp_path / "set", 3000)
    command = Path(sys.executable).with_name("agenticiqa")
    arguments = [str(command), "batch", str(manifest), "-o", "r.jsonl", "--measure", "PSNR,SSIM", "-w", "1"]
    process = subprocess.Popen(
        arguments, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    output = folder / "r.jsonl"
    while process.poll() is None and not (output.exists() and output.stat().st_size > 5000):
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "Finishing what has begun" in err
    assert "not done: you stopped it" in out
    assert "--resume continues" in out
    ids = [each["sample_id"] for each in records(output)]
    assert ids == [f"s{number}" for number in range(len(ids))]


@pytest.mark.hard
def test_embedded_backend_in_processes_answers_as_assess_does(run, folder):
    picture = Path(__file__).parents[2] / "examples" / "pictures" / "dandelion_compressed.jpg"
    write_jsonl(folder / "m.jsonl", [{"sample_id": "1", "image_path": str(picture), "query": "Is it blurred?"}])
    done = run("batch", "m.jsonl", "-o", "r.jsonl", "--workers", "1")
    assert done.code == 0, done.err
    assert "Warning" not in done.err, "nobody chose another backend"
    (found,) = records(folder / "r.jsonl")
    alone = run("assess", str(picture), "--query", "Is it blurred?", "--json").json
    assert found["summarizer_result"] == alone["summarizer_result"]
    assert found["metadata"]["error_kind"] is None


def test_no_tool_named_never_asks_the_agents(run, manifest):
    for nothing in ("", " , "):
        done = run("batch", str(manifest), "-o", "r.jsonl", "--measure", nothing)
        assert (done.code, "--measure names no tool" in done.err) == (2, True)


# --- other inputs and outputs ---


@pytest.mark.hard
def test_results_on_standard_output_stand_in_the_order_of_the_manifest(run, manifest, folder):
    done = run("batch", str(manifest), "-o", "-", "--measure", "PSNR", "--workers", "2")
    assert done.code == 0, done.err
    assert [json.loads(line)["sample_id"] for line in done.out.splitlines()] == ["s0", "s1", "s2", "s3"]
    assert list(folder.iterdir()) == []
    for option in ("--resume", "--overwrite", "--json"):
        assert run("batch", str(manifest), "-o", "-", option).code == 2


@pytest.mark.hard
def test_reader_that_has_seen_enough_ends_the_batch(environment, tmp_path, folder):
    manifest = make_manifest(tmp_path / "set", 3000)
    command = Path(sys.executable).with_name("agenticiqa")
    arguments = [str(command), "batch", str(manifest), "-o", "-", "--measure", "PSNR", "-w", "1"]
    process = subprocess.Popen(
        arguments, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["sample_id"] == "s0"
    process.stdout.close()
    assert process.stderr is not None
    assert "Standard output was closed by its reader" in process.stderr.read()
    assert process.wait(timeout=60) == 141


@pytest.mark.hard
def test_csv_by_name_with_its_lines_beside_it(run, manifest, folder):
    with manifest.open("a") as file:
        file.write(json.dumps({"sample_id": "late", "image_path": "late.png", "reference_path": "clean0.png"}) + "\n")
    options = ("-o", "r.csv", "--measure", "PSNR", "--workers", "1")
    assert run("batch", str(manifest), *options).code == 2
    with (folder / "r.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["sample_id"], row["error_kind"], row["mos"]) for row in rows[3:]] == [
        ("s3", "", "3.0"),
        ("late", "image_not_found", ""),
    ]
    lines = records(folder / "r.csv.jsonl")
    assert [float(row["PSNR"]) for row in rows[:4]] == [line["measurements"][0]["raw"] for line in lines[:4]]
    assert run("batch", str(manifest), *options).code == 1
    (manifest.parent / "late.png").write_bytes((manifest.parent / "noisy0.png").read_bytes())
    assert run("batch", str(manifest), *options, "--resume", "--json").json["done_earlier"] == 4
    with (folder / "r.csv").open(newline="", encoding="utf-8") as file:
        assert [row["status"] for row in csv.DictReader(file)] == ["ok"] * 5


def test_name_that_says_no_format_is_refused_before_any_work(run, manifest, folder):
    done = run("batch", str(manifest), "-o", "r.xlsx", "--measure", "PSNR")
    assert (done.code, "not written as .xlsx" in done.err, list(folder.iterdir())) == (1, True, [])


@pytest.mark.hard
def test_quoted_pattern_and_several_pictures(run, tmp_path, folder):
    make_pictures(tmp_path / "set", 3)
    options = ("--measure", "sharpness", "--workers", "1")
    assert run("batch", str(tmp_path / "set" / "n*.png"), "-o", "a.jsonl", *options).code == 0
    named = [str(tmp_path / "set" / f"noisy{number}.png") for number in range(3)]
    assert run("batch", *named, "-o", "b.jsonl", *options).code == 0
    assert settled(folder / "a.jsonl") == settled(folder / "b.jsonl")
    assert len(records(folder / "a.jsonl")) == 3


def test_several_questions_about_one_picture_need_no_ids(run, model, manifest, folder):
    rows = [{"image_path": "noisy0.png", "query": text} for text in ("Is it sharp?", "Is it noisy?")]
    write_jsonl(manifest, rows)
    assert run("batch", str(manifest), "-o", "r.jsonl").code == 0
    assert [(each["sample_id"], each["query"]) for each in records(folder / "r.jsonl")] == [
        ("noisy0.png", "Is it sharp?"),
        ("noisy0.png#2", "Is it noisy?"),
    ]
    assert run("batch", str(manifest), "-o", "r.jsonl", "--resume", "--json").json["done_earlier"] == 2


def test_samples_are_not_recorded_as_runs(run, model, manifest, environment):
    assert run("batch", str(manifest), "-o", "r.jsonl").code == 0
    assert run("runs", "list", "--json").json == []


@pytest.mark.hard
def test_second_ctrl_c_may_come_while_the_first_is_being_answered(environment, tmp_path, folder):
    manifest = make_manifest(tmp_path / "set", 3000)
    command = Path(sys.executable).with_name("agenticiqa")
    arguments = [str(command), "batch", str(manifest), "-o", "r.jsonl", "--measure", "PSNR,SSIM", "-w", "1"]
    process = subprocess.Popen(
        arguments, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    output = folder / "r.jsonl"
    while process.poll() is None and not (output.exists() and output.stat().st_size > 5000):
        time.sleep(0.02)
    for _ in range(4):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.004)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Stopping." in err


def test_resume_names_the_rows_of_another_backend_and_reruns_them_on_request(run, manifest, folder, model):
    model.replies["Rate the perceptual"] = {"final_answer": "B", "quality_reasoning": "sharp"}
    options = ("batch", str(manifest), "-o", "r.jsonl", "--mode", "direct", "--workers", "1")
    done = run(*options, "--backend", "compatible.one", "--sample-range", ":3")
    assert done.code == 0, done.err
    before = (folder / "r.jsonl").read_bytes()
    refused = run(*options, "--backend", "compatible.two", "--resume")
    assert refused.code == 1
    told = " ".join(refused.err.split())
    assert "3 results in 'r.jsonl' are of other conditions: s0, s1, s2." in told
    assert "They were made with compatible.one, and this is compatible.two." in told
    assert "--resume --rerun-changed" in told
    assert (folder / "r.jsonl").read_bytes() == before
    assert run(*options, "--backend", "compatible.two", "--rerun-changed").code == 2
    # What lies outside the chosen part would be lost.
    part = run(*options, "--backend", "compatible.two", "--resume", "--rerun-changed", "--sample-range", "1:")
    assert (part.code, "1 results in 'r.jsonl'" in part.err) == (1, True)
    again = run(*options, "--backend", "compatible.two", "--resume", "--rerun-changed", "--json")
    assert (again.code, again.json["ok"], again.json["done_earlier"]) == (0, 4, 0)
    assert [each["metadata"]["backend"]["summarizer"] for each in records(folder / "r.jsonl")] == ["compatible.two"] * 4
