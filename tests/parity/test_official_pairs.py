"""The five picture pairs with officially published values, which pyiqa's wheel installs, measured anew."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from agenticiqa.tools.metrics import METRICS

FOLDER = next(path for path in map(Path, sys.path) if (path / "pyiqa").is_dir()) / "ResultsCalibra"
STORED = json.loads(Path(__file__).with_name("reference_values.json").read_text())["official_pairs"]


@pytest.mark.parametrize("name", sorted(STORED))
def test_stored_values_of_ours_are_those_of_today(name: str) -> None:
    """tests/tools/metrics/test_parity.py compares the stored values with the published ones."""
    for image, values in STORED[name].items():
        pair = [np.asarray(Image.open(FOLDER / kind / image).convert("RGB")) for kind in ("dist_dir", "ref_dir")]
        measured = METRICS[name].measure(*(pair if METRICS[name].spec.kind == "FR" else pair[:1])).value
        assert measured == pytest.approx(values["ours"], rel=1e-4, abs=1e-6), image
