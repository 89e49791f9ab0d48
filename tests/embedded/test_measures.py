"""What is said of measurements."""

from __future__ import annotations

import numpy as np
import pytest
from training.distortions import distort

from agenticiqa.embedded.measures import LookMeasures, describe
from agenticiqa.tools.metrics import Measurement


class PropertyReading(LookMeasures):
    """Probes that give what a test says."""

    def __init__(self, **values: Measurement) -> None:
        super().__init__(np.zeros((64, 64, 3), np.uint8))
        self.values = values

    def probe(self, name: str) -> Measurement | None:
        return self.values.get(name)


@pytest.mark.parametrize(("width", "is_said"), [(1.7, False), (2.3, False), (4.0, True)])
def test_no_smear_is_told_of_a_scene_with_sharp_edges(width, is_said):
    told = PropertyReading(sharpness=Measurement(width), motion_blur=Measurement(9.0, details={"degrees": 84.0}))
    sentences = describe("Blurs", told, found=width > 2)
    assert sentences[0] == f"Edges are {width:.1f} px wide, about 1.7 px in a sharp picture."
    assert ("Detail is smeared over about 9 px at 84° to the horizontal." in sentences) is is_said


def test_real_motion_blur_is_told():
    rng = np.random.default_rng(3)
    scene = np.kron(rng.integers(30, 226, (48, 64, 3)), np.ones((8, 8, 1))).astype(np.uint8)
    assert not any("smeared" in sentence for sentence in describe("Blurs", LookMeasures(scene), found=True))
    smeared = distort(scene, "motion_blur", 5)
    assert any("smeared" in sentence for sentence in describe("Blurs", LookMeasures(smeared), found=True))
