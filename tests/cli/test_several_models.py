"""``--backends``: several models answer together, on one picture, on two and on many; ``calibrate`` weighs them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from model_server import ModelServer
from PIL import Image

from agenticiqa.runtime.config import load_settings


class TwoModels(ModelServer):
    """One server with two models: ``exact`` reads the picture's number out of the question, ``other`` says anything."""

    def answer(self, request):
        if "quality assessment assistant" not in json.dumps(request["messages"]):
            return super().answer(request)
        letter = "B"
        if request["model"] == "exact":
            words = json.dumps(request["messages"])
            letter = next((each for each in "ABCDE" if f"number {each}" in words), "D")
        return json.dumps({"final_answer": letter, "quality_reasoning": f"{request['model']} says so."})


@pytest.fixture
def server(environment):
    with TwoModels() as made:
        environment["COMPATIBLE_BASE_URL"] = made.base_url
        yield made


BOTH = ("--backends", "compatible.exact,compatible.other")


def test_assess_shows_each_model_and_the_joint_answer(run, server, pictures, tmp_path):
    shown = run("assess", pictures[0], *BOTH, "--report", str(tmp_path / "report.html"))
    assert shown.code == 0, shown.err
    for text in ("compatible.exact says D. Poor", "compatible.other says B. Good", "0.50"):
        assert text in " ".join(shown.out.split())
    page = (tmp_path / "report.html").read_text()
    assert "<th>Weight</th>" in page
    assert "<td>compatible.other</td>" in page
    result = run("assess", pictures[0], "--backends", "compatible.exact,compatible.other,embedded", "--json").json
    assert [each["backend"] for each in result["summarizer_result"]["models"]] == [
        "compatible.exact",
        "compatible.other",
        "embedded",
    ]
    assert result["metadata"]["backend"]["planner"] == "compatible.exact"


def test_another_collects_the_evidence_where_it_is_named_beside_them(run, server, pictures):
    result = run("assess", pictures[0], "--backend", "embedded", *BOTH, "--json").json
    assert result["metadata"]["backend"] == {
        "planner": "embedded",
        "executor": "embedded",
        "summarizer": "compatible.exact",
        "summarizer:compatible.other": "compatible.other",
    }
    assert {request["model"] for request in server.requests} == {"exact", "other"}
    assert len(server.requests) == 2


@pytest.mark.hard
def test_compare_says_whom_each_model_prefers(run, server, pictures):
    found = run("compare", *pictures, "--backends", "compatible.other,embedded", "--json").json
    assert [each["backend"] for each in found["a"]["summarizer_result"]["models"]] == ["compatible.other", "embedded"]
    assert any("models rate" in reason and "embedded" in reason for reason in found["reasons"]), found["reasons"]
    assert "Models on B" in run("compare", *pictures, "--backends", "compatible.other,embedded").out


@pytest.mark.hard
def test_a_batch_is_estimated_calibrated_and_run_with_its_weights(run, server, folder):
    rows = []
    for place, letter in enumerate("ABCDEABCDEABCDE"):
        pixels = np.random.default_rng(place).integers(0, 256, (64, 64, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{place}.png")
        query = f"Rate the quality of number {letter}."
        rows.append({"image_path": f"{place}.png", "query": query, "mos": 5 - "ABCDE".index(letter)})
    (folder / "rated.jsonl").write_text("\n".join(map(json.dumps, rows)))
    plan = ("batch", "rated.jsonl", *BOTH, "--without", "tools,replan")
    estimated = run(*plan, "--dry-run", "--json").json
    # Planner, detection, analysis, and two that answer.
    assert estimated["calls"] == [5 * 15, 5 * 15]
    assert estimated["backends"]["summarizer:compatible.other"] == "compatible.other"
    assert "summarizer compatible.exact, summarizer compatible.other" in run(*plan, "--dry-run").out
    done = run(*plan, "-o", "even.jsonl", "--json")
    assert (done.code, done.json["calls"]) == (0, 5 * 15), done.err
    fitted = run("calibrate", "even.jsonl", "--output", "mine", "--json")
    assert fitted.code == 0, fitted.err
    assert fitted.json["weights"]["compatible.exact"] > 0.9
    assert fitted.json["samples"] == 15
    shown = run("calibrate", "even.jsonl")
    assert "weights:" in shown.out
    assert "fitted" in shown.out
    assert load_settings(folder / "mine", environment={}).summarizer.weights == fitted.json["weights"]
    assert run("calibrate", "even.jsonl", "--output", "mine").code == 1
    weighed = run("batch", "rated.jsonl", "--config", "mine", "--without", "tools,replan", "-o", "fitted.jsonl")
    assert weighed.code == 0, weighed.err
    for name, worst in (("even.jsonl", 1.0), ("fitted.jsonl", 0.3)):
        lines = [json.loads(line) for line in (folder / name).read_text().splitlines()]
        gap = max(abs(line["summarizer_result"]["quality_score"] - line["mos"]) for line in lines)
        assert (gap < worst) == (name == "fitted.jsonl"), gap
    assert run("evaluate", "even.jsonl", "--score", "model:compatible.exact", "--json", "--resamples", "0").code == 0
    # Other weights are other conditions.
    again = run("batch", "rated.jsonl", "--config", "mine", "--without", "tools,replan", "-o", "even.jsonl", "--resume")
    assert again.code == 1
    assert "other conditions" in again.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("assess", "photo.png", "--backends", "embedded,embedded"), "named twice"),
        (("batch", "photo.png", "--backends", "embedded", "--measure", "PSNR", "-o", "-"), "has no effect"),
        (("calibrate", "photo.png", "--scale", "wide"), "two numbers"),
        (("calibrate", "photo.png"), "cannot be read"),
    ],
)
def test_mistakes_are_told(run, folder, arguments, words):
    Image.new("RGB", (64, 64)).save(folder / "photo.png")
    finished = run(*arguments)
    assert finished.code in (1, 2)
    assert words in finished.err


def test_one_model_without_a_key_is_told(run, pictures):
    finished = run("assess", pictures[0], "--backends", "embedded,openai.gpt-4o")
    assert finished.code == 0
    assert "openai.gpt-4o gave no answer (backend_unavailable)" in " ".join(finished.out.split())
    both = run("assess", pictures[0], "--backends", "google.gemini-2.5-flash,openai.gpt-4o", "--mode", "direct")
    assert both.code == 1
    assert "openai.gpt-4o failed too" in both.err
