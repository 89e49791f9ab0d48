"""The contact sheet in a real browser: what one looks for, opens, selects, exports, and where it leads."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

import agenticiqa
from agenticiqa.reports.contact_sheet.page import COLUMNS, SheetPicture, write_contact_sheet
from serve.http.browser.steps import decision_chip, exported

MANY = 3000


def names(page: Page) -> list[str]:
    return page.locator(".tile:not([hidden]) .name").all_inner_texts()


def chip(page: Page, name: str) -> None:
    page.locator(f"#chips [data-name={name}]").click()


def test_everything_is_there_and_accessible(open_page, sheet, serious_findings):
    page = open_page(sheet)
    expect(page.locator("#count")).to_have_text("11 pictures shown")
    assert page.locator(".tile img:visible").count() == 10
    assert serious_findings(page) == []


def test_filter_search_and_order(open_page, sheet):
    page = open_page(sheet)
    chip(page, "burst")
    expect(page.locator("#count")).to_have_text("3 pictures shown")
    chip(page, "corrupt")
    expect(page.locator("#count")).to_have_text("4 pictures shown")
    page.locator("#search").fill("coffee_1")
    expect(page.locator("#count")).to_have_text("1 picture shown")
    page.locator("#search").fill("nothing of this name")
    page.locator("#clear").click()
    expect(page.locator("#count")).to_have_text("11 pictures shown")
    decision_chip(page, "keep").click()
    expect(page.locator("#count")).to_have_text("4 pictures shown")
    page.locator("#order").select_option("bytes")
    page.locator("#direction").click()
    assert names(page)[0] == "astronaut.png"


def test_open_one_and_walk_through_its_group(open_page, sheet, serious_findings):
    page = open_page(sheet)
    page.locator("#search").fill("cat_small")
    expect(page.locator("#count")).to_have_text("1 picture shown")
    page.locator(".frame:visible").click()
    viewer = page.locator("#viewer")
    expect(viewer).to_be_visible()
    expect(page.locator("#viewer-decision")).to_have_text("Reject")
    expect(page.locator("#viewer-why")).to_have_text("a smaller copy of cat.png")
    expect(viewer).to_contain_text("Versions of one shot: 3")
    # The original, not the thumbnail.
    page.wait_for_function("document.querySelector('.pane img')?.naturalWidth === 200")
    assert serious_findings(page) == []
    viewer.get_by_role("button", name="cat.png: Keep").click()
    expect(page.locator("#viewer-name")).to_have_text("cat.png")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#viewer-name")).to_have_text("cat_named.jpg")
    page.keyboard.press("Escape")
    expect(viewer).to_be_hidden()


def test_select_and_export(open_page, sheet):
    page = open_page(sheet)
    assert len(exported(page, "#export-list").splitlines()) == 11
    boxes = page.locator(".tile:not([hidden]) input")
    boxes.nth(0).click()
    boxes.nth(2).click(modifiers=["Shift"])
    expect(page.locator("#count")).to_have_text("11 pictures shown, 3 selected")
    assert exported(page, "#export-list") == "astronaut (1).bmp\nastronaut.png\nblank.png\n"
    rows = list(csv.DictReader(io.StringIO(exported(page, "#export-csv"))))
    assert [row["path"] for row in rows] == ["astronaut (1).bmp", "astronaut.png", "blank.png"]
    assert rows[2]["findings"].startswith("blank")
    page.locator("#select-none").click()
    expect(page.locator("#count")).to_have_text("11 pictures shown")


def test_keys_alone(open_page, sheet):
    page = open_page(sheet)
    page.locator("#pictures").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    expect(page.locator("#count")).to_have_text("11 pictures shown, 1 selected")
    page.keyboard.press("Enter")
    expect(page.locator("#viewer-name")).to_have_text("astronaut.png")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()


def test_who_searches_at_once_after_closing_a_picture_is_not_called_back(open_page, sheet):
    page = open_page(sheet)
    page.locator("#pictures").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator("#viewer-name")).not_to_be_empty()
    # Both in one task: the browser tells that the dialog has closed only after it.
    focused = page.evaluate(
        """async () => {
            document.querySelector("dialog[open]").close();
            document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true }));
            await new Promise((resolve) => setTimeout(resolve, 100));
            return document.activeElement.id;
        }"""
    )
    assert focused == "search"


def test_a_served_sheet_leads_on(open_page, served):
    page = open_page(f"{served}/linked.html")
    expect(page.locator("#assess")).to_be_hidden()
    boxes = page.locator(".tile:not([hidden]) input")
    boxes.nth(3).click()
    with page.context.expect_page() as opened:
        page.locator("#assess").click()
    assert opened.value.url.endswith("/assess-3.html")
    boxes.nth(5).click()
    with page.context.expect_page() as opened:
        page.locator("#compare").click()
    assert opened.value.url.endswith("/compare-3-5.html")


def test_in_a_frame_it_asks_the_page_around(open_page, served):
    page = open_page(f"{served}/around.html")
    frame = page.frame_locator("iframe")
    frame.locator(".tile:not([hidden]) input").nth(1).click()
    frame.locator("#assess").click()
    page.wait_for_function("heard.some((each) => each.action === 'assess')")
    heard = page.evaluate("heard.find((each) => each.action === 'assess')")
    assert heard == {"source": "agenticiqa-sheet", "action": "assess", "places": [1], "paths": ["astronaut.png"]}


def test_a_phone(open_page, sheet, serious_findings):
    page = open_page(sheet, viewport={"width": 390, "height": 800}, color_scheme="dark")
    expect(page.locator("#count")).to_have_text("11 pictures shown")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    first, second = (page.locator(".tile:not([hidden])").nth(at).bounding_box() for at in (0, 1))
    assert first["y"] == second["y"]
    # Below the tall row of controls too, pictures fill the window to its lower edge.
    lowest = page.locator(".tile:not([hidden])").last.bounding_box()
    assert lowest["y"] + lowest["height"] >= 800
    assert serious_findings(page) == []


def test_of_many_pictures_only_those_in_view_are_in_the_page(
    open_page: Callable[..., Page], report: agenticiqa.AuditReport, tmp_path: Path
) -> None:
    [first, *_] = [each for each in report.sheet_pictures() if each.thumbnail]
    row = {**dict.fromkeys(COLUMNS), "findings": {}, "decision": "keep", "stars": 0}
    rows = [{**row, "path": f"{n:05}.jpg"} for n in range(MANY)]
    summary = {**report.summary().as_dict(), "pictures": MANY, "findings": {}}
    target = tmp_path / "many.html"
    write_contact_sheet(
        target, lambda: (SheetPicture(row, first.thumbnail) for row in rows), title="Many", summary=summary
    )
    page = open_page(target.as_uri())
    expect(page.locator("#count")).to_have_text("3,000 pictures shown")
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    expect(page.get_by_text("02999.jpg")).to_be_visible()
    assert page.locator(".tile").count() < 120
