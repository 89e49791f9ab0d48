"""The networks as sessions of ONNX Runtime: opened when first needed, one per graph, weights and process."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np

from agenticiqa.errors import ToolError, ToolUnavailableError
from agenticiqa.tools.metrics import FloatArray, Views
from agenticiqa.vision.weight_files import open_session

_lock = threading.Lock()
_sessions: dict[tuple[Path, Path | None], Any] = {}


def outputs(graph: Path, views: Views, weights: Path | None = None) -> list[FloatArray]:
    """Everything that the network in ``graph`` says about a pair of pictures; ``weights`` for a graph without any."""
    session = _session(graph, weights)
    pictures = {"test": _planes(views.test.rgb()), "reference": _planes(views.reference.rgb())}
    try:
        return [np.asarray(each, np.float32) for each in session.run(None, pictures)]
    except Exception as error:
        # ONNX Runtime's errors share no base class of their own.
        raise ToolError(f"The network failed: {error}.", hint="Measure a smaller region.") from error


def forget(weights: Path) -> None:
    """Drop the networks with weights from a file that will not stay."""
    with _lock:
        for key in [key for key in _sessions if key[1] == weights]:
            del _sessions[key]


def _session(graph: Path, weights: Path | None) -> Any:
    with _lock:
        if (graph, weights) not in _sessions:
            _sessions[graph, weights] = _open(graph, weights)
        return _sessions[graph, weights]


def _open(graph: Path, weights: Path | None) -> Any:
    try:
        if weights is None:
            return open_session(graph.read_bytes())
        with np.load(weights, allow_pickle=False) as stored:
            return open_session(graph.read_bytes(), weights={name: stored[name] for name in stored.files})
    except Exception as error:
        raise ToolUnavailableError(
            f"The weights in {str(weights or graph)!r} cannot be used: {error}.",
            hint="Fetch them again with `agenticiqa tools fetch`." if weights else "Install the package again.",
        ) from error


def _planes(rgb: FloatArray) -> FloatArray:
    return np.ascontiguousarray(rgb.transpose(2, 0, 1)[np.newaxis])
