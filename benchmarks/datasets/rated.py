"""Readers of sets whose pictures people have rated: damaged versions beside references, and pictures as taken."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from benchmarks.datasets.folder import (
    DatasetFolder,
    Reader,
    column_key,
    first_key,
    joined,
    matlab_column,
    number,
    scored_sample,
    table_rows,
    text_lines,
)

from agenticiqa._data import parse_yaml
from agenticiqa.batch.sample import Sample

_LAYOUTS: dict[str, Any] = parse_yaml(Path(__file__).with_name("layouts.yaml").read_text(encoding="utf-8"))

# --- one table of labels, a row for each picture ----------------------------------------------------------

_FROM_PATH: dict[str, Callable[[PurePosixPath], dict[str, str]]] = {
    "koniq10k": lambda image: {"picture_size": str(image.parent).rpartition("_")[2]},
    "agiqa-3k": lambda image: {"generator": image.name.partition("_")[0]},
}
"""What the path of a picture tells beside the table."""


def _read_label_table(dataset: str, layout: Mapping[str, Any], folder: DatasetFolder, subset: str) -> Iterator[Sample]:
    pictures = folder.folder(*layout["pictures"])
    for split, names in layout["files"].items():
        if subset not in ("all", split):
            continue
        file = folder.file(*names)
        for row in table_rows(folder, file, (layout["image"], layout["mos"])):
            cell = first_key(row, layout["image"])
            form = layout.get("image_name")
            image = joined(pictures, form.format(number(cell, str(file))) if form else str(cell).strip())
            carried = {
                **{
                    name: number(value, str(file))
                    for name, key in layout.get("numbers", {}).items()
                    if (value := first_key(row, key)) not in (None, "")
                },
                **{name: first_key(row, key) for name, key in layout.get("texts", {}).items()},
            }
            if dataset in _FROM_PATH:
                carried |= _FROM_PATH[dataset](PurePosixPath(image))
            if len(layout["files"]) > 1:
                carried["split"] = split
            yield scored_sample(dataset, image, number(first_key(row, layout["mos"]), str(file)), **carried)


# --- distortion and level in the names of pictures --------------------------------------------------------

_Label = tuple[Path, str, Any]
"""The file that a label stands in, the path of the picture, its opinion."""


def _named_samples(
    folder: DatasetFolder,
    dataset: str,
    labels: Iterable[_Label],
    pattern: str,
    reference: Callable[[str], str],
    kinds: Mapping[int, str] | None = None,
) -> Iterator[Sample]:
    """``pattern`` finds scene, kind and level in a picture's name; ``reference`` gives a scene's picture."""
    for file, image, score in labels:
        name = PurePosixPath(image).name
        match = re.fullmatch(pattern, name, re.IGNORECASE)
        if match is None or (kinds is not None and int(match[2]) not in kinds):
            raise folder.malformed(file, f"{name!r} names no picture of the set")
        kind = f"type {match[2]}" if kinds is None else kinds[int(match[2])]
        mos = number(score, str(file))
        yield scored_sample(dataset, image, mos, reference=reference(match[1]), distortion=kind, level=int(match[3]))


def _read_tid2013(folder: DatasetFolder, _subset: str) -> Iterator[Sample]:
    file = folder.file("mos_with_names.txt")
    pictures, references = folder.folder("distorted_images"), folder.folder("reference_images")
    lines = (line.partition(" ") for line in text_lines(file))
    labels = ((file, joined(pictures, name.strip()), score) for score, _, name in lines)
    kinds = dict(enumerate(_LAYOUTS["tid2013_distortions"], 1))
    pattern = r"i(\d\d)_(\d\d)_(\d)\.bmp"
    return _named_samples(folder, "tid2013", labels, pattern, lambda scene: joined(references, f"I{scene}.BMP"), kinds)


def _read_kadid(folder: DatasetFolder, _subset: str) -> Iterator[Sample]:
    file = folder.file("dmos.csv")
    pictures = folder.folder("images")
    rows = table_rows(folder, file, ("dist_img", "ref_img", "dmos"))
    labels = ((file, joined(pictures, str(row["dist_img"]).strip()), row["dmos"]) for row in rows)
    kinds = dict(enumerate(_LAYOUTS["kadid10k_distortions"], 1))
    pattern = r"I(\d\d)_(\d\d)_(\d\d)\.png"
    return _named_samples(folder, "kadid10k", labels, pattern, lambda scene: joined(pictures, f"I{scene}.png"), kinds)


_PIPAL_FOLDERS = ("Train_Dist", "Train_Distort", "Train_dis", "Distortion")
_PIPAL_PARTS = ("Distortion_1", "Distortion_2", "Distortion_3", "Distortion_4")


def _read_pipal(folder: DatasetFolder, _subset: str) -> Iterator[Sample]:
    kind_folder, references = folder.folder("Train_Label"), folder.folder("Train_Ref")
    parts = [part for part in _PIPAL_PARTS if folder.lookup(part)] or [folder.folder(*_PIPAL_FOLDERS, *_PIPAL_PARTS)]
    files = [
        folder.root / kind_folder / name for name in folder.listing(kind_folder) if name.casefold().endswith(".txt")
    ]

    def place(name: str) -> str:
        return joined(next((part for part in parts if folder.lookup(joined(part, name))), parts[0]), name)

    lines = ((file, line.partition(",")) for file in files for line in text_lines(file))
    labels = ((file, place(name.strip()), score) for file, (name, _, score) in lines)
    pattern = r"(A\d{4})_(\d\d)_(\d\d)\.bmp"
    return _named_samples(folder, "pipal", labels, pattern, lambda scene: joined(references, f"{scene}.bmp"))


# --- CSIQ: a spreadsheet, or its public form as text ------------------------------------------------------

_CSIQ_KINDS: dict[str, tuple[str, str, str]] = _LAYOUTS["csiq_distortions"]


def _read_csiq(folder: DatasetFolder, _subset: str) -> Iterator[Sample]:
    pictures = folder.folder("dst_imgs", "dst_imgs_all")
    nested = bool(folder.lookup(joined(pictures, "awgn")) or folder.lookup(joined(pictures, "blur")))
    references = folder.folder("src_imgs")
    for image, kind, level, dmos in _csiq_labels(folder):
        subfolder, part, distortion = _CSIQ_KINDS[kind]
        path = joined(pictures, subfolder if nested else "", f"{image}.{part}.{level}.png")
        reference = joined(references, f"{image}.png")
        yield scored_sample("csiq", path, 1 - dmos, dmos, reference, distortion=distortion, level=level)


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
    columns = ("image", "dst_type", "dst_lev", "dmos")
    for row in table_rows(folder, file, columns, sheet="all_by_image"):
        image, label, level, dmos = (first_key(row, column) for column in columns)
        kind = column_key(str(label))
        if kind not in _CSIQ_KINDS:
            raise folder.malformed(file, f"the distortion {label!r} is unknown")
        # The picture called 1600 is a number to a spreadsheet.
        name = str(int(image)) if isinstance(image, float) and image.is_integer() else str(image).strip()
        yield name, kind, int(number(level, str(file))), number(dmos, str(file))


# --- scores in MATLAB files, in the order of the pictures -------------------------------------------------


def _read_live(folder: DatasetFolder, _subset: str) -> Iterator[Sample]:
    file = folder.file("dmos.mat")
    dmos, originals = matlab_column(folder, file, "dmos"), matlab_column(folder, file, "orgs")
    names = matlab_column(folder, folder.file("refnames_all.mat"), "refnames_all")
    realigned_file = folder.optional_file("dmos_realigned.mat")
    realigned = matlab_column(folder, realigned_file, "dmos_new") if realigned_file else None
    blocks = _LAYOUTS["live_blocks"]
    places = [(block, place, title) for block, size, title in blocks for place in range(1, size + 1)]
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


_CIDIQ_IMAGES, _CIDIQ_LEVELS, _CIDIQ_KINDS = 23, 5, 6


def _read_cidiq(folder: DatasetFolder, subset: str) -> Iterator[Sample]:
    """Scores are ordered by distortion, then picture, then level, like the folders when they are sorted."""
    distance = "50" if subset == "50cm" else "100"
    file = folder.file(f"MOS{distance}.mat")
    scores = matlab_column(folder, file, f"MOS{distance}")
    total = _CIDIQ_KINDS * _CIDIQ_IMAGES * _CIDIQ_LEVELS
    if len(scores) != total:
        raise folder.malformed(file, f"it has {len(scores)} scores instead of {total}")
    pictures, references = folder.folder("Images/Reproduction"), folder.folder("Images/Original")
    folders = {name[0]: name for name in folder.listing(pictures) if name[:1].isdecimal() and name[1:2] == "_"}
    for i in range(total):
        kind, rest = divmod(i, _CIDIQ_IMAGES * _CIDIQ_LEVELS)
        image, level = divmod(rest, _CIDIQ_LEVELS)
        kind_folder = folders.get(str(kind + 1), str(kind + 1))
        yield scored_sample(
            "cidiq",
            joined(pictures, kind_folder, f"final{image + 1:02}_d{kind + 1}_l{level + 1}.bmp"),
            number(scores[i], str(file)),
            reference=joined(references, f"final{image + 1:02}.bmp"),
            distortion=kind_folder.partition("_")[2].replace("_", " ") or None,
            level=level + 1,
            viewing_distance=f"{distance} cm",
        )


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
    for i in range(_CLIVE_TRAINING if subset == "test" else 0, len(names)):
        training = i < _CLIVE_TRAINING
        yield scored_sample(
            "clive",
            joined("Images", "trainingImages" if training else "", str(names[i]).strip()),
            number(scores[i], str(file)),
            mos_std=float(deviations[i]) if deviations else None,
            split="training" if training else "test",
        )


READERS: dict[str, Reader] = {
    "tid2013": _read_tid2013,
    "kadid10k": _read_kadid,
    "csiq": _read_csiq,
    "live": _read_live,
    "pipal": _read_pipal,
    "cidiq": _read_cidiq,
    "clive": _read_clive,
    **{name: partial(_read_label_table, name, layout) for name, layout in _LAYOUTS["label_tables"].items()},
}
