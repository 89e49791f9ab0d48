"""What ``models.yaml`` says about the providers' models: ids, prices, and what they cannot take."""

import re
from enum import Enum
from functools import cache
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from agenticiqa._data import read_data
from agenticiqa.models.backends import BackendName
from agenticiqa.vlm_client import TokenUsage

_DATE_SUFFIX = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8})$")
_Dollars = Annotated[float, Field(ge=0)]


class Feature(str, Enum):
    """A part of a request that some models refuse."""

    TEMPERATURE = "temperature"
    TOP_P = "top_p"
    LOGPROBS = "token log-probabilities"
    TOOL_CALLS = "tool calls"
    JSON_SCHEMA = "an enforced JSON schema"
    JSON_OBJECT = "JSON mode"
    THINKING_BUDGET = "a thinking budget"


class _Facts(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class KnownModel(_Facts):
    """One model of a provider."""

    id: str | None = None
    price: tuple[_Dollars, _Dollars] | None = None
    """US dollars for a million tokens, in and out."""
    cannot_take: frozenset[Feature] = frozenset()
    thinking: Literal["optional"] | None = None


class KnownProvider(_Facts):
    """One provider and its models, by the name that users write."""

    cannot_take: frozenset[Feature] = frozenset()
    local: bool = False
    sees_side: int = 2048
    """Pixels of the longer side of a picture beyond which the provider reduces it before its models see it."""
    models: dict[str, KnownModel] = Field(default_factory=dict)

    def model_id(self, name: str) -> str:
        """The provider's id for a model name. Any name that is not listed passes through unchanged."""
        known = self.models.get(name)
        return known.id if known and known.id else name

    def find(self, model: str) -> KnownModel | None:
        """The facts of a model named by its friendly name, its id, or the id of another snapshot of its family."""
        exact = {known.id or name: known for name, known in self.models.items()} | self.models
        families = {_DATE_SUFFIX.sub("", name): known for name, known in exact.items() if _DATE_SUFFIX.search(name)}
        family = _DATE_SUFFIX.sub("", model)
        return exact.get(model) or exact.get(family) or families.get(family)

    def may_skip_thinking(self, model: str) -> bool:
        return any(model.startswith(name) for name, known in self.models.items() if known.thinking == "optional")


class KnownModels(_Facts):
    """The whole file."""

    prices_as_of: str
    refusal_words: dict[Feature, tuple[str, ...]]
    providers: dict[str, KnownProvider]


@cache
def known_models() -> KnownModels:
    return KnownModels.model_validate(read_data("models/models.yaml"))


def known_provider(name: str) -> KnownProvider:
    """What is known of a provider; nothing, of one that a plug-in brings."""
    return known_models().providers.get(name, KnownProvider())


# --- What a call costs ---


def price_of(backend: str) -> tuple[float, float] | None:
    """US dollars for a million tokens in and out, as listed; None where ``models.yaml`` does not know the model."""
    name = BackendName.parse(backend)
    provider = known_provider(name.provider)
    model = provider.find(name.model)
    return (0.0, 0.0) if provider.local else model.price if model else None


def estimate_cost(backend: str, usage: TokenUsage) -> float | None:
    """US dollars for these tokens; None where the price or the token counts are unknown."""
    price = price_of(backend)
    if price is None or price == (0.0, 0.0):
        return None if price is None else 0.0
    if usage.prompt is None or usage.completion is None:
        return None
    return (usage.prompt * price[0] + usage.completion * price[1]) / 1_000_000
