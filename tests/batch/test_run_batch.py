"""Many pictures from Python."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from agenticiqa.batch.running import arun_batch, run_batch
from agenticiqa.errors import ConfigError, ManifestError, MissingExtraError, OutputError
from support.batches import make_manifest, make_pictures

pytestmark = pytest.mark.usefixtures("isolated")


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    make_pictures(tmp_path / "set", 2)
    return tmp_path / "set"


@pytest.mark.hard
def test_results_last_while_they_are_iterated(pictures):
    paths = [record["sample_id"] for record in run_batch([pictures / "noisy1.png"], tools=["SSIM"], workers=1)]
    assert paths == [str(pictures / "noisy1.png")]


@pytest.mark.hard
def test_rows_and_paths_give_records_and_no_file(pictures, tmp_path, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    row = {"image_path": pictures / "noisy1.png", "reference_path": pictures / "clean1.png", "sample_id": "two"}
    results = run_batch([{**row, "sample_id": "one"}, row, pictures / "gone.png"], tools=["PSNR"], workers=1)
    records = list(results)
    assert [record["sample_id"] for record in records] == ["one", "two", str(pictures / "gone.png")]
    assert (len(results), results.summary().errors) == (3, {"image_not_found": 1})
    assert str(results) == "2 of 3 have a result, 1 failed (image_not_found)"
    assert results.to_rows()[0]["PSNR"] == records[0]["measurements"][0]["raw"]
    assert [path.name.partition("-")[2].partition("-")[0] for path in temporary.iterdir()] == ["batch"]
    del results
    gc.collect()
    assert list(temporary.iterdir()) == []


@pytest.mark.hard
def test_table_of_results(pictures):
    results = run_batch(str(pictures / "*.png"), tools=["sharpness"], workers=1)
    table = results.to_dataframe()
    assert list(table["sample_id"]) == [str(path) for path in sorted(pictures.glob("*.png"))]
    assert table["sharpness"].notna().all()


@pytest.mark.hard
def test_inside_an_event_loop(pictures):
    results = asyncio.run(arun_batch([pictures / "noisy0.png"], tools=["sharpness"], workers=1))
    assert [record["status"] for record in results] == ["ok"]


@pytest.mark.hard
def test_missing_pandas_says_what_to_install(pictures, monkeypatch):
    results = run_batch([pictures / "noisy0.png"], tools=["sharpness"], workers=1)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'agenticiqa\[dataframe\]'"):
        results.to_dataframe()


@pytest.mark.hard
def test_output_is_continued_or_replaced_as_asked(tmp_path):
    manifest = make_manifest(tmp_path / "set", 3)
    output = tmp_path / "r.csv"
    assert run_batch(manifest, output=output, tools=["PSNR"], workers=1).summary().done_earlier == 0
    assert output.read_text().startswith("sample_id,")
    assert run_batch(manifest, output=output, tools=["PSNR"], workers=1).summary().done_earlier == 3
    with pytest.raises(OutputError):
        run_batch(manifest, output=output, tools=["PSNR"], workers=1, resume=False)
    assert run_batch(manifest, output=output, tools=["PSNR"], workers=1, overwrite=True).summary().done_earlier == 0


def test_unusable_arguments_raise_before_any_work(pictures):
    with pytest.raises(ConfigError):
        run_batch([pictures / "noisy0.png"], tools="PSNR")
    with pytest.raises(ConfigError):
        run_batch([pictures / "noisy0.png"], "Sharp?", tools=["PSNR"])
    with pytest.raises(ConfigError):
        run_batch([pictures / "noisy0.png"], requests_per_minute=0)
    with pytest.raises(ManifestError, match="image_path is missing"):
        run_batch([{"query": "Sharp?"}], tools=["PSNR"])
    with pytest.raises(OutputError):
        run_batch([pictures / "noisy0.png"], tools=["sharpness"], output="r.xlsx")


@pytest.mark.hard
def test_script_needs_no_guard_around_its_main_program(pictures, tmp_path):
    """Worker processes must not run the script again."""
    script = tmp_path / "script.py"
    script.write_text(
        "from agenticiqa.batch.running import run_batch\n"
        "print('ran')\n"
        f"results = run_batch([{str(pictures / 'noisy0.png')!r}], 'Rate it.', backend='embedded', workers=1)\n"
        "print([record['status'] for record in results])\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "ran\n['ok']\n", done.stderr
