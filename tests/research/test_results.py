"""Reading result files: generous about columns, strict about what counts as an answer."""

from __future__ import annotations

import pytest

from agenticiqa.research.results import EvaluationError, read_results, score_of
from support.result_lines import chosen, scored, write


def only(tmp_path, line, **kwargs):
    (result,) = read_results(write(tmp_path / "r.jsonl", [line]), **kwargs).results
    return result


@pytest.mark.parametrize("status", ["ok", "partial"])
def test_an_answered_sample_has_its_score(tmp_path, status):
    result = only(tmp_path, scored("a", 3.5, 4.2, status))
    assert (result.score, result.truth, result.status) == (4.2, 3.5, status)


@pytest.mark.parametrize("score", [4.2, None])
def test_a_failed_sample_has_no_score_whatever_it_left_behind(tmp_path, score):
    assert only(tmp_path, scored("a", 3.5, score, "error")).score is None


def test_a_failed_sample_has_no_answer_whatever_it_left_behind(tmp_path):
    result = only(tmp_path, chosen("a", "A", "A", "error"))
    assert result.choice is None
    assert not result.correct


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "4.2", True])
def test_what_is_no_number_is_no_score(tmp_path, value):
    assert only(tmp_path, scored("a", 3.5, value)).score is None


@pytest.mark.parametrize(
    ("right", "answer", "correct"),
    [
        ("B", "B", True),
        ("Noise", "B", True),
        ("noise.", "The answer is B.", True),
        ("B. Noise", "noise", True),
        ("Noise", "A", False),
        ("A", "Unable to determine", False),
        ("A", "something else", False),
    ],
)
def test_letters_and_words_name_the_same_option(tmp_path, right, answer, correct):
    assert only(tmp_path, chosen("a", right, answer)).correct is correct


def test_unable_to_determine_is_no_answer(tmp_path):
    assert only(tmp_path, chosen("a", "A", "Unable to determine", "partial")).choice is None


def test_options_in_the_question_count(tmp_path):
    line = chosen("a", "Very", "B") | {"options": None, "query": "How blurry? A. A little B. Very"}
    assert only(tmp_path, line).correct


def test_without_options_words_are_compared(tmp_path):
    line = chosen("a", "Yes", "yes.") | {"options": None, "query": "Is it sharp?"}
    assert only(tmp_path, line).correct


def test_a_right_answer_outside_the_options_is_reported_with_its_line(tmp_path):
    with pytest.raises(EvaluationError, match=r"line 2.*'Dust'"):
        read_results(write(tmp_path / "r.jsonl", [chosen("a", "A", "A"), chosen("b", "Dust", "A")]))


def test_the_last_attempt_counts(tmp_path):
    file = read_results(write(tmp_path / "r.jsonl", [scored("a", 3, None, "error"), scored("a", 3, 2.5)]))
    assert [result.score for result in file.results] == [2.5]
    assert file.superseded == 1


def test_tool_scores_of_both_kinds_of_lines(tmp_path):
    measured = scored("a", 3, None) | {
        "measurements": [
            {"tool": "PSNR", "region": "sky", "raw": 11.0, "calibrated": 1.0},
            {"tool": "PSNR", "region": None, "raw": 31.5, "calibrated": 3.1},
        ]
    }
    assert only(tmp_path, measured, score="tool:psnr").score == 3.1
    assert only(tmp_path, measured, score="raw:PSNR").score == 31.5
    logs = [
        {"tool": "SSIM", "region": [0, 0, 5, 5], "raw_score": 0.1, "calibrated_score": 1.0},
        {"tool": "SSIM", "region": None, "raw_score": 0.9, "calibrated_score": 3.06},
    ]
    assert score_of({"executor_evidence": {"tool_logs": logs}}, "tool:SSIM") == 3.06
    assert score_of({"executor_evidence": {"tool_logs": logs}}, "tool:VIF") is None
    assert score_of({"a": {"b": 2}}, "a.b") == 2.0


def test_another_truth_column(tmp_path):
    assert only(tmp_path, scored("a", 3, 4, mos_zscore=70.5), truth="mos_zscore").truth == 70.5


def test_opinions_of_a_csv_manifest_are_texts(tmp_path):
    assert only(tmp_path, scored("a", 3, 4, mos_zscore="70.5"), truth="mos_zscore").truth == 70.5
    assert only(tmp_path, scored("a", 3, 4, mos_zscore="high"), truth="mos_zscore").truth is None


def test_columns_that_collided_are_found(tmp_path):
    assert only(tmp_path, scored("a", 3, 4, input_plan="x")).group("plan") == "x"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no results"),
        ('{"sample_id": "a", "status": "ok"}\n{"sam\n', "line 2 is not JSON"),
        ("[1]", "no sample_id"),
        ('{"sample_id": "a", "status": "fine"}', "status 'fine'"),
    ],
)
def test_broken_files_say_where(tmp_path, text, message):
    file = tmp_path / "r.jsonl"
    file.write_text(text)
    with pytest.raises(EvaluationError, match=message):
        read_results(file)


def test_a_file_that_is_not_there():
    with pytest.raises(EvaluationError):
        read_results("nowhere.jsonl")


def test_a_line_that_a_kill_cut_off_is_told_and_not_counted(tmp_path):
    file = write(tmp_path / "r.jsonl", [scored("a", 3, 2)])
    with file.open("a") as stream:
        stream.write('{"sample_id": "b", "stat')
    read = read_results(file)
    assert (len(read.results), read.torn) == (1, True)


def test_a_failed_line_without_options_keeps_its_right_letter(tmp_path):
    line = chosen("a", "B", None, "error")
    del line["options"]
    assert only(tmp_path, line).right == "B"


def test_a_number_beyond_all_floats_is_no_number(tmp_path):
    result = only(tmp_path, {**scored("a", 3.5, 10**400), "mos": 10**400, "answer": "x"})
    assert (result.score, result.truth) == (None, None)


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ({"measurements": [1]}, "measurements is no list of objects"),
        ({"measurements": {"tool": "SSIM"}}, "measurements is no list of objects"),
        ({"metadata": []}, "metadata is no object"),
        ({"metadata": {"timings": 3}}, "metadata.timings is no object"),
        ({"metadata": {"call_log": ["x"]}}, "metadata.call_log is no list of objects"),
        ({"summarizer_result": "A"}, "summarizer_result is no object"),
    ],
)
def test_parts_of_another_form_are_named_with_their_line(tmp_path, part, told):
    with pytest.raises(EvaluationError, match=rf"line 1: {told}"):
        only(tmp_path, {**scored("a", 3.5, 4.0), **part})


def test_brackets_without_end_are_an_error_with_the_line(tmp_path):
    file = tmp_path / "r.jsonl"
    file.write_text('{"sample_id": "a", "x": ' + "[" * 100_000 + "\n", encoding="utf-8")
    with pytest.raises(EvaluationError, match="line 1 is not JSON"):
        read_results(file)
