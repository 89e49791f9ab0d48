"""A folder dropped on the web page in Chromium: when pictures are seen, and how fast what is found fills in.

    python benchmarks/speed/live_folder.py --pictures 2000 --seconds 30      # needs playwright and chromium

The pictures are made of noise, or copied from --data FOLDER. Printed, from the drop on: the first small picture, a
screen of them, the first finding, findings per second (how many pictures have words after --seconds), the longest task
of the page meanwhile, and its memory.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import threading
import time
from itertools import cycle, islice
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from agenticiqa.runtime.config import load_settings
from agenticiqa.serve.http.server import bind
from agenticiqa.serve.http.settings import ServiceSettings

FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
SCREEN = 24
# Counted in the page itself: asking for it every moment would be part of what is measured.
WATCH = """(SCREEN) => {
    window.seen = { longest: 0 };
    const note = (name) => { seen[name] ??= performance.now() - seen.dropped; };
    new PerformanceObserver((list) => {
        for (const task of list.getEntries()) seen.longest = Math.max(seen.longest, task.duration);
    }).observe({ type: "longtask" });
    document.addEventListener("drop", () => { seen.dropped = performance.now(); look(); }, { capture: true });
    const look = () => {
        const drawn = [...document.querySelectorAll(".live canvas")].filter((each) => each.width > 0).length;
        if (drawn) note("first");
        if (drawn >= SCREEN) note("screen");
        if (document.querySelector(".live-what:not(:empty)")) note("found");
        setTimeout(look, 30);
    };
}"""


def fill(folder: Path, count: int, data: Path | None) -> None:
    folder.mkdir()
    if data is not None:
        photographs = sorted(path for path in data.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg", ".png"))
        for number, path in enumerate(islice(cycle(photographs), count)):
            shutil.copyfile(path, folder / f"{number:05}{path.suffix.lower()}")
        return
    random = np.random.default_rng(0)
    for number in range(count):
        coarse = Image.fromarray(random.integers(0, 256, (24, 32, 3)).astype(np.uint8))
        coarse.resize((640, 480), Image.Resampling.BICUBIC).save(folder / f"{number:05}.jpg", quality=85)


def drop(page: Page, folder: Path) -> None:
    held = {"items": [], "files": [str(folder)], "dragOperationsMask": 1}
    protocol = page.context.new_cdp_session(page)
    for step in ("dragEnter", "dragOver", "drop"):
        protocol.send("Input.dispatchDragEvent", {"type": step, "x": 600, "y": 400, "data": held})


def measure(page: Page, seconds: float) -> None:
    page.wait_for_function("() => window.seen.first")
    page.wait_for_function("() => window.seen.found", timeout=600_000)
    began = time.monotonic()
    page.wait_for_timeout(seconds * 1000)
    told = page.locator(".live-what:not(:empty)").count()
    seen = page.evaluate("() => window.seen")
    used = page.evaluate("() => performance.memory.usedJSHeapSize")
    print(f"first small picture {seen['first']:.0f} ms, a screen of {SCREEN} {seen.get('screen', float('nan')):.0f} ms")
    print(
        f"first finding {seen['found'] / 1000:.1f} s, then {told / (time.monotonic() - began):.1f} pictures per second"
    )
    print(f"longest task of the page {seen['longest']:.0f} ms, its memory {used / 1e6:.0f} MB")
    page.get_by_role("button", name="Stop").click()
    stopped = time.monotonic()
    page.locator("iframe.sheet").wait_for(timeout=600_000)
    print(f"the sheet of what was found {time.monotonic() - stopped:.1f} s after Stop")
    print(f"load of the machine {os.getloadavg()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=int, default=2000)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seconds", type=float, default=30)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        home = Path(place)
        fill(home / "photos", given.pictures, given.data)
        service = ServiceSettings(data_folder=home / "service", port=0, max_batch_samples=given.pictures)
        server = bind(service, load_settings(overrides={"pipeline.runs.database": home / "runs.sqlite"}))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        program = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(f"{server.address}/#/many")
        page.locator("html[data-ready]").wait_for(state="attached")
        page.evaluate(WATCH, SCREEN)
        drop(page, home / "photos")
        measure(page, given.seconds)
        browser.close()
        server.server.handle_exit(15, None)
        thread.join()


if __name__ == "__main__":
    main()
