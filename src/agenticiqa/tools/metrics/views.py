"""Pictures as metrics want them, with work that several metrics need done once.

A :class:`Picture` keeps the pixels in the type they came in (100 megapixels of uint8 are 0.3 GB, of
float32 1.2 GB) and hands out float rows on demand. What metrics share, such as luma, is computed on first
use and kept; asking from several threads at once computes it once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar, cast

import cv2
import numpy as np

from agenticiqa.tools.metrics.base import Array, ByteArray, FloatArray, MetricInputError, MetricSpec, checkpoint
from agenticiqa.tools.metrics.filters import NO_PADDING, Padding, average_pool, luma_of, luma_to_round, strips

T = TypeVar("T")
# Starting a thread takes a tenth of a millisecond; two very large pictures at once take twice the memory.
SMALLEST_SHARED, LARGEST_SHARED = 300_000, 40_000_000

_PEAK = {np.dtype(np.uint8): 255.0, np.dtype(np.uint16): 65535.0}


class Shared:
    """A thread-safe memory of computed things; each has a lock, so that different ones can be computed at once."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[Hashable, threading.Lock] = {}
        self._values: dict[Hashable, object] = {}

    def share(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value under ``key``, computed by ``make`` the first time only."""
        checkpoint()
        with self._guard:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._values:
                self._values[key] = make()
            return cast("T", self._values[key])


def _checked(pixels: Array, role: str) -> Array:
    """``pixels`` as uint8, uint16 or float32, H×W or H×W×3; the values of floats are not looked at yet."""
    array = np.asarray(pixels)
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if array.ndim not in {2, 3} or (array.ndim == 3 and array.shape[2] != 3):
        raise MetricInputError(
            f"the {role} picture has shape {array.shape}; a metric takes H×W grey or H×W×3 RGB "
            "(drop or composite an alpha channel first)"
        )
    if array.size == 0:
        raise MetricInputError(f"the {role} picture is empty: shape {array.shape}")
    if array.dtype in _PEAK:
        return np.ascontiguousarray(array)
    if array.dtype == np.bool_:
        return array.astype(np.float32)
    if not np.issubdtype(array.dtype, np.floating):
        raise MetricInputError(f"the {role} picture has type {array.dtype}; give uint8, uint16 or float in [0, 1]")
    return np.ascontiguousarray(array, dtype=np.float32)


class Picture(Shared):
    """One checked picture and what has been derived from it."""

    def __init__(self, pixels: Array, role: str = "test") -> None:
        super().__init__()
        self._pixels = _checked(pixels, role)
        self._role = role
        self.height, self.width = (int(side) for side in self._pixels.shape[:2])
        self.is_grey = self._pixels.ndim == 2
        self._peak = np.float32(_PEAK.get(self._pixels.dtype, 1.0))
        # Integers are valid by themselves. Floats are looked at when they are first read, strip by strip: what reads
        # them next finds them in the cache, and a large picture goes through memory once instead of twice.
        self._valid_rows = self.height if self._pixels.dtype in _PEAK else 0

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._pixels.dtype

    @property
    def pixels(self) -> Array:
        """The checked samples: uint8, uint16 or float32 in [0, 1], H×W or H×W×3."""
        for _, stop in strips(self.height, self.width):
            self._check_values(stop)
        return self._pixels

    def _check_values(self, stop: int) -> None:
        """Refuse NaN, infinity and a picture left on the 0..255 scale in the rows up to ``stop`` not yet looked at."""
        if self._valid_rows >= stop:
            return
        part = self._pixels[self._valid_rows : stop]
        # The extremes tell all three: both become NaN if there is one.
        if not (part.min() >= -1e-4 and part.max() <= 1.0001):
            if not np.isfinite(self._pixels).all():
                raise MetricInputError(f"the {self._role} picture holds NaN or infinite values")
            low, high = float(self._pixels.min()), float(self._pixels.max())
            raise MetricInputError(
                f"the {self._role} picture holds values from {low:g} to {high:g}; floats must lie in [0, 1] "
                "(divide by 255, or clip what a restoration overshot)"
            )
        self._valid_rows = stop

    @property
    def size(self) -> tuple[int, int]:
        return self.height, self.width

    def rows(self, start: int, stop: int) -> FloatArray:
        """Rows ``start:stop`` as float32 in [0, 1], grey or RGB as the picture is."""
        stop = min(stop, self.height)
        self._check_values(stop)
        part = self._pixels[start:stop]
        if part.dtype == np.float32:
            return cast("FloatArray", part)
        # Divided, not multiplied by the reciprocal: 51/255 must be the float nearest to 0.2.
        return np.asarray(np.divide(part, self._peak, dtype=np.float32), np.float32)

    def rgb_rows(self, start: int, stop: int) -> FloatArray:
        part = self.rows(start, stop)
        return np.repeat(part[:, :, None], 3, axis=2) if self.is_grey else part

    def rgb(self) -> FloatArray:
        """The whole picture as three float32 channels."""
        return self.share("rgb", lambda: self.rgb_rows(0, self.height))

    def luma_rows(self, start: int, stop: int) -> FloatArray:
        """BT.601 luma of some rows, in [0, 1], not rounded."""
        part = self.rows(start, stop)
        return part if self.is_grey else luma_of(part)

    def luma(self) -> FloatArray:
        """BT.601 luma in [0, 1], not rounded."""
        return self.share("luma", lambda: self.luma_rows(0, self.height))

    def luma8(self) -> ByteArray:
        """BT.601 luma rounded to the integers 0..255, as the published MATLAB codes see it."""

        def make() -> ByteArray:
            out = np.empty(self.size, np.uint8)
            step = max(1, (1 << 18) // self.width)
            for start in range(0, self.height, step):
                rows = self.rows(start, start + step)
                rows = rows if self.is_grey else luma_to_round(rows)
                scaled = cv2.convertScaleAbs(rows, alpha=255.0)  # rounds half to even, like rint
                out[start : start + step] = scaled
            return out

        return self.share("luma8", make)

    def pooled_rgb(self, factor: int, padding: Padding = NO_PADDING) -> FloatArray:
        """The picture on the 0..255 scale, averaged over ``factor``×``factor`` squares (rest cropped)."""
        return self.share(("pooled", factor, padding), lambda: average_pool(self.rgb_rows, self.size, factor, padding))


class Views(Shared):
    """A test picture and, for full-reference metrics, its reference."""

    def __init__(self, test: Array | Picture, reference: Array | Picture | None = None) -> None:
        super().__init__()
        self.test = test if isinstance(test, Picture) else Picture(test, "test")
        if reference is not None and not isinstance(reference, Picture):
            reference = Picture(reference, "reference")
        self._reference = reference
        if reference is not None and reference.size != self.test.size:
            raise MetricInputError(
                f"the test picture is {self.test.width}×{self.test.height} pixels, the reference "
                f"{reference.width}×{reference.height}; a full-reference metric needs equal sizes "
                "(resize or crop one of them first)"
            )

    @classmethod
    def of(cls, test: Array | Picture | Views, reference: Array | Picture | None, spec: MetricSpec) -> Views:
        """``test`` and ``reference`` as views that meet what ``spec`` asks for."""
        views = test if isinstance(test, Views) else cls(test, reference)
        if spec.kind == "FR" and views._reference is None:
            raise MetricInputError(f"{spec.name} compares with a reference picture, and none was given")
        height, width = spec.minimum_size
        if views.test.height < height or views.test.width < width:
            raise MetricInputError(
                f"{spec.name} needs at least {width}×{height} pixels; this picture is "
                f"{views.test.width}×{views.test.height}"
            )
        megapixels = views.test.height * views.test.width / 1e6
        if spec.max_megapixels is not None and megapixels > spec.max_megapixels:
            raising = f"raise {spec.max_megapixels_setting}, " if spec.max_megapixels_setting else ""
            raise MetricInputError(
                f"{spec.name} takes at most {spec.max_megapixels:g} megapixels, and this picture has {megapixels:.1f} "
                f"({raising}scale it down or measure a region)"
            )
        return views

    @property
    def reference(self) -> Picture:
        if self._reference is None:
            raise MetricInputError("no reference picture was given")
        return self._reference

    def on_both(self, work: Callable[[Picture], T]) -> tuple[T, T]:
        """``work`` on the test picture and on the reference: side by side where OpenCV may use several threads.

        >>> Views(np.zeros((4, 5)), np.ones((4, 5))).on_both(lambda picture: float(picture.rgb().max()))
        (0.0, 1.0)
        """
        pixels = self.test.height * self.test.width
        if not SMALLEST_SHARED <= pixels <= LARGEST_SHARED or cv2.getNumThreads() < 2:
            return work(self.test), work(self.reference)
        with ThreadPoolExecutor(1, thread_name_prefix="reference") as helper:
            # In this thread's context: a measurement that is stopped stops in both.
            other = helper.submit(copy_context().run, work, self.reference)
            return work(self.test), other.result()

    @property
    def size(self) -> tuple[int, int]:
        return self.test.size
