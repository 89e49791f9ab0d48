"""Changes that leave an opinion as it is and hide where a picture comes from.

Both sources of training pictures have their own size, shape and file history. A network that may use these learns the
source instead of the damage, so every step treats pictures of both sources alike: the same resizing and squeezing, the
same mild re-encoding.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

SCALES = (0.75, 1.4)
"""Pixels of the stored picture per pixel of the window: below one enlarges, above one reduces."""
SQUEEZE = 1.2
RESIZED_SHARE, REENCODED_SHARE = 0.45, 0.3
QUALITIES = (78, 97)
NARROWEST = 0.62
"""The least share of a side that a shifted whole view keeps."""

LUMINANCE = (
    (16, 11, 10, 16, 24, 40, 51, 61), (12, 12, 14, 19, 26, 58, 60, 55), (14, 13, 16, 24, 40, 57, 69, 56),
    (14, 17, 22, 29, 51, 87, 80, 62), (18, 22, 37, 56, 68, 109, 103, 77), (24, 35, 55, 64, 81, 104, 113, 92),
    (49, 64, 78, 87, 103, 121, 120, 101), (72, 92, 95, 98, 112, 100, 103, 99),
)  # fmt: skip
CHROMINANCE = (
    (17, 18, 24, 47), (18, 21, 26, 66), (24, 26, 56, 99), (47, 66, 99, 99),
)  # fmt: skip
"""The rest of the table is 99."""


def window_of(size: tuple[int, int], picture: tuple[int, int]) -> tuple[int, int]:
    """Height and width of the window to cut, before it is brought to ``size``; often ``size`` itself."""
    if float(torch.rand(())) > RESIZED_SHARE:
        return size
    low, high = map(math.log, SCALES)
    scale = math.exp(low + (high - low) * float(torch.rand(())))
    squeeze = SQUEEZE ** (2 * float(torch.rand(())) - 1)
    wanted = (size[0] * scale * squeeze, size[1] * scale / squeeze)
    height, width = (min(round(side), room) for side, room in zip(wanted, picture, strict=True))
    return height, width


def crops(pictures: Tensor, rows: Tensor, size: tuple[int, int], flip: Tensor) -> Tensor:
    """Windows at random places, some mirrored, as N×3×H×W in 0..1."""
    device = pictures.device
    count, (height, width) = len(rows), size
    top = torch.randint(pictures.shape[1] - height + 1, (count, 1), device=device)
    left = torch.randint(pictures.shape[2] - width + 1, (count, 1), device=device)
    y = top + torch.arange(height, device=device)
    x = left + torch.arange(width, device=device)
    x = torch.where(flip[:, None], x.flip(1), x)
    return pictures[rows[:, None, None], y[:, :, None], x[:, None, :]].permute(0, 3, 1, 2).float() / 255


def resized(pictures: Tensor, size: tuple[int, int]) -> Tensor:
    if tuple(pictures.shape[2:]) == size:
        return pictures
    return F.interpolate(pictures, size, mode="bicubic", antialias=True, align_corners=False).clamp(0, 1)


def reencoded(pictures: Tensor) -> Tensor:
    """Some of the pictures (sides multiples of 8) with the rounding of a JPEG file of good quality."""
    chosen = torch.rand(len(pictures), device=pictures.device) < REENCODED_SHARE
    if not bool(chosen.any()):
        return pictures
    part = pictures[chosen]
    low, high = QUALITIES
    quality = low + (high - low) * torch.rand(len(part), device=part.device)
    result = pictures.clone()
    result[chosen] = jpeg_rounding(part, quality)
    return result


def jpeg_rounding(pictures: Tensor, quality: Tensor) -> Tensor:
    """N×3×H×W in 0..1 through the transform and the quantisation of baseline JPEG, without subsampling."""
    device = pictures.device
    forth = torch.tensor(
        [[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]], device=device
    )
    place = torch.arange(8, device=device, dtype=torch.float32)
    dct = torch.cos((2 * place[None] + 1) * place[:, None] * math.pi / 16) * 0.5
    dct[0] /= math.sqrt(2)
    chroma = torch.full((8, 8), 99.0, device=device)
    chroma[:4, :4] = torch.tensor(CHROMINANCE, dtype=torch.float32, device=device)
    luma = torch.tensor(LUMINANCE, dtype=torch.float32, device=device)
    factor = (torch.where(quality < 50, 5000 / quality, 200 - 2 * quality) / 100).view(-1, 1, 1, 1)
    table = (torch.stack([luma, chroma, chroma]) * factor).round().clamp(1, 255)[:, :, None, None]
    count, _, height, width = pictures.shape
    planes = torch.einsum("ij,njhw->nihw", forth, pictures * 255)
    planes[:, 0] -= 128
    blocks = planes.view(count, 3, height // 8, 8, width // 8, 8).permute(0, 1, 2, 4, 3, 5)
    waves = dct @ blocks @ dct.T
    waves = (waves / table).round() * table
    planes = (dct.T @ waves @ dct).permute(0, 1, 2, 4, 3, 5).reshape(count, 3, height, width)
    planes[:, 0] += 128
    return (torch.einsum("ij,njhw->nihw", torch.linalg.inv(forth), planes) / 255).clamp(0, 1)


def shifted_views(views: Tensor, rows: Tensor, side: int, flip: Tensor) -> Tensor:
    """A third of the views whole, the rest a window of them whose shape differs: squeezing must not tell the source."""
    stored = views.shape[1]
    third = len(rows) // 3
    parts = []
    for place, chosen in enumerate((slice(0, third), slice(third, 2 * third), slice(2 * third, None))):
        least = round(stored * NARROWEST)
        height, width = (stored, stored) if place == 0 else torch.randint(least, stored + 1, (2,)).tolist()
        cut = crops(views, rows[chosen], (height, width), flip[chosen])
        parts.append(F.interpolate(cut, (side, side), mode="bilinear", antialias=True))
    return torch.cat(parts)
