"""Pictures, masks and boxes of PASCAL VOC 2012, from a git directory that is not checked out."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from PIL import Image

VIEW = 280
"""The side of what the content network sees."""
VOC_ROOT = "VOCdevkit/VOC2012"
THINGS = ("airplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "dining table", "dog",
          "horse", "motorcycle", "person", "potted plant", "sheep", "couch", "train", "tv")  # fmt: skip
"""The kinds of VOC in the order of its numbers, by their names in COCO."""
VOC_NAMES = {"aeroplane": "airplane", "diningtable": "dining table", "motorbike": "motorcycle",
             "pottedplant": "potted plant", "sofa": "couch", "tvmonitor": "tv"}  # fmt: skip


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
