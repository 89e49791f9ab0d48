"""Does a flaw carry over to a collection that was left out of training?

    python -m training.embedded.leave_out --data DATA --checkpoint PARTS... --collection motion

asks the network about every picture of ``DATA/real_flaws/COLLECTION`` at its own size, before any calibration.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from training.embedded import measure, real_flaws
from training.embedded.export import load
from training.embedded.real_flaws import FLAWS
from training.embedded.train import predict, read_all


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--checkpoint", type=Path, nargs="+", required=True)
    parser.add_argument("--collection", default="motion")
    arguments = parser.parse_args()
    folder = arguments.data / "real_flaws"
    listed = [one for one in real_flaws.read(folder) if one.collection == arguments.collection]
    listed = [one for one in listed if (folder / one.image).exists()]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = load(sorted(arguments.checkpoint)).to(device)
    pictures = torch.from_numpy(np.stack(read_all([folder / one.image for one in listed])))
    found = predict(model, pictures)
    truth = np.array([one.flaws for one in listed])
    for place, flaw in enumerate(FLAWS):
        yes, no = truth[:, place] == 1, truth[:, place] == 0
        if yes.any() and no.any():
            logits = found["flaws"][:, place]
            print(flaw, json.dumps({
                "yes": int(yes.sum()), "no": int(no.sum()),
                "balanced_accuracy": round(measure.balanced_accuracy(logits > 0, truth[:, place]), 4),
                "right_order": round(float((logits[yes][:, None] > logits[no][None]).mean()), 4),
                "said_yes_where_it_is": round(float((logits[yes] > 0).mean()), 4),
            }))  # fmt: skip


if __name__ == "__main__":
    main()
