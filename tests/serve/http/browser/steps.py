"""What people do with the page, as steps for tests."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from support.http_service import PICTURE


def upload(page: Page, slot: str = "Picture", name: str = "photo.png", data: bytes = PICTURE) -> None:
    place = page.get_by_role("group", name=slot, exact=True)
    place.locator("input[type=file]").set_input_files({"name": name, "mimeType": "image/png", "buffer": data})
    expect(place).to_contain_text(name)


def ask(page: Page, question: str | None = None) -> Locator:
    """Asks and waits for the answer."""
    if question is not None:
        page.locator("#question").fill(question)
    page.locator("#ask").click()
    return answer_of(page)


def answer_of(page: Page) -> Locator:
    expect(page.locator(".waiting")).to_have_count(0)
    answer = page.locator(".answer")
    expect(answer).to_be_visible()
    return answer


def zoom_of(pane: Locator) -> float:
    """Screen pixels for each pixel of the picture."""
    return float(pane.locator(".pane-stage").evaluate("stage => stage.style.getPropertyValue('--zoom')"))


def overflow(page: Page) -> int:
    """By how many pixels the page is wider than its window."""
    width: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return width
