"""A real browser on a real server. Run by `make browser`; plain `make test` leaves this folder out."""

from __future__ import annotations

import http.server
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Playwright, expect, sync_playwright

import agenticiqa
from agenticiqa.reports.contact_sheet.page import SheetLinks, sheet_policy
from support.http_service import Running, command_serving, serving
from support.scripted import ScriptedClient
from support.shoots import make_shoot

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
DESKTOP = {"width": 1280, "height": 800}
HERE = re.compile(r"(blob:)?http://(127\.0\.0\.1|localhost):|file://|data:")
PATIENCE_MS = 60_000
"""Machines that run tests may be busy."""
AXE = Path(os.environ.get("AXE_CORE", "build/browser/node_modules/axe-core/axe.min.js")).absolute()


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """The system's Chromium, CHROMIUM, or the one that `playwright install chromium` fetched."""
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    launched = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
    yield launched
    launched.close()


@pytest.fixture(scope="session")
def embedded_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """``agenticiqa serve`` as a user starts it, with its own model."""
    home = tmp_path_factory.mktemp("embedded")
    with (home / "standard-error.log").open("w") as log, command_serving(home, log=log) as (_process, url):
        yield url


@pytest.fixture(scope="session")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(tmp_path_factory.mktemp("scripted"), ScriptedClient()) as running:
        yield running


@pytest.fixture(scope="session")
def shoot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_shoot(tmp_path_factory.mktemp("sheet") / "shoot")


@pytest.fixture(scope="session")
def report(shoot: Path) -> agenticiqa.AuditReport:
    return agenticiqa.audit(shoot, quick=True)


@pytest.fixture(scope="session")
def sheet(report: agenticiqa.AuditReport, shoot: Path) -> str:
    target = shoot.parent / "sheet.html"
    report.contact_sheet(target)
    return target.as_uri()


@pytest.fixture
def served(report: agenticiqa.AuditReport, shoot: Path) -> Iterator[str]:
    """The folder with a sheet that leads on, and one in a frame, under the sheet's own policy."""
    links = SheetLinks(picture="shoot/{path}", assess="assess-{place}.html", compare="compare-{first}-{second}.html")
    report.contact_sheet(shoot.parent / "linked.html", links=links, overwrite=True)
    report.contact_sheet(shoot.parent / "framed.html", links=SheetLinks(messages=True), overwrite=True)
    (shoot.parent / "around.html").write_text(
        "<!DOCTYPE html><link rel=icon href=data:,><title>around</title>"
        "<iframe title=sheet width=900 height=600 src=framed.html></iframe>"
        "<script>const heard = []; addEventListener('message', (event) => heard.push(event.data));</script>"
    )

    class Handler(http.server.SimpleHTTPRequestHandler):
        def end_headers(self) -> None:
            if self.path in ("/linked.html", "/framed.html"):
                self.send_header("Content-Security-Policy", sheet_policy())
            super().end_headers()

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(shoot.parent)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@dataclass
class Watch:
    """What a page did behind its face."""

    complaints: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    expected: set[int] = field(default_factory=set)
    """Statuses that a test provokes: a browser writes each refused request into its console."""
    ignored: str = "\0"

    def heard(self, message: ConsoleMessage) -> None:
        status = re.search(r"status of (\d+)", message.text)
        provoked = self.ignored in message.text or (status and int(status[1]) in self.expected)
        if message.type in ("error", "warning") and not provoked:
            self.complaints.append(message.text)


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def open_page(browser: Browser, watch: Watch) -> Iterator[Callable[..., Page]]:
    """Opens a page in a browser window of its own; fails the test afterwards if the page complained or went abroad."""
    contexts: list[BrowserContext] = []

    def opened(url: str, **options: Any) -> Page:
        context = browser.new_context(**{"viewport": DESKTOP, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", watch.heard)
        page.on("pageerror", lambda error: watch.complaints.append(str(error)))
        page.on("request", lambda request: watch.addresses.append(request.url))
        page.set_default_timeout(PATIENCE_MS)
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert watch.complaints == []
    assert [address for address in watch.addresses if not HERE.match(address)] == []


@pytest.fixture(scope="session")
def axe_source() -> str:
    assert AXE.is_file(), f"{AXE} is missing: `make browser` fetches axe-core, or set AXE_CORE to its axe.min.js."
    return AXE.read_text("utf-8")


@pytest.fixture
def serious_findings(axe_source: str) -> Callable[[Page], list[str]]:
    """What axe finds serious or critical in a page as it stands, WCAG 2.2 A and AA."""

    def findings(page: Page) -> list[str]:
        page.evaluate(axe_source)
        tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
        report = page.evaluate("(tags) => axe.run(document, { runOnly: tags })", tags)
        assert len(report["passes"]) > 10, "axe did not really run"
        return [
            f"{found['id']}: {node['target']} {node['failureSummary']}"
            for found in report["violations"]
            if found["impact"] in ("serious", "critical")
            for node in found["nodes"]
        ]

    return findings
