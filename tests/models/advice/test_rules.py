"""Rules of advice: data with sources, applied to findings."""

from __future__ import annotations

import re

import pytest

from agenticiqa.advice import AdviceCase, advice_from_analysis, advise, rules
from agenticiqa.state import DistortionAnalysis
from agenticiqa.vocabulary import CATEGORIES


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: f"{rule.when}-{'-'.join(sorted(rule.needs))}-{rule.least}")
def test_a_rule_names_its_source_and_only_amounts_that_it_needs(rule):
    assert len(rule.source) > 15
    assert set(re.findall(r"\{(\w+)\}", rule.do)) <= rule.needs


def test_every_category_that_is_found_severe_has_an_advice():
    for category in CATEGORIES:
        assert advise([AdviceCase((category,), "found", 3.0)]), category


def test_the_worst_comes_first_and_nothing_twice():
    found = advise(
        [
            AdviceCase(("Noise",), "a little grain", 1.0),
            AdviceCase(("Compression",), "blocks", 4.0),
            AdviceCase(("Noise",), "grain in the sky", 2.0),
        ]
    )
    assert [each.because for each in found] == ["blocks", "grain in the sky"]


def test_amounts_are_named_where_they_are_known():
    said = advise([AdviceCase(("motion_blur", "Blurs"), "smeared", 3.0, {"smear": "9", "factor": "16"})])[0].do
    assert "16 times as fast" in said
    assert "9 px" in said
    assert "twice" in advise([AdviceCase(("motion_blur", "Blurs"), "smeared", 3.0)])[0].do


def test_what_is_hardly_there_is_not_advised_about():
    assert advise([AdviceCase(("Blurs",), "soft", 0.4)]) == []
    assert "Sharpen a little" in advise([AdviceCase(("Blurs",), "soft", 1.0)])[0].do


def test_what_a_model_cannot_tell_is_not_advised_about():
    unsure = DistortionAnalysis(type="Noise", severity="severe", explanation="Perhaps.", uncertain=True)
    assert advice_from_analysis({"Global": [unsure]}) == []
