"""Probes of what sensors and encoders leave behind: noise, blocks, ripples beside edges, false contours."""

import cv2
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from agenticiqa.tools.metrics.base import Array, ByteArray, FloatArray, Measurement
from agenticiqa.tools.metrics.filters import separable, strips
from agenticiqa.tools.metrics.views import Views

# --- Noise probe: the standard deviation of the noise, in 8-bit grey levels ---


SIDE = 8
MOST_PATCHES = 30_000
FEWEST_PATCHES = 4 * SIDE * SIDE


def noise(views: Views) -> Measurement:
    """Standard deviation of the noise in 8-bit levels; ``details``: by channel, ``sigma_red`` … or ``sigma_luma``."""
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
    """Pure noise has equal eigenvalues: the largest, those of structure, go until mean and median of the rest agree."""
    for count in range(rising.size, 0, -1):
        rest = rising[:count]
        mean = rest.mean()
        if np.count_nonzero(rest > mean) >= np.count_nonzero(rest < mean):
            return float(mean)
    return float(rising[0])


# --- Blockiness probe: steps on an 8×8 grid ---


PERIOD = 8
MOST = 100.0
CUT_AT = np.float32(12 / 255)


def blockiness(views: Views) -> Measurement:
    """Excess of steps on the 8×8 block grid, relative to others; ``details``: ``across``, ``down`` and the grid."""
    luma = views.test.luma()
    across, offset_x = _excess(luma, axis=1)
    down, offset_y = _excess(luma, axis=0)
    value = min(MOST, (across + down) / 2)
    details = {"across": across, "down": down, "grid_x": float(offset_x), "grid_y": float(offset_y)}
    return Measurement(value, details=details)


def _excess(luma: FloatArray, axis: int) -> tuple[float, int]:
    steps = np.minimum(np.abs(np.diff(luma, axis=axis)), CUT_AT).mean(axis=1 - axis, dtype=np.float64)
    by_phase = np.array([steps[phase::PERIOD].mean() for phase in range(PERIOD)])
    strongest = int(by_phase.argmax())
    others = np.delete(by_phase, strongest)
    # A tenth of a level keeps flat pictures from dividing dust by dust.
    floor = 0.1 / 255
    excess = (by_phase[strongest] - others.max()) / (others.mean() + floor)
    # Steps between columns 7 and 8 sit at phase 7: that grid starts at 0.
    return float(np.clip(excess, 0, MOST)), (strongest + 1) % PERIOD


# --- Ringing probe: ripples beside strong edges ---


STRONG_EDGE = 0.06
FEWEST_PIXELS = 64


def ringing(views: Views) -> Measurement:
    """Ripple beside strong edges above the rest, in 8-bit levels; ``details``: ``beside_edges`` and ``elsewhere``."""
    luma = views.test.luma()
    across = cv2.Sobel(luma, cv2.CV_32F, 1, 0, scale=1 / 8)
    down = cv2.Sobel(luma, cv2.CV_32F, 0, 1, scale=1 / 8)
    edges = (cv2.magnitude(across, down) > STRONG_EDGE).astype(np.uint8)
    near = cv2.dilate(edges, np.ones((7, 7), np.uint8)) > 0
    around = cv2.dilate(edges, np.ones((15, 15), np.uint8)) > 0
    beside = around & ~near
    # A pixel against the mean of its neighbours two away sees ripples of four to twelve pixels, and reaches
    # too short to see the edge itself from here.
    comb = np.array([-0.5, 0, 1, 0, -0.5], np.float32)
    alone = np.ones(1, np.float32)
    ripple = np.maximum(np.abs(separable(luma, comb, alone)), np.abs(separable(luma, alone, comb)))
    local = np.asarray(cv2.blur(ripple, (3, 3)), np.float32)
    if np.count_nonzero(beside) < FEWEST_PIXELS:
        return Measurement(0.0, details={"beside_edges": 0.0, "elsewhere": 0.0})
    beside_edges = 255 * float(np.median(local[beside]))
    far = ~around
    elsewhere = 255 * float(np.median(local[far])) if np.count_nonzero(far) >= FEWEST_PIXELS else 0.0
    value = max(0.0, beside_edges - elsewhere)
    return Measurement(value if value > 0.5 else 0.0, details={"beside_edges": beside_edges, "elsewhere": elsewhere})


# --- Banding probe: false contours in what should be smooth ---


FLAT = 4
SMALLEST_STEP, LARGEST_STEP = 2, 24


def banding(views: Views) -> Measurement:
    """Share of pixels on false contours. ``value`` in percent; ``details``: ``grey_levels_used``."""
    luma = views.test.luma8()
    value = 100 * (_contours(luma, axis=1) + _contours(luma, axis=0)) / luma.size
    levels = float(np.count_nonzero(cv2.calcHist([luma], [0], None, [256], (0, 256))))
    return Measurement(min(value, 100.0), details={"grey_levels_used": levels})


def _contours(luma: ByteArray, axis: int) -> int:
    """Steps along one axis with FLAT equal pairs of neighbours before and after them."""
    places = luma.shape[axis] - 1 - 2 * FLAT
    if places < 1:
        return 0
    rows = places if axis == 0 else luma.shape[0]
    reach = 2 * FLAT + 1 if axis == 0 else 0
    return sum(_contours_of(luma[start : stop + reach], axis) for start, stop in strips(rows, luma.shape[1]))


def _contours_of(luma: ByteArray, axis: int) -> int:
    def part(array: Array, start: int, length: int) -> Array:
        return array[start : start + length] if axis == 0 else array[:, start : start + length]

    steps = luma.shape[axis] - 1
    step = np.asarray(cv2.absdiff(part(luma, 1, steps), part(luma, 0, steps)), np.uint8)
    equal = step == 0
    runs = steps - FLAT + 1
    flat = part(equal, 0, runs).copy()
    for shift in range(1, FLAT):
        flat &= part(equal, shift, runs)
    places = steps - 2 * FLAT
    # Below the smallest step the difference wraps round to large values, so one comparison sees both ends.
    contour = part(step, FLAT, places) - np.uint8(SMALLEST_STEP) <= LARGEST_STEP - SMALLEST_STEP
    contour &= part(flat, 0, places)
    contour &= part(flat, FLAT + 1, places)
    return int(np.count_nonzero(contour))
