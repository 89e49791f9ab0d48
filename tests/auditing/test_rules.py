"""Rules read from YAML and held against pictures: what breaks them, in which words, and what is no rule."""

from __future__ import annotations

import asyncio
import json
from importlib.resources import files

import pandas
import pytest
from PIL import Image, ImageOps

import agenticiqa
from agenticiqa.auditing import rules as rules_room
from agenticiqa.auditing.rules import SHIPPED, Rules, load_rules
from agenticiqa.errors import ConfigError, OutputError
from support.pictures import save, scene
from support.shoots import make_shoot, photograph
from support.snippets import ROOT

pytestmark = pytest.mark.usefixtures("isolated")

ROW = {
    "path": "a.jpg", "width": 312, "height": 400, "format": "JPEG", "bytes": 2_500_000, "sharpness": 0.3, "detail": 9.0,
    "brightness": 0.1, "score": 2.9, "border": 0, "white_margin": 0.43, "plain_margin": 0.95, "text": 0.2,
    "findings": {"blurry": "hardly an edge in it"}, "keep": True, "why": None, "error": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("rules", "reasons"),
    [
        ({"shorter_side": {"min": 1000}}, ["312×400 pixels: at least 1000 wanted on the shorter side"]),
        ({"longer_side": {"max": 399}}, ["312×400 pixels: at most 399 wanted on the longer side"]),
        ({"width": {"min": 312, "max": 312}, "height": {"min": 400}}, []),
        ({"width": {"min": 313}}, ["312×400 pixels: at least 313 wanted in width"]),
        ({"height": {"max": 399}}, ["312×400 pixels: at most 399 wanted in height"]),
        ({"megapixels": {"min": 1}}, ["0.12 megapixels: at least 1 wanted"]),
        ({"megabytes": {"max": 2}}, ["2.50 MB: at most 2 wanted"]),
        ({"aspect_ratio": {"min": 1}}, ["312×400 pixels, aspect ratio 0.78: at least 1 wanted"]),
        ({"sharpness": {"min": 0.4}}, ["sharpness 0.30: at least 0.4 wanted"]),
        ({"detail": {"min": 10}}, ["detail 9.00: at least 10 wanted"]),
        ({"brightness": {"min": 0.2}}, ["brightness 0.10: at least 0.2 wanted"]),
        ({"score": {"min": 2.9}}, []),
        ({"score": {"min": 3}}, ["score 2.90: at least 3 wanted"]),
        ({"formats": ["jpg", "png"]}, []),
        ({"formats": ["webp", "png"]}, ["JPEG: webp or png wanted"]),
        ({"background": "white"}, ["43% of the margin is white: a white background wanted"]),
        ({"background": "plain"}, []),
        ({"background": "not_plain"}, ["95% of the margin has one tone: no plain background wanted"]),
        ({"borders": "forbid", "text": "forbid"}, []),
        ({"borders": "require"}, ["no border: one wanted"]),
        ({"text": "require"}, ["no text over the picture: some wanted"]),
        ({"forbid": ["dark", "blurry"]}, ["blurry: hardly an edge in it"]),
    ],
)
def test_each_rule_and_its_words(rules, reasons):
    assert list(load_rules(rules).broken_by(ROW).values()) == reasons


@pytest.mark.parametrize(
    ("rules", "row", "reasons"),
    [
        ({"score": {"min": 1}, "text": "forbid"}, {"score": None, "text": None}, {
            "score": "no score: the picture is too small to be judged", "text": "too small to look for text"}),
        ({"borders": "forbid"}, {"border": 24}, {"borders": "a border of 24 pixels: none wanted"}),
        ({"text": "forbid"}, {"findings": {"text_over_picture": "x"}}, {"text": "text over the picture: none wanted"}),
        ({"formats": ["jpeg"]}, {"format": "MPO"}, {}),
        ({"forbid": ["near_duplicate"]}, {"findings": {"near_duplicate": "group 1"}}, {}),
        ({"forbid": ["burst"]}, {"findings": {"burst": "group 1"}, "keep": False, "why": "b is sharper"},
         {"burst": "burst: b is sharper"}),
        ({"width": {"min": 1}}, {"width": None, "error": "cut off"}, {"opens": "cut off"}),
    ],
)  # fmt: skip
def test_what_cannot_be_known_or_is_special(rules, row, reasons):
    assert load_rules(rules).broken_by(ROW | row) == reasons


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("width: {min: 5}\nsharpnes: {min: 1}", ["line 2: unknown key 'sharpnes'", "sharpness"]),
        ("width: {min: 5}\n\nforbid: [blury]", ["line 3: forbid", "no finding 'blury'", "blurry"]),
        ("formats: [jpg, xyz]", ["line 1", "'xyz'", "webp"]),
        ("score: {min: 4, max: 3}", ["line 1: score", "above max"]),
        ("score: {}", ["give min, max or both"]),
        ("score: {least: 4}", ["unknown key 'score.least'"]),
        ("background: pink", ["line 1: background", "'white'"]),
        ("width: broad", ["line 1: width"]),
        ("", ["every picture would pass"]),
        ("- a", ["keys and values"]),
        ("a: [", ["not valid YAML"]),
    ],
)
def test_what_is_no_rule_is_told_with_its_line(tmp_path, text, says):
    (tmp_path / "rules.yaml").write_text(text)
    with pytest.raises(ConfigError) as told:
        load_rules(tmp_path / "rules.yaml")
    assert all(each in f"{told.value} {told.value.hint}" for each in says), str(told.value)


def test_rules_that_are_not_there():
    with pytest.raises(ConfigError) as told:
        load_rules("market")
    assert "marketplace" in str(told.value.hint)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_rules_are_read_by_name_written_again_and_printed_in_the_documentation(name):
    rules = load_rules(name)
    page = (ROOT / "docs" / "many-pictures" / "check.md").read_text(encoding="utf-8")
    assert f"```yaml\n{files(rules_room).joinpath(f'{name}.yaml').read_text(encoding='utf-8')}```" in page
    assert load_rules(rules) is rules
    assert load_rules(rules.model_dump(exclude_unset=True)) == rules


def test_the_model_looks_only_where_a_rule_needs_it():
    assert not load_rules("dataset").need_the_model
    assert load_rules("marketplace").need_the_model
    assert not Rules(forbid=("blank", "too_small")).need_the_model
    assert Rules(forbid=("dark",)).need_the_model


def test_a_folder_is_checked(tmp_path):
    shoot = make_shoot(tmp_path / "shoot")
    ImageOps.expand(photograph("coffee"), 20, "black").save(shoot / "framed.png")
    rules = {"shorter_side": {"min": 60}, "borders": "forbid", "forbid": ["exact_duplicate", "blank"]}
    report = agenticiqa.check(shoot, rules)
    rows = {row["path"]: row for row in report}
    assert list(rows["framed.png"]["reasons"]) == ["borders"]
    assert list(rows["blank.png"]["reasons"]) == ["blank"]
    assert list(rows["broken.jpg"]["reasons"]) == ["opens"]
    assert rows["astronaut.png"]["passed"]
    assert rows["astronaut (1).bmp"]["reasons"] == {
        "exact_duplicate": "exact duplicate: the same pixels as astronaut.png"
    }
    assert len(report) == 12
    assert report.failed == sum(not row["passed"] for row in report)
    assert report.by_rule["exact_duplicate"] == 2
    assert str(report).startswith(f"{report.passed} of 12 pictures pass")


def test_tables_and_json(tmp_path):
    save(tmp_path / "a.png", scene(60, 80))
    Image.new("RGB", (40, 40), "white").save(tmp_path / "b.png")
    report = asyncio.run(agenticiqa.acheck([tmp_path / "a.png", tmp_path / "b.png"], {"width": {"min": 50}}))
    report.save(tmp_path / "c.csv")
    table = pandas.read_csv(tmp_path / "c.csv")
    assert list(table["passed"]) == [True, False]
    assert table["reasons"][1] == "40×40 pixels: at least 50 wanted in width"
    assert list(report.to_dataframe()["path"]) == list(table["path"])
    with pytest.raises(OutputError):
        report.save(tmp_path / "c.csv")
    report.save(tmp_path / "c.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "c.jsonl").read_text().splitlines()]
    assert lines == list(report) == json.loads(json.dumps(report.as_dict()))["results"]
    assert report.as_dict()["rules"] == {"width": {"min": 50.0}}
