"""LPIPS, and how networks that compare two pictures run on ONNX Runtime, each opened once when it is first needed."""

import threading
from contextvars import copy_context
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from agenticiqa.errors import ToolError, ToolUnavailableError
from agenticiqa.tools.metrics import Array, FloatArray, Measurement, Picture, Views
from agenticiqa.tools.metrics.base import checkpoint, declared
from agenticiqa.vision.network import open_session

POLL_INTERVAL_S = 0.2
"""How often a run of a network asks whether to go on."""
_lock = threading.Lock()
_sessions: dict[tuple[Path, Path | None], Any] = {}


def outputs(graph: Path, views: Views, weights: Path | None = None) -> list[FloatArray]:
    """What the network in ``graph`` says of two pictures; another thread asks whether to go on, and can end the run."""
    session = _session(graph, weights)
    # Only now: opening a session sets what must be set before ONNX Runtime is imported.
    from onnxruntime import RunOptions

    pictures = {"test": _planes(views.test.rgb()), "reference": _planes(views.reference.rgb())}
    options, done = RunOptions(), threading.Event()
    stopped_by: list[Exception] = []

    def watch() -> None:
        while not done.wait(POLL_INTERVAL_S):
            try:
                checkpoint()
            except Exception as error:  # noqa: BLE001 - the caller decides what ends a measurement
                stopped_by.append(error)
                options.terminate = True
                return

    watching = threading.Thread(target=copy_context().run, args=(watch,), name="watch network", daemon=True)
    watching.start()
    try:
        return [np.asarray(each, np.float32) for each in session.run(None, pictures, options)]
    except Exception as error:
        if stopped_by:
            raise stopped_by[0] from None
        # ONNX Runtime's errors share no base class of their own.
        raise ToolError(f"The network failed: {error}.", hint="Measure a smaller region.") from error
    finally:
        done.set()
        watching.join()


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
            return open_session(graph.read_bytes(), keeps_memory=False)
        with np.load(weights, allow_pickle=False) as stored:
            given = {name: stored[name] for name in stored.files}
            return open_session(graph.read_bytes(), weights=given, keeps_memory=False)
    except Exception as error:
        raise ToolUnavailableError(
            f"The weights in {str(weights or graph)!r} cannot be used: {error}.",
            hint="Fetch them again with `agenticiqa tools fetch`." if weights else "Install the package again.",
        ) from error


def _planes(rgb: FloatArray) -> FloatArray:
    return np.ascontiguousarray(rgb.transpose(2, 0, 1)[np.newaxis])


# --- LPIPS, version 0.1 on AlexNet; the weights travel with this package ---

GRAPH = Path(__file__).with_name("weights") / "lpips_alex.onnx"

SPEC = declared("LPIPS")


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """The distance: 0 for identical pictures, near 1 for unrelated ones. The map has the picture's size."""
    views = Views.of(test, reference, SPEC)
    maps = [each[0, 0] for each in outputs(GRAPH, views)]
    details = {f"layer_{index + 1}": float(each.mean(dtype=np.float64)) for index, each in enumerate(maps)}
    local = np.zeros(views.size, np.float32)
    for each in maps:
        local += np.asarray(cv2.resize(each, views.size[::-1], interpolation=cv2.INTER_LINEAR), np.float32)
    return Measurement(sum(details.values()), map=local, details=details)
