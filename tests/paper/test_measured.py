"""The table of ratings with tools alone: every figure again with SciPy, both formats, resumed, stopped."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.datasets.folder import DatasetError
from benchmarks.paper.methods import Choices, agents, studies
from benchmarks.paper.published import mark, published_rows
from benchmarks.paper.reproduce import ReproductionRequest, StudyResult, hardware, reproduce
from benchmarks.paper.sets import Selection, find_sets, read_only
from scipy import optimize, special, stats

from agenticiqa.batch.engines.base import ThreadEngine
from agenticiqa.batch.runner import StopSwitch
from agenticiqa.errors import OutputError
from agenticiqa.research.results import EvaluationError
from support.paper_data import make_paper_data

pytestmark = pytest.mark.usefixtures("isolated")
CHOICES = Choices(kinds=("metrics",), tools=("PSNR", "noise"))


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return make_paper_data(tmp_path_factory.mktemp("data"))


def order(data: Path, output: Path, *, sets=(), selection=None, **changes) -> ReproductionRequest:
    found = find_sets([str(data)], sets, selection or Selection())
    return ReproductionRequest(
        **{"studies": studies("ratings", found, CHOICES), "output": output, "command": "cmd", **changes}
    )


def run(given: ReproductionRequest, **options) -> list[StudyResult]:
    """In a thread of this process: starting another one is what takes the time."""
    return reproduce(given, make_engine=lambda job: ThreadEngine(job, 1), **options)


@pytest.fixture(scope="module")
def measured(data, tmp_path_factory) -> Path:
    output = tmp_path_factory.mktemp("measured")
    run(order(data, output, resamples=50))
    return output


def outcomes(output: Path) -> list[dict]:
    return json.loads((output / "ratings.json").read_text())["outcomes"]


def logistic(x, b1, b2, b3, b4, b5):
    return b1 * (special.expit(b2 * (x - b3)) - 0.5) + b4 * x + b5


def fitted(x, y) -> float:
    """PLCC behind the best curve SciPy finds from many starts, no steeper than docs/evaluating/evaluation.md says."""
    u, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    bounds = [-100, 0, -100, -100, -100], [100, 20, 100, 100, 100]
    best = (np.inf, 0.0)
    for steep, centre in itertools.product((0.5, 2, 8), (-1, -0.3, 0.3, 1)):
        found, _ = optimize.curve_fit(logistic, u, y, p0=[3, steep, centre, 0, 0], bounds=bounds, max_nfev=5000)
        mapped = logistic(u, *found)
        best = min(best, (np.square(mapped - y).sum(), stats.pearsonr(mapped, y)[0]))
    return float(best[1])


@pytest.mark.hard
def test_figures_equal_those_of_scipy(measured):
    found = outcomes(measured)
    assert [(each["set"], each["method"]) for each in found] == [
        ("tid2013", "PSNR"), ("tid2013", "noise"), ("bid", "noise"), ("agiqa-3k", "noise"),
    ]  # fmt: skip
    for each in found:
        file = next(measured.glob(f"runs/{each['set']}/metric-{each['method']}/results.jsonl"))
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        sign = 1 if each["method"] == "PSNR" else -1
        x = np.array([sign * line["measurements"][0]["raw"] for line in lines])
        y = np.array([line["mos"] for line in lines])
        scores = each["scores"]
        assert scores["srcc"]["value"] == pytest.approx(stats.spearmanr(x, y)[0], abs=1e-12)
        assert scores["plcc"]["value"] == pytest.approx(stats.pearsonr(x, y)[0], abs=1e-12)
        assert scores["krcc"]["value"] == pytest.approx(stats.kendalltau(x, y)[0], abs=1e-12)
        assert scores["srcc"]["low"] <= scores["srcc"]["value"] <= scores["srcc"]["high"]
        assert (each["asked"], scores["used"], each["whole_set"]) == (len(lines), len(lines), False)
        if each["set"] == "tid2013":
            assert scores["plcc_fitted"]["value"] == pytest.approx(fitted(x, y), abs=2e-3)
        else:
            assert scores["plcc_fitted"]["value"] is None  # too few pictures to fit a curve to


def test_both_formats_hold_ours_and_the_published_rows(measured):
    assert {path.name for path in measured.glob("ratings.*")} == {"ratings.md", "ratings.json"}
    for text in ((measured / "ratings.md").read_text(), (measured / "ratings.json").read_text()):
        for expected in ("AgenticIQA (GPT-4o) (published)", "0.9165", "noise", "US"):
            assert expected in text
    stored = json.loads((measured / "ratings.json").read_text())
    assert len(stored["outcomes"][0]["results_sha256"]) == 64
    assert stored["facts"]["Command"] == "cmd"
    assert stored["facts"]["Hardware"] == hardware()
    assert "cores" in hardware()
    assert "\n" not in hardware()


def test_published_rows_say_which_of_ours_is_like_them(data, tmp_path):
    choices = Choices(kinds=("metrics",), tools=("LPIPS",))
    found = find_sets([str(data)], ["tid2013"], Selection(max_samples=5))
    done = run(ReproductionRequest(studies("ratings", found, choices), tmp_path / "out", "cmd", resamples=0))[0]
    by_method = {row[0]: row for row in done.table.rows}
    assert by_method["LPIPS (published)"][-1] == "ours: LPIPS"
    assert by_method["LPIPS"][-1] == "≈ LPIPS: 5 of 3,000 samples of TID2013"
    assert by_method["AgenticIQA (GPT-4o) (published)"][-1] == "ours: --models openai.gpt-4o --methods agents"
    assert "tools show TOPIQ-FR" in by_method["TOPIQ-FR (published)"][-1]
    whole = replace(done.outcomes[0], whole=True)
    rows = published_rows(found)
    assert mark(done.study.methods[0], [whole], rows) == "= LPIPS"
    [gpt] = agents(["openai.gpt-4o-2024-08-06"])
    prompts = ["planner", "detection", "analysis", "selection"]
    same = {"profile": "paper", "profile_changes": [], "tools": {"allow": ["A", "B"], "missing": []}}
    same["own_prompts"] = prompts
    assert mark(gpt, [replace(whole, conditions=[same])], rows) == "= AgenticIQA (GPT-4o)"
    for change, reason in (
        ({"profile": None}, "not the paper's tools, calibrations and modes (--profile paper)"),
        ({"profile_changes": ["pipeline.fusion.eta"]}, "other settings (pipeline.fusion.eta)"),
        ({"own_prompts": prompts[1:]}, "our prompts (planner)"),
        ({"tools": {"allow": ["A", "B"], "missing": ["B"]}}, "1 of 2 tools were missing (B)"),
        ({"tools": {"allow": ["A", "B"]}}, "which tools ran is not on record"),
    ):
        # One result that was got otherwise is enough.
        marked = mark(gpt, [replace(whole, conditions=[same, {**same, **change}])], rows)
        assert marked == f"≈ AgenticIQA (GPT-4o): {reason}"
    failed = replace(whole.file, results=[replace(each, status="partial") for each in whole.file.results])
    partial = replace(whole, conditions=[same], file=failed)
    assert mark(gpt, [partial], rows) == "≈ AgenticIQA (GPT-4o): 5 of 5 results are partial"
    [qwen] = agents(["qwen2.5-vl-local"])
    tuned = "≈ AgenticIQA (Qwen2.5-VL, tuned): other weights: the paper's are tuned"
    assert mark(qwen, [replace(whole, conditions=[same])], rows) == tuned
    assert mark(agents(["openai.gpt-4o-mini"])[0], [whole], rows) == ""


def test_second_run_measures_nothing_again(data, measured):
    before = {path: path.read_bytes() for path in measured.glob("runs/**/*") if path.is_file()}

    def refuse(_job):
        raise AssertionError("nothing is left to do")

    reproduce(order(data, measured, resamples=0), make_engine=refuse)
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.hard
def test_stopped_run_writes_what_there_is_and_goes_on(data, tmp_path):
    output, stop = tmp_path / "out", StopSwitch()
    announced: list[str] = []

    def announce(_place, _count, cell):
        announced.append(cell.method.label)
        if len(announced) == 2:
            stop.ask()

    first = run(order(data, output, resamples=0), stop=stop, announce=announce)[0]
    assert [each.complete for each in first.outcomes] == [True, False, False, False]
    last = first.table.rows[-1]
    assert (last[0], last[-1]) == ("noise", "13 of 13 not done: stopped; stopped before its turn")
    again = run(order(data, output, resamples=0))[0]
    assert all(each.complete for each in again.outcomes)


def test_tables_can_be_made_of_what_is_stored(data, measured, tmp_path):
    stored = reproduce(order(data, measured, resamples=0, runs=False))[0]
    assert all(each.complete for each in stored.outcomes)
    empty = reproduce(order(data, tmp_path / "out", resamples=0, runs=False))[0]
    assert [each.file for each in empty.outcomes] == [None] * 4
    assert empty.table.rows[-1][-1] == "not run"


def test_named_samples_of_one_set_lie_apart(data, tmp_path):
    names = tmp_path / "names.txt"
    names.write_text("DatabaseImage0002.JPG\nDatabaseImage0005.JPG\n\n")
    found = find_sets([str(data)], ["bid", "agiqa-3k"], Selection(), read_only([f"BID={names}"]))
    done = run(ReproductionRequest(studies("ratings", found, CHOICES), tmp_path / "out", "cmd", resamples=0))[0]
    assert [each.asked for each in done.outcomes] == [2, 6]
    folders = sorted(path.name for path in (tmp_path / "out/runs").iterdir())
    assert folders[0] == "agiqa-3k"
    assert folders[1].startswith("bid-only-")
    assert read_only([str(names)])[None] == read_only([f"bid={names}"])["bid"]
    (tmp_path / "empty.txt").write_text("\n")
    with pytest.raises(DatasetError):
        read_only([str(tmp_path / "empty.txt")])


@pytest.mark.hard
def test_results_of_other_pictures_are_refused(data, tmp_path):
    output = tmp_path / "out"
    run(order(data, output, sets=["bid"], resamples=0))
    file = output / "runs/bid/metric-noise/results.jsonl"
    file.write_text(file.read_text().replace("bid/DatabaseImage0001", "bid/Another"))
    with pytest.raises(OutputError, match="another --output"):
        run(order(data, output, sets=["bid"], resamples=0))


def test_places_and_names_of_datasets(data, tmp_path):
    assert [judged.name for judged in find_sets([str(data)], [], Selection())] == [
        "tid2013", "bid", "agiqa-3k", "agenticiqa-eval", "llvisionqa",
    ]  # fmt: skip
    one = find_sets([f"bid={data / 'BID'}"], [], Selection())
    assert [judged.folder for judged in one] == [data / "BID"]
    assert find_sets([str(data / "TID2013")], [], Selection())[0].name == "tid2013"
    with pytest.raises(DatasetError, match="csiq"):
        find_sets([str(data)], ["csiq"], Selection())
    with pytest.raises(DatasetError):
        find_sets([str(tmp_path)], [], Selection())
    with pytest.raises(DatasetError):
        find_sets([str(tmp_path / "nowhere")], [], Selection())


def test_split_without_answers_gives_way_to_the_one_that_has_them(data):
    assert find_sets([str(data)], ["qbench"], Selection())[0].subset == "dev"


def test_a_table_without_its_set_is_refused(data):
    only_bid = find_sets([str(data)], ["bid"], Selection())
    with pytest.raises(EvaluationError, match="needs AgenticIQA-Eval"):
        studies("eval", only_bid, Choices())
    with pytest.raises(EvaluationError, match="no table 'figure 3'"):
        studies("figure 3", only_bid, Choices())
    assert [study.table for study in studies("all", only_bid, Choices())] == ["ratings", "ablations"]


@pytest.mark.hard
def test_samples_that_failed_are_counted_and_tried_again(tmp_path):
    own = make_paper_data(tmp_path / "data")
    broken = own / "BID/ImageDatabase/DatabaseImage0003.JPG"
    whole = broken.read_bytes()
    broken.write_bytes(b"no picture")
    given = order(own, tmp_path / "out", sets=["bid"], resamples=0)
    row = run(given)[0].table.rows[-1]
    assert (row[0], row[3], row[-1]) == ("noise", "5 of 6", "1 failed")
    broken.write_bytes(whole)
    row = run(given)[0].table.rows[-1]
    assert (row[3], row[-1]) == ("6", "")
