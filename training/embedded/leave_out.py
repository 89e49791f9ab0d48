"""Does a flaw carry over to a collection that was left out of training?

    python -m training.embedded.leave_out --data DATA --checkpoint PARTS... --collection motion

asks the network about every picture of ``DATA/real_flaws/COLLECTION`` at its own size: as it left training, with the
chances fitted as ``calibrate.py`` fits them on the camera's pictures and on the other collections' validation pictures,
and with "yes" beginning where it tells these apart best, as in the product.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from training.embedded import measure, real_flaws, splits
from training.embedded.calibrate import CAUTION, beginning, even_weights, line_of
from training.embedded.export import load
from training.embedded.network import Assessor
from training.embedded.real_flaws import FLAWS
from training.embedded.train import (
    FULL,
    SMALL_SIZE,
    SMALL_WINDOW,
    Clean,
    Rated,
    Real,
    predict,
    read_all,
    window_of,
)

ROUNDS = 20


def known_elsewhere(
    model: Assessor, data: Path, without: str, device: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Logits, labels and collections of validation pictures that have nothing to do with the collection."""
    listed = real_flaws.part_of(real_flaws.read(data / "real_flaws"), "validation", [without])
    real = Real(data / "real_flaws", listed, 2, device)
    found = [predict(model, real.windows, real.views)["flaws"]]
    labels, names = [real.targets["flaws"].cpu().numpy()], [np.repeat([one.collection for one in listed], 2)]
    rated = Rated(data / "biq2021", splits.load()["opinions"]["validation"], device)
    clean = Clean(data, splits.load()["photos"]["validation"], rated, device)
    for number in range(ROUNDS):
        made = clean.made(48, FULL if number % 2 else SMALL_SIZE)
        shown = window_of(made.pictures, FULL if number % 2 else SMALL_WINDOW)
        found.append(predict(model, (shown * 255).round().byte().permute(0, 2, 3, 1))["flaws"])
        labels.append(made.flaws.cpu().numpy())
        names.append(np.full(len(shown), "camera"))
    return np.concatenate(found), np.concatenate(labels), np.concatenate(names)


def figures(logits: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    yes, no = logits[truth == 1], logits[truth == 0]
    return {
        "yes": len(yes), "no": len(no),
        "balanced_accuracy": round(measure.balanced_accuracy(logits > 0, truth), 4),
        "right_order": round(float((yes[:, None] > no[None]).mean()), 4),
        "said_yes_where_it_is": round(float((yes > 0).mean()), 4),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--checkpoint", type=Path, nargs="+", required=True)
    parser.add_argument("--collection", default="motion")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    folder = arguments.data / "real_flaws"
    listed = [one for one in real_flaws.read(folder) if one.collection == arguments.collection]
    listed = [one for one in listed if (folder / one.image).exists()]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = load(sorted(arguments.checkpoint)).to(device)
    pictures = torch.from_numpy(np.stack(read_all([folder / one.image for one in listed])))
    found = predict(model, pictures)["flaws"]
    truth = np.array([one.flaws for one in listed])
    elsewhere, labels, names = known_elsewhere(model, arguments.data, arguments.collection, device)
    results = {}
    for place, flaw in enumerate(FLAWS):
        asked = truth[:, place]
        if not ((asked == 1).any() and (asked == 0).any()):
            continue
        known = labels[:, place] >= 0
        weights = even_weights(labels[known, place], names[known], CAUTION)
        scale, offset = line_of(elsewhere[known, place], labels[known, place], weights)
        bound = beginning(scale * elsewhere[known, place] + offset, labels[known, place], names[known])
        results[flaw] = {
            "as_trained": figures(found[:, place], asked),
            "chances_fitted_elsewhere": figures(scale * found[:, place] + offset, asked),
            "yes_begins_as_elsewhere": figures(scale * found[:, place] + offset - bound, asked),
        }
        print(flaw, json.dumps(results[flaw]), flush=True)
    if arguments.out:
        arguments.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
