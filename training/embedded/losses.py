"""What training minimises. Both heads learn from both sources, on one scale; each has its own as the main one."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor
from training.embedded.kinds import SEVERITY_BOUNDS

Found = dict[str, Tensor]

CLEAN = 4.0
"""A photograph as taken with an opinion from here up is taken to be free of damage."""
VISIBLE = 4.2


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


def severity_loss(found: Tensor, batch: Found, weight: Tensor | None = None) -> Tensor:
    """Most categories are absent from most pictures, so what is present counts more.

    Absence is certain only on photographs that were good to begin with, and matters most where nothing was done.
    """
    severity = severity_targets(batch["categories"])
    loss = F.cross_entropy(found.flatten(0, 1), severity.flatten(), reduction="none").view_as(severity)
    untouched = (severity.sum(1, keepdim=True) == 0).float()
    absent = (0.5 + 0.7 * untouched) * (batch["rating"] >= CLEAN).float()[:, None]
    emphasis = torch.where(severity > 0, torch.full_like(absent, 2.0), absent.expand_as(severity))
    if weight is not None:
        emphasis = emphasis * weight[:, None]
    return (loss * emphasis).sum() / emphasis.sum().clamp_min(1)


def processed_loss(trust: Tensor, processed: Tensor, weight: Tensor) -> Tensor:
    """``trust`` says whether processing damage is to be seen, whatever the source."""
    chance = trust.clamp(1e-4, 1 - 1e-4)
    loss = F.binary_cross_entropy(chance, processed, reduction="none")
    return (loss * weight).sum() / weight.sum().clamp_min(1)


def damage_losses(found: Found, batch: Found) -> Found:
    """Rows of made damage, on pristine photographs and on rated ones."""
    wanted = batch["overall"]
    certain = torch.where(batch["rated"], 0.5, 1.0)
    # What a rated photograph of poor quality had before is not known: its kind is learnt from clear damage alone.
    known = (batch["kind"] >= 0) & ((batch["rating"] >= CLEAN) | (batch["damage"] < 3.4))
    visible, nothing = batch["damage"] < VISIBLE, batch["categories"].amin(1) > 4.5
    kinds = F.cross_entropy(found["kinds"][known], batch["kind"][known], label_smoothing=0.02)
    return {
        "damage": closeness(found["damage"], wanted, certain),
        "damage_plcc": 0.3 * agreement(found["damage"], wanted),
        "damage_order": 1.0 * order(found["damage"], wanted),
        "damage_spread": 0.1 * surprise(found["damage"], found["spread_damage"], wanted),
        "damage_opinion": 0.4 * closeness(found["opinion"], wanted, certain),
        "damage_opinion_plcc": 0.2 * agreement(found["opinion"], wanted),
        "damage_opinion_order": 0.4 * order(found["opinion"], wanted),
        "score": 0.6 * closeness(found["score"], wanted, certain),
        "score_order": 0.6 * order(found["score"], wanted),
        "kind": 0.35 * kinds,
        "severity": 0.5 * severity_loss(found["severities"], batch),
        "trust": 0.06 * processed_loss(found["trust"], visible.float(), (visible | nothing).float()),
    }


def opinion_losses(found: Found, rating: Tensor) -> Found:
    """Rows of photographs as taken, with people's opinion."""
    clean = (rating >= CLEAN).float()
    absent = -found["severities"].log_softmax(-1)[..., 0].mean(1)
    return {
        "opinion": closeness(found["opinion"], rating),
        "opinion_plcc": 0.7 * agreement(found["opinion"], rating),
        "opinion_spread": 0.1 * surprise(found["opinion"], found["spread_opinion"], rating),
        "opinion_damage": 0.4 * closeness(found["damage"], rating),
        "opinion_damage_plcc": 0.4 * agreement(found["damage"], rating),
        "opinion_score": 0.6 * closeness(found["score"], rating),
        "opinion_score_plcc": 0.3 * agreement(found["score"], rating),
        "opinion_trust": 0.06 * processed_loss(found["trust"], torch.zeros_like(rating), torch.ones_like(rating)),
        "opinion_absence": 0.2 * (absent * clean).sum() / clean.sum().clamp_min(1),
    }


def window_losses(found: Found, batch: Found) -> Found:
    """Small windows of the same pictures, where the damage is everywhere."""
    weight = (~batch["local"]).float()
    return {
        "window_damage": 0.3 * closeness(found["damage"], batch["overall"], weight),
        "window_score": 0.2 * closeness(found["score"], batch["overall"], weight),
        "window_severity": 0.15 * severity_loss(found["severities"], batch, weight),
    }
