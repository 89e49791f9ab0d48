"""The page in other languages, and by keyboard."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from serve.http.browser.steps import answer_of, overflow, upload
from support.http_service import PICTURE, REFERENCE, Running

Opener = Callable[..., Page]
Findings = Callable[[Page], list[str]]


@pytest.mark.parametrize(
    ("locale", "headline", "ask"),
    [
        ("de-CH", "Sehen, was einem Bild fehlt", "Fragen"),
        ("zh-TW", "看清图片哪里有问题", "提问"),
        ("fr-FR", "See what", "Ask"),
    ],
)
def test_the_browsers_language_is_spoken(open_page: Opener, scripted: Running, locale: str, headline: str, ask: str):
    page = open_page(scripted.url, locale=locale)
    expect(page.locator(".headline")).to_contain_text(headline)
    expect(page.locator("#ask")).to_have_text(ask)


def test_switch_and_questions_that_every_model_understands(
    open_page: Opener, embedded_url: str, serious_findings: Findings
):
    page = open_page(embedded_url)
    page.get_by_label("Language").select_option("de")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    page.get_by_role("button", name="Zu wenig Licht").click()
    answer = answer_of(page)
    expect(answer.locator(".answer-text")).to_have_text(re.compile(r"von 5: falsche Helligkeit"))
    asked = page.evaluate("async (id) => (await fetch(`/v1/runs/${id}`)).json()", page.url.split("/")[-1])
    assert asked["query"] == "How good is this picture?"
    page.get_by_role("button", name="Wie stark ist der Fehler: falsche Helligkeit?").click()
    answer_of(page)
    asked = page.evaluate("async (id) => (await fetch(`/v1/runs/${id}`)).json()", page.url.split("/")[-1])
    assert asked["query"] == "How strong is the wrong brightness?"
    assert serious_findings(page) == []
    page.reload()
    expect(page.locator("html")).to_have_attribute("lang", "de")


@pytest.mark.parametrize("locale", ["de-DE", "zh-CN"])
def test_long_words_fit_on_a_phone(open_page: Opener, scripted: Running, locale: str):
    page = open_page(f"{scripted.url}/#/compare", locale=locale, viewport={"width": 360, "height": 740}, is_mobile=True)
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


def test_numbers_and_known_questions_in_the_readers_language(open_page: Opener, embedded_url: str):
    page = open_page(embedded_url, locale="de-DE")
    page.get_by_role("button", name="Dunst").click()
    expect(answer_of(page).locator(".answer-text")).to_have_text(re.compile(r"^\w+, \d,\d von 5"))
    page.get_by_role("button", name="Schlechteste Stelle", exact=True).click()
    expect(page.locator(".pane-label-worst")).to_have_text(re.compile(r"\d,\d von 5"))
    page.locator(".tabs a[data-view=history]").click()
    expect(page.locator(".run-query").first).to_have_text("Wie gut ist das Bild?")
    page.locator(".run-row").first.click()
    expect(page.locator(".turn-question")).to_have_text("Wie gut ist das Bild?")


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
