"""Files that no page likes: too many pixels, too few, drawings, broken ones; and a network that goes and comes."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from agenticiqa.serve.http.page.files import EXAMPLES
from serve.http.browser.steps import answer_of, upload
from support.http_service import PICTURE, REFERENCE, Running, encoded

Opener = Callable[..., Page]


def chosen(page: Page, name: str, kind: str, data: bytes) -> None:
    slot = page.get_by_role("group", name="Picture", exact=True)
    slot.locator("input[type=file]").set_input_files({"name": name, "mimeType": kind, "buffer": data})


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def huge_png(width: int, height: int) -> bytes:
    """A small file of many pixels: black, two levels."""
    row = bytes(1 + (width + 7) // 8)
    packed = zlib.compress(row * height, 9)
    head = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def test_too_many_pixels_are_refused_before_they_are_decoded(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    expect(page.locator(".example").first).to_be_visible()
    page.evaluate(
        """() => {
            window.decoded = 0;
            const decode = HTMLImageElement.prototype.decode;
            HTMLImageElement.prototype.decode = function () { window.decoded += 1; return decode.call(this); };
        }"""
    )
    chosen(page, "poster.png", "image/png", huge_png(20_000, 15_000))
    alert = page.get_by_role("group", name="Picture", exact=True).get_by_role("alert")
    expect(alert).to_contain_text("20000 × 15000 are 300 million pixels")
    assert page.evaluate("window.decoded") == 0


def test_a_drawing_that_only_browsers_show_is_refused_when_it_is_chosen(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    expect(page.locator(".example").first).to_be_visible()
    chosen(page, "logo.svg", "image/svg+xml", b'<svg xmlns="http://www.w3.org/2000/svg" width="90" height="60"/>')
    alert = page.get_by_role("group", name="Picture", exact=True).get_by_role("alert")
    expect(alert).to_contain_text("logo.svg: this is not a picture that can be read here")
    expect(page.locator("#viewer")).to_be_hidden()


def test_a_cut_off_file_is_said_and_the_next_one_works(open_page: Opener, watch, embedded_url: str):
    watch.expected = {415}
    page = open_page(embedded_url)
    expect(page.locator(".example").first).to_be_visible()
    # Browsers show what there is of it: that the rest is missing is said before anything is asked.
    for data in (EXAMPLES["portrait"].data()[:20_000], EXAMPLES["portrait"].data()[:-2_000]):
        chosen(page, "cut.jpg", "image/jpeg", data)
        expect(page.locator(".slot-said").first).to_have_text(re.compile(r"^cut\.jpg: the file is damaged or cut off"))
        expect(page.locator("#viewer")).to_be_hidden()
        upload(page, name="other.jpg", data=EXAMPLES["cat_noisy"].data())
        expect(page.locator(".slot-said").first).to_be_empty()
    upload(page, name="whole.jpg", data=EXAMPLES["portrait"].data())
    page.locator("#ask").click()
    expect(answer_of(page)).to_be_visible()


def test_a_run_without_an_answer_shows_no_map_as_if_there_were_one(open_page: Opener, embedded_url: str):
    page = open_page(embedded_url)
    upload(page, name="icon.png", data=encoded(np.full((9, 12, 3), 90, np.uint8)))
    page.locator("#ask").click()
    expect(page.locator(".turn").get_by_role("alert")).to_contain_text("The picture is 12×9 pixels")
    expect(page.locator("#ask")).to_be_enabled()
    expect(page.locator(".pane-label-worst, .chip-next")).to_have_count(0)
    expect(page.get_by_label("Map", exact=True)).to_have_value("")
    for name in ("Worst place", "Quality map"):
        expect(page.get_by_role("button", name=name, exact=True)).to_be_hidden()


def test_a_picture_that_went_before_it_was_read_has_no_histogram(open_page: Opener, watch, scripted: Running):
    watch.ignored = "ERR_FILE_NOT_FOUND"
    page = open_page(scripted.url)
    hidden = page.evaluate(
        """async () => {
            const { Histogram } = await import("/static/js/histogram.js");
            const url = URL.createObjectURL(new Blob(["gone"]));
            URL.revokeObjectURL(url);
            const histogram = new Histogram();
            await histogram.show({ url, width: 8, height: 8, label: "gone" });
            return histogram.element.hidden;
        }"""
    )
    assert hidden


def test_offline_and_back(open_page: Opener, watch, scripted: Running):
    watch.ignored = "ERR_INTERNET_DISCONNECTED"
    page = open_page(scripted.url)
    upload(page)
    page.context.set_offline(True)
    page.locator("#ask").click()
    failed = page.locator(".turn").get_by_role("alert")
    expect(failed).to_contain_text("The server cannot be reached")
    expect(page.locator(".server-lost")).to_be_visible()
    page.context.set_offline(False)
    expect(page.locator(".server-lost")).to_have_count(0)
    expect(page.locator("#server-state")).to_have_attribute("data-state", "ready")
    failed.get_by_role("button", name="Try again").click()
    expect(answer_of(page)).to_be_visible()
    expect(page.locator(".turn")).to_have_count(1)


@pytest.mark.parametrize(
    "name", ["a" * 240 + ".png", "  two  spaces .png", "%2e%2e%2f..\\x.png", "名前 – “quoted”.png"]
)
def test_names_that_files_have(open_page: Opener, scripted: Running, name: str):
    page = open_page(scripted.url)
    chosen(page, name, "image/png", PICTURE)
    expect(page.locator(".slot-name")).to_have_attribute("title", f"{name}, 80 × 64")
    page.locator("#ask").click()
    expect(answer_of(page)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_reference_of_another_size_says_what_to_do(open_page: Opener, watch, scripted: Running):
    watch.expected = {422}
    page = open_page(scripted.url)
    upload(page)
    upload(page, "Reference", "small.png", encoded(np.full((50, 60, 3), 90, np.uint8)))
    page.locator("#ask").click()
    expect(page.locator(".turn").get_by_role("alert")).to_contain_text("60×50")
    upload(page, "Reference", "clean.png", REFERENCE)
    page.locator("#ask").click()
    expect(answer_of(page)).to_be_visible()
