"""A real provider, asked about five pictures: a minute and a few cents.

    AGENTICIQA_LIVE=openai make live      # or anthropic, google; the key where it always stands: OPENAI_API_KEY, …
    AGENTICIQA_LIVE=compatible AGENTICIQA_LIVE_MODEL=llava make live      # a server of your own

AGENTICIQA_LIVE_MODEL names another model. Nothing is cached or recorded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFilter

from agenticiqa import AgenticIQA, Assessment
from agenticiqa.api.diagnosis import check_backend
from agenticiqa.models.known_models import Feature, estimate_cost, known_provider
from agenticiqa.vlm_client import TokenUsage

MODELS = {"openai": "gpt-4o", "anthropic": "claude-haiku-4.5", "google": "gemini-2.5-flash"}
# Taken out of the environment: no setting of the package is called so.
PROVIDER = os.environ.pop("AGENTICIQA_LIVE", "")
MODEL = os.environ.pop("AGENTICIQA_LIVE_MODEL", "") or MODELS.get(PROVIDER)
PICTURES = Path(__file__).parents[2] / "examples" / "pictures"
SIDE = 512
MOST_USD = 0.50
STEPS = ("plan", "detection", "analysis", "selection", "answer")


@pytest.fixture(scope="module")
def backend() -> str:
    if not MODEL:
        pytest.fail(f"Set AGENTICIQA_LIVE to one of {', '.join(MODELS)}, or to compatible with AGENTICIQA_LIVE_MODEL.")
    return f"{PROVIDER}.{MODEL}"


@pytest.fixture(scope="module")
def assessor(backend: str) -> Iterator[AgenticIQA]:
    with AgenticIQA(backend, record=False, overrides={"pipeline.max_replan_iterations": 0}) as made:
        yield made


def five_pictures() -> dict[str, Image.Image]:
    """A photograph, a copy that was compressed, and three that are damaged here."""
    with Image.open(PICTURES / "dandelion.jpg") as good, Image.open(PICTURES / "dandelion_compressed.jpg") as bad:
        photo, compressed = (each.convert("RGB") for each in (good, bad))
    photo.thumbnail((SIDE, SIDE))
    compressed.thumbnail((SIDE, SIDE))
    grain = np.random.default_rng(0).normal(0, 40, (*photo.size[::-1], 3))
    return {
        "as it is": photo,
        "compressed": compressed,
        "blurred": photo.filter(ImageFilter.GaussianBlur(6)),
        "noisy": Image.fromarray(np.clip(np.asarray(photo) + grain, 0, 255).astype(np.uint8)),
        "dark": photo.point(lambda value: value // 6),
    }


@pytest.fixture(scope="module")
def ratings(assessor: AgenticIQA) -> dict[str, Assessment]:
    return {name: assessor.assess(picture, mode="direct") for name, picture in five_pictures().items()}


@pytest.fixture(scope="module")
def by_agents(assessor: AgenticIQA) -> Assessment:
    return assessor.assess(five_pictures()["compressed"])


def test_key_model_picture_and_reply_work(backend: str, assessor: AgenticIQA) -> None:
    found = check_backend(backend, assessor.settings)
    print(f"\n{backend}: {found.message}")
    assert found.ok, found.message


def test_five_pictures_are_rated_in_the_form_that_was_asked_for(ratings: dict[str, Assessment]) -> None:
    """One call each: a reply outside the schema would have been asked for again."""
    for name, result in ratings.items():
        assert result.status == "ok", f"{name}: {result.error}"
        print(f"{name}: {result.answer}, {result.score:.2f}, {result.metadata['call_log'][0]['model']}")
        assert (result.answer in "ABCDE", 1 <= result.score <= 5) == (True, True)
        assert [call["error"] for call in result.metadata["call_log"]] == [None], name


def test_levels_are_weighed_by_log_probabilities_or_it_is_known_why_not(
    backend: str, ratings: dict[str, Assessment]
) -> None:
    provider = known_provider(backend.partition(".")[0])
    for name, result in ratings.items():
        source = result.summarizer_result.used_evidence["fusion"]["p_source"]  # type: ignore[union-attr, index]
        notes = result.metadata["call_log"][0]["notes"]
        excused = Feature.LOGPROBS in provider.cannot_take or any(Feature.LOGPROBS.value in note for note in notes)
        assert source == "log-probabilities" or excused, f"{name}: no log-probabilities, and no word why"


def test_all_agents_work_together(by_agents: Assessment) -> None:
    assert by_agents.status in ("ok", "partial"), by_agents.error
    print(f"agents: {by_agents}")
    calls = by_agents.metadata["call_log"]
    assert [call["step"] for call in calls if call["error"]] == []
    assert {call["step"] for call in calls} <= {*STEPS}
    assert by_agents.plan is not None


def test_tokens_and_cost_are_told(backend: str, ratings: dict[str, Assessment], by_agents: Assessment) -> None:
    calls = [call for result in (*ratings.values(), by_agents) for call in result.metadata["call_log"]]
    assert all(call["tokens"]["prompt"] and call["tokens"]["completion"] for call in calls)
    prices = [estimate_cost(backend, TokenUsage(**call["tokens"])) for call in calls]
    assert [call["cost_usd"] for call in calls] == prices
    known = [price for price in prices if price is not None]
    print(f"{len(calls)} calls, ${sum(known):.4f}" + ("" if len(known) == len(calls) else " (price not known)"))
    assert sum(known) < MOST_USD
    assert known or backend.split(".", 1)[1] not in MODELS.values()
