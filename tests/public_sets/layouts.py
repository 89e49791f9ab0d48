"""Small folders in the layouts that the authors of each dataset publish."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import scipy.io

# Readers look at names and sizes; whether a picture can be decoded is another part's business.
PICTURE = b"BM picture"


def touch(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(PICTURE)


def sheet(
    path: Path, rows: list[list[Any]], title: str = "Sheet1", blank_rows: int = 0, blank_columns: int = 0
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    book = openpyxl.Workbook()
    page = book.active
    page.title = title
    for y, row in enumerate(rows, 1 + blank_rows):
        for x, cell in enumerate(row, 1 + blank_columns):
            page.cell(y, x, cell)
    book.save(path)


def table(path: Path, rows: list[list[Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows(rows)


def cells(values: list[str]) -> np.ndarray:
    """A MATLAB cell array of texts."""
    array = np.empty((1, len(values)), dtype=object)
    array[0, :] = values
    return array


def tid2013(root: Path) -> None:
    (root / "mos_with_names.txt").write_text("5.51429 I01_01_1.bmp\n3.02500 I01_08_4.bmp\n4.1 i25_24_5.bmp\n")
    touch(root, "distorted_images/i01_01_1.bmp", "distorted_images/i01_08_4.bmp", "distorted_images/i25_24_5.bmp")
    touch(root, "reference_images/I01.BMP", "reference_images/i25.bmp")


def kadid10k(root: Path) -> None:
    table(
        root / "dmos.csv",
        [
            ["dist_img", "ref_img", "dmos", "var"],
            ["I01_01_01.png", "I01.png", 4.57, 0.496],
            ["I01_25_05.png", "I01.png", 1.9, 0.8],
        ],
    )
    touch(root, "images/I01.png", "images/I01_01_01.png", "images/I01_25_05.png")


def csiq(root: Path) -> None:
    header = ["image", "dst_idx", "dst_type", "dst_lev", "dmos_std", "dmos"]
    rows = [
        [1600, 1, "noise", 1, 0.1, 0.062],
        ["sunset_sparrow", 6, "jpeg 2000", 5, 0.1, 0.9],
        [1600, 3, "contrast", 2, 0, 0.2],
    ]
    sheet(root / "csiq.DMOS.xlsx", [header, *rows], title="all_by_image", blank_rows=3, blank_columns=3)
    touch(root, "src_imgs/1600.png", "src_imgs/sunset_sparrow.png", "dst_imgs/awgn/1600.AWGN.1.png")
    touch(root, "dst_imgs/jpeg2000/sunset_sparrow.jpeg2000.5.png", "dst_imgs/contrast/1600.contrast.2.png")


LIVE_SIZES = {"jp2k": 227, "jpeg": 233, "wn": 174, "gblur": 174, "fastfading": 174}
LIVE_ORIGINALS = 203


def live(root: Path) -> None:
    root.mkdir(exist_ok=True)
    total = sum(LIVE_SIZES.values())
    originals = np.zeros(total, np.uint8)
    originals[-LIVE_ORIGINALS:] = 1
    scipy.io.savemat(root / "dmos.mat", {"dmos": np.linspace(0, 90, total)[None], "orgs": originals[None]})
    scipy.io.savemat(root / "refnames_all.mat", {"refnames_all": cells(["bikes.bmp"] * total)})
    touch(
        root,
        "refimgs/bikes.bmp",
        *(f"{kind}/img{i}.bmp" for kind, size in LIVE_SIZES.items() for i in range(1, size + 1)),
    )


def pipal(root: Path) -> None:
    (root / "Train_Label").mkdir(parents=True)
    (root / "Train_Label/A0001.txt").write_text("A0001_00_00.bmp,1379.4179\nA0001_06_03.bmp,1510.25\n")
    touch(root, "Train_Ref/A0001.bmp", "Distortion_1/A0001_00_00.bmp", "Distortion_2/A0001_06_03.bmp")


def cidiq(root: Path) -> None:
    scores = np.linspace(1, 9, 690)
    scipy.io.savemat(root / "MOS50.mat", {"MOS50": scores[:, None]})
    scipy.io.savemat(root / "MOS100.mat", {"MOS100": scores[::-1, None]})
    kinds = ["JPEG2000_Compression", "JPEG_Compression", "Poisson_Noise", "Gaussian_Blur", "SGCK", "DeltaE"]
    for kind, name in enumerate(kinds, 1):
        home = f"Images/Reproduction/{kind}_{name}"
        touch(root, *(f"{home}/final{i:02}_d{kind}_l{level}.bmp" for i in range(1, 24) for level in range(1, 6)))
    touch(root, *(f"Images/Original/final{i:02}.bmp" for i in range(1, 24)))


def clive(root: Path) -> None:
    names = [f"t{i}.bmp" for i in range(1, 8)] + ["3.bmp", "1024.JPG"]
    (root / "Data").mkdir(parents=True)
    scipy.io.savemat(root / "Data/AllImages_release.mat", {"AllImages_release": cells(names).T})
    scipy.io.savemat(root / "Data/AllMOS_release.mat", {"AllMOS_release": np.linspace(20, 80, 9)[None]})
    scipy.io.savemat(root / "Data/AllStdDev_release.mat", {"AllStdDev_release": np.full((1, 9), 18.5)})
    touch(root, *(f"Images/trainingImages/{name}" for name in names[:7]), *(f"Images/{name}" for name in names[7:]))


def koniq10k(root: Path) -> None:
    header = ["image_name", "c1", "c2", "c3", "c4", "c5", "c_total", "MOS", "SD", "MOS_zscore"]
    table(
        root / "koniq10k_scores_and_distributions.csv",
        [header, ["10004473376.jpg", 0, 0, 25, 73, 7, 105, 3.83, 0.53, 77.38]],
    )
    touch(root, "1024x768/10004473376.jpg")


def spaq(root: Path) -> None:
    header = ["Image name", "MOS", "Brightness", "Colorfulness", "Contrast", "Noisiness", "Sharpness"]
    sheet(root / "Annotations/MOS and Image attribute scores.xlsx", [header, ["00001.jpg", 63.5, 60, 61, 62, 63, 64]])
    touch(root, "TestImage/00001.jpg")


def bid(root: Path) -> None:
    sheet(
        root / "DatabaseGrades.xlsx",
        [["Image Number", "Average Subjective Grade", "std"], [1, 2.68, 0.5], [26.0, 3.9, 0.4]],
    )
    touch(root, "ImageDatabase/DatabaseImage0001.JPG", "ImageDatabase/DatabaseImage0026.jpg")


def biq2021(root: Path) -> None:
    table(root / "Train (Images and MOS).csv", [["Image Name", "MOS", "", ""], ["ss03 (3753).jpg", 0.8471, "", ""]])
    table(root / "Test (Images and MOS).csv", [["Image Name", "MOS"], ["ss01 (10).jpg", 0.25]])
    touch(root, "Images/ss03 (3753).jpg", "Images/ss01 (10).jpg")


def agiqa3k(root: Path) -> None:
    header = ["name", "prompt", "adj1", "adj2", "style", "mos_quality", "std_quality", "mos_align", "std_align"]
    table(root / "data.csv", [header, ["AttnGAN_normal_000.jpg", "statue of a man", "", "", "", 1.13, 0.3, 0.9, 0.4]])
    touch(root, "AttnGAN_normal_000.jpg")


def llvisionqa(root: Path) -> None:
    record = {"img_path": "00096.jpg", "type": "0", "concern": "3", "question": "Is this image clear?"}
    dev = [record | {"candidates": ["Yes", "No"], "correct_ans": "No"}]
    (root / "llvisionqa_dev.json").write_text(json.dumps(dev))
    (root / "llvisionqa_test.json").write_text(json.dumps([record | {"candidates": ["Yes", "No"]}]))
    touch(root, "images/00096.jpg")


def agenticiqa_eval(root: Path) -> None:
    record = {"question": "Which tool suits JPEG?", "options": ["SSIM", "NIMA"], "answer": "A", "image": "1.png"}
    records = [record | {"task": "executor_tool", "reference": "r.png"}, record | {"task": "Planner"}]
    (root / "agenticiqa_eval.json").write_text(json.dumps(records))
    touch(root, "images/1.png", "images/r.png")


MAKERS = {
    "tid2013": tid2013,
    "kadid10k": kadid10k,
    "csiq": csiq,
    "live": live,
    "pipal": pipal,
    "cidiq": cidiq,
    "clive": clive,
    "koniq10k": koniq10k,
    "spaq": spaq,
    "bid": bid,
    "biq2021": biq2021,
    "agiqa-3k": agiqa3k,
    "llvisionqa": llvisionqa,
    "agenticiqa-eval": agenticiqa_eval,
}
