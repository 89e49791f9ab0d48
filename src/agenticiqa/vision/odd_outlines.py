"""How a place of a picture ends, and whether the picture has others like it: made softness against smooth things.

Measured in cells of 16 pixels and tiles of 64, of places that :mod:`agenticiqa.vision.odd_places` proposes.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from agenticiqa.vision.network import Floats

RADII, TURNS, BESIDE = (6.0, 7.5, 9.5, 12.0, 15.0, 19.0), 16, 2.0
"""Cells from the middle of a place to its outline, points of the outline, and cells from it to either side."""


def outline(maps: Floats, y: int, x: int) -> list[float]:
    """How a place ends: of the round outline near it at which fine detail begins all around, what lies on both sides.

    Where something was blurred, detail begins everywhere along it, while light and coarse detail go on; a smooth thing
    has another light than what is behind it, or ends gradually.
    """
    shift = np.arange(-8, 9, 4)
    middles = np.stack(np.meshgrid(y + shift, x + shift, indexing="ij"), axis=-1).reshape(-1, 1, 1, 2)
    turns = np.arange(TURNS) * 2 * np.pi / TURNS
    ways = np.stack([np.sin(turns), np.cos(turns)], axis=-1)
    shapes = np.array([(radius * tall, radius) for tall in (1.0, 1.3) for radius in RADII])

    def at(middle: Any, shape: Any, beyond: float, share: float = 1.0) -> Any:
        spots = middle + ways * (shape * share + beyond)
        rows = np.rint(spots[..., 0]).astype(int).clip(0, maps.shape[1] - 1)
        columns = np.rint(spots[..., 1]).astype(int).clip(0, maps.shape[2] - 1)
        return rows, columns

    around = shapes[None, :, None, :]
    out, inner = at(middles, around, BESIDE), at(middles, around, -BESIDE)
    rises = np.sort(maps[0][out[0], out[1]] - maps[0][inner[0], inner[1]], axis=-1)
    fit = rises[..., 1] + rises[..., 4] + rises[..., 8]
    number, shape = np.unravel_index(int(fit.argmax()), fit.shape)
    middle, own = middles[number, 0], shapes[shape]

    def seen(beyond: float, share: float = 1.0) -> Floats:
        rows, columns = at(middle, own, beyond, share)
        return np.asarray(maps[:, rows, columns])

    outside, inside, farther = seen(BESIDE), seen(-BESIDE), seen(3 * BESIDE)
    within = np.concatenate([seen(0.0, share) for share in (0.0, 0.35, 0.65)], axis=1)
    steps = np.sort(outside - inside, axis=1)
    return [
        *(float(steps[of][rank]) for of in (0, 1, 2) for rank in (1, 4, 8)),
        *(float(np.median(outside[of]) - within[of].max()) for of in (0, 1, 2)),
        *(float(within[of].std()) for of in (0, 1)),
        *(float(np.median(farther[of]) - np.median(outside[of])) for of in (0, 1)),
        float(np.log(np.median(np.abs(outside[3] - inside[3])) + 1)),
        float(np.log(np.abs(outside[3].mean() - within[3].mean()) + 1)),
        float(np.log(outside[3].std() + 1)),
        float(own[1]) / 10,
    ]


def pairs(values: Floats) -> Floats:
    """The mean of each tile with those right of it and below."""
    return np.asarray(cv2.blur(values, (2, 2), anchor=(0, 0), borderType=cv2.BORDER_REPLICATE), np.float32)


def unlike(maps: Floats, row: int, column: int, far: float) -> list[float]:
    """How far the picture has such places elsewhere: as little fine detail, with as much coarse detail, or as light."""
    rows, columns = np.ogrid[: maps.shape[1], : maps.shape[2]]
    elsewhere = np.hypot(rows - row, columns - column) > far
    if not elsewhere.any():
        elsewhere[:] = True
    finest, fine, coarse, coarsest, grain, light = maps[:, elsewhere]
    own = maps[:, row, column]
    out = []
    for of_coarse, level in ((coarse, own[2]), (coarsest, own[3])):
        alike = of_coarse >= level - 0.3
        out.append(float(np.log(((fine <= own[1] + 0.1) & alike).mean() + 1e-4)))
        out.append(float(np.min(fine[alike], initial=5.0)) - float(own[1]))
        out.append(float(np.min(finest[alike], initial=5.0)) - float(own[0]))
    alike = np.abs(light - own[5]) < 12
    if alike.sum() < 20:
        alike[:] = True
    low = np.quantile(grain[alike], [0.02, 0.2])
    return [*out, *(float(each) - float(own[4]) for each in low)]
