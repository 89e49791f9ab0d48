"""All three agents through a real llama.cpp server: pictures, enforced schemas and real token probabilities.

The model is random, so what it says means nothing. That every reply fits its schema, that the answer is one of the
letters, and that the fused score comes from real token probabilities is the server's and the pipeline's doing.
"""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from agenticiqa import AgenticIQA
from agenticiqa.runtime.config import load_settings

pytestmark = pytest.mark.contract


@pytest.fixture
def assessor(llama_server, tmp_path):
    overrides = {
        "backend": f"compatible.{llama_server.model}",
        "providers.compatible.base_url": llama_server.base_url,
        "planner.max_tokens": 6000,
        "executor.max_tokens": 6000,
        "summarizer.max_tokens": 2000,
        "planner.fallback_backend": "compatible.second",
        "pipeline.runs.database": tmp_path / "runs.sqlite",
        "pipeline.logging.file": tmp_path / "log.jsonl",
        "pipeline.cache.folder": tmp_path / "cache",
    }
    with AgenticIQA(settings=load_settings(overrides=overrides, environment={})) as made:
        yield made


@pytest.fixture
def picture(tmp_path):
    pixels = np.random.default_rng(3).integers(0, 256, (96, 128, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "picture.png")
    return tmp_path / "picture.png"


def test_options_are_answered_with_a_letter_and_real_probabilities(assessor, picture):
    """D4-33, D2-32: a real server's structured reply and token probabilities travel through the whole graph."""
    result = assessor.assess(picture, "Which distortion dominates? A. Blur B. Noise C. JPEG", max_replan_iterations=0)
    assert result.status in ("ok", "partial"), result.error
    assert result.answer in "ABC"
    used = result.summarizer_result.used_evidence
    if used["mode"] == "explanation":
        assert sum(used["option_probabilities"].values()) == pytest.approx(1)
        assert set(used["option_probabilities"]) == {"A", "B", "C"}
    assert result.metadata["tokens"]["prompt"] > 500
    assert result.metadata["calls"] >= 2
    assert all(each["error"] is None for each in result.metadata["call_log"])


def test_rating_fuses_real_token_probabilities(assessor, picture):
    """SC-14, D4-07, D4-34: p comes from the server's log-probabilities."""
    result = assessor.assess(picture, "Rate the quality.", max_replan_iterations=0)
    assert result.status in ("ok", "partial"), result.error
    if result.plan.query_type == "IQA":
        fusion = result.summarizer_result.used_evidence["fusion"]
        assert fusion["p_source"] == "log-probabilities"
        assert sum(fusion["p"].values()) == pytest.approx(1)
        assert 1 <= result.score <= 5
