"""Manifests: what is read from which form, and what is said about rows that make no sense."""

from __future__ import annotations

import io
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from agenticiqa.batch.manifest import Row, open_manifest
from agenticiqa.batch.manifest_checks import SampleRange, check_manifest
from agenticiqa.batch.sample import Sample
from agenticiqa.errors import AgenticIQAError, ManifestError, MissingExtraError
from support.batches import make_pictures, measuring_job, write_jsonl

pytestmark = pytest.mark.usefixtures("isolated")


def rows(path: Path | str) -> list[Row]:
    manifest = open_manifest(str(path))
    try:
        return list(manifest.rows())
    finally:
        manifest.close()


def samples(path: Path | str) -> list[Sample]:
    found = rows(path)
    assert [row.problem for row in found if row.problem] == []
    return [row.sample for row in found if row.sample]


def test_jsonl_row_with_every_field(tmp_path):
    row = {
        "sample_id": 7,
        "query": "Which distortion dominates?",
        "image_path": "a.png",
        "reference_path": "sub/b.png",
        "options": ["Blur", "Noise"],
        "regions": {"car": [1, 2, 3, 4]},
        "mos": 3,
        "answer": "B",
        "task_type": "choice",
        "split": {"fold": 1},
    }
    (tmp_path / "m.jsonl").write_text(json.dumps(row))
    (sample,) = samples(tmp_path / "m.jsonl")
    assert sample == Sample(
        sample_id="7",
        query="Which distortion dominates?",
        image_path=str(tmp_path / "a.png"),
        reference_path=str(tmp_path / "sub" / "b.png"),
        options=["Blur", "Noise"],
        regions={"car": [1, 2, 3, 4]},
        mos=3.0,
        answer="B",
        task_type="choice",
        carried={"split": {"fold": 1}},
    )


def test_csv_with_bom_windows_line_ends_quotes_and_empty_cells(tmp_path):
    text = (
        "\ufeffsample_id,image_path,query,options,regions,mos,note\r\n"
        '1,a.png,"Two\r\nlines, one ""cell""","A. Blur|B. Noise",car=1,2,3,4\r\n'
    )
    # The region holds commas, so it needs quotes: without them the row has too many cells.
    (tmp_path / "bad.csv").write_bytes(text.encode())
    (row,) = rows(tmp_path / "bad.csv")
    assert (row.line, row.problem) == (2, "8 cells, but the header names 7 columns.")

    text = text.replace("car=1,2,3,4", '"car=1,2,3,4;tree=0,0,5,5",2.5,') + "2,b.png,,,,,hello\r\n\r\n"
    (tmp_path / "good.csv").write_bytes(text.encode())
    first, second = samples(tmp_path / "good.csv")
    assert first.query == 'Two\r\nlines, one "cell"'
    assert first.options == ["A. Blur", "B. Noise"]
    assert first.regions == {"car": [1, 2, 3, 4], "tree": [0, 0, 5, 5]}
    assert (first.mos, first.carried) == (2.5, {"note": ""})
    assert (second.sample_id, second.query, second.mos, second.carried) == ("2", None, None, {"note": "hello"})


def test_options_may_be_a_json_list_in_a_cell(tmp_path):
    (tmp_path / "m.csv").write_text('image_path,options\na.png,"[""x|y"", ""z""]"\n')
    assert samples(tmp_path / "m.csv")[0].options == ["x|y", "z"]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("{not json", "not valid JSON"),
        ("[1]", "not a JSON object"),
        ("{}", "image_path is missing"),
        ('{"image_path": ["a"]}', "image_path is"),
        ('{"image_path": "a", "mos": "good"}', "mos is 'good'"),
        ('{"image_path": "a", "mos": NaN}', "NaN is not a JSON number"),
        ('{"image_path": "a", "mos": true}', "mos is True"),
        ('{"image_path": "a", "options": "just one"}', "at least two"),
        ('{"image_path": "a", "options": {"A": "x"}}', "neither a list"),
        (json.dumps({"image_path": "a", "options": [str(n) for n in range(99)]}), "options: Answer options must be"),
        ('{"image_path": "a", "options": "A. blur|B. noise", "answer": "C"}', "answer is 'C', which is none of the"),
        ('{"image_path": "a", "query": "Which? A. blur B. noise", "answer": "haze"}', "none of the options"),
        ('{"image_path": "a", "regions": {"car": [1, 2]}}', "regions"),
        ('{"image_path": "a", "regions": "car"}', "regions"),
        ('{"image_path": "a", "task_type": "guessing"}', "task_type"),
        ('{"image_path": "a\\u0000b"}', "not valid text"),
        ('{"image_path": "\\ud800"}', "not valid text"),
        ('{"image_path": "a", "notes": [{"x": "\\udc00"}]}', "not valid text"),
        (r'{"image_path": "a", "options": "[\"x\", \"\\ud800\"]"}', "not valid text"),
        (r'{"image_path": "a", "regions": "{\"\\ud800\": [0, 0, 9, 9]}"}', "not valid text"),
        (b'{"image_path": "\xff"}', "not valid JSON"),
    ],
)
def test_bad_row_is_reported_with_its_line_and_the_others_are_read(tmp_path, row, problem):
    raw = row if isinstance(row, bytes) else row.encode()
    (tmp_path / "m.jsonl").write_bytes(b'{"image_path": "ok.png"}\n\n' + raw + b'\n{"image_path": "too.png"}\n')
    found = rows(tmp_path / "m.jsonl")
    assert [row.line for row in found] == [1, 3, 4]
    assert problem in (found[1].problem or "")
    assert found[2].sample is not None


@pytest.mark.parametrize("depth", range(900, 1000, 9))
def test_rows_nested_deeply_are_read_or_refused(depth):
    """Reading and looking for halves of characters go as deep as the row does, one a little deeper than the other."""
    notes = "[" * depth + r'"\u00e9"' + "]" * depth
    for stack in range(12):
        row = Row(1, f'{{"image_path": "a", "notes": {notes}}}'.encode(), "")
        assert deeper(stack, lambda row=row: row.sample is not None or "recursion" in (row.problem or ""))


def deeper(levels: int, call: Callable[[], bool]) -> bool:
    return deeper(levels - 1, call) if levels else call()


def test_broken_csv_is_reported_where_it_breaks(tmp_path):
    (tmp_path / "m.csv").write_bytes(b'image_path\na.png\n"b.png" x\nc.png\n')
    found = rows(tmp_path / "m.csv")
    assert [row.line for row in found] == [2, 3]
    assert "not valid CSV from here on" in (found[1].problem or "")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("bild,mos\na.png,1\n", "no column image_path"),
        ("image_path,x,x\n", "more than one column"),
        ("image_path;mos\na.png;1\n", "Divide columns by commas"),
    ],
)
def test_unusable_header(tmp_path, text, problem):
    (tmp_path / "m.csv").write_text(text)
    with pytest.raises(ManifestError, match=problem):
        rows(tmp_path / "m.csv")


def test_folder_is_read_with_subfolders_in_order_of_names(tmp_path):
    make_pictures(tmp_path / "set" / "b", 1)
    make_pictures(tmp_path / "set" / "a", 1)
    (tmp_path / "set" / "notes.txt").write_text("no picture")
    found = samples(tmp_path / "set")
    assert [sample.sample_id for sample in found] == ["a/clean0.png", "a/noisy0.png", "b/clean0.png", "b/noisy0.png"]
    assert all(Path(sample.image_path).is_file() for sample in found)


def test_pictures_folders_and_patterns_may_be_named_together(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_pictures(tmp_path / "set" / "sub", 2)
    (tmp_path / "set" / "notes.txt").write_text("no picture")
    for inputs, wanted in (
        (("set/sub/noisy1.png",), ["noisy1"]),
        (("set/**/*0.*",), ["clean0", "noisy0"]),
        (("set/sub/noisy1.png", "set", "set/sub/c*.png"), ["noisy1", "clean0", "clean1", "noisy0"]),
    ):
        manifest = open_manifest(*inputs)
        found = [row.sample for row in manifest.rows()]
        manifest.close()
        assert [Path(sample.image_path).stem for sample in found] == wanted
        assert all(sample.sample_id == sample.image_path for sample in found)


@pytest.mark.parametrize(
    ("inputs", "problem"),
    [
        (("*.jpg",), "No picture matches"),
        (("a.png", "gone.png"), "no file or folder 'gone.png'"),
        (("a.png", "m.jsonl"), "stands beside other inputs"),
        (("-", "a.png"), "stands beside other inputs"),
    ],
)
def test_inputs_that_do_not_go_together(tmp_path, monkeypatch, inputs, problem):
    monkeypatch.chdir(tmp_path)
    make_pictures(tmp_path, 1)
    (tmp_path / "noisy0.png").rename(tmp_path / "a.png")
    write_jsonl(tmp_path / "m.jsonl", [{"image_path": "a.png"}])
    with pytest.raises(AgenticIQAError, match=problem):
        open_manifest(*inputs)


def test_file_with_an_odd_name_is_no_pattern(tmp_path):
    make_pictures(tmp_path, 1)
    odd = tmp_path / "a[1].png"
    (tmp_path / "noisy0.png").rename(odd)
    assert [sample.image_path for sample in samples(odd)] == [str(odd)]


def test_picture_without_an_ending_is_no_manifest(tmp_path):
    make_pictures(tmp_path, 1)
    (tmp_path / "noisy0.png").rename(tmp_path / "photo")
    assert [sample.image_path for sample in samples(tmp_path / "photo")] == [str(tmp_path / "photo")]


@pytest.mark.parametrize("text", ['{"image_path": "a.png"}\n', "image_path\na.png\n", "a.png\r\n\nb, c.png\n"])
def test_standard_input_may_be_any_form_and_is_read_twice(tmp_path, monkeypatch, text):
    class Input:
        buffer = io.BytesIO(text.encode())

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", Input)
    manifest = open_manifest("-")
    try:
        first, second = list(manifest.rows()), list(manifest.rows())
    finally:
        manifest.close()
    assert first == second
    assert first[0].sample is not None
    assert first[0].sample.image_path == str(tmp_path / "a.png")


def test_manifest_behind_an_address_has_paths_relative_to_it(tmp_path):
    import fsspec

    with fsspec.open("memory://bucket/set/m.jsonl", "wb") as file:
        file.write(b'{"image_path": "pictures/a.png"}\n')
    (sample,) = samples("memory://bucket/set/m.jsonl")
    assert sample.image_path == "memory://bucket/set/pictures/a.png"


def test_no_such_input(tmp_path):
    with pytest.raises(ManifestError):
        open_manifest(str(tmp_path / "nothing.jsonl"))


# --- checking ---


def checked(path: Path, **options):
    manifest = open_manifest(str(path))
    return check_manifest(manifest, measuring_job(), **options)


def test_duplicate_id_is_refused_by_name_with_both_lines(tmp_path):
    write_jsonl(tmp_path / "m.jsonl", [{"sample_id": name, "image_path": "a.png"} for name in ("a", "b", "a")])
    with pytest.raises(ManifestError, match=r"line 3: sample_id 'a' is already used on line 1"):
        checked(tmp_path / "m.jsonl").refuse_problems("m")


def test_questions_without_an_id_get_one_of_their_own(tmp_path):
    rows = [{"image_path": "a.png"}, {"image_path": "b.png"}, {"sample_id": "a.png#2", "image_path": "c.png"}]
    rows += [{"image_path": "a.png", "query": "Sharp?"}, {"image_path": "a.png", "sample_id": ""}]
    write_jsonl(tmp_path / "m.jsonl", rows)
    found = checked(tmp_path / "m.jsonl")
    found.refuse_problems("m")
    ids = [entry.sample_id for entry in found.ledger.entries(0, 5)]
    assert ids == ["a.png", "b.png", "a.png#2", "a.png#3", "a.png#4"]
    again = checked(tmp_path / "m.jsonl")
    assert list(found.ledger.entries(0, 5)) == list(again.ledger.entries(0, 5))


def test_empty_manifest_is_refused(tmp_path):
    (tmp_path / "m.jsonl").write_text("\n")
    with pytest.raises(ManifestError):
        checked(tmp_path / "m.jsonl").refuse_problems("m")


def test_every_problem_is_heard_of(tmp_path):
    (tmp_path / "m.jsonl").write_text("{}\n" * 30 + '{"image_path": "gone.png"}\n')
    heard: list[tuple[int, str]] = []
    found = checked(tmp_path / "m.jsonl", on_problem=lambda *problem: heard.append(problem), look_for_files=True)
    assert (found.problems, found.missing, len(heard)) == (30, 1, 31)
    with pytest.raises(ManifestError, match="and 20 more"):
        found.refuse_problems("m")


def test_address_that_cannot_be_read_here_is_refused_at_once(tmp_path):
    (tmp_path / "m.jsonl").write_text('{"image_path": "nosuch://bucket/a.png"}\n')
    with pytest.raises(MissingExtraError, match="nosuch://"):
        checked(tmp_path / "m.jsonl")


@pytest.mark.parametrize(
    ("text", "bounds"), [(None, (0, 10)), ("2:5", (2, 5)), (":3", (0, 3)), ("8:", (8, 10)), ("5:100", (5, 10))]
)
def test_selection(text, bounds):
    assert SampleRange.parse(text).bounds(10) == bounds


@pytest.mark.parametrize("text", ["5", "5:5", "7:2", "a:b", "-3:5"])
def test_unusable_selection(text):
    with pytest.raises(ManifestError):
        SampleRange.parse(text)
    with pytest.raises(ManifestError, match="none of the 4 samples"):
        SampleRange.parse("9:").bounds(4)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ('{"image_path": "a.png", "mos": 1' + "0" * 400 + "}", "mos is too large a number."),
        ('{"image_path": "a.png", "options": "' + "[" * 100_000 + '"}', "options is not valid JSON"),
    ],
)
def test_values_beyond_all_measure_are_problems_of_their_row(tmp_path, row, told):
    (tmp_path / "m.jsonl").write_text(row + "\n", encoding="utf-8")
    (found,) = rows(tmp_path / "m.jsonl")
    assert told in str(found.problem)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are of POSIX")
def test_a_pipe_is_read_like_standard_input(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b'{"image_path": "/data/a.png"}\n',))
    writer.start()
    (sample,) = samples(pipe)
    writer.join()
    assert sample.image_path == "/data/a.png"


def test_usual_names_of_columns_are_understood(tmp_path):
    """Whatever people call picture and reference, none is silently left aside."""
    for header in ("image,reference", "Image,Ref", "file name,original", "dist_img,ref_img", "image_path,reference"):
        (tmp_path / "m.csv").write_text(f"{header},question,MOS,split\na.png,b.png,Is it sharp?,3,test\n")
        (sample,) = samples(tmp_path / "m.csv")
        assert (sample.image_path, sample.reference_path) == (str(tmp_path / "a.png"), str(tmp_path / "b.png")), header
        assert (sample.query, sample.mos, sample.carried) == ("Is it sharp?", 3.0, {"split": "test"})
    (sample,) = samples(write_jsonl(tmp_path / "m.jsonl", [{"image": "a.png", "choices": ["x", "y"]}]))
    assert (Path(sample.image_path).name, sample.options) == ("a.png", ["x", "y"])


def test_a_column_with_the_documented_name_counts_more_than_a_likely_one(tmp_path):
    row = {"image_path": "a.png", "image": "thumbnail.png", "path": "x"}
    (sample,) = samples(write_jsonl(tmp_path / "m.jsonl", [row]))
    assert (Path(sample.image_path).name, sample.carried) == ("a.png", {"image": "thumbnail.png", "path": "x"})
    (empty,) = samples(write_jsonl(tmp_path / "m.jsonl", [{"image_path": "", "image": "a.png"}]))
    assert Path(empty.image_path).name == "a.png"


def test_two_columns_that_may_be_the_picture_are_named(tmp_path):
    (row,) = rows(write_jsonl(tmp_path / "m.jsonl", [{"image": "a.png", "file": "b.png"}]))
    assert "'image' and 'file' may both be the image_path" in row.problem
    (tmp_path / "m.csv").write_text("image,file\na.png,b.png\n")
    with pytest.raises(ManifestError, match="'image' and 'file'"):
        rows(tmp_path / "m.csv")


def test_the_columns_are_told_where_none_is_the_picture(tmp_path):
    (tmp_path / "m.csv").write_text("bild,vorlage\na.png,b.png\n")
    with pytest.raises(ManifestError, match="bild, vorlage") as caught:
        rows(tmp_path / "m.csv")
    for column in ("image_path", "reference_path", "sample_id", "query", "options", "regions", "mos", "answer"):
        assert column in caught.value.hint
    (row,) = rows(write_jsonl(tmp_path / "m.jsonl", [{"bild": "a.png"}]))
    assert "The row has bild." in row.problem
