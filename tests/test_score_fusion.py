"""Fusion of tool scores with the model's level probabilities."""

from __future__ import annotations

import ast
import inspect
import logging
import math
import sys

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agenticiqa import score_fusion
from agenticiqa.score_fusion import ScoreFusion, softmax
from agenticiqa.tools.calibration import five_parameter_logistic, paper_coefficients

FUSION = ScoreFusion()
FLAT = dict.fromkeys(range(1, 6), 0.2)

scores = st.lists(st.floats(1, 5), min_size=1, max_size=8)
log_probabilities = st.fixed_dictionaries({letter: st.floats(-1e4, 0) for letter in "ABCDE"})
# Probabilities that leave every level alive, so that weights and probabilities always overlap.
lively = st.fixed_dictionaries({letter: st.floats(-3, 0) for letter in "ABCDE"})


# --- the formula ---


def test_three_known_cases() -> None:
    """D4-08, D4-38: normalised, the result stays on the scale (C1)."""
    assert FUSION.fuse_scores([2.6], FLAT) == pytest.approx(2.60, abs=0.01)
    fair = FUSION.extract_vlm_probabilities("C", mode="classification")
    assert FUSION.fuse_scores([2.5, 2.7, 2.4], fair) == pytest.approx(2.9, abs=0.05)
    excellent = {1: 0.1, 2: 0.1, 3: 0.1, 4: 0.1, 5: 0.6}
    assert FUSION.fuse_scores([2.0], excellent) == pytest.approx(2.02, abs=0.01)


def test_printed_form_for_ablation() -> None:
    """D4-08: without normalisation, tool 2.6 with flat probabilities gives 0.52."""
    assert ScoreFusion(normalize=False).fuse_scores([2.6], FLAT) == pytest.approx(0.52, abs=0.005)


def test_weights_follow_the_formula() -> None:
    """D4-05, D4-06, D4-10, D4-38: Gaussian around the mean of the scores, eta 1, summing to one."""
    weights = FUSION.compute_perceptual_weights([2.0, 3.0, 4.0])
    plain = {c: math.exp(-((3.0 - c) ** 2)) for c in range(1, 6)}
    assert weights == pytest.approx({c: w / sum(plain.values()) for c, w in plain.items()})
    assert FUSION.tool_mean([2.0, 3.0, 5.5]) == pytest.approx(3.5)


def test_eta_sharpens_the_weights() -> None:
    """D4-06, D4-09: the documents' parameter takes effect."""
    assert ScoreFusion(eta=3).compute_perceptual_weights([3.0])[3] > FUSION.compute_perceptual_weights([3.0])[3]


def test_probabilities_are_the_softmax() -> None:
    """D4-07, D4-11, D4-34: log-probabilities by letter, by level or under a key."""
    logits = {"A": math.log(0.5), "B": math.log(0.3), "C": math.log(0.1), "D": math.log(0.06), "E": math.log(0.04)}
    expected = {5: 0.5, 4: 0.3, 3: 0.1, 2: 0.06, 1: 0.04}
    assert FUSION.extract_vlm_probabilities(logits, mode="logits") == pytest.approx(expected)
    assert FUSION.extract_vlm_probabilities({"logprobs": logits}) == pytest.approx(expected)
    by_level = {5: logits["A"], 4: logits["B"], 3: logits["C"], 2: logits["D"], 1: logits["E"]}
    assert FUSION.extract_vlm_probabilities(by_level) == pytest.approx(expected)
    halved = {letter: value - 7 for letter, value in logits.items()}
    assert FUSION.extract_vlm_probabilities(halved) == pytest.approx(expected)


@pytest.mark.parametrize("output", ["C", "Fair", {"final_answer": "C"}, "The answer is C."])
def test_a_bare_class_gets_most_of_the_probability(output: object) -> None:
    """D4-33, D4-34, D4-35: 0.8 for the predicted level, the rest shared."""
    p = FUSION.extract_vlm_probabilities(output, mode="classification")  # type: ignore[arg-type]
    assert p == pytest.approx({1: 0.05, 2: 0.05, 3: 0.8, 4: 0.05, 5: 0.05})
    assert FUSION.extract_vlm_probabilities(output) == p  # type: ignore[arg-type]
    assert ScoreFusion(class_confidence=0.6).extract_vlm_probabilities("A")[5] == pytest.approx(0.6)


def test_anything_else_is_uniform(caplog: pytest.LogCaptureFixture) -> None:
    """D4-34, D4-35: no level and no log-probability gives 0.2 each, and the log says so."""
    assert FUSION.extract_vlm_probabilities("A", mode="uniform") == pytest.approx(FLAT)
    assert not caplog.records
    for output in ("no idea", "not good", {}, {"final_answer": None}, "B or C"):
        assert FUSION.extract_vlm_probabilities(output) == pytest.approx(FLAT)
    assert FUSION.extract_vlm_probabilities("C", mode="logits") == pytest.approx(FLAT)
    assert caplog.text.count("flat distribution") == 6


def test_a_mode_that_does_not_exist_is_uniform(caplog: pytest.LogCaptureFixture) -> None:
    assert FUSION.extract_vlm_probabilities("A", mode="guess") == pytest.approx(FLAT)  # type: ignore[arg-type]
    assert "'guess' is no way to read probabilities" in caplog.text


def test_logprobs_that_say_nothing_leave_the_class() -> None:
    """D4-33, D4-35: unusable log-probabilities fall back to the level the model wrote."""
    for useless in ({}, {"A": -math.inf}, {"A": math.nan}, {"Z": -0.1}, None):
        p = FUSION.extract_vlm_probabilities({"logprobs": useless, "final_answer": "B"})
        assert p[4] == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("score", "letter", "level"),
    [
        (1.0, "E", 1),
        (1.49, "E", 1),
        (1.5, "D", 2),
        (2.5, "C", 3),
        (3.49, "C", 3),
        (3.5, "B", 4),
        (4.5, "A", 5),
        (5.0, "A", 5),
    ],
)
def test_levels_round_half_up(score: float, letter: str, level: int) -> None:
    """D4-13: a letter; a score on a threshold belongs to the better level."""
    assert FUSION.map_to_level(score) == letter
    assert FUSION.level_of(score) == level


def test_thresholds_are_configurable() -> None:
    """D4-13: other thresholds move the borders."""
    assert ScoreFusion(level_thresholds=(2, 3, 4, 4.8)).map_to_level(4.6) == "B"


@pytest.mark.parametrize("score", [math.nan])
def test_no_number_has_no_level(score: float) -> None:
    """D4-13: never a level for nothing."""
    with pytest.raises(ValueError, match="not a number"):
        FUSION.map_to_level(score)


def test_the_module_stands_alone() -> None:
    """D4-04: no agent, no graph, no picture, no settings: it can be used, and is used here, by itself."""
    tree = ast.parse(inspect.getsource(score_fusion))
    modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    own = {module for module in modules if module.startswith("agenticiqa")}
    assert own <= {"agenticiqa.answers", "agenticiqa.vocabulary", "agenticiqa.errors"}
    assert {module.split(".")[0] for module in modules - own} <= set(sys.stdlib_module_names)


def test_a_module_of_its_own_with_the_printed_signatures() -> None:
    """D4-09, D4-10, D4-11, D4-12, D4-13: standalone, defaults eta=1.0 and levels 1..5."""
    assert inspect.getmodule(ScoreFusion) is score_fusion
    parameters = inspect.signature(ScoreFusion).parameters
    assert parameters["eta"].default == 1.0
    assert list(parameters["quality_levels"].default) == [1, 2, 3, 4, 5]
    assert list(inspect.signature(ScoreFusion.compute_perceptual_weights).parameters) == ["self", "tool_scores"]
    assert list(inspect.signature(ScoreFusion.fuse_scores).parameters) == ["self", "tool_scores", "vlm_probabilities"]
    assert list(inspect.signature(ScoreFusion.extract_vlm_probabilities).parameters)[:2] == ["self", "vlm_output"]
    assert list(inspect.signature(ScoreFusion.map_to_level).parameters) == ["self", "score"]


@pytest.mark.parametrize(
    ("tool", "raw", "calibrated"),
    [("SSIM", 0.9, 3.06), ("NIQE", 3.0, 3.39), ("TOPIQ_FR", 0.5, 2.81), ("QAlign", 5.0, 4.57)],
)
def test_calibration_checks(tool: str, raw: float, calibrated: float) -> None:
    """D4-05: the scores that are averaged come from the five-parameter logistic; its four published values."""
    assert float(five_parameter_logistic(raw, *paper_coefficients()[tool])) == pytest.approx(calibrated, abs=0.01)


@pytest.mark.parametrize(
    "wrong",
    [
        {"eta": 0},
        {"eta": math.nan},
        {"quality_levels": [3]},
        {"quality_levels": [1, 1]},
        {"class_confidence": 1.0},
    ],
)
def test_impossible_parameters_are_refused(wrong: dict[str, object]) -> None:
    """D4-09: at once, not with the first score."""
    with pytest.raises(ValueError, match=r"eta|levels|confidence"):
        ScoreFusion(**wrong)  # type: ignore[arg-type]


# --- properties ---


@given(scores, log_probabilities)
def test_score_stays_on_the_scale(tool_scores: list[float], logits: dict[str, float]) -> None:
    """D4-08: whatever the tools and the model say."""
    p = FUSION.extract_vlm_probabilities(logits)
    assert 1 <= FUSION.fuse_scores(tool_scores, p) <= 5
    assert math.fsum(p.values()) == pytest.approx(1)


@given(st.floats(1, 5), st.floats(1, 5), lively)
def test_monotone_in_the_tool_mean(one: float, other: float, logits: dict[str, float]) -> None:
    """D4-06, D4-08: better measurements never lower the fused score."""
    p = FUSION.extract_vlm_probabilities(logits)
    low, high = sorted((one, other))
    assert FUSION.fuse_scores([low], p) <= FUSION.fuse_scores([high], p) + 1e-9


@given(st.data(), scores, lively)
def test_order_of_tools_does_not_matter(
    data: st.DataObject, tool_scores: list[float], logits: dict[str, float]
) -> None:
    """D4-05, D4-12: any permutation gives the very same score."""
    shuffled = data.draw(st.permutations(tool_scores))
    p = FUSION.extract_vlm_probabilities(logits)
    assert FUSION.fuse_scores(shuffled, p) == FUSION.fuse_scores(tool_scores, p)


@given(
    st.dictionaries(st.sampled_from("ABCDE"), st.floats(-1e308, 1e308) | st.just(-math.inf), min_size=1),
    scores,
)
def test_extreme_log_probabilities_are_stable(logits: dict[str, float], tool_scores: list[float]) -> None:
    """D4-07, D4-08: no overflow, no NaN, no exception."""
    p = FUSION.extract_vlm_probabilities(logits, mode="logits")
    assert all(math.isfinite(value) and 0 <= value <= 1 for value in p.values())
    assert 1 <= FUSION.fuse_scores(tool_scores, p) <= 5


@given(scores, st.integers(1, 3), lively)
def test_scores_that_are_no_numbers_are_dropped(tool_scores: list[float], count: int, logits: dict[str, float]) -> None:
    """D4-05: NaN and infinity neither count nor poison the mean."""
    p = FUSION.extract_vlm_probabilities(logits)
    spoilt = [math.nan, *tool_scores, math.inf, -math.inf][: len(tool_scores) + count]
    assert FUSION.fuse_scores(spoilt, p) == FUSION.fuse_scores(tool_scores, p)


def test_dropped_scores_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    """D4-05: a warning says how many."""
    with caplog.at_level(logging.WARNING):
        assert FUSION.tool_mean([math.nan, 3.0]) == 3.0
    assert "Dropped 1 tool score" in caplog.text
    assert FUSION.tool_mean([math.nan]) is None


@given(st.lists(st.integers(-20, 20), min_size=2, max_size=9, unique=True), scores, st.data())
def test_other_level_sets(levels: list[int], tool_scores: list[float], data: st.DataObject) -> None:
    """D4-09: weights and score adapt to the levels given."""
    fusion = ScoreFusion(quality_levels=levels)
    weights = fusion.compute_perceptual_weights(tool_scores)
    assert sorted(weights) == sorted(levels)
    assert math.fsum(weights.values()) == pytest.approx(1)
    p = softmax({level: data.draw(st.floats(-3, 0)) for level in levels})
    assert min(levels) <= fusion.fuse_scores(tool_scores, p) <= max(levels)


@given(st.floats(1, 5))
def test_nothing_in_common_leaves_the_tool_mean(mean: float) -> None:
    """D4-08: where weights and probabilities do not meet, the measurements decide."""
    fusion = ScoreFusion(eta=200)
    far = 1 if mean > 3 else 5
    assume(abs(mean - far) > 1.5)
    assert fusion.fuse_scores([mean], {far: 1.0}) == pytest.approx(mean)


def test_nothing_to_fuse_is_an_error() -> None:
    """D4-08: never a default score."""
    with pytest.raises(ValueError, match="neither"):
        FUSION.fuse_scores([], {})
    with pytest.raises(ValueError, match="neither"):
        FUSION.fuse_scores([math.nan], {1: 0.0})


def test_without_tools_the_model_decides() -> None:
    """D4-35: flat weights leave the model's expectation."""
    p = {1: 0.0, 2: 0.0, 3: 0.0, 4: 0.5, 5: 0.5}
    assert FUSION.fuse_scores([], p) == pytest.approx(4.5)
