"""Score, findings, numbers and answers agree, whatever the network and the probes say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image
from training.distortions import distort
from training.embedded.contradictions import contradictions

from agenticiqa import AgenticIQA
from agenticiqa.embedded.findings import findings
from agenticiqa.embedded.looking import Look
from agenticiqa.embedded.measures import LookMeasures, describe
from agenticiqa.pictures.images import load_image
from agenticiqa.tools.metrics import Measurement
from agenticiqa.vision.network import load_vision
from agenticiqa.vision.picture_facts import PictureFacts, facts_of
from agenticiqa.vision.scene import Reading, Scene, adjusted_by_facts
from agenticiqa.vocabulary import CATEGORIES

pytestmark = [pytest.mark.usefixtures("isolated"), pytest.mark.hard]

PHOTOGRAPH = Path(__file__).resolve().parents[2] / "examples" / "pictures" / "dandelion.jpg"
MADE_UP = 3000
PIXELS = np.full((48, 64, 3), 120, np.uint8)
"""What readers of pixels see of a made-up look: nothing clipped, nothing to be read."""


@pytest.fixture(scope="module")
def photograph() -> np.ndarray:
    with Image.open(PHOTOGRAPH) as opened:
        return np.asarray(opened.convert("RGB").resize((512, 384)))


class PropertyReading(LookMeasures):
    def __init__(self, values: dict[str, Measurement]) -> None:
        super().__init__(np.zeros((64, 64, 3), np.uint8))
        self.values = values

    def probe(self, name: str) -> Measurement | None:
        return self.values.get(name)


@dataclass(frozen=True)
class MadeUp(Look):
    """A look with any reading and any measurements, as unlikely as they may be together."""

    told: Any = None

    @cached_property
    def reading(self) -> Reading:
        return adjusted_by_facts(self.told.reading, self.facts)

    @cached_property
    def sharpest(self) -> float:
        return 0.5

    @cached_property
    def facts(self) -> PictureFacts:
        return self.told.facts  # type: ignore[no-any-return]

    @cached_property
    def measures(self) -> LookMeasures:
        return self.told.measures  # type: ignore[no-any-return]


def made_up(rng: np.random.Generator, usual: PictureFacts) -> MadeUp:
    vision = load_vision()
    severities = {name: tuple(map(float, rng.dirichlet([rng.choice([0.2, 3.0]), 0.5, 0.5, 0.5, 0.5])))
                  for name in CATEGORIES}  # fmt: skip
    # As the graphs give them: no flaw is likelier than its category.
    flaws = {name: float(rng.random()) * (1 - severities[category][0]) for name, category in vision.flaws.items()}
    reading = Reading(
        float(rng.uniform(1, 5)),
        dict.fromkeys(range(1, 6), 0.2),
        severities,
        {name: float(rng.random()) for name in vision.kinds},
        flaws,
        {"photograph": 1.0},
        0.0,
    )
    brightness = float(rng.uniform(0, 255))
    values = {
        "sharpness": Measurement(float(rng.uniform(1, 8))), "noise": Measurement(float(rng.uniform(0, 20))),
        "brightness": Measurement(brightness), "contrast": Measurement(float(rng.uniform(0.02, 0.5))),
        "saturation": Measurement(float(rng.uniform(0, 1))), "blockiness": Measurement(float(rng.uniform(0, 2))),
        "motion_blur": Measurement(9.0, details={"degrees": 20.0}), "haze": Measurement(float(rng.uniform(0, 1))),
    }  # fmt: skip
    facts = replace(usual, brightness=brightness, colourfulness=float(rng.uniform(0, 60)))
    told = SimpleNamespace(reading=reading, facts=facts, measures=PropertyReading(values))
    image = SimpleNamespace(rgb=PIXELS, size=PIXELS.shape[1::-1])
    return MadeUp(Scene(vision, None, facts), image, told=told)  # type: ignore[arg-type]


@pytest.mark.no_cover
def test_no_made_up_picture_contradicts_itself(photograph):
    rng, usual = np.random.default_rng(2026), facts_of(photograph)
    found = [text for _ in range(MADE_UP) for text in contradictions(made_up(rng, usual))]
    assert found == []


@pytest.mark.parametrize("kind", ["gaussian_blur", "motion_blur", "darken", "brighten", "white_noise", "jpeg"])
def test_no_damaged_photograph_contradicts_itself(photograph, kind, tmp_path):
    for level in (2, 4):
        file = tmp_path / f"{kind}{level}.png"
        Image.fromarray(distort(photograph, kind, level)).save(file)
        image = load_image(file)
        assert contradictions(Look(Scene.of(load_vision(), image.rgb), image)) == []


def test_numbers_that_seem_to_say_otherwise_are_explained():
    told = PropertyReading({"noise": Measurement(13.6), "sharpness": Measurement(1.5)})
    assert describe("Noise", told, found=False)[0].endswith("; here that is texture, not noise.")
    assert ";" not in describe("Noise", told, found=True)[0]
    assert "other parts than the strongest edges" in describe("Blurs", told, found=True)[0]
    smeared = PropertyReading(
        {"sharpness": Measurement(6.0), "motion_blur": Measurement(13.0, details={"degrees": 5.0})}
    )
    assert not any("smeared" in text for text in describe("Blurs", smeared, found=False))
    assert any("smeared" in text for text in describe("Blurs", smeared, found=True))


def test_a_low_score_without_a_finding_names_the_likeliest_cause(photograph):
    rng = np.random.default_rng(1)
    look = made_up(rng, facts_of(photograph))
    severities = dict.fromkeys(CATEGORIES, (0.95, 0.05, 0.0, 0.0, 0.0)) | {"Noise": (0.6, 0.4, 0.0, 0.0, 0.0)}
    facts = replace(look.facts, brightness=120.0, colourfulness=40.0)
    weak = "No single fault stands out, yet it looks weak as a whole; noise is the likeliest cause."
    for score, sentence in ((2.1, weak), (4.1, "Nothing looks wrong.")):
        reading = replace(look.told.reading, score=score, severity_probabilities=severities)
        told = SimpleNamespace(reading=reading, facts=facts, measures=look.measures)
        assert findings(replace(look, told=told))[0] == sentence


def test_a_black_and_white_photograph_has_no_wrong_colours(photograph):
    grey = np.repeat(photograph.mean(axis=2, keepdims=True).astype(np.uint8), 3, axis=2)
    scene = Scene.of(load_vision(), grey)
    assert adjusted_by_facts(scene.read(), scene.facts).presence("Color distortions") == 0


def test_a_nearly_black_photograph_is_too_dark(tmp_path, photograph):
    file = tmp_path / "night.png"
    Image.fromarray((photograph * 0.06).astype(np.uint8)).save(file)
    with AgenticIQA() as assessor:
        assert assessor.assess(file, "Is the picture too dark?").answer == "Yes"


def test_the_eye_counts_once():
    with AgenticIQA() as assessor:
        result = assessor.assess(PHOTOGRAPH)
    fusion = result.summarizer_result.used_evidence["fusion"]
    assert [log.tool for log in result.executor_evidence.tool_logs] == ["AIQA_NR"]
    assert set(fusion["alpha"].values()) == {0.2}
    assert result.score == pytest.approx(sum(int(level) * p for level, p in fusion["p"].items()), abs=1e-6)
