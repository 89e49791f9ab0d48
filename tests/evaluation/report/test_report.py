"""The batch report: complete, self-contained, safe with hostile text, honest about what failed."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest

from agenticiqa.evaluation.report import prepare, render_markdown, render_page
from agenticiqa.evaluation.report.charts import heat_colour, histogram, scatter
from agenticiqa.evaluation.results import read_results

PICTURE = str(Path(__file__).resolve().parents[3] / "examples" / "pictures" / "dandelion_compressed.jpg")
HOSTILE = "</td><script>alert(1)</script><img src=x onerror=alert(2)>"


def line(sample_id: str, score: float | None, **more):
    status = "ok" if score is not None else "error"
    return {
        "sample_id": sample_id,
        "status": status,
        "query": "Rate it.",
        "image_path": PICTURE,
        "summarizer_result": {
            "final_answer": "B",
            "quality_reasoning": "Because.",
            "need_replan": False,
            "quality_score": score,
        }
        if score is not None
        else None,
        "error": None if score is not None else f"No file {HOSTILE}",
        "metadata": {
            "cost_usd": 0.01,
            "timings": {"planner": 0.5, "executor": 1.0, "summarizer": 0.25, "total": 2.0},
            "error_kind": None if score is not None else "image_not_found",
            "call_log": [
                {"role": "planner", "step": "plan", "tokens": {"prompt": 10, "completion": 5}, "cost_usd": 0.01}
            ],
        },
        **more,
    }


@pytest.fixture
def results(tmp_path: Path):
    lines = [
        line(f"jpeg-{level}", 5.0 - level, mos=4.6 - level, distortion="jpeg", level=level, dataset="made")
        for level in range(1, 4)
    ]
    lines += [line(f"blur-{level}", 4.5 - level, mos=4.0 - level, distortion="blur", level=level) for level in (1, 2)]
    lines += [line(HOSTILE, 3.3, mos=1.0, query=HOSTILE), line("broken", None, mos=3.0, distortion="jpeg")]
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")
    return read_results(path)


@pytest.fixture
def page(results):
    return render_page(prepare(results, title=HOSTILE, cases=1, resamples=50))


def test_every_section_is_there_and_nothing_comes_from_elsewhere(page):
    for name in ("summary", "distribution", "agreement", "distortions", "cost", "cases", "errors", "all"):
        assert f'<section id="{name}">' in page
    assert "http://" not in page
    assert "https://" not in page
    assert page.count("<svg") >= 2
    assert "data:image/jpeg;base64," in page


def test_hostile_text_is_escaped_and_only_our_script_may_run(page):
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert "<img src=x" not in page
    assert page.count("&lt;script&gt;alert(1)") >= 4  # title, sample, question, error


def test_failed_samples_are_counted_and_never_scored(results, page):
    report = prepare(results, resamples=50)
    assert len(report.scores) == 6
    assert report.error_kinds == {"image_not_found": 1}
    assert [result.sample_id for result in report.errors] == ["broken"]
    assert report.heat["jpeg"]["all"].count == 4
    assert report.heat["jpeg"]["all"].score == pytest.approx(3.0)
    assert "image_not_found" in page
    row = next(row for row in re.findall(r"<tr data-status.*?</tr>", page) if ">broken<" in row)
    assert 'data-status="error"' in row
    assert '<td data-value=""></td>' in row


def test_the_worst_cases_are_the_worst(results):
    cases = prepare(results, cases=2, resamples=50).cases
    assert [case.result.sample_id for case in cases["Lowest scores"]] == ["jpeg-3", "blur-2"]
    assert cases["Furthest from people"][0].result.sample_id == HOSTILE


def test_cost_by_agent_is_the_sum_of_the_calls(results):
    planner = prepare(results, resamples=50).agents[0]
    assert (planner.agent, planner.calls, planner.tokens) == ("planner", 7, 105)
    assert planner.usd == pytest.approx(0.07)
    assert planner.seconds == pytest.approx(3.5)


def test_markdown_holds_the_same_facts(results):
    text = render_markdown(prepare(results, resamples=50))
    assert "| 7 | 6 | 0 | 1 |" in text
    assert "image_not_found" in text
    assert "| blur | 2 |" in text


def test_results_without_opinions_or_scores_still_make_a_page(tmp_path):
    path = tmp_path / "bare.jsonl"
    path.write_text(json.dumps(line("only", None)) + "\n", encoding="utf-8")
    page = render_page(prepare(read_results(path)))
    assert "No sample has a score." in page
    assert 'id="agreement"' not in page


def test_charts_draw_what_they_are_given():
    assert histogram([1.0, 5.0, 5.0]).count("<rect") == 20
    assert "2 between 4.8 and 5.0" in histogram([1.0, 5.0, 5.0])
    assert scatter([1, 2, 3], [1, 2, 3]).count("<circle") == 3
    assert "4000 of them drawn" in scatter(list(range(5000)), list(range(5000)))
    assert heat_colour(1.0) == "#b3261e"
    assert heat_colour(5.0) == "#1a7f37"


def test_a_line_that_is_no_complete_result_is_shown_without_details(tmp_path: Path) -> None:
    bare = {"sample_id": "bare", "status": "ok", "summarizer_result": {"final_answer": "B", "quality_score": 3.0}}
    file = tmp_path / "r.jsonl"
    file.write_text(json.dumps(bare) + "\n" + json.dumps(line("whole", 4.0)) + "\n", encoding="utf-8")
    page = render_page(prepare(read_results(file)))
    assert "no complete result" in page
    assert "Because." in page
