"""The page by keyboard, and on a phone."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from serve.http.browser.steps import answer_of, overflow, upload
from support.http_service import PICTURE, REFERENCE, Running

Opener = Callable[..., Page]
Findings = Callable[[Page], list[str]]


def test_every_view_fits_on_a_phone(open_page: Opener, scripted: Running):
    page = open_page(f"{scripted.url}/#/compare", viewport={"width": 360, "height": 740}, is_mobile=True)
    page.locator(".slot input[type=file]").first.set_input_files(
        [
            {"name": f"{name}.png", "mimeType": "image/png", "buffer": data}
            for name, data in (("a", PICTURE), ("b", REFERENCE))
        ]
    )
    expect(page.locator(".pane")).to_have_count(2)
    page.locator("#ask").click()
    answer_of(page)
    assert overflow(page) == 0
    for view in ("assess", "many", "history"):
        page.locator(f".tabs a[data-view={view}]").click()
        assert overflow(page) == 0


def test_keys_and_their_list(open_page: Opener, scripted: Running, serious_findings: Findings):
    page = open_page(scripted.url)
    upload(page)
    upload(page, "Reference", "clean.png", REFERENCE)
    page.locator("body").press("w")
    expect(page.locator(".pane-edge")).to_be_visible()
    page.keyboard.press("l")
    expect(page.locator(".loupe")).to_be_visible()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_contain_text("Worst place on and off")
    assert serious_findings(page) == []
    dialog.get_by_label("Single keys").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("h")
    expect(page).to_have_title(re.compile("Assess"))


def test_keys_leave_text_alone(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    upload(page, data=PICTURE)
    page.locator("#question").fill("")
    page.locator("#question").press_sequentially("how achy?")
    expect(page.locator("#question")).to_have_value("how achy?")
    expect(page).to_have_title(re.compile("Assess"))
