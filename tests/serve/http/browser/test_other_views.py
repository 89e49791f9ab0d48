"""Comparing, history, failures, keys, narrow windows, themes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from agenticiqa.serve.http.keys import KeyFile
from serve.http.browser.steps import answer_of, ask, drag, overflow, upload
from support.http_service import PICTURE, REFERENCE, Gate, Running, serving
from support.scripted import ScriptedClient, plan_reply

Opener = Callable[..., Page]
Findings = Callable[[Page], list[str]]
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


# --- comparing and history ---


def test_compare(open_page: Opener, embedded_url: str, serious_findings: Findings):
    page = open_page(f"{embedded_url}/#/compare")
    page.get_by_role("button", name="A dandelion and the same").click()
    expect(page.locator(".turn-question")).to_have_text("Which is better?")
    verdict = answer_of(page)
    expect(verdict.locator(".answer-text")).to_have_text("A is better")
    expect(page.get_by_role("img", name=re.compile("People would prefer A"))).to_be_visible()
    expect(verdict.locator(".reasons li").first).to_contain_text("Compression")
    page.get_by_label("Map", exact=True).select_option("difference")
    expect(page.locator(".pane-overlay")).to_have_count(2)
    expect(page.locator(".pane-overlay").first).to_be_visible()
    assert serious_findings(page) == []
    page.get_by_role("link", name="History").click()
    pair = page.locator(".picture-group").first
    expect(pair.locator(".picture-name")).to_have_text("dandelion.jpg or dandelion_compressed.jpg?")
    expect(pair.locator(".run-row").last).to_contain_text("Which is better?")
    expect(pair.locator(".run-row").last).to_contain_text("A is better")


def test_same_picture_twice_is_a_tie(open_page: Opener, scripted: Running):
    page = open_page(f"{scripted.url}/#/compare")
    upload(page, "Picture A", "a.png")
    page.locator("#ask").click()
    expect(page.locator("#ask-hint")).to_have_text("Choose a picture first: Picture B.")
    upload(page, "Picture B", "b.png")
    expect(ask(page).locator(".answer-text")).to_have_text("No clear difference")


def test_history_opens_runs_again(open_page: Opener, tmp_path: Path, serious_findings: Findings):
    with serving(tmp_path, ScriptedClient()) as running:
        page = open_page(f"{running.url}/#/history")
        expect(page.get_by_text("Nothing yet")).to_be_visible()
        page.get_by_role("link", name="Assess", exact=True).click()
        upload(page, name="mine.png")
        ask(page, "Rate the perceptual quality of the image.")
        page.reload()
        answer_of(page)
        page.get_by_role("link", name="History").click()
        row = page.locator(".run-row")
        expect(page.locator(".picture-name")).to_have_text("mine.png")
        assert serious_findings(page) == []
        row.click()
        expect(answer_of(page).locator(".dial svg")).to_be_visible()
        page.close()


# --- failures ---


@pytest.fixture
def gate() -> Gate:
    return Gate(plan_reply())


@pytest.fixture
def gated(tmp_path: Path, gate: Gate, watch) -> Iterator[Running]:
    """One worker, no waiting place, and a model that answers when the test lets it."""
    with serving(tmp_path, ScriptedClient(plan=gate), workers=1, queue=0) as running:
        try:
            yield running
        finally:
            gate.open.set()
            # The server goes before the page does.
            watch.ignored = "ERR_CONNECTION_REFUSED"


def test_unknown_run(open_page: Opener, watch, scripted: Running):
    watch.expected = {404}
    page = open_page(f"{scripted.url}/#/run/0123456789ab")
    expect(page.get_by_role("alert")).to_contain_text("There is no such run")


def test_busy_server_and_trying_again(open_page: Opener, watch, gated: Running, gate: Gate, serious_findings: Findings):
    # The server stops while the second page still loads what an answer shows.
    watch.expected = {429, 503}
    first, second = open_page(gated.url), open_page(gated.url)
    for page in (first, second):
        upload(page)
    first.locator("#ask").click()
    gate.wait_until_reached()
    second.locator("#ask").click()
    alert = second.get_by_role("alert")
    expect(alert).to_contain_text("The server is busy")
    expect(alert.get_by_role("button")).to_be_disabled()
    assert serious_findings(second) == []
    gate.open.set()
    answer_of(first)
    alert.get_by_role("button", name="Try again", exact=True).click()
    answer_of(second)


def test_cancel(open_page: Opener, gated: Running, gate: Gate):
    page = open_page(gated.url)
    upload(page)
    page.locator("#ask").click()
    gate.wait_until_reached()
    expect(page.locator(".waiting-words")).to_have_text("Understanding the question")
    page.get_by_role("button", name="Cancel").click()
    gate.open.set()
    expect(page.locator(".turn .notice")).to_have_text("The run was cancelled")
    expect(page.get_by_role("alert").filter(has_text="cancelled")).to_have_count(0)
    expect(page.locator("#ask")).to_be_enabled()


def test_questions_wait_for_the_one_under_way(
    open_page: Opener, gated: Running, gate: Gate, serious_findings: Findings
):
    page = open_page(gated.url)
    upload(page)
    page.locator("#ask").click()
    gate.wait_until_reached()
    field, waiting = page.locator("#question"), page.locator("#waiting li")
    field.press("Enter")
    expect(waiting).to_have_count(0)
    field.fill("And is it sharp where it matters? " * 9)
    field.press("Enter")
    assert overflow(page) == 0
    page.get_by_role("button", name="Remove: And is it").click()
    expect(field).to_be_focused()
    for question in ("Is it noisy?", "Is it dark?", "Is it sharp?"):
        field.fill(question)
        field.press("Enter")
        expect(field).to_have_value("")
    expect(page.locator("#waiting .waiting-question")).to_have_text(["Is it noisy?", "Is it dark?", "Is it sharp?"])
    expect(waiting.first).to_contain_text("Waiting")
    assert serious_findings(page) == []
    page.get_by_role("button", name="Remove: Is it dark?").click()
    expect(waiting).to_have_count(2)
    field.fill("What I am typing")
    gate.open.set()
    expect(page.locator(".turn .answer")).to_have_count(3)
    asked = ["How good is this picture?", "Is it noisy?", "Is it sharp?"]
    expect(page.locator(".turn-question")).to_have_text(asked)
    expect(page.locator("#waiting")).to_be_hidden()
    expect(field).to_have_value("What I am typing")


def test_server_that_went_away_is_said_and_answers_stay(open_page: Opener, watch, tmp_path: Path):
    watch.ignored, watch.expected = "ERR_CONNECTION_REFUSED", {503}
    with serving(tmp_path, ScriptedClient()) as running:
        page = open_page(running.url)
        upload(page)
        ask(page, "Rate the image.")
    page.locator("#question").fill("Is it sharp?")
    page.locator("#ask").click()
    expect(page.locator(".turn").last.get_by_role("alert")).to_contain_text("The server cannot be reached")
    expect(page.locator("#server-lost")).to_contain_text("What you see here stays")
    expect(page.locator("#server-state")).to_have_attribute("data-state", "away")
    expect(page.locator(".turn").first.locator(".answer")).to_contain_text("Moderate blur is visible.")


def test_model_that_fails(open_page: Opener, scripted: Running):
    replies = scripted.model.script.replies
    before = replies["plan"]
    replies["plan"] = "I would rather write a poem."
    try:
        page = open_page(scripted.url)
        upload(page)
        page.locator("#ask").click()
        expect(page.get_by_role("alert")).to_contain_text("The run ended without an answer")
    finally:
        replies["plan"] = before


# --- keys ---


def test_key_is_asked_for_and_kept_in_the_tab_only(
    open_page: Opener, watch, tmp_path: Path, serious_findings: Findings
):
    watch.expected = {401}
    keys = KeyFile(tmp_path / "keys.json")
    key = keys.add("somebody")
    with serving(tmp_path, ScriptedClient(), api_keys_file=keys.path) as running:
        page = open_page(running.url)
        expect(page.get_by_role("dialog", name="API key")).to_be_visible()
        assert serious_findings(page) == []
        page.get_by_label("Key", exact=True).fill("wrong")
        page.get_by_role("button", name="Use this key").click()
        expect(page.locator("#key-error")).to_have_text("The server does not know this key.")
        page.get_by_label("Key", exact=True).fill(key)
        page.get_by_role("button", name="Use this key").click()
        expect(page.get_by_role("dialog")).to_be_hidden()
        expect(page.locator(".example").first).to_be_visible()
        upload(page)
        upload(page, "Reference", "clean.png", REFERENCE)
        ask(page, "Rate the image.")
        page.get_by_label("Map", exact=True).select_option("SSIM")
        expect(page.locator(".pane-overlay")).to_be_visible()
        assert key not in page.evaluate("JSON.stringify(localStorage) + document.cookie + location.href")
        assert key in page.evaluate("JSON.stringify(sessionStorage)")
        page.close()


# --- windows and themes ---


def test_phone(open_page: Opener, embedded_url: str, serious_findings: Findings):
    page = open_page(embedded_url, **PHONE)
    page.get_by_role("button", name="Too little light").tap()
    answer_of(page)
    assert overflow(page) == 0
    # The answer comes first, then what to ask next; the picture with its tools is below.
    places = [page.locator(each).bounding_box() for each in (".answer-text", ".dial", ".why", "#ask-form", "#viewer")]
    tops = [place["y"] for place in places if place]
    assert len(tops) == len(places)
    assert tops == sorted(tops)
    assert tops[0] < 844 / 2
    assert serious_findings(page) == []
    page.get_by_role("button", name="Draw a box").tap()
    page.locator(".pane-window").scroll_into_view_if_needed()
    drag(page, page.locator(".pane-window"), (0.1, 0.1), (0.5, 0.5))
    expect(page.locator(".pane-own")).to_be_visible()
    assert overflow(page) == 0
    for view in ("Compare", "History"):
        page.get_by_role("link", name=view, exact=True).tap()
        expect(page).to_have_title(re.compile(view))
        assert overflow(page) == 0
    expect(page.get_by_role("link", name="HTTP interface")).to_have_attribute("href", "/openapi.json")


def test_no_table_is_cut_on_a_phone(open_page: Opener, embedded_url: str, serious_findings: Findings):
    page = open_page(f"{embedded_url}/#/compare", **PHONE)
    page.get_by_role("button", name="A dandelion and the same").tap()
    answer_of(page)
    _unfold_and_look_for_cut_tables(page)
    page.get_by_role("link", name="Assess", exact=True).tap()
    page.get_by_role("button", name="A shaken camera").tap()
    answer_of(page)
    _unfold_and_look_for_cut_tables(page)
    assert serious_findings(page) == []


def _unfold_and_look_for_cut_tables(page: Page) -> None:
    page.locator(".why > summary").tap()
    page.evaluate("for (const each of document.querySelectorAll('.why details')) each.open = true")
    tables = page.locator(".why .scroll")
    assert tables.count() >= 2
    assert [table for table in tables.all() if table.evaluate("each => each.scrollWidth > each.clientWidth")] == []
    assert overflow(page) == 0


def test_dark(open_page: Opener, embedded_url: str, serious_findings: Findings):
    page = open_page(embedded_url, color_scheme="dark")
    page.get_by_role("button", name="Too little light").click()
    answer_of(page)
    expect(page.locator("body")).to_have_css("background-color", "rgb(18, 21, 25)")
    assert serious_findings(page) == []
    theme = page.locator("#theme-button")
    theme.click()
    expect(page.locator("body")).to_have_css("background-color", "rgb(245, 246, 248)")
    page.reload()
    expect(theme).to_have_accessible_name("Theme: Light")
    expect(page.locator("body")).to_have_css("background-color", "rgb(245, 246, 248)")


def test_keyboard_alone(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    expect(page.locator(".example").first).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the question")).to_be_focused()
    page.locator(".example").first.focus()
    page.keyboard.press("Enter")
    answer_of(page)
    page.keyboard.press("q")
    expect(page.locator("#question")).to_be_focused()
    page.keyboard.type("Rate the perceptual quality of the image.")
    page.keyboard.press("Enter")
    expect(answer_of(page).locator(".dial svg")).to_be_visible()


def test_still_without_motion(open_page: Opener, gated: Running, gate: Gate):
    page = open_page(gated.url, reduced_motion="reduce")
    upload(page, data=PICTURE)
    page.locator("#ask").click()
    gate.wait_until_reached()
    assert page.locator(".spinner").evaluate("each => getComputedStyle(each).animationIterationCount") == "1"
