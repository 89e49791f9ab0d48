"""Prices and names."""

from __future__ import annotations

from datetime import date

import pytest

from agenticiqa.models.client import TokenUsage
from agenticiqa.models.pricing import PRICES, PRICES_AS_OF, estimate_cost, price_of
from agenticiqa.models.wire.model_names import model_id

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
    assert date.fromisoformat(PRICES_AS_OF)
    assert all(0 < price.prompt <= price.completion for table in PRICES.values() for price in table.values())


def test_every_friendly_claude_name_with_a_price_resolves():
    assert model_id("anthropic", "claude-3.5-sonnet") == "claude-3-5-sonnet-20241022"
    assert price_of("anthropic.claude-sonnet-4.5") == PRICES["anthropic"]["claude-sonnet-4-5"]


def test_any_other_id_passes_through():
    assert model_id("compatible", "org/model:latest") == "org/model:latest"
    assert model_id("nobody", "x") == "x"
