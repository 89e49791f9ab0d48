"""The report of a batch in a real browser: it sorts, filters, and runs no stranger's script."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from agenticiqa.evaluation.report import prepare, render_page
from agenticiqa.evaluation.results import read_results
from serve.http.browser.steps import overflow

PICTURE = str(Path(__file__).resolve().parents[4] / "examples" / "pictures" / "dandelion_compressed.jpg")
HOSTILE = "</td><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
PHONE = {"width": 390, "height": 844}


def line(name: str, score: float | None, mos: float) -> dict:
    answered = {"final_answer": "B", "quality_reasoning": HOSTILE, "need_replan": False, "quality_score": score}
    return {
        "sample_id": name,
        "status": "error" if score is None else "ok",
        "query": HOSTILE,
        "image_path": PICTURE,
        "summarizer_result": None if score is None else answered,
        "error": HOSTILE if score is None else None,
        "mos": mos,
        "distortion": name.partition("-")[0],
        "level": name.partition("-")[2],
    }


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("report")
    lines = [line(f"jpeg-{level}", 5.2 - level, 5 - level) for level in range(1, 5)]
    lines += [line(f"blur-{level}", 5.4 - level, 4.9 - level) for level in range(1, 5)] + [line("gone-1", None, 3)]
    (folder / "results.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")
    page = folder / "report.html"
    page.write_text(render_page(prepare(read_results(folder / "results.jsonl"), cases=1)), encoding="utf-8")
    return page.as_uri()


def test_it_sorts_filters_and_stays_itself(open_page, report):
    page = open_page(report)
    rows = page.locator("#samples tbody tr:visible")
    expect(rows).to_have_count(9)
    page.get_by_role("button", name="Score").click()
    expect(rows.first).to_contain_text("jpeg-4")
    page.get_by_role("button", name="Score").click()
    expect(page.locator("#samples th[aria-sort=descending]")).to_have_count(1)
    page.get_by_label("Filter").fill("blur")
    expect(page.locator("#shown")).to_have_text("4 shown")
    page.get_by_label("Filter").fill("")
    page.get_by_label("Status").select_option("error")
    expect(rows).to_have_count(1)
    assert page.title() == "Quality report: results.jsonl"


@pytest.mark.parametrize("look", [{}, {"viewport": PHONE}, {"color_scheme": "dark"}], ids=["desktop", "phone", "dark"])
def test_it_fits_and_everybody_can_read_it(open_page, report, serious_findings, look):
    page = open_page(report, **look)
    assert overflow(page) == 0
    assert serious_findings(page) == []
