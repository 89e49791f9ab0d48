"""What made damage tells about the flaws of photographs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from training.embedded.kinds import KIND_INDEX, KINDS
from training.embedded.real_flaws import FLAWS, UNKNOWN

IS: dict[str, tuple[str, ...]] = {
    "gaussian_blur": ("blurry", "out_of_focus"),
    "lens_blur": ("blurry", "out_of_focus"),
    "motion_blur": ("blurry", "motion_blur"),
    "upscaling": ("blurry",),
    "white_noise": ("noisy",),
    "white_noise_color": ("noisy",),
    "impulse_noise": ("noisy",),
    "multiplicative_noise": ("noisy",),
    "pink_noise": ("noisy",),
    "sensor_noise": ("noisy",),
    "jpeg": ("compressed",),
    "jpeg2000": ("compressed",),
    "webp": ("compressed",),
    "darken": ("too_dark",),
    "underexposure": ("too_dark",),
    "brighten": ("too_bright",),
    "overexposure": ("too_bright",),
    "haze": ("hazy",),
}
# Flaws that a kind may pass for: nothing is said of them.
MAY_BE: dict[str, tuple[str, ...]] = {
    "upscaling": ("out_of_focus", "motion_blur", "compressed"),
    "jpeg2000": ("blurry", "out_of_focus", "motion_blur"),
    "webp": ("blurry", "out_of_focus"),
    "mean_shift": ("too_dark", "too_bright", "hazy"),
    "brighten": ("hazy",),
    "overexposure": ("hazy",),
    "low_contrast": ("hazy", "too_dark", "too_bright"),
    "contrast_change": ("hazy", "too_dark", "too_bright"),
    "haze": ("too_bright", "blurry", "out_of_focus"),
    "denoise": ("blurry", "out_of_focus", "noisy", "compressed", "motion_blur"),
    "smear": ("blurry", "out_of_focus", "noisy", "compressed", "motion_blur"),
    "pixelate": ("blurry", "out_of_focus", "compressed"),
    "jitter": ("blurry", "out_of_focus", "noisy", "motion_blur"),
    "underexposure": ("noisy",),
    "high_sharpen": ("noisy", "compressed"),
    "quantization": ("compressed", "noisy"),
    "color_quantization": ("compressed", "noisy"),
    "color_diffusion": ("compressed", "blurry"),
    "aberration": ("blurry", "motion_blur", "out_of_focus"),
    "block_loss": ("compressed",),
    "color_block": ("compressed",),
}


def table() -> npt.NDArray[np.float32]:
    """Kinds × flaws: 1 where the kind is the flaw, 0 where it is not, -1 where it may pass for it."""
    found = np.zeros((len(KINDS), len(FLAWS)), np.float32)
    for kind, flaws in MAY_BE.items():
        found[KIND_INDEX[kind], [FLAWS.index(flaw) for flaw in flaws]] = UNKNOWN
    for kind, flaws in IS.items():
        found[KIND_INDEX[kind], [FLAWS.index(flaw) for flaw in flaws]] = 1
    return found
