"""Sets of reference pictures and their damaged versions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agenticiqa.batch.sample import Sample
from agenticiqa.research.datasets.folder import (
    Dataset,
    DatasetFolder,
    column_key,
    first_key,
    joined,
    matlab_column,
    number,
    scored_sample,
    table_rows,
    text_lines,
)
from agenticiqa.research.distortions.protocol import DISTORTIONS

# --- TID2013 ---------------------------------------------------------------------------------------------

TID2013_DISTORTIONS = (
    "additive Gaussian noise",
    "noise in colour components",
    "spatially correlated noise",
    "masked noise",
    "high-frequency noise",
    "impulse noise",
    "quantization noise",
    "Gaussian blur",
    "image denoising",
    "JPEG compression",
    "JPEG2000 compression",
    "JPEG transmission errors",
    "JPEG2000 transmission errors",
    "non-eccentricity pattern noise",
    "local block-wise distortions",
    "mean shift",
    "contrast change",
    "change of colour saturation",
    "multiplicative Gaussian noise",
    "comfort noise",
    "lossy compression of noisy images",
    "colour quantization with dither",
    "chromatic aberrations",
    "sparse sampling and reconstruction",
)
_TID_NAME = re.compile(r"i(\d\d)_(\d\d)_(\d)\.bmp", re.IGNORECASE)


def _read_tid2013(folder: DatasetFolder, _subset: str) -> Iterator[Sample]:
    file = folder.file("mos_with_names.txt")
    pictures, references = folder.folder("distorted_images"), folder.folder("reference_images")
    for line in text_lines(file):
        score, _, name = line.partition(" ")
        match = _TID_NAME.fullmatch(name.strip())
        if match is None or not 1 <= int(match[2]) <= len(TID2013_DISTORTIONS):
            raise folder.malformed(file, f"the line {line!r} names no picture of the set")
        mos = number(score, str(file))
        yield scored_sample(
            "tid2013",
            joined(pictures, name.strip()),
            mos,
            mos,
            joined(references, f"I{match[1]}.BMP"),
            distortion=TID2013_DISTORTIONS[int(match[2]) - 1],
            level=int(match[3]),
        )


TID2013 = Dataset(
    name="tid2013",
    title="TID2013",
    kind="full-reference",
    counts={"all": 3000},
    scale="MOS 0 (bad) to 9 (best), kept as it is",
    layout="mos_with_names.txt, distorted_images/, reference_images/",
    citation="Ponomarenko et al., Image database TID2013: Peculiarities, results and perspectives, 2015",
    obtain="Search for 'TID2013 Ponomarenko': the authors' page offers one archive (tid2013.rar).",
    caution="Names in the list and on disk differ in case; that is expected. Not tried on the original download.",
    read=_read_tid2013,
)

# --- KADID-10k -------------------------------------------------------------------------------------------

_KADID_NAME = re.compile(r"I\d\d_(\d\d)_(\d\d)\.png", re.IGNORECASE)


def _read_kadid(folder: DatasetFolder, _subset: str) -> Iterator[Sample]:
    file = folder.file("dmos.csv")
    pictures = folder.folder("images")
    names = {distortion.number: distortion.name for distortion in DISTORTIONS.values()}
    for row in table_rows(folder, file, ("dist_img", "ref_img", "dmos")):
        match = _KADID_NAME.fullmatch(str(row["dist_img"]).strip())
        if match is None or int(match[1]) not in names:
            raise folder.malformed(file, f"{row['dist_img']!r} names no picture of the set")
        mos = number(row["dmos"], str(file))
        yield scored_sample(
            "kadid10k",
            joined(pictures, str(row["dist_img"]).strip()),
            mos,
            mos,
            joined(pictures, str(row["ref_img"]).strip()),
            distortion=names[int(match[1])],
            level=int(match[2]),
        )


KADID10K = Dataset(
    name="kadid10k",
    title="KADID-10k",
    kind="full-reference",
    counts={"all": 10125},
    scale="1 (bad) to 5 (excellent), kept as it is: the column is called dmos, but higher is better",
    layout="dmos.csv (dist_img,ref_img,dmos,var), images/",
    citation="Lin, Hosu and Saupe, KADID-10k: A large-scale artificially distorted IQA database, 2019",
    obtain="Search for 'KADID-10k MMSP database, University of Konstanz': one archive (kadid10k.zip).",
    caution="Not tried on the original download.",
    read=_read_kadid,
)

# --- CSIQ ------------------------------------------------------------------------------------------------

# Label in the spreadsheet (spaces and case aside): folder, part of the file name, our name of the distortion.
_CSIQ_KINDS = {
    "noise": ("awgn", "AWGN", "white noise"),
    "awgn": ("awgn", "AWGN", "white noise"),
    "blur": ("blur", "BLUR", "Gaussian blur"),
    "contrast": ("contrast", "contrast", "contrast change"),
    "fnoise": ("fnoise", "fnoise", "pink noise"),
    "jpeg": ("jpeg", "JPEG", "JPEG compression"),
    "jpeg2000": ("jpeg2000", "jpeg2000", "JPEG2000 compression"),
}


def _read_csiq(folder: DatasetFolder, _subset: str) -> Iterator[Sample]:
    pictures = folder.folder("dst_imgs", "dst_imgs_all")
    nested = bool(folder.lookup(joined(pictures, "awgn")) or folder.lookup(joined(pictures, "blur")))
    references = folder.folder("src_imgs")
    for image, kind, level, dmos in _csiq_labels(folder):
        subfolder, part, distortion = _CSIQ_KINDS[kind]
        yield scored_sample(
            "csiq",
            joined(pictures, subfolder if nested else "", f"{image}.{part}.{level}.png"),
            1 - dmos,
            dmos,
            joined(references, f"{image}.png"),
            distortion=distortion,
            level=level,
        )


def _csiq_labels(folder: DatasetFolder) -> Iterator[tuple[str, str, int, float]]:
    text = folder.optional_file("csiq_label.txt")
    if text is not None:
        for line in text_lines(text):
            words = line.split()
            parts = words[0].removesuffix(".png").rsplit(".", 2)
            kind = parts[1].casefold() if len(words) == 2 and len(parts) == 3 else ""
            if kind not in _CSIQ_KINDS or not parts[2].isdecimal():
                raise folder.malformed(text, f"the line {line!r} is not 'image.TYPE.level.png score'")
            yield parts[0], kind, int(parts[2]), number(words[1], str(text))
        return
    file = folder.file("csiq.DMOS.csv", "csiq.DMOS.xlsx")
    for row in table_rows(folder, file, ("image", "dst_type", "dst_lev", "dmos"), sheet="all_by_image"):
        kind = column_key(str(first_key(row, ["dst_type"])))
        if kind not in _CSIQ_KINDS:
            raise folder.malformed(file, f"the distortion {first_key(row, ['dst_type'])!r} is unknown")
        level = int(number(first_key(row, ["dst_lev"]), str(file)))
        yield _csiq_image(first_key(row, ["image"])), kind, level, number(first_key(row, ["dmos"]), str(file))


def _csiq_image(cell: object) -> str:
    """The picture called 1600 is a number to a spreadsheet."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()


CSIQ = Dataset(
    name="csiq",
    title="CSIQ",
    kind="full-reference",
    counts={"all": 866},
    scale="DMOS 0 (like the reference) to 1 (worst); mos is 1 - DMOS",
    layout="csiq.DMOS.xlsx (sheet all_by_image; or as csiq.DMOS.csv, or csiq_label.txt), src_imgs/, dst_imgs/TYPE/",
    citation="Larson and Chandler, Most apparent distortion, Journal of Electronic Imaging, 2010",
    obtain="Search for 'CSIQ image quality database Chandler': archives src_imgs, dst_imgs and csiq.DMOS.xlsx.",
    caution="Not tried on the original download; names and columns as public readers of the set describe them.",
    read=_read_csiq,
)

# --- LIVE release 2 --------------------------------------------------------------------------------------

_LIVE_BLOCKS = (
    ("jp2k", 227, "JPEG2000 compression"),
    ("jpeg", 233, "JPEG compression"),
    ("wn", 174, "white noise"),
    ("gblur", 174, "Gaussian blur"),
    ("fastfading", 174, "fast fading"),
)


def _read_live(folder: DatasetFolder, _subset: str) -> Iterator[Sample]:
    file = folder.file("dmos.mat")
    dmos, originals = matlab_column(folder, file, "dmos"), matlab_column(folder, file, "orgs")
    names = matlab_column(folder, folder.file("refnames_all.mat"), "refnames_all")
    realigned_file = folder.optional_file("dmos_realigned.mat")
    realigned = matlab_column(folder, realigned_file, "dmos_new") if realigned_file else None
    places = [(block, place, title) for block, size, title in _LIVE_BLOCKS for place in range(1, size + 1)]
    for column in (dmos, originals, names, realigned):
        if column is not None and len(column) != len(places):
            raise folder.malformed(file, f"a column has {len(column)} entries instead of {len(places)}")
    for i, (block, place, title) in enumerate(places):
        if originals[i]:
            continue
        original = number(dmos[i], str(file))
        yield scored_sample(
            "live",
            f"{block}/img{place}.bmp",
            100 - original,
            original,
            f"refimgs/{names[i]}",
            distortion=title,
            mos_realigned=100 - float(realigned[i]) if realigned else None,
        ).model_copy(update={"sample_id": f"live/{block}/img{place}"})


LIVE = Dataset(
    name="live",
    title="LIVE (release 2)",
    kind="full-reference",
    counts={"all": 779},
    scale="DMOS about 0 (like the reference) to 100 (worst); mos is 100 - DMOS; mos_realigned where the file is there",
    layout="dmos.mat, refnames_all.mat, (dmos_realigned.mat), refimgs/, jp2k/, jpeg/, wn/, gblur/, fastfading/",
    citation="Sheikh, Sabir and Bovik, A statistical evaluation of recent full reference algorithms, 2006",
    obtain="Search for 'LIVE Image Quality Assessment Database': the laboratory at UT Austin gives a password.",
    caution="Pictures marked as originals are left out. Not tried on the original download.",
    read=_read_live,
)

# --- PIPAL -----------------------------------------------------------------------------------------------

_PIPAL_NAME = re.compile(r"(A\d{4})_(\d\d)_(\d\d)\.bmp", re.IGNORECASE)
_PIPAL_FOLDERS = ("Train_Dist", "Train_Distort", "Train_dis", "Distortion")
_PIPAL_PARTS = ("Distortion_1", "Distortion_2", "Distortion_3", "Distortion_4")


def _read_pipal(folder: DatasetFolder, _subset: str) -> Iterator[Sample]:
    labels, references = folder.folder("Train_Label"), folder.folder("Train_Ref")
    parts = [part for part in _PIPAL_PARTS if folder.lookup(part)] or [folder.folder(*_PIPAL_FOLDERS, *_PIPAL_PARTS)]
    for label in folder.listing(labels):
        if not label.casefold().endswith(".txt"):
            continue
        file = folder.root / labels / label
        for line in text_lines(file):
            name, _, score = (part.strip() for part in line.partition(","))
            match = _PIPAL_NAME.fullmatch(name)
            if match is None:
                raise folder.malformed(file, f"the line {line!r} is not 'picture,score'")
            mos = number(score, str(file))
            home = next((part for part in parts if folder.lookup(joined(part, name))), parts[0])
            yield scored_sample(
                "pipal",
                joined(home, name),
                mos,
                mos,
                joined(references, f"{match[1]}.bmp"),
                distortion=f"type {match[2]}",
                level=int(match[3]),
            )


PIPAL = Dataset(
    name="pipal",
    title="PIPAL (training part)",
    kind="full-reference",
    counts={"all": 23200},
    scale="Elo rating, about 900 to 1900, higher is better, kept as it is",
    layout="Train_Label/*.txt ('picture,score'), Train_Ref/, Train_Dist/ (or Distortion_1/ … Distortion_4/)",
    citation="Gu et al., PIPAL: A large-scale image quality assessment dataset for perceptual restoration, 2020",
    obtain="Search for 'PIPAL dataset Jinjin Gu': archives Train_Ref, Train_Label and Distortion_1 to Distortion_4.",
    caution="Distortions are named by the number in the file name. Not tried on the original download.",
    read=_read_pipal,
)

# --- CID:IQ ----------------------------------------------------------------------------------------------

_CIDIQ_IMAGES, _CIDIQ_LEVELS, _CIDIQ_KINDS = 23, 5, 6


def _read_cidiq(folder: DatasetFolder, subset: str) -> Iterator[Sample]:
    """Scores are ordered by distortion, then picture, then level, like the folders when they are sorted."""
    distance, other = ("50", "100") if subset == "50cm" else ("100", "50")
    file = folder.file(f"MOS{distance}.mat")
    scores = matlab_column(folder, file, f"MOS{distance}")
    second = folder.optional_file(f"MOS{other}.mat")
    others = matlab_column(folder, second, f"MOS{other}") if second else None
    total = _CIDIQ_KINDS * _CIDIQ_IMAGES * _CIDIQ_LEVELS
    if len(scores) != total or (others is not None and len(others) != total):
        raise folder.malformed(file, f"it has {len(scores)} scores instead of {total}")
    pictures, references = folder.folder("Images/Reproduction"), folder.folder("Images/Original")
    homes = {name[0]: name for name in folder.listing(pictures) if name[:1].isdecimal() and name[1:2] == "_"}
    for i in range(total):
        kind, rest = divmod(i, _CIDIQ_IMAGES * _CIDIQ_LEVELS)
        image, level = divmod(rest, _CIDIQ_LEVELS)
        home = homes.get(str(kind + 1), str(kind + 1))
        mos = number(scores[i], str(file))
        yield scored_sample(
            "cidiq",
            joined(pictures, home, f"final{image + 1:02}_d{kind + 1}_l{level + 1}.bmp"),
            mos,
            mos,
            joined(references, f"final{image + 1:02}.bmp"),
            distortion=home.partition("_")[2].replace("_", " ") or None,
            level=level + 1,
            viewing_distance=f"{distance} cm",
            **{f"mos_{other}cm": number(others[i], str(second)) if others else None},
        )


CIDIQ = Dataset(
    name="cidiq",
    title="CID:IQ",
    kind="full-reference",
    counts={"50cm": 690, "100cm": 690},
    scale="MOS on 9 categories, higher is better, kept as it is; one set of scores for each viewing distance",
    layout="MOS50.mat, MOS100.mat, Images/Original/, Images/Reproduction/N_NAME/finalNN_dN_lN.bmp",
    citation="Liu, Pedersen and Hardeberg, CID:IQ - A new image quality database, 2014",
    obtain="Search for 'Colourlab Image Database Image Quality CID:IQ', NTNU Gjøvik.",
    caution="The order of the scores follows the authors' own evaluation code. Not tried on the original download.",
    read=_read_cidiq,
)

DATASETS = (TID2013, KADID10K, CSIQ, LIVE, PIPAL, CIDIQ)
