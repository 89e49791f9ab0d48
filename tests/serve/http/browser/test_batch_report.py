"""The report of a batch in a real browser: it sorts, filters, and runs no stranger's script."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from agenticiqa.research.report.page import prepare, render_page
from agenticiqa.research.results import read_results
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
    expect(page.locator("#shown")).to_have_text("4 of 9 shown")
    page.get_by_label("Filter").fill("")
    page.get_by_label("Status").select_option("error")
    expect(rows).to_have_count(1)
    assert page.title() == "Quality report: results.jsonl"


@pytest.mark.parametrize("look", [{}, {"viewport": PHONE}, {"color_scheme": "dark"}], ids=["desktop", "phone", "dark"])
def test_it_fits_and_everybody_can_read_it(open_page, report, serious_findings, look):
    page = open_page(report, **look)
    assert overflow(page) == 0
    assert serious_findings(page) == []


@pytest.fixture(scope="module")
def long_report(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("long")
    lines = [
        {**line(f"jpeg-{number}", 1 + number % 400 / 100, 3), "image_path": "gone.png"} for number in range(10_000)
    ]
    (folder / "results.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")
    page = folder / "report.html"
    prepared = prepare(read_results(folder / "results.jsonl"), cases=0, resamples=0)
    page.write_text(render_page(prepared), encoding="utf-8")
    return page.as_uri()


def test_ten_thousand_rows_are_drawn_as_they_come_into_view(open_page, long_report):
    page = open_page(long_report)
    expect(page.locator("#shown")).to_have_text("10,000 of 10,000 shown")
    rows = page.locator("#samples tbody tr:not(.space)")
    assert rows.count() < 60
    page.locator("#window").evaluate("box => box.scrollTo(0, box.scrollHeight)")
    expect(rows.last).to_contain_text("jpeg-9999")
    assert rows.count() < 60
    page.get_by_role("button", name="Sample").click()
    page.get_by_role("button", name="Sample").click()
    expect(rows.first).to_contain_text("jpeg-9999")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert rows.count() == 1000
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert rows.count() < 60
