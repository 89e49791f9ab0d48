"""Every statistic agrees with an independent reference."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as reference_mcnemar
from statsmodels.stats.proportion import proportion_confint

from agenticiqa.research import statistics

EXACT = 1e-10


def correlated(count: int, seed: int, ties: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(3, 1, count)
    y = 0.7 * x + rng.normal(0, 0.6, count)
    return (np.round(x, 1), np.round(y, 1)) if ties else (x, y)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("count", [3, 40, 700])
def test_correlations_agree_with_scipy(count, ties):
    x, y = correlated(count, count, ties)
    assert statistics.pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=EXACT)
    assert statistics.spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=EXACT)
    assert statistics.kendall(x, y) == pytest.approx(stats.kendalltau(x, y).statistic, abs=EXACT)
    assert statistics.root_mean_square(x, y) == pytest.approx(math.sqrt(np.mean((x - y) ** 2)), abs=EXACT)


def test_correlations_of_many_rows_are_those_of_each_row():
    rows = [correlated(30, seed, ties=True) for seed in range(5)]
    x, y = np.stack([row[0] for row in rows]), np.stack([row[1] for row in rows])
    for statistic in (statistics.pearson, statistics.spearman, statistics.kendall):
        assert statistic(x, y) == pytest.approx([float(statistic(*row)) for row in rows], abs=EXACT)


@pytest.mark.parametrize("statistic", [statistics.pearson, statistics.spearman, statistics.kendall])
def test_a_constant_has_no_correlation(statistic):
    estimate = statistics.bootstrap(statistic, np.full(9, 0.1), np.arange(9.0))
    assert estimate == statistics.IntervalEstimate(None)


def test_one_sample_has_no_correlation():
    assert statistics.bootstrap(statistics.pearson, np.array([1.0]), np.array([2.0])).value is None


def test_bootstrap_interval_is_scipys():
    x, y = correlated(80, 1)
    ours = statistics.bootstrap(statistics.spearman, x, y, resamples=300, seed=5)
    reference = stats.bootstrap(
        (x, y),
        lambda a, b: stats.spearmanr(a, b).statistic,
        paired=True,
        vectorized=False,
        n_resamples=300,
        method="percentile",
        random_state=np.random.default_rng(5),
    ).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((reference.low, reference.high), abs=EXACT)


def test_bootstrap_interval_covers_the_truth_about_as_often_as_it_says():
    """Correlation 0.7 / sqrt(0.49 + 0.36) of the made population, 95 % asked for."""
    truth = 0.7 / math.sqrt(0.85)
    inside = 0
    for seed in range(120):
        estimate = statistics.bootstrap(statistics.pearson, *correlated(100, seed), resamples=400, seed=seed)
        inside += estimate.low <= truth <= estimate.high
    assert 104 <= inside <= 119


def clustered(seed: int) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Twenty scenes of ten versions; a method that likes some scenes more than people do."""
    rng = np.random.default_rng(seed)
    opinions = rng.normal(0, 1, (20, 10))
    guesses = opinions + rng.normal(0, 1.5, (20, 1)) + rng.normal(0, 0.2, (20, 10))
    return guesses.ravel(), opinions.ravel(), [f"scene {i // 10}" for i in range(200)]


@pytest.mark.hard
def test_drawing_whole_clusters_covers_the_truth_about_as_often_as_it_says():
    """Correlation 1 / sqrt(1 + 2.25 + 0.04) of the made population, 95 % asked for."""
    truth = 1 / math.sqrt(3.29)
    inside = 0
    for seed in range(80):
        guesses, opinions, scenes = clustered(seed)
        found = statistics.bootstrap(statistics.pearson, guesses, opinions, resamples=200, clusters=scenes)
        inside += found.low <= truth <= found.high
    assert inside >= 68


def test_too_few_clusters_give_no_interval():
    x, y = correlated(40, 0)
    estimate = statistics.bootstrap(statistics.pearson, x, y, clusters=["a", "b"] * 20)
    assert estimate.value is not None
    assert estimate.low is None


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 400).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_wilson_interval_agrees_with_statsmodels(counts):
    right, total = counts
    low, high = proportion_confint(right, total, alpha=0.05, method="wilson")
    share = statistics.proportion(right, total)
    assert (share.value, share.low, share.high) == pytest.approx((right / total, low, high), abs=EXACT)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_agrees_with_statsmodels(first, second):
    reference = reference_mcnemar([[10, first], [second, 7]], exact=True).pvalue
    assert statistics.mcnemar(first, second) == pytest.approx(min(reference, 1.0), abs=EXACT)
