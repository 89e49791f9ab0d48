"""`python -m benchmarks.paper views`: scores of undamaged photographs, with closer looks beside those without."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.paper import views
from PIL import Image

from agenticiqa.nodes.prompts import PARTS_NOTED
from support.command_line import ROOT, CommandLine
from support.paper_data import MARK
from support.pictures import scene
from support.scripted import plan_reply
from support.scripted_judge import ScriptedJudge


class MisledJudge(ScriptedJudge):
    """Measures nothing, and rates what it would call good as bad as soon as it is told of parts of it."""

    def reply(self, request: dict[str, Any]) -> dict[str, Any] | None:
        answer = super().reply(request)
        if answer and "plan" in answer:
            return plan_reply(plan={"tool_selection": False, "tool_execution": False})
        if answer and answer.get("final_answer") == "B" and PARTS_NOTED in json.dumps(request["messages"]):
            return {**answer, "final_answer": "E"}
        return answer


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Two photographs that count as large here, one that is too small, and a file that is none."""
    made = tmp_path_factory.mktemp("photographs")
    for name, mark in (("fair", 3), ("good", 4)):
        pixels = np.array(Image.fromarray(scene(300, 400)).resize((1600, 1200)))
        pixels[:8, :8] = mark * MARK
        Image.fromarray(pixels).save(made / f"{name}.png", compress_level=1)
    Image.fromarray(scene(300, 400)).save(made / "small.png")
    (made / "broken.jpg").write_bytes(b"no picture")
    return made


@pytest.fixture
def judged(command_line: CommandLine, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CommandLine]:
    """At 12 megapixels the same takes five times as long."""
    monkeypatch.setattr(views, "SMALLEST", 1_500_000)
    with MisledJudge() as server:
        command_line.environment |= {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.base_url}
        yield replace(command_line, module="benchmarks.paper")


def rows_of(judged: CommandLine, folder: Path, model: str, *more: str) -> dict[str, list[str]]:
    done = judged("views", "--data", folder, "--models", model, "--workers", "1", "--json", *more)
    assert done.code == 0, done.err
    [table] = json.loads(done.out)
    return {row[1]: row[2:] for row in table["rows"]}


@pytest.mark.hard
def test_a_model_that_parts_mislead_is_found_out(judged, folder):
    rows = rows_of(judged, folder, "openai.gpt-4o")
    assert rows == {
        "fair.png": ["3.00", "–", "3.00", "0.000", "no", rows["fair.png"][-1]],
        "good.png": ["4.00", "–", "1.00", "-3.000", "yes", rows["good.png"][-1]],
        "all": ["3.50", "–", "2.00", "-1.500", "1 of 2", "2 of 2"],
    }
    assert int(rows["good.png"][-1]) in range(1, 5)
    page = (judged.folder / "reproduction" / "views.md").read_text()
    assert "below the interval of that without" in page
    assert "good.png" in page
    assert rows_of(judged, folder, "openai.gpt-4o", "--no-run") == rows


@pytest.mark.hard
def test_the_commands_of_the_guide_run_and_the_embedded_score_is_the_same_with_views(judged, folder):
    guide = (ROOT / "docs" / "guides" / "closer-look.md").read_text(encoding="utf-8")
    commands = re.findall(r"^    python -m benchmarks\.paper (views .*)$", guide, re.MULTILINE)
    (judged.folder / "photographs").symlink_to(folder)
    assert len(commands) == 2
    assert [judged(*command.split()).code for command in commands] == [0, 0]
    table = json.loads((judged.folder / "reproduction" / "views.json").read_text())
    rows = {row[1]: row[2:] for row in table["rows"] if row[0] == "embedded"}
    assert rows["all"][3:] == ["0.000", "0 of 2", "2 of 2"]
    low, high = (float(end) for end in rows["good.png"][1].split(" to "))
    assert low < float(rows["good.png"][0]) == float(rows["good.png"][2]) < high


def test_what_it_would_cost_is_told_first(judged, folder):
    done = judged("views", "--data", folder, "--models", "openai.gpt-4o", "--dry-run", "--json")
    cells = json.loads(done.out)["cells"]
    assert [cell["method"] for cell in cells] == [
        "AgenticIQA, openai.gpt-4o",
        "AgenticIQA, openai.gpt-4o, without views",
    ]
    assert [cell["samples"] for cell in cells] == [2, 2]
    assert cells[0]["cost_usd"][1] > cells[1]["cost_usd"][1] > 0


@pytest.mark.parametrize("data", [["nowhere"], [".", "."], ["."]], ids=["no folder", "two", "nothing large"])
def test_a_folder_without_large_photographs_is_refused(judged, data):
    done = judged("views", *(word for each in data for word in ("--data", each)))
    assert done.code == 1
    assert "photograph" in done.err
    assert not (judged.folder / "reproduction").exists()


def line(name: str, score: float | None, interval: list[float] | None = None) -> str:
    summary = {"quality_score": score, "score_interval": interval}
    return json.dumps({"sample_id": name, "status": "ok" if score else "error", "summarizer_result": summary}) + "\n"


def test_only_what_has_both_scores_is_compared(tmp_path):
    """Without an interval the score itself is the bound."""
    without, with_views = tmp_path / "without.jsonl", tmp_path / "with.jsonl"
    without.write_text(
        line("kept", 3.0, [2.5, 3.5]) + line("fell", 3.0, [2.5, 3.5]) + line("bare", 3.0) + line("failed", None)
    )
    with_views.write_text(line("bare", 2.99) + line("fell", 2.4) + line("kept", 2.5) + line("failed", 3.0))
    assert [(each.picture, each.falls) for each in views.scored_twice(without, with_views)] == [
        ("kept", False),
        ("fell", True),
        ("bare", True),
    ]
