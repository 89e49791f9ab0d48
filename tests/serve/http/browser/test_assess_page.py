"""Assessing on the page: examples, uploads, steps, score, maps, regions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from agenticiqa.serve.http.page.files import EXAMPLES
from serve.http.browser.steps import answer_of, ask, drag, evidence_of, upload, zoom_of
from support.http_service import PICTURE, REFERENCE, Running, encoded
from support.pictures import scene

Opener = Callable[..., Page]
Findings = Callable[[Page], list[str]]


def test_answer_shows_what_was_done_behind_why(open_page: Opener, scripted: Running, serious_findings: Findings):
    page = open_page(scripted.url)
    upload(page)
    upload(page, "Reference", "clean.png", REFERENCE)
    ask(page, "Rate the image.")
    evidence = evidence_of(page)
    for title in ("Plan", "Judge severity", "Measure", "Answer"):
        expect(evidence.locator(".step-done .step-title", has_text=title)).to_be_visible()
    expect(evidence.get_by_role("group", name="Measurements")).to_be_visible()
    assert serious_findings(page) == []


def test_options_are_listed_with_the_chosen_one(open_page: Opener, embedded_url: str):
    page = open_page(embedded_url)
    upload(page, name="small.jpg", data=EXAMPLES["dandelion_compressed"].data())
    answer = ask(page, "Which distortion dominates? A. Motion blur B. JPEG compression C. Underexposure")
    expect(answer.locator(".answer-text")).to_have_text("B. JPEG compression")
    expect(answer.locator(".option-picked")).to_contain_text("JPEG compression (chosen)")


def test_score_has_dial_interval_and_chart(open_page: Opener, embedded_url: str, serious_findings: Findings):
    page = open_page(embedded_url)
    page.get_by_role("button", name="Grain of high ISO").click()
    answer_of(page)
    dial = page.locator(".dial svg")
    expect(dial).to_have_accessible_name(re.compile(r"Score \d\.\d\d of 5, \w+; 80 % interval \d\.\d to \d\.\d"))
    evidence = evidence_of(page)
    expect(evidence.locator(".chart rect")).to_have_count(15)
    evidence.get_by_text("The numbers", exact=True).click()
    numbers = evidence.get_by_role("group", name="Level probabilities and weights").locator("tbody tr")
    expect(numbers).to_have_count(5)
    shares = [float(row.locator("td").nth(1).inner_text().removesuffix(" %")) for row in numbers.all()]
    assert sum(shares) == pytest.approx(100, abs=0.5)
    assert serious_findings(page) == []


def test_advice_is_followed_beside_the_picture(open_page: Opener, embedded_url: str, serious_findings: Findings):
    page = open_page(embedded_url)
    page.get_by_role("button", name="Grain of high ISO").click()
    answer = answer_of(page)
    show = answer.get_by_role("button", name="Show it").first
    show.click()
    pair = answer.locator(".fix-pair img")
    expect(pair).to_have_count(2)
    expect(answer.locator(".fix")).to_contain_text(re.compile(r"The score (rises|falls|stays)"))
    with page.expect_download() as saved:
        answer.get_by_role("button", name="Save the copy").click()
    assert saved.value.suggested_filename.endswith(".png")
    assert serious_findings(page) == []
    answer.get_by_role("button", name="Hide it").click()
    expect(pair).to_have_count(0)


def test_interval_is_that_of_the_result(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    expect(page.locator("#backend option")).not_to_have_count(0)  # nothing comes late into what is put there
    page.evaluate(
        """async () => {
            const { answerCard } = await import("/static/js/answer_card.js");
            const answer = { final_answer: "B", quality_reasoning: "Sharp.", used_evidence: {} };
            const summary = { ...answer, quality_score: 3.8, score_interval: [3.42, 4.21] };
            const run = { result: { status: "ok", summarizer_result: summary } };
            document.querySelector("main").replaceChildren(answerCard(run));
        }"""
    )
    expect(page.locator(".dial-interval")).to_have_count(1)
    expect(page.locator(".answer")).to_contain_text("3.4")
    expect(page.locator(".answer")).to_contain_text("4.2")


def test_conflict_shows_both_readings_and_no_level(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    expect(page.locator("#backend option")).not_to_have_count(0)  # nothing comes late into what is put there
    page.evaluate(
        """async () => {
            const { answerCard } = await import("/static/js/answer_card.js");
            const conflict = { tools: 4.5, model: 1, overlap: 0 };
            const answer = { final_answer: "E", quality_reasoning: "Blurred.", used_evidence: {} };
            const summary = { ...answer, quality_score: 4.4, score_interval: [1, 4.5], conflict };
            const card = answerCard({ result: { status: "partial", summarizer_result: summary } });
            document.querySelector("main").replaceChildren(card);
        }"""
    )
    words = "Conflict: the tools read 4.50, the model 1.00"
    expect(page.locator(".answer-text")).to_have_text(words)
    expect(page.locator(".dial svg")).to_have_accessible_name(words)
    expect(page.locator(".dial-score")).to_have_text("1.0–4.5")
    expect(page.locator(".dial-needle")).to_have_count(2)
    expect(page.locator(".answer")).to_contain_text("from one reading to the other")
    expect(page.locator(".answer")).not_to_contain_text("a part of the work failed")


def test_a_scale_asked_for_comes_first(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    expect(page.locator("#backend option")).not_to_have_count(0)  # nothing comes late into what is put there
    page.evaluate(
        """async () => {
            const { answerCard } = await import("/static/js/answer_card.js");
            const used_evidence = { asked_scale: "8.2 of 10" };
            const answer = { final_answer: "B", quality_reasoning: "Sharp.", quality_score: 4.2, used_evidence };
            const card = answerCard({ result: { status: "ok", summarizer_result: answer } });
            document.querySelector("main").replaceChildren(card);
        }"""
    )
    expect(page.locator(".answer-text")).to_contain_text("8.2 of 10: Good, 4.2 of 5")


@pytest.mark.parametrize(
    ("question", "rated"),
    [
        ("Rate the sharpness of this picture.", "Sharpness"),
        ("Rate the quality of the background.", "Background"),
        ("How good is this picture?", None),
    ],
)
def test_the_dial_says_what_it_rates(open_page: Opener, embedded_url: str, question: str, rated: str | None):
    page = open_page(embedded_url)
    upload(page, name="face.jpg", data=EXAMPLES["portrait"].data())
    answer = ask(page, question)
    caption = answer.locator(".dial figcaption")
    expect(caption).to_have_text(f"{rated} only" if rated else "Overall quality")
    expect(answer.locator(".dial-alone")).to_have_count(1 if rated else 0)
    expect(answer.locator(".dial svg")).to_have_accessible_name(re.compile(f"^{rated or 'Overall quality'}"))
    expect(answer.locator(".answer-text")).to_have_text(
        re.compile(rf"^{rated}: \w+, \d\.\d of 5" if rated else r"^\w+, \d\.\d of 5")
    )
    page.goto(f"{embedded_url}/#/history")
    badge = page.locator(".run-item").filter(has_text=question).first.locator(".badge")
    expect(badge).to_have_text(re.compile(rf"^{rated or 'Overall quality'} \d\.\d\d$"))
    expect(badge).to_have_class(re.compile("badge-alone" if rated else "level-"))


# --- copies beside the picture ---


def test_advice_is_followed_beside_the_picture_and_the_copy_is_saved(
    open_page: Opener, embedded_url: str, serious_findings: Findings
):
    page = open_page(embedded_url)
    upload(page, name="dark.jpg", data=EXAMPLES["coffee_dark"].data())
    answer = ask(page)
    show = answer.get_by_role("button", name="Show it").first
    show.click()
    expect(answer.locator(".fix-pair img")).to_have_count(2)
    expect(answer.locator(".fix")).to_contain_text(re.compile(r"The score (rises|falls|stays)"))
    assert serious_findings(page) == []
    with page.expect_download() as saved:
        answer.get_by_role("button", name="Save the copy").click()
    assert saved.value.suggested_filename.endswith(".png")
    answer.get_by_role("button", name="Hide it").click()
    expect(answer.locator(".fix-pair")).to_have_count(0)


def test_a_smaller_file_stands_beside_the_picture_and_is_saved(
    open_page: Opener, scripted: Running, serious_findings: Findings
):
    page = open_page(scripted.url)
    upload(page, name="holiday.photo.jpg", data=EXAMPLES["dandelion"].data())
    ask(page)
    turn = page.locator(".turn").last
    turn.get_by_role("button", name="Find a smaller file").click()
    expect(turn.locator(".fix-pixels img")).to_have_count(2)
    expect(turn.locator(".fix-pixels figcaption")).to_have_text(
        [re.compile(r"^As it is, \d+ KB$"), re.compile(r"^As WebP, \d+ KB$")]
    )
    expect(turn.locator(".smaller")).to_contain_text(re.compile(r"WebP at quality \d+ keeps 4\.\d of 5"))
    assert serious_findings(page) == []
    with page.expect_download() as saved:
        turn.get_by_role("button", name="Save the copy").click()
    assert saved.value.suggested_filename == "holiday.photo.webp"
    assert saved.value.path().read_bytes()[8:12] == b"WEBP"


def test_a_file_that_cannot_be_smaller_is_said_to_be_so(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    upload(page, name="small.jpg", data=EXAMPLES["dandelion_compressed"].data())
    ask(page)
    turn = page.locator(".turn").last
    turn.get_by_role("button", name="Find a smaller file").click()
    expect(turn.locator(".smaller")).to_contain_text("would not be smaller than this file (11 KB)")


# --- ways in ---


def test_upload_and_question(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    upload(page, name="holiday.png")
    answer = ask(page, "Rate the perceptual quality of the image.")
    expect(answer).to_contain_text("Moderate blur is visible.")
    assert page.url.split("#/run/")[1]


def test_ask_without_picture_says_what_is_missing(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    page.locator("#ask").click()
    expect(page.locator("#ask-hint")).to_have_text("Choose a picture first: Picture.")


def test_what_is_missing_stays_said_when_the_lists_come_late(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    late: list[Route] = []

    def hold(route: Route) -> None:
        late.append(route)

    page.route("**/v1/tools", hold)
    page.reload()
    page.locator("#ask").click()
    hint = page.locator("#ask-hint")
    expect(hint).to_have_text("Choose a picture first: Picture.")
    for route in late:
        route.continue_()
    expect(page.locator("#backend option")).not_to_have_count(0)
    expect(hint).to_have_text("Choose a picture first: Picture.")
    upload(page)
    expect(hint).to_have_text("")


@pytest.mark.parametrize("way", ["drop", "paste"])
def test_drop_and_paste(open_page: Opener, scripted: Running, way: str):
    page = open_page(scripted.url)
    page.evaluate(
        """([bytes, way]) => {
            const data = new DataTransfer();
            data.items.add(new File([new Uint8Array(bytes)], "given.png", { type: "image/png" }));
            const options = { bubbles: true, cancelable: true, clipboardData: data, dataTransfer: data };
            const pasting = way === "paste";
            const event = pasting ? new ClipboardEvent("paste", options) : new DragEvent("drop", options);
            (pasting ? document.body : document.querySelector(".slot")).dispatchEvent(event);
        }""",
        [list(PICTURE), way],
    )
    expect(page.locator(".slot-name")).to_have_text("pasted picture" if way == "paste" else "given.png")
    expect(page.locator(".pane-base")).to_be_visible()


def test_format_that_browsers_cannot_show(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    upload(page, name="scan.tif", data=encoded(scene(), "TIFF"))
    # The server's own decoding of it is shown, before anything was asked.
    expect(page.locator(".pane-base")).to_be_visible()
    ask(page)
    asked = page.evaluate("async (id) => (await fetch(`/v1/runs/${id}/file`)).json()", page.url.split("/")[-1])
    assert asked["format"] == "TIFF"
    expect(page.locator(".slot-size")).to_have_text(f"{scene().shape[1]} × {scene().shape[0]}")
    expect(page.get_by_label("Map", exact=True)).to_be_enabled()
    expect(page.locator(".answer")).to_be_visible()


def test_new_picture_clears_the_old_answer(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    upload(page)
    ask(page)
    upload(page, name="other.png", data=REFERENCE)
    expect(page.locator(".answer")).to_have_count(0)
    assert "#/run/" not in page.url


# --- looking ---


def test_side_by_side_zooms_together(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    upload(page)
    upload(page, "Reference", "clean.png", REFERENCE)
    page.get_by_role("button", name="Side by side").click()
    panes = page.locator(".pane").all()
    assert len(panes) == 2
    before = zoom_of(panes[0])
    page.get_by_role("button", name="Zoom in").click()
    panes[1].locator(".pane-window").focus()
    page.keyboard.press("+")
    page.keyboard.press("ArrowRight")
    assert zoom_of(panes[0]) > 1.9 * before
    transforms = {pane.locator(".pane-stage").evaluate("stage => stage.style.transform") for pane in panes}
    assert len(transforms) == 1
    page.keyboard.press("0")
    assert zoom_of(panes[1]) == pytest.approx(before)


def test_map_fades_in_with_the_slider(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    upload(page)
    upload(page, "Reference", "clean.png", REFERENCE)
    ask(page)
    page.get_by_label("Map", exact=True).select_option("SSIM")
    overlay = page.locator(".pane-overlay")
    expect(overlay).to_be_visible()
    assert overlay.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    page.get_by_label("Fade from picture to map").fill("40")
    expect(overlay).to_have_css("opacity", "0.4")
    expect(page.locator(".map-hint")).to_contain_text("Red")
    page.get_by_label("Map", exact=True).select_option("")
    expect(overlay).to_be_hidden()


def test_maps_of_a_run_that_left_the_page_are_let_go(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    page.evaluate(
        """() => {
          window.revoked = [];
          const revoke = URL.revokeObjectURL.bind(URL);
          URL.revokeObjectURL = (url) => { window.revoked.push(url); revoke(url); };
        }"""
    )
    upload(page)
    upload(page, "Reference", "clean.png", REFERENCE)
    ask(page)
    urls = [_map_url(page, name) for name in ("SSIM", "GMSD", "SSIM")]
    assert urls[0] == urls[2] != urls[1]
    ask(page, "Is it sharp?")
    # The picture is the same, so is what lies over it.
    assert page.locator(".pane-overlay").get_attribute("src") == urls[0]
    assert not set(urls) & set(page.evaluate("window.revoked"))
    upload(page, name="other.png", data=REFERENCE)
    page.wait_for_function("(urls) => urls.every((url) => window.revoked.includes(url))", arg=urls)


def _map_url(page: Page, name: str) -> str:
    page.get_by_label("Map", exact=True).select_option(name)
    overlay = page.locator(".pane-overlay")
    expect(overlay).to_be_visible()
    assert overlay.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    return str(overlay.evaluate("image => image.src"))


# --- regions ---


def test_boxes_drawn_with_the_mouse_are_asked_about(open_page: Opener, embedded_url: str):
    page = open_page(embedded_url)
    page.get_by_role("button", name="A shaken camera").click()
    answer_of(page)
    pane = page.locator(".pane-base")
    for start, end in (((0.1, 0.1), (0.5, 0.7)), ((0.6, 0.2), (0.9, 0.5))):
        page.get_by_role("button", name="Draw a box").click()
        drag(page, pane, start, end)
    expect(page.locator(".pane-own")).to_have_count(2)
    expect(page.locator(".pane-label-own")).to_have_text(["selection", "selection 2"])
    rows = page.locator(".region-row")
    width = int(rows.first.get_by_label("width", exact=True).input_value())
    assert width == pytest.approx(560 * 0.4, abs=4)
    expect(page.locator("#question")).to_have_value("How sharp is the selection 2?")
    ask(page, "How sharp is the selection?")
    asked = page.evaluate("async (id) => (await fetch(`/v1/runs/${id}`)).json()", page.url.split("/")[-1])
    assert list(asked["request"]["regions"]) == ["selection", "selection 2"]
    assert asked["result"]["plan"]["query_scope"] == ["selection"]


def test_region_by_keyboard(open_page: Opener, scripted: Running):
    page = open_page(scripted.url)
    upload(page)
    page.get_by_role("button", name="Draw a box").focus()
    page.keyboard.press("Enter")
    page.get_by_label("x", exact=True).fill("3")
    page.get_by_label("Call it").fill("face")
    page.get_by_label("Call it").press("Tab")
    expect(page.locator(".pane-label-own")).to_have_text("face")
    expect(page.locator("#question")).to_have_value("How sharp is the face?")
    page.locator("#question").fill("Rate the image.")
    expect(page.locator(".region-panel .hint")).to_contain_text("Say “face” in the question")
    answer = ask(page)
    expect(answer.locator(".notice-caution")).to_contain_text("not about “face”")
    page.get_by_role("button", name="Remove box face").click()
    expect(page.locator(".pane-own")).to_have_count(0)


def test_a_very_long_question_folds(open_page: Opener, scripted: Running, serious_findings: Findings):
    page = open_page(scripted.url)
    upload(page)
    ask(page, "Look at it carefully. " * 60)
    heading, unfold = page.locator(".turn-question"), page.get_by_role("button", name="Show all")
    folded = heading.bounding_box()
    assert folded
    assert folded["height"] < 120
    assert serious_findings(page) == []
    expect(unfold).to_have_attribute("aria-expanded", "false")
    unfold.click()
    whole = heading.bounding_box()
    assert whole
    assert whole["height"] > 2 * folded["height"]
    page.get_by_role("button", name="Show less").click()
    ask(page, "Is it sharp?")
    expect(page.locator(".turn-fold")).to_have_count(1)


# --- strictness ---


def test_everything_from_outside_is_text(open_page: Opener, scripted: Running):
    attack = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    replies = scripted.model.script.replies
    before = replies["answer"]
    replies["answer"] = {"final_answer": "C", "quality_reasoning": attack}
    try:
        page = open_page(scripted.url)
        upload(page, name="<b>x</b><img src=x onerror=alert(1)>.png")
        answer = ask(page, f"Rate the quality. {attack}")
        expect(answer.locator(".reasoning")).to_contain_text(attack)
        page.get_by_role("link", name="History").click()
        expect(page.locator(".run-query", has_text="Rate the quality. <img")).to_have_text(
            f"Rate the quality. {attack}"
        )
        assert page.title() == "History · AgenticIQA"
        assert page.locator("main img[onerror], main script").count() == 0
    finally:
        replies["answer"] = before


def test_downloads_and_link(open_page: Opener, scripted: Running):
    page = open_page(scripted.url, permissions=["clipboard-read", "clipboard-write"])
    upload(page)
    ask(page, "Rate the perceptual quality of the image.")
    evidence_of(page)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download JSON").click()
    result = json.loads(saved.value.path().read_text("utf-8"))
    assert result["summarizer_result"]["final_answer"] == "C"
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download report").click()
    assert "Moderate blur is visible." in saved.value.path().read_text("utf-8")
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_text("Copied:")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    other = open_page(link)
    expect(answer_of(other)).to_contain_text("Moderate blur is visible.")
    expect(other.locator(".pane-base")).to_be_visible()
    expect(other.locator(".turn-question")).to_have_text("Rate the perceptual quality of the image.")
