"""Run a command as if the processor had neither AVX-512 nor VNNI.

    python benchmarks/speed/without_avx512.py COMMAND [ARGUMENT ...]

OpenCV, NumPy, OpenBLAS and PyTorch are told by variables. ONNX Runtime knows none: the command finds a copy of it whose
two questions to the processor (which registers the system keeps; what leaf 7.1 tells) have the answers of an older one.
What such a processor does, but for its caches and memory.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

WITHOUT_AVX512 = {
    "OPENCV_CPU_DISABLE": "AVX512-SKX",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4,AVX512_ICL,AVX512_SPR",
    "OPENBLAS_CORETYPE": "Haswell",
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
}
"""Read by libraries when they are loaded; one that knows no such feature says so and goes on."""
ANSWERS = {
    # xor ecx, ecx; xgetbv: the state of registers that the system keeps. Then: that of AVX and no more.
    b"\x31\xc9\x0f\x01\xd0": b"\x31\xc9\xb0\x06\x90",
    # mov eax, 7; mov ecx, 1; cpuid: whether there is AVX-VNNI and its like. Then: a leaf that tells of nothing.
    b"\xb8\x07\0\0\0\xb9\x01\0\0\0\x0f\xa2": b"\xb8\x07\0\0\0\xb9\x7f\0\0\0\x0f\xa2",
}


def older_runtime(folder: Path) -> None:
    """A copy of ONNX Runtime in ``folder`` that asks the processor nothing new."""
    spec = importlib.util.find_spec("onnxruntime")
    if spec is None or spec.origin is None:
        raise SystemExit("ONNX Runtime is not installed: pip install onnxruntime.")
    copy = folder / "onnxruntime"
    shutil.copytree(Path(spec.origin).parent, copy)
    (library,) = (copy / "capi").glob("onnxruntime_pybind11_state*.so")
    data = library.read_bytes()
    for asked, answered in ANSWERS.items():
        if asked not in data:
            raise SystemExit(f"This ONNX Runtime asks the processor in another way ({library.name}).")
        data = data.replace(asked, answered)
    library.unlink()
    library.write_bytes(data)


def main() -> None:
    if not sys.argv[1:]:
        raise SystemExit(__doc__)
    with tempfile.TemporaryDirectory() as name:
        older_runtime(Path(name))
        path = os.pathsep.join([name, *filter(None, [os.environ.get("PYTHONPATH")])])
        done = subprocess.run(sys.argv[1:], env={**os.environ, **WITHOUT_AVX512, "PYTHONPATH": path}, check=False)
    raise SystemExit(done.returncode)


if __name__ == "__main__":
    main()
