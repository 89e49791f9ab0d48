"""The model in PyTorch beside ONNX Runtime: the same graphs, several pictures at a time. Needs torch and onnx."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from agenticiqa.api.rater import Rater
from agenticiqa.pictures.images import load_image
from agenticiqa.vision.accelerator import BatchVision, squeezed
from agenticiqa.vision.network import load_vision, prepared

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

SIZES = ((200, 300), (200, 300), (320, 240), (600, 820), (700, 1200))
"""Two of one size, one with a farther look, one with windows."""
EXACT = 86
"""Statistics of colours and of the blocks before those that round."""
WITHIN = 0.02
"""How far scores may lie apart: both round to 8 bits, from numbers that differ in their last digits."""


@pytest.fixture(scope="module")
def pictures():
    photograph = load_image("examples/pictures/dandelion.jpg").rgb
    rng = np.random.default_rng(0)
    found = []
    for number, (height, width) in enumerate(SIZES):
        tiled = np.tile(photograph, (-(-height // photograph.shape[0]), -(-width // photograph.shape[1]), 1))
        noise = rng.normal(0, 4 * number, (height, width, 1))
        found.append(np.clip(tiled[:height, :width] + noise, 0, 255).astype(np.uint8))
    return found


@pytest.fixture(scope="module")
def both():
    return load_vision(), BatchVision(device="cpu")


def test_what_is_seen_and_judged_is_the_same(both, pictures):
    ready = [prepared(each, both[0].about["view"], both[0].about["cell"]) for each in pictures]
    (one, other) = (vision.see(ready) for vision in both)
    judged = [vision.judge_all(seen) for vision, seen in zip(both, (one, other), strict=True)]
    for place in range(len(pictures)):
        # Means and squares: of the first blocks exact, of the deeper ones rounded to 8 bits (squares go up to forty).
        own, theirs = (values.reshape(2, -1) for values in (other[place].mean, one[place].cells.mean((0, 1))))
        assert own[:, :EXACT] == pytest.approx(theirs[:, :EXACT], abs=0.01)
        assert own == pytest.approx(theirs, abs=0.3)
        assert both[1].focus(other[place]) == pytest.approx(both[0].focus(one[place]), abs=0.05)
    assert judged[1].score == pytest.approx(judged[0].score, abs=WITHIN)
    assert judged[1].flaws == pytest.approx(judged[0].flaws, abs=0.05)
    assert judged[1].sorts == pytest.approx(judged[0].sorts, abs=0.05)


def test_pictures_seen_where_they_lie(both, pictures):
    """As the GPU sees a batch of tensors: resized there, by another library than Pillow."""
    for picture in (pictures[0], pictures[3]):
        alone = both[0].judge(both[0].look(picture)).score[0]
        seen = both[1].see_tensor(torch.from_numpy(picture[None]))
        assert both[1].judge_all(seen).score[0] == pytest.approx(alone, abs=0.03)


@pytest.mark.parametrize(
    "size", [(375, 500), (500, 500), (500, 333), (720, 500), (721, 500), (200, 300), (281, 1024), (40, 33)]
)
def test_views_are_those_of_pillow(size):
    pixels = np.random.default_rng(0).integers(0, 256, (2, *size, 3), dtype=np.uint8)
    pillow = [Image.fromarray(each).resize((280, 280), Image.Resampling.BILINEAR) for each in pixels]
    assert (squeezed(torch.from_numpy(pixels), 280).numpy() == np.stack(pillow)).all()


def test_tensors_come_back_as_tensors(pictures):
    batch = torch.from_numpy(np.stack(pictures[:2])).permute(0, 3, 1, 2)
    rater = Rater(device="cpu")
    found = rater(batch)
    assert found.shape == (2,)
    assert found.tolist() == pytest.approx(rater.scores(batch.numpy()).tolist())
    assert rater(batch.float() / 255).tolist() == pytest.approx(found.tolist())
