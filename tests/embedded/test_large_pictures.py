"""Large pictures are seen from several distances."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from agenticiqa.vision.network import FAR, Judgement, load_vision

PICTURE = Path(__file__).resolve().parents[2] / "examples" / "pictures" / "dandelion.jpg"


@pytest.fixture(scope="module")
def large() -> np.ndarray:
    """The example, enlarged: 2304 pixels wide."""
    with Image.open(PICTURE) as opened:
        picture = opened.convert("RGB").crop((0, 0, 576, 384))
    return np.asarray(picture.resize((2304, 1536), Image.Resampling.LANCZOS))


def presence(found: Judgement, category: str) -> float:
    return float(1 - found.severities[0, load_vision().categories.index(category), 0])


def test_compression_that_reducing_hides_is_found_at_native_resolution(large):
    buffer = io.BytesIO()
    Image.fromarray(large).save(buffer, "JPEG", quality=30)
    vision = load_vision()
    features = vision.look(np.asarray(Image.open(buffer)))
    assert features.closer is not None
    without = vision.judge(features, np.ones(features.cells.shape[:2], bool))
    found = vision.judge(features)
    assert presence(found, "Compression") > presence(without, "Compression") + 0.3
    assert presence(found, "Blurs") == presence(without, "Blurs")


def test_the_map_keeps_the_reduced_picture_and_chances_stay_chances(large):
    vision = load_vision()
    features = vision.look(large)
    assert features.scale == pytest.approx(FAR / 2304)
    assert features.cells.shape[:2] == (-(-341 // 32), 16)
    found = vision.judge(features)
    assert found.severities.sum(axis=-1) == pytest.approx(np.ones((1, 8)), abs=1e-4)
    assert found.kinds.sum() == pytest.approx(1, abs=1e-4)
    assert found.levels.sum() == pytest.approx(1, abs=1e-4)
    both = [float(vision.judge(features, np.ones(features.cells.shape[:2], bool)).score[0])]
    both.append(float(vision.judge(vision.look(np.asarray(Image.fromarray(large).resize((512, 341))))).score[0]))
    assert min(both) - 0.15 < float(found.score[0]) < max(both) + 0.15


def test_small_pictures_are_seen_once(large):
    features = load_vision().look(np.ascontiguousarray(large[:384, :512]))
    assert features.farther is None
    assert features.closer is None
