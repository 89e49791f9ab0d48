"""A reference of another size costs nothing, a picture is scaled only when told, and what cannot work is tried once."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import agenticiqa
from agenticiqa import AgenticIQA
from agenticiqa.runtime.config import ROLES
from agenticiqa.tools.metrics import Measurement, Metric
from agenticiqa.tools.registry import Tool, ToolRegistry, default_registry
from support.batches import write_jsonl
from support.command_line import CommandLine
from support.pictures import distorted, save, scene
from support.scripted import ScriptedClient, plan_reply, selection_reply

pytestmark = pytest.mark.hard


@pytest.fixture
def pictures(command_line: CommandLine) -> Path:
    folder = command_line.folder
    save(folder / "small.png", distorted(scene(64, 80)))
    save(folder / "large.png", scene(96, 120))
    write_jsonl(folder / "m.jsonl", [{"image_path": "small.png", "reference_path": "large.png"}])
    return folder


def test_a_reference_of_another_size_is_refused_before_a_model_is_asked(assessor: Any, tmp_path: Path) -> None:
    client = ScriptedClient()
    small = save(tmp_path / "small.png", distorted(scene(64, 80)))
    large = save(tmp_path / "large.png", scene(96, 120))
    refused = assessor(client).assess(small, reference=large)
    assert (refused.status, refused.metadata["error_kind"], client.calls) == ("error", "image", 0)
    assert "80×64" in (refused.error or "")
    assert "120×96" in (refused.error or "")


def test_align_scales_the_picture_and_says_so(assessor: Any, tmp_path: Path) -> None:
    small = save(tmp_path / "small.png", distorted(scene(64, 80)))
    large = save(tmp_path / "large.png", scene(96, 120))
    iqa = assessor(ScriptedClient())
    scaled = iqa.assess(small, reference=large, align="resize", regions={"vehicle": [60, 40, 50, 50]})
    assert scaled.status != "error", scaled.error
    assert scaled.metadata["image_size"] == [120, 96]
    assert scaled.metadata["image_notes"][-1] == "scaled from 80×64 to its reference's 120×96"
    assert not [log.error for log in scaled.executor_evidence.tool_logs if log.error]
    _, again = iqa.replay(scaled.metadata["run_id"])
    assert again.metadata["image_size"] == [120, 96], "the record knows that it was scaled"


def test_the_command_line_refuses_or_scales(command_line: CommandLine, pictures: Path) -> None:
    refused = command_line("assess", "small.png", "--reference", "large.png")
    assert refused.code == 1
    assert "80×64" in refused.err
    words = ("--reference", "large.png", "--align", "resize", "--region", "half=60,0,60,96", "--json")
    scaled = command_line("assess", "small.png", *words)
    assert scaled.code == 0, scaled.err
    assert json.loads(scaled.out)["metadata"]["image_size"] == [120, 96]
    assert command_line("assess", "small.png", "--align", "stretch").code == 2


def test_batches_refuse_or_scale(command_line: CommandLine, pictures: Path) -> None:
    refused = command_line("batch", "m.jsonl", "-o", "r.jsonl", "-w", "1", "--json")
    assert json.loads(refused.out)["errors"] == {"image": 1}
    scaled = command_line("batch", "m.jsonl", "-o", "s.jsonl", "-w", "1", "--align", "resize", "--json")
    assert scaled.code == 0, scaled.err + (pictures / "s.jsonl").read_text()


def test_python_verbs_refuse_or_scale(tmp_path: Path) -> None:
    small, large = distorted(scene(64, 80)), scene(96, 120)
    assert agenticiqa.assess(small, reference=large).status == "error"
    assert agenticiqa.assess(small, reference=large, align="resize").status != "error"
    with pytest.raises(agenticiqa.ConfigError, match="align"):
        agenticiqa.assess(small, reference=large, align="stretch")  # type: ignore[arg-type]


# --- tools that fail for a reason that stays ---


class Counting:
    """Measures as often as it is asked, and notes it."""

    def __init__(self, error: str | None = None) -> None:
        self.runs = 0
        self._error = error

    def __call__(self, *_: Any) -> Measurement:
        self.runs += 1
        if self._error is not None:
            raise ValueError(self._error)
        return Measurement(2.0)

    def as_tool(self, name: str) -> Tool:
        noise = default_registry().find("noise")
        spec = replace(noise.spec, name=name, good_at=("Blurs",))
        return Tool(Metric(spec, self), noise.calibration)


def test_a_tool_that_cannot_work_is_not_tried_again_on_the_replan(isolated: Path, pair: Any) -> None:
    """The first pass has no score, so that the planner plans again; the second offers what may still work."""
    broken, working = Counting("these pixels do not suit it"), Counting()
    tools = ToolRegistry([broken.as_tool("broken"), working.as_tool("working")])
    client = ScriptedClient(
        selection=[selection_reply(("Global", "Blurs", name)) for name in ("broken", "broken", "working")]
    )
    with AgenticIQA(clients=dict.fromkeys(ROLES, client), tools=tools) as iqa:
        result = iqa.assess(pair.test)
    offered = ["- broken" in asked.prompt for asked in client.script.of("selection")]
    assert offered == [True, False, False], "the third question says more strictly what the second said"
    assert (broken.runs, working.runs) == (1, 1)
    assert result.metadata["replans"] == 1
    assert result.executor_evidence.quality_scores["Global"]["Blurs"][0] == "working"


def test_a_tool_that_the_question_names_is_tried_once_as_well(isolated: Path, pair: Any) -> None:
    broken = Counting("these pixels do not suit it")
    plan = plan_reply(required_tool="broken", plan={"tool_selection": False})
    client = ScriptedClient(plan=[plan, plan])
    with AgenticIQA(clients=dict.fromkeys(ROLES, client), tools=ToolRegistry([broken.as_tool("broken")])) as iqa:
        result = iqa.assess(pair.test)
    assert (broken.runs, result.metadata["replans"]) == (1, 1)
    assert any("not tried again" in error for error in result.executor_evidence.errors)
    assert result.status == "partial"
