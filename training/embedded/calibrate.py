"""Fit the last few numbers of the heads on validation pictures, so that their answers mean what they say.

    python -m training.embedded.calibrate --checkpoint PARTS... --features PARTS... --out FOLDER

The opinion head gets a say in the damage score; a slight bend takes that to the scale of the published opinions;
factors on the spreads make the chances of the five levels come true; a factor and an offset on "none" undo the extra
weight that training gave to present damage; an offset on the gate makes it choose the damage head only where it is
sure.
"""

from __future__ import annotations

import argparse
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from training.embedded import measure
from training.embedded.kinds import CATEGORY_INDEX, KIND_INDEX, severity_of
from training.embedded.network import STATISTICS
from training.embedded.recipes import amount_is_neutral

from agenticiqa.pictures.distortions import PROTOCOL, UNCHANGED_OPINION

if TYPE_CHECKING:
    from training.embedded.network import Joint

# The likeliest offset would miss more faint damage than it saves false alarms: a little below it.
ABSENCE_OFFSETS = np.arange(0, 1.45, 0.1)
# Learnt from two sources, the gate also knows them by size and file history: reduced photographs as taken pass for
# processed ones, and the damage head ranks these poorly. The opinion head ranks both well. ``crosscheck.py`` on
# validation pictures shows what an offset costs and brings.
GATE_OFFSET = -4.0
# On validation chains the opinion head, put on the damage head's scale, keeps the order of faint blur, which the damage
# head often turns round; and where the gate opens half way, heads that lie closer make a smaller step. From 1.0 down to
# 0.7 more chains are monotone (94.9 to 96.6 %) at the same rank correlation; below, the correlation falls.
DAMAGE_SHARE = 0.7
# The lower end of the scale goes down by this share of its distance from the upper end. Least squares would take 0.11:
# the levels would be a little likelier, but a wider scale makes more rises of a tenth (96.2 % of chains are monotone
# with 0.06, 95.7 % with 0.11, 96.6 % with none; the levels' calibration error is 0.023, 0.027 and 0.041).
LOW_END = 0.06
LOWER, UPPER = 1.0, 4.65
SCALES = np.geomspace(0.3, 3, 50)


@torch.no_grad()
def answers(joint: Joint, features: np.ndarray) -> dict[str, np.ndarray]:
    """Raw answers of the heads (severities and kinds as logits) to features as ``train.features`` gives them."""
    device = joint.last.weight.device
    values = torch.from_numpy(features.astype(np.float32)).to(device)
    found = joint.eval()(values[:, :STATISTICS], values[:, STATISTICS:])
    return {name: value.cpu().numpy() for name, value in found.items()}


def log_chances(logits: np.ndarray) -> np.ndarray:
    return logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)


def fit(joint: Joint, chains: dict[str, np.ndarray], rated: dict[str, np.ndarray]) -> dict[str, float | list[float]]:
    """Sets the buffers of ``joint``. ``chains``: features, row and level; ``rated``: features and rating."""
    joint.damage_curve.copy_(torch.tensor([0.0, 1.0, 0.0]))
    joint.damage_share.fill_(1.0)
    for scale in (joint.spread_scale, joint.severity_scale, joint.kind_scale):
        scale.fill_(1.0)
    joint.absence_offset.zero_()
    joint.gate_offset.fill_(GATE_OFFSET)
    changed = chains["row"] >= 0
    cells = [
        (PROTOCOL[row], int(level)) for row, level in zip(chains["row"][changed], chains["level"][changed], strict=True)
    ]
    opinions = np.array([kind.opinions[level - 1] for kind, level in cells])
    found = answers(joint, chains["features"])
    slope, start = np.polyfit(found["opinion"][changed], found["damage"][changed], 1)
    joint.opinion_line.copy_(torch.tensor([start, slope]))
    joint.damage_share.fill_(DAMAGE_SHARE)
    found = answers(joint, chains["features"])
    # Unchanged pictures are few here and must keep the top of the scale: they count as a fifth of all.
    everyone = np.full(len(changed), UNCHANGED_OPINION)
    everyone[changed] = opinions
    weights = np.where(changed, 1.0, 0.25 * changed.sum() / max((~changed).sum(), 1))
    # A bend in the middle that leaves both ends where they are; beyond a quarter it would not be monotone.
    damage = found["damage"]
    lowered = damage - LOW_END * (UPPER - damage)
    bend = (damage - LOWER) * (UPPER - damage)
    amount = float(np.clip((weights * bend * (everyone - lowered)).sum() / (weights * bend * bend).sum(), -0.25, 0.25))
    curve = np.array([-LOW_END * UPPER - LOWER * UPPER * amount, 1 + LOW_END + (LOWER + UPPER) * amount, -amount])
    joint.damage_curve.copy_(torch.from_numpy(curve).float())
    found = answers(joint, chains["features"])
    opinion_found = answers(joint, rated["features"])
    joint.spread_scale[0] = measure.best_scale(found["score"][changed], found["spread"][changed], opinions)
    joint.spread_scale[1] = measure.best_scale(opinion_found["score"], opinion_found["spread"], rated["rating"])
    wanted = np.zeros(found["severities"].shape[:2], np.int64)
    truth = np.array([CATEGORY_INDEX[kind.category] for kind, _ in cells])
    wanted[np.flatnonzero(changed), truth] = [severity_of(value) for value in opinions]
    scale, offset = best_severity(found["severities"], wanted)
    joint.severity_scale.fill_(scale)
    joint.absence_offset.fill_(offset)
    kind = np.array(
        [KIND_INDEX["unchanged" if amount_is_neutral(kind.name, level) else kind.name] for kind, level in cells]
    )
    logits = found["kinds"][changed]
    losses = [-log_chances(logits * scale)[np.arange(len(kind)), kind].mean() for scale in SCALES]
    joint.kind_scale.fill_(float(SCALES[int(np.argmin(losses))]))
    return values_of(joint)


def best_severity(logits: np.ndarray, wanted: np.ndarray) -> tuple[float, float]:
    best = (np.inf, 1.0, 0.0)
    for scale in np.geomspace(0.5, 1.6, 12):
        for offset in ABSENCE_OFFSETS:
            moved = logits * scale
            moved[..., 0] += offset
            loss = -float(np.take_along_axis(log_chances(moved), wanted[..., None], -1).mean())
            best = min(best, (loss, float(scale), float(offset)))
    return best[1], best[2]


def values_of(joint: Joint) -> dict[str, float | list[float]]:
    return {
        "damage_share": round(float(joint.damage_share), 4),
        "opinion_line": [round(float(value), 5) for value in joint.opinion_line],
        "damage_curve": [round(float(value), 5) for value in joint.damage_curve],
        "spread_damage": round(float(joint.spread_scale[0]), 4),
        "spread_opinion": round(float(joint.spread_scale[1]), 4),
        "severity": round(float(joint.severity_scale), 4),
        "absence_offset": round(float(joint.absence_offset), 4),
        "kind": round(float(joint.kind_scale), 4),
        "gate_offset": round(float(joint.gate_offset), 4),
    }


def main() -> None:
    from training.embedded.export import load
    from training.embedded.train import save

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, nargs="+", required=True)
    parser.add_argument("--features", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    model = load(sorted(arguments.checkpoint))
    stored = np.load(io.BytesIO(b"".join(file.read_bytes() for file in sorted(arguments.features))))
    part = lambda name: {key.split("/", 1)[1]: stored[key] for key in stored.files if key.startswith(name + "/")}  # noqa: E731
    print(json.dumps(fit(model.joint, part("chains"), part("rated_validation"))))
    arguments.out.mkdir(parents=True, exist_ok=True)
    save(model, arguments.out)


if __name__ == "__main__":
    main()
