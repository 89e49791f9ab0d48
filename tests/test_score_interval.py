"""The interval about a score: where it lies, and what it may never do."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenticiqa.nodes.rating import rate
from agenticiqa.runtime.config import FusionSettings
from agenticiqa.score_interval import NARROWED, likely_interval

FLAT = dict.fromkeys(range(1, 6), 0.2)


def test_a_flat_distribution_leaves_most_of_the_scale():
    assert likely_interval(FLAT) == pytest.approx((3 - NARROWED * 1.75, 3 + NARROWED * 1.75), abs=1e-3)


def test_two_levels_far_apart_reach_from_one_to_the_other():
    low, high = likely_interval({1: 0.0, 2: 0.5, 3: 0.0, 4: 0.5, 5: 0.0})
    assert (low, high) == pytest.approx((3 - NARROWED * 1.3, 3 + NARROWED * 1.3), abs=1e-3)


def test_nothing_in_common_has_no_interval():
    assert likely_interval(dict.fromkeys(range(1, 6), 0.0)) is None


@given(st.lists(st.floats(0, 1), min_size=5, max_size=5).filter(lambda values: sum(values) > 0.01))
def test_holds_the_score_and_stays_on_the_scale(values: list[float]):
    weights = dict(zip(range(1, 6), values, strict=True))
    low, high = likely_interval(weights)
    score = sum(level * weight for level, weight in weights.items()) / sum(values)
    assert 1 <= low <= score + 1e-3
    assert score - 1e-3 <= high <= 5


def test_tools_and_levels_make_it_narrower_together():
    said = {letter: math.log(chance) for letter, chance in zip("EDCBA", (0.02, 0.08, 0.3, 0.5, 0.1), strict=True)}
    alone, both = (rate(FusionSettings(), scores, "B", said).interval for scores in ([], [3.9]))
    assert both[1] - both[0] < alone[1] - alone[0]


def test_a_bare_letter_without_measurements_has_none():
    assert rate(FusionSettings(), [], "B", None).interval is None
