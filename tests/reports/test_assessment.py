"""The HTML report: self-contained, complete, and safe with hostile text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from agenticiqa import AgenticIQA
from agenticiqa.reports.assessment import ReportItem, overlay, render_report, report_item, write_report
from agenticiqa.runtime.config import ImageLimits
from support.scripted import ScriptedClient

pytestmark = pytest.mark.usefixtures("isolated")

PICTURE = Path(__file__).resolve().parents[2] / "examples" / "pictures" / "dandelion.jpg"
HOSTILE = "<script>alert(1)</script>"


def assessed(query: str = "Rate the quality.", picture: Path = PICTURE):
    clients = dict.fromkeys(("planner", "executor", "summarizer"), ScriptedClient())
    with AgenticIQA(clients=clients) as assessor:
        return assessor.assess(picture, query)


def test_the_page_stands_alone_and_shows_answer_evidence_and_chart(tmp_path):
    result = assessed()
    write_report(tmp_path / "report.html", [report_item(result, ImageLimits())])
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "http://" not in page
    assert "https://" not in page
    assert "<script" not in page
    assert page.count("data:image/jpeg;base64,") == 2  # the picture and its quality map
    assert f"{result.score:.2f}" in page
    assert "<svg" in page
    assert result.reasoning.split(".")[0] in page
    assert not list(tmp_path.glob(".*.part"))


def test_hostile_text_is_escaped(tmp_path):
    picture = tmp_path / "<img src=x onerror=alert(1)>.png"
    Image.fromarray(np.full((64, 64, 3), 90, np.uint8)).save(picture)
    page = render_report([ReportItem(assessed(f"Rate {HOSTILE}", picture))], title=HOSTILE)
    assert "<script" not in page
    assert "<img src=x" not in page
    assert "&lt;script&gt;" in page


def test_a_failed_run_says_so():
    page = render_report([ReportItem(assessed(picture=Path("no-such-file.png")))])
    assert "No answer." in page
    assert "no file" in page


def test_overlay_is_red_where_quality_is_lost():
    grey = np.full((64, 64, 3), 128, np.uint8)
    shown = overlay(grey, np.array([[1.0, 5.0]], np.float32))
    left, right = shown[32, 4].astype(int), shown[32, -4].astype(int)
    assert left[0] > left[2]
    assert right[2] > right[0]
