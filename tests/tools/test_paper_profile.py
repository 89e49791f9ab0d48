"""The paper's conditions: its pool of tools, its rows as printed, its fusion, and pools and curves of a user's own."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from training.recalibrate import save_calibrations

from agenticiqa.api.assessor import AgenticIQA
from agenticiqa.errors import ConfigError, ToolUnavailableError
from agenticiqa.nodes.rating import fusion_of
from agenticiqa.runtime.config import ROLES, Settings, ToolSettings, changed_from_profile
from agenticiqa.score_fusion import ScoreFusion
from agenticiqa.tools.calibration import Calibration, check, load_calibrations, printed_calibrations
from agenticiqa.tools.catalogue import load_catalogue, make_metric
from agenticiqa.tools.facts import facts_of
from agenticiqa.tools.pyiqa_adapter import pyiqa_name
from agenticiqa.tools.registry import Tool, build_registry
from support.builders import make_settings

# Worked with sixty decimal digits from the printed rows, by 1/2 - 1/(1 + e^t) rather than by our tanh.
WORKED = {
    "TOPIQ_FR": [(0.3, 1.9718), (0.8, 4.0660)],
    "AHIQ": [(0.3, 2.5306), (0.7, 4.0377)],
    "FSIM": [(0.9, 2.1252), (0.98, 3.5957)],
    "LPIPS": [(0.1, 3.4527), (0.5, 1.5627)],
    "DISTS": [(0.1, 3.3992), (0.3, 1.7089)],
    "WaDIQaM_FR": [(-0.4, 1.0), (-0.1, 1.4912)],
    "GMSD": [(0.05, 3.3838), (0.2, 1.3097)],
    "SSIM": [(0.7, 2.4839), (0.95, 3.2518)],
    "CKDN": [(0.2, 1.4938), (0.6, 3.1120)],
    "VIF": [(0.2, 1.7633), (0.6, 3.0531)],
    "QAlign": [(2.0, 2.1012), (4.0, 3.7215)],
    "CLIPIQA": [(0.3, 1.9718), (0.7, 3.6472)],
    "UNIQUE": [(-1.0, 1.5301), (1.0, 3.2479)],
    "HyperIQA": [(0.3, 1.8659), (0.7, 3.3881)],
    "TReS": [(30.0, 1.9101), (80.0, 3.1301)],
    "MUSIQ": [(30.0, 1.6049), (60.0, 2.5640)],
    "WaDIQaM_NR": [(-0.5, 2.1331), (0.0, 3.2339)],
    "DBCNN": [(0.3, 1.7313), (0.7, 3.4561)],
    "ARNIQA": [(0.3, 1.5379), (0.6, 2.7692)],
    "NIMA": [(4.0, 1.8670), (6.0, 3.4900)],
    "BRISQUE": [(20.0, 3.2855), (70.0, 2.0817)],
    "NIQE": [(3.0, 3.3853), (8.0, 2.3826)],
    "MANIQA": [(0.2, 1.8435), (0.6, 3.4284)],
    "LIQE": [(2.0, 2.1780), (4.0, 3.7137)],
}
UNIFORM = dict.fromkeys(range(1, 6), 0.2)


@pytest.fixture
def paper() -> Settings:
    return make_settings(pipeline__profile="paper")


@pytest.mark.parametrize("tool", WORKED)
def test_every_printed_row_gives_its_worked_values(tool: str) -> None:
    row = printed_calibrations()[tool]
    for raw, score in WORKED[tool]:
        assert row(raw) == pytest.approx(score, abs=5e-5)


def test_rows_that_contradict_themselves_are_used_only_as_printed() -> None:
    printed, in_use = printed_calibrations(), load_calibrations()
    assert printed.keys() == WORKED.keys()
    contradicting = {name for name, row in printed.items() if "although" in (check(row) or "")}
    assert {"CKDN", "WaDIQaM_NR", "TReS", "ARNIQA"} <= contradicting
    assert not any(check(curve) for curve in in_use.values())


@pytest.mark.parametrize(
    ("tools", "p", "score"),
    [
        ([2.9871], UNIFORM, 2.9872),
        ([2.9871], {1: 0.05, 2: 0.05, 3: 0.8, 4: 0.05, 5: 0.05}, 2.9986),
        ([2.9871], {1: 0.05, 2: 0.2, 3: 0.6, 4: 0.1, 5: 0.05}, 2.9441),
    ],
)
def test_fusion_gives_its_worked_values(paper: Settings, tools: list[float], p: dict[int, float], score: float) -> None:
    """Around the paper's own example, whose tools say 2.9871 and whose answer is 2.9542."""
    assert fusion_of(paper.pipeline.fusion).fuse_scores(tools, p) == pytest.approx(score, abs=5e-5)


def test_fusion_as_printed_leaves_the_levels() -> None:
    assert ScoreFusion(normalize=False).fuse_scores([], UNIFORM) == pytest.approx(0.6)


def test_the_profile_sets_pool_curves_thresholds_and_retries(paper: Settings) -> None:
    tools = paper.pipeline.tools
    assert {*tools.allow} == {name for name, entry in load_catalogue().items() if entry.in_paper}
    assert len(tools.allow) == 28
    assert tools.calibrations == "printed"
    assert paper.pipeline.strict_mode_selection
    assert not paper.pipeline.replan_on_conflict
    assert changed_from_profile(paper) == []
    assert paper.pipeline.fusion.level_thresholds == (1.5, 2.5, 3.5, 4.5)
    assert [paper.role(role).retry_attempts for role in ROLES] == [3, 3, 3]


def test_what_is_said_for_one_run_counts_more_than_the_profile() -> None:
    settings = make_settings(pipeline__profile="paper", pipeline__tools__allow=["SSIM"], planner__retry_attempts=1)
    assert settings.pipeline.tools.allow == ("SSIM",)
    assert settings.planner.retry_attempts == 1
    assert changed_from_profile(settings) == ["planner.retry_attempts", "pipeline.tools.allow"]
    with pytest.raises(ConfigError, match=r"pipeline\.profile"):
        make_settings(pipeline__profile="papers")


def test_tools_of_the_paper_that_do_not_run_are_named(paper: Settings, tmp_path: Path, caplog) -> None:
    with caplog.at_level(logging.WARNING):
        registry = build_registry(paper.pipeline.tools, tmp_path)
    assert {"SSIM", "NIQE", "LPIPS"} <= {*registry.names()} <= {*paper.pipeline.tools.allow}
    absent = {*paper.pipeline.tools.allow} - {*registry.names()}
    said = [record.getMessage() for record in caplog.records]
    (pool,) = [line for line in said if "do not run" in line]
    (rows,) = [line for line in said if "as printed" in line]
    assert all(name in pool for name in absent)
    assert "CKDN" in rows
    assert registry.find("NIQE").calibration(3) == pytest.approx(3.3853, abs=5e-5)
    with pytest.raises(ToolUnavailableError, match=r"tools\.allow does not name it"):
        registry.find("AIQA_FR")


def test_a_pool_of_ones_own(tmp_path: Path) -> None:
    settings = ToolSettings(allow=("ssim", "psnr", "noise"), deny=("PSNR",))
    registry = build_registry(settings, tmp_path)
    assert sorted(registry.names()) == ["SSIM", "noise"]
    assert registry.unavailable["PSNR"] == "tools.deny names it"
    with pytest.raises(ConfigError, match="unknown tool 'SSIMM'"):
        build_registry(ToolSettings(deny=("SSIMM",)), tmp_path)


def test_curves_of_ones_own(tmp_path: Path) -> None:
    own = Calibration((0.0, 1.0, 0.0, 4.0, 1.0), "a test of ours, made by hand", (0.0, 1.0), True)
    save_calibrations({"SSIM": own}, tmp_path / "mine.yaml")
    registry = build_registry(ToolSettings(calibrations=tmp_path / "mine.yaml"), tmp_path)
    assert registry.find("SSIM").calibration(0.5) == 3.0
    assert registry.find("GMSD").calibration.coefficients == load_calibrations()["GMSD"].coefficients


def test_a_tool_that_is_left_out_is_listed_as_such() -> None:
    assert facts_of("PSNR", ToolSettings(deny=("PSNR",)))["state"] == "left out"


def test_a_run_under_the_profile_measures_with_the_papers_tools(isolated, pair) -> None:
    with AgenticIQA("embedded", profile="paper", record=False) as assessor:
        result = assessor.assess(pair.test, reference=pair.reference)
    assert result.metadata["profile"] == "paper"
    assert result.metadata["tools"]["calibrations"] == "printed"
    assert len(result.metadata["tools"]["allow"]) == 28
    used = {log.tool for log in result.executor_evidence.tool_logs}
    assert used
    assert all(load_catalogue()[tool].in_paper for tool in used)


def test_the_documentation_lists_the_28_as_they_are(command_line) -> None:
    page = (Path(__file__).parents[2] / "docs/measuring/tools.md").read_text(encoding="utf-8")
    listed = json.loads(command_line("tools", "list", "--paper", "--json").out)
    assert len(listed) == 28
    for each in listed:
        origin = each["calibration"]["origin"] if each["calibration"] else "none"
        (row,) = [line for line in page.splitlines() if line.startswith(f"| {each['name']} | {each['type']} |")]
        assert row.endswith(f"| {origin} | {each['checked']} |")


def test_the_list_of_the_paper_is_shown(command_line) -> None:
    shown = command_line("tools", "list", "--paper").out
    assert "of 28 run here" in shown
    assert {"TOPIQ_FR", "PieAPP", "NIQE"} <= {*shown.split()}


def test_il_niqe_is_known_and_says_what_it_needs() -> None:
    facts = facts_of("ilniqe", ToolSettings())
    assert (facts["name"], facts["type"], facts["better"]) == ("IL-NIQE", "NR", "lower")
    assert pyiqa_name("IL-NIQE") == "ilniqe"


def test_models_are_told_at_which_distortions_a_tool_was_found_best() -> None:
    entry = load_catalogue()["TOPIQ_FR"]
    told = Tool(make_metric(entry, "pyiqa", ToolSettings(), Path()), entry=entry).describe()
    assert "Blurs (best at lens blur, motion blur)" in told
    assert "Compression (best at jpeg, jpeg2000)" in told
