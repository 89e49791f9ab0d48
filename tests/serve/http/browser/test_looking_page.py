"""Looking at pictures: fit and pixels, loupe, marks of the browser's own, wipe and flicker, the same place in both."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from serve.http.browser.steps import answer_of, ask, drag, upload, zoom_of
from support.http_service import PICTURE, REFERENCE, Running, encoded

Opener = Callable[..., Page]
Findings = Callable[[Page], list[str]]
LARGE = encoded(
    np.kron(np.random.default_rng(1).integers(0, 255, (60, 90, 3), np.uint8), np.ones((20, 20, 1), np.uint8))
)


def test_fit_never_enlarges_and_one_shows_pixels(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    upload(page)
    assert zoom_of(page.locator(".pane")) == 1
    upload(page, name="large.png", data=LARGE)
    assert zoom_of(page.locator(".pane")) < 1
    page.locator(".pane-window").focus()
    page.keyboard.press("1")
    expect(page.locator(".zoom-text")).to_have_text("100 %")
    page.keyboard.press("0")
    assert zoom_of(page.locator(".pane")) < 1


def test_histogram_and_clipping_without_asking(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    half_burnt = np.full((80, 100, 3), 120, np.uint8)
    half_burnt[:, :50] = 255
    half_burnt[:20, 50:] = 0
    upload(page, data=encoded(half_burnt))
    expect(page.get_by_role("img", name="Histogram")).to_be_visible()
    expect(page.locator(".histogram")).to_contain_text("12.5 % black without detail · 50.0 % burnt out")
    page.get_by_label("Map", exact=True).select_option("clipped")
    overlay = page.locator(".pane-overlay")
    expect(overlay).to_be_visible()
    colours = overlay.evaluate(
        """async (image) => {
            await image.decode();
            const canvas = new OffscreenCanvas(100, 80);
            const context = canvas.getContext("2d", { willReadFrequently: true });
            context.drawImage(image, 0, 0);
            return [[10, 40], [75, 10], [75, 60]].map(([x, y]) => [...context.getImageData(x, y, 1, 1).data]);
        }"""
    )
    burnt, black, neither = colours
    assert burnt[0] > 200 > burnt[2]
    assert black[2] > 200 > black[0]
    assert neither[3] == 0


def test_focus_is_marked_where_edges_are_sharp(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    half_sharp = np.full((80, 120, 3), 110, np.uint8)
    half_sharp[:, :60:8] = 230
    upload(page, data=encoded(half_sharp))
    page.locator("body").press("e")
    overlay = page.locator(".pane-overlay")
    expect(overlay).to_be_visible()
    shares = overlay.evaluate(
        """async (image) => {
            await image.decode();
            const canvas = new OffscreenCanvas(120, 80);
            const context = canvas.getContext("2d", { willReadFrequently: true });
            context.drawImage(image, 0, 0);
            const marked = (x) => {
                const { data } = context.getImageData(x, 10, 40, 60);
                return data.filter((value, at) => at % 4 === 3 && value > 0).length / (40 * 60);
            };
            return [marked(10), marked(75)];
        }"""
    )
    assert shares[0] > 0.1
    assert shares[1] == 0


def test_loupe_shows_twice_the_pixels_under_the_pointer(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    upload(page, data=LARGE)
    page.get_by_role("button", name="Loupe").click()
    edge = page.locator(".pane-window").bounding_box()
    assert edge
    page.mouse.move(edge["x"] + edge["width"] * 0.3, edge["y"] + edge["height"] * 0.6)
    loupe = page.locator(".loupe")
    expect(loupe).to_be_visible()
    box = loupe.bounding_box()
    assert box
    assert box["x"] + box["width"] / 2 == pytest.approx(edge["x"] + edge["width"] * 0.3, abs=3)
    page.locator(".pane-window").focus()
    before = loupe.evaluate("each => each.style.transform")
    page.keyboard.press("ArrowRight")
    assert loupe.evaluate("each => each.style.transform") != before
    page.get_by_role("button", name="Loupe").click()
    expect(loupe).to_be_hidden()


def test_labels_stay_in_view(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    upload(page, data=LARGE)
    page.get_by_role("button", name="Draw a box").click()
    drag(page, page.locator(".pane-window"), (0.02, 0.02), (0.2, 0.2))
    page.get_by_role("button", name="100 %: one").click()
    page.locator(".pane-window").focus()
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    label, window = page.locator(".pane-label-own").bounding_box(), page.locator(".pane-window").bounding_box()
    assert label
    assert window
    assert window["x"] <= label["x"]
    assert label["x"] + label["width"] <= window["x"] + window["width"]
    assert window["y"] <= label["y"] <= window["y"] + window["height"]


@pytest.mark.parametrize("even", [True, False])
def test_only_a_picture_with_a_worst_place_offers_to_mark_it(open_page: Opener, scripted: Running, even: bool):
    page = open_page(scripted.url)
    told = {"box": [0, 0, 20, 20], "score": 3.1, "whole": 3.2, "even": even}
    page.route("**/v1/runs/*/worst", lambda route: route.fulfill(json=told))
    upload(page)
    with page.expect_response("**/worst"):
        page.locator("#ask").click()
    answer_of(page)
    page.get_by_role("button", name="Quality map").click()
    expect(page.locator(".map-hint")).to_contain_text("Red is 1")
    control = page.get_by_role("button", name="Worst place", exact=True)
    if even:
        expect(page.locator(".map-hint")).to_contain_text("No place is clearly worse")
        expect(control).to_be_hidden()
        page.locator("body").press("v")
        expect(page.locator(".pane-worst")).to_have_count(0)
    else:
        control.click()
        expect(page.locator(".pane-worst")).to_be_visible()
        control.click()
        expect(page.locator(".pane-worst")).to_have_count(0)


# --- two pictures ---


def two(open_page: Opener, running: Running) -> Page:
    page = open_page(f"{running.url}/#/compare")
    upload(page, "Picture A", "a.png", PICTURE)
    upload(page, "Picture B", "b.png", REFERENCE)
    return page


def test_wipe_by_mouse_and_keyboard(open_page: Opener, scripted: Running, serious_findings: Findings):
    page = two(open_page, scripted)
    page.get_by_role("button", name="Wipe").click()
    second = page.locator(".pane-second")

    def cut() -> float:
        found = re.search(r"([\d.]+)px\)$", second.evaluate("each => each.style.clipPath"))
        assert found
        return float(found[1])

    half = cut()
    drag(page, page.locator(".pane-window"), (0.5, 0.5), (0.6, 0.5))
    assert cut() > half
    page.get_by_label("Where the second picture begins").press("Home")
    assert cut() == 0
    assert serious_findings(page) == []


def test_flicker_changes_by_itself_and_only_by_hand_where_motion_is_unwanted(open_page: Opener, scripted: Running):
    page = two(open_page, scripted)
    page.get_by_role("button", name="Flicker").click()
    caption = page.locator(".pane figcaption")
    expect(caption).to_have_text("Picture B")
    expect(caption).to_have_text("Picture A")
    page.close()
    page = open_page(f"{scripted.url}/#/compare", reduced_motion="reduce")
    upload(page, "Picture A", "a.png", PICTURE)
    upload(page, "Picture B", "b.png", REFERENCE)
    page.get_by_role("button", name="Flicker").click()
    page.wait_for_timeout(900)
    expect(page.locator(".pane figcaption")).to_have_text("Picture A")
    page.get_by_role("button", name="Show the other one").click()
    expect(page.locator(".pane figcaption")).to_have_text("Picture B")


def test_difference_of_pixels_at_the_same_place(open_page: Opener, scripted: Running):
    page = two(open_page, scripted)
    page.get_by_label("Map", exact=True).select_option("pixel_difference")
    expect(page.locator(".pane-overlay")).to_have_count(2)
    page.get_by_role("button", name="100 %: one").click()
    panes = page.locator(".pane").all()
    places = {pane.locator(".pane-stage").evaluate("stage => stage.style.transform") for pane in panes}
    assert len(places) == 1


def test_box_in_both_pictures_is_what_is_compared(open_page: Opener, scripted: Running):
    page = two(open_page, scripted)
    page.get_by_role("button", name="Draw a box").click()
    drag(page, page.locator(".pane-base").first, (0.1, 0.1), (0.9, 0.9))
    expect(page.locator(".pane-own")).to_have_count(2)
    expect(page.get_by_label("Compare only inside")).to_be_checked()
    page.locator("#ask").click()
    answer_of(page)
    asked = page.evaluate("async (id) => (await fetch(`/v1/runs/${id}`)).json()", page.url.split("/")[-1])
    assert asked["result"]["a"]["metadata"]["image_size"] == asked["request"]["region"][2:]


def test_question_to_each_is_answered_beside_the_verdict(open_page: Opener, embedded_url: str):
    page = open_page(f"{embedded_url}/#/compare")
    for side, name in (("A", "portrait"), ("B", "stream_blurred")):
        data = page.evaluate(
            "async (name) => [...new Uint8Array(await (await fetch(`/v1/examples/${name}`)).arrayBuffer())]", name
        )
        upload(page, f"Picture {side}", f"{name}.jpg", bytes(data))
    verdict = ask(page, "Is the picture sharp?")
    expect(page.locator(".turn-question")).to_have_text("Which is better? Is the picture sharp?")
    expect(verdict.locator(".own-answers dd")).to_have_text(["Yes", "No"])
