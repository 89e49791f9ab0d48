"""``agenticiqa.Rater``: scores of tensors, and the interface of a metric."""

from __future__ import annotations

import math

import numpy as np
import pytest

import agenticiqa
from support.pictures import distorted, scene


def batch(*sizes):
    return np.stack([distorted(scene(*size), 10 * place) for place, size in enumerate(sizes)])


@pytest.fixture(scope="module")
def rater():
    return agenticiqa.Rater(device="cpu", at_once=2)


def test_scores_are_those_of_assess_whatever_the_batch(rater):
    pictures = batch((96, 128), (96, 128), (96, 128))
    found = rater.scores(pictures.transpose(0, 3, 1, 2))
    alone = [agenticiqa.assess(picture).score for picture in pictures]
    assert found == pytest.approx(alone, abs=1e-4)


def test_floats_mean_the_same_as_bytes(rater):
    pictures = batch((96, 128)).transpose(0, 3, 1, 2)
    assert rater.scores(pictures.astype(np.float32) / 255) == pytest.approx(rater.scores(pictures))


def test_as_a_metric(rater):
    pictures = batch((96, 128), (96, 128)).transpose(0, 3, 1, 2)
    rater.reset()
    assert math.isnan(rater.compute())
    rater.update(pictures[:1])
    rater.update(pictures[1:])
    assert rater.compute() == pytest.approx(float(rater.scores(pictures).mean()))


@pytest.mark.parametrize("shape", [(3, 64, 64), (1, 4, 64, 64), (1, 3, 16, 64)])
def test_what_is_no_batch_of_pictures(rater, shape):
    with pytest.raises(ValueError, match="N×3×H×W"):
        rater.scores(np.zeros(shape, np.uint8))


@pytest.mark.parametrize(
    "pictures",
    [np.full((1, 3, 64, 64), np.nan, np.float32), np.full((1, 3, 64, 64), 128.0), np.full((1, 3, 64, 64), 300)],
)
def test_values_that_are_no_pictures(rater, pictures):
    with pytest.raises(ValueError, match="from 0 to 1"):
        rater.scores(pictures)
