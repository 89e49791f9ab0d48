"""The way of somebody who sees the page for the first time, from opening it to the ten worst pictures of a folder."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from agenticiqa.serve.http.page.files import EXAMPLES
from serve.http.browser.steps import answer_of, drop_from_disk, evidence_of, mark_worst, zoom_of

Opener = Callable[..., Page]
Findings = Callable[[Page], list[str]]
SHOTS = ("portrait", "stream_blurred", "cat_noisy", "coffee_dark")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve pictures in a folder and one inside it, with what else lies in folders."""
    home = tmp_path_factory.mktemp("shoot") / "holiday"
    (home / "second day").mkdir(parents=True)
    for name in SHOTS:
        (home / "whole.jpg").write_bytes(EXAMPLES[name].data())
        with Image.open(home / "whole.jpg") as shot:
            half = shot.width // 2
            shot.crop((0, 0, half, shot.height)).save(home / f"{name}, left.jpg")
            shot.crop((half, 0, shot.width, shot.height)).save(home / "second day" / f"{name}, right.jpg")
        (home / "whole.jpg").rename(home / f"{name}.jpg")
    (home / "notes.txt").write_text("Bring the tripod next time.")
    (home / ".thumbnails.jpg").write_bytes(b"not for people")
    return home


def test_first_visitor(open_page: Opener, embedded_url: str, folder: Path, serious_findings: Findings):
    page = open_page(embedded_url)
    expect(page.locator(".headline")).to_be_visible()
    page.get_by_role("button", name="Grain of high ISO").click()
    expect(answer_of(page).locator(".answer-text")).to_have_text(re.compile(r"^\w+, \d\.\d of 5: .*noise"))
    worst = mark_worst(page)
    expect(worst).to_have_text(re.compile(r"Worst place, \d\.\d of 5"))
    worst.click()
    assert zoom_of(page.locator(".pane")) == 1
    page.get_by_role("button", name="How can I fix it?").click()
    expect(page.locator(".turn")).to_have_count(2)
    answer_of(page)
    expect(page.locator(".turn").last).to_contain_text(re.compile("denois", re.IGNORECASE))
    drop_from_disk(page, page.locator(".pane-window"), folder)
    expect(page.locator(".many-head")).to_contain_text("12 pictures")
    assert serious_findings(page) == []
    with page.expect_download() as saved:
        page.get_by_role("button", name="Ten worst as CSV").click()
    with saved.value.path().open(encoding="utf-8", newline="") as table:
        rows = list(csv.DictReader(table))
    scores = [float(row["score"]) for row in rows]
    assert len(rows) == 10
    assert scores == sorted(scores)
    assert any(row["path"] == "holiday/second day/stream_blurred, right.jpg" for row in rows)
    expect(page.get_by_text("10 pictures")).to_be_visible()


def test_folder_by_its_button(open_page: Opener, embedded_url: str, folder: Path):
    page = open_page(f"{embedded_url}/#/many")
    page.get_by_label("Choose a folder").set_input_files(folder / "second day")
    expect(page.locator(".many-head")).to_contain_text("4 pictures")
    names = page.frame_locator("iframe.sheet").locator(".tile:not([hidden])")
    expect(names.filter(has_text="portrait, right.jpg")).to_be_visible()


@pytest.mark.parametrize("name", ["cat_noisy", "mountains_hazy", "dandelion_compressed"])
def test_the_place_that_is_marked_is_the_one_that_is_named(open_page: Opener, embedded_url: str, name: str):
    page = open_page(embedded_url)
    picture = {"name": f"{name}.jpg", "mimeType": "image/jpeg", "buffer": EXAMPLES[name].data()}
    page.locator(".slot input[type=file]").first.set_input_files(picture)
    expect(page.locator(".pane-base")).to_be_visible()
    page.locator("#ask").click()
    expect(answer_of(page)).to_be_visible()
    mark_worst(page)
    marked = page.locator(".pane-worst").evaluate(
        "({ style }) => [style.width, style.height, style.left, style.top].map((each) => parseFloat(each))"
    )
    page.get_by_role("button", name="Where is it worst?").click()
    expect(page.locator(".turn")).to_have_count(2)
    width, height, left, top = map(round, marked)
    answer_of(page)
    expect(evidence_of(page)).to_contain_text(f"{width} × {height} pixels at {left}, {top} score")
