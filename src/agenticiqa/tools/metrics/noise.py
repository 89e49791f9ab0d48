"""Noise probe: the standard deviation of the noise, in 8-bit grey levels."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from agenticiqa.tools.metrics.base import Array, FloatArray, Measurement, MetricSpec
from agenticiqa.tools.metrics.views import Picture, Views

SPEC = MetricSpec(
    name="noise",
    kind="probe",
    range=(0.0, 255.0),
    higher_is_better=False,
    variant="redundant eigenvalues of the covariance of 8×8 patches, each channel by itself, root mean "
    "square of the channels; patches that touch black or white are left out",
    paper="Chen, Zhu and Heng, An efficient statistical method for image noise level estimation, ICCV, 2015",
    good_at=("Noise",),
    minimum_size=(16, 16),
    unit="8-bit levels",
    bytes_per_pixel=15,
)

SIDE = 8
MOST_PATCHES = 30_000
FEWEST_PATCHES = 4 * SIDE * SIDE


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """Noise sigma in 8-bit levels.

    >>> rng = np.random.default_rng(0)
    >>> flat = 0.5 + rng.normal(0, 10 / 255, (128, 128, 3))
    >>> 9.5 < measure(flat.clip(0, 1)).value < 10.5
    True
    """
    views = Views.of(test, reference, SPEC)
    picture = views.test
    if picture.is_grey:
        sigma = _sigma(picture.luma())
        return Measurement(sigma, details={"sigma_luma": sigma})
    channels = [_sigma(picture.rgb()[:, :, channel]) for channel in range(3)]
    names = ("sigma_red", "sigma_green", "sigma_blue")
    value = float(np.sqrt(np.mean(np.square(channels))))
    return Measurement(value, details=dict(zip(names, channels, strict=True)))


def _sigma(channel: FloatArray) -> float:
    patches = _patches(channel)
    if len(patches) < FEWEST_PATCHES:
        return 0.0
    covariance = np.cov(patches, rowvar=False)
    return float(255 * np.sqrt(max(0.0, _noise_variance(np.linalg.eigvalsh(covariance)))))


def _patches(channel: FloatArray) -> FloatArray:
    windows = sliding_window_view(channel, (SIDE, SIDE))
    # A stride that shares no factor with 8 keeps JPEG's blocks from lining up with ours.
    stride = 1
    while windows.shape[0] * windows.shape[1] / stride**2 > MOST_PATCHES:
        stride += 2
    patches = windows[::stride, ::stride].reshape(-1, SIDE * SIDE)
    inside = (patches.min(axis=1) > 0.5 / 255) & (patches.max(axis=1) < 254.5 / 255)
    return np.asarray(patches[inside] if inside.sum() >= FEWEST_PATCHES else patches, np.float32)


def _noise_variance(rising: Array) -> float:
    """Structure fills few directions; drop the largest eigenvalues until the rest look like pure noise.

    Pure noise has equal eigenvalues up to sampling error, so its mean and its median agree.
    """
    for count in range(rising.size, 0, -1):
        rest = rising[:count]
        mean = rest.mean()
        if np.count_nonzero(rest > mean) >= np.count_nonzero(rest < mean):
            return float(mean)
    return float(rising[0])
