"""What a call costs: list prices as published by the providers, so that a run can say roughly what it spent.

Discounts, cached prompts, batch rates and long-context surcharges are not known here: the result is an estimate.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agenticiqa.models.client import BackendName, TokenUsage
from agenticiqa.models.wire.model_names import model_id

PRICES_AS_OF = "2025-11-01"


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens."""

    prompt: float
    completion: float


_FREE = Price(0.0, 0.0)

PRICES: dict[str, dict[str, Price]] = {
    "openai": {
        "gpt-4o": Price(2.50, 10.00),
        "gpt-4o-2024-05-13": Price(5.00, 15.00),
        "gpt-4o-mini": Price(0.15, 0.60),
        "gpt-4.1": Price(2.00, 8.00),
        "gpt-4.1-mini": Price(0.40, 1.60),
        "gpt-4.1-nano": Price(0.10, 0.40),
        "o3": Price(2.00, 8.00),
        "o4-mini": Price(1.10, 4.40),
        "gpt-5": Price(1.25, 10.00),
        "gpt-5-mini": Price(0.25, 2.00),
        "gpt-5-nano": Price(0.05, 0.40),
    },
    "anthropic": {
        "claude-3-opus": Price(15.00, 75.00),
        "claude-3-5-haiku": Price(0.80, 4.00),
        "claude-3-5-sonnet": Price(3.00, 15.00),
        "claude-3-7-sonnet": Price(3.00, 15.00),
        "claude-sonnet-4": Price(3.00, 15.00),
        "claude-opus-4": Price(15.00, 75.00),
        "claude-opus-4-1": Price(15.00, 75.00),
        "claude-sonnet-4-5": Price(3.00, 15.00),
        "claude-haiku-4-5": Price(1.00, 5.00),
    },
    "google": {
        "gemini-2.0-flash": Price(0.10, 0.40),
        "gemini-2.5-flash-lite": Price(0.10, 0.40),
        "gemini-2.5-flash": Price(0.30, 2.50),
        "gemini-2.5-pro": Price(1.25, 10.00),
    },
}

# Models that run on the user's own machine have no price for a token.
_LOCAL_PROVIDERS = frozenset({"qwen", "embedded"})
_DATE_SUFFIX = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8})$")


def price_of(backend: str) -> Price | None:
    """The list price of a backend's model; None where this table does not know it.

    >>> price_of("openai.gpt-4o-2024-08-06")
    Price(prompt=2.5, completion=10.0)
    """
    name = BackendName.parse(backend)
    if name.provider in _LOCAL_PROVIDERS:
        return _FREE
    table = PRICES.get(name.provider, {})
    model = model_id(name.provider, name.model)
    # A dated snapshot costs what its family costs unless it has a line of its own.
    return table.get(model) or table.get(_DATE_SUFFIX.sub("", model))


def estimate_cost(backend: str, usage: TokenUsage) -> float | None:
    """US dollars for these tokens; None where the price or the token counts are unknown.

    >>> estimate_cost("openai.gpt-4o", TokenUsage(prompt=1_000_000, completion=100_000))
    3.5
    """
    price = price_of(backend)
    if price is None:
        return None
    if price == _FREE:
        return 0.0
    if usage.prompt is None or usage.completion is None:
        return None
    return (usage.prompt * price.prompt + usage.completion * price.completion) / 1_000_000
