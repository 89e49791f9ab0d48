"""The picture pairs on which other libraries were run, as draw_pictures.py stored them.

Stored, not drawn where they are needed: filters and transforms round differently on different processors, and a value
belongs to the very pixels that were measured.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

STORE = Path(__file__).resolve().parents[1] / "data" / "parity"
Case = tuple[str, np.ndarray, np.ndarray]


def cases() -> Iterator[Case]:
    """Name, test picture, reference; float32 RGB, values multiples of 1/255."""
    for name, (test, reference) in json.loads((STORE / "pairs.json").read_text()).items():
        yield name, _opened(test), _opened(reference)


def _opened(file: str) -> np.ndarray:
    with Image.open(STORE / file) as picture:
        return (np.asarray(picture.convert("RGB")) / 255).astype(np.float32)
