"""ONNX Runtime sessions: imported when first needed, one a network and process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from agenticiqa.errors import ToolError, ToolUnavailableError
from agenticiqa.tools.metrics import Array, FloatArray, Views
from agenticiqa.tools.perceptual.conversion import expanded
from agenticiqa.vision.weight_files import thread_limit

EXTRA = "perceptual"
_lock = threading.Lock()
_sessions: dict[tuple[str, str], Any] = {}


def runtime_installed() -> bool:
    return find_spec("onnxruntime") is not None


def outputs(weights: Path, build: Callable[[dict[str, Array]], bytes], views: Views) -> list[FloatArray]:
    """Everything that the network of ``build`` with the arrays in ``weights`` says about a pair of pictures."""
    session = _session(weights, build)
    pictures = {"test": _planes(views.test.rgb()), "reference": _planes(views.reference.rgb())}
    try:
        return [np.asarray(each, np.float32) for each in session.run(None, pictures)]
    except Exception as error:
        # ONNX Runtime's errors share no base class of their own.
        raise ToolError(f"The network failed: {error}.", hint="Measure a smaller region.") from error


def forget(weights: Path) -> None:
    """Drop the networks made from a file that will not stay."""
    with _lock:
        for key in [key for key in _sessions if key[1] == str(weights)]:
            del _sessions[key]


def _session(weights: Path, build: Callable[[dict[str, Array]], bytes]) -> Any:
    key = (build.__name__, str(weights))
    with _lock:
        if key not in _sessions:
            _sessions[key] = _load(weights, build)
        return _sessions[key]


def _load(weights: Path, build: Callable[[dict[str, Array]], bytes]) -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise ToolUnavailableError(
            "ONNX Runtime is not installed.", hint=f"pip install 'agenticiqa[{EXTRA}]'"
        ) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = thread_limit()
    options.log_severity_level = 3  # warnings about the host's processors say nothing about the picture
    try:
        with np.load(weights, allow_pickle=False) as stored:
            model = build(expanded({name: stored[name] for name in stored.files}))
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ToolUnavailableError(
            f"The weights in {str(weights)!r} cannot be used: {error}.",
            hint="Fetch them again with `agenticiqa tools fetch`.",
        ) from error


def _planes(rgb: FloatArray) -> FloatArray:
    return np.ascontiguousarray(rgb.transpose(2, 0, 1)[np.newaxis])
