"""Scores of tensors in a training loop: as a filter of data, or as a metric with ``update`` and ``compute``."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from agenticiqa.score_fusion import ScoreFusion
from agenticiqa.vision.accelerator import BatchVision, Device, chosen_device, vision_on
from agenticiqa.vision.network import LONGEST, Bytes, Features, prepared
from agenticiqa.vision.picture_facts import facts_of
from agenticiqa.vision.scene import LEAST_SIDE, Scene

if TYPE_CHECKING:
    from torch import Tensor

TOLERANCE = 1e-3
"""How far floats may lie beyond 0 and 1: what resizing by cubics leaves."""


class Rater:
    """Quality from 1 (bad) to 5 (excellent) of pictures that are tensors already.

    Args:
        device: Where the model runs: ``cuda``, ``cpu``, or ``auto`` (a GPU where one can be used).
        at_once: How many pictures go through the model together.

    Pictures that lie on the GPU stay there for the networks; a copy goes to the host for what is counted exactly (is it
    a photograph at all, is it black or burnt out).

    >>> import numpy as np
    >>> noise = np.random.default_rng(0).integers(0, 256, (2, 64, 64, 3), dtype=np.uint8)
    >>> bool((Rater(device="cpu").scores(noise.transpose(0, 3, 1, 2)) < 1.5).all())
    True
    """

    def __init__(self, device: Device = "auto", *, at_once: int = 64) -> None:
        self.device, self.device_reason = chosen_device(device)
        self._vision, self._at_once = vision_on(self.device), at_once
        self._threads = ThreadPoolExecutor(thread_name_prefix="facts")
        self._sum, self._count = 0.0, 0

    def __call__(self, pictures: Tensor) -> Tensor:
        """Scores of N×3×H×W pictures (uint8, or floats from 0 to 1), on the device that they lie on."""
        import torch

        return torch.from_numpy(self.scores(pictures)).to(pictures.device)

    def scores(self, pictures: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The same as an array; ``pictures`` may be one too."""
        fusion = ScoreFusion()
        found = [fusion.fuse_scores([], scene.read_adjusted().level_probabilities) for scene in self.scenes(pictures)]
        return np.array(found, np.float32)

    def scenes(self, pictures: Any) -> list[Scene]:
        """What the model saw of each."""
        if pictures.ndim != 4 or pictures.shape[1] != 3 or min(pictures.shape[2:]) < LEAST_SIDE:
            shape = "×".join(map(str, pictures.shape))
            raise ValueError(f"Pictures are N×3×H×W with sides of at least {LEAST_SIDE}, not {shape}.")
        return [
            scene
            for start in range(0, len(pictures), self._at_once)
            for scene in self._some(pictures[start : start + self._at_once])
        ]

    def _some(self, pictures: Any) -> list[Scene]:
        tensor = hasattr(pictures, "detach")
        rgb = pictures.detach().permute(0, 2, 3, 1) if tensor else pictures.transpose(0, 2, 3, 1)
        rgb = _as_bytes(rgb)
        on_host: Bytes = np.ascontiguousarray(rgb.cpu().numpy() if tensor else rgb)
        facts = list(self._threads.map(facts_of, on_host))
        vision = self._vision
        if tensor and isinstance(vision, BatchVision) and rgb.is_cuda and max(rgb.shape[1:3]) <= LONGEST:
            seen: list[Features] = vision.see_tensor(rgb)
            return Scene.of_seen(vision, list(zip(seen, facts, strict=True)))
        side, cell = None if isinstance(vision, BatchVision) else int(vision.about["view"]), int(vision.about["cell"])
        ready = self._threads.map(lambda each: prepared(each, side, cell), on_host)
        return Scene.of_all(vision, list(zip(ready, facts, strict=True)))

    # --- as a metric: the interface of torchmetrics ---

    def update(self, pictures: Tensor) -> None:
        """Count a batch."""
        found = self.scores(pictures)
        self._sum, self._count = self._sum + float(found.sum()), self._count + len(found)

    def compute(self) -> float:
        """The mean score of all that was counted; not a number where nothing was."""
        return self._sum / self._count if self._count else float("nan")

    def reset(self) -> None:
        self._sum, self._count = 0.0, 0


def _as_bytes(pictures: Any) -> Any:
    """Bytes of pictures that are bytes, or floats from 0 to 1; anything else is refused."""
    kind = str(pictures.dtype).rpartition(".")[2]
    if kind == "uint8":
        return pictures
    if "float" not in kind:
        raise ValueError(f"Pictures are uint8, or floats from 0 to 1, not {kind}.")
    exact = pictures.float() if hasattr(pictures, "detach") else pictures
    # Written so that what is not a number is refused too.
    if not (float(exact.min()) >= -TOLERANCE and float(exact.max()) <= 1 + TOLERANCE):
        raise ValueError("Floats are from 0 to 1; these are not, or some are no numbers.")
    whole = (exact * 255).round().clip(0, 255)
    return whole.byte() if hasattr(whole, "detach") else whole.astype(np.uint8)
