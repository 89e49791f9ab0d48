"""The script that makes docs/evaluating/results.md: data laid out as published, and only held-out pictures."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

from benchmarks.paper.sets import Selection, find_sets, read_only

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "benchmarks/pages/results_page.py"


def script():
    spec = importlib.util.spec_from_file_location("results_page", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_sets_are_laid_out_and_only_held_out_pictures_count(tmp_path):
    page = script()
    held_out = page.held_out()
    splits = json.loads((ROOT / "training/embedded/splits.json").read_text())["opinions"]
    assert not {*held_out} & {*splits["train"], *splits["validation"]}
    csiq, biq = tmp_path / "given/csiq", tmp_path / "given/biq2021"
    for folder, text, names in (
        (
            csiq,
            "image,reference,type,level,dmos_0_to_1\nboston.AWGN.1.webp,boston.webp,noise,1,0.03\n",
            ["boston.AWGN.1.webp", "boston.webp"],
        ),
        (
            biq,
            f"image,mos_0_to_1\n{held_out[0]},0.7\n{splits['train'][0]},0.4\n",
            [held_out[0], splits["train"][0]],
        ),
    ):
        folder.mkdir(parents=True)
        (folder / "scores.csv").write_text(text)
        for name in names:
            (folder / name).write_bytes(b"picture")
    for _ in range(2):  # a second time, as when it goes on
        page.lay_out_csiq(csiq, tmp_path / "sets/csiq")
        page.lay_out_biq2021(biq, tmp_path / "sets/biq2021")
    (tmp_path / "names.txt").write_text("\n".join(held_out))
    only = read_only([f"biq2021={tmp_path / 'names.txt'}"])
    manifests = {}
    for judged in find_sets([str(tmp_path / "sets")], [], Selection(), only):
        judged.write_manifest(tmp_path / "m.jsonl")
        manifests[judged.name] = [json.loads(line) for line in (tmp_path / "m.jsonl").read_text().splitlines()]
    assert [Path(row["image_path"]).name for row in manifests["biq2021"]] == [held_out[0]]
    [row] = manifests["csiq"]
    assert (row["mos"], Path(row["reference_path"]).name) == (0.97, "boston.png")


def test_the_page_names_a_command_for_every_table_that_is_not_here():
    text = script().missing()
    for table in ("ratings", "eval", "qbench", "ablations"):
        assert f"python -m benchmarks.paper {table} --data" in text
