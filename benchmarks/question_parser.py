"""How well questions are understood: plans made by the embedded backend against the expected ones.

    .venv/bin/python benchmarks/question_parser.py

Failures are listed for the development part only: the held-out part stays unread while the parser is tuned.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agenticiqa.models.offline.language.question import understand
from agenticiqa.models.offline.planner import plan_for

DATA = Path(__file__).resolve().parent.parent / "tests" / "data"
PARTS = {"development": DATA / "planner_questions.jsonl", "held-out": DATA / "planner_questions_held_out.jsonl"}
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


def main(parts: Sequence[str]) -> None:
    for name in parts or PARTS:
        report(name, load(PARTS[name]), list_failures=name == "development")


if __name__ == "__main__":
    main(sys.argv[1:])
