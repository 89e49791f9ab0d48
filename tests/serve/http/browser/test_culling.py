"""The culling view of the contact sheet: decided by keys and by buttons, compared, undone, kept and exported."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

import agenticiqa
from serve.http.browser.steps import decision_chip, exported, open_picture

Opener = Callable[..., Page]


def decided(page: Page, words: str) -> None:
    expect(page.locator("#viewer-decision")).to_have_text(words)


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def table(page: Page) -> dict[str, dict[str, str]]:
    return {row["path"]: row for row in csv.DictReader(io.StringIO(exported(page)))}


def current(page: Page) -> str:
    return page.locator("#viewer-name").inner_text()


def test_a_person_decides_by_keys_and_it_is_what_is_exported(open_page: Opener, sheet: str):
    page = open_page(sheet)
    expect(decision_chip(page, "keep")).to_have_text("Keep 4")
    open_picture(page, "coffee_0.jpg")
    decided(page, "Reject")
    press(page, "p", "4")
    decided(page, "Keep · Yours · 4 stars")
    expect(page.locator("#viewer-why")).to_have_text("AgenticIQA: Reject: softer than coffee_1.jpg")
    expect(page.locator("#viewer-counts")).to_have_text("Keep 5 · Maybe 0 · Reject 6")
    press(page, "ArrowRight", "x", "ArrowRight", "u", "Escape")
    expect(page.locator("#viewer")).to_be_hidden()
    expect(decision_chip(page, "you")).to_have_text("Yours 3")
    expect(decision_chip(page, "maybe")).to_have_text("Maybe 1")
    rows = table(page)
    assert {name: rows["coffee_0.jpg"][name] for name in ("decision", "stars", "by", "why")} == {
        "decision": "keep",
        "stars": "4",
        "by": "you",
        "why": "",
    }
    assert [rows[f"coffee_{n}.jpg"]["decision"] for n in (1, 2)] == ["reject", "maybe"]
    assert (rows["cat_small.jpg"]["by"], rows["cat_small.jpg"]["why"]) == ("agenticiqa", "a smaller copy of cat.png")
    decision_chip(page, "you").click()
    decision_chip(page, "keep").click()
    assert exported(page, "#export-list") == "coffee_0.jpg\n"


def test_a_reload_loses_nothing_and_another_window_hears_of_it(open_page: Opener, sheet: str):
    page = open_page(sheet)
    other = page.context.new_page()
    other.goto(sheet)
    open_picture(page, "cat.png")
    press(page, "x", "2")
    expect(decision_chip(other, "you")).to_have_text("Yours 1")
    page.reload()
    open_picture(page, "cat.png")
    decided(page, "Reject · Yours · 2 stars")


def test_a_browser_that_keeps_nothing_is_told_of(open_page: Opener, sheet: str):
    page = open_page("about:blank")
    page.add_init_script(
        "Storage.prototype.setItem = () => { throw new DOMException('no room', 'QuotaExceededError'); }"
    )
    page.goto(sheet)
    expect(page.locator("#unkept")).to_be_hidden()
    open_picture(page, "cat.png")
    press(page, "x", "Escape")
    expect(page.get_by_role("alert")).to_contain_text("Export what you decided before you close it.")
    assert table(page)["cat.png"]["decision"] == "reject"


def test_undo_and_redo(open_page: Opener, sheet: str):
    page = open_page(sheet)
    undo, redo = (page.locator(f"#viewer [data-act={name}]") for name in ("undo", "redo"))
    open_picture(page, "strip.png")
    expect(undo).to_be_disabled()
    press(page, "x", "5", "ArrowLeft", "Control+z")
    # Where it was undone is shown.
    expect(page.locator("#viewer-name")).to_have_text("strip.png")
    decided(page, "Reject · Yours")
    press(page, "Control+z")
    decided(page, "Keep · 3 stars")
    press(page, "Control+Shift+Z")
    decided(page, "Reject · Yours")
    redo.click()
    decided(page, "Reject · Yours · 5 stars")
    expect(redo).to_be_disabled()
    undo.click()
    press(page, "p")
    expect(redo).to_be_disabled()


def test_arrows_go_through_groups(open_page: Opener, sheet: str):
    page = open_page(sheet)
    page.locator("#order").select_option("bytes")
    open_picture(page, "coffee_1.jpg")
    expect(page.locator("#viewer-group-name")).to_have_text("Shots of one scene: 3")
    seen = []
    for key in ("ArrowLeft", "ArrowRight", "ArrowRight"):
        press(page, key)
        seen.append(current(page))
    assert seen == ["coffee_0.jpg", "coffee_1.jpg", "coffee_2.jpg"]
    press(page, "ArrowDown")
    after = current(page)
    press(page, "ArrowUp")
    assert current(page) == "coffee_0.jpg"
    press(page, "ArrowRight", "ArrowRight", "ArrowRight")
    assert current(page) == after
    assert not after.startswith("coffee")


def test_a_decision_takes_nothing_away_before_the_view_is_closed(open_page: Opener, sheet: str):
    page = open_page(sheet)
    decision_chip(page, "keep").click()
    expect(page.locator("#count")).to_have_text("4 pictures shown")
    open_picture(page, "coffee_1.jpg")
    press(page, "x")
    expect(page.locator("#viewer-name")).to_have_text("coffee_1.jpg")
    press(page, "ArrowRight")
    expect(page.locator("#viewer-name")).to_have_text("coffee_2.jpg")
    press(page, "Escape")
    expect(page.locator("#count")).to_have_text("3 pictures shown")


def test_one_pixel_of_the_picture_for_each_of_the_screen(open_page: Opener, sheet: str, shoot: Path):
    page = open_page(sheet, viewport={"width": 700, "height": 420})
    open_picture(page, "astronaut.png")
    image = page.locator(".pane:visible img")
    width, height = Image.open(shoot / "astronaut.png").size
    expect(image).to_have_js_property("naturalWidth", width)
    press(page, "z")
    expect(page.locator("#viewer-zoom")).to_have_attribute("aria-pressed", "true")
    glass, seen = page.locator(".pane:visible .glass").bounding_box(), image.bounding_box()
    assert (seen["width"], seen["height"]) == (width, height)
    # More of it than fits: the sharpest place in the middle, as far as the picture reaches.
    assert glass["height"] < height
    row = next(row for row in agenticiqa.audit(shoot, quick=True) if row["path"] == "astronaut.png")
    edge = glass["height"] / 2 / height
    place = min(max(row["sharpest"][1], edge), 1 - edge)
    assert seen["y"] + place * height == pytest.approx(glass["y"] + glass["height"] / 2, abs=1)
    press(page, "Shift+ArrowDown")
    assert image.bounding_box()["y"] + height == pytest.approx(glass["y"] + glass["height"], abs=1)
    press(page, "Escape")
    expect(page.locator("#viewer-zoom")).to_have_attribute("aria-pressed", "false")
    # A click near the upper edge leads there.
    page.mouse.click(glass["x"] + glass["width"] / 2, glass["y"] + 4)
    assert image.bounding_box()["y"] == pytest.approx(glass["y"], abs=1)
    page.mouse.move(glass["x"] + 40, glass["y"] + 60)
    page.mouse.down()
    page.mouse.move(glass["x"] + 40, glass["y"] + 40, steps=4)
    page.mouse.up()
    assert image.bounding_box()["y"] == pytest.approx(glass["y"] - 20, abs=1)


def test_a_group_side_by_side_is_zoomed_and_moved_together(open_page: Opener, sheet: str, serious_findings):
    page = open_page(sheet, viewport={"width": 900, "height": 600})
    open_picture(page, "coffee_1.jpg")
    press(page, "c")
    panes = page.locator(".pane:visible")
    expect(panes).to_have_count(3)
    press(page, "ArrowLeft", "x", "z", "Shift+ArrowRight")
    expect(panes.nth(0).locator(".mark")).to_have_text("✕ Yours")
    widths = {round(panes.nth(at).locator("img").bounding_box()["width"]) for at in range(3)}
    assert widths == {296}
    shifts = [
        panes.nth(at).locator("img").bounding_box()["x"] - panes.nth(at).locator(".glass").bounding_box()["x"]
        for at in range(3)
    ]
    assert shifts[0] < 0
    assert shifts == pytest.approx([shifts[0]] * 3, abs=0.1)
    assert serious_findings(page) == []
    press(page, "Escape", "Escape")
    expect(panes).to_have_count(1)
    expect(page.locator("#viewer")).to_be_visible()


def test_selected_pictures_side_by_side_and_decided_at_once(open_page: Opener, sheet: str):
    page = open_page(sheet)
    for place in (0, 2, 4, 6, 8):
        page.locator(".tile:not([hidden]) input").nth(place).click()
    press(page, "c")
    panes = page.locator(".pane:visible .pane-name")
    expect(panes).to_have_text(["astronaut (1).bmp", "blank.png", "cat.png", "cat_small.jpg"])
    press(page, "ArrowLeft", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight")
    expect(page.locator("#viewer-name")).to_have_text("coffee_1.jpg")
    press(page, "Escape", "Escape")
    expect(page.locator("#viewer")).to_be_hidden()
    page.locator("#picked [data-act=maybe]").click()
    expect(decision_chip(page, "maybe")).to_have_text("Maybe 5")
    press(page, "3", "Control+z", "Control+z")
    expect(decision_chip(page, "you")).to_have_text("Yours 0")


def test_buttons_do_what_the_keys_do(open_page: Opener, sheet: str, serious_findings):
    page = open_page(sheet, viewport={"width": 390, "height": 800}, color_scheme="dark", has_touch=True)
    page.get_by_role("button", name="Go through").tap()
    view = page.get_by_role("dialog")
    expect(view).to_contain_text("1 of 11")
    for name in ("Next group", "Next picture", "Previous picture", "Previous group", "Next group"):
        view.get_by_role("button", name=name).tap()
    expect(page.locator("#viewer-name")).to_have_text("blank.png")
    view.get_by_role("button", name="Keep", exact=True).tap()
    view.get_by_role("button", name="3 stars").tap()
    decided(page, "Keep · Yours · 3 stars")
    view.get_by_role("button", name="3 stars").tap()
    decided(page, "Keep · Yours")
    view.get_by_role("button", name="Undo").tap()
    decided(page, "Keep · Yours · 3 stars")
    assert page.evaluate("document.getElementById('viewer').scrollWidth") <= 390
    assert serious_findings(page) == []
    view.get_by_role("button", name="Close").tap()
    expect(view).to_be_hidden()
    page.get_by_role("button", name="Keys").tap()
    expect(page.get_by_role("dialog")).to_contain_text("back to maybe")
    assert serious_findings(page) == []


def test_keys_are_told_and_the_export_names_the_command(open_page: Opener, sheet: str, serious_findings):
    page = open_page(sheet)
    open_picture(page, "cat.png")
    press(page, "?")
    expect(page.locator("#keys")).to_contain_text("undo; with Shift redo")
    # They are told, not done, while the list is open.
    press(page, "x", "Escape")
    decided(page, "Keep · 3 stars")
    press(page, "Escape")
    page.get_by_role("button", name="Export …").click()
    expect(page.locator("#export")).to_contain_text("agenticiqa audit FOLDER --decisions pictures.csv --xmp")
    expect(page.locator("#export-which")).to_have_text("11 pictures: all that are shown, with your decisions.")
    assert serious_findings(page) == []
