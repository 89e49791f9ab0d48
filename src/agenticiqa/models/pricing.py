"""What a call costs: list prices as published by the providers, so that a run can say roughly what it spent.

Discounts, cached prompts, batch rates and long-context surcharges are not known here: the result is an estimate.
"""

from __future__ import annotations

from dataclasses import dataclass

from agenticiqa.models.client import BackendName, TokenUsage
from agenticiqa.models.known_models import known_provider


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens."""

    prompt: float
    completion: float


_FREE = Price(0.0, 0.0)


def price_of(backend: str) -> Price | None:
    """The list price of a backend's model; None where ``models.yaml`` does not know it.

    >>> price_of("openai.gpt-4o-2024-08-06")
    Price(prompt=2.5, completion=10.0)
    """
    name = BackendName.parse(backend)
    provider = known_provider(name.provider)
    if provider.local:
        return _FREE
    model = provider.find(name.model)
    return Price(*model.price) if model and model.price else None


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
