"""The paper's five datasets in the layouts of their authors, with a handful of small pictures each.

Every picture carries a mark in its corner that a scripted model can read: what it "sees".
"""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
from PIL import Image

PICTURES = 13
"""With references: enough to fit five parameters to."""
FEW_PICTURES = 6
QUESTIONS = 4
TASKS = ("planner", "executor-distortion", "executor-tool", "summarizer")
MARK = 40


def mark_of(number: int, picture_set: int = 0) -> int:
    """1 to 5, about as good as the picture is; how far off differs from set to set."""
    off = (number * (3 + picture_set)) % 4 - 1
    return min(max(5 - number * 5 // PICTURES + off % 3 - 1, 1), 5)


def picture(number: int, mark: int) -> bytes:
    """Noise that grows from picture to picture, as PNG whatever the file is called."""
    rng = np.random.default_rng(number)
    pixels = np.kron(np.random.default_rng(7).integers(60, 200, (8, 10, 3)), np.ones((8, 8, 1)))
    pixels = np.clip(pixels + rng.normal(0, 2 + 3 * number, pixels.shape), 0, 255).astype(np.uint8)
    pixels[:4, :4] = mark * MARK
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def read_mark(png: bytes) -> int:
    """What the corner says; 0 for a reference."""
    with Image.open(io.BytesIO(png)) as opened:
        return round(opened.convert("RGB").getpixel((1, 1))[0] / MARK)


def opinion(number: int, picture_set: int) -> float:
    """Falls with the noise, as people's opinions do, and a little with what the model sees."""
    return round(1.2 + 3 / (1 + math.exp((number - 6) / 1.8)) + 0.1 * mark_of(number, picture_set), 4)


def make_paper_data(root: Path) -> Path:
    _tid2013(root / "TID2013")
    _bid(root / "BID")
    _agiqa(root / "AGIQA-3K")
    _questions(root / "AgenticIQA-Eval", root / "LLVisionQA")
    return root


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _tid2013(root: Path) -> None:
    lines = []
    for number in range(PICTURES):
        name = f"I{1 + number % 6:02}_{1 + number:02}_1.bmp"
        lines.append(f"{opinion(number, 0)} {name}")
        _write(root / "distorted_images" / name, picture(number, mark_of(number, 0)))
        _write(root / "reference_images" / f"I{1 + number % 6:02}.BMP", picture(0, 0))
    (root / "mos_with_names.txt").write_text("\n".join(lines) + "\n")


def _bid(root: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["Image Number", "Average Subjective Grade"])
    for number in range(FEW_PICTURES):
        book.active.append([number + 1, opinion(2 * number, 1)])
        _write(
            root / f"ImageDatabase/DatabaseImage{number + 1:04}.JPG", picture(20 + 2 * number, mark_of(2 * number, 1))
        )
    book.save(root / "DatabaseGrades.xlsx")


def _agiqa(root: Path) -> None:
    rows: list[list[Any]] = [["name", "prompt", "mos_quality", "std_quality"]]
    for number in range(FEW_PICTURES):
        name = f"glide_normal_{number:03}.jpg"
        rows.append([name, "a house", opinion(2 * number, 2), 0.3])
        _write(root / name, picture(40 + 2 * number, mark_of(2 * number, 2)))
    with (root / "data.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows(rows)


def _questions(evaluation: Path, qbench: Path) -> None:
    options = ["Too dark", "Noisy", "Blurred"]
    records, questions = [], []
    for number in range(QUESTIONS):
        record = {"question": f"What is wrong with picture {number}?", "options": options, "image": f"{number}.png"}
        # The scripted model picks the option that the mark points at; every third right answer is another one.
        right = (mark_of(number) + (number % 3 == 0)) % len(options)
        records.append(record | {"task": TASKS[number % 4], "answer": "ABC"[right]})
        questions.append(
            {
                "img_path": f"{number}.jpg",
                "type": str(number % 3),
                "concern": str(number % 4),
                "question": f"Which flaw has image {number}?",
                "candidates": options,
                "correct_ans": options[right],
            }
        )
        _write(evaluation / f"images/{number}.png", picture(60 + number, mark_of(number)))
        _write(qbench / f"images/{number}.jpg", picture(80 + number, mark_of(number)))
    (evaluation / "agenticiqa_eval.json").write_text(json.dumps(records))
    (qbench / "llvisionqa_dev.json").write_text(json.dumps(questions))
    (qbench / "llvisionqa_test.json").write_text(
        json.dumps([{key: value for key, value in each.items() if key != "correct_ans"} for each in questions])
    )
