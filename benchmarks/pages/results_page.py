"""Make docs/evaluating/results.md: the paper's tables with what can be run here, and the commands that fill the rest.

    python benchmarks/pages/results_page.py DATA --work FOLDER

DATA holds ``csiq/`` and ``biq2021/`` as training/README.md describes them. They are laid out in FOLDER as their authors
publish them (links, no copies), then `python -m benchmarks.paper` runs; stopped, it goes on. Of BIQ2021 only pictures
that training/embedded/splits.json held out for testing count.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from pathlib import Path

from agenticiqa.runtime.files import write_atomic

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/evaluating/results.md"
MODELS = "embedded,openai.gpt-4o,qwen2.5-vl-local"
CSIQ_FOLDERS = {"AWGN": "awgn", "BLUR": "blur", "JPEG": "jpeg"}
INTRODUCTION = """# Results

Laid out by `python benchmarks/pages/results_page.py DATA --work FOLDER`. What is measured here needs no key:
tools alone, and the embedded backend. The sets at hand are small parts of CSIQ and BIQ2021, so intervals are wide and
nothing here is a figure of the whole sets. Of BIQ2021 only pictures count that training never saw
(`training/embedded/splits.json`); CSIQ was never trained on, but its figures were in sight while `AIQA_FR` and its
weight in the answer were settled ([model card](model-card.md)). The pictures of CSIQ are versions of four references,
which its intervals treat as independent: they are too narrow. Seconds are those of a machine with other work to do.
Without a reference the embedded backend rates by its own network alone: leaving parts out changes its calls and not its
score, and so few pictures would hide a small difference. What parts are worth, only a language model can tell.
How the tables are made, and what their marks mean: [Reproduce the paper](guides/reproduce-the-paper.md).

Empty rows say what is missing. With it, the same command fills them and keeps the rest.
"""
NEEDS = (
    (
        "ratings of TID2013, BID, AGIQA-3K",
        "the sets; for models a key (`OPENAI_API_KEY`), or Qwen2.5-VL (`QWEN_MODEL`)",
        "ratings --data /data --models embedded,openai.gpt-4o,qwen2.5-vl-local --profile paper",
    ),
    ("AgenticIQA-Eval", "the set and a key", "eval --data /data --models openai.gpt-4o,qwen2.5-vl-local"),
    ("LLVisionQA", "the set and a key", "qbench --data /data --models openai.gpt-4o,qwen2.5-vl-local"),
    ("ablations on GPT-4o", "the sets and a key", "ablations --data /data --models openai.gpt-4o"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("results-page"), help="folder for layouts and results")
    parser.add_argument("--samples", type=int, default=100, help="of each set, for the ratings")
    parser.add_argument("--ablation-samples", type=int, default=12, help="of BIQ2021")
    parser.add_argument("--stored", action="store_true", help="make the page of what is there, run nothing")
    arguments = parser.parse_args()
    work = arguments.work.resolve()
    lay_out_csiq(arguments.data / "csiq", work / "sets/csiq")
    lay_out_biq2021(arguments.data / "biq2021", work / "sets/biq2021")
    (work / "held_out.txt").write_text("\n".join(held_out()) + "\n", encoding="utf-8")
    common = ["--data", "sets", "--only", "biq2021=held_out.txt", *(["--no-run"] if arguments.stored else [])]
    drawn = ["--max-samples", str(arguments.samples)]
    reproduce(work, ["ratings", *common, "--models", MODELS, *drawn, "--output", "results"])
    drawn = ["--max-samples", str(arguments.ablation_samples)]
    one_set = ["--datasets", "biq2021", *drawn]
    reproduce(work, ["ablations", *common, *one_set, "--models", "embedded", "--output", "results"])
    tables = [work / "results/ratings.md", work / "results/ablations.md"]
    write_atomic(PAGE, "\n".join([INTRODUCTION, *map(section, tables), missing()]))


def held_out() -> list[str]:
    splits = json.loads((ROOT / "training/embedded/splits.json").read_text(encoding="utf-8"))
    return sorted(splits["opinions"]["test"])


def lay_out_csiq(source: Path, folder: Path) -> None:
    """The columns of the official spreadsheet, and links named as its pictures are."""
    rows = [["image", "dst_type", "dst_lev", "dmos"]]
    for row in scores(source / "scores.csv"):
        image, kind, level, _ = row["image"].split(".")
        rows.append([image, row["type"], row["level"], row["dmos_0_to_1"]])
        link(source / row["image"], folder / "dst_imgs" / CSIQ_FOLDERS.get(kind, kind) / f"{image}.{kind}.{level}.png")
        link(source / row["reference"], folder / "src_imgs" / f"{image}.png")
    write_rows(folder / "csiq.DMOS.csv", rows)


def lay_out_biq2021(source: Path, folder: Path) -> None:
    rows = [["Image Name", "MOS"]]
    for row in scores(source / "scores.csv"):
        rows.append([row["image"], row["mos_0_to_1"]])
        link(source / row["image"], folder / "Images" / row["image"])
    write_rows(folder / "Train.csv", rows)


def scores(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def write_rows(file: Path, rows: list[list[str]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(rows)


def link(target: Path, name: Path) -> None:
    name.parent.mkdir(parents=True, exist_ok=True)
    if not name.is_symlink():
        name.symlink_to(target.resolve())


def reproduce(work: Path, arguments: list[str]) -> None:
    """Rows that cannot run here make it end with 2; that is expected."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.paper", *arguments, "--json"],
        cwd=work,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
        stdout=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode not in (0, 2):
        sys.exit(f"benchmarks.paper {' '.join(arguments)} ended with {done.returncode}")


def section(file: Path) -> str:
    """A table one heading lower."""
    return file.read_text(encoding="utf-8").replace("# Reproduction: ", "## ", 1)


def missing() -> str:
    """What needs keys or data that are not here, and the command that makes it."""
    rows = [f"| {table} | {needs} | `python -m benchmarks.paper {command}` |" for table, needs, command in NEEDS]
    head = ["## What is not here", "", "| table | what it needs | the command that makes it |", "|---|---|---|"]
    return "\n".join([*head, *rows, "", "What each costs, `--dry-run` tells.", ""])


if __name__ == "__main__":
    main()
