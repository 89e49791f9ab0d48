"""What training minimises."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor
from training.embedded.kinds import SEVERITY_BOUNDS

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
    return {
        "damage": closeness(found["damage"], batch["damage"], certain),
        "damage_plcc": 0.3 * agreement(found["damage"], batch["damage"]),
        "damage_order": 1.0 * order(found["damage"], batch["damage"]),
        "damage_spread": 0.1 * surprise(found["damage"], found["spread_damage"], batch["damage"]),
        "score": 0.7 * closeness(found["score"], batch["overall"]),
        "score_order": 0.5 * order(found["score"], batch["overall"]),
        "kind": 0.35 * F.cross_entropy(found["kinds"][known], kind[known], label_smoothing=0.02),
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
