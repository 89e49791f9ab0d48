"""History on the page: search, pins, deleting, comparing two, options by their text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from serve.http.browser.steps import overflow
from support.http_service import PICTURE, REFERENCE, Running, assess, serving
from support.scripted import ScriptedClient

Opener = Callable[..., Page]
Findings = Callable[[Page], list[str]]


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Running]:
    """Three runs: a rating, an option, a rating of another picture."""
    model = ScriptedClient()
    with serving(tmp_path, model) as running, running.client() as client:
        assess(client, files={"image": ("holiday.png", PICTURE)}, data={"query": "Rate the image."})
        assess(client, files={"image": ("garden.png", REFERENCE)}, data={"query": "Rate the image."})
        model.script.replies["answer"] = {"final_answer": "B", "quality_reasoning": "Blocks."}
        assess(client, files={"image": ("office.png", PICTURE)}, data={"query": "Worst? A. Blur B. Compression"})
        yield running


def test_search_pin_and_delete(open_page: Opener, filled: Running, serious_findings: Findings):
    page = open_page(f"{filled.url}/#/history")
    rows = page.locator(".run-item")
    expect(rows).to_have_count(3)
    expect(rows.first.locator(".run-answer")).to_have_text("B. Compression")
    assert serious_findings(page) == []
    page.get_by_role("searchbox").fill("holiday")
    expect(rows).to_have_count(1)
    page.get_by_role("searchbox").fill("nowhere")
    expect(page.get_by_text("Nothing holds “nowhere”.")).to_be_visible()
    page.get_by_role("searchbox").fill("")
    expect(rows).to_have_count(3)
    rows.last.get_by_role("button", name="Pin").click()
    expect(rows.first).to_contain_text("holiday.png")
    expect(rows.first.get_by_role("button", name="Pin")).to_have_attribute("aria-pressed", "true")
    delete = rows.first.get_by_role("button", name="Delete")
    delete.click()
    expect(rows).to_have_count(3)
    delete.click()
    expect(rows).to_have_count(2)
    expect(page.get_by_text("holiday.png")).to_have_count(0)
    page.close()


def test_two_chosen_runs_are_compared(open_page: Opener, filled: Running):
    page = open_page(f"{filled.url}/#/history")
    compare = page.get_by_role("button", name="Compare the two chosen")
    expect(compare).to_be_disabled()
    page.get_by_label("Choose for a comparison: holiday.png").check()
    page.get_by_label("Choose for a comparison: garden.png").check()
    compare.click()
    expect(page.locator(".slot-name")).to_have_text(["holiday.png", "garden.png"])
    with page.expect_request("**/v1/compare?*") as sent:
        page.locator("#ask").click()
    assert b"image_a_kept" in (sent.value.post_data_buffer or b"")
    expect(page.locator(".turn .answer")).to_be_visible()
    page.close()


def test_thumbnails_and_a_narrow_window(open_page: Opener, filled: Running):
    page = open_page(f"{filled.url}/#/history", viewport={"width": 390, "height": 844})
    expect(page.locator(".run-thumb img[src^='blob:']")).to_have_count(3)
    assert overflow(page) == 0
    page.close()


def test_a_run_that_failed_because_of_its_picture_asks_for_no_thumbnail(open_page: Opener, watch, tmp_path: Path):
    with serving(tmp_path, ScriptedClient()) as running, running.client() as client:
        cut = {"image": ("cut.png", PICTURE[: len(PICTURE) // 2])}
        client.post("/v1/assess", files=cut, data={"query": "Rate the image."})
        assess(client, files={"image": ("whole.png", PICTURE)}, data={"query": "Rate the image."})
        page = open_page(f"{running.url}/#/history")
        expect(page.locator(".run-item")).to_have_count(2)
        expect(page.locator(".run-thumb img[src^='blob:']")).to_have_count(1)
        assert sum("max_side=192" in address for address in watch.addresses) == 1
        page.close()
