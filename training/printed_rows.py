"""What becomes of the 24 printed calibration rows: used as they are, repaired, or replaced by a fit of ours.

The rows themselves stand in the ``paper`` section of ``calibrations.yaml``. Value ranges are those that pyiqa
declares for the networks the rows were fitted on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from agenticiqa.tools.calibration import LOWEST, Calibration, five_parameter_logistic, paper_coefficients

UNCHANGED_PICTURE = 4.6
"""The mean opinion of an unchanged picture in KADID-10k: the top of its scale in practice."""

PAPER = "AgenticIQA (arXiv 2509.26006), fitted by its authors on KADID-10k"

# The range of each metric, and whether higher is better.
RANGES: dict[str, tuple[tuple[float, float], bool]] = {
    "TOPIQ_FR": ((0, 1), True),
    "AHIQ": ((0, 1), True),
    "FSIM": ((0, 1), True),
    "LPIPS": ((0, 1), False),
    "DISTS": ((0, 1), False),
    "WaDIQaM_FR": ((-1, 0.1), True),
    "SSIM": ((0, 1), True),
    "CKDN": ((0, 1), True),
    "QAlign": ((1, 5), True),
    "CLIPIQA": ((0, 1), True),
    "UNIQUE": ((-3, 3), True),
    "HyperIQA": ((0, 1), True),
    "TReS": ((0, 100), True),
    "MUSIQ": ((0, 100), True),
    "WaDIQaM_NR": ((-1, 0.1), True),
    "DBCNN": ((0, 1), True),
    "ARNIQA": ((0, 1), True),
    "NIMA": ((1, 10), True),
    "MANIQA": ((0, 1), True),
    "LIQE": ((1, 5), True),
}
# Native metrics whose printed row is not used, with the reason; fit_calibrations.py fits them.
REPLACED = {
    "GMSD": "the printed row gives an unchanged picture 4.08",
    "VIF": "the printed row gives an unchanged picture 4.03",
    "NIQE": "the printed row tops out at 3.44",
    "BRISQUE": "the printed row tops out at 3.33 and turns upwards above about 100",
}


def printed_calibrations() -> dict[str, Calibration]:
    """The curves in use that stem from printed rows."""
    rows = paper_coefficients()
    used = {name: Calibration(rows[name], PAPER, *RANGES[name], origin="paper") for name in RANGES}
    return used | {name: repair(used[name]) for name, repair in REPAIRS.items()}


def stretched(calibration: Calibration, best: float, worst: float | None = None) -> Calibration:
    """The same curve scaled so that its best end (and, if asked, its worst end) lands on a given score.

    Scaling a logistic linearly gives another logistic, so the order of pictures and the shape stay.

    >>> low = Calibration((-2.0915, 3.7543, -28.0133, -4.7251, 4.9710), "LPIPS as printed", (0.0, 1.0), False)
    >>> round(low(0.0), 2), round(stretched(low, 4.6)(0.0), 2)
    (3.93, 4.6)
    """
    ends = five_parameter_logistic(np.array(calibration.covered), *calibration.coefficients)
    old_worst, old_best = (float(ends[0]), float(ends[1])) if calibration.higher_is_better else ends[::-1].tolist()
    if worst is None:
        # Keep the bottom of the scale in place.
        old_worst, worst = LOWEST, LOWEST
    factor = (best - worst) / (old_best - old_worst)
    b1, b2, b3, b4, b5 = calibration.coefficients
    return replace(calibration, coefficients=(b1 * factor, b2, b3, b4 * factor, worst + (b5 - old_worst) * factor))


def _stretch_to_top(row: Calibration) -> Calibration:
    note = (
        f"its best end, {row.ends[1]:.2f}, stretched to the {UNCHANGED_PICTURE} that people give an unchanged picture"
    )
    return replace(stretched(row, UNCHANGED_PICTURE), source=f"{PAPER}; {note}", origin="adapted")


def _keep_rising_part(start: float, stop: float) -> Callable[[Calibration], Calibration]:
    def repair(row: Calibration) -> Calibration:
        part = replace(row, span=(start, stop))
        low, high = part.ends
        note = (
            f"the printed curve rises only from {start:g} to {stop:g} ({low:.2f} to {high:.2f}): values beyond count "
            f"as these ends, and the curve is stretched to 1.3..{UNCHANGED_PICTURE}; rough, refit it where it matters"
        )
        return replace(stretched(part, UNCHANGED_PICTURE, 1.3), source=f"{PAPER}; {note}", origin="adapted")

    return repair


def _without_step(row: Calibration) -> Calibration:
    _, b2, b3, b4, b5 = row.coefficients
    smooth = replace(row, coefficients=(0.0, b2, b3, b4, b5))
    note = (
        "its downward step of 0.055 at 48.9 left out, "
        f"and its best end, {smooth.ends[1]:.2f}, stretched to {UNCHANGED_PICTURE}"
    )
    return replace(stretched(smooth, UNCHANGED_PICTURE), source=f"{PAPER}; {note}", origin="adapted")


def _without_dip(row: Calibration) -> Calibration:
    b1, _, b3, b4, b5 = row.coefficients
    # Where the logistic falls fastest, its slope b1 b2 / 4 may at most cancel the linear part's b4.
    note = "b2 lowered from -13.4107 to -13.107, which removes a dip of 0.005 between 0.27 and 0.31"
    return replace(row, coefficients=(b1, -13.107, b3, b4, b5), source=f"{PAPER}; {note}", origin="adapted")


REPAIRS = {
    "LPIPS": _stretch_to_top,
    "DISTS": _stretch_to_top,
    "CKDN": _keep_rising_part(0.002, 0.740),
    "WaDIQaM_NR": _keep_rising_part(-0.766, 0.1),
    "TReS": _without_step,
    "ARNIQA": _without_dip,
}
