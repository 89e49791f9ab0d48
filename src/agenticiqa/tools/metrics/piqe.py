"""PIQE: the share of active blocks that look distorted or noisy."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from agenticiqa.tools.metrics.base import Array, Measurement, MetricSpec
from agenticiqa.tools.metrics.filters import REPLICATE, luma_to_round, strips
from agenticiqa.tools.metrics.natural_statistics import normalised_strips
from agenticiqa.tools.metrics.views import Picture, Views

SPEC = MetricSpec(
    name="PIQE",
    kind="NR",
    range=(0.0, 100.0),
    higher_is_better=False,
    variant="16×16 blocks, luma stretched so that its brightest pixel is 255: equals pyiqa's piqe; a picture "
    "without active blocks gives 100",
    paper="Venkatanath, Praneeth, Bh, Channappayya and Medasani, Blind image quality evaluation using "
    "perception based features, NCC, 2015",
    good_at=("Compression", "Noise", "Blurs"),
    minimum_size=(16, 16),
    bytes_per_pixel=4,
)

BLOCK = 16
SEGMENT = 6
ACTIVE = 0.1
SMOOTH = 0.1


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """PIQE, 0 (best) to 100; the map holds each block's share of the score.

    >>> measure(np.zeros((32, 32))).value
    100.0
    """
    views = Views.of(test, reference, SPEC)
    found = [_block_scores(part) for part in normalised_strips(_stretched(views.test), REPLICATE, BLOCK)]
    scores, active, impaired, noisy = (np.concatenate([each[place] for each in found]) for place in range(4))
    count = int(active.sum())
    value = float((scores.sum() + 1) / (count + 1) * 100)
    return Measurement(
        float(np.clip(value, *SPEC.range)),
        map=scores.astype(np.float32),
        details={
            "active_share": count / active.size,
            "artefact_share": float((active & impaired).mean()),
            "noise_share": float((active & noisy).mean()),
        },
    )


def _stretched(picture: Picture) -> Array:
    """Luma as integers whose brightest is 255, with as many rows and columns more as do not fill a block."""
    brightest = max(float(_luma(picture, start, stop).max()) for start, stop in strips(*picture.size))
    stretched = np.zeros(picture.size, np.uint8)
    if brightest > 0:
        for start, stop in strips(*picture.size):
            stretched[start:stop] = np.rint(255 * (_luma(picture, start, stop) / np.float32(brightest)))
    # The published code adds the remainder, not what is missing to a whole block.
    below, right = picture.height % BLOCK, picture.width % BLOCK
    return np.asarray(cv2.copyMakeBorder(stretched, 0, below, 0, right, cv2.BORDER_REFLECT))


def _luma(picture: Picture, start: int, stop: int) -> Array:
    rows = picture.rows(start, stop)
    return rows if picture.is_grey else luma_to_round(rows)


def _block_scores(normalised: Array) -> tuple[Array, Array, Array, Array]:
    """Each block's share of the score, and whether it is active, impaired and noisy; rows × columns of blocks."""
    rows, columns = normalised.shape[0] // BLOCK, normalised.shape[1] // BLOCK
    whole = normalised[: rows * BLOCK, : columns * BLOCK].reshape(rows, BLOCK, columns, BLOCK)
    blocks = whole.swapaxes(1, 2).reshape(-1, BLOCK, BLOCK)
    variance = blocks.var(axis=(1, 2), ddof=1)
    active = variance > ACTIVE
    impaired = _impaired(blocks)
    noisy = _noisy(blocks, np.sqrt(variance))
    scores = np.where(active & impaired, 1 - variance, 0) + np.where(active & noisy, variance, 0)
    shape = (rows, columns)
    return scores.reshape(shape), active.reshape(shape), impaired.reshape(shape), noisy.reshape(shape)


def _impaired(blocks: Array) -> Array:
    """Whether any short segment of a block's border is unnaturally smooth."""
    impaired = np.zeros(len(blocks), bool)
    for edge in (blocks[:, 0, :], blocks[:, -1, :], blocks[:, :, 0], blocks[:, :, -1]):
        deviations = sliding_window_view(edge, SEGMENT, axis=1).std(axis=2, ddof=1)
        impaired |= (deviations < SMOOTH).any(axis=1)
    return impaired


def _noisy(blocks: Array, deviation: Array) -> Array:
    """Whether the middle of a block varies like the rest of it, as noise does."""
    middle = blocks[:, :, 7:9].std(axis=(1, 2), ddof=1)
    # Columns 7 and 9: the published code drops the second one after the first has already gone.
    rest = np.delete(blocks, [7, 9], axis=2).std(axis=(1, 2), ddof=1)
    ratio = np.divide(middle, rest, out=np.zeros_like(rest), where=rest > 0)
    larger = np.maximum(deviation, ratio)
    contrast = np.divide(np.abs(deviation - ratio), larger, out=np.ones_like(larger), where=larger > 0)
    return np.asarray(deviation > 2 * contrast)
