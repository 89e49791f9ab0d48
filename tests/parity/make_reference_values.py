"""Run other libraries on the parity pictures and store their numbers with their versions.

    python tests/parity/make_reference_values.py [--official FOLDER]

needs torch, pyiqa 0.1.16, piq, scikit-image, ssimulacra2, psnr_hvsm and this project's src on PYTHONPATH.
``--official`` names the folder ResultsCalibra of pyiqa's source distribution: its five picture pairs are
measured too and compared with the published values beside them. NIQE and BRISQUE of pyiqa fetch their
parameters from a hub; here they are given the ones this project ships, so the code is compared, not the data.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import importlib.metadata
import json
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import scipy.io
import torch
from cases import cases
from PIL import Image

import agenticiqa.tools.metrics as ours

HERE = Path(__file__).resolve().parent
PARAMETERS = Path(ours.__file__).parent / "parameters"
PYIQA = {
    "PSNR": "psnr",
    "SSIM": "ssim",
    "MS-SSIM": "ms_ssim",
    "FSIM": "fsim",
    "GMSD": "gmsd",
    "VIF": "vif",
    "VSI": "vsi",
    "NLPD": "nlpd",
}
PIQ = {"VIFp": "vif_p", "MDSI": "mdsi", "HaarPSI": "haarpsi"}
PACKAGES = ("pyiqa", "piq", "scikit-image", "psnr_hvsm", "ssimulacra2", "torch", "numpy", "opencv-python")


def tensor(picture: np.ndarray, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(picture.transpose(2, 0, 1)))[None].to(dtype)


def prepare_torchvision() -> None:
    """Declare two operators that torchvision expects of a CUDA-built torch and a CPU build lacks."""
    shape = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
    for name in ("nms", "qnms"):
        with contextlib.suppress(RuntimeError):
            torch.library.define(f"torchvision::{name}", shape)


def in_double(network: torch.nn.Module, x: np.ndarray, y: np.ndarray) -> float:
    """Run a network that casts its filters to float32 with those casts going to double instead."""
    cast = torch.Tensor.float
    torch.Tensor.float = torch.Tensor.double
    try:
        return float(network(tensor(x, torch.float64), tensor(y, torch.float64)))
    finally:
        torch.Tensor.float = cast


def blind_metrics(folder: Path) -> dict[str, torch.nn.Module]:
    """pyiqa's blind metrics with the parameters that this project ships."""
    import pyiqa
    import pyiqa.archs.brisque_arch

    niqe = np.load(PARAMETERS / "niqe.npz")
    path = folder / "niqe.mat"
    scipy.io.savemat(path, {"mu_prisparam": niqe["mean"], "cov_prisparam": niqe["covariance"]})
    svm = np.load(PARAMETERS / "brisque.npz")
    weights = folder / "brisque.pth"
    coefficients = torch.from_numpy(svm["coefficients"].astype(np.float32))
    vectors = torch.from_numpy(svm["support_vectors"].astype(np.float32))
    torch.save((coefficients, vectors), weights)
    brisque = pyiqa.create_metric("brisque", device="cpu", pretrained_model_path=str(weights))
    brisque.net.rho = float(svm["rho"])
    low, high = torch.from_numpy(svm["lowest"]), torch.from_numpy(svm["highest"])
    pyiqa.archs.brisque_arch.scale_features = lambda features: (
        -1 + 2 * (features - low.to(features)) / (high - low).to(features)
    )
    return {
        "NIQE": pyiqa.create_metric("niqe", device="cpu", pretrained_model_path=str(path)),
        "BRISQUE": brisque,
        "PIQE": pyiqa.create_metric("piqe", device="cpu"),
    }


def peers(folder: Path) -> dict[str, object]:
    import piq
    import psnr_hvsm
    import pyiqa
    from skimage.color import deltaE_ciede2000, rgb2lab
    from ssimulacra2 import compute_ssimulacra2

    found: dict[str, object] = {}
    for name, theirs in PYIQA.items():
        metric = pyiqa.create_metric(theirs, device="cpu")
        found[name] = lambda x, y, metric=metric: float(metric(tensor(x), tensor(y)))
    # float32 is too short for these two formulae (see test_parity.py): both precisions are kept.
    found["VIF in float32"] = found["VIF"]
    found["VIF"] = lambda x, y: in_double(pyiqa.create_metric("vif", device="cpu").net, x, y)
    for name, theirs in PIQ.items():
        function = getattr(piq, theirs)
        found[name] = lambda x, y, function=function: float(
            function(tensor(x, torch.float64), tensor(y, torch.float64))
        )
    found["CIEDE2000"] = lambda x, y: float(deltaE_ciede2000(rgb2lab(y), rgb2lab(x)).mean())

    def ssimulacra(x: np.ndarray, y: np.ndarray) -> float:
        paths = []
        for label, picture in (("test", x), ("reference", y)):
            path = folder / f"{label}.png"
            Image.fromarray(np.rint(picture * 255).astype(np.uint8)).save(path)
            paths.append(path)
        return float(compute_ssimulacra2(str(paths[1]), str(paths[0])))

    found["SSIMULACRA2"] = ssimulacra

    def hvs(x: np.ndarray, y: np.ndarray) -> float:
        luma = [np.rint(255 * (p @ np.array([0.299, 0.587, 0.114], np.float32))) / 255 for p in (x, y)]
        height, width = (side // 8 * 8 for side in luma[0].shape)
        crop = [np.ascontiguousarray(p[:height, :width], np.float64) for p in luma]
        _, masked = psnr_hvsm.psnr_hvs_hvsm(crop[1], crop[0])
        return float(masked)

    found["PSNR-HVS-M"] = hvs
    for name, metric in blind_metrics(folder).items():
        found[name] = lambda x, _y, metric=metric: float(metric(tensor(x)))
    found["PIQE in float32"] = found["PIQE"]
    piqe = pyiqa.create_metric("piqe", device="cpu").net
    found["PIQE"] = lambda x, _y: float(piqe(tensor(x, torch.float64)))
    return found


def official(folder: Path) -> dict[str, dict[str, dict[str, float]]]:
    """Published values of the five calibration pairs, those pyiqa reports for itself, and ours."""
    rows = {}
    for table in ("results_official.csv", "calibration_summary.csv"):
        with (folder / table).open() as stream:
            for row in csv.DictReader(stream):
                rows.setdefault(row["Method"], row)
    names = {**PYIQA, "NIQE": "niqe", "BRISQUE": "brisque", "PIQE": "piqe"}
    out: dict[str, dict[str, dict[str, float]]] = {}
    for image in ("I03.bmp", "I04.bmp", "I06.bmp", "I08.bmp", "I19.bmp"):
        pair = [np.asarray(Image.open(folder / kind / image).convert("RGB")) for kind in ("dist_dir", "ref_dir")]
        for name, theirs in names.items():
            value = ours.METRICS[name].measure(*pair).value
            published = float(rows[theirs][image])
            reported = float(rows[f"{theirs}(ours)"][image])
            out.setdefault(name, {})[image] = {
                "published": published,
                "pyiqa": reported,
                "ours": round(value, 6),
            }
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--official", type=Path)
    parser.add_argument("--output", type=Path, default=HERE / "reference_values.json")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    prepare_torchvision()
    torch.set_num_threads(1)
    values: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        functions = peers(Path(folder))
        for case, test, reference in cases():
            for name, function in functions.items():
                try:
                    found = function(test, reference)  # type: ignore[operator]
                except (RuntimeError, ValueError, AssertionError) as error:
                    sys.stderr.write(f"{case}: {name}: no value ({error})\n")
                    continue
                if np.isfinite(found):
                    values.setdefault(name, {})[case] = found
    document: dict[str, object] = {
        "versions": {name: version(name) for name in PACKAGES},
        "values": values,
    }
    if arguments.official:
        document["official_pairs"] = official(arguments.official)
    elif arguments.output.exists():
        document["official_pairs"] = json.loads(arguments.output.read_text()).get("official_pairs", {})
    arguments.output.write_text(json.dumps(document, indent=1) + "\n")


def version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


if __name__ == "__main__":
    main()
