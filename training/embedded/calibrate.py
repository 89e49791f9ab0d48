"""Fit the last few numbers of the heads on validation pictures, so that their answers mean what they say.

    python -m training.embedded.calibrate --checkpoint PARTS... --features PARTS... --seen SEEN.npz \\
        --data DATA --out FOLDER

The opinion head and the worst severity get a say in the damage score; a slight bend takes that to the scale of the
published opinions; the spreads are those with which the intervals that are shown hold four of five opinions; a factor
and an offset on "none" undo the extra weight that training gave to present damage; an offset on the gate makes it
choose the damage head only where it is sure. Chances of flaws, of sorts and of what is in focus are fitted on real
pictures and the camera's together; a bend in the opinion lets the worst photographs of the opinion sets reach the
bottom of the scale.
"""

from __future__ import annotations

import argparse
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from training.distortions import PROTOCOL, UNCHANGED_OPINION
from training.embedded import measure
from training.embedded.held_out import HeldOut
from training.embedded.kinds import CATEGORY_INDEX, KIND_INDEX, KINDS, severity_of
from training.embedded.network import KNOTS, STATISTICS
from training.embedded.real_flaws import FLAW_CATEGORY, FLAWS
from training.embedded.recipes import amount_is_neutral

from agenticiqa.score_interval import COVERED, likely_interval

if TYPE_CHECKING:
    from training.embedded.network import Joint

# The likeliest offset would miss more faint damage than it saves false alarms: a little below it.
ABSENCE_OFFSETS = np.arange(0, 1.45, 0.1)
# A step towards the head of opinions: a photograph taken for a processed picture is ranked poorly, a processed one
# taken for a photograph hardly worse (on validation chains 0.913 becomes 0.910).
GATE_OFFSET = -2.0
# On validation chains the opinion head, put on the damage head's scale, keeps the order of faint blur, which the damage
# head often turns round; and where the gate opens half way, heads that lie closer make a smaller step. From 1.0 down to
# 0.7 more chains are monotone (94.9 to 96.6 %) at the same rank correlation; below, the correlation falls.
DAMAGE_SHARE = 0.7
# The worst severity ranks damage better than the damage head, but in steps. On validation chains the rank correlation
# is 0.898 without it, 0.910 with this share and 0.914 with a half; 96.6, 96.4 and 95.8 % of the chains are monotone.
SEVERITY_SHARE = 0.3
# The lower end of the scale goes down by this share of its distance from the upper end. Least squares would take 0.11:
# the levels would be a little likelier, but a wider scale makes more rises of a tenth (96.2 % of chains are monotone
# with 0.06, 95.7 % with 0.11, 96.6 % with none; the levels' calibration error is 0.023, 0.027 and 0.041).
LOW_END = 0.06
LOWER, UPPER = 1.0, 4.65
# Most pictures have no flaw: a wrong "yes" is weighed so many times a wrong "no".
CAUTION = 1.5
# Less so for the category of blur, whose flaws are held back already.
BLUR_CAUTION = 0.9
LIKED = 4.1
CLEARLY_SEEN = 4.1
"""Damage below this opinion is there for everybody."""
CONTRAST_RECALL = 0.65
FALSE_FLAW, FALSE_CATEGORY, FALSE_BLUR = 0.012, 0.015, 0.03
"""Share of untouched validation photographs in which one flaw, and in which one category may be found at most."""
FALSE_ANYWHERE = 0.06
"""The same for the photographs of any one collection: a category must not be taken for a collection's look."""
SPREAD_SCALES, SPREAD_FLOORS = np.arange(0.8, 2.41, 0.1), np.arange(0.1, 0.3, 0.005)
COVER_ROOM = 0.003
CAMERA_WEIGHT = 0.5
"""The camera's pictures against a collection of real ones, where a flaw begins to be called one."""
QUANTILES = (0.01, 0.04, 0.12, 0.25, 0.45, 0.65, 0.85, 0.99)
assert len(QUANTILES) == KNOTS
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


def fit(
    joint: Joint,
    chains: dict[str, np.ndarray],
    rated: dict[str, np.ndarray],
    camera: dict[str, np.ndarray],
    real: HeldOut,
) -> dict[str, Any]:
    """Sets the buffers of ``joint``.

    ``chains``: features, row and level; ``rated``: features and rating; ``camera``: features and flaws; ``real``:
    validation pictures of the collections.
    """
    reset(joint)
    fit_opinion(joint, rated, real)
    fit_severities(joint, chains)
    fit_damage(joint, chains)
    fit_spreads(joint, chains, real)
    fit_kinds(joint, chains)
    fit_flaws(joint, camera, real)
    fit_sorts(joint, real)
    fit_focus(joint, real)
    fit_presence(joint, chains, rated, camera, real)
    fit_findings(joint, chains, rated, camera, real)
    return values_of(joint)


def reset(joint: Joint) -> None:
    joint.damage_curve.copy_(torch.tensor([0.0, 1.0, 0.0]))
    joint.damage_share.fill_(1.0)
    joint.severity_share.zero_()
    joint.opinion_knots.copy_(torch.linspace(1, 4.5, KNOTS))
    joint.opinion_slopes.copy_(torch.tensor([1.0] + [0.0] * (KNOTS - 1)))
    joint.opinion_start.fill_(1.0)
    for name in ("spread", "severity", "kind", "flaw", "presence", "generated", "focus", "sort"):
        getattr(joint, f"{name}_scale").fill_(1.0)
    for name in ("absence", "kind", "flaw", "presence", "generated", "focus"):
        getattr(joint, f"{name}_offset").zero_()
    joint.both_severity.zero_()
    joint.both_flaw.zero_()
    joint.both_offset.fill_(-99.0)
    joint.gate_offset.fill_(GATE_OFFSET)
    joint.spread_floor.zero_()


def opinions_of(chains: dict[str, np.ndarray]) -> tuple[np.ndarray, list[tuple[Any, int]], np.ndarray]:
    """Which rows are changed, their kind and level, and the published opinions."""
    changed = chains["row"] >= 0
    cells = [
        (PROTOCOL[row], int(level)) for row, level in zip(chains["row"][changed], chains["level"][changed], strict=True)
    ]
    return changed, cells, np.array([kind.opinions[level - 1] for kind, level in cells])


def fit_opinion(joint: Joint, rated: dict[str, np.ndarray], real: HeldOut) -> None:
    """Quantile to quantile, both sets of opinions alike.

    Guesses are narrower than opinions: matched by quantiles, the worst reach the bottom.
    """
    ordinary = real.of("ordinary")
    wanted = (rated["rating"], real.column("opinion")[ordinary])
    found = [answers(joint, features)["plain_opinion"] for features in (rated["features"], real.features[ordinary])]
    places, values = (np.mean([np.quantile(part, QUANTILES) for part in parts], axis=0) for parts in (found, wanted))
    slopes = np.clip(np.diff(values) / np.maximum(np.diff(places), 1e-3), 0.5, 2.5)
    slopes = np.append(slopes, min(slopes[-1], 1.0))
    middle = KNOTS // 2  # the middle stays where the opinions are; steepness is limited from there outwards
    start = values[middle] - float((slopes[:middle] * np.diff(places)[:middle]).sum())
    joint.opinion_knots.copy_(torch.from_numpy(places).float())
    joint.opinion_slopes.copy_(torch.from_numpy(np.diff(slopes, prepend=0.0)).float())
    joint.opinion_start.fill_(float(start))


def fit_damage(joint: Joint, chains: dict[str, np.ndarray]) -> None:
    changed, _, opinions = opinions_of(chains)
    found = answers(joint, chains["features"])
    slope, start = np.polyfit(found["plain_opinion"][changed], found["damage"][changed], 1)
    joint.opinion_line.copy_(torch.tensor([start, slope]))
    joint.damage_share.fill_(DAMAGE_SHARE)
    joint.severity_share.fill_(SEVERITY_SHARE)
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


def fit_spreads(joint: Joint, chains: dict[str, np.ndarray], real: HeldOut) -> None:
    """The spreads with which the intervals that are shown hold four of five opinions."""
    sets = []
    for collection in ("biq2021", "ordinary"):
        rows = real.of(collection)
        sets.append((answers(joint, real.features[rows])["score"], real.column("opinion")[rows]))
    # What the head learnt of its own errors on training pictures is too small and says little on others: of photographs
    # as taken the spread is the same for all.
    joint.spread_scale[1] = 0.0
    shares = [
        float(np.mean([held(score, np.full(len(score), floor), wanted) for score, wanted in sets]))
        for floor in SPREAD_FLOORS
    ]
    joint.spread_floor.fill_(middle_of(SPREAD_FLOORS, shares))
    changed, _, opinions = opinions_of(chains)
    shares = []
    for scale in SPREAD_SCALES:
        joint.spread_scale[0] = float(scale)
        found = answers(joint, chains["features"][changed])
        shares.append(held(found["score"], found["spread"], opinions))
    joint.spread_scale[0] = middle_of(SPREAD_SCALES, shares)


def held(score: np.ndarray, spread: np.ndarray, opinions: np.ndarray) -> float:
    """The share of opinions within the intervals that are shown."""
    inside = 0
    for chances, opinion in zip(measure.level_probabilities(score, spread), opinions, strict=True):
        low, high = likely_interval(dict(enumerate(chances.tolist(), 1))) or (0.0, 0.0)
        inside += low <= opinion <= high
    return inside / len(opinions)


def middle_of(values: np.ndarray, shares: list[float]) -> float:
    """Of the values with which nearly the wanted share is held, the middle, which carries over best."""
    off = np.abs(np.array(shares) - COVERED)
    return float(np.median(values[off <= off.min() + COVER_ROOM]))


def fit_severities(joint: Joint, chains: dict[str, np.ndarray]) -> None:
    changed, cells, opinions = opinions_of(chains)
    found = answers(joint, chains["features"])
    wanted = np.zeros(found["severities"].shape[:2], np.int64)
    truth = np.array([CATEGORY_INDEX[kind.category] for kind, _ in cells])
    wanted[np.flatnonzero(changed), truth] = [severity_of(value) for value in opinions]
    scale, offset = best_severity(found["severities"], wanted)
    joint.severity_scale.fill_(scale)
    joint.absence_offset.fill_(offset)


def fit_kinds(joint: Joint, chains: dict[str, np.ndarray]) -> None:
    """A factor for all kinds; and contrast, which loses every doubtful case to brightness, gets a lead."""
    changed, cells, opinions = opinions_of(chains)
    found = answers(joint, chains["features"])
    kind = np.array(
        [KIND_INDEX["unchanged" if amount_is_neutral(kind.name, level) else kind.name] for kind, level in cells]
    )
    logits = found["kinds"][changed]
    losses = [-log_chances(logits * scale)[np.arange(len(kind)), kind].mean() for scale in SCALES]
    joint.kind_scale.fill_(float(SCALES[int(np.argmin(losses))]))
    logits = logits * float(joint.kind_scale)
    seen = np.array([severity_of(value) > 0 for value in opinions])
    truth = np.array([CATEGORY_INDEX[one.category] for one, _ in cells])
    contrast, place = KIND_INDEX["contrast_change"], CATEGORY_INDEX["Contrast"]
    of_kind = np.array([CATEGORY_INDEX[one.category] if one.category else -1 for one in KINDS])
    best = (-np.inf, 0.0)
    for lead in np.arange(0, 2.01, 0.1):
        moved = logits.copy()
        moved[:, contrast] += lead
        chances = np.exp(log_chances(moved))
        guess = np.stack([chances[:, of_kind == category].sum(axis=1) for category in range(8)], axis=1).argmax(axis=1)
        right = (guess == truth)[seen]
        recall = right[truth[seen] == place].mean()
        best = max(best, (float(right.mean() + min(recall, CONTRAST_RECALL)), float(lead)))
    joint.kind_offset[contrast] = best[1]


def line_of(logits: np.ndarray, truth: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Scale and offset that make the chances of yes come true (Newton); a weak pull keeps the scale near 1."""
    scale, offset = 1.0, 0.0
    total = weights.sum()
    for _ in range(40):
        chance = 1 / (1 + np.exp(-np.clip(scale * logits + offset, -30, 30)))
        error, bend = weights * (chance - truth) / total, weights * chance * (1 - chance) / total
        gradient = np.array([(error * logits).sum() + 0.02 * (scale - 1), error.sum()])
        hessian = np.array([[(bend * logits * logits).sum() + 0.02, (bend * logits).sum()],
                            [(bend * logits).sum(), bend.sum() + 1e-4]])  # fmt: skip
        step = np.clip(np.linalg.solve(hessian, gradient), -1, 1)
        scale, offset = float(np.clip(scale - step[0], 0.2, 3.0)), float(offset - step[1])
    return scale, offset


def even_weights(truth: np.ndarray, source: np.ndarray, caution: float) -> np.ndarray:
    """Yes and no count alike (no a little more), and within each all collections alike."""
    weights = np.zeros(len(truth))
    for value, share in ((1, 1.0), (0, caution)):
        names = [name for name in np.unique(source[truth == value]) if ((source == name) & (truth == value)).sum() >= 5]
        for name in names:
            rows = (source == name) & (truth == value)
            weights[rows] = share / len(names) / rows.sum()
    return weights


def fit_flaws(joint: Joint, camera: dict[str, np.ndarray], real: HeldOut) -> None:
    """On real pictures where they are labelled, and on the camera's; each collection counts alike."""
    logits = np.concatenate([answers(joint, part)["flaws"] for part in (real.features, camera["features"])])
    truth = np.concatenate([real.column("flaws"), camera["flaws"]])
    source = np.concatenate([real.column("collection"), np.full(len(camera["flaws"]), "camera")])
    for place in range(len(FLAWS)):
        known = truth[:, place] >= 0
        weights = even_weights(truth[known, place], source[known], CAUTION)
        scale, offset = line_of(logits[known, place], truth[known, place], weights)
        joint.flaw_scale[place], joint.flaw_offset[place] = scale, offset


def fit_sorts(joint: Joint, real: HeldOut) -> None:
    found = answers(joint, real.features)
    rows = real.of("sort", "screens")
    sort = real.column("sort")[rows]
    losses = [-log_chances(found["sorts"][rows] * scale)[np.arange(len(sort)), sort].mean() for scale in SCALES]
    joint.sort_scale.fill_(float(SCALES[int(np.argmin(losses))]))
    rows = real.of("generated")
    truth = real.column("generated")[rows]
    scale, offset = line_of(found["generated"][rows], truth, np.ones(len(truth)))
    joint.generated_scale.fill_(scale)
    joint.generated_offset.fill_(offset)


def cell_logits(joint: Joint, real: HeldOut, row: int) -> np.ndarray:
    cells = real.cells[row].reshape(-1, STATISTICS)
    content = np.broadcast_to(real.features[row, STATISTICS:], (len(cells), real.features.shape[1] - STATISTICS))
    return answers(joint, np.concatenate([cells, content], axis=1))["in_focus"]


def fit_focus(joint: Joint, real: HeldOut) -> None:
    logits = np.concatenate([cell_logits(joint, real, row) for row in real.cells])
    truth = np.concatenate([real.focus[row].ravel() for row in real.cells])
    scale, offset = line_of(logits, truth, np.ones(len(truth)))
    joint.focus_scale.fill_(scale)
    joint.focus_offset.fill_(offset)


def fit_presence(
    joint: Joint,
    chains: dict[str, np.ndarray],
    rated: dict[str, np.ndarray],
    camera: dict[str, np.ndarray],
    real: HeldOut,
) -> None:
    """Where yes begins: flaws told best on all sources alike, and clean photographs nearly always left alone."""
    clean, _ = untouched(chains, rated, real)
    logits = np.concatenate([answers(joint, part)["flaws"] for part in (real.features, camera["features"])])
    truth = np.concatenate([real.column("flaws"), camera["flaws"]])
    source = np.concatenate([real.column("collection"), np.full(len(camera["flaws"]), "camera")])
    of_clean = answers(joint, clean)
    for place in range(len(FLAWS)):
        known = truth[:, place] >= 0
        bound = beginning(logits[known, place], truth[known, place], source[known])
        if FLAW_CATEGORY[FLAWS[place]] != "Blurs":  # these are held back by their category: see ``fit_findings``
            bound = max(bound, float(np.quantile(of_clean["flaws"][:, place], 1 - FALSE_FLAW)))
        joint.flaw_offset[place] -= bound


def fit_findings(
    joint: Joint,
    chains: dict[str, np.ndarray],
    rated: dict[str, np.ndarray],
    camera: dict[str, np.ndarray],
    real: HeldOut,
) -> None:
    """How severities and flaws together tell that a category is there, and where a finding begins."""
    clean, origins = untouched(chains, rated, real)
    features = [clean, chains["features"], camera["features"], real.features]
    truth = np.concatenate([
        np.zeros((len(clean), len(CATEGORY_INDEX))), seen_in_chains(chains), seen_by_camera(camera["categories"]),
        seen_in_real(real.column("flaws")),
    ])  # fmt: skip
    names = [np.full(len(clean), "clean"), np.full(len(chains["row"]), "chains"),
             np.full(len(camera["flaws"]), "camera"), real.column("collection")]  # fmt: skip
    source = np.concatenate(names)
    with torch.no_grad():
        found = {key: torch.from_numpy(value) for key, value in answers(joint, np.concatenate(features)).items()}
        by_severity, by_flaw = (part.cpu().numpy() for part in joint.cpu().signs(found))
    for place in range(len(CATEGORY_INDEX)):
        of_clean = by_severity[: len(clean), place]
        bound = max(
            float(np.quantile(of_clean, 1 - FALSE_CATEGORY)),
            *(float(np.quantile(of_clean[origins == name], 1 - FALSE_ANYWHERE)) for name in np.unique(origins)),
        )
        joint.presence_offset[place] = min(0.0, -bound)
        if not joint.speaks[:, place].any():
            continue
        scales, offset = np.array([0.0, 1.0]), 0.0  # a flaw with a clear beginning of its own
        if place == CATEGORY_INDEX["Blurs"]:
            # Shallow depth of field is on many good photographs: it takes both to tell it from a fault.
            known = truth[:, place] >= 0
            weights = even_weights(truth[known, place], source[known], BLUR_CAUTION)
            columns = np.stack([by_severity[known, place], by_flaw[known, place]], axis=1)
            scales, offset = plane_of(columns, truth[known, place], weights)
            of_both = by_severity[: len(clean), place] * scales[0] + by_flaw[: len(clean), place] * scales[1]
            offset = min(offset, -float(np.quantile(of_both, 1 - FALSE_BLUR)))
        joint.both_severity[place], joint.both_flaw[place] = float(scales[0]), float(scales[1])
        joint.both_offset[place] = offset


def seen_in_chains(chains: dict[str, np.ndarray]) -> np.ndarray:
    """Rows × categories: 1 for visible damage of the category, -1 for faint damage and for all else on the picture."""
    changed, cells, opinions = opinions_of(chains)
    found = np.full((len(changed), len(CATEGORY_INDEX)), -1.0)
    for row, (kind, _), opinion in zip(np.flatnonzero(changed), cells, opinions, strict=True):
        if opinion < CLEARLY_SEEN:
            found[row, CATEGORY_INDEX[kind.category]] = 1
    return found


def seen_by_camera(opinions: np.ndarray) -> np.ndarray:
    return np.where(
        np.isnan(opinions), -1.0, np.where(opinions < CLEARLY_SEEN, 1.0, np.where(opinions > 4.5, 0.0, -1.0))
    )


def seen_in_real(flaws: np.ndarray) -> np.ndarray:
    found = np.full((len(flaws), len(CATEGORY_INDEX)), -1.0)
    for place, flaw in enumerate(FLAWS):
        found[flaws[:, place] == 1, CATEGORY_INDEX[FLAW_CATEGORY[flaw]]] = 1
    return found


def plane_of(columns: np.ndarray, truth: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Logistic regression with weights that cannot be negative, and a weak pull towards small ones."""
    values, total = np.zeros(columns.shape[1] + 1), weights.sum()
    inputs = np.column_stack([columns, np.ones(len(columns))])
    values[0] = 0.5
    pull = np.array([0.005] * columns.shape[1] + [0.0])
    for _ in range(200):
        chance = 1 / (1 + np.exp(-np.clip(inputs @ values, -30, 30)))
        gradient = inputs.T @ (weights * (chance - truth)) / total + pull * values
        hessian = (inputs * (weights * chance * (1 - chance) / total)[:, None]).T @ inputs + np.diag(pull + 1e-4)
        values = values - np.clip(np.linalg.solve(hessian, gradient), -0.5, 0.5)
        values[:-1] = values[:-1].clip(0, 3)
    return values[:-1], float(values[-1])


def untouched(
    chains: dict[str, np.ndarray], rated: dict[str, np.ndarray], real: HeldOut
) -> tuple[np.ndarray, np.ndarray]:
    """Validation photographs that nobody found fault with, of every collection that has some; and whence."""
    still = real.of("motion") & (real.column("value") == "0")
    liked = real.of("ordinary") & (real.column("flaws") == 0).all(axis=1)
    parts = {
        "chains": chains["features"][chains["row"] < 0], "photos": real.features[real.of("photos")],
        "still": real.features[still], "liked": real.features[liked],
        "rated": rated["features"][rated["rating"] > LIKED],
    }  # fmt: skip
    origins = np.concatenate([np.full(len(part), name) for name, part in parts.items()])
    return np.concatenate(list(parts.values())).astype(np.float32), origins


def beginning(logits: np.ndarray, truth: np.ndarray, source: np.ndarray) -> float:
    """The bound with the best mean accuracy over all sources, those with the flaw as much as those without."""

    def worth(bound: float) -> float:
        total = 0.0
        for value in (1, 0):
            right, weights = [], []
            for name in np.unique(source[truth == value]):
                rows = (source == name) & (truth == value)
                if rows.sum() >= 5:
                    right.append(float(((logits[rows] > bound) == (value == 1)).mean()))
                    weights.append(CAMERA_WEIGHT if name == "camera" else 1.0)
            total += float(np.average(right, weights=weights))
        return total

    bounds = np.linspace(-3, 3, 121)
    worths = np.array([worth(float(bound)) for bound in bounds])
    # Of a level stretch the middle, which carries over best.
    return float(np.median(bounds[worths >= worths.max() - 0.005]))


@torch.no_grad()
def agreed(joint: Joint, features: np.ndarray) -> dict[str, np.ndarray]:
    """As ``answers``, with the chances as they are shipped."""
    found = {name: torch.from_numpy(value) for name, value in answers(joint, features).items()}
    own = {name: value.cpu().numpy() for name, value in joint.cpu().agreed(found).items()}
    return {name: value.numpy() for name, value in found.items()} | own


def best_severity(logits: np.ndarray, wanted: np.ndarray) -> tuple[float, float]:
    best = (np.inf, 1.0, 0.0)
    for scale in np.geomspace(0.5, 1.6, 12):
        for offset in ABSENCE_OFFSETS:
            moved = logits * scale
            moved[..., 0] += offset
            loss = -float(np.take_along_axis(log_chances(moved), wanted[..., None], -1).mean())
            best = min(best, (loss, float(scale), float(offset)))
    return best[1], best[2]


def values_of(joint: Joint) -> dict[str, Any]:
    """All fitted numbers by name."""
    names = ("spread_scale", "spread_floor", "severity_scale", "absence_offset", "kind_scale", "kind_offset",
             "gate_offset",
             "damage_share", "opinion_line", "damage_curve", "severity_share", "opinion_knots", "opinion_slopes",
             "opinion_start", "flaw_scale", "flaw_offset", "presence_scale", "presence_offset", "both_severity",
             "both_flaw", "both_offset", "generated_scale",
             "generated_offset", "focus_scale", "focus_offset", "sort_scale")  # fmt: skip
    return {name: [round(float(value), 5) for value in getattr(joint, name)] for name in names}


def main() -> None:
    from training.embedded import held_out
    from training.embedded.export import load
    from training.embedded.train import save

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, nargs="+", required=True)
    parser.add_argument("--features", type=Path, nargs="+", required=True)
    parser.add_argument("--seen", type=Path, nargs="+", required=True, help="what see.py kept of real pictures")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    model = load(sorted(arguments.checkpoint))
    stored = np.load(io.BytesIO(b"".join(file.read_bytes() for file in sorted(arguments.features))))
    part = lambda name: {key.split("/", 1)[1]: stored[key] for key in stored.files if key.startswith(name + "/")}  # noqa: E731
    real = held_out.load(arguments.seen, arguments.data)["validation"]
    found = fit(model.joint, part("chains_validation"), part("rated_validation"), part("camera"), real)
    print(json.dumps(found))
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "calibration.json").write_text(json.dumps(found, indent=1) + "\n")
    save(model, arguments.out)


if __name__ == "__main__":
    main()
