"""Prices and names."""

from __future__ import annotations

from datetime import date

import pytest
from pydantic import ValidationError

from agenticiqa.models.known_models import (
    Feature,
    KnownModels,
    estimate_cost,
    known_models,
    known_provider,
    price_of,
)
from agenticiqa.vlm_client import TokenUsage

USAGE = TokenUsage(prompt=2000, completion=500)


@pytest.mark.parametrize(
    ("backend", "dollars"),
    [
        ("openai.gpt-4o", 0.01),
        ("openai.gpt-4o-2024-08-06", 0.01),
        ("openai.gpt-4o-2024-05-13", 0.0175),
        ("anthropic.claude-3.5-sonnet", 0.0135),
        ("anthropic.claude-3-5-sonnet-20241022", 0.0135),
        ("google.gemini-2.5-flash", 0.00185),
        ("qwen2.5-vl-local", 0.0),
        ("embedded", 0.0),
        ("compatible.llava", None),
        ("openai.model-of-tomorrow", None),
        ("nobody.nothing", None),
    ],
)
def test_estimates(backend, dollars):
    assert estimate_cost(backend, USAGE) == (None if dollars is None else pytest.approx(dollars))


def test_unknown_token_counts_have_no_cost():
    assert estimate_cost("openai.gpt-4o", TokenUsage()) is None
    assert estimate_cost("openai.gpt-4o", TokenUsage(prompt=5)) is None
    assert estimate_cost("qwen.x", TokenUsage()) == 0.0


def test_the_table_has_a_date_and_sane_figures():
    assert date.fromisoformat(known_models().prices_as_of)
    prices = [
        model.price for each in known_models().providers.values() for model in each.models.values() if model.price
    ]
    assert len(prices) >= 24
    assert all(0 < prompt <= completion for prompt, completion in prices)


def test_every_friendly_claude_name_with_a_price_resolves():
    assert known_provider("anthropic").model_id("claude-3.5-sonnet") == "claude-3-5-sonnet-20241022"
    assert price_of("anthropic.claude-sonnet-4.5") == (3.0, 15.0)
    assert price_of("anthropic.claude-sonnet-4-5") == (3.0, 15.0)
    assert price_of("anthropic.claude-opus-4.5") is None
    assert price_of("openai.gpt-4o-audio-preview") is None


def test_any_other_id_passes_through():
    assert known_provider("compatible").model_id("org/model:latest") == "org/model:latest"
    assert known_provider("nobody").model_id("x") == "x"


def test_what_models_cannot_take():
    assert known_provider("anthropic").cannot_take == {Feature.LOGPROBS, Feature.JSON_OBJECT, Feature.THINKING_BUDGET}
    reasoning = known_provider("openai").find("gpt-5-2025-08-07")
    assert reasoning is not None
    assert reasoning.cannot_take == {Feature.TEMPERATURE, Feature.TOP_P, Feature.LOGPROBS}
    assert known_provider("google").may_skip_thinking("gemini-2.5-flash-lite-preview")
    assert not known_provider("google").may_skip_thinking("gemini-2.5-pro")


def test_a_misspelt_fact_is_an_error():
    with pytest.raises(ValidationError, match="cannot_tke"):
        KnownModels.model_validate(
            {"prices_as_of": "2025-11-01", "providers": {"openai": {"cannot_tke": ["temperature"]}}}
        )
