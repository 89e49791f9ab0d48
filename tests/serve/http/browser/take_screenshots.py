"""Makes the pictures of docs/page.md from a server that runs: python take_screenshots.py http://127.0.0.1:8000"""

from __future__ import annotations

import os
import shutil
import sys
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageOps
from playwright.sync_api import Browser, Page, expect, sync_playwright

IMAGES = Path(__file__).resolve().parents[4] / "docs" / "images"


def main(url: str) -> None:
    expect.set_options(timeout=120_000)
    with sync_playwright() as playwright:
        program = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        _assess(_page(browser, f"{url}/#/assess", "light"))
        _compare(_page(browser, f"{url}/#/compare", "dark"))
        browser.close()


def _page(browser: Browser, url: str, scheme: str) -> Page:
    page = browser.new_page(viewport={"width": 1280, "height": 780}, color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(url)
    page.locator(".example").last.click()
    expect(page.locator(".answer")).to_be_visible()
    return page


def _assess(page: Page) -> None:
    page.locator("#question").fill("Rate the perceptual quality of the image.")
    page.locator("#ask").click()
    expect(page.locator(".dial")).to_be_visible()
    _with_map(page, "quality")
    _shot(page, "page-assess.png")


def _compare(page: Page) -> None:
    _with_map(page, "difference")
    _shot(page, "page-compare.png")


def _with_map(page: Page, name: str) -> None:
    page.get_by_label("Map", exact=True).select_option(name)
    expect(page.locator(".pane-overlay").first).to_be_visible()
    page.locator("input[type=range]").fill("60")


def _shot(page: Page, name: str) -> None:
    page.locator("body").click(position={"x": 2, "y": 300})
    page.wait_for_timeout(500)
    shown = Image.open(BytesIO(page.screenshot())).convert("RGB")
    for pane in page.locator(".pane-window").all():
        # Photographs make large PNG files: six bits of each colour are enough here.
        edge = pane.bounding_box()
        assert edge is not None
        left, top = round(edge["x"]), round(edge["y"])
        area = (left, top, left + round(edge["width"]), top + round(edge["height"]))
        shown.paste(ImageOps.posterize(shown.crop(area), 6), area)
    shown.save(IMAGES / name, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1].rstrip("/"))
