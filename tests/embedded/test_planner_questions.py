"""Accuracy on the two question sets. What each question should give is in tests/data; benchmarks prints the details."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agenticiqa.embedded.question import understand
from agenticiqa.embedded.steps import plan_for
from agenticiqa.state import PlannerOutput

DATA = Path(__file__).resolve().parents[1] / "data"


def cases(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def comparable(plan: PlannerOutput) -> dict[str, Any]:
    """Names and categories in any order; everything else as it stands."""
    distortions = {name.casefold(): sorted(kinds) for name, kinds in (plan.distortions or {}).items()}
    return plan.model_dump() | {"query_scope": sorted(map(str.casefold, plan.scope_names)), "distortions": distortions}


def is_right(case: dict[str, Any]) -> bool:
    question = understand(case["query"], case.get("options"), has_reference=case["reference"])
    made = plan_for(question, has_reference=case["reference"])
    return comparable(made) == comparable(PlannerOutput.model_validate(case["plan"]))


@pytest.mark.hard
@pytest.mark.parametrize(
    ("name", "at_least", "accuracy"),
    [("planner_questions.jsonl", 140, 0.8), ("planner_questions_held_out.jsonl", 70, 0.8)],
)
def test_whole_plans(name: str, at_least: int, accuracy: float) -> None:
    questions = cases(name)
    assert len(questions) >= at_least
    assert sum(map(is_right, questions)) / len(questions) >= accuracy
