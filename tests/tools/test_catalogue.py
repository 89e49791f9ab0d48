"""The catalogue, what the registry makes of it, and the commands that show it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from training.distortions import PROTOCOL
from training.recalibrate import save_calibrations

from agenticiqa.errors import ToolError, ToolUnavailableError
from agenticiqa.runtime.config import ToolSettings, load_settings
from agenticiqa.tools import catalogue, pyiqa_adapter
from agenticiqa.tools.calibration import load_calibrations
from agenticiqa.tools.catalogue import Provider, Purpose, availability, default_tools, fetch, load_catalogue
from agenticiqa.tools.metrics import METRICS, Metric, MetricSpec
from agenticiqa.tools.registry import Tool, ToolRegistry, build_registry, default_registry
from agenticiqa.vocabulary import CATEGORIES

PAPER_FR = [
    "TOPIQ_FR", "AHIQ", "FSIM", "LPIPS", "DISTS", "WaDIQaM_FR", "PieAPP", "MS-SSIM", "GMSD", "SSIM", "CKDN", "VIF",
    "PSNR", "VSI",
]  # fmt: skip
PAPER_NR = [
    "QAlign", "CLIPIQA", "UNIQUE", "HyperIQA", "TReS", "MUSIQ", "WaDIQaM_NR", "DBCNN", "ARNIQA", "NIMA", "BRISQUE",
    "NIQE", "MANIQA", "LIQE",
]  # fmt: skip


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with the plain package only."""
    monkeypatch.setattr(pyiqa_adapter, "find_spec", lambda _: None)
    monkeypatch.setattr(catalogue, "find_spec", lambda _: None)


def test_the_papers_28_tools_and_all_native_ones_are_there():
    entries = load_catalogue()
    assert {name for name, entry in entries.items() if entry.in_paper} == {*PAPER_FR, *PAPER_NR}
    assert [entries[name].type for name in PAPER_FR] == ["FR"] * 14
    assert [entries[name].type for name in PAPER_NR] == ["NR"] * 14
    assert set(METRICS) <= set(entries)
    assert all("native" in entries[name].providers for name in METRICS)


def test_every_entry_is_complete():
    kinds = {each.name: each.category for each in PROTOCOL}
    for entry in load_catalogue().values():
        assert entry.description, entry.name
        assert all(entry.licences.values()), entry.name
        assert {*entry.licences} == {*entry.providers} <= {*get_args(Provider)}, entry.name
        assert entry.spec.paper, entry.name
        for category, distortions in entry.best_at.items():
            assert [kinds[name] for name in distortions] == [category] * len(distortions), entry.name
        assert set(entry.agreement) <= {"all", *CATEGORIES}


def test_measured_strengths_cover_all_25_distortions_with_and_without_reference():
    for kind in ("FR", "NR"):
        entries = [entry for entry in load_catalogue().values() if entry.type == kind]
        best = [name for entry in entries for names in entry.best_at.values() for name in names]
        assert sorted(best) == sorted(each.name for each in PROTOCOL)


def test_ranges_contain_those_of_the_calibrations():
    for name, calibration in load_calibrations().items():
        entry = load_catalogue().get(name)
        if entry is None:
            continue
        low, high = entry.spec.range
        assert low <= calibration.value_range[0] < calibration.value_range[1] <= high, name
        assert entry.spec.higher_is_better is calibration.higher_is_better, name


@pytest.mark.parametrize("has_reference", [True, False])
@pytest.mark.parametrize("purpose", get_args(Purpose))
def test_tools_that_run_unasked_are_known(purpose: Purpose, has_reference: bool):
    assert {*default_tools(purpose, has_reference=has_reference)} <= {*load_catalogue()}


@pytest.mark.usefixtures("nothing_installed")
def test_a_plain_installation_runs_the_tools_it_carries(tmp_path: Path):
    registry = build_registry(ToolSettings(), tmp_path)
    assert set(METRICS) <= set(registry.names())
    assert {"DISTS", "TOPIQ_FR", "QAlign"} <= set(registry.unavailable)
    for has_reference in (True, False):
        offered = registry.offered(has_reference=has_reference)
        assert offered
        assert {tool.name for tool in offered} <= {*METRICS, "LPIPS", "AIQA_FR", "AIQA_NR"}
        for category in (*CATEGORIES, "overall"):
            best = registry.best_for(category, has_reference=has_reference)
            assert best.needs_reference == has_reference


@pytest.mark.usefixtures("nothing_installed")
def test_naming_a_tool_that_cannot_run_explains_why(tmp_path: Path):
    registry = build_registry(ToolSettings(), tmp_path)
    with pytest.raises(
        ToolUnavailableError, match=r"QAlign cannot run here: pyiqa is not installed.*agenticiqa\[pyiqa\]"
    ):
        registry.find("q-align")
    with pytest.raises(ToolUnavailableError, match=r"DISTS cannot run here: its network .* is not here"):
        registry.find("dists")
    with pytest.raises(ToolUnavailableError, match="Did you mean HaarPSI"):
        registry.find("HarrPSI")
    assert registry.named_in("What does QAlign say, and PSNR?") == ["PSNR", "QAlign"]
    assert registry.named_in("Is this a unique picture?") == []


@pytest.mark.usefixtures("nothing_installed")
@pytest.mark.parametrize("name", ["AHIQ", "TOPIQ_FR"])
def test_fetching_needs_the_extra_first(name: str, tmp_path: Path):
    with pytest.raises(ToolUnavailableError, match=r"pip install 'agenticiqa\["):
        fetch(load_catalogue()[name], folder=tmp_path)


def test_full_reference_tools_come_first_with_a_reference():
    types = [tool.type for tool in default_registry().offered(has_reference=True)]
    assert types == sorted(types)
    assert {tool.type for tool in default_registry().offered(has_reference=False)} == {"NR"}


def test_without_learned_tools_measured_agreement_decides():
    registry = ToolRegistry(tool for tool in default_registry().all() if tool.name in METRICS)
    assert registry.best_for("Noise", has_reference=False).name == "noise", "the specialist"
    for category in (*CATEGORIES, "overall"):
        ranked = registry.ranked_for(category, has_reference=False)
        strangers = [tool.spec.kind == "probe" and category not in tool.spec.good_at for tool in ranked]
        assert strangers == sorted(strangers), "a probe comes last for what it was not made for"
        assert registry.best_for(category, has_reference=True).name in {"HaarPSI", "MDSI", "VSI", "FSIM", "GMSD"}


def test_a_plug_in_without_entry_is_ranked_last_but_works():
    spec = MetricSpec("Toy", "FR", (0.0, 1.0), True, "toy", "nobody", ("Blurs",))
    ssim = default_registry().find("SSIM")
    toy = Tool(Metric(spec, ssim.metric.measure), ssim.calibration)
    registry = ToolRegistry([toy, ssim])
    assert registry.best_for("Blurs", has_reference=True).name == "SSIM"
    assert "good at Blurs" in toy.describe()
    assert len({toy, ssim}) == 2, "tools are keys of jobs"


def test_calibrations_setting_replaces_curves_tool_by_tool(tmp_path: Path):
    own = load_calibrations()["SSIM"]
    flatter = type(own)((3.0, 12.0, 0.6, 0.0, 3.0), "a user's", own.value_range, own.higher_is_better)
    save_calibrations({"SSIM": flatter}, tmp_path / "mine.yaml")
    settings = load_settings(overrides={"pipeline.tools.calibrations": str(tmp_path / "mine.yaml")}, environment={})
    registry = default_registry(settings.pipeline.tools)
    assert registry.find("SSIM").calibration == flatter
    assert registry.find("SSIM").version != default_registry().find("SSIM").version
    assert registry.find("PSNR").calibration == default_registry().find("PSNR").calibration


def test_availability_names_its_provider():
    assert availability(load_catalogue()["SSIM"]).provider == "native"
    assert availability(load_catalogue()["QAlign"]).provider == "pyiqa"


def test_a_tool_for_a_category_that_does_not_exist_is_refused():
    metric = METRICS["PSNR"]
    with pytest.raises(ToolError, match="PSNR is good at Beauty, which is no category"):
        Tool(Metric(replace(metric.spec, good_at=("Noise", "Beauty")), metric.measure))
