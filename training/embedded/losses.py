"""What training minimises."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor
from training.embedded.kind_flaws import table
from training.embedded.kinds import CATEGORY_INDEX, KIND_INDEX, KINDS, SEVERITY_BOUNDS

Found = dict[str, Tensor]


def agreement(found: Tensor, wanted: Tensor) -> Tensor:
    """1 minus Pearson's correlation."""
    a, b = found - found.mean(), wanted - wanted.mean()
    return 1 - (a * b).sum() / (a.norm() * b.norm() + 1e-6)


def closeness(found: Tensor, wanted: Tensor, weight: Tensor | None = None) -> Tensor:
    loss = F.smooth_l1_loss(found, wanted, beta=0.4, reduction="none")
    return loss.mean() if weight is None else (loss * weight).sum() / weight.sum().clamp_min(1e-6)


def surprise(found: Tensor, spread: Tensor, wanted: Tensor) -> Tensor:
    """Negative log-likelihood of a logistic distribution about the (fixed) score: teaches the spread."""
    z = (wanted - found.detach()) / spread
    return (spread.log() + z.abs() + 2 * F.softplus(-z.abs())).mean()


def order(found: Tensor, wanted: Tensor) -> Tensor:
    """Neighbouring rows 2i and 2i+1 are one picture at two levels: the better must score better, by half as much."""
    gap = (wanted[0::2] - wanted[1::2]).detach()
    have = (found[0::2] - found[1::2]) * gap.sign()
    return F.relu(0.6 * gap.abs() - have).mul((gap.abs() > 0.03).to(have)).mean()


def severity_targets(opinions: Tensor) -> Tensor:
    """Opinion per category to the severity's number, none = 0."""
    bounds = torch.tensor(SEVERITY_BOUNDS, device=opinions.device)
    return (opinions[..., None] < bounds).sum(-1)


def damage_losses(found: Found, batch: Found) -> Found:
    """Rows of made damage."""
    certain = torch.where(batch["rated"], 0.3, 1.0)
    kind, known = batch["kind"], batch["kind"] >= 0
    severity = severity_targets(batch["categories"])
    per_category = F.cross_entropy(found["severities"].flatten(0, 1), severity.flatten(), reduction="none")
    # Most categories are absent from most pictures; what is present counts more.
    weight = torch.where(severity.flatten() > 0, 2.0, 0.5)
    visible = (batch["overall"] < 4.2).float()
    rare = torch.ones(len(KINDS), device=kind.device)
    rare[KIND_INDEX["contrast_change"]] = 2.0  # one kind against six of brightness: it would lose every doubtful case
    return {
        "damage": closeness(found["damage"], batch["damage"], certain),
        "damage_plcc": 0.3 * agreement(found["damage"], batch["damage"]),
        "damage_order": 1.0 * order(found["damage"], batch["damage"]),
        "damage_spread": 0.1 * surprise(found["damage"], found["spread_damage"], batch["damage"]),
        "score": 0.7 * closeness(found["score"], batch["overall"]),
        "score_order": 0.5 * order(found["score"], batch["overall"]),
        "kind": 0.35 * F.cross_entropy(found["kinds"][known], kind[known], rare, label_smoothing=0.02),
        "severity": 0.5 * (per_category * weight).sum() / weight.sum(),
        "trust": -0.1 * (found["trust"].clamp_min(1e-4).log() * visible).sum() / visible.sum().clamp_min(1),
    }


def opinion_losses(found: Found, rating: Tensor) -> Found:
    """Rows of photographs as taken, with people's opinion."""
    return {
        "opinion": closeness(found["opinion"], rating),
        "opinion_plcc": 0.7 * agreement(found["opinion"], rating),
        "opinion_spread": 0.1 * surprise(found["opinion"], found["spread_opinion"], rating),
        "opinion_score": 0.7 * closeness(found["score"], rating),
        "opinion_score_plcc": 0.3 * agreement(found["score"], rating),
        "opinion_trust": -0.1 * (1 - found["trust"]).clamp_min(1e-4).log().mean(),
    }


def window_losses(found: Found, batch: Found) -> Found:
    """Small windows of the same pictures, where the damage is everywhere."""
    weight = (~batch["local"]).float()
    severity = severity_targets(batch["categories"])
    per_category = F.cross_entropy(found["severities"].flatten(0, 1), severity.flatten(), reduction="none")
    emphasis = torch.where(severity > 0, 2.0, 0.5) * weight[:, None]
    return {
        "window_damage": 0.3 * closeness(found["damage"], batch["damage"], weight),
        "window_score": 0.2 * closeness(found["score"], batch["overall"], weight),
        "window_severity": 0.15 * (per_category * emphasis.flatten()).sum() / emphasis.sum().clamp_min(1),
    }


# --- flaws as they happen -------------------------------------------------------------------------------------


def told(found: Tensor, wanted: Tensor, weight: float = 1.0) -> Tensor:
    """Cross-entropy of yes or no where the answer (1 or 0) is known."""
    there = wanted >= 0
    loss = F.binary_cross_entropy_with_logits(found, wanted.clamp_min(0), reduction="none")
    return weight * (loss * there).sum() / there.sum().clamp_min(1)


def made_flaws(batch: Found) -> Tensor:
    """What is known of the flaws of made damage; -1 elsewhere. Faint damage is neither there nor not."""
    device = batch["kind"].device
    wanted = torch.from_numpy(table()).to(device)[batch["kind"].clamp_min(0)]
    categories = torch.tensor([CATEGORY_INDEX.get(str(kind.category), -1) for kind in KINDS], device=device)
    own = categories[batch["kind"].clamp_min(0)]
    opinion = batch["categories"].gather(1, own.clamp_min(0)[:, None])
    faint = (opinion > 3.9) & (own[:, None] >= 0)
    wanted = torch.where((wanted == 1) & faint, -1.0, wanted)
    unknown = (batch["kind"] < 0) | batch["rated"]
    return torch.where(unknown[:, None], -1.0, wanted)


def some_flaw(flaws: Tensor, rating: Tensor, poor: float = 2.2, fine: float = 4.1) -> Found:
    """People who call a photograph bad saw something; of one that they like, nothing is to be said."""
    none = F.logsigmoid(-flaws).sum(1)
    bad, liked = (rating < poor).float(), (rating > fine).float()
    missed = -torch.log1p(-none.exp().clamp_max(1 - 1e-4))
    quiet = F.softplus(flaws).mean(1)
    return {
        "bad_has_flaw": 0.1 * (missed * bad).sum() / bad.sum().clamp_min(1),
        "liked_has_none": 0.3 * (quiet * liked).sum() / liked.sum().clamp_min(1),
    }


def nothing_found(severities: Tensor, rating: Tensor, fine: float = 4.1) -> Tensor:
    """A photograph that people like has no damage of any category."""
    liked = (rating > fine).float()
    found = -severities.log_softmax(-1)[..., 0].mean(1)
    return 0.15 * (found * liked).sum() / liked.sum().clamp_min(1)


def chain_losses(found: Found, amounts: Tensor, flaws: Tensor, categories: Tensor) -> Found:
    severity = severity_targets(categories)
    weight = torch.where(severity > 0, 2.0, 0.5) * (~categories.isnan())
    per_category = F.cross_entropy(found["severities"].flatten(0, 1), severity.flatten(), reduction="none")
    return {
        "chain_amounts": 1.2 * F.smooth_l1_loss(found["amounts"], amounts, beta=0.3),
        "chain_flaws": told(found["flaws"], flaws, 0.8),
        "chain_severity": 0.3 * (per_category * weight.flatten()).sum() / weight.sum().clamp_min(1),
    }


def real_losses(found: Found, batch: Found) -> Found:
    """Pictures with flaws that happened, of known sorts, and ordinary photographs with opinions."""
    rated = ~batch["opinion"].isnan()
    opinion = batch["opinion"][rated]
    parts = {
        "real_flaws": told(found["flaws"], batch["flaws"], 1.0),
        "generated": told(found["generated"], batch["generated"], 0.5),
        "sort": 0.5 * F.cross_entropy(found["sorts"], batch["sort"], ignore_index=-1, label_smoothing=0.03),
        "ordinary": 0.5 * closeness(found["ordinary"][rated], opinion),
        "ordinary_plcc": 0.7 * agreement(found["ordinary"][rated], opinion),
        "ordinary_opinion_plcc": 0.3 * agreement(found["opinion"][rated], opinion),
        "ordinary_opinion": 0.15 * closeness(found["opinion"][rated], opinion),
        "ordinary_spread": 0.1 * surprise(found["opinion"][rated], found["spread_opinion"][rated], opinion),
        "ordinary_trust": -0.05 * (1 - found["trust"]).clamp_min(1e-4).log().mean(),
    }
    parts["ordinary_nothing"] = nothing_found(found["severities"][rated], opinion)
    return parts | {f"ordinary_{name}": value for name, value in some_flaw(found["flaws"][rated], opinion).items()}


def focus_loss(found: Tensor, wanted: Tensor) -> Tensor:
    """Cells whose share in focus is known."""
    there = wanted >= 0
    loss = F.binary_cross_entropy_with_logits(found, wanted.clamp(0, 1), reduction="none")
    return 0.6 * (loss * there).sum() / there.sum().clamp_min(1)
