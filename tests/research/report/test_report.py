"""The batch report: complete, self-contained, safe with hostile text, honest about what failed."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from agenticiqa._version import __version__
from agenticiqa.research.report.charts import histogram, scatter
from agenticiqa.research.report.page import prepare, render_page
from agenticiqa.research.results import read_results

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


def rows_of(page: str) -> list[list[Any]]:
    """What the table of samples is filled with."""
    (data,) = re.findall(r'<script type="application/json" id="rows">(.*?)</script>', page, re.DOTALL)
    return json.loads(data)


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
    for name in ("summary", "distribution", "agreement", "cost", "cases", "errors", "all"):
        assert f'<section id="{name}">' in page
    assert "http://" not in page
    assert "https://" not in page
    assert page.count("<svg") >= 2
    assert "data:image/jpeg;base64," in page


def test_hostile_text_is_escaped_and_only_our_script_may_run(page):
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 1
    assert page.count("<script") == 2, "the other one is data"
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert "<img src=x" not in page
    assert page.count("&lt;script&gt;alert(1)") >= 4  # title, sample, question, error
    assert [row[1] for row in rows_of(page) if "script" in row[1]] == [HOSTILE]


def test_failed_samples_are_counted_and_never_scored(results, page):
    report = prepare(results, resamples=50)
    assert len(report.scores) == 6
    assert report.error_kinds == {"image_not_found": 1}
    assert [result.sample_id for result in report.errors] == ["broken"]
    assert "<td>jpeg</td><td>0 of 1</td>" in page
    assert "image_not_found" in page
    (row,) = [row for row in rows_of(page) if row[1] == "broken"]
    assert row[2:6] == ["error", None, 3.0, None]


def test_the_worst_cases_are_the_worst(results):
    cases = prepare(results, cases=2, resamples=50).cases
    assert [case.result.sample_id for case in cases["Lowest scores"]] == ["jpeg-3", "blur-2"]
    assert cases["Furthest from people"][0].result.sample_id == HOSTILE


def test_cost_by_agent_is_the_sum_of_the_calls(results):
    planner = prepare(results, resamples=50).agents[0]
    assert (planner.agent, planner.calls, planner.tokens) == ("planner", 7, 105)
    assert planner.usd == pytest.approx(0.07)
    assert planner.seconds == pytest.approx(3.5)


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
    assert scatter(list(range(5000)), list(range(5000))) == scatter(list(range(5000)), list(range(5000)))


def test_a_line_that_is_no_complete_result_is_shown_without_details(tmp_path: Path) -> None:
    bare = {"sample_id": "bare", "status": "ok", "summarizer_result": {"final_answer": "B", "quality_score": 3.0}}
    file = tmp_path / "r.jsonl"
    file.write_text(json.dumps(bare) + "\n" + json.dumps(line("whole", 4.0)) + "\n", encoding="utf-8")
    page = render_page(prepare(read_results(file)))
    assert "no complete result" in page
    assert "Because." in page


def test_every_row_has_its_thumbnail_and_no_row_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "secret place" / "shoot"
    folder.mkdir(parents=True)
    lines = []
    for number in range(12):
        picture = folder / f"{number}.png"
        Image.fromarray(np.full((30, 40, 3), 20 * number, np.uint8)).save(picture)
        lines.append(line(str(picture), 1.0 + number / 4, image_path=str(picture)))
    gone = str(folder / "gone.png")
    lines.append(line(gone, None, image_path=gone, error=f"There is no file {gone}."))
    file = tmp_path / "r.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")
    page = render_page(prepare(read_results(file), cases=1, resamples=0))
    rows = rows_of(page)
    assert [row[1] for row in rows] == [*(f"{number}.png" for number in range(12)), "gone.png"]
    assert all(row[0].startswith("data:image/webp;base64,") for row in rows[:-1])
    assert rows[-1][0] == ""
    assert "secret place" not in page
    assert "There is no file gone.png." in page
    without = render_page(prepare(read_results(file), cases=0, resamples=0), thumbnails=False)
    assert not any(row[0] for row in rows_of(without))


def test_columns_without_values_are_left_out(results, tmp_path: Path) -> None:
    assert ">Opinion</button>" in render_page(prepare(results, cases=0, resamples=50), thumbnails=False)
    path = tmp_path / "plain.jsonl"
    path.write_text(json.dumps(line("one", 4.0)) + "\n", encoding="utf-8")
    page = render_page(prepare(read_results(path), cases=0), thumbnails=False)
    assert ">Opinion</button>" not in page
    assert ">Score</button>" in page


def test_the_foot_says_when_and_by_what(tmp_path: Path) -> None:
    path = tmp_path / "plain.jsonl"
    metadata = {"call_log": [{"role": "planner", "backend": "openai.gpt-4o", "model": "gpt-4o-2024-08-06"}]}
    path.write_text(json.dumps(line("one", 4.0, metadata=metadata)) + "\n", encoding="utf-8")
    page = render_page(prepare(read_results(path), cases=0), thumbnails=False)
    foot = page[page.index("<footer>") : page.index("</footer>")]
    assert re.search(r"Made on \d+ \w+ \d{4}, \d\d:\d\d UTC by AgenticIQA " + re.escape(__version__), foot)
    assert "Model: openai.gpt-4o (gpt-4o-2024-08-06)." in foot


def test_a_small_batch_shows_each_picture_once(results) -> None:
    cases = prepare(results, cases=4, resamples=50).cases
    lowest, highest = ([case.result.sample_id for case in cases[name]] for name in ("Lowest scores", "Highest scores"))
    assert len(lowest) == 4
    assert not set(lowest) & set(highest)


def test_a_scale_asked_for_stands_beside_the_answer(tmp_path: Path) -> None:
    scaled = line("a", 4.2, query="Rate it from 1 to 10")
    scaled["summarizer_result"]["used_evidence"] = {"asked_scale": "8.2 of 10"}
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in (scaled, line("b", 2.0))), encoding="utf-8")
    report = prepare(read_results(path), cases=2)
    assert sum("(8.2 of 10)" in str(cell) for row in rows_of(render_page(report)) for cell in row) == 1
