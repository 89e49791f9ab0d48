"""From the words people use for a finer kind of damage to the kinds the vision model tells apart."""

from __future__ import annotations

# Left: kinds of the question parser's lexicon. Right: the model's own.
_MODEL_KINDS: dict[str, frozenset[str]] = {
    "motion blur": frozenset({"motion_blur"}),
    "defocus": frozenset({"lens_blur", "gaussian_blur"}),
    "jpeg": frozenset({"jpeg"}),
    "jpeg2000": frozenset({"jpeg2000"}),
    "blocking": frozenset({"jpeg", "webp"}),
    "overexposure": frozenset({"overexposure", "brighten"}),
    "underexposure": frozenset({"underexposure", "darken"}),
    "impulse noise": frozenset({"impulse_noise"}),
    "color noise": frozenset({"white_noise_color"}),
    "haze": frozenset({"haze"}),
    "low contrast": frozenset({"low_contrast", "haze"}),
    "oversaturation": frozenset({"color_saturation_2"}),
    "undersaturation": frozenset({"color_saturation_1"}),
    "color cast": frozenset({"color_cast"}),
    "chromatic aberration": frozenset({"aberration", "color_shift"}),
    "color quantization": frozenset({"color_quantization"}),
    "color diffusion": frozenset({"color_diffusion"}),
    "pixelation": frozenset({"pixelate"}),
    "jitter": frozenset({"jitter"}),
    "banding": frozenset({"quantization"}),
    "oversharpening": frozenset({"high_sharpen"}),
}


def model_kinds_for(kind: str) -> frozenset[str]:
    """The model's kinds that a word stands for; empty where the word is no finer than its category.

    >>> sorted(model_kinds_for("defocus")), model_kinds_for("blur")
    (['gaussian_blur', 'lens_blur'], frozenset())
    """
    return _MODEL_KINDS.get(kind, frozenset())
