"""Makes the pictures of docs/one-picture/page.md from a server that runs: python take_screenshots.py http://127.0.0.1:8000"""

from __future__ import annotations

import os
import shutil
import sys
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[4]
IMAGES = ROOT / "docs" / "images"
EXAMPLES = ROOT / "src" / "agenticiqa" / "serve" / "http" / "page" / "examples"


def main(url: str) -> None:
    expect.set_options(timeout=180_000)
    with sync_playwright() as playwright:
        program = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        _first(_page(browser, f"{url}/#/assess", "light"))
        _assess(_page(browser, f"{url}/#/assess", "light"))
        _compare(_page(browser, f"{url}/#/compare", "dark"))
        _many(_page(browser, f"{url}/#/many", "light"))
        browser.close()


def _page(browser: Browser, url: str, scheme: str) -> Page:
    page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme=scheme)  # type: ignore[arg-type]
    page.set_default_timeout(180_000)
    page.goto(url)
    return page


def _first(page: Page) -> None:
    expect(page.locator(".example")).to_have_count(6)
    _shot(page, "page-first.png")


def _assess(page: Page) -> None:
    page.get_by_role("button", name="Haze").click()
    page.get_by_role("button", name="Worst place", exact=True).click()
    expect(page.locator(".pane-label-worst")).to_be_visible()
    page.get_by_role("button", name="Quality map").click()
    expect(page.locator(".pane-overlay")).to_be_visible()
    _shot(page, "page-assess.png")


def _compare(page: Page) -> None:
    page.locator(".example").first.click()
    expect(page.locator(".answer")).to_be_visible()
    page.get_by_role("button", name="Wipe").click()
    _shot(page, "page-compare.png")


def _many(page: Page) -> None:
    pictures = [str(path) for path in sorted(EXAMPLES.glob("*.jpg"))]
    page.get_by_label("Choose pictures").set_input_files(pictures)
    expect(page.frame_locator("iframe.sheet").get_by_text("portrait.jpg").first).to_be_visible()
    _shot(page, "page-folder.png")


def _shot(page: Page, name: str) -> None:
    page.wait_for_timeout(800)
    shown = Image.open(BytesIO(page.screenshot())).convert("RGB")
    # Photographs make large PNG files: 256 colours are enough for a manual.
    shown.quantize(256, method=Image.Quantize.MEDIANCUT).save(IMAGES / name, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1].rstrip("/"))
