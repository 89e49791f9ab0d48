"""Keep, maybe or reject: by bounds, within a group, by a person, and as other programs read it."""

from __future__ import annotations

import io
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image, ImageFilter

import agenticiqa
from agenticiqa.auditing.decisions import Bounds, Decider, read_decisions
from agenticiqa.auditing.grouping import GroupPlace
from agenticiqa.auditing.traces import saved_quality
from agenticiqa.errors import ConfigError, ManifestError
from agenticiqa.reports.sidecars import sidecar_of
from support.shoots import moved, photograph, with_time

pytestmark = pytest.mark.usefixtures("isolated")

LARGE = {"width": 4000, "height": 3000}


@pytest.mark.parametrize(
    ("purpose", "score", "found", "decision", "why"),
    [
        ("any", 4.3, [], "keep", "nothing wrong stands out (4.3 of 5)"),
        ("any", None, [], "keep", "nothing wrong stands out"),
        ("any", 2.2, ["poor"], "reject", "weak (2.2 of 5)"),
        ("any", 2.9, ["blurry", "motion_blur"], "reject", "shaken"),
        ("any", 4.2, ["motion_blur"], "maybe", "perhaps shaken"),
        ("any", None, ["dark"], "reject", "too dark"),
        ("any", 3.4, ["hazy"], "maybe", "perhaps hazy"),
        ("any", 4.0, ["hazy"], "keep", "nothing wrong stands out (4.0 of 5)"),
        ("any", 2.9, [], "maybe", "weaker than most (2.9 of 5)"),
        ("any", 4.4, ["grayscale", "odd_size", "wrong_ending"], "keep", "nothing wrong stands out (4.4 of 5)"),
        ("web", 2.9, [], "keep", "nothing wrong stands out (2.9 of 5)"),
        ("print", 3.1, [], "maybe", "weaker than most (3.1 of 5)"),
        ("print", 2.7, ["noisy"], "reject", "noisy"),
        ("dataset", 2.0, ["motion_blur"], "maybe", "perhaps shaken"),
        ("dataset", None, ["corrupt"], "reject", "does not open"),
    ],
)
def test_bounds(purpose, score, found, decision, why):
    record = {"score": score, **LARGE} if "corrupt" not in found else {}
    decided = Decider(Bounds.of(purpose), middle=4.0).decide(record, dict.fromkeys(found, ""), GroupPlace())
    assert (decided.decision, decided.why) == (decision, why)


def test_a_weak_shoot_keeps_its_better_half():
    decider = Decider(Bounds.of(), middle=2.8)
    told = [decider.decide({"score": score, **LARGE}, {}, GroupPlace()).decision for score in (2.9, 2.7, 2.4)]
    assert told == ["keep", "maybe", "reject"]


def test_small_pictures_by_purpose():
    small = {"score": 4.3, "width": 900, "height": 700}
    told = {name: Decider(Bounds.of(name)).decide(small, {}, GroupPlace()) for name in ("any", "web", "print")}
    assert [told[name].decision for name in told] == ["keep", "keep", "maybe"]
    assert told["print"].why == "small: 700 pixels, 1600 wanted"


def test_bounds_that_make_no_sense_are_refused():
    with pytest.raises(ConfigError, match="no purpose 'poster'"):
        Bounds.of("poster")
    with pytest.raises(ConfigError, match=r"kept from 2\.0 and rejected below 2\.5"):
        Bounds.of(keep_from=2.0)
    with pytest.raises(ConfigError, match="keep_from"):
        Bounds.of(keep_from=70)


# --- within a group ---


def detailed() -> Image.Image:
    """A photograph with structure down to single pixels."""
    return photograph("astronaut").convert("RGB")


@pytest.mark.parametrize("how", [Image.Resampling.BICUBIC, Image.Resampling.LANCZOS, Image.Resampling.BILINEAR])
def test_an_enlarged_copy_is_never_kept_and_a_reduced_one_neither(tmp_path, how):
    original = detailed()
    original.save(tmp_path / "original.jpg", quality=90)
    width, height = original.size
    for name, scale in (("large.png", 1.6), ("small.jpg", 0.6)):
        original.resize((round(width * scale), round(height * scale)), how).save(tmp_path / name, quality=95)
    rows = {row["path"]: row for row in agenticiqa.audit(tmp_path, quick=True)}
    assert {name: row["decision"] for name, row in rows.items()} == {
        "original.jpg": "keep", "large.png": "reject", "small.jpg": "reject"
    }  # fmt: skip
    assert rows["large.png"]["why"] == "an enlarged copy of original.jpg"
    assert rows["small.jpg"]["why"] == "a smaller copy of original.jpg"
    assert rows["original.jpg"]["why"] == "the original"


def test_a_large_soft_original_is_kept_over_its_reduced_copy(tmp_path):
    soft = np.asarray(detailed().filter(ImageFilter.GaussianBlur(1.5)), float)
    noise = np.random.default_rng(0).normal(0, 3, soft.shape)
    original = Image.fromarray(np.clip(soft + noise, 0, 255).astype(np.uint8))
    original.save(tmp_path / "original.jpg", quality=95)
    original.resize((original.width * 3 // 5, original.height * 3 // 5), Image.Resampling.LANCZOS).save(
        tmp_path / "small.jpg", quality=90
    )
    rows = {row["path"]: row["decision"] for row in agenticiqa.audit(tmp_path, quick=True)}
    assert rows == {"original.jpg": "keep", "small.jpg": "reject"}


@pytest.mark.parametrize("quality", [40, 60, 75])
def test_a_file_saved_again_at_a_higher_quality_is_told_from_its_original(tmp_path, quality):
    original = detailed()
    original.save(tmp_path / "original.jpg", quality=85)
    buffer = io.BytesIO()
    original.save(buffer, "JPEG", quality=quality)
    Image.open(buffer).save(tmp_path / "again.jpg", quality=98)
    assert (tmp_path / "again.jpg").stat().st_size > (tmp_path / "original.jpg").stat().st_size
    rows = {row["path"]: row for row in agenticiqa.audit(tmp_path, quick=True)}
    assert rows["original.jpg"]["decision"] == "keep"
    assert rows["again.jpg"]["why"] == "a more compressed copy of original.jpg"


def test_what_was_never_saved_has_no_quality():
    assert saved_quality(np.random.default_rng(1).normal(128, 30, (256, 256)).astype(np.float32)) is None


@pytest.mark.hard
def test_in_a_burst_the_sharp_frame_is_kept_and_the_others_say_why(tmp_path):
    for number, blur in enumerate((4, 0, 0)):
        frame = moved(photograph("coffee"), 2 * number, number).filter(ImageFilter.GaussianBlur(blur))
        with_time(tmp_path / f"{number}.jpg", frame, f"2024:05:01 10:00:0{number}")
    rows = {row["path"]: row for row in agenticiqa.audit(tmp_path)}
    best = next(name for name, row in rows.items() if row["decision"] == "keep")
    assert best in ("1.jpg", "2.jpg")
    assert rows["0.jpg"]["decision"] == "reject"
    assert best in rows["0.jpg"]["why"]
    other = rows["1.jpg" if best == "2.jpg" else "2.jpg"]
    assert other["decision"] == "maybe"
    assert other["why"] == f"as good as {best}, the same scene"


# --- a person's own ---


def test_a_persons_decisions_win_and_are_what_is_linked(shoot: Path, tmp_path):
    table = tmp_path / "own.csv"
    table.write_text("path,decision,stars,by\none.jpg,reject,,you\ntwo.jpg,keep,5,you\nthree.jpg,reject,,agenticiqa\n")
    report = agenticiqa.audit(shoot, quick=True, decisions=table)
    rows = {row["path"]: row for row in report}
    assert (rows["one.jpg"]["decision"], rows["one.jpg"]["by"]) == ("reject", "you")
    assert (rows["two.jpg"]["stars"], rows["two.jpg"]["why"]) == (5, "your decision")
    assert (rows["three.jpg"]["decision"], rows["three.jpg"]["by"]) == ("keep", "agenticiqa")
    assert report.link_best(tmp_path / "best") == 2
    assert sorted(path.name for path in (tmp_path / "best").iterdir()) == ["three.jpg", "two.jpg"]


def test_a_name_that_was_exported_like_a_formula_is_found_again(tmp_path):
    (tmp_path / "own.csv").write_text("path,decision\n'=1+1.jpg,reject\n'quoted.jpg,keep\n")
    assert list(read_decisions(tmp_path / "own.csv")) == ["=1+1.jpg", "'quoted.jpg"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name,decision\na.jpg,keep\n", "no columns path and decision"),
        ("path,decision\na.jpg,perhaps\n", "line 2: decision 'perhaps'"),
        ("path,decision,stars\na.jpg,keep,9\n", "stars '9'"),
    ],
)
def test_a_file_of_decisions_that_cannot_be_used(tmp_path, text, said):
    (tmp_path / "own.csv").write_text(text)
    with pytest.raises(ManifestError, match=said):
        read_decisions(tmp_path / "own.csv")
    with pytest.raises(ManifestError, match="cannot be read"):
        read_decisions(tmp_path / "none.csv")


# --- beside the pictures ---


@pytest.fixture
def shoot(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for name, picture in (("one", "cat"), ("two", "coffee"), ("three", "astronaut")):
        photograph(picture).convert("RGB").save(folder / f"{name}.jpg", quality=92)
    Image.new("RGB", (300, 200), (90, 90, 90)).save(folder / "blank & <grey>.png")
    return folder


def attributes(file: Path) -> dict[str, str]:
    found = next(ElementTree.parse(file).iter("{http://www.w3.org/1999/02/22-rdf-syntax-ns#}Description")).attrib
    return {name.rpartition("}")[2]: value for name, value in found.items()}


def test_sidecars(shoot: Path):
    mine = sidecar_of(shoot / "two.jpg")
    mine.write_text("<x:xmpmeta>the history of another program</x:xmpmeta>")
    before = {file: file.read_bytes() for file in shoot.iterdir()}
    report = agenticiqa.audit(shoot, quick=True)
    assert report.write_sidecars() == (3, ["two.jpg"])
    assert {file: file.read_bytes() for file in before} == before
    kept, rejected = (attributes(sidecar_of(shoot / name)) for name in ("one.jpg", "blank & <grey>.png"))
    assert (kept["Rating"], kept["Label"], kept["PickLabel"]) == ("3", "Green", "3")
    assert (rejected["Rating"], rejected["Label"], rejected["Instructions"]) == ("-1", "Red", "reject: nothing shows")
    # Our own are renewed, and the next audit says nothing of them.
    assert report.write_sidecars() == (3, ["two.jpg"])
    assert agenticiqa.audit(shoot, quick=True).summary().skipped.count == 0


def test_a_raw_files_sidecar_is_where_lightroom_looks(tmp_path):
    assert sidecar_of(tmp_path / "DSC1.NEF").name == "DSC1.xmp"
