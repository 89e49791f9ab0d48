"""From shipped weight files to sessions of ONNX Runtime."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from agenticiqa.errors import BackendUnavailableError


def thread_limit() -> int:
    """What OMP_NUM_THREADS allows, as other numeric libraries read it; 0 leaves the choice to ONNX Runtime."""
    first = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(first) if first.isdigit() else 0


def open_session(
    data: bytes, threads: int = 0, weights: Mapping[str, NDArray[Any]] | None = None, *, keeps_memory: bool = True
) -> Any:
    """An ONNX graph ready to run on the CPU; ``threads`` 0 takes the usual number.

    ``weights`` are the tensors that the graph itself only names. A session that ``keeps_memory`` holds for its whole
    life what its largest picture took: quick for pictures of a bounded size, gigabytes for others. Every session of
    this package is opened here.
    """
    # Nothing of ours leaves the machine: importing ONNX Runtime writes a device id into the user's cache and collects
    # events for its maker, unless this is set before. A program that wants that sets the variable itself.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or thread_limit()
    options.log_severity_level = 3
    # Planning memory for each new size of picture costs a tenth of a second at the first look and gains nothing later.
    options.enable_mem_pattern = False
    options.enable_cpu_mem_arena = keeps_memory
    # Threads that wait by spinning take the processor from whatever else runs: tools, other requests.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if weights:
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(each) for each in weights.values()]
        options.add_external_initializers(list(weights), values)
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def described(folder: Path, file: str = "model.json") -> dict[str, Any]:
    """What stands in a folder of weights beside them, their hashes among it."""
    try:
        about: dict[str, Any] = json.loads((folder / file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BackendUnavailableError(
            f"The embedded model's description is missing or broken in {folder}.", hint="Install the package again."
        ) from error
    return about


def checked_file(file: Path, expected: str) -> bytes:
    """The file's bytes, if they are the ones that were shipped."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise BackendUnavailableError(f"{file} cannot be read.", hint="Install the package again.") from error
    if hashlib.sha256(data).hexdigest() != expected:
        raise BackendUnavailableError(
            f"{file} is not the file that was shipped (its SHA-256 differs).", hint="Install the package again."
        )
    return data
