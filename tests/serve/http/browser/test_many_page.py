"""Many pictures on the page: dropped, looked through, shown as a contact sheet, exported, opened."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, expect

from agenticiqa.serve.http.page.files import EXAMPLES
from serve.http.browser.test_first_minute import drop
from support.http_service import PICTURE, REFERENCE, Running, encoded, serving, wait_until
from support.scripted import ScriptedClient

Opener = Callable[..., Page]
PATIENCE_MS = 60_000
DRAWN = "(count) => [...document.querySelectorAll('.live canvas')].filter((each) => each.width > 0).length >= count"
Findings = Callable[[Page], list[str]]


def noise(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 255, (64, 64, 3), np.uint8)


def test_drop_a_folder_and_export_the_ten_worst(open_page: Opener, embedded_url: str, serious_findings: Findings):
    page = open_page(embedded_url)
    expect(page.locator(".example").first).to_be_visible()
    names = ("portrait", "stream_blurred", "cat_noisy", "coffee_dark")
    drop(
        page, "main", **{name: EXAMPLES[name].data() for name in names}, blank=encoded(np.zeros((90, 90, 3), np.uint8))
    )
    expect(page.locator(".many-head")).to_contain_text("5 pictures")
    assert "#/many/" in page.url
    sheet = page.frame_locator("iframe.sheet")
    expect(sheet.get_by_text("portrait.png").first).to_be_visible()
    assert serious_findings(page) == []
    with page.expect_download() as saved:
        page.get_by_role("button", name="Ten worst as CSV").click()
    rows = list(csv.DictReader(io.StringIO(saved.value.path().read_text("utf-8"))))
    scores = [float(row["score"]) for row in rows]
    assert {row["path"] for row in rows} >= {f"{name}.png" for name in names}
    assert scores == sorted(scores)
    assert rows[-1]["path"] == "portrait.png"


def test_pictures_are_seen_while_they_are_sent(open_page: Opener, scripted: Running):
    page = open_page(f"{scripted.url}/#/many")
    # It is never answered.
    page.route("**/v1/audits", lambda _: None)
    pictures = {f"photo {number}": encoded(noise(number)) for number in range(120)}
    drop(page, "main", **pictures)
    expect(page.locator(".live li")).to_have_count(120)
    expect(page.locator(".live-name").first).to_have_text("photo 0.png")
    page.wait_for_function(DRAWN, arg=6)
    # Those out of view wait, and are freed again when they leave it.
    assert not page.locator(".live canvas").last.evaluate("(canvas) => canvas.width")
    page.locator(".live li").last.scroll_into_view_if_needed()
    page.wait_for_function("() => document.querySelector('.live li:last-child canvas').width > 0")
    page.wait_for_function("() => document.querySelector('.live canvas').width === 0")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".many-slot")).to_be_visible()
    expect(page.locator(".live")).to_have_count(0)


def test_what_is_found_and_decided_fills_in_and_a_stopped_folder_goes_on(
    open_page: Opener, embedded_url: str, serious_findings: Findings
):
    page = open_page(f"{embedded_url}/#/many")
    black = encoded(np.zeros((90, 90, 3), np.uint8))
    photos = {f"photo {number}": encoded(noise(number)) for number in range(80)}
    drop(page, "main", black=black, **photos, **{"photo 0 copy": photos["photo 0"]})
    told = page.locator(".live li").filter(has_text="black.png").locator(".live-what")
    expect(told).to_contain_text("blank")
    expect(page.locator(".many-waiting")).to_contain_text("left")
    assert serious_findings(page) == []
    # Another window has no files; it shows what the server made of them.
    other = page.context.new_page()
    other.goto(page.url)
    other.wait_for_function(DRAWN, arg=2)
    other.close()
    # Decisions come with the groups, and settle while scores do.
    copy = page.locator(".live li").filter(has_text="photo 0 copy.png").locator(".live-why")
    expect(copy).to_contain_text(re.compile(r"Reject( so far)? · the same pixels as photo 0\.png"))
    expect(page.locator(".many-counts")).to_contain_text(re.compile(r"So far: keep \d+, maybe \d+, reject \d+\."))
    expect(page.locator(".live-why strong").filter(has_text=re.compile("^(Keep|Maybe|Reject)$")).first).to_be_visible()
    assert serious_findings(page) == []
    page.get_by_role("button", name="Stop").click()
    head = page.locator(".many-head")
    expect(head).to_contain_text(re.compile(r"Stopped after \d+ of 82 pictures\. 82 pictures"))
    expect(page.frame_locator("iframe.sheet").get_by_text("black.png").first).to_be_visible()
    assert serious_findings(page) == []
    # A page that is loaded again offers to go on, too.
    page.reload()
    page.get_by_role("button", name="Go on").click()
    expect(page.locator(".many-waiting")).to_contain_text("of 82 pictures looked at")
    expect(head).to_contain_text("82 pictures:", timeout=5 * PATIENCE_MS)
    expect(head).not_to_contain_text("Stopped")
    expect(page.get_by_role("button", name="Go on")).to_have_count(0)


def test_a_folder_whose_pictures_are_gone_says_so_and_keeps_its_sheet(
    open_page: Opener, tmp_path: Path, watch, serious_findings: Findings
):
    watch.expected = {404}
    with serving(tmp_path, ScriptedClient()) as running:
        page = open_page(f"{running.url}/#/many")
        drop(page, "main", **{f"photo {number}": encoded(noise(number)) for number in range(12)})
        expect(page.locator(".many-counts")).to_be_visible()
        page.get_by_role("button", name="Stop").click()
        expect(page.locator("iframe.sheet")).to_be_visible()
        for kept in (running.home / "service" / "pictures").glob("*/*"):
            kept.unlink()
        page.get_by_role("button", name="Go on").click()
        expect(page.get_by_role("alert")).to_contain_text("no longer kept")
        expect(page.locator("iframe.sheet")).to_be_visible()
        expect(page.get_by_role("button", name="Go on")).to_have_count(0)
        assert serious_findings(page) == []


def test_a_folder_goes_on_after_its_server_ended(open_page: Opener, tmp_path: Path, serious_findings: Findings):
    with serving(tmp_path, ScriptedClient(), grace_s=0.0) as running, running.client() as client:
        files = [("files", (f"{number}.png", encoded(noise(number)))) for number in range(12)]
        audit = client.post("/v1/audits", files=files).json()
        wait_until(lambda: '"settled": true' in client.get(audit["links"]["rows"]).text)
    with serving(tmp_path, ScriptedClient()) as running:
        page = open_page(f"{running.url}/#/history")
        page.get_by_role("link", name="Folder: 12 pictures").click()
        expect(page.get_by_text("This folder was not looked through to the end")).to_be_visible()
        assert serious_findings(page) == []
        page.get_by_role("button", name="Go on").click()
        expect(page.locator(".many-head")).to_contain_text("12 pictures:")


def test_one_is_opened_to_be_asked_about_and_two_to_be_compared(open_page: Opener, scripted: Running):
    page = open_page(f"{scripted.url}/#/many")
    third = encoded(noise(3))
    drop(page, "main", first=PICTURE, second=REFERENCE, third=third)
    expect(page.locator("iframe.sheet")).to_be_visible()
    asks = """([action, paths]) => window.postMessage({ source: "agenticiqa-sheet", action, paths }, location.origin)"""
    page.evaluate(asks, ["compare", ["first.png", "second.png"]])
    expect(page.locator(".slot-name")).to_have_text(["first.png", "second.png"])
    expect(page.locator(".pane")).to_have_count(2)
    page.evaluate(asks, ["assess", ["third.png"]])
    expect(page.locator(".slot-name")).to_have_text(["third.png"])
    with page.expect_request("**/v1/assess?*") as sent:
        page.locator("#ask").click()
    assert b"image_kept" in (sent.value.post_data_buffer or b"")


def test_the_sheet_has_the_theme_of_the_page_around_it(open_page: Opener, scripted: Running):
    page = open_page(f"{scripted.url}/#/many")
    third = encoded(noise(3))
    drop(page, "main", first=PICTURE, second=REFERENCE, third=third)
    paper = page.frame_locator("iframe.sheet").locator("body")
    expect(paper).to_have_css("background-color", "rgb(245, 246, 248)")
    for _ in ("light", "dark"):
        page.locator("#theme-button").click()
    expect(page.locator("body")).to_have_css("background-color", "rgb(18, 21, 25)")
    expect(paper).to_have_css("background-color", "rgb(18, 21, 25)")
    # How many there are stands above the sheet, once.
    assert page.frame_locator("iframe.sheet").locator(".titles").bounding_box()["width"] <= 1


def test_nothing_to_look_at_is_said(open_page: Opener, scripted: Running):
    page = open_page(f"{scripted.url}/#/many")
    notes = [{"name": f"{n}.txt", "mimeType": "text/plain", "buffer": b"x"} for n in range(3)]
    page.get_by_label("Choose pictures").set_input_files(notes)
    expect(page.get_by_role("alert")).to_have_text("There is no picture among these files.")
