"""Largest relative difference between our metrics and the stored values of other libraries.

    python tests/parity/compare.py                 prints the figures; needs no torch
    python tests/parity/compare.py --docs docs/measuring/metrics.md --speed speed.json speed-without-avx512.json
                                                   writes the table of docs/measuring/metrics.md

Both files come from ``benchmarks/speed/metrics_speed.py --json``, the second with ``--without-avx512``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from cases import cases

from agenticiqa.tools.metrics import METRICS, Metric, Views, ssim

HERE = Path(__file__).resolve().parent
START, END = "<!-- table: begin -->", "<!-- table: end -->"
PEERS = {
    "VIFp": "piq",
    "MDSI": "piq",
    "HaarPSI": "piq",
    "CIEDE2000": "scikit-image",
    "PSNR-HVS-M": "psnr_hvsm",
    "SSIMULACRA2": "libjxl",
}
# Below this a value counts as this: these run to 100 and pass through zero.
SMALLEST = {"SSIMULACRA2": 2.0, "SSIMULACRA2 of the Python port": 2.0, "BRISQUE": 2.0}
# Where both ends are defined differently on purpose.
CAPPED = {"PSNR", "PSNR-HVS-M"}
# Keep negative structure terms: compared with ours keeping them too.
NEGATIVE_STRUCTURE = {"SSIM of piq", "SSIM of scikit-image"}
# Pads odd sides otherwise than pyiqa and ours before halving: compared on even sides.
EVEN_SIDES_ONLY = {"GMSD of piq", "MS-SSIM of piq"}
# Uses another blur than libjxl; tests/tools/metrics/test_parity.py compares it with that blur.
ANOTHER_VARIANT = {"SSIMULACRA2 of the Python port"}
REASONS = {
    "BRISQUE": "pyiqa adds 770 support vectors in float32; below 2 points a value counts as 2",
    "MS-SSIM of piq": "keeps negative structure terms",
    "PIQE": "blocks of one colour lie on thresholds, where the last bit decides",
    "SSIMULACRA2": "libjxl's blur rounds in float32; below 2 points a value counts as 2",
    "VIF": "nearly singular covariances on a picture full of impulses",
}


def worst_differences() -> dict[str, tuple[float, str, int]]:
    """Metric to (largest relative difference, the case it occurs in, number of cases)."""
    stored = json.loads((HERE / "reference_values.json").read_text())["values"]
    found: dict[str, tuple[float, str, int]] = {}
    for case, test, reference in cases():
        views = Views(test, reference)
        for name, values in stored.items():
            metric = METRICS.get(name.partition(" of ")[0])
            if metric is None or case not in values or name in ANOTHER_VARIANT:
                continue
            if name in EVEN_SIDES_ONLY and (views.size[0] % 2 or views.size[1] % 2):
                continue
            if case.startswith("identical") and metric.spec.name in CAPPED:
                continue
            value = _measured(metric, views, negative_structure=name in NEGATIVE_STRUCTURE)
            difference = abs(value - values[case]) / max(abs(values[case]), SMALLEST.get(name, 1e-3))
            worst, where, count = found.get(name, (0.0, case, 0))
            found[name] = (difference, case, count + 1) if difference > worst else (worst, where, count + 1)
    return found


def _measured(metric: Metric, views: Views, *, negative_structure: bool) -> float:
    usual = ssim.LEAST_STRUCTURE
    ssim.LEAST_STRUCTURE = np.float32(-1) if negative_structure else usual
    try:
        return metric.measure(views).value
    finally:
        ssim.LEAST_STRUCTURE = usual


def speed_ratios(path: Path) -> dict[tuple[str, str], str]:
    out: dict[tuple[str, str], str] = {}
    for row in json.loads(path.read_text())["rows"]:
        text = f"{1000 * row['ours']:.0f} ms"
        if row["peers"]:
            best = min(row["peers"], key=row["peers"].__getitem__)
            text = f"{row['peers'][best] / row['ours']:.1f}× {best} ({text})"
        out[row["metric"], row["size"]] = text
    return out


def table(parity: dict[str, tuple[float, str, int]], speeds: Sequence[dict[tuple[str, str], str]]) -> str:
    columns = ["metric", "kind", "range", "better", "variant", "paper", "good at", "difference"]
    columns += ["speed at 1920×1080", "the same without AVX-512"][: len(speeds)]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    direction = {True: "higher", False: "lower", None: "–"}
    for name, metric in METRICS.items():
        spec = metric.spec
        unit = f" {spec.unit}" if spec.unit else ""
        figure = "–"
        if name in parity:
            figure = f"{parity[name][0]:.0e} from {PEERS.get(name, 'pyiqa')}, {parity[name][2]} pairs"
        cells = [
            name,
            spec.kind,
            f"{spec.range[0]:g} … {spec.range[1]:g}{unit}",
            direction[spec.higher_is_better],
            spec.variant,
            spec.paper,
            ", ".join(spec.good_at),
            figure,
            *(speed.get((name, "1920x1080"), "–") for speed in speeds),
        ]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", type=Path, help="file whose table is to be rewritten")
    parser.add_argument("--speed", type=Path, nargs="*", default=[], help="output of metrics_speed.py --json")
    arguments = parser.parse_args()
    parity = worst_differences()
    for name, (difference, case, count) in parity.items():
        reason = f": {REASONS[name]}" if difference > 1e-4 else ""
        sys.stdout.write(f"{name:<24} {difference:8.1e}  {case} (of {count}){reason}\n")
    if arguments.docs:
        text = arguments.docs.read_text()
        head, rest = text.split(START)
        tail = rest.split(END)[1]
        speeds = [speed_ratios(path) for path in arguments.speed]
        arguments.docs.write_text(f"{head}{START}\n\n{table(parity, speeds)}\n\n{END}{tail}")


if __name__ == "__main__":
    main()
