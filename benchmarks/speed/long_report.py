"""How soon the report of a large batch is there, and whether scrolling it stays smooth, in a real Chromium.

    python benchmarks/speed/long_report.py [--rows 10000]

Needs playwright and chromium (`make browser` installs the first; CHROMIUM names another browser).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

from agenticiqa.research.report.page import prepare, render_page
from agenticiqa.research.results import read_results

PICTURES = 200
SCROLLS = 30
WATCH = """() => { window.long = []; new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.long.push(Math.round(entry.duration));
}).observe({type: 'longtask'}); }"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000)
    rows: int = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        page = made_report(Path(folder), rows)
        print(f"{rows:,} rows with thumbnails: {page.stat().st_size / 1e6:.1f} MB")
        look(page)


def made_report(folder: Path, rows: int) -> Path:
    """A report of made results, whose pictures take turns."""
    rng = np.random.default_rng(0)
    for number in range(PICTURES):
        coarse = Image.fromarray(rng.integers(0, 255, (6, 8, 3), np.uint8))
        coarse.resize((320, 240), Image.Resampling.BICUBIC).save(folder / f"{number}.jpg")
    answered = {"final_answer": "C", "quality_reasoning": "Made.", "need_replan": False}
    results = folder / "results.jsonl"
    with results.open("w", encoding="utf-8") as file:
        for number in range(rows):
            summary = {**answered, "quality_score": round(float(rng.uniform(1, 5)), 3)}
            picture = str(folder / f"{number % PICTURES}.jpg")
            line = {"sample_id": f"shoot/{number:05}.jpg", "status": "ok", "query": "Rate it.", "image_path": picture}
            file.write(json.dumps({**line, "summarizer_result": summary}) + "\n")
    page = folder / "report.html"
    page.write_text(render_page(prepare(read_results(results), cases=0, resamples=0)), encoding="utf-8")
    return page


def look(page: Path) -> None:
    program = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1280, "height": 900})
        tab.goto(page.as_uri())
        paint = tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        tab.evaluate(WATCH)
        tab.locator("#window").scroll_into_view_if_needed()
        for column in ("Score", "Sample"):
            started = time.perf_counter()
            tab.get_by_role("button", name=column, exact=True).click()
            print(f"sorted by {column}: {time.perf_counter() - started:.2f} s")
        tab.evaluate("window.long = []")
        for _ in range(SCROLLS):
            tab.evaluate("document.getElementById('window').scrollBy(0, 4000)")
            tab.wait_for_timeout(30)
        print(f"first paint: {paint / 1000:.2f} s")
        print(f"tasks over 50 ms while scrolling: {tab.evaluate('window.long')} ms")
        print(f"rows in the page: {tab.locator('#samples tbody tr:not(.space)').count()}")
        browser.close()


if __name__ == "__main__":
    main()
