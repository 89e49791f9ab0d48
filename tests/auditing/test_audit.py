"""A folder looked through: findings, groups, what to keep, and a run that can be stopped and continued."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import numpy as np
import pandas
import pytest
from PIL import Image, ImageFilter

import agenticiqa
from agenticiqa.auditing.running import AuditRequest, run_audit
from agenticiqa.batch.results import read_results
from agenticiqa.errors import ConfigError, OutputError
from support.pictures import save, scene
from support.shoots import make_shoot, moved, photograph, with_time

pytestmark = pytest.mark.usefixtures("isolated")


@pytest.fixture(scope="module")
def shoot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_shoot(tmp_path_factory.mktemp("data") / "shoot")


@pytest.fixture(scope="module")
def report(shoot):
    return agenticiqa.audit(shoot, quick=True)


@pytest.fixture
def rows(report):
    return {row["path"]: row for row in report}


def test_every_picture_has_a_row_and_others_are_skipped(report, rows, shoot):
    assert len(report) == len(rows) == 11
    assert report.summary().skipped.names == {"no picture by its name": ["notes.txt"]}
    assert rows["cat.png"] | {"findings": 0} == rows["cat.png"] | {"findings": 0, "width": 269, "height": 237}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("blank.png", "blank"),
        ("blank.png", "low_information"),
        ("blank.png", "grayscale"),
        ("broken.jpg", "corrupt"),
        ("strip.png", "odd_aspect_ratio"),
        ("strip.png", "grayscale"),
        ("astronaut (1).bmp", "exact_duplicate"),
        ("astronaut.png", "exact_duplicate"),
        ("cat_named.jpg", "wrong_ending"),
        ("cat_small.jpg", "near_duplicate"),
        ("cat.png", "near_duplicate"),
        ("coffee_0.jpg", "burst"),
        ("coffee_2.jpg", "burst"),
    ],
)
def test_findings(rows, path, name):
    assert name in rows[path]["findings"], rows[path]["findings"]


def test_nothing_is_found_where_nothing_is(rows):
    assert set(rows["astronaut.png"]["findings"]) == {"exact_duplicate", "too_small"}
    assert not {"dark", "light", "blurry"} & {name for row in rows.values() for name in row["findings"]}


def test_groups_and_the_best_of_each(report, rows):
    found = report.groups()
    assert found["exact"] == [["astronaut (1).bmp", "astronaut.png"], ["cat.png", "cat_named.jpg"]]
    assert found["near"] == [["cat.png", "cat_named.jpg", "cat_small.jpg"]]
    assert found["bursts"] == [["coffee_0.jpg", "coffee_1.jpg", "coffee_2.jpg"]]
    [(best, why)] = report.best_of_bursts().items()
    assert best == "coffee_1.jpg"
    assert why == "the sharpest of 3 shots"
    kept = [path for path, row in rows.items() if row["keep"]]
    assert kept == ["astronaut.png", "cat.png", "coffee_1.jpg", "strip.png"]
    assert rows["astronaut (1).bmp"]["why"] == "the same pixels as astronaut.png"
    assert rows["cat_small.jpg"]["why"] == "a smaller copy of cat.png"
    assert "the largest of 2 versions" in rows["cat.png"]["why"]
    assert rows["coffee_0.jpg"]["taken"] == "2024-05-01T10:00:02"


def test_shots_of_one_scene_hours_apart_are_no_burst(tmp_path, shoot):
    with_time(tmp_path / "morning.jpg", moved(photograph("coffee"), 0, 0), "2024:05:01 08:00:00")
    with_time(tmp_path / "evening.jpg", moved(photograph("coffee"), 4, 3), "2024:05:01 18:00:00")
    assert agenticiqa.audit(tmp_path, quick=True).groups() == {"exact": [], "near": [], "bursts": []}


def test_dark_light_and_blurry(tmp_path):
    picture = scene(200, 240)
    save(tmp_path / "dark.png", picture // 5)
    save(tmp_path / "light.png", 255 - picture // 40)
    photograph("cat").filter(ImageFilter.GaussianBlur(12)).save(tmp_path / "blurry.png")
    save(tmp_path / "fine.png", picture)
    found = {row["path"]: set(row["findings"]) for row in agenticiqa.audit(tmp_path, quick=True)}
    assert "dark" in found["dark.png"]
    assert "light" in found["light.png"]
    assert "blurry" in found["blurry.png"]
    assert not found["fine.png"] & {"dark", "light", "blurry"}


def test_odd_sizes(tmp_path):
    for number in range(6):
        save(tmp_path / f"{number}.png", scene(60 + number, 80))
    save(tmp_path / "large.png", scene(400, 500))
    assert agenticiqa.audit(tmp_path, quick=True).with_finding("odd_size") == ["large.png"]


def test_summary_fits_a_terminal(report):
    text = str(report.summary())
    assert max(map(len, text.splitlines())) <= 80
    assert "11 pictures" in text
    assert "2 sets of equal pictures, 1 set of versions of one shot, 1 burst" in text
    assert report.summary().as_dict()["findings"]["corrupt"] == 1
    json.dumps(report.summary().as_dict())


def test_tables(report, tmp_path):
    table = report.to_dataframe()
    assert isinstance(table, pandas.DataFrame)
    assert table.set_index("path").loc["strip.png", "findings"] == "grayscale, odd_aspect_ratio, too_small"
    for name in ("a.csv", "a.jsonl"):
        report.save(tmp_path / name)
        with pytest.raises(OutputError):
            report.save(tmp_path / name)
    assert list(pandas.read_csv(tmp_path / "a.csv")["path"]) == list(table["path"])
    assert list(pandas.read_csv(tmp_path / "a.csv")["width"].dropna()) == list(table["width"].dropna())
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert len(lines) == 11
    assert lines == list(report)
    with pytest.raises(OutputError):
        report.save(tmp_path / "a.xlsx")


def test_links_and_nothing_else(report, shoot, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in shoot.rglob("*")}
    assert report.link_best(tmp_path / "best") == 4
    linked = sorted(path.name for path in (tmp_path / "best").iterdir())
    assert linked == ["astronaut.png", "cat.png", "coffee_1.jpg", "strip.png"]
    assert (tmp_path / "best" / "cat.png").resolve() == (shoot / "cat.png").resolve()
    assert {path: path.stat().st_mtime_ns for path in shoot.rglob("*")} == before
    with pytest.raises(OutputError):
        report.link_best(tmp_path / "best")
    with pytest.raises(OutputError):
        report.link_best(shoot / "best")


def test_a_list_of_pictures(shoot):
    report = asyncio.run(agenticiqa.aaudit([shoot / "cat.png", shoot / "cat_named.jpg"], quick=True))
    assert report.groups()["exact"] == [[str(shoot / "cat.png"), str(shoot / "cat_named.jpg")]]


def test_an_unknown_finding_is_an_error(report):
    with pytest.raises(ConfigError, match="blury"):
        report.with_finding("blury")


def test_a_notebook_shows_it(report):
    page = report._repr_html_()
    assert page.count("<figure") == 11
    assert "does not open" in page
    assert "Near duplicate" in page


# --- stopped and continued ---


def test_resuming_looks_only_at_what_is_new_or_changed(tmp_path):
    folder = tmp_path / "set"
    folder.mkdir()
    for name in ("a", "b", "c"):
        save(folder / f"{name}.png", scene(60, 80 + ord(name)))
    records = tmp_path / "records"
    agenticiqa.audit(folder, quick=True, records=records)
    save(folder / "a.png", scene(64, 64))
    (folder / "b.png").unlink()
    save(folder / "d.png", scene(50, 50))
    report, batch = run_audit(AuditRequest(folder, quick=True, records=records, resume=True))
    assert (batch.total, batch.done_earlier) == (3, 1)
    assert {row["path"]: row["width"] for row in report} == {"a.png": 64, "c.png": 80 + ord("c"), "d.png": 50}


def test_a_stopped_audit_continues_and_ends_as_if_nothing_had_been(shoot, report, tmp_path):
    records = tmp_path / "records"
    request = AuditRequest(shoot, quick=True, records=records, workers=1)
    _, batch = run_audit(request.__class__(**{**vars(request), "on_progress": lambda tally: request.stop.ask()}))
    assert batch.stopped == "interrupted"
    assert 0 < len(list(read_results(records))) < 11
    finished = agenticiqa.audit(shoot, quick=True, records=records)
    assert list(finished) == list(report)


def test_records_are_not_replaced_unasked(shoot, tmp_path):
    records = tmp_path / "records"
    agenticiqa.audit([shoot / "cat.png"], quick=True, records=records)
    with pytest.raises(OutputError, match="holds results already"):
        agenticiqa.audit([shoot / "cat.png"], quick=True, records=records, resume=False)


def test_a_quick_audit_is_not_continued_as_a_full_one(shoot, tmp_path):
    records = tmp_path / "records"
    agenticiqa.audit([shoot / "cat.png"], quick=True, records=records)
    with pytest.raises(OutputError, match="another question"):
        agenticiqa.audit([shoot / "cat.png"], records=records)


# --- with the vision model ---


def test_the_model_scores_and_sorts(shoot, tmp_path):
    pictures = [shoot / "coffee_1.jpg", shoot / "coffee_0.jpg"]
    Image.new("RGB", (20, 20), "red").save(tmp_path / "tiny.png")
    rows = list(agenticiqa.audit([*pictures, tmp_path / "tiny.png"]))
    measured = agenticiqa.measure(pictures[0], tools=["AIQA_NR"])
    assert rows[0]["score"] == pytest.approx(measured[0].raw, abs=2e-3)
    assert rows[0]["sort"] == "photograph"
    assert rows[0]["score"] > rows[1]["score"]
    assert "blurry" in rows[1]["findings"]
    assert rows[2]["score"] is None


@pytest.mark.parametrize(("levels", "is_found"), [(0, False), (7, True), (25, True)])
def test_noise_is_found_before_it_is_strong(tmp_path, levels, is_found):
    pixels = np.asarray(photograph("astronaut").resize((512, 384)), np.float32)
    pixels = pixels + np.random.default_rng(1).normal(0, levels, pixels.shape)
    Image.fromarray(pixels.round().clip(0, 255).astype(np.uint8)).save(tmp_path / "a.png")
    (row,) = agenticiqa.audit(tmp_path)
    assert ("noisy" in row["findings"]) == is_found
