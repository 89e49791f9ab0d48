"""Run other libraries on the parity pictures and store their numbers with their versions.

    python tests/parity/make_reference_values.py [--official FOLDER] [--ssimulacra2 PROGRAM]

needs torch, pyiqa 0.1.16, piq, scikit-image, ssimulacra2, psnr_hvsm and this project's src on PYTHONPATH.
``--official`` names the folder ResultsCalibra of pyiqa's source distribution: its five picture pairs are
measured too and compared with the published values beside them; without it the pairs that pyiqa's wheel installs are
measured, and the published values stored before are kept. ``--ssimulacra2`` names the original program of libjxl
(Debian's package libjxl-devtools has it); without it its stored values are kept. NIQE and BRISQUE of pyiqa fetch
their parameters from a hub; here they are given the ones this project ships, so the code is compared, not the data.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import importlib.metadata
import json
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
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
OFFICIAL_PICTURES = ("I03.bmp", "I04.bmp", "I06.bmp", "I08.bmp", "I19.bmp")
LIBJXL = "0.11.1 (SSIMULACRA 2.1, Debian's libjxl-devtools)"
PIQ = {"VIFp": "vif_p", "MDSI": "mdsi", "HaarPSI": "haarpsi"}
PACKAGES = ("pyiqa", "piq", "scikit-image", "psnr_hvsm", "ssimulacra2", "torch", "numpy", "opencv-python")


Stored = dict[str, dict[str, dict[str, float]]]


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


def peers(folder: Path) -> dict[str, Callable[..., float]]:
    import piq
    import psnr_hvsm
    import pyiqa
    from skimage.color import deltaE_ciede2000, rgb2lab
    from ssimulacra2 import compute_ssimulacra2

    found: dict[str, Callable[..., float]] = {}
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
    found["SSIMULACRA2 of the Python port"] = lambda x, y: float(compute_ssimulacra2(*_files(folder, x, y)))

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


def _files(folder: Path, x: np.ndarray, y: np.ndarray) -> tuple[str, str]:
    """Reference and test as PNG files, in that order."""
    paths = folder / "reference.png", folder / "test.png"
    for path, picture in zip(paths, (y, x), strict=True):
        Image.fromarray(np.rint(picture * 255).astype(np.uint8)).save(path)
    return str(paths[0]), str(paths[1])


def original_ssimulacra2(program: str, folder: Path) -> Callable[[np.ndarray, np.ndarray], float]:
    def run(x: np.ndarray, y: np.ndarray) -> float:
        command = [program, *_files(folder, x, y)]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    return run


def second_peers() -> dict[str, dict[str, Callable[[np.ndarray, np.ndarray], float]]]:
    """Other libraries' versions of metrics that pyiqa has too, given the luma that ours sees where ours sees luma."""
    import piq
    from skimage.metrics import peak_signal_noise_ratio, structural_similarity

    def luma(picture: np.ndarray) -> np.ndarray:
        return ours.Picture(picture).luma8().astype(np.float64) / 255

    def on_luma(function: Callable[..., torch.Tensor]) -> Callable[[np.ndarray, np.ndarray], float]:
        return lambda x, y: float(function(*(torch.from_numpy(luma(p))[None, None] for p in (x, y))))

    def on_colour(function: Callable[..., torch.Tensor]) -> Callable[[np.ndarray, np.ndarray], float]:
        return lambda x, y: float(function(tensor(x, torch.float64), tensor(y, torch.float64)))

    window = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False, "data_range": 1.0}
    return {
        "PSNR": {
            "piq": on_colour(piq.psnr),
            "scikit-image": lambda x, y: float(peak_signal_noise_ratio(y, x, data_range=1.0)),
        },
        "SSIM": {
            "piq": on_luma(partial(piq.ssim, downsample=False)),
            "scikit-image": lambda x, y: float(structural_similarity(luma(x), luma(y), **window)),
        },
        "MS-SSIM": {"piq": on_luma(piq.multi_scale_ssim)},
        "GMSD": {"piq": on_luma(piq.gmsd)},
        "FSIM": {"piq": on_colour(piq.fsim)},
        "VSI": {"piq": on_colour(piq.vsi)},
    }


def published(folder: Path, stored: Stored) -> Stored:
    """Published values of the five calibration pairs and those pyiqa reports for itself."""
    if not (folder / "results_official.csv").exists():
        return stored
    rows: dict[str, dict[str, str]] = {}
    for table in ("results_official.csv", "calibration_summary.csv"):
        with (folder / table).open() as stream:
            for row in csv.DictReader(stream):
                rows.setdefault(row["Method"], row)
    names = {**PYIQA, "NIQE": "niqe", "BRISQUE": "brisque", "PIQE": "piqe"}
    return {
        name: {
            image: {"published": float(rows[theirs][image]), "pyiqa": float(rows[f"{theirs}(ours)"][image])}
            for image in OFFICIAL_PICTURES
        }
        for name, theirs in names.items()
    }


def official(folder: Path, stored: Stored) -> Stored:
    """The published values of the calibration pairs with ours beside them."""
    found = published(folder, stored)
    for image in OFFICIAL_PICTURES:
        pair = [np.asarray(Image.open(folder / kind / image).convert("RGB")) for kind in ("dist_dir", "ref_dir")]
        for name, values in found.items():
            values[image]["ours"] = round(ours.METRICS[name].measure(*pair).value, 6)
    return found


def measured(functions: dict[str, Callable[..., float]]) -> dict[str, dict[str, float]]:
    """Every function on every pair; a library that refuses a pair gives no value for it."""
    values: dict[str, dict[str, float]] = {name: {} for name in functions}
    for case, test, reference in cases():
        sys.stderr.write(f"{case}\n")
        for name, function in functions.items():
            try:
                found = function(test, reference)
            except (RuntimeError, ValueError, AssertionError) as error:
                sys.stderr.write(f"{case}: {name}: no value ({error})\n")
                continue
            if np.isfinite(found):
                values[name][case] = found
    return values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--official", type=Path, help="folder ResultsCalibra of pyiqa's source distribution")
    parser.add_argument("--ssimulacra2", default=shutil.which("ssimulacra2"), help="the original program")
    parser.add_argument("--output", type=Path, default=HERE / "reference_values.json")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    prepare_torchvision()
    torch.set_num_threads(1)
    stored = json.loads((HERE / "reference_values.json").read_text())
    official_pairs = official(arguments.official or installed_pairs(), stored["official_pairs"])
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        functions = peers(Path(folder))
        if arguments.ssimulacra2:
            functions["SSIMULACRA2"] = original_ssimulacra2(arguments.ssimulacra2, Path(folder))
        for name, others in second_peers().items():
            functions |= {f"{name} of {library}": function for library, function in others.items()}
        values = measured(functions)
    values.setdefault("SSIMULACRA2", stored["values"]["SSIMULACRA2"])
    document = {
        "versions": {name: version(name) for name in PACKAGES} | {"libjxl": LIBJXL},
        "pictures": {case: float(test.mean(dtype=np.float64)) for case, test, _ in cases()},
        "values": {name: values[name] for name in sorted(values)},
        "official_pairs": official_pairs,
    }
    arguments.output.write_text(json.dumps(document, indent=1) + "\n")


def installed_pairs() -> Path:
    import pyiqa

    return Path(pyiqa.__file__).resolve().parents[1] / "ResultsCalibra"


def version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


if __name__ == "__main__":
    main()
