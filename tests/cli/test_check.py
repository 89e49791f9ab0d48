"""``agenticiqa check`` as a pipeline runs it."""

from __future__ import annotations

import csv

import pytest
from PIL import Image

from support.pictures import save, scene


@pytest.fixture
def shop(folder):
    """Two pictures that pass, one that is too small, and a rules file beside them."""
    (folder / "shop").mkdir()
    for name, size in (("a.png", (90, 120)), ("b.png", (80, 100)), ("small.png", (40, 50))):
        save(folder / "shop" / name, scene(*size))
    (folder / "rules.yaml").write_text("shorter_side: {min: 64}\nforbid: [blank]\n")
    return folder / "shop"


def test_reasons_counts_and_the_exit_code(run, shop):
    done = run("check", "shop", "--rules", "rules.yaml")
    assert done.code == 3
    assert done.out.splitlines() == [
        "small.png",
        "  50×40 pixels: at least 64 wanted on the shorter side",
        "2 of 3 pictures pass; 1 fail: shorter_side 1",
    ]
    (shop / "small.png").unlink()
    done = run("check", "shop", "--rules", "rules.yaml")
    assert (done.code, done.out.strip()) == (0, "2 of 2 pictures pass")


def test_files_json_and_resuming(run, shop, folder):
    done = run("check", "shop", "--rules", "rules.yaml", "-o", "c.csv", "--json")
    assert done.code == 3
    assert done.json["by_rule"] == {"shorter_side": 1}
    with (folder / "c.csv").open(newline="") as file:
        rows = {row["path"]: row for row in csv.DictReader(file)}
    assert rows["a.png"]["passed"] == "true"
    assert "at least 64" in rows["small.png"]["reasons"]
    assert "there already" in run("check", "shop", "--rules", "rules.yaml", "-o", "c.csv").err
    (folder / "rules.yaml").write_text("shorter_side: {min: 30}\n")
    assert run("check", "shop", "--rules", "rules.yaml", "-o", "c.csv", "--resume").code == 0


def test_nothing_that_opens_and_what_is_refused(run, folder, shop):
    (folder / "broken").mkdir()
    (folder / "broken" / "a.png").write_bytes(b"no picture")
    none = run("check", "broken", "--rules", "dataset")
    assert none.code == 1
    assert "opens 1" in none.out
    assert "blury" in run("check", "shop", "--rules", _written(folder, "forbid: [blury]")).err
    assert run("check", "shop", "--rules", "rules.yaml", "--resume").code == 2
    assert "marketplace" in run("check", "shop", "--rules", "nothing").err
    assert "also an input" in run("check", "shop", "--rules", "rules.yaml", "-o", "rules.yaml", "--overwrite").err


def _written(folder, text: str) -> str:
    (folder / "wrong.yaml").write_text(text)
    return "wrong.yaml"


def test_shipped_rules_by_name(run, folder):
    (folder / "shop").mkdir()
    Image.new("RGB", (1200, 1200), "white").save(folder / "shop" / "blank.png")
    done = run("check", "shop", "--rules", "dataset", "--json")
    assert done.code == 3
    assert set(done.json["by_rule"]) == {"blank", "low_information", "grayscale"}
