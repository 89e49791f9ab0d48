"""The native metric library: NumPy, SciPy and OpenCV only.

>>> from agenticiqa.tools.metrics import METRICS
>>> METRICS["SSIM"].spec.higher_is_better
True
>>> picture = [[0.0] * 16] * 16
>>> import numpy as np
>>> METRICS["PSNR"].measure(np.array(picture), np.array(picture)).value
100.0

A metric's module is imported when the metric is first looked up.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator, Mapping

from agenticiqa.tools.metrics.base import (
    Array,
    FloatArray,
    Measurement,
    Metric,
    MetricInputError,
    MetricSpec,
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

_MODULES = {
    "PSNR": "psnr",
    "SSIM": "ssim",
    "MS-SSIM": "ms_ssim",
    "FSIM": "fsim",
    "GMSD": "gmsd",
    "VIF": "vif",
    "VIFp": "vif_pixel",
    "VSI": "vsi",
    "NLPD": "nlpd",
    "MDSI": "mdsi",
    "HaarPSI": "haarpsi",
    "PSNR-HVS-M": "psnr_hvs_m",
    "CIEDE2000": "ciede2000",
    "SSIMULACRA2": "ssimulacra2",
    "NIQE": "niqe",
    "BRISQUE": "brisque",
    "PIQE": "piqe",
    "sharpness": "sharpness",
    "motion_blur": "motion_blur",
    "noise": "noise",
    "blockiness": "blockiness",
    "ringing": "ringing",
    "banding": "banding",
    "clipping": "clipping",
    "brightness": "brightness",
    "contrast": "contrast",
    "haze": "haze",
    "colourfulness": "colourfulness",
    "saturation": "saturation",
    "colour_cast": "colour_cast",
}


class _LazyMetrics(Mapping[str, Metric]):
    def __init__(self, modules: dict[str, str]) -> None:
        self._modules = modules
        self._loaded: dict[str, Metric] = {}
        self._lock = threading.Lock()

    def __getitem__(self, name: str) -> Metric:
        module_name = self._modules[name]
        with self._lock:
            if name not in self._loaded:
                module = importlib.import_module(f"{__name__}.{module_name}")
                self._loaded[name] = Metric(module.SPEC, module.measure, getattr(module, "make_map", None))
            return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


METRICS: Mapping[str, Metric] = _LazyMetrics(_MODULES)
