"""How often the embedded backend chooses the right option, by type of question.

    python -m training.embedded.choice_accuracy --data DATA [--part test] [--each 24] [--out choices.json]

``DATA/photos`` holds the photographs of ``splits.json``. The test part was used neither for training nor for choosing
any rule; rules are tried out on ``--part validation``. Every question goes through the public interface.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image
from training.embedded import splits
from training.embedded.choice_questions import TYPES, ChoiceQuestion, choice_questions

from agenticiqa import AgenticIQA

SEED = 2026


@dataclass(frozen=True)
class Answered:
    """What came back for one question."""

    type: str
    text: str
    options: tuple[str, ...]
    truth: str
    answer: str
    made: str
    reasoning: str

    @property
    def right(self) -> bool:
        return self.answer == self.truth

    def __str__(self) -> str:
        asked = f"{self.type}: {self.text} {' / '.join(self.options)}"
        return f"{asked}\n  made: {self.made}; answer {self.answer}, right {self.truth}. {self.reasoning}"


def wilson(right: int, asked: int, z: float = 1.96) -> tuple[float, float]:
    """The 95 % interval of a share.

    >>> tuple(round(bound, 3) for bound in wilson(9, 10))
    (0.596, 0.982)
    """
    share = right / asked
    middle = (share + z * z / (2 * asked)) / (1 + z * z / asked)
    reach = z * math.sqrt(share * (1 - share) / asked + z * z / (4 * asked * asked)) / (1 + z * z / asked)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def ask(assessor: AgenticIQA, question: ChoiceQuestion, folder: Path) -> Answered:
    picture, reference = folder / "picture.png", folder / "reference.png"
    Image.fromarray(question.picture).save(picture, compress_level=1)
    if question.reference is not None:
        Image.fromarray(question.reference).save(reference, compress_level=1)
    result = assessor.assess(
        picture,
        question.text,
        options=question.options,
        reference=reference if question.reference is not None else None,
    )
    truth = chr(ord("A") + question.truth)
    answer = f"error: {result.error}" if result.status == "error" else result.answer
    reasoning = "" if result.status == "error" else result.reasoning
    return Answered(question.type, question.text, question.options, truth, answer, question.made, reasoning)


def ask_share(
    photographs: Sequence[Path], each: int, seed: int, share: int, shares: int, errors: bool
) -> list[Answered]:
    """Every ``shares``-th question, beginning with number ``share``."""
    # Nothing is kept between questions and nothing enters the user's record of runs.
    overrides = {"pipeline.cache.enabled": False, "pipeline.runs.enabled": False}
    found = []
    with tempfile.TemporaryDirectory() as folder, AgenticIQA("embedded", overrides=overrides) as assessor:
        for question in choice_questions(photographs, each, seed, share, shares):
            found.append(ask(assessor, question, Path(folder)))
            if errors and not found[-1].right:
                print(found[-1], flush=True)
    return found


def figures(answers: Iterable[Answered]) -> dict[str, dict[str, Any]]:
    """For each type, and for all: right, asked, accuracy with interval, chance, and how often nothing was chosen."""
    by_type: dict[str, list[Answered]] = {}
    for answered in answers:
        by_type.setdefault(answered.type, []).append(answered)
        by_type.setdefault("all", []).append(answered)
    found = {}
    for name, own in sorted(by_type.items(), key=lambda item: item[0] == "all"):
        right = sum(each.right for each in own)
        found[name] = {
            "right": right,
            "asked": len(own),
            "accuracy": round(right / len(own), 4),
            "interval": [round(bound, 4) for bound in wilson(right, len(own))],
            "chance": round(sum(1 / len(each.options) for each in own) / len(own), 4),
            "not_answered": sum(len(each.answer) != 1 for each in own),
        }
    return found


def table(found: dict[str, dict[str, Any]]) -> str:
    lines = ["| type of question | right | accuracy | 95 % interval | chance |", "|---|---|---|---|---|"]
    for name, row in found.items():
        low, high = row["interval"]
        lines.append(
            f"| {name} | {row['right']} of {row['asked']} | {row['accuracy']:.0%} | {low:.0%} – {high:.0%} "
            f"| {row['chance']:.0%} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--part", choices=("test", "validation"), default="test")
    parser.add_argument("--each", type=int, default=24)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--errors", action="store_true", help="print every question that was answered wrongly")
    arguments = parser.parse_args()
    photographs = [arguments.data / "photos" / name for name in splits.load()["photos"][arguments.part]]
    count = arguments.processes
    with ProcessPoolExecutor(count) as pool:
        waiting = [
            pool.submit(ask_share, photographs, arguments.each, arguments.seed, share, count, arguments.errors)
            for share in range(count)
        ]
        answers = [answered for future in waiting for answered in future.result()]
    found = figures(answers)
    print(f"{len(TYPES)} types of question, {len(answers)} questions, photographs of the {arguments.part} part")
    print(table(found), flush=True)
    if arguments.out:
        stored = {"part": arguments.part, "seed": arguments.seed, "types": found}
        arguments.out.write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    main()
