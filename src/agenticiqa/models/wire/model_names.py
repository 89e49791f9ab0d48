"""Friendly model names and the ids that the providers know. Any name that is not listed passes through unchanged."""

from __future__ import annotations

_IDS: dict[str, dict[str, str]] = {
    "anthropic": {
        "claude-3-opus": "claude-3-opus-20240229",
        "claude-3.5-haiku": "claude-3-5-haiku-20241022",
        "claude-3.5-sonnet": "claude-3-5-sonnet-20241022",
        "claude-3.7-sonnet": "claude-3-7-sonnet-20250219",
        "claude-sonnet-4": "claude-sonnet-4-20250514",
        "claude-opus-4": "claude-opus-4-20250514",
        "claude-opus-4.1": "claude-opus-4-1-20250805",
        "claude-sonnet-4.5": "claude-sonnet-4-5-20250929",
        "claude-haiku-4.5": "claude-haiku-4-5-20251001",
        "claude-opus-4.5": "claude-opus-4-5-20251101",
    },
    "qwen": {
        "qwen2.5-vl-3b": "Qwen/Qwen2.5-VL-3B-Instruct",
        "qwen2.5-vl-7b": "Qwen/Qwen2.5-VL-7B-Instruct",
        "qwen2.5-vl-32b": "Qwen/Qwen2.5-VL-32B-Instruct",
        "qwen2.5-vl-72b": "Qwen/Qwen2.5-VL-72B-Instruct",
    },
}


def model_id(provider: str, name: str) -> str:
    """The provider's id for a model name.

    >>> model_id("anthropic", "claude-3.5-sonnet")
    'claude-3-5-sonnet-20241022'
    >>> model_id("openai", "gpt-4.1-mini")
    'gpt-4.1-mini'
    """
    return _IDS.get(provider, {}).get(name, name)
