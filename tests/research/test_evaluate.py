"""Figures of whole files, and that nothing counts a failed sample as an answer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from agenticiqa.research.agreement import FigureSettings
from agenticiqa.research.evaluate import evaluate
from agenticiqa.research.results import EvaluationError, read_results
from agenticiqa.research.tables import markdown
from support.result_lines import chosen, scored, write

FAST = FigureSettings(resamples=50)


def many(count: int = 60, seed: int = 0, **columns) -> list[dict]:
    rng = np.random.default_rng(seed)
    opinions = rng.uniform(1, 5, count)
    guesses = np.clip(opinions + rng.normal(0, 0.5, count), 1, 5)
    return [
        scored(f"s{i}", float(m), float(g), **columns) for i, (m, g) in enumerate(zip(opinions, guesses, strict=True))
    ]


def run(tmp_path, lines, other=None, **kwargs):
    first = read_results(write(tmp_path / "first.jsonl", lines))
    second = read_results(write(tmp_path / "second.jsonl", other)) if other is not None else None
    return evaluate(first, second, settings=kwargs.pop("settings", FAST), **kwargs)


def test_figures_are_those_of_the_answered_samples(tmp_path):
    lines = many()
    failed = [scored(f"f{i}", 5.0, 1.0, "error") for i in range(7)]
    (report,) = run(tmp_path, lines + failed).scores
    mos = [line["mos"] for line in lines]
    scores = [line["summarizer_result"]["quality_score"] for line in lines]
    figures = report.figures
    assert (figures.used, figures.asked) == (60, 67)
    assert figures.srcc.value == pytest.approx(stats.spearmanr(scores, mos).statistic, abs=1e-10)
    assert figures.plcc.value == pytest.approx(stats.pearsonr(scores, mos).statistic, abs=1e-10)
    assert figures.krcc.value == pytest.approx(stats.kendalltau(scores, mos).statistic, abs=1e-10)
    assert figures.srcc.low < figures.srcc.value < figures.srcc.high


def test_failed_samples_are_always_shown(tmp_path):
    lines = [*many(), scored("f", 5.0, None, "error"), scored("p", 3.0, 3.0, "partial")]
    evaluation = run(tmp_path, lines)
    assert (evaluation.counts.ok, evaluation.counts.partial, evaluation.counts.error) == (60, 1, 1)
    text = markdown(evaluation)
    assert "1 (1.6%)" in text
    assert "1 samples have no score" in text


def test_all_failed_gives_no_figure(tmp_path):
    evaluation = run(tmp_path, [scored(f"s{i}", 3.0, None, "error") for i in range(20)])
    figures = evaluation.scores[0].figures
    assert figures.used == 0
    assert figures.srcc.value is figures.plcc_fitted.value is None
    assert "too few" in markdown(evaluation)


def test_datasets_are_never_pooled(tmp_path):
    lines = many(dataset="csiq") + [
        {**line, "sample_id": "b" + line["sample_id"], "mos": 100 - line["mos"]} for line in many(dataset="live")
    ]
    reports = run(tmp_path, lines).scores
    assert [report.dataset for report in reports] == ["csiq", "live"]
    assert reports[0].figures.srcc.value == pytest.approx(-reports[1].figures.srcc.value)


def test_groups_by_distortion(tmp_path):
    lines = many(30, 1, distortion="blur") + [
        {**line, "sample_id": "n" + line["sample_id"]} for line in many(20, 2, distortion="noise")
    ]
    groups = run(tmp_path, lines).scores[0].groups["distortion"]
    assert {name: figures.used for name, figures in groups.items()} == {"blur": 30, "noise": 20}
    assert groups["noise"].srcc.value == pytest.approx(run(tmp_path, many(20, 2)).scores[0].figures.srcc.value)


def test_small_groups_are_told(tmp_path):
    lines = many(30, distortion="blur") + [
        {**line, "sample_id": "n" + line["sample_id"]} for line in many(3, distortion="noise")
    ]
    text = markdown(run(tmp_path, lines))
    assert "| noise | 3 | – | – | – | – | – |" in text
    assert "Groups of fewer than 5 scored samples" in text
    assert "Groups of fewer" not in markdown(run(tmp_path, many(30, distortion="blur")))


def test_an_unknown_column_is_an_error(tmp_path):
    with pytest.raises(EvaluationError, match="'colour'"):
        run(tmp_path, many(), by=["colour"])


def test_without_opinions_there_is_nothing_to_evaluate(tmp_path):
    with pytest.raises(EvaluationError, match="opinion"):
        run(tmp_path, [scored("a", None, 3.0)])


def test_versions_of_one_picture_can_be_drawn_together(tmp_path):
    """A method that takes some scenes for better than others whatever their quality."""
    lines = many()
    for i, line in enumerate(lines):
        line["reference_path"] = f"scene{i % 6}.png"
        line["summarizer_result"]["quality_score"] = 1 + 0.2 * line["mos"] + 0.5 * (i % 6)
    plain = run(tmp_path, lines, settings=FigureSettings(resamples=200)).scores[0].figures.plcc
    together = run(tmp_path, lines, settings=FigureSettings(resamples=200, cluster="reference_path"))
    drawn = together.scores[0].figures.plcc
    assert drawn.value == plain.value
    assert (drawn.low, drawn.high) != (plain.low, plain.high)
    assert "groups of the same reference_path" in markdown(together)


# --- choices ---


def quiz() -> list[dict]:
    return [
        chosen("1", "A", "A", task="planner", question_type="what"),
        chosen("2", "B", "A", task="planner", question_type="how"),
        chosen("3", "Noise", "Noise", task="summarizer", question_type="how"),
        chosen("4", "C", None, "error", task="summarizer", question_type="how"),
        chosen("5", "A", "Unable to determine", "partial", task="summarizer", question_type="what"),
    ]


def test_accuracy_counts_no_failure_as_an_answer(tmp_path):
    (report,) = run(tmp_path, quiz()).choices
    assert (report.figures.asked, report.figures.answered, report.figures.right) == (5, 3, 2)
    assert report.figures.accuracy.value == pytest.approx(0.4)
    assert report.figures.accuracy_of_answered.value == pytest.approx(2 / 3)
    assert report.groups["task"]["summarizer"].right == 1
    assert report.groups["question_type"]["how"].asked == 3


# --- two files ---


def test_comparison_uses_the_samples_both_scored(tmp_path):
    first, second = many(), many(seed=0)
    rng = np.random.default_rng(9)
    for line in second:
        line["summarizer_result"]["quality_score"] = float(rng.uniform(1, 5))
    second[0] = scored("s0", second[0]["mos"], None, "error")
    comparison = run(tmp_path, [*first, scored("extra", 3.0, 3.0)], second).comparison
    (scores,) = comparison.scores
    assert (scores.common, scores.used, comparison.only_in_first) == (60, 59, 1)
    assert scores.srcc_difference.low > 0.3
    assert scores.srcc[0] - scores.srcc[1] == pytest.approx(scores.srcc_difference.value)


def test_a_file_does_not_differ_from_itself(tmp_path):
    (scores,) = run(tmp_path, many(), many()).comparison.scores
    assert scores.srcc_difference.value == scores.srcc_difference.low == scores.srcc_difference.high == 0


def test_answers_are_compared_by_mcnemar(tmp_path):
    better = [chosen(line["sample_id"], line["answer"], line["answer"]) for line in quiz()]
    choices = run(tmp_path, quiz(), better).comparison.choices
    assert (choices.both_right, choices.only_first, choices.only_second, choices.neither) == (2, 0, 3, 0)
    assert choices.p == pytest.approx(0.25)


def test_other_samples_cannot_be_compared(tmp_path):
    with pytest.raises(EvaluationError):
        run(tmp_path, many(), [scored("z", 1.0, 1.0)])


def test_other_opinions_cannot_be_compared(tmp_path):
    with pytest.raises(EvaluationError):
        run(tmp_path, many(), [scored("s0", 1.0, 1.0)])


@pytest.mark.parametrize("count", [1, 2, 4])
def test_few_samples_have_no_correlation_in_one_file_or_two(tmp_path, count):
    evaluation = run(tmp_path, many(count), many(count), settings=FAST)
    figures = evaluation.scores[0].figures
    assert figures.srcc.value is figures.plcc.value is figures.krcc.value is None
    assert "too few" in str(figures.note)
    (scores,) = evaluation.comparison.scores
    assert scores.srcc == scores.plcc == (None, None)
    assert scores.srcc_difference.value is scores.plcc_difference.value is None
    assert scores.note == figures.note
    assert markdown(evaluation).count("too few") == 2


def test_five_samples_are_enough_for_a_correlation(tmp_path):
    evaluation = run(tmp_path, many(5), many(5), settings=FAST)
    assert evaluation.scores[0].figures.srcc.value == evaluation.comparison.scores[0].srcc[0]
    assert evaluation.comparison.scores[0].srcc[0] is not None


def test_a_side_that_never_varies_is_told_in_a_comparison(tmp_path):
    constant = [scored(line["sample_id"], line["mos"], 3.0) for line in many()]
    (scores,) = run(tmp_path, many(), constant).comparison.scores
    assert scores.srcc[0] is not None
    assert scores.srcc[1] is scores.srcc_difference.value is None
    assert scores.note == "second file: every prediction is the same: there is no correlation"


def test_opinions_that_point_the_other_way_are_told(tmp_path):
    turned = run(tmp_path, [{**line, "mos": 100 - 20 * line["mos"]} for line in many()])
    assert turned.scores[0].figures.srcc.high < 0
    assert "scores fall where opinions rise" in markdown(turned)
    assert run(tmp_path, many()).scores[0].figures.note is None


def test_values_of_any_size_have_the_same_correlation(tmp_path):
    plain = run(tmp_path, many()).scores[0].figures
    lines = [scored(line["sample_id"], line["mos"] * 1e300, line["mos"] * 1e-300) for line in many()]
    assert run(tmp_path, lines).scores[0].figures.plcc.value == pytest.approx(1)
    lines = many()
    for line in lines:
        line["mos"] *= 1e250
    assert run(tmp_path, lines).scores[0].figures.plcc.value == pytest.approx(plain.plcc.value, abs=1e-12)


def test_names_in_titles_and_notes_become_no_markup(tmp_path):
    lines = many(30, dataset="<img src=x>", distortion="blur") + [
        {**line, "sample_id": "n" + line["sample_id"]} for line in many(3, dataset="<img src=x>", distortion="noise")
    ]
    lines += [scored("bare", 3.0, None, "error", dataset="<img src=x>", distortion="blur")]
    text = markdown(run(tmp_path, lines))
    assert "By distortion, &lt;img src=x>" in text
    assert "&lt;img src=x>: 1 samples have no score" in text
    assert "<img" not in text


def test_without_resamples_no_interval_is_claimed(tmp_path):
    assert "95 % intervals" not in markdown(run(tmp_path, many(), settings=FigureSettings(resamples=0)))


def test_opinions_that_never_differ_are_told(tmp_path):
    figures = run(tmp_path, [{**line, "mos": 3.0} for line in many(20)], settings=FAST).scores[0].figures
    assert figures.srcc.value is None
    assert figures.note == "every opinion is the same: there is no correlation"


def test_a_score_that_no_result_has_is_refused_with_those_there_are(tmp_path):
    measured = [
        {"sample_id": str(i), "status": "ok", "mos": i, "measurements": [{"tool": "SSIM", "calibrated": 2.0}]}
        for i in range(4)
    ]
    with pytest.raises(EvaluationError, match=r"'quality_score'.*tool:SSIM"):
        run(tmp_path, measured)


def test_a_second_file_without_the_score_is_refused_too(tmp_path):
    bare = [{**line, "summarizer_result": {"final_answer": "B"}} for line in many(5)]
    with pytest.raises(EvaluationError, match=r"second.jsonl has the score"):
        run(tmp_path, many(5), bare)
