"""A contact sheet of ten thousand pictures in Chromium: when it is first painted, and what scrolling costs.

    python benchmarks/speed/contact_sheet.py --pictures 10000 --picture PHOTO…      # needs playwright and chromium

The sheet is written from made rows and the thumbnails of the given photographs (of noise, without any). It is then
scrolled from end to end, once by a wheel and once by jumps. Printed: size, first paint, the longest tasks by the clock
and, because other programs share the machine, the longest by processor time.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import CDPSession, Page, sync_playwright

from agenticiqa.auditing.findings import NAMES, measured
from agenticiqa.pictures.images import decode_image, load_image, png_bytes
from agenticiqa.reports.contact_sheet.page import COLUMNS, SheetPicture, write_contact_sheet

LONG_MS = 50
FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
WHEEL_STEPS, WHEEL_PIXELS = 120, 400
JUMPS = 40


def thumbnails(photographs: list[Path]) -> list[str]:
    opened = [load_image(path) for path in photographs]
    if not opened:
        random = np.random.default_rng(0)
        noise = [random.integers(0, 256, (12, 16, 3)).astype(np.uint8) for _ in range(40)]
        opened = [decode_image(png_bytes(Image.fromarray(each).resize((320, 240)))) for each in noise]
    return [base64.b64encode(measured(each)[1].thumbnail).decode("ascii") for each in opened]


def pictures(count: int, small: list[str]) -> Iterator[SheetPicture]:
    random = np.random.default_rng(1)
    for place in range(count):
        score = round(float(random.uniform(1, 5)), 2)
        found = {NAMES[each]: "because it was found" for each in sorted(random.integers(0, len(NAMES), place % 4))}
        row: dict[str, Any] = dict.fromkeys(COLUMNS)
        row |= {
            "path": f"2024/{place // 500:03}/IMG_{place:05}.jpg", "findings": found,
            "decision": ("keep", "maybe", "reject")[place % 3], "stars": place % 6, "score": score,
            "level": "EEDCBA"[round(score)], "sort": "photograph", "width": 4000, "height": 3000, "format": "JPEG",
            "bytes": 3_000_000 + place, "brightness": 0.5, "sharpness": 0.4, "detail": 30.0, "entropy": 7.5,
        }  # fmt: skip
        yield SheetPicture(row, small[place % len(small)])


def write(target: Path, count: int, small: list[str]) -> None:
    summary = {
        "pictures": count, "findings": dict.fromkeys(NAMES, 1), "sorts": {"photograph": count}, "keep": count,
        "without_finding": 0, "mean_score": 3.0,
    }  # fmt: skip
    write_contact_sheet(target, lambda: pictures(count, small), title="Ten thousand", summary=summary)


class Tasks:
    """Every task of the page's main thread while the block runs, from the browser's own trace."""

    def __init__(self, session: CDPSession) -> None:
        self._session = session
        self._events: list[dict[str, Any]] = []
        session.on("Tracing.dataCollected", lambda data: self._events.extend(data["value"]))

    def __enter__(self) -> Tasks:
        categories = ["toplevel", "disabled-by-default-devtools.timeline", "devtools.timeline"]
        self._session.send("Tracing.start", {"traceConfig": {"includedCategories": categories}})
        return self

    def __exit__(self, *_: object) -> None:
        done: list[bool] = []
        self._session.on("Tracing.tracingComplete", lambda _: done.append(True))
        self._session.send("Tracing.end")
        while not done:
            self._session.send("Runtime.evaluate", {"expression": "0"})

    def longest(self, key: str) -> list[float]:
        """Milliseconds of the longest tasks, by the clock (``dur``) or by processor time (``tdur``)."""
        main = {
            (event["pid"], event["tid"])
            for event in self._events
            if event.get("name") == "thread_name" and event["args"]["name"] == "CrRendererMain"
        }
        tasks = [
            event.get(key, 0) / 1000
            for event in self._events
            if event.get("name") == "RunTask" or event.get("name", "").endswith("ThreadController::RunTask")
            if (event["pid"], event["tid"]) in main or not main
        ]
        return sorted(tasks, reverse=True)[:5]


def scroll(page: Page) -> None:
    page.mouse.move(640, 500)
    for _ in range(WHEEL_STEPS):
        page.mouse.wheel(0, WHEEL_PIXELS)
        page.wait_for_timeout(16)
    for step in range(JUMPS + 1):
        page.evaluate(f"window.scrollTo(0, document.documentElement.scrollHeight * {step / JUMPS})")
        page.wait_for_timeout(50)


def told(title: str, tasks: list[float]) -> str:
    over = sum(each > LONG_MS for each in tasks)
    return f"  {title}: {', '.join(f'{each:.0f}' for each in tasks)} ms; over {LONG_MS} ms among the five: {over}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=int, default=10_000)
    parser.add_argument("--picture", type=Path, nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        target = Path(folder) / "sheet.html"
        write(target, given.pictures, thumbnails(given.picture))
        print(f"{given.pictures} pictures, {target.stat().st_size / 1e6:.0f} MB")
        program = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        for _ in range(given.rounds):
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto(target.as_uri(), wait_until="commit")
            page.wait_for_selector(".tile img[src]")
            page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length > 0")
            paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
            shown = page.evaluate("performance.now()")
            page.wait_for_load_state("load")
            whole = page.evaluate("performance.timing.loadEventEnd - performance.timing.navigationStart")
            print(f"first paint {paint:.0f} ms, pictures there by {shown:.0f} ms, read to its end after {whole} ms")
            with Tasks(page.context.new_cdp_session(page)) as tasks:
                scroll(page)
            print(told("longest tasks while scrolling, by the clock", tasks.longest("dur")))
            print(told("by processor time", tasks.longest("tdur")))
            print(f"  load of the machine {json.dumps(os.getloadavg())}")
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
