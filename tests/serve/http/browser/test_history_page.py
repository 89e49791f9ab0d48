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
    """Three runs on two pictures: a rating and an option about one, which changed its name, a rating of another."""
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
    groups = page.locator(".picture-group")
    expect(groups.locator(".picture-name")).to_have_text(["office.png", "garden.png"])
    # A thread reads from its beginning.
    expect(groups.first.locator(".run-query")).to_have_text(["Rate the image.", "Worst? A. Blur B. Compression"])
    expect(groups.first.locator(".picture-head")).to_contain_text("2 questions")
    expect(groups.first.locator(".run-answer").last).to_have_text("B. Compression")
    assert serious_findings(page) == []
    page.get_by_role("searchbox").fill("holiday")
    expect(rows).to_have_count(1)
    page.get_by_role("searchbox").fill("nowhere")
    expect(page.get_by_text("Nothing holds “nowhere”.")).to_be_visible()
    page.get_by_role("searchbox").fill("")
    expect(rows).to_have_count(3)
    rows.last.get_by_role("button", name="Pin").click()
    expect(rows.first).to_contain_text("garden.png")
    expect(rows.first.get_by_role("button", name="Pin")).to_have_attribute("aria-pressed", "true")
    rows.first.get_by_role("button", name="Pin").click()
    expect(rows.first).to_contain_text("holiday.png")
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
    page.get_by_label("Choose for a comparison: office.png").check()
    page.get_by_label("Choose for a comparison: garden.png").check()
    compare.click()
    expect(page.locator(".slot-name")).to_have_text(["office.png", "garden.png"])
    with page.expect_request("**/v1/compare?*") as sent:
        page.locator("#ask").click()
    assert b"image_a_kept" in (sent.value.post_data_buffer or b"")
    expect(page.locator(".turn .answer")).to_be_visible()
    page.close()


def test_thumbnails_and_a_narrow_window(open_page: Opener, filled: Running):
    page = open_page(f"{filled.url}/#/history", viewport={"width": 390, "height": 844})
    expect(page.locator(".run-thumb img[src^='blob:']")).to_have_count(2)
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


def test_of_a_long_thread_the_last_questions_are_shown(open_page: Opener, filled: Running):
    with filled.client() as client:
        for number in range(4):
            assess(client, files={"image": ("office.png", PICTURE)}, data={"query": f"Rate it again, time {number}."})
    page = open_page(f"{filled.url}/#/history")
    thread = page.locator(".picture-group").first
    expect(thread.locator(".run-item:visible .run-query")).to_have_text(
        [f"Rate it again, time {number}." for number in range(4)]
    )
    thread.get_by_role("button", name="Show 2 earlier").click()
    expect(thread.locator(".run-item:visible")).to_have_count(6)
    expect(thread.locator(".run-row").first).to_be_focused()
    page.close()


def test_folders_stand_between_the_pictures(open_page: Opener, filled: Running, serious_findings: Findings):
    with filled.client() as client:
        files = [("files", (f"{name}.png", data)) for name, data in (("a", PICTURE), ("b", REFERENCE))]
        client.post("/v1/audits", files=files, data={"quick": "true"}).raise_for_status()
    page = open_page(f"{filled.url}/#/history")
    folder = page.locator(".audit-item")
    expect(folder).to_contain_text("Folder: 2 pictures")
    expect(page.locator(".runs > li").first).to_contain_text("Folder: 2 pictures")
    assert serious_findings(page) == []
    folder.locator(".run-row").click()
    expect(page.locator("iframe.sheet")).to_be_visible()
    page.get_by_role("link", name="History").click()
    page.get_by_role("searchbox").fill("garden")
    expect(folder).to_have_count(0)
    page.get_by_role("searchbox").fill("")
    delete = folder.get_by_role("button", name="Delete")
    delete.click()
    delete.click()
    expect(folder).to_have_count(0)
    expect(page.locator(".picture-group")).to_have_count(2)
    page.close()
