"""How well questions are read, through the product: property, part, form, direction, and the ends of options.

    export PYTHONPATH=benchmarks/accuracy:training/reader
    python benchmarks/accuracy/reading.py tests/data/fresh_questions.txt   # lines as in training/reader/lessons
    python benchmarks/accuracy/reading.py DATA/questions/questions.jsonl --half odd

Lines of lessons are ``question | property | form | direction | part | part2 | options``. Of the development questions
(JSON lines) the odd half was never learnt from; they are scored by ``meanings.py``.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from pathlib import Path
from typing import Any

from generate import written
from labels import shared_form
from meanings import Reading, load_questions, same_part, score

from agenticiqa.embedded.question import Meaning, understand

ENDS = {1: "high", -1: "low", 0: "none"}


def share(right: int, total: int) -> str:
    """A share with Wilson's 95 % interval."""
    part, z = right / total, 1.96
    middle = (part + z * z / (2 * total)) / (1 + z * z / total)
    width = z * math.sqrt(part * (1 - part) / total + z * z / (4 * total * total)) / (1 + z * z / total)
    return f"{100 * part:.1f} % ({100 * (middle - width):.0f}–{100 * (middle + width):.0f}, {right} of {total})"


def of_lessons(path: Path, wrong: bool) -> dict[str, tuple[int, int]]:
    lessons, pairs = written(path)
    amounts = {(pair["q"], pair["option"]): pair["amount"] for pair in pairs}
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for lesson in lessons:
        read = understand(lesson["q"], lesson.get("options")).meaning
        parts = [part for part in (lesson["part"], lesson["part2"]) if part]
        found = {
            "property": (read.property or "none") == lesson["property"][0],
            "part": same_part(" vs ".join(parts) or "Global", [part.name for part in read.parts]),
            "form": read.form == lesson["form"],
            "direction": ENDS[read.end] == lesson["direction"],
            "direction of yes/no questions": ENDS[read.end] == lesson["direction"] or None,
        }
        if lesson["form"] != "yes_no":
            del found["direction of yes/no questions"]
        for option in read.options:
            wanted = amounts.get((lesson["q"], option.text))
            if wanted is not None and abs(wanted - 0.5) > 0.2:
                found[f"option {option.letter}"] = option.amount is not None and (option.amount > 0.5) == (wanted > 0.5)
        for name, is_right in found.items():
            key = "options' ends" if name.startswith("option ") else name
            right[key] += bool(is_right)
            total[key] += 1
        if wrong and not all(found.values()):
            print([name for name, is_right in found.items() if not is_right], lesson["q"], read.property, read.form)
    return {name: (right[name], total[name]) for name in total}


def as_reading(meaning: Meaning, case: dict[str, Any]) -> Reading:
    """A meaning in the terms of the development questions."""
    parts = tuple(part.name for part in meaning.parts)
    asked = meaning.property
    amounts = {each.text: each.amount if each.property == asked else None for each in meaning.options}
    form = shared_form(meaning.form, asked or "none", len(parts), case["options"], tuple(amounts.values()))
    claims = {option.text: option.claim for option in meaning.options}
    yes = {1: 1.0, -1: 0.0}.get(meaning.end)
    return Reading(meaning.property, parts, form, amounts, claims, yes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--half", choices=["odd", "even"], default="odd")
    parser.add_argument(
        "--wrong", action="store_true", help="name what is misread (not for questions that only measure)"
    )
    given = parser.parse_args()
    if given.file.suffix == ".txt":
        figures = of_lessons(given.file, given.wrong)
    else:
        cases = [c for c in load_questions(given.file) if int(c["id"][1:]) % 2 == (given.half == "odd")]
        result = score(cases, lambda case: as_reading(understand(case["query"], case["options"]).meaning, case))
        figures = {name: (result.right[name], result.total[name]) for name in result.total}
    for name, (right, total) in figures.items():
        print(f"{name:<30} {share(right, total)}")


if __name__ == "__main__":
    main()
