"""Fit AIQA_FR on the KADID-protocol set, choose its parts by cross-validation, and check it on CSIQ.

    python training/fit_fused_reference.py choose --photos PHOTOS --cache CACHE
    python training/fit_fused_reference.py fit    --photos PHOTOS --cache CACHE
    python training/fit_fused_reference.py check  --csiq CSIQ --cache CACHE

``choose`` and ``fit`` never open CSIQ. ``choose`` ranks candidate sets of parts by how well they predict pictures
whose photograph, whose distortion and whose whole category of distortions were left out of the fit.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import yaml
from agreement import Floats, difference, krcc, plcc, srcc, with_interval
from fit_calibrations import COVERED, UNCHANGED_REPEATS, markdown
from measurements import OPINIONS, ProtocolValues, chosen_photographs, csiq_values, protocol_values
from scipy.optimize import nnls

import agenticiqa.tools.calibration as calibration_module
from agenticiqa.pictures.distortions import PROTOCOL, UNCHANGED_OPINION
from agenticiqa.runtime.files import write_whole
from agenticiqa.tools.aiqa_fr import FusedModel, Part, fused_model
from agenticiqa.tools.calibration import Calibration, fit_rising
from agenticiqa.tools.metrics import METRICS

PHOTOGRAPHS = 40
SHOWN = 12
EXPONENTS = (1.0, 2.0, 3.0, 4.0)
DATA_FILE = Path(calibration_module.__file__).with_name("fused_reference.yaml")
HEADER = """\
# AIQA_FR: how its parts lose points and how much each counts; see agenticiqa/tools/fused_reference.py.
# Written by training/fit_fused_reference.py from the KADID-10k protocol (Lin, Hosu and Saupe 2019) on free photographs.
"""


@dataclass(frozen=True)
class Candidate:
    """A metric, or the growth of a probe over the reference, and what it is there for."""

    metric: str
    sees: str
    growth: bool = False

    def part(self, curve: Calibration) -> Part:
        return Part(self.metric, curve, 1.0, self.sees, self.growth)


CANDIDATES = {
    "HaarPSI": Candidate("HaarPSI", "local structure and its contrast, in luma and chroma"),
    "GMSD": Candidate("GMSD", "uneven loss of edges"),
    "MDSI": Candidate("MDSI", "edges and chromaticity"),
    "VIF": Candidate("VIF", "lost detail and added noise"),
    "SSIMULACRA2": Candidate("SSIMULACRA2", "errors and lost or added edges in a perceptual colour space"),
    "VSI": Candidate("VSI", "what catches the eye, its edges and colours"),
    "CIEDE2000": Candidate("CIEDE2000", "colour difference"),
    "edge_widening": Candidate("sharpness", "edges wider than in the reference", growth=True),
    "noise_growth": Candidate("noise", "more noise than in the reference", growth=True),
    "block_growth": Candidate("blockiness", "more block edges than in the reference", growth=True),
}


@dataclass(frozen=True)
class Split:
    """Photographs and kinds to fit on, and those to predict."""

    fit_photographs: Floats
    fit_kinds: Floats
    held_photographs: Floats
    held_kinds: Floats


def splits(photographs: int, groups: Sequence[Sequence[int]]) -> Iterator[Split]:
    """Half of the photographs predict the other half, one group of kinds at a time; no group: all kinds are known."""
    half = np.random.default_rng(0).permutation(photographs) % 2
    everything = np.arange(len(PROTOCOL))
    for group in groups:
        known = np.setdiff1d(everything, group)
        asked = np.array(group) if len(group) else everything
        for side in (0, 1):
            yield Split(np.flatnonzero(half != side), known, np.flatnonzero(half == side), asked)


def scenarios() -> dict[str, list[list[int]]]:
    """What is left out besides photographs."""
    categories = sorted({distortion.category for distortion in PROTOCOL})
    return {
        "photographs": [[]],
        "and kind": [[row] for row in range(len(PROTOCOL))],
        "and category": [
            [row for row, distortion in enumerate(PROTOCOL) if distortion.category == category]
            for category in categories
        ],
    }


Values = dict[str, ProtocolValues]


def candidate_values(names: Sequence[str], measured: Values) -> Values:
    """What each candidate's curve takes."""
    found = {}
    for name in names:
        candidate = CANDIDATES[name]
        raw = measured[candidate.metric]
        of_reference = raw.unchanged[:, None, None]
        found[name] = ProtocolValues(
            _raw(candidate, raw.damaged, of_reference), _raw(candidate, raw.unchanged, raw.unchanged)
        )
    return found


def _raw(candidate: Candidate, test: Floats, reference: Floats) -> Floats:
    return np.maximum(test - reference, 0.0) if candidate.growth else test


class Curves:
    """Each candidate's curve for each split, fitted once however many sets of parts use it."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._known: dict[tuple[str, bytes, bytes], Calibration] = {}

    def curve(self, name: str, photographs: Floats, kinds: Floats) -> Calibration:
        key = (name, photographs.tobytes(), kinds.tobytes())
        if key not in self._known:
            self._known[key] = self._fitted(name, photographs, kinds)
        return self._known[key]

    def _fitted(self, name: str, photographs: Floats, kinds: Floats) -> Calibration:
        found, candidate = self._values[name], CANDIDATES[name]
        spec = METRICS[candidate.metric].spec
        low, high = COVERED.get(name, spec.range)
        unchanged = np.repeat(found.unchanged[photographs], UNCHANGED_REPEATS)
        raw = np.concatenate([found.damaged[np.ix_(photographs, kinds)].ravel(), unchanged])
        opinion = np.concatenate(
            [np.tile(OPINIONS[kinds].ravel(), len(photographs)), np.full(len(unchanged), UNCHANGED_OPINION)]
        )
        return fit_rising(
            raw,
            opinion,
            value_range=(0.0, high - low) if candidate.growth else (low, high),
            higher_is_better=bool(spec.higher_is_better),
            source="part of AIQA_FR",
        )


def fit_model(
    values: Values, names: Sequence[str], exponent: float, curves: Curves, photographs: Floats, kinds: Floats
) -> FusedModel:
    """Weights of at least zero by least squares on the pooled power of the loss."""
    parts = {name: CANDIDATES[name].part(curves.curve(name, photographs, kinds)) for name in names}
    losses = np.stack(
        [part.loss(values[name].damaged[np.ix_(photographs, kinds)]).ravel() for name, part in parts.items()], axis=1
    )
    lost = np.maximum(UNCHANGED_OPINION - np.tile(OPINIONS[kinds].ravel(), len(photographs)), 0.0)
    weights, _ = nnls(losses**exponent, lost**exponent)
    weighted = {
        name: replace(part, weight=float(weight)) for (name, part), weight in zip(parts.items(), weights, strict=True)
    }
    return FusedModel(weighted, exponent, UNCHANGED_OPINION)


def cross_validated(
    values: Values, names: Sequence[str], exponent: float, curves: Curves, groups: Sequence[Sequence[int]]
) -> float:
    """SRCC over all pictures, each predicted by a model that knew neither its photograph nor its group."""
    photographs = len(values[names[0]].unchanged)
    predicted = np.zeros((photographs, *OPINIONS.shape))
    for split in splits(photographs, groups):
        model = fit_model(values, names, exponent, curves, split.fit_photographs, split.fit_kinds)
        held = np.ix_(split.held_photographs, split.held_kinds)
        predicted[held] = model.scores({name: values[name].damaged[held] for name in names})
    return srcc(predicted.ravel(), np.tile(OPINIONS.ravel(), photographs))


def choose(values: Values, largest: int, exponents: Sequence[float]) -> list[list[str]]:
    """All sets of up to ``largest`` candidates, the best mean over the scenarios first."""
    curves = Curves(values)
    ranked = []
    sets = (names for size in range(1, largest + 1) for names in itertools.combinations(values, size))
    for names, exponent in itertools.product(sets, exponents):
        found = [cross_validated(values, names, exponent, curves, groups) for groups in scenarios().values()]
        ranked.append(
            [", ".join(names), f"{exponent:g}", f"{np.mean(found):.4f}", *(f"{value:.4f}" for value in found)]
        )
    return sorted(ranked, key=lambda row: row[2], reverse=True)


def write_model(model: FusedModel, photographs: int, path: Path = DATA_FILE) -> None:
    fields = {
        "photographs": photographs,
        "exponent": model.exponent,
        "top": model.top,
        "parts": {name: _part_fields(part) for name, part in model.parts.items()},
    }
    body = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=116, default_flow_style=None)
    write_whole(path, HEADER + body)


def _part_fields(part: Part) -> dict[str, object]:
    fields: dict[str, object] = {"metric": part.metric} | ({"growth": True} if part.growth else {})
    return fields | {
        "sees": part.sees,
        "weight": float(f"{part.weight:.8g}"),
        "coefficients": [float(f"{value:.10g}") for value in part.curve.coefficients],
        "range": list(part.curve.value_range),
        "higher_is_better": part.curve.higher_is_better,
    }


def check_on_csiq(csiq: Path, cache: Path) -> str:
    """AIQA_FR against its rivals on pictures that no fit has seen."""
    native = [name for name, metric in METRICS.items() if metric.spec.kind == "FR"]
    parts = fused_model().parts
    found = csiq_values(csiq, [*native, *(part.metric for part in parts.values() if part.metric not in native)], cache)
    fused = fused_model().scores(
        {name: part.raw(found.values[part.metric], found.unchanged[part.metric]) for name, part in parts.items()}
    )
    opinion = -found.dmos
    rows = [
        ["AIQA_FR", str(with_interval(srcc, fused, opinion)), str(with_interval(plcc, fused, opinion)),
         f"{krcc(fused, opinion):.4f}", "–"]
    ]  # fmt: skip
    for name in native:
        signed = found.values[name] if METRICS[name].spec.higher_is_better else -found.values[name]
        rows.append([name, f"{srcc(signed, opinion):.4f}", "", "", str(difference(fused, signed, opinion))])
    rows[1:] = sorted(rows[1:], key=lambda row: -float(row[1]))
    kinds = np.array(found.kinds)
    within = [f"{kind} {srcc(fused[kinds == kind], opinion[kinds == kind]):.3f}" for kind in sorted(set(found.kinds))]
    head = ["metric", "SRCC", "PLCC", "KRCC", "AIQA_FR ahead by (SRCC)"]
    return f"{markdown(head, rows)}\n\nAIQA_FR within each distortion: {', '.join(within)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])  # type: ignore[union-attr]
    parser.add_argument("command", choices=["choose", "fit", "check"])
    parser.add_argument("--photos", type=Path)
    parser.add_argument("--csiq", type=Path)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--count", type=int, default=PHOTOGRAPHS)
    parser.add_argument("--largest", type=int, default=3)
    parser.add_argument("--exponents", type=float, nargs="+", default=list(EXPONENTS))
    parser.add_argument("--parts", nargs="+", choices=list(CANDIDATES), default=list(CANDIDATES))
    arguments = parser.parse_args()
    if arguments.command == "check":
        print(check_on_csiq(arguments.csiq, arguments.cache))
        return
    photographs = chosen_photographs(arguments.photos, arguments.count)
    metrics = sorted({CANDIDATES[name].metric for name in arguments.parts})
    values = candidate_values(arguments.parts, protocol_values(photographs, metrics, arguments.cache))
    if arguments.command == "choose":
        rows = choose(values, arguments.largest, arguments.exponents)
        print(markdown(["parts", "exponent", "mean", *scenarios()], rows[:SHOWN]))
        return
    everything = np.arange(arguments.count), np.arange(len(PROTOCOL))
    model = fit_model(values, arguments.parts, arguments.exponents[0], Curves(values), *everything)
    write_model(model, arguments.count)


if __name__ == "__main__":
    main()
