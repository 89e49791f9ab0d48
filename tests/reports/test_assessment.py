"""The HTML report: self-contained, complete, and safe with hostile text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from agenticiqa import AgenticIQA
from agenticiqa._version import __version__
from agenticiqa.pictures.regions import overlay
from agenticiqa.reports.assessment import ReportItem, render_report, report_item, write_report
from agenticiqa.reports.comparison import render_page
from agenticiqa.reports.scale import score_scale
from agenticiqa.runtime.config import ImageLimits
from support.scripted import ScriptedClient

pytestmark = pytest.mark.usefixtures("isolated")

PICTURE = Path(__file__).resolve().parents[2] / "examples" / "pictures" / "dandelion.jpg"
HOSTILE = "<script>alert(1)</script>"


def assessed(query: str = "Rate the quality.", picture: Path = PICTURE, **more):
    clients = dict.fromkeys(("planner", "executor", "summarizer"), ScriptedClient())
    with AgenticIQA(clients=clients) as assessor:
        return assessor.assess(picture, query, **more)


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


def test_a_scale_asked_for_is_told_first():
    result = assessed("Rate the quality from 1 to 10.")
    assert result.asked_scale
    assert f"<strong>{result.asked_scale}</strong>, that is " in render_report([ReportItem(result)])
    assert f"({result.asked_scale}, that is {result.score:.2f} of 5)" in str(result)
    assert assessed().asked_scale is None


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


def test_regions_are_drawn_with_their_names_inside_the_picture():
    regions = {"sky": [0, 0, 1024, 200], "<corner>": [900, 500, 100, 60]}
    page = render_report([ReportItem(assessed(regions=regions))])
    assert '<rect x="0" y="0" width="1024" height="200">' in page
    assert 'viewBox="0 0 1024 576"' in page
    assert ">sky</span>" in page
    label = page[: page.index("&lt;corner&gt;</span>")].rpartition("<span")[2]
    assert "right:2.34%" in label, "a label near the right edge grows to the left"


def test_a_report_tells_date_version_model_and_interval_and_no_folder(tmp_path):
    folder = tmp_path / "where I work"
    folder.mkdir()
    picture = folder / "mine.png"
    Image.fromarray(np.full((64, 64, 3), 90, np.uint8)).save(picture)
    page = render_report([ReportItem(assessed(picture=picture)), ReportItem(assessed(picture=folder / "gone.png"))])
    foot = page[page.index("<footer>") : page.index("</footer>")]
    assert f"UTC by AgenticIQA {__version__}." in foot
    assert "Model: scripted" in foot
    assert "80% interval" in page
    assert "where I work" not in page
    assert "mine.png" in page
    assert "default-src 'none'" in page


def test_without_an_interval_none_is_claimed():
    assert "interval" not in score_scale(3.0, None).partition("<figcaption>")[2]


@pytest.mark.hard
def test_a_comparison_has_the_same_look_and_foot(tmp_path):
    other = tmp_path / "folder of mine" / "grey.png"
    other.parent.mkdir()
    Image.fromarray(np.full((96, 128, 3), 90, np.uint8)).save(other)
    clients = dict.fromkeys(("planner", "executor", "summarizer"), ScriptedClient())
    with AgenticIQA(clients=clients) as assessor:
        found = assessor.compare(PICTURE, other)
    page = render_page(found, ImageLimits())
    assert "folder of mine" not in page
    assert f"UTC by AgenticIQA {__version__}." in page
    assert "Chance that people prefer A" in page
    shown = found._repr_html_()
    assert shown.startswith('<div class="agenticiqa">')
    assert shown.count("data:image/jpeg;base64,") >= 2
    assert "<article>" in shown
    assert found.verdict.split(";")[0].split(":")[0] in shown


def test_what_was_done_to_the_picture_is_told(tmp_path):
    frames = [Image.new("RGB", (64, 64), colour) for colour in ((200, 30, 30), (30, 30, 200))]
    frames[0].save(tmp_path / "moving.gif", save_all=True, append_images=frames[1:])
    page = render_report([ReportItem(assessed(picture=tmp_path / "moving.gif"))])
    assert "moving.gif; animated or multi-page: only the first frame is judged" in page
