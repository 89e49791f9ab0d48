"""Two pictures compared by what the question asks for."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

import agenticiqa

DANDELION = Path(__file__).resolve().parents[2] / "examples" / "pictures" / "dandelion.jpg"

pytestmark = pytest.mark.usefixtures("isolated")


@pytest.fixture
def pair(tmp_path) -> tuple[Path, Path]:
    """The photograph, and a copy that is darker, blurred and smaller."""
    with Image.open(DANDELION) as picture:
        rgb = np.asarray(picture.convert("RGB").resize((512, 288)))
    worse = cv2.GaussianBlur((rgb * 0.35).astype(np.uint8), (0, 0), 4)[:200, :320]
    Image.fromarray(rgb).save(tmp_path / "a.png")
    Image.fromarray(worse).save(tmp_path / "b.png")
    return tmp_path / "a.png", tmp_path / "b.png"


@pytest.mark.hard
@pytest.mark.parametrize(
    ("query", "winner"),
    [
        ("which is brighter?", "A"),
        ("Which one is darker?", "B"),
        ("which is sharper?", "A"),
        ("Which picture is blurrier?", "B"),
        ("Which has the higher resolution?", "A"),
    ],
)
def test_the_winner_has_more_of_what_was_asked(pair, query, winner):
    found = agenticiqa.compare(*pair, query=query)
    assert (found.status, found.winner) == ("ok", winner)
    assert found.verdict.startswith(f"{winner} is ")
    turned = agenticiqa.compare(*reversed(pair), query=query)
    assert turned.winner == {"A": "B", "B": "A"}[winner]
    assert turned.chance_a == pytest.approx(1 - found.chance_a, abs=2e-4)


def test_without_such_a_question_the_better_one_wins(pair):
    assert agenticiqa.compare(*pair, query="Which one is better?").decided_by == "AIQA_NR"
