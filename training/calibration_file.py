"""Write ``calibrations.yaml``: the printed rows as they stand, then every curve in use."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml
from training.recalibrate import as_fields

import agenticiqa.tools.calibration as calibration_module
from agenticiqa.runtime.files import write_atomic
from agenticiqa.tools.calibration import Calibration, check, paper_coefficients

DATA_FILE = Path(calibration_module.__file__).with_name("calibrations.yaml")
HEADER = """\
# Calibration curves: raw metric value -> opinion, 1 (bad) .. 5 (excellent); see agenticiqa/tools/calibration.py.
# `paper` is printed in AgenticIQA (arXiv 2509.26006) and kept as printed. `in_use` is written by
# training/fit_calibrations.py; each entry says where it comes from and why.
"""


def write_data_file(calibrations: Mapping[str, Calibration], path: Path = DATA_FILE) -> None:
    """Refuses a curve that would be refused at load."""
    for name, calibration in calibrations.items():
        problem = check(calibration)
        if problem:
            raise SystemExit(f"{name}: {problem}")
    rows = [f"  {name}: [{', '.join(map(repr, row))}]" for name, row in paper_coefficients().items()]
    entries = yaml.safe_dump(
        {"in_use": {name: as_fields(calibrations[name]) for name in sorted(calibrations, key=str.casefold)}},
        sort_keys=False,
        allow_unicode=True,
        width=116,
        default_flow_style=None,
    )
    write_atomic(path, HEADER + "paper:\n" + "\n".join(rows) + "\n" + entries)
