"""The native metric library: NumPy, SciPy and OpenCV only.

>>> from agenticiqa.tools.metrics import METRICS
>>> METRICS["SSIM"].spec.higher_is_better
True
>>> picture = [[0.0] * 16] * 16
>>> import numpy as np
>>> METRICS["PSNR"].measure(np.array(picture), np.array(picture)).value
100.0

All are called alike. ``test`` and ``reference`` are pictures of one size, grey (H×W) or RGB (H×W×3), uint8 or float in
[0, 1], or :class:`Views` of both; metrics that compare with nothing ignore the reference. They return a
:class:`Measurement`, and raise :class:`MetricInputError` where pixels are invalid, too few, or of two sizes. A metric's
module is imported when the metric is first looked up.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial

from agenticiqa.tools.metrics.base import (
    Array,
    FloatArray,
    Measurement,
    Metric,
    MetricInputError,
    MetricSpec,
    declarations,
    declared,
)
from agenticiqa.tools.metrics.views import Picture, Views

__all__ = [
    "METRICS",
    "Array",
    "FloatArray",
    "Measurement",
    "Metric",
    "MetricInputError",
    "MetricSpec",
    "Picture",
    "Views",
]


def _measured(
    function: Callable[[Views], Measurement],
    spec: MetricSpec,
    test: Array | Picture | Views,
    reference: Array | Picture | None = None,
) -> Measurement:
    return function(Views.of(test, reference, spec))


class _LazyMetrics(Mapping[str, Metric]):
    def __init__(self) -> None:
        self._loaded: dict[str, Metric] = {}
        self._lock = threading.Lock()

    def __getitem__(self, name: str) -> Metric:
        module_name = self._modules[name]
        with self._lock:
            if name not in self._loaded:
                module = importlib.import_module(f"{__name__}.{module_name}")
                function = name.lower().replace("-", "_")
                measure = partial(_measured, getattr(module, function), declared(name))
                self._loaded[name] = Metric(declared(name), measure, getattr(module, f"{function}_map", None))
            return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)

    @cached_property
    def _modules(self) -> dict[str, str]:
        return {name: fields["module"] for name, fields in declarations().items() if "module" in fields}


METRICS: Mapping[str, Metric] = _LazyMetrics()
