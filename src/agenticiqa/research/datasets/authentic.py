"""Sets of pictures as taken or generated, without references."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agenticiqa.batch.sample import Sample
from agenticiqa.research.datasets.folder import (
    Dataset,
    DatasetFolder,
    first_key,
    joined,
    matlab_column,
    number,
    scored_sample,
    table_rows,
)

# --- LIVE in the Wild ------------------------------------------------------------------------------------

_CLIVE_TRAINING = 7


def _read_clive(folder: DatasetFolder, subset: str) -> Iterator[Sample]:
    """The first seven pictures trained the raters and are usually left out."""
    file = folder.file("Data/AllMOS_release.mat")
    names = matlab_column(folder, folder.file("Data/AllImages_release.mat"), "AllImages_release")
    scores = matlab_column(folder, file, "AllMOS_release")
    deviation_file = folder.optional_file("Data/AllStdDev_release.mat")
    deviations = matlab_column(folder, deviation_file, "AllStdDev_release") if deviation_file else None
    if len(names) != len(scores):
        raise folder.malformed(file, f"it has {len(scores)} scores for {len(names)} pictures")
    for i, (name, score) in enumerate(zip(names, scores, strict=True)):
        training = i < _CLIVE_TRAINING
        if training and subset == "test":
            continue
        mos = number(score, str(file))
        yield scored_sample(
            "clive",
            joined("Images", "trainingImages" if training else "", str(name).strip()),
            mos,
            mos,
            mos_std=float(deviations[i]) if deviations else None,
            split="training" if training else "test",
        )


CLIVE = Dataset(
    name="clive",
    title="LIVE In the Wild (Challenge)",
    kind="no-reference",
    counts={"test": 1162, "all": 1169},
    scale="MOS 0 (bad) to 100 (excellent), kept as it is",
    layout="Data/AllImages_release.mat, Data/AllMOS_release.mat, Images/, Images/trainingImages/",
    citation="Ghadiyaram and Bovik, Massive online crowdsourced study of picture quality, 2016",
    obtain="Search for 'LIVE In the Wild Image Quality Challenge Database'; the laboratory gives a password.",
    caution="Not tried on the original download.",
    read=_read_clive,
)

# --- KonIQ-10k -------------------------------------------------------------------------------------------


def _read_koniq(folder: DatasetFolder, _subset: str) -> Iterator[Sample]:
    file = folder.file(
        "koniq10k_scores_and_distributions.csv",
        "koniq10k_scores_and_distributions/koniq10k_scores_and_distributions.csv",
    )
    pictures = folder.folder("1024x768", "koniq10k_1024x768", "512x384", "koniq10k_512x384")
    for row in table_rows(folder, file, ("image_name", "MOS")):
        mos = number(row["MOS"], str(file))
        zscore = row.get("MOS_zscore")
        yield scored_sample(
            "koniq10k",
            joined(pictures, str(row["image_name"]).strip()),
            mos,
            mos,
            mos_zscore=None if zscore in (None, "") else number(zscore, str(file)),
            picture_size=pictures.rpartition("_")[2],
        )


KONIQ10K = Dataset(
    name="koniq10k",
    title="KonIQ-10k",
    kind="no-reference",
    counts={"all": 10073},
    scale="MOS 1 (bad) to 5 (excellent), kept as it is; mos_zscore (0 to 100) beside it",
    layout="koniq10k_scores_and_distributions.csv, 1024x768/ (or 512x384/)",
    citation="Hosu, Lin, Sziranyi and Saupe, KonIQ-10k: An ecologically valid database, 2020",
    obtain="Search for 'KonIQ-10k MMSP database, University of Konstanz': pictures and scores are two archives.",
    caution="Not tried on the original download.",
    read=_read_koniq,
)

# --- SPAQ ------------------------------------------------------------------------------------------------

_SPAQ_ATTRIBUTES = ("Brightness", "Colorfulness", "Contrast", "Noisiness", "Sharpness")


def _read_spaq(folder: DatasetFolder, _subset: str) -> Iterator[Sample]:
    base = "MOS and Image attribute scores"
    homes = ("", "Annotations/")
    file = folder.file(*(f"{home}{base}{suffix}" for home in homes for suffix in (".csv", ".xlsx")))
    pictures = folder.folder("TestImage", "SPAQ/TestImage")
    for row in table_rows(folder, file, ("Image name", "MOS")):
        mos = number(first_key(row, ["MOS"]), str(file))
        attributes = {f"mos_{name.casefold()}": first_key(row, [name]) for name in _SPAQ_ATTRIBUTES}
        yield scored_sample(
            "spaq", joined(pictures, str(first_key(row, ["Image name"])).strip()), mos, mos, **attributes
        )


SPAQ = Dataset(
    name="spaq",
    title="SPAQ",
    kind="no-reference",
    counts={"all": 11125},
    scale="MOS 0 (bad) to 100 (excellent), kept as it is; attribute scores beside it",
    layout="Annotations/MOS and Image attribute scores.xlsx (or as .csv), TestImage/",
    citation="Fang et al., Perceptual quality assessment of smartphone photography, 2020",
    obtain="Search for 'SPAQ Perceptual Quality Assessment of Smartphone Photography' on GitHub (h4nwei/SPAQ).",
    caution="Not tried on the original download.",
    read=_read_spaq,
)

# --- BID -------------------------------------------------------------------------------------------------


def _read_bid(folder: DatasetFolder, _subset: str) -> Iterator[Sample]:
    homes = ("", "ImageDatabase/")
    file = folder.file(*(f"{home}DatabaseGrades{suffix}" for home in homes for suffix in (".csv", ".xlsx")))
    pictures = folder.folder("ImageDatabase", "images", ".")
    for row in table_rows(folder, file, ("Image Number", "Average Subjective Grade")):
        place = int(number(first_key(row, ["Image Number"]), str(file)))
        mos = number(first_key(row, ["Average Subjective Grade"]), str(file))
        yield scored_sample(
            "bid", joined(pictures, f"DatabaseImage{place:04}.JPG"), mos, mos, mos_std=first_key(row, ["std"])
        )


BID = Dataset(
    name="bid",
    title="BID (Blurred Image Database)",
    kind="no-reference",
    counts={"all": 586},
    scale="grade 0 (bad) to 5 (excellent), kept as it is",
    layout="DatabaseGrades.xlsx (or as .csv), DatabaseImageNNNN.JPG beside it or in ImageDatabase/",
    citation="Ciancio et al., No-reference blur assessment of digital pictures based on multifeature classifiers, 2011",
    obtain="Search for 'BID Blurred Image Database UFRJ da Silva': pictures and DatabaseGrades.xlsx.",
    caution="Not tried on the original download; columns as public readers of the set describe them.",
    read=_read_bid,
)

# --- BIQ2021 ---------------------------------------------------------------------------------------------

_BIQ_FILES = {"train": ("Train (Images and MOS).csv", "Train.csv"), "test": ("Test (Images and MOS).csv", "Test.csv")}


def _read_biq2021(folder: DatasetFolder, subset: str) -> Iterator[Sample]:
    pictures = folder.folder("Images", ".")
    for split, names in _BIQ_FILES.items():
        if subset not in ("all", split):
            continue
        file = folder.file(*names)
        for row in table_rows(folder, file, ("Image Name", "MOS")):
            mos = number(first_key(row, ["MOS"]), str(file))
            yield scored_sample(
                "biq2021", joined(pictures, str(first_key(row, ["Image Name"])).strip()), mos, mos, split=split
            )


BIQ2021 = Dataset(
    name="biq2021",
    title="BIQ2021",
    kind="no-reference",
    counts={"all": 12000, "train": 10000, "test": 2000},
    scale="MOS 0 (bad) to 1 (excellent), kept as it is",
    layout="Train (Images and MOS).csv, Test (Images and MOS).csv, Images/",
    citation="Ahmed and Asif, BIQ2021: A large-scale blind image quality assessment database, 2022",
    obtain="Search for 'BIQ2021' on GitHub (nisarahmedrana/BIQ2021).",
    caution="Label files checked against the authors' repository; tried on a part of the pictures.",
    read=_read_biq2021,
)

# --- AGIQA-3K --------------------------------------------------------------------------------------------


def _read_agiqa(folder: DatasetFolder, _subset: str) -> Iterator[Sample]:
    file = folder.file("data.csv")
    pictures = folder.folder("AGIQA-3K", "images", ".")
    for row in table_rows(folder, file, ("name", "mos_quality")):
        name = str(row["name"]).strip()
        mos = number(row["mos_quality"], str(file))
        yield scored_sample(
            "agiqa-3k",
            joined(pictures, name),
            mos,
            mos,
            mos_std=_optional(row.get("std_quality"), str(file)),
            mos_align=_optional(row.get("mos_align"), str(file)),
            prompt=row.get("prompt"),
            generator=name.partition("_")[0],
        )


def _optional(value: Any, where: str) -> float | None:
    return None if value in (None, "") else number(value, where)


AGIQA3K = Dataset(
    name="agiqa-3k",
    title="AGIQA-3K",
    kind="no-reference",
    counts={"all": 2982},
    scale="mos_quality 0 (bad) to 5 (excellent), kept as it is; mos_align (fit to the prompt) beside it",
    layout="data.csv (name, prompt, …, mos_quality, mos_align), pictures in AGIQA-3K/, images/ or beside it",
    citation="Li et al., AGIQA-3K: An open database for AI-generated image quality assessment, 2023",
    obtain="Search for 'AGIQA-3k-Database' on GitHub (lcysyzxdxc/AGIQA-3k-Database), which links the pictures.",
    caution="Not tried on the original download; columns as the authors' repository has them.",
    read=_read_agiqa,
)

DATASETS = (CLIVE, KONIQ10K, SPAQ, BID, BIQ2021, AGIQA3K)
