"""Damage as a camera and a network make it, for whole batches on the accelerator.

Light is blurred (all of it or a part, by a lens or by motion), exposed, veiled and balanced; the sensor adds noise; the
camera denoises, renders and sharpens; the picture is reduced and stored as JPEG, once or twice. What is to be learnt
is measured in the finished picture, not read off a level number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor
from training.distortions import DISTORTIONS, UNCHANGED_OPINION
from training.embedded.kinds import CATEGORY_INDEX
from training.embedded.real_flaws import FLAWS

REACH = 20
"""Half the side of the largest blur."""
SMALL_REACH = 6
PLACE = {name: place for place, name in enumerate(FLAWS)}
Curve = tuple[tuple[float, ...], tuple[float, ...]]

# Opinions by amount. Blur and JPEG follow the published protocol; noise, exposure and veil are estimates on its scale.
BLUR: Curve = ((0.0, 0.3, 0.5, 1.0, 2.0, 5.0), (4.6, 4.5, *DISTORTIONS["gaussian_blur"].opinions[1:]))
MOTION: Curve = (
    (0.0, *(amount / math.sqrt(12) for amount in DISTORTIONS["motion_blur"].amounts)),
    (4.6, *DISTORTIONS["motion_blur"].opinions),
)
NOISE: Curve = ((0.0, 0.004, 0.012, 0.03, 0.05, 0.08, 0.12), (4.6, 4.5, 4.2, 3.6, 3.0, 2.5, 2.0))
JPEG: Curve = (
    (*reversed(DISTORTIONS["jpeg"].amounts), 60.0, 80.0),
    (*reversed(DISTORTIONS["jpeg"].opinions), 4.5, 4.6),
)
DARK: Curve = ((0.6, 1.2, 2.0, 3.0, 3.8), (4.1, 3.6, 2.9, 2.2, 1.8))
BRIGHT: Curve = ((0.8, 1.5, 2.2, 3.0), (3.8, 3.0, 2.3, 1.8))
VEIL: Curve = ((0.08, 0.2, 0.4, 0.6), (4.1, 3.6, 2.9, 2.2))


@dataclass
class Chained:
    """Finished pictures (N×3×H×W in 0..1) and what is to be learnt from them."""

    pictures: Tensor
    amounts: Tensor
    flaws: Tensor
    """N×flaws: 1, 0, or -1 where one would rather not say."""
    categories: Tensor
    """N×categories: opinion of each, NaN where unknown."""
    blurred: Tensor
    """N×1×H×W: how much of each place is blurred."""


def interpolated(x: Tensor, curve: Curve) -> Tensor:
    """Straight pieces through the points of a curve, level beyond its ends."""
    places, values = (torch.tensor(part, device=x.device, dtype=torch.float32) for part in curve)
    x = x.clamp(float(places[0]), float(places[-1]))
    right = torch.searchsorted(places, x).clamp(1, len(places) - 1)
    share = (x - places[right - 1]) / (places[right] - places[right - 1])
    return values[right - 1] + share * (values[right] - values[right - 1])


def between(count: int, low: float, high: float, device: str) -> Tensor:
    return torch.rand(count, device=device) * (high - low) + low


def log_between(count: int, low: float, high: float, device: str) -> Tensor:
    return torch.exp(between(count, math.log(low), math.log(high), device))


def some(count: int, share: float, device: str) -> Tensor:
    return (torch.rand(count, device=device) < share).float()


def spread_out(values: Tensor) -> Tensor:
    return values[:, None, None, None]


def grid(reach: int, device: str) -> tuple[Tensor, Tensor]:
    line = torch.arange(-reach, reach + 1, device=device, dtype=torch.float32)
    y, x = torch.meshgrid(line, line, indexing="ij")
    return y, x


def kernels(count: int, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """Discs, Gaussians and paths of motion; their deviation along the longest axis; whether it is motion."""
    y, x = grid(REACH, device)
    way = torch.randint(0, 4, (count,), device=device)
    distance = torch.sqrt(x * x + y * y)[None]
    radius = log_between(count, 0.5, 8.0, device)[:, None, None]
    disc = torch.sigmoid((radius * 1.4 - distance) * 3)
    bell = torch.exp(-(distance**2) / (2 * (radius * 0.7) ** 2))
    length, angle = log_between(count, 2.0, 34.0, device), between(count, 0, math.pi, device)
    along = torch.linspace(-0.5, 0.5, 64, device=device)[None]
    bend = between(count, -1.4, 1.4, device)[:, None] * some(count, 0.5, device)[:, None]
    turned = angle[:, None] + 2 * bend * along
    px, py = (torch.cumsum(part(turned), 1) / 64 * length[:, None] for part in (torch.cos, torch.sin))
    px, py = px - px.mean(1, keepdim=True), py - py.mean(1, keepdim=True)
    near = (x[None, None] - px[:, :, None, None]) ** 2 + (y[None, None] - py[:, :, None, None]) ** 2
    path = torch.exp(-near / (2 * 0.45**2)).sum(1)
    chosen = way[:, None, None]
    kernel = torch.where(chosen == 0, disc, torch.where(chosen == 1, bell, path))
    kernel = kernel / kernel.sum((1, 2), keepdim=True)
    mx, my = (kernel * x).sum((1, 2)), (kernel * y).sum((1, 2))
    dx, dy = x - mx[:, None, None], y - my[:, None, None]
    vx, vy, c = ((kernel * product).sum((1, 2)) for product in (dx * dx, dy * dy, dx * dy))
    longest = (vx + vy) / 2 + torch.sqrt(((vx - vy) / 2) ** 2 + c * c)
    return kernel, torch.sqrt(longest), (way >= 2).float()


def blurred(x: Tensor, kernel: Tensor) -> Tensor:
    """Each picture by its own kernel, through the frequencies: large kernels cost no more than small ones."""
    reach = kernel.shape[-1] // 2
    padded = F.pad(x, (reach, reach, reach, reach), mode="reflect")
    size = padded.shape[-2:]
    placed = torch.zeros(len(kernel), *size, device=x.device)
    placed[:, : kernel.shape[1], : kernel.shape[2]] = kernel
    placed = torch.roll(placed, (-reach, -reach), (1, 2))
    product = torch.fft.rfft2(padded) * torch.fft.rfft2(placed)[:, None]
    result = torch.fft.irfft2(product, s=size)
    return result[..., reach:-reach, reach:-reach].clamp_min(0)


def smooth(x: Tensor, deviation: Tensor) -> Tensor:
    """A Gaussian of each picture's own width, rows and then columns."""
    line = torch.arange(-SMALL_REACH, SMALL_REACH + 1, device=x.device, dtype=torch.float32)
    kernel = torch.exp(-(line**2) / (2 * deviation[:, None] ** 2 + 1e-6))
    kernel = (kernel / kernel.sum(1, keepdim=True)).repeat_interleave(x.shape[1], 0)
    count, channels, height, width = x.shape
    flat = x.reshape(1, count * channels, height, width)
    across = F.conv2d(F.pad(flat, (SMALL_REACH,) * 2 + (0, 0), mode="reflect"), kernel[:, None, None],
                      groups=count * channels)  # fmt: skip
    down = F.conv2d(F.pad(across, (0, 0) + (SMALL_REACH,) * 2, mode="reflect"), kernel[:, None, :, None],
                    groups=count * channels)  # fmt: skip
    return down.reshape(count, channels, height, width)


def places(count: int, size: tuple[int, int], device: str) -> Tensor:
    """Soft blobs, or a soft disc with its outside: where a blur or a veil is."""
    coarse = F.interpolate(torch.randn(count, 1, 3, 4, device=device), size=size, mode="bicubic")
    blobs = torch.sigmoid((coarse - spread_out(between(count, -0.5, 0.5, device))) * 8)
    y, x = (torch.linspace(-1, 1, side, device=device) for side in size)
    away = torch.sqrt(
        (y[None, None, :, None] - spread_out(between(count, -0.5, 0.5, device))) ** 2
        + (x[None, None, None, :] - spread_out(between(count, -0.5, 0.5, device))) ** 2
    )
    round_ = torch.sigmoid((away - spread_out(between(count, 0.3, 0.9, device))) * 10)
    round_ = torch.where(spread_out(some(count, 0.5, device)) > 0, round_, 1 - round_)
    return torch.where(spread_out(some(count, 0.5, device)) > 0, blobs, round_)


# --- JPEG ------------------------------------------------------------------------------------------------------

LUMA = (
    (16, 11, 10, 16, 24, 40, 51, 61), (12, 12, 14, 19, 26, 58, 60, 55), (14, 13, 16, 24, 40, 57, 69, 56),
    (14, 17, 22, 29, 51, 87, 80, 62), (18, 22, 37, 56, 68, 109, 103, 77), (24, 35, 55, 64, 81, 104, 113, 92),
    (49, 64, 78, 87, 103, 121, 120, 101), (72, 92, 95, 98, 112, 100, 103, 99),
)  # fmt: skip
CHROMA_CORNER = ((17, 18, 24, 47), (18, 21, 26, 66), (24, 26, 56, 99), (47, 66, 99, 99))
YCC = ((0.299, 0.587, 0.114), (-0.168736, -0.331264, 0.5), (0.5, -0.418688, -0.081312))


def quantised(plane: Tensor, quality: Tensor, table: Tensor) -> Tensor:
    count, height, width = plane.shape
    cosines = torch.tensor(
        [[math.cos((2 * j + 1) * i * math.pi / 16) * (math.sqrt(1 / 8) if i == 0 else 0.5) for j in range(8)]
         for i in range(8)], device=plane.device)  # fmt: skip
    blocks = plane.reshape(count, height // 8, 8, width // 8, 8).permute(0, 1, 3, 2, 4)
    scale = torch.where(quality < 50, 50 / quality, 2 - quality / 50)[:, None, None, None, None]
    steps = (table * scale).round().clamp(1, 255)
    stored = torch.round((cosines @ (blocks - 128) @ cosines.T) / steps) * steps
    return (cosines.T @ stored @ cosines + 128).permute(0, 1, 3, 2, 4).reshape(count, height, width)


def jpeg(x: Tensor, quality: Tensor) -> Tensor:
    """Stored at each picture's own quality, colours at half resolution; sides are multiples of 16."""
    luma = torch.tensor(LUMA, device=x.device, dtype=torch.float32)
    chroma = torch.full((8, 8), 99.0, device=x.device)
    chroma[:4, :4] = torch.tensor(CHROMA_CORNER, device=x.device, dtype=torch.float32)
    matrix = torch.tensor(YCC, device=x.device)
    ycc = torch.einsum("ij,njhw->nihw", matrix, x * 255)
    first = quantised(ycc[:, 0], quality, luma)
    colours = F.avg_pool2d(ycc[:, 1:], 2)
    colours = torch.stack([quantised(colours[:, place] + 128, quality, chroma) - 128 for place in (0, 1)], 1)
    colours = F.interpolate(colours, scale_factor=2, mode="bilinear")
    whole = torch.cat([first[:, None], colours], 1)
    return (torch.einsum("ij,njhw->nihw", torch.linalg.inv(matrix), whole) / 255).clamp(0, 1)


# --- the chain -------------------------------------------------------------------------------------------------


def denoised(x: Tensor, share: Tensor, width: Tensor) -> Tensor:
    """Flat places are smoothed, busy ones kept, as cameras do it."""
    wide = smooth(x, width)
    busy = smooth((x - wide).abs().mean(1, keepdim=True), width * 1.5)
    keep = torch.sigmoid((busy - 0.03) * 120)
    return x + share * (1 - keep) * (wide - x)


def grain(x: Tensor, deviation: Tensor, device: str) -> Tensor:
    """Noise of a sensor after demosaicing: correlated or not, coloured or grey, stronger with more light."""
    count = len(x)
    noise = torch.randn_like(x)
    wide = smooth(noise, between(count, 0.45, 1.6, device))
    wide = wide / wide.std((1, 2, 3), keepdim=True)
    noise = torch.where(spread_out(some(count, 0.6, device)) > 0, wide, noise)
    grey = noise.mean(1, keepdim=True) * math.sqrt(3)
    share = spread_out(between(count, 0.0, 1.0, device))
    noise = share * noise + (1 - share) * grey
    strength = spread_out(deviation)
    return noise * torch.sqrt(strength**2 * x.clamp_min(0) * 0.5 + (strength * 0.35) ** 2)


@torch.no_grad()
def chain(clean: Tensor, size: tuple[int, int]) -> Chained:
    """``clean`` N×3×H×W in 0..1; ``size`` of the finished pictures, at most that of ``clean``."""
    count, device = len(clean), str(clean.device)
    ratio = clean.shape[3] / size[1]
    touched = some(count, 0.9, device)
    light = clean**2.2
    # Blur
    kernel, deviation, motion = kernels(count, device)
    on, part = some(count, 0.55, device) * touched, some(count, 0.4, device)
    mask = torch.where(spread_out(part) > 0, places(count, clean.shape[2:], device), torch.ones_like(clean[:, :1]))
    mask = mask * spread_out(on)
    light = light + mask * (blurred(light, kernel) - light)
    area = mask.mean((1, 2, 3))
    # Exposure, veil, white balance
    ev = torch.where(
        some(count, 0.35, device) > 0, between(count, -4.0, 2.4, device), between(count, -0.3, 0.3, device)
    )
    ev = ev * touched
    veil = some(count, 0.14, device) * touched * log_between(count, 0.05, 0.6, device)
    deep = places(count, clean.shape[2:], device) * 0.5 + 0.75
    slope = torch.linspace(1.25, 0.75, clean.shape[2], device=device)[None, None, :, None]
    deep = torch.where(spread_out(some(count, 0.4, device)) > 0, slope.expand_as(deep), deep)
    deep = torch.where(spread_out(some(count, 0.4, device)) > 0, torch.ones_like(deep), deep)
    air = spread_out(between(count, 0.35, 0.9, device)) * (1 + 0.05 * torch.randn(count, 3, 1, 1, device=device))
    thick = (spread_out(veil) * deep).clamp(0, 0.95)
    light = light * (1 - thick) + air * thick
    light = light * 2 ** spread_out(ev)
    cast = some(count, 0.15, device) * touched
    light = light * torch.exp(torch.randn(count, 3, 1, 1, device=device) * spread_out(cast * 0.2 + touched * 0.02))
    # Sensor
    sensor = some(count, 0.5, device) * touched * log_between(count, 0.005, 0.1, device)
    noisy = (light + grain(light, sensor, device)).clamp(0, 1)
    # Camera: the same for the picture with noise and for the one without, so that the difference is what noise is left
    render = _Rendering(count, touched, device)
    finished, quiet = (render(value.clamp(0, 1), size) for value in (noisy, light))
    noise = (finished - quiet).std((1, 2, 3))
    # Storage
    quality = torch.where(some(count, 0.4, device) * touched > 0, between(count, 5, 60, device),
                          between(count, 78, 98, device))  # fmt: skip
    stored = jpeg(finished, quality)
    again = some(count, 0.25, device) * touched
    second = torch.where(again > 0, between(count, 40, 95, device), torch.full_like(again, 100.0))
    moved = torch.roll(jpeg(torch.roll(stored, (3, 5), (2, 3)), second), (-3, -5), (2, 3))
    stored = torch.where(spread_out(again) > 0, moved, stored)
    loss = (stored - finished).std((1, 2, 3))
    facts = {
        "deviation": deviation / ratio * on, "motion": motion, "area": area, "part": part, "ev": ev, "veil": veil,
        "noise": noise, "quality": torch.minimum(quality, second), "loss": loss, "cast": cast,
        "contrast": render.contrast, "saturation": render.saturation, "sharpening": render.sharpening,
        "luminance": stored.mean((1, 2, 3)), "clipped": (stored.amin(1) > 0.97).float().mean((1, 2)),
    }  # fmt: skip
    small = F.interpolate(mask, size, mode="bilinear", antialias=True)
    return Chained(stored, amounts_of(facts), flaws_of(facts), categories_of(facts), small)


class _Rendering:
    """What one camera does to light, drawn once and applied to several pictures alike."""

    def __init__(self, count: int, touched: Tensor, device: str) -> None:
        one = torch.ones(count, device=device)
        self.denoise = spread_out(some(count, 0.4, device) * touched * between(count, 0.5, 1.0, device))
        self.width = between(count, 0.8, 2.2, device)
        self.curve = spread_out(some(count, 0.5, device) * touched * between(count, 0.0, 0.6, device))
        changed = some(count, 0.22, device) * touched > 0
        self.contrast = torch.where(changed, between(count, 0.4, 1.5, device), one)
        changed = some(count, 0.22, device) * touched > 0
        self.saturation = torch.where(changed, between(count, 0, 2.0, device), one)
        self.sharpening = some(count, 0.4, device) * touched * between(count, 0.2, 2.0, device)
        self.radius = between(count, 0.7, 1.8, device)

    def __call__(self, light: Tensor, size: tuple[int, int]) -> Tensor:
        x = (light + 1e-4) ** (1 / 2.2)
        x = x + self.curve * (x * x * (3 - 2 * x) - x)
        x = denoised(x, self.denoise, self.width)
        middle = x.mean((1, 2, 3), keepdim=True)
        x = middle + (x - middle) * spread_out(self.contrast)
        grey = x.mean(1, keepdim=True)
        x = grey + (x - grey) * spread_out(self.saturation)
        x = x + spread_out(self.sharpening) * (x - smooth(x, self.radius))
        x = x.clamp(0, 1)
        return x if x.shape[2:] == size else F.interpolate(x, size, mode="bilinear", antialias=True)


def amounts_of(facts: dict[str, Tensor]) -> Tensor:
    """In the order of ``network.AMOUNTS``, each of about the same range."""
    blur = torch.log1p(facts["deviation"] * facts["area"].sqrt())
    return torch.stack(
        [
            1.2 * blur, facts["motion"] * blur, torch.log1p(60 * facts["noise"]), torch.log1p(60 * facts["loss"]),
            facts["ev"] / 1.5, 3 * facts["veil"], 1.5 * torch.log(facts["contrast"]),
            1.2 * (facts["saturation"] - 1), facts["sharpening"],
        ], 1)  # fmt: skip


def decided(yes: Tensor, no: Tensor) -> Tensor:
    return torch.where(yes, 1.0, torch.where(no, 0.0, -1.0))


def flaws_of(facts: dict[str, Tensor]) -> Tensor:
    """Clear cases only: what lies between is left unsaid."""
    extent = facts["deviation"] * facts["area"].sqrt()
    motion, area = facts["motion"] > 0, facts["area"]
    sharp = extent < 0.3
    whole = (area > 0.6) & (extent > 0.95)
    moved = motion & (facts["deviation"] > 1.3) & (area > 0.25)
    ev, light = facts["ev"], facts["luminance"]
    found = {
        "motion_blur": decided(moved, sharp | (~motion & (extent > 0))),
        "out_of_focus": decided(~motion & whole, sharp | (moved & whole)),
        "blurry": decided(whole | moved, sharp),
        "too_dark": decided(
            ((ev < -1.2) & (light < 0.27)) | ((ev < -0.6) & (light < 0.16)), (ev > -0.5) | (light > 0.36)
        ),
        "too_bright": decided((ev > 0.8) & (light > 0.62), (ev < 0.4) | ((light < 0.55) & (facts["clipped"] < 0.1))),
        "noisy": decided(
            (facts["noise"] > 0.012) & ((facts["quality"] > 30) | (facts["noise"] > 0.03)),
            (facts["noise"] < 0.004) & (facts["quality"] > 20),
        ),
        "hazy": decided(facts["veil"] > 0.15, (facts["veil"] < 0.03) & (facts["contrast"] > 0.7)),
        "compressed": decided(facts["quality"] < 28, facts["quality"] > 75),
    }
    return torch.stack([found[name] for name in FLAWS], 1)


def categories_of(facts: dict[str, Tensor]) -> Tensor:
    """An opinion for each category, NaN where nobody could say."""
    count, device = len(facts["ev"]), facts["ev"].device
    flaws = flaws_of(facts)
    clean, nothing = (torch.full((count,), value, device=device) for value in (UNCHANGED_OPINION, math.nan))
    extent = facts["deviation"] * facts["area"].sqrt()
    blur = torch.where(facts["motion"] > 0, interpolated(extent, MOTION), interpolated(extent, BLUR))
    dark, bright = flaws[:, PLACE["too_dark"]], flaws[:, PLACE["too_bright"]]
    light = torch.where((dark == 0) & (bright == 0), clean, nothing)
    light = torch.where(dark == 1, interpolated(-facts["ev"], DARK), light)
    light = torch.where(bright == 1, interpolated(facts["ev"], BRIGHT), light)
    flat = torch.where((facts["contrast"] == 1) & (facts["veil"] == 0), clean, nothing)
    flat = torch.where(facts["veil"] > 0.08, interpolated(facts["veil"], VEIL), flat)
    flat = torch.where((facts["contrast"] < 0.55) & (facts["veil"] == 0), torch.full_like(flat, 3.4), flat)
    colour = torch.where((facts["saturation"] == 1) & (facts["cast"] == 0), clean, nothing)
    colour = torch.where(facts["saturation"] > 1.7, torch.full_like(colour, 3.8), colour)
    crisp = torch.where(facts["sharpening"] == 0, clean, nothing)
    crisp = torch.where(facts["sharpening"] > 1.4, torch.full_like(crisp, 3.8), crisp)
    found = {
        "Blurs": blur, "Color distortions": colour, "Compression": interpolated(facts["quality"], JPEG),
        "Noise": interpolated(facts["noise"], NOISE), "Brightness change": light, "Sharpness": crisp,
        "Contrast": flat, "Spatial distortions": clean,
    }  # fmt: skip
    return torch.stack([found[name] for name in CATEGORY_INDEX], 1)
