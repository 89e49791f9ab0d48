"""Runs the learned metrics of pyiqa (extra ``pyiqa``, PolyForm Noncommercial licence).

Nothing of pyiqa or torch is imported before a tool is used; an instance is made once per process. Weights come from the
internet on first use, so a tool counts as ready only after :func:`fetch` has run it here once: a marker file says so,
with the version it holds for.
"""

import contextlib
import importlib
import json
import os
import sys
import threading
from dataclasses import dataclass, field
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from agenticiqa.errors import ToolError, ToolUnavailableError
from agenticiqa.runtime.config import PyiqaSettings
from agenticiqa.runtime.files import write_atomic
from agenticiqa.tools.metrics import Array, FloatArray, Measurement, Metric, MetricSpec, Picture, Views

EXTRA = "pyiqa"
LICENCE_NOTE = "pyiqa's licence (PolyForm Noncommercial 1.0.0) does not allow commercial use."
# Some metrics sample patches at random; the same picture must get the same score.
_SEED = 0
_TRIAL_SIZE = (256, 320)

# torchvision built for CUDA cannot be imported beside a CPU torch because these operators are missing. No metric here
# calls them: they only need to exist.
_MISSING_OPERATORS = {
    "torchvision::nms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "torchvision::qnms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
}


@dataclass
class _Instance:
    metric: Any
    lock: threading.Lock = field(default_factory=threading.Lock)


_loading = threading.Lock()
_instances: dict[tuple[str, str, str], _Instance] = {}


def installed_version() -> str | None:
    """pyiqa's version, found without importing it; None where it is not installed."""
    if find_spec("pyiqa") is None or find_spec("torch") is None:
        return None
    try:
        return metadata.version("pyiqa")
    except metadata.PackageNotFoundError:
        return "unknown"


def pyiqa_name(tool: str) -> str:
    """
    >>> pyiqa_name("WaDIQaM_FR"), pyiqa_name("IL-NIQE")
    ('wadiqam_fr', 'ilniqe')
    """
    return tool.lower().replace("-", "")


# --- what has been fetched -------------------------------------------------------------------------------


def marker_path(folder: Path, tool: str) -> Path:
    """The file under the tools folder that says: this tool has run here."""
    return folder / "pyiqa" / f"{pyiqa_name(tool)}.json"


def missing_weights(tool: str, folder: Path, settings: PyiqaSettings) -> str | None:
    """Why the tool cannot be trusted to run without fetching, or None."""
    command = f"`agenticiqa tools fetch {tool}`"
    try:
        marker = json.loads(marker_path(folder, tool).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return f"its weights have not been fetched: run {command}"
    if not isinstance(marker, dict) or marker.get("pyiqa") != installed_version():
        return f"it was fetched for another version of pyiqa: run {command} again"
    if marker.get("weights_folder") != _folder_name(settings):
        return f"its weights were fetched into another folder: run {command} again"
    return None


def fetch(tool: str, spec: MetricSpec, folder: Path, settings: PyiqaSettings) -> tuple[float, int]:
    """Load the tool, run it on a made picture, and note that it works; returns its value and the bytes downloaded."""
    before = _weights_bytes(settings)
    picture = trial_picture()
    value = adapted(tool, spec, settings).measure(picture, picture if spec.kind == "FR" else None).value
    path = marker_path(folder, tool)
    note = {
        "tool": tool,
        "pyiqa": installed_version(),
        "weights_folder": _folder_name(settings),
        "value_on_trial_picture": value,
    }
    write_atomic(path, json.dumps(note, indent=2) + "\n")
    return value, _weights_bytes(settings) - before


def _weights_bytes(settings: PyiqaSettings) -> int:
    """Of all files where pyiqa, torch and the Hugging Face hub keep weights."""
    own = _folder_name(settings)
    caches = (os.environ.get("TORCH_HOME", "~/.cache/torch"), os.environ.get("HF_HOME", "~/.cache/huggingface"))
    folders = {Path(each).expanduser() for each in ((own,) if own else caches)}
    files = (file for folder in folders if folder.is_dir() for file in folder.rglob("*"))
    return sum(file.stat().st_size for file in files if file.is_file() and not file.is_symlink())


def _folder_name(settings: PyiqaSettings) -> str | None:
    return str(settings.weights_folder.expanduser().absolute()) if settings.weights_folder else None


def trial_picture() -> FloatArray:
    """A soft ramp with a little grain: nothing that a metric could refuse."""
    height, width = _TRIAL_SIZE
    ramp = np.linspace(0.1, 0.9, width, dtype=np.float32)[None, :, None] * np.ones((height, 1, 3), np.float32)
    noise = np.random.default_rng(0).normal(0, 0.02, ramp.shape).astype(np.float32)
    return np.asarray(np.clip(ramp + noise, 0, 1), np.float32)


# --- running ---------------------------------------------------------------------------------------------


def adapted(tool: str, spec: MetricSpec, settings: PyiqaSettings) -> Metric:
    """pyiqa's metric behind the face of a native one."""

    def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
        views = Views.of(test, reference, spec)
        pictures = [views.test.rgb()] + ([views.reference.rgb()] if spec.kind == "FR" else [])
        return Measurement(_run(tool, _instance(tool, settings), pictures))

    return Metric(spec, measure)


def _run(tool: str, instance: _Instance, pictures: list[FloatArray]) -> float:
    torch = importlib.import_module("torch")
    tensors = [torch.from_numpy(np.ascontiguousarray(each.transpose(2, 0, 1)[np.newaxis])) for each in pictures]
    try:
        with instance.lock, torch.no_grad(), _quiet():
            torch.manual_seed(_SEED)
            value = float(instance.metric(*tensors))
    except Exception as error:
        # What hundreds of thousands of lines behind pyiqa may raise cannot be listed.
        raise ToolError(
            f"{tool} failed in pyiqa: {_words(error)}.", hint="Try a smaller picture or device: cpu."
        ) from (error)
    if not np.isfinite(value):
        raise ToolError(f"{tool} gave no finite number.")
    return value


def _instance(tool: str, settings: PyiqaSettings) -> _Instance:
    key = (pyiqa_name(tool), settings.device, _folder_name(settings) or "")
    with _loading:
        if key not in _instances:
            _instances[key] = _Instance(_load(tool, settings))
        return _instances[key]


def _load(tool: str, settings: PyiqaSettings) -> Any:
    if installed_version() is None:
        raise ToolUnavailableError(
            f"{tool} needs pyiqa, which is not installed.", hint=f"pip install 'agenticiqa[{EXTRA}]'. {LICENCE_NOTE}"
        )
    _use_folder(settings)
    try:
        with _quiet():
            import_torchvision()
            pyiqa, torch = importlib.import_module("pyiqa"), importlib.import_module("torch")
            device = settings.device
            if device == "auto":
                device = "cuda" if torch.cuda.is_available() else "cpu"
            return pyiqa.create_metric(pyiqa_name(tool), device=torch.device(device))
    except Exception as error:
        raise ToolUnavailableError(
            f"{tool} could not be loaded by pyiqa: {_words(error)}.",
            hint="Its weights are downloaded on first use: check the internet connection, or put the files into "
            f"{_folder_name(settings) or 'the torch hub folder'} by hand, then run `agenticiqa tools fetch {tool}`.",
        ) from error


def _use_folder(settings: PyiqaSettings) -> None:
    """Must come before pyiqa is imported: it reads the folder then."""
    folder = _folder_name(settings)
    if folder is None:
        return
    if "pyiqa" in sys.modules and importlib.import_module("torch").hub.get_dir() != folder:
        raise ToolUnavailableError(
            "pyiqa is already in use with another weights folder.", hint="Restart the program to change it."
        )
    importlib.import_module("torch").hub.set_dir(folder)
    # Backbones that come from the Hugging Face hub have a folder of their own.
    os.environ.setdefault("HF_HOME", str(Path(folder) / "huggingface"))


def import_torchvision() -> None:
    """Load torchvision; one built for another torch gets the operators that it misses there, which nothing calls."""
    try:
        importlib.import_module("torchvision")
    except RuntimeError as error:
        if "torchvision::" not in str(error):
            raise
        for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        torch = importlib.import_module("torch")
        for operator, schema in _MISSING_OPERATORS.items():
            torch.library.define(operator, schema)
        importlib.import_module("torchvision")


def _quiet() -> contextlib.redirect_stdout[TextIO]:
    """pyiqa prints what it loads; our standard output belongs to results."""
    return contextlib.redirect_stdout(sys.stderr)


def _words(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text[:300].rstrip(".")
