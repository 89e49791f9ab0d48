"""How well questions are understood: meanings and plans of the embedded backend against the expected ones.

    .venv/bin/python benchmarks/accuracy/question_parser.py
    .venv/bin/python benchmarks/accuracy/question_parser.py --meanings questions.jsonl --failures

``--meanings`` takes another file of questions with their meanings (see ``meanings.py`` for its fields); it is counted
whole and in two fixed random halves. ``--failures`` lists what was misread, of the plans in the development part only:
the held-out part stays unread while the parser is tuned.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from meanings import Reading, Score, halves, load_questions, score

from agenticiqa.embedded.question import understand
from agenticiqa.embedded.steps import plan_for

DATA = Path(__file__).resolve().parents[2] / "tests" / "data"
PARTS = {"development": DATA / "planner_questions.jsonl", "held-out": DATA / "planner_questions_held_out.jsonl"}
MEANINGS = DATA / "question_meanings.jsonl"
FIELDS = (
    "query_type", "query_scope", "distortion_source", "distortions", "reference_mode", "required_tool", "plan",
)  # fmt: skip


def load(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def made_plan(case: dict[str, Any]) -> dict[str, Any]:
    question = understand(case["query"], case.get("options"), has_reference=case["reference"])
    plan = plan_for(question, has_reference=case["reference"])
    return plan.model_dump(mode="json") | {"required_tool": plan.named_tools or None}


def comparable(plan: dict[str, Any], field: str) -> Any:
    """Names without case and in any order, like categories; tools in the order they were named."""
    value = plan[field]
    if field == "query_scope":
        return value if isinstance(value, str) else sorted(name.casefold() for name in value)
    if field == "distortions":
        return value and {name.casefold(): sorted(kinds) for name, kinds in value.items()}
    return value


def wrong_fields(case: dict[str, Any], made: dict[str, Any]) -> list[str]:
    return [field for field in FIELDS if comparable(case["plan"], field) != comparable(made, field)]


def measure(cases: Sequence[dict[str, Any]]) -> tuple[list[list[str]], float]:
    """The wrong fields of every case, and questions per second."""
    started = time.perf_counter()
    made = [made_plan(case) for case in cases]
    seconds = time.perf_counter() - started
    return [wrong_fields(case, plan) for case, plan in zip(cases, made, strict=True)], len(cases) / seconds


def report(name: str, cases: Sequence[dict[str, Any]], *, list_failures: bool) -> None:
    wrong, speed = measure(cases)
    right = sum(not fields for fields in wrong)
    print(f"{name}: {right} of {len(cases)} plans exactly right ({right / len(cases):.1%}), {speed:,.0f} questions/s")
    for field in FIELDS:
        hits = sum(field not in fields for fields in wrong)
        print(f"  {field:<18} {hits / len(cases):.1%}")
    for case, fields in zip(cases, wrong, strict=True):
        if list_failures and fields:
            made = made_plan(case)
            print(f"  ✗ {case['query']!r} {case.get('options') or ''}")
            for field in fields:
                if field != "plan":
                    print(f"      {field}: {made[field]}, expected {case['plan'][field]}")


def read_meaning(case: dict[str, Any]) -> Reading:
    """A case as the embedded backend reads it."""
    meaning = understand(case["query"], case["options"]).meaning
    return Reading(
        meaning.property,
        tuple(part.name for part in meaning.parts),
        meaning.form,
        {each.text: each.amount for each in meaning.options if each.property == meaning.property},
        {each.text: each.claim for each in meaning.options},
        yes_amount=float(meaning.polarity > 0),
    )


def report_meanings(path: Path, *, list_failures: bool) -> None:
    cases = load_questions(path)
    for name, part in zip(("all", "first half", "second half"), (cases, *halves(cases)), strict=True):
        result = score(part, read_meaning)
        print(f"meanings, {name}: {len(part)} questions")
        for field, total in result.total.items():
            print(f"  {field:<18} {result.right[field]} of {total} ({result.right[field] / total:.1%})")
        if list_failures and name == "all":
            print_misread(result)


def print_misread(result: Score) -> None:
    for field, case, reading in result.wrong:
        expected = {name: case[name] for name in ("property", "scope", "form", "axis", "claims") if case[name]}
        print(f"  ✗ {field}: {case['query']!r} {case['options'] or ''}\n      {reading}\n      expected {expected}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Accuracy of the question parser.")
    parser.add_argument("--meanings", type=Path, default=MEANINGS, help="questions with their meanings")
    parser.add_argument("--failures", action="store_true", help="list what was misread")
    asked = parser.parse_args()
    report_meanings(asked.meanings, list_failures=asked.failures)
    for name, path in PARTS.items():
        report(name, load(path), list_failures=asked.failures and name == "development")


if __name__ == "__main__":
    main()
