"""What people do with the page, as steps for tests."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from support.http_service import PICTURE


def upload(page: Page, slot: str = "Picture", name: str = "photo.png", data: bytes = PICTURE) -> None:
    place = page.get_by_role("group", name=slot, exact=True)
    if slot == "Reference" and not place.is_visible():
        page.get_by_role("button", name="Add a reference").click()
    place.locator("input[type=file]").set_input_files({"name": name, "mimeType": "image/png", "buffer": data})
    expect(place).to_contain_text(name)


def ask(page: Page, question: str | None = None) -> Locator:
    """Asks and waits for the answer."""
    if question is not None:
        page.locator("#question").fill(question)
    page.locator("#ask").click()
    return answer_of(page)


def answer_of(page: Page) -> Locator:
    expect(page.locator("#cancel")).to_be_hidden()
    answer = page.locator(".turn").last.locator(".answer")
    expect(answer).to_be_visible()
    return answer


def evidence_of(page: Page) -> Locator:
    """What stands behind the last answer, unfolded."""
    why = page.locator(".turn").last.locator(".why")
    if why.get_attribute("open") is None:
        why.locator("summary").first.click()
    return why


def mark_worst(page: Page) -> Locator:
    """The worst place marked, which one press does; returns its label."""
    page.get_by_role("button", name="Worst place", exact=True).click()
    label = page.locator(".pane-label-worst")
    expect(label).to_be_visible()
    return label


def drag(page: Page, pane: Locator, start: tuple[float, float], end: tuple[float, float]) -> None:
    """From one place of a picture to another, as shares of it."""
    edge = pane.bounding_box()
    assert edge
    page.mouse.move(edge["x"] + edge["width"] * start[0], edge["y"] + edge["height"] * start[1])
    page.mouse.down()
    page.mouse.move(edge["x"] + edge["width"] * end[0], edge["y"] + edge["height"] * end[1], steps=4)
    page.mouse.up()


def zoom_of(pane: Locator) -> float:
    """Screen pixels for each pixel of the picture."""
    return float(pane.locator(".pane-stage").evaluate("stage => stage.style.getPropertyValue('--zoom')"))


def overflow(page: Page) -> int:
    """By how many pixels the page is wider than its window."""
    width: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return width


def drop_from_disk(page: Page, place: Locator, *paths: Path) -> None:
    """Files and folders as a desktop drops them: folders arrive as folders, which no script in a page could make up."""
    place.scroll_into_view_if_needed()
    edge = place.bounding_box()
    assert edge
    where = {"x": edge["x"] + edge["width"] / 2, "y": edge["y"] + edge["height"] / 2}
    held = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    protocol = page.context.new_cdp_session(page)
    for step in ("dragEnter", "dragOver", "drop"):
        protocol.send("Input.dispatchDragEvent", {"type": step, **where, "data": held})
    protocol.detach()


def decision_chip(page: Page, name: str) -> Locator:
    """The filter of a contact sheet that shows what was decided so, with its count."""
    return page.locator(f"#decisions [data-name={name}]")


def open_picture(page: Page, name: str) -> None:
    """A picture of a contact sheet, large."""
    page.get_by_role("button", name=f"{name}:").click()
    expect(page.locator("#viewer-name")).to_have_text(name)


def exported(page: Page, button: str = "#export-csv") -> str:
    """What a contact sheet saves."""
    page.get_by_role("button", name="Export …").click()
    with page.expect_download() as download:
        page.locator(button).click()
    page.keyboard.press("Escape")
    return Path(download.value.path()).read_text(encoding="utf-8")
