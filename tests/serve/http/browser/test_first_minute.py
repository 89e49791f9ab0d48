"""A first visit: what is offered, what is checked, and the way from an example to what can be done about it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, expect

from serve.http.browser.steps import answer_of, ask, mark_worst, overflow, upload, zoom_of
from support.http_service import PICTURE, REFERENCE, Running, encoded, serving
from support.scripted import ScriptedClient

Opener = Callable[..., Page]
Findings = Callable[[Page], list[str]]
DROP = """([files, selector]) => {
    const data = new DataTransfer();
    for (const [name, bytes] of files) data.items.add(new File([new Uint8Array(bytes)], name, { type: "image/png" }));
    const options = { bubbles: true, cancelable: true, dataTransfer: data };
    document.querySelector(selector).dispatchEvent(new DragEvent("drop", options));
}"""


def drop(page: Page, selector: str, **files: bytes) -> None:
    page.locator("html[data-ready]").wait_for(state="attached")
    page.evaluate(DROP, [[[f"{name}.png", list(data)] for name, data in files.items()], selector])


def test_first_visit(open_page: Opener, embedded_url: str, serious_findings: Findings):
    page = open_page(embedded_url)
    expect(page.locator(".example")).to_have_count(6)
    expect(page.locator(".headline")).to_have_text("See what is wrong with a picture, and where")
    expect(page.locator("#server-state")).to_have_text("Ready")
    expect(page.locator("#viewer")).to_be_hidden()
    assert overflow(page) == 0
    assert serious_findings(page) == []


def test_one_place_for_a_picture_and_quiet_ways_to_the_rest(
    open_page: Opener, scripted: Running, serious_findings: Findings
):
    page = open_page(scripted.url)
    expect(page.locator(".example").first).to_be_visible()
    expect(page.locator(".slot:visible")).to_have_count(1)
    expect(page.locator(".slots-more a")).to_have_text(["Compare two pictures", "Look through a folder"])
    page.get_by_role("button", name="Add a reference").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Choose Reference")).to_be_focused()
    expect(page.get_by_role("button", name="Add a reference")).to_have_count(0)
    assert serious_findings(page) == []
    page.get_by_role("link", name="Compare two pictures").click()
    expect(page.locator(".slot:visible")).to_have_count(2)
    page.go_back()
    page.reload()
    # A reference is found when its picture is there, too.
    upload(page)
    expect(page.locator(".slots-more a")).to_have_count(0)
    upload(page, "Reference", "clean.png", REFERENCE)
    expect(page.locator(".slot:visible")).to_have_count(2)
    assert overflow(page) == 0


def test_from_an_example_to_what_can_be_done(open_page: Opener, embedded_url: str, serious_findings: Findings):
    page = open_page(embedded_url)
    page.get_by_role("button", name="Grain of high ISO").click()
    answer = answer_of(page)
    expect(answer.locator(".answer-text")).to_have_text(re.compile(r"^\w+, \d\.\d of 5: .*noise"))
    # The picture stays bare; one press each shows the map and the worst place, another one its pixels.
    expect(page.get_by_role("button", name="Worst place", exact=True)).to_have_attribute("aria-pressed", "false")
    expect(page.locator(".pane-overlay")).to_be_hidden()
    expect(page.locator(".pane-label-worst")).to_have_count(0)
    toggle = page.get_by_role("button", name="Quality map")
    toggle.click()
    expect(page.locator(".pane-overlay")).to_be_visible()
    expect(toggle).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_label("Map", exact=True)).to_have_value("quality")
    toggle.click()
    expect(page.locator(".pane-overlay")).to_be_hidden()
    worst = mark_worst(page)
    expect(worst).to_have_text(re.compile(r"Worst place, \d\.\d of 5"))
    page.get_by_role("button", name="Zoom in").click()
    worst.click()
    assert zoom_of(page.locator(".pane")) == 1
    expect(page.locator(".zoom-text")).to_have_text("100 %")
    parts = ["answer-text", "dial", "why", "file-line"]
    found = page.locator(".turn").locator(", ".join(f".{part}" for part in parts)).all()
    assert [part for each in found for part in parts if part in (each.get_attribute("class") or "").split()] == parts
    expect(page.locator(".file-line")).to_contain_text("JPEG")
    assert serious_findings(page) == []
    page.get_by_role("button", name="How can I fix it?").click()
    expect(page.locator(".turn")).to_have_count(2)
    answer_of(page)
    expect(page.locator(".turn").last.locator(".turn-question")).to_have_text("How can I fix it?")
    expect(page.locator(".turn").last).to_contain_text(re.compile("denois", re.IGNORECASE))
    expect(page.locator(".turn").first.locator(".dial")).to_be_visible()
    assert serious_findings(page) == []


# --- what is checked when a file is chosen ---


def test_not_a_picture_is_said_at_once(open_page: Opener, watch, scripted: Running):
    watch.expected = {415}
    page = open_page(scripted.url)
    slot = page.get_by_role("group", name="Picture", exact=True)
    letter = {"name": "letter.png", "mimeType": "image/png", "buffer": b"Dear Sir or Madam"}
    slot.locator("input[type=file]").set_input_files(letter)
    alert = slot.get_by_role("alert")
    expect(alert).to_have_text(re.compile(r"letter\.png: this is not a picture that can be read here\. What can: PNG,"))
    expect(page.locator("#viewer")).to_be_hidden()
    upload(page, name="photo.png")
    expect(alert).to_have_count(0)


def test_too_large_and_too_many_pixels_are_said_at_once(open_page: Opener, tmp_path: Path):
    with serving(tmp_path, ScriptedClient(), max_upload_bytes=100_000, max_pixels=20_000) as running:
        page = open_page(running.url)
        expect(page.locator(".example").first).to_be_visible()
        slot = page.get_by_role("group", name="Picture", exact=True)
        for data, words in (
            (bytes(300_000), "the file has 293 KB, this server takes 98 KB at most"),
            (encoded(np.zeros((200, 200, 3), np.uint8)), "200 × 200 are 0.0 million pixels"),
        ):
            slot.locator("input[type=file]").set_input_files({"name": "x.png", "mimeType": "image/png", "buffer": data})
            expect(slot.get_by_role("alert")).to_contain_text(words)
        page.close()


def test_upload_tells_how_far_it_is(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    page.evaluate(
        """() => {
          window.said = [];
          new MutationObserver((changes) => {
            for (const { target } of changes) {
              const words = target.closest?.(".waiting-words") ?? target.parentElement?.closest(".waiting-words");
              if (words) window.said.push(words.textContent);
            }
          }).observe(document.body, { subtree: true, childList: true, characterData: true });
        }"""
    )
    noise = np.random.default_rng(0).integers(0, 255, (700, 700, 3), np.uint8)
    upload(page, data=encoded(noise))
    ask(page, "Rate the image.")
    said = page.evaluate("window.said")
    assert any(re.match(r"Sending the picture: \d+ %|The server has it", words) for words in said)


def test_second_question_does_not_send_the_picture_again(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    upload(page, name="mine.png")
    ask(page, "Rate the image.")
    with page.expect_request("**/v1/assess?*") as sent:
        ask(page, "Is it sharp?")
    body = sent.value.post_data_buffer or b""
    assert b"image_kept" in body
    assert len(body) < len(PICTURE)
    expect(page.locator(".turn")).to_have_count(2)


def test_picture_that_the_server_let_go_is_sent_again(open_page: Opener, watch, scripted: Running):
    watch.expected = {422}
    page = open_page(scripted.url)
    upload(page, name="mine.png", data=encoded(np.full((90, 120, 3), 90, np.uint8)))
    ask(page, "Rate the image.")
    for path in (scripted.home / "service" / "pictures").glob("*/*"):
        path.unlink()
    expect(ask(page, "Is it sharp?")).to_be_visible()


# --- several at once ---


def test_two_files_dropped_are_compared(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    drop(page, "main", first=PICTURE, second=REFERENCE)
    expect(page).to_have_title(re.compile("Compare"))
    expect(page.locator(".slot-name")).to_have_text(["first.png", "second.png"])
    expect(page.locator(".pane")).to_have_count(2)


def test_two_files_dropped_on_a_slot_fill_both_sides(open_page: Opener, scripted: Running):
    page = open_page(f"{scripted.url}/#/compare")
    drop(page, ".slot", left=PICTURE, right=REFERENCE)
    expect(page.locator(".slot-name")).to_have_text(["left.png", "right.png"])
