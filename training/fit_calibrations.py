"""Fit the calibration curves on the KADID-protocol set, and show how the metrics agree with people on CSIQ.

    PYTHONPATH=. python training/fit_calibrations.py fit   --photos PHOTOS --cache CACHE
    PYTHONPATH=. python training/fit_calibrations.py table --csiq CSIQ --cache CACHE

``fit`` writes ``src/agenticiqa/tools/calibrations.yaml``. ``table`` prints the Markdown tables of
``docs/measuring/calibration.md``; CSIQ is used for nothing else.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from agreement import Floats, krcc, srcc, with_interval
from calibration_file import write_data_file
from measurements import OPINIONS, CsiqValues, ProtocolValues, chosen_photographs, csiq_values, protocol_values
from printed_rows import RANGES, REPLACED, printed_calibrations, stretched
from training.distortions import PROTOCOL, UNCHANGED_OPINION
from training.recalibrate import fit_calibration

from agenticiqa.research.statistics import pearson, spearman
from agenticiqa.tools.calibration import Calibration, CalibrationError, load_calibrations
from agenticiqa.tools.metrics import METRICS

PHOTOGRAPHS = 40
UNCHANGED_REPEATS = 5
# Curves distinguish these values only; what lies beyond counts as the nearer end.
# A VIF above 1 says that contrast was raised, not that the picture is better than its reference.
COVERED = {"VIF": (0.0, 1.0), "VIFp": (0.0, 1.0)}
STATISTICS_CATEGORIES = ("Blurs", "Compression", "Noise")
# A probe is judged on the damage it is made to see. Others have no opinion of their own to be fitted to.
NO_REFERENCE_SETS: dict[str, tuple[str, ...]] = {
    "NIQE": STATISTICS_CATEGORIES,
    "ILNIQE": STATISTICS_CATEGORIES,
    "BRISQUE": STATISTICS_CATEGORIES,
    "PIQE": STATISTICS_CATEGORIES,
    "sharpness": ("Blurs",),
    "noise": ("Noise",),
    "blockiness": ("Compression",),
}
# A denoiser's work is filed under noise but leaves none; single outliers are no noise to an estimator of its sigma;
# JPEG 2000 has no blocks.
NOT_FOR = {"noise": ("denoise", "impulse_noise"), "blockiness": ("jpeg2000",)}
FUSED = Calibration(
    (0.0, 1.0, 0.0, 1.0, 0.0),
    f"no change: AIQA_FR is fitted to opinions and ends at the {UNCHANGED_OPINION} of an unchanged picture",
    (1.0, UNCHANGED_OPINION),
    True,
)


def fitted_metrics() -> list[str]:
    """Native metrics that need a curve of our own."""
    full_reference = [name for name, metric in METRICS.items() if metric.spec.kind == "FR" and name not in RANGES]
    return full_reference + [name for name in NO_REFERENCE_SETS if name in METRICS]


def fit_all(values: dict[str, ProtocolValues]) -> dict[str, Calibration]:
    fitted = {}
    for name, found in values.items():
        make = fit_full_reference if METRICS[name].spec.kind == "FR" else fit_no_reference
        try:
            fitted[name] = make(name, found)
        except CalibrationError as error:
            print(f"{name}: no curve: {error}")
    return fitted


def fit_full_reference(name: str, found: ProtocolValues) -> Calibration:
    """Least squares over all kinds and levels and the unchanged photographs, whose score is then met exactly.

    A metric that cannot see some damage (colour, say) would otherwise call an unchanged picture only fair.
    """
    raw, opinion = full_reference_set(found)
    fitted = _fitted(name, raw, opinion, "")
    replaced = REPLACED.get(name, "no printed row")
    source = (
        f"least squares over the KADID-10k protocol (25 kinds, 5 levels, mean opinions of Lin et al. 2019) on "
        f"{len(found.unchanged)} photographs, its best end stretched from {fitted.ends[1]:.2f} to {UNCHANGED_OPINION}; "
        f"{_order(raw, opinion)}; {replaced}"
    )
    return replace(stretched(fitted, UNCHANGED_OPINION), source=source)


def full_reference_set(found: ProtocolValues) -> tuple[Floats, Floats]:
    """Raw values and opinions; the unchanged photographs count as much as a kind of distortion."""
    photographs = len(found.unchanged)
    raw = np.concatenate([found.damaged.ravel(), np.repeat(found.unchanged, UNCHANGED_REPEATS)])
    unchanged = np.full(UNCHANGED_REPEATS * photographs, UNCHANGED_OPINION)
    return raw, np.concatenate([np.tile(OPINIONS.ravel(), photographs), unchanged])


def fit_no_reference(name: str, found: ProtocolValues) -> Calibration:
    """Equal ranks get equal scores, over the damage that the metric is made for.

    Least squares would shrink a metric that follows opinion loosely towards the middle, so that nothing could be
    called good or bad; matching the two distributions keeps the whole scale.
    """
    categories = NO_REFERENCE_SETS[name]
    rows = [
        row
        for row, distortion in enumerate(PROTOCOL)
        if distortion.category in categories and distortion.name not in NOT_FOR.get(name, ())
    ]
    photographs = len(found.unchanged)
    raw = np.concatenate([found.damaged[:, rows].ravel(), np.tile(found.unchanged, UNCHANGED_REPEATS)])
    opinion = np.concatenate(
        [np.tile(OPINIONS[rows].ravel(), photographs), np.full(photographs * UNCHANGED_REPEATS, UNCHANGED_OPINION)]
    )
    agreement = _order(raw, opinion)
    better = METRICS[name].spec.higher_is_better
    order = np.sort(raw) if better else np.sort(raw)[::-1]
    printed = f"; {REPLACED[name]}" if name in REPLACED else ""
    kinds = ", ".join(PROTOCOL[row].name for row in rows)
    source = (
        f"raw values matched by rank to mean opinions (Lin et al. 2019) over {photographs} photographs, "
        f"unchanged and with the KADID-10k protocol's {kinds} in 5 levels; {agreement}{printed}"
    )
    return _fitted(name, order, np.sort(opinion), source)


def _order(raw: Floats, opinion: Floats) -> str:
    return f"SRCC on this set {abs(srcc(raw, opinion)):.3f}"


def _fitted(name: str, raw: Floats, opinion: Floats, source: str) -> Calibration:
    spec = METRICS[name].spec
    if spec.higher_is_better is None:
        raise CalibrationError(f"{name} has no better end.")
    covered = COVERED.get(name, spec.range)
    fitted = fit_calibration(raw, opinion, value_range=covered, higher_is_better=spec.higher_is_better, source=source)
    return fitted if covered == spec.range else replace(fitted, value_range=spec.range, span=covered)


# --- tables ----------------------------------------------------------------------------------------------


def agreement_table(found: CsiqValues) -> str:
    """SRCC and KRCC of the raw values, PLCC of the calibrated ones, which were never fitted to CSIQ."""
    curves = load_calibrations()
    rows = []
    for name, raw in found.values.items():
        spec = METRICS[name].spec
        if spec.kind == "probe":
            continue
        signed = raw if spec.higher_is_better else -raw
        linear = with_interval(pearson, curves[name].curve(raw), -found.dmos) if name in curves else "–"
        rank = with_interval(spearman, signed, -found.dmos)
        rows.append((rank.value, [name, spec.kind, str(rank), str(linear), f"{krcc(signed, -found.dmos):.4f}"]))
    rows.sort(key=lambda row: -row[0])
    return markdown(["metric", "type", "SRCC", "PLCC (calibrated)", "KRCC"], [cells for _, cells in rows])


def per_kind_table(found: CsiqValues) -> str:
    """SRCC within each distortion of CSIQ."""
    kinds = sorted(set(found.kinds))
    masks = [np.array(found.kinds) == kind for kind in kinds]
    rows = [
        [name, *(f"{abs(srcc(raw[mask], found.dmos[mask])):.3f}" for mask in masks)]
        for name, raw in found.values.items()
    ]
    return markdown(["metric", *kinds], rows)


def markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def origin_table() -> str:
    """Which curve is used for which tool."""
    rows = [
        [
            name,
            curve.origin,
            f"{curve.value_range[0]:g}..{curve.value_range[1]:g}",
            "{:.2f}..{:.2f}".format(*curve.ends),
        ]
        for name, curve in sorted(load_calibrations().items(), key=lambda item: (item[1].origin, item[0].casefold()))
    ]
    return markdown(["tool", "origin", "raw range", "calibrated, worst..best"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])  # type: ignore[union-attr]
    commands = parser.add_subparsers(dest="command", required=True)
    fit = commands.add_parser("fit")
    fit.add_argument("--photos", type=Path, required=True)
    fit.add_argument("--count", type=int, default=PHOTOGRAPHS)
    table = commands.add_parser("table")
    table.add_argument("--csiq", type=Path, required=True)
    for command in (fit, table):
        command.add_argument("--cache", type=Path, required=True)
    arguments = parser.parse_args()
    if arguments.command == "fit":
        photographs = chosen_photographs(arguments.photos, arguments.count)
        values = protocol_values(photographs, fitted_metrics(), arguments.cache)
        write_data_file(printed_calibrations() | fit_all(values) | {"AIQA_FR": FUSED})
    else:
        # A probe that people's opinion does not follow has no place here; the calibrated ones measure one kind each.
        shown = [name for name, metric in METRICS.items() if metric.spec.kind != "probe" or name in NO_REFERENCE_SETS]
        found = csiq_values(arguments.csiq, shown, arguments.cache)
        print(agreement_table(found), per_kind_table(found), origin_table(), sep="\n\n")


if __name__ == "__main__":
    main()
