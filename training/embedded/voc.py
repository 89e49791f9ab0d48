"""PASCAL VOC 2012 from a git directory that is not checked out, and seeds for what has no mask in it."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import cv2
import numpy as np
from PIL import Image

VIEW, GRID = 280, 20
"""The side of what the content network sees, in pixels and in places that it knows something of."""
VOC_ROOT = "VOCdevkit/VOC2012"
THINGS = ("airplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "dining table", "dog",
          "horse", "motorcycle", "person", "potted plant", "sheep", "couch", "train", "tv")  # fmt: skip
"""The kinds of VOC in the order of its numbers, by their names in COCO."""
VOC_NAMES = {"aeroplane": "airplane", "diningtable": "dining table", "motorbike": "motorcycle",
             "pottedplant": "potted plant", "sofa": "couch", "tvmonitor": "tv"}  # fmt: skip
STUFF = ("sky", "vegetation", "water")
OUTDOORS, INDOORS, NOT_OUTDOORS = {1, 4, 6, 7, 10, 13, 14, 17, 19}, {11, 18, 20}, {5, 9, 11, 18, 20}


class Snapshot:
    """Files of a git directory that is not checked out."""

    def __init__(self, folder: Path) -> None:
        command = ["git", "--git-dir", str(folder)]
        listed = subprocess.run([*command, "ls-tree", "-r", "-z", "HEAD"], capture_output=True, check=True).stdout
        self.blobs = {line.split(b"\t")[1].decode(): line.split()[2] for line in listed.split(b"\0") if b"\t" in line}
        self.reader = subprocess.Popen([*command, "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def get(self, path: str) -> bytes:
        assert self.reader.stdin
        assert self.reader.stdout
        self.reader.stdin.write(self.blobs[f"{VOC_ROOT}/{path}"] + b"\n")
        self.reader.stdin.flush()
        size = int(self.reader.stdout.readline().split()[2])
        return self.reader.stdout.read(size + 1)[:size]

    def names(self, part: str) -> list[str]:
        return self.get(f"ImageSets/{part}.txt").decode().split()

    def picture(self, name: str) -> Image.Image:
        return Image.open(io.BytesIO(self.get(f"JPEGImages/{name}.jpg"))).convert("RGB")

    def mask(self, name: str) -> np.ndarray:
        """The numbers of the kinds, 255 where it is not known, at the size of the network's view."""
        mask = Image.open(io.BytesIO(self.get(f"SegmentationClass/{name}.png")))
        return np.asarray(mask.resize((VIEW, VIEW), Image.Resampling.NEAREST))

    def boxes(self, name: str) -> list[tuple[int, list[float]]]:
        """Kinds and left, top, right, bottom as shares of the picture."""
        tree = ElementTree.fromstring(self.get(f"Annotations/{name}.xml"))
        size = [float(tree.findtext(f"size/{side}", "")) for side in ("width", "height")] * 2
        found = []
        for entry in tree.findall("object"):
            kind = entry.findtext("name", "")
            corners = (float(entry.findtext(f"bndbox/{side}", "")) for side in ("xmin", "ymin", "xmax", "ymax"))
            shares = [at / whole for at, whole in zip(corners, size, strict=True)]
            found.append((THINGS.index(VOC_NAMES.get(kind, kind)) + 1, shares))
        return found


def seeds(picture: Image.Image, mask: np.ndarray) -> np.ndarray:
    """Places × stuff: 1 where it surely is, 0 where it surely is not, -1 elsewhere."""
    view = np.asarray(picture.resize((VIEW, VIEW), Image.Resampling.BILINEAR), np.float32)
    step, rows = VIEW // GRID, np.repeat(np.arange(GRID), GRID).reshape(GRID, GRID)

    def by_cell(values: np.ndarray) -> np.ndarray:
        return values.reshape(GRID, step, GRID, step, *values.shape[2:]).mean((1, 3))

    weights = np.array([0.299, 0.587, 0.114], np.float32)
    colour, rough = by_cell(view), by_cell(np.abs(cv2.Laplacian(view @ weights, cv2.CV_32F)))
    red, green, blue = np.moveaxis(colour, -1, 0)
    strength = (colour.max(-1) - colour.min(-1)) / np.maximum(colour.max(-1), 1)
    plain, thing = by_cell(mask == 0) > 0.98, by_cell((mask > 0) & (mask < 255)) > 0.6
    kinds = set(np.unique(mask)) - {0, 255}
    what = np.full((GRID, GRID), -1)  # 0, 1, 2: stuff; 3: something else
    if kinds & OUTDOORS and not kinds & NOT_OUTDOORS:
        leafy = plain & (green > red + 6) & (green > blue + 12) & (strength > 0.15)
        clear = plain & (rough < 6) & (colour @ weights > 110) & (blue >= red - 6) & (blue >= green - 6)
        sky = np.logical_and.accumulate(clear) & (rows < 14)
        low = plain & ~leafy & ~sky & (rows >= 14)
        what[sky], what[leafy & (rough > 4)] = 0, 1
        if kinds == {4}:
            what[low & (blue >= red - 8) & (strength < 0.6)] = 2
        elif kinds & {1, 6, 7, 14, 19} and 4 not in kinds:
            what[low & (strength < 0.25)] = 3
    elif kinds & INDOORS and not kinds & OUTDOORS:
        what[plain] = 3
    what[thing] = 3
    flat = what.reshape(-1, 1)
    known = np.where(flat == np.arange(len(STUFF)), 1, np.where(flat >= 0, 0, -1))
    known[(flat[:, 0] < 0) & (rows.reshape(-1) >= 16), 0] = 0
    return known
