"""AgenticIQA: how good a picture is, what is wrong with it, where, and why.

>>> import agenticiqa
>>> result = agenticiqa.assess("photo.jpg", "Is the vehicle blurry?")  # doctest: +SKIP
>>> result.answer, result.reasoning  # doctest: +SKIP
('Yes', 'The vehicle shows severe motion blur …')
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from agenticiqa._version import __version__

if TYPE_CHECKING:
    from agenticiqa.api.assessor import AgenticIQA
    from agenticiqa.api.encode import encode
    from agenticiqa.api.rater import Rater
    from agenticiqa.api.verbs import aassess, acompare, ameasure, assess, compare, measure, stream
    from agenticiqa.auditing.checking import acheck, check
    from agenticiqa.auditing.report import AuditReport
    from agenticiqa.auditing.running import aaudit, audit
    from agenticiqa.batch.running import arun_batch, run_batch
    from agenticiqa.errors import AgenticIQAError, BackendError, ConfigError, ImageError, QueryError
    from agenticiqa.graph import run_pipeline
    from agenticiqa.nodes.results import Assessment, Comparison
    from agenticiqa.serve.langchain import image_quality_tool
    from agenticiqa.tools.calibration import Calibration
    from agenticiqa.tools.metrics.base import Measurement, Metric, MetricSpec
    from agenticiqa.tools.registry import Tool
    from agenticiqa.vlm_client import ModelReply, ModelRequest, Provider, Readiness, VLMClient

__all__ = [
    "AgenticIQA", "AgenticIQAError", "Assessment", "AuditReport", "BackendError", "Calibration", "Comparison",
    "ConfigError", "ImageError", "Measurement", "Metric", "MetricSpec", "ModelReply", "ModelRequest",
    "Provider", "QueryError", "Rater", "Readiness", "Tool", "VLMClient", "__version__", "aassess", "aaudit", "acheck",
    "acompare", "ameasure", "arun_batch", "assess", "audit", "check", "compare", "encode", "image_quality_tool",
    "measure", "run_batch", "run_pipeline", "stream",
]  # fmt: skip

# A library stays silent until its user asks for logs.
logging.getLogger(__name__).addHandler(logging.NullHandler())

# Importing the package must cost nothing: LangGraph alone takes most of a second. A name is imported when it is used.
_EXPORTS = {
    "agenticiqa.api.assessor": "AgenticIQA",
    "agenticiqa.api.encode": "encode",
    "agenticiqa.api.rater": "Rater",
    "agenticiqa.api.verbs": "aassess acompare ameasure assess compare measure stream",
    "agenticiqa.auditing.checking": "acheck check",
    "agenticiqa.auditing.report": "AuditReport",
    "agenticiqa.auditing.running": "aaudit audit",
    "agenticiqa.batch.running": "arun_batch run_batch",
    "agenticiqa.errors": "AgenticIQAError BackendError ConfigError ImageError QueryError",
    "agenticiqa.graph": "run_pipeline",
    "agenticiqa.nodes.results": "Assessment Comparison",
    "agenticiqa.serve.langchain": "image_quality_tool",
    "agenticiqa.tools.calibration": "Calibration",
    "agenticiqa.tools.metrics.base": "Measurement Metric MetricSpec",
    "agenticiqa.tools.registry": "Tool",
    "agenticiqa.vlm_client": "ModelReply ModelRequest Provider Readiness VLMClient",
}
_MODULES = {name: module for module, names in _EXPORTS.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    if name.endswith("Error") and (old := getattr(import_module("agenticiqa.errors"), name, None)) is not None:
        import warnings

        warnings.warn(
            f"agenticiqa.{name} goes with the next version: import it from agenticiqa.errors.",
            DeprecationWarning,
            stacklevel=2,
        )
        return old
    raise AttributeError(f"module 'agenticiqa' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
