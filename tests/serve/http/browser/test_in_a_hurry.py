"""The page with people in a hurry: scripts that come late, double clicks, back and reload, another view meanwhile."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, Route, expect

from serve.http.browser.steps import answer_of, ask, drop_from_disk, mark_worst, overflow, upload
from support.http_service import PICTURE, REFERENCE, Running, encoded

Opener = Callable[..., Page]
Findings = Callable[[Page], list[str]]


# --- before the scripts are there ---


def test_before_the_scripts_are_there_nothing_pretends_to_work(open_page: Opener, scripted: Running):
    page = open_page("about:blank")
    held: list[Route] = []
    arrived = threading.Event()

    def hold(route: Route) -> None:
        held.append(route)
        arrived.set()

    page.route("**/js/desk.js", hold)
    page.goto(scripted.url, wait_until="commit")
    expect(page.locator("#ask")).to_be_disabled()
    for control in ("#theme-button", "#shortcuts-button"):
        expect(page.locator(control)).to_be_disabled()
    page.locator("#question").fill("Is the picture sharp?")
    page.wait_for_timeout(50)
    assert arrived.is_set()
    held[0].continue_()
    expect(page.locator("#ask")).to_be_enabled()
    expect(page.locator("#theme-button")).to_be_enabled()
    # What was typed meanwhile is still there.
    expect(page.locator("#question")).to_have_value("Is the picture sharp?")
    upload(page)
    ask(page)
    expect(page.locator(".turn-question")).to_have_text("Is the picture sharp?")


@pytest.mark.parametrize("lost", ["**/js/viewer.js", "**/words.json"])
def test_a_script_that_does_not_arrive_is_said(open_page: Opener, watch, scripted: Running, lost: str):
    watch.ignored = "ERR_FAILED"
    page = open_page("about:blank")
    page.on("pageerror", lambda error: watch.complaints.remove(str(error)))
    page.route(lost, lambda route: route.abort())
    page.goto(scripted.url)
    expect(page.get_by_role("alert").filter(has_text="did not arrive")).to_be_visible()
    expect(page.locator("#ask")).to_be_disabled()
    page.unroute(lost)
    page.get_by_role("link", name="Load it again").click()
    expect(page.locator(".example").first).to_be_visible()
    expect(page.locator("#not-loaded")).to_be_hidden()


# --- clicks too many ---


def test_double_click_on_an_example_asks_once(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    page.locator(".example").first.dblclick()
    answer_of(page)
    expect(page.locator(".turn")).to_have_count(1)
    expect(page.locator("#ask-hint")).to_be_empty()


def test_two_examples_at_once_the_last_one_is_asked_about(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    expect(page.locator(".example")).to_have_count(6)
    page.evaluate(
        "() => { const [, noise, , , face] = document.querySelectorAll('.example'); noise.click(); face.click(); }"
    )
    answer_of(page)
    expect(page.locator(".turn-question")).to_have_text(["Is the face sharp?"])
    expect(page.locator(".slot-name")).to_have_text("A face")


def test_double_click_on_ask_and_on_a_suggestion_ask_once(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    upload(page)
    page.locator("#ask").dblclick()
    answer_of(page)
    page.locator(".chip-next").first.dblclick()
    expect(page.locator(".turn")).to_have_count(2)
    answer_of(page)
    expect(page.locator(".turn")).to_have_count(2)


def test_double_click_deletes_nothing(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    upload(page, name="dear.png")
    ask(page, "Rate the image.")
    page.get_by_role("link", name="History").click()
    row = page.locator(".run-item", has_text="dear.png")
    delete = row.get_by_role("button", name="Delete")
    delete.dblclick()
    expect(delete).to_have_text("Really delete?")
    page.reload()
    expect(row).to_be_visible()


# --- other views, back, reload ---


def test_what_lay_over_a_picture_is_there_again_after_another_view(open_page: Opener, embedded_url: str):
    page = open_page(embedded_url)
    page.get_by_role("button", name="Grain of high ISO").click()
    answer_of(page)
    mark_worst(page)
    page.get_by_role("button", name="Quality map").click()
    expect(page.locator(".pane-overlay")).to_be_visible()
    page.get_by_role("link", name="Compare", exact=True).click()
    upload(page, "Picture A", "a.png", PICTURE)
    expect(page.get_by_role("button", name="Worst place")).to_be_hidden()
    page.get_by_role("link", name="Assess", exact=True).click()
    expect(page.locator(".pane-label-worst")).to_be_visible()
    expect(page.get_by_label("Map", exact=True)).to_have_value("quality")
    expect(page.locator(".pane-overlay")).to_be_visible()


def test_an_answer_that_comes_while_another_view_is_open_changes_no_address(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    upload(page)
    page.evaluate("() => { document.querySelector('#ask').click(); location.hash = '#/history'; }")
    expect(page.locator(".run-item:visible").first).to_be_visible()
    expect(page.locator("#server-state")).to_have_text("Ready")
    page.wait_for_timeout(500)
    assert page.url.endswith("#/history")
    page.get_by_role("link", name="Assess", exact=True).click()
    expect(answer_of(page)).to_be_visible()


def test_back_keeps_the_thread(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    upload(page)
    for question in ("Rate the image.", "Is it sharp?"):
        ask(page, question)
    page.go_back()
    expect(page.locator(".turn-question")).to_have_text(["Rate the image.", "Is it sharp?"])
    page.get_by_role("link", name="History").click()
    expect(page.locator(".run-item:visible").first).to_be_visible()
    page.go_back()
    expect(page.locator(".turn-question")).to_have_text(["Rate the image.", "Is it sharp?"])
    expect(page.locator(".pane-base")).to_be_visible()


def test_a_second_picture_can_be_asked_about_at_once(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    upload(page)
    ask(page, "Is it sharp?")
    upload(page, name="other.png", data=REFERENCE)
    expect(page.locator("#question")).to_have_value("How good is this picture?")
    ask(page)
    expect(page.locator(".turn-question")).to_have_text(["How good is this picture?"])


def test_two_windows_do_not_disturb_each_other(open_page: Opener, scripted: Running):
    first, second = open_page(scripted.url), open_page(scripted.url)
    for page, name in ((first, "one.png"), (second, "two.png")):
        upload(page, name=name)
    first.locator("#ask").click()
    second.locator("#ask").click()
    for page, name in ((first, "one.png"), (second, "two.png")):
        answer_of(page)
        expect(page.locator(".slot-name")).to_have_text(name)
    assert first.url != second.url


# --- files too many, too broken ---


def test_a_folder_with_one_picture_is_asked_about(open_page: Opener, scripted: Running, tmp_path: Path):
    (tmp_path / "one.png").write_bytes(PICTURE)
    (tmp_path / "notes.txt").write_text("A note")
    page = open_page(scripted.url)
    expect(page.locator(".slot").first).to_be_visible()
    drop_from_disk(page, page.locator(".slot").first, tmp_path)
    expect(page.locator(".slot-name")).to_have_text("one.png")
    assert page.url.endswith("#/assess")


def test_an_empty_folder_is_said(open_page: Opener, scripted: Running, tmp_path: Path):
    page = open_page(scripted.url)
    expect(page.locator(".slot").first).to_be_visible()
    drop_from_disk(page, page.locator(".slot").first, tmp_path)
    expect(page.get_by_role("alert").filter(has_text="There is no picture among these files.")).to_be_visible()


def test_three_hundred_files_dropped_at_once(open_page: Opener, scripted: Running, tmp_path: Path):
    shades = [encoded(np.full((8, 8, 3), shade, np.uint8)) for shade in range(0, 250, 50)]
    for number in range(300):
        (tmp_path / f"shot {number:03}.png").write_bytes(shades[number % len(shades)])
    (tmp_path / "shot 000.png").write_bytes(b"broken")
    page = open_page(scripted.url)
    expect(page.locator(".slot").first).to_be_visible()
    drop_from_disk(page, page.locator(".slot").first, *sorted(tmp_path.iterdir()))
    expect(page.locator(".many-head")).to_contain_text("300 pictures")


def test_a_narrow_or_magnified_window_cuts_nothing(open_page: Opener, embedded_url: str):
    # 1280 pixels at 200 and at 400 %.
    for width, height in ((640, 400), (320, 200)):
        page = open_page(embedded_url, viewport={"width": width, "height": height})
        expect(page.locator(".example")).to_have_count(6)
        assert overflow(page) == 0
        page.get_by_role("button", name="A face").click()
        answer_of(page)
        page.locator(".why > summary").click()
        assert overflow(page) == 0
        for view in ("Compare", "Folder", "History"):
            page.get_by_role("link", name=view, exact=True).click()
            expect(page).to_have_title(re.compile("AgenticIQA"))
            assert overflow(page) == 0


# --- loaded again, and by keyboard ---


def test_loaded_again_the_whole_thread_is_there(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    upload(page)
    questions = ["Rate the image.", "Is it sharp?", "Is it noisy?"]
    for question in questions:
        ask(page, question)
    address = page.url
    page.reload()
    expect(page.locator(".turn-question")).to_have_text(questions)
    expect(page.locator(".turn .answer")).to_have_count(3)
    assert page.url == address
    upload(page, name="other.png", data=REFERENCE)
    ask(page, "Rate the image.")
    page.reload()
    expect(page.locator(".turn-question")).to_have_text(["Rate the image."])
    expect(page.locator(".slot-name")).to_have_text("other.png")


def test_a_keyboard_never_loses_its_place(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    page.locator(".example").first.focus()
    page.keyboard.press("Enter")
    answer_of(page)
    expect(page.locator(".turn-question")).to_be_focused()
    page.locator(".chip-next").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".turn")).to_have_count(2)
    answer_of(page)
    expect(page.locator(".turn-question").last).to_be_focused()
    page.get_by_role("link", name="History").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".run-item:visible").nth(1)).to_be_visible()
    run = page.locator(".run-item:visible").nth(1).get_attribute("data-run")
    pinned = page.locator(f'[data-run="{run}"]')
    pinned.get_by_role("button", name="Pin").focus()
    page.keyboard.press("Enter")
    expect(pinned.get_by_role("button", name="Pin")).to_have_attribute("aria-pressed", "true")
    expect(pinned.get_by_role("button", name="Pin")).to_be_focused()
    pinned.get_by_role("button", name="Delete").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(pinned).to_have_count(0)
    expect(page.locator(".run-row:focus")).to_have_count(1)


def test_chosen_runs_stay_chosen_when_the_list_is_drawn_anew(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    third = encoded(np.full((64, 80, 3), 140, np.uint8))
    for name, data in (("left.png", PICTURE), ("right.png", REFERENCE), ("third.png", third)):
        upload(page, name=name, data=data)
        ask(page, "Rate the image.")
    page.get_by_role("link", name="History").click()
    box = page.get_by_label("Choose for a comparison: right.png")
    box.check()
    page.get_by_role("searchbox").fill("png")
    expect(page.get_by_label("Choose for a comparison: right.png")).to_be_checked()
    page.get_by_label("Choose for a comparison: left.png").check()
    page.get_by_label("Choose for a comparison: third.png").check()
    # Two at most: the first one that was chosen makes way.
    expect(page.get_by_label("Choose for a comparison: right.png")).not_to_be_checked()
