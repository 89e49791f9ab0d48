"""What the network thought of pictures when training began."""

from __future__ import annotations

import copy

import torch
from torch import Tensor
from training.embedded import losses
from training.embedded.network import Assessor


class Anchor:
    """Keeps opinions of pictures that nobody rated near those of the start.

    Opinions are few: going on, the network would fit these ever closer and drift on all other pictures. What the start
    says of made, chained and labelled pictures keeps the drift small.
    """

    def __init__(self, model: Assessor, weight: float):
        self.weight = weight
        self.model = copy.deepcopy(model).eval().requires_grad_(False)

    @torch.no_grad()
    def opinions(self, pictures: Tensor, views: Tensor) -> dict[str, Tensor]:
        cells, content = self.model.seen(pictures, views)
        found = self.model.joint(cells.mean((2, 3)), content)
        return {"opinion": found["plain_opinion"], "ordinary": found["ordinary"]}

    def losses(self, found: dict[str, Tensor], pictures: Tensor, views: Tensor, name: str) -> dict[str, Tensor]:
        if not self.weight:
            return {}
        before = self.opinions(pictures, views)
        return {f"{name}_{head}": self.weight * losses.closeness(found[head], before[head]) for head in before}
