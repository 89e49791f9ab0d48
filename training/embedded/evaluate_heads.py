"""Measure exported heads on everything held out, from what ``see.py`` kept: seconds instead of an hour.

    python -m training.embedded.evaluate_heads --weights FOLDER --seen SEEN.npz --data DATA \\
        [--features PARTS...] [--part test]

Real flaws first, then sorts, what is in focus, opinions, and (with the features that training kept) made damage.
Yes is said where a chance is above one half. ``exposure``, ``noise`` and ``csiq`` were never trained or tuned on.
"""

from __future__ import annotations

import argparse
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from training.embedded import held_out, measure
from training.embedded.held_out import HeldOut
from training.embedded.real_flaws import FLAWS, SORTS

from agenticiqa.vision.network import open_session

STATISTICS = 908
Found = dict[str, npt.NDArray[Any]]
ASKED = {
    "motion blur": ("motion_blur", ("motion",)),
    "blurry (motion)": ("blurry", ("motion",)),
    "too dark": ("too_dark", ("dark",)),
    "hazy": ("hazy", ("weather", "motion", "dark", "photos", "ordinary", "sort", "defocus")),
    "underexposed (exposure, never trained)": ("too_dark", ("exposure",)),
    "overexposed (exposure, never trained)": ("too_bright", ("exposure",)),
    "noisy (noise, never trained)": ("noisy", ("noise",)),
}
"""A question, the flaw that answers it, and the collections with pictures that have it and have it not."""


class Heads:
    def __init__(self, weights: Path) -> None:
        self.session = open_session((weights / "joint.onnx").read_bytes())
        self.names = [output.name for output in self.session.get_outputs()]

    def __call__(self, features: npt.NDArray[Any]) -> Found:
        values = np.ascontiguousarray(features, np.float32)
        found = self.session.run(
            self.names, {"statistics": values[:, :STATISTICS], "content": np.ascontiguousarray(values[:, STATISTICS:])}
        )
        return dict(zip(self.names, found, strict=True))


def real_flaws_figures(found: dict[str, Found], parts: dict[str, HeldOut], part: str) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for question, (flaw, collections) in ASKED.items():
        where = "measure" if collections[0] in ("exposure", "noise") else part
        if where not in parts:
            continue
        held, place = parts[where], FLAWS.index(flaw)
        truth = held.column("flaws")[:, place]
        rows = held.of(*collections) & (truth >= 0)
        said, truth = found[where]["flaws"][rows, place] > 0.5, truth[rows]
        figures[question] = measure.with_interval(
            lambda a, b: measure.balanced_accuracy(a > 0, b), said.astype(float), truth
        ) | {
            "yes": int((truth == 1).sum()), "no": int((truth == 0).sum()),
            "said_yes_where_it_is": round(float(said[truth == 1].mean()), 4),
            "said_no_where_it_is_not": round(float((~said[truth == 0]).mean()), 4),
        }  # fmt: skip
    return figures


def sort_figures(found: Found, held: HeldOut) -> dict[str, Any]:
    rows = held.of("sort")
    wanted, guess = held.column("sort")[rows], found["sorts"][rows].argmax(axis=1)
    drawn = held.of("screens")
    rated = held.of("photos", "biq2021", "ordinary", "motion")
    made = held.of("generated")
    said, truth = found["generated"][made] > 0.5, held.column("generated")[made]
    elsewhere = held.of("photos", "biq2021", "ordinary", "motion", "sort", "defocus")
    return {
        "sort": measure.with_interval(measure.mean, (guess == wanted).astype(float)) | {"pictures": len(wanted)},
        "sort_by_sort": {name: round(float((guess == wanted)[wanted == place].mean()), 3)
                         for place, name in enumerate(SORTS) if (wanted == place).any()},
        "drawn_screens": round(float((found["sorts"][drawn].argmax(axis=1) == SORTS.index("screen")).mean()), 3),
        "photographs_elsewhere": round(float((found["sorts"][rated].argmax(axis=1) == 0).mean()), 3),
        "generated": measure.with_interval(lambda a, b: measure.balanced_accuracy(a > 0, b), said.astype(float), truth)
        | {"pictures": len(truth)},
        "said_generated_elsewhere": round(float((found["generated"][elsewhere] > 0.5).mean()), 4),
    }  # fmt: skip


def focus_figures(heads: Heads, held: HeldOut) -> dict[str, Any]:
    """Overlap of what is said to be in focus with the masks, cell by cell; the same for what is not."""
    inside, outside = [], []
    for row, cells in held.cells.items():
        flat = cells.reshape(-1, cells.shape[-1])
        content = np.broadcast_to(held.features[row, STATISTICS:], (len(flat), held.features.shape[1] - STATISTICS))
        said = heads(np.concatenate([flat, content], axis=1))["in_focus"] > 0.5
        truth = held.focus[row].ravel() > 0.5
        for wanted, kept in ((inside, (said, truth)), (outside, (~said, ~truth))):
            either = (kept[0] | kept[1]).sum()
            wanted.append(float((kept[0] & kept[1]).sum() / either) if either else 1.0)
    return {
        "pictures": len(inside),
        "iou_in_focus": measure.with_interval(measure.mean, np.array(inside)),
        "iou_out_of_focus": measure.with_interval(measure.mean, np.array(outside)),
        "mean_iou": round(float(np.mean([inside, outside])), 4),
    }


def opinion_figures(found: Found, held: HeldOut, collection: str) -> dict[str, Any]:
    rows = held.of(collection)
    wanted, score = held.column("opinion")[rows], found["score"][rows]
    figures: dict[str, Any] = {
        "pictures": int(rows.sum()),
        "srcc": measure.with_interval(measure.srcc, score, wanted),
        "plcc": measure.with_interval(measure.plcc, score, wanted),
        "srcc_by_head": {head: round(measure.srcc(found[head][rows], wanted), 4) for head in ("damage", "opinion")},
        "trust": round(float(found["trust"][rows].mean()), 3),
        "score_quantiles": {str(q): round(float(np.quantile(score, q)), 2) for q in (0, 0.01, 0.05, 0.5, 0.95, 1)},
    }
    if collection != "csiq":
        error = measure.calibration_error(found["levels"][rows], measure.nearest_level(wanted))
        figures["level_calibration_error"] = round(error, 4)
        figures["opinion_quantiles"] = {
            str(q): round(float(np.quantile(wanted, q)), 2) for q in (0, 0.01, 0.05, 0.5, 1)
        }
    return figures


def untouched_figures(found: Found, held: HeldOut) -> dict[str, Any]:
    """What is found in photographs with nothing wrong; and in ones that people call bad."""
    figures: dict[str, Any] = {}
    anything = (found["presence"] > 0.5).any(axis=1)
    pristine, still = held.of("photos"), held.of("motion") & (held.column("value") == "0")
    opinion = held.column("opinion")
    rated = held.of("biq2021", "ordinary")
    for name, rows in {
        "pristine_photographs": pristine, "still_photographs": still, "rated_above_4.1": rated & (opinion > 4.1),
        "rated_below_2.2": rated & (opinion < 2.2), "scored_below_2.5": rated & (found["score"] < 2.5),
    }.items():  # fmt: skip
        figures[name] = {"pictures": int(rows.sum()), "something_found": round(float(anything[rows].mean()), 4)}
    return figures


def protocol(heads: Heads, stored: Any, part: str) -> dict[str, Any]:
    column = lambda name: stored[f"chains_{part}/{name}"]  # noqa: E731
    return measure.protocol_figures(heads(column("features")), column("level"), column("row"), column("photograph"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--seen", type=Path, nargs="+", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--features", type=Path, nargs="*", default=[])
    parser.add_argument("--part", choices=("validation", "test"), default="test")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    heads, parts = Heads(arguments.weights), held_out.load(arguments.seen, arguments.data)
    if arguments.part == "validation":  # then nothing that only measures is looked at
        parts = {"validation": parts["validation"]}
    found = {part: heads(held.features) for part, held in parts.items()}
    part = arguments.part
    figures: dict[str, Any] = {"part": part, "real_flaws": real_flaws_figures(found, parts, part)}
    figures |= sort_figures(found[part], parts[part])
    figures["focus"] = focus_figures(heads, parts[part])
    for collection in [name for name in ("biq2021", "ordinary") if parts[part].of(name).any()]:
        figures[collection] = opinion_figures(found[part], parts[part], collection)
    if part == "test" and parts["measure"].of("csiq").any():
        figures["csiq"] = opinion_figures(found["measure"], parts["measure"], "csiq")
    figures["untouched"] = untouched_figures(found[part], parts[part])
    if arguments.features:
        stored = np.load(io.BytesIO(b"".join(file.read_bytes() for file in sorted(arguments.features))))
        figures["protocol"] = protocol(heads, stored, part)
    for name, value in figures.items():
        print(name, json.dumps(value), flush=True)
    if arguments.out:
        arguments.out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
