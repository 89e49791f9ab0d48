"""A whole benchmark: manifest, batch, evaluation and the section it leaves."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from agenticiqa.batch.engines.base import ThreadEngine
from agenticiqa.batch.preparing import BatchRequest
from agenticiqa.batch.runner import StopSwitch
from agenticiqa.errors import OutputError
from agenticiqa.research.agreement import FigureSettings
from agenticiqa.research.benchmark import Benchmark, Plan, append_section, hardware
from agenticiqa.research.benchmark import run_benchmark as run_in_processes
from agenticiqa.research.datasets.catalogue import find
from agenticiqa.research.datasets.folder import DatasetError
from agenticiqa.research.distortions.apply import distort
from agenticiqa.research.results import EvaluationError
from support.pictures import save, scene

pytestmark = pytest.mark.usefixtures("isolated")


@pytest.fixture(scope="module")
def kadid(tmp_path_factory) -> Path:
    """Real pictures with real damage, in the layout of KADID-10k."""
    home = tmp_path_factory.mktemp("kadid")
    (home / "images").mkdir()
    clean = scene()
    save(home / "images/I01.png", clean)
    rows = ["dist_img,ref_img,dmos,var"]
    for number, kind in ((1, "gaussian_blur"), (10, "jpeg"), (11, "white_noise")):
        for level in range(1, 6):
            name = f"I01_{number:02}_{level:02}.png"
            save(home / "images" / name, distort(clean, kind, level))
            rows.append(f"{name},I01.png,{5 - 0.8 * level},0.5")
    (home / "dmos.csv").write_text("\n".join(rows))
    return home


def plan(kadid: Path, tmp_path: Path, **changes) -> Plan:
    defaults = {
        "dataset": find("kadid10k"),
        "folder": kadid,
        "work": tmp_path / "run",
        "page": tmp_path / "docs" / "evaluating" / "results.md",
        "command": "agenticiqa benchmark kadid10k FOLDER",
        "request": BatchRequest(tools=("PSNR", "SSIM")),
        "workers": 1,
        "settings": FigureSettings(resamples=20),
    }
    return Plan(**{**defaults, **changes})


def run_benchmark(plan: Plan, **options) -> Benchmark:
    """In a thread of this process: starting another one is what takes the time."""
    return run_in_processes(plan, make_engine=lambda job: ThreadEngine(job, 1), **options)


def test_tools_are_run_evaluated_and_written_down(kadid, tmp_path):
    done = run_benchmark(plan(kadid, tmp_path))
    assert (done.summary.ok, done.summary.failed) == (15, 0)
    assert [evaluation.score for evaluation in done.evaluations] == ["tool:PSNR", "tool:SSIM"]
    assert all(evaluation.scores[0].figures.srcc.value > 0.4 for evaluation in done.evaluations)
    page = (tmp_path / "docs/evaluating/results.md").read_text()
    for expected in (
        "## KADID-10k (all, 15 of 10125), PSNR, SSIM, ",
        "`agenticiqa benchmark kadid10k FOLDER`",
        "all 15 of 15 listed (official count 10125)",
        "with references",
        "Python 3.",
        "cores",
        "| tool:SSIM | 15 |",
        "SRCC by distortion",
    ):
        assert expected in page


def test_the_embedded_backend_is_benchmarked_blind(kadid, tmp_path):
    done = run_benchmark(plan(kadid, tmp_path, request=BatchRequest(backend="embedded"), max_samples=2, blind=True))
    assert done.summary.total == 2
    page = (tmp_path / "docs/evaluating/results.md").read_text()
    assert "2 drawn from 15 of 15" in page
    assert "references withheld" in page
    assert "summarizer embedded" in page
    assert '"reference_path"' not in (tmp_path / "run/manifest.jsonl").read_text()


def test_results_are_not_overwritten_unasked_but_can_be_resumed(kadid, tmp_path):
    run_benchmark(plan(kadid, tmp_path))
    with pytest.raises(OutputError, match="holds results already"):
        run_benchmark(plan(kadid, tmp_path))
    again = run_benchmark(plan(kadid, tmp_path, resume=True))
    assert again.summary.done_earlier == 15
    assert (tmp_path / "docs/evaluating/results.md").read_text().count("## KADID-10k") == 2


def test_a_stopped_run_leaves_no_section(kadid, tmp_path):
    stop = StopSwitch()
    stop.ask()
    with pytest.raises(EvaluationError, match="stopped with 15 samples to go"):
        run_benchmark(plan(kadid, tmp_path), stop=stop)
    assert not (tmp_path / "docs/evaluating/results.md").exists()


def test_a_run_without_any_answer_leaves_no_section(kadid, tmp_path):
    broken = tmp_path / "broken"
    (broken / "images").mkdir(parents=True)
    (broken / "dmos.csv").write_text("dist_img,ref_img,dmos\nI01_01_01.png,I01.png,4\n")
    for name in ("I01.png", "I01_01_01.png"):
        (broken / "images" / name).write_bytes(b"not a picture")
    with pytest.raises(EvaluationError, match="None of 1 samples"):
        run_benchmark(plan(broken, tmp_path))
    assert not (tmp_path / "docs/evaluating/results.md").exists()


@pytest.mark.hard
def test_missing_pictures_must_be_accepted(kadid, tmp_path):
    partial = tmp_path / "partial"
    (partial / "images").mkdir(parents=True)
    (partial / "dmos.csv").write_text((kadid / "dmos.csv").read_text())
    for name in ("I01.png", "I01_01_01.png", "I01_01_05.png", "I01_10_03.png"):
        Image.open(kadid / "images" / name).save(partial / "images" / name)
    with pytest.raises(DatasetError, match="lacks 12 pictures"):
        run_benchmark(plan(partial, tmp_path))
    run_in_processes(plan(partial, tmp_path, partial=True))
    assert "12 without their pictures left out" in (tmp_path / "docs/evaluating/results.md").read_text()


def test_sections_are_appended(tmp_path):
    page = tmp_path / "results.md"
    append_section(page, "## One\n")
    append_section(page, "## Two\n")
    text = page.read_text()
    assert text.startswith("# Results")
    assert text.index("## One") < text.index("## Two")


def test_hardware_is_one_line():
    assert "cores" in hardware()
    assert "\n" not in hardware()
