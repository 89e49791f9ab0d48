"""The words the agents agree on: distortion categories, severities, quality levels, and their synonyms.

Models write "Blur", "defocus" or "JPEG artefacts"; everything behind the models sees the canonical names only.
"""

from __future__ import annotations

import re

CATEGORIES: tuple[str, ...] = (
    "Blurs",
    "Color distortions",
    "Compression",
    "Noise",
    "Brightness change",
    "Sharpness",
    "Contrast",
    "Spatial distortions",
)

SEVERITIES: tuple[str, ...] = ("none", "slight", "moderate", "severe", "extreme")

LEVEL_NAMES: dict[int, str] = {5: "Excellent", 4: "Good", 3: "Fair", 2: "Poor", 1: "Bad"}
LEVEL_LETTERS: dict[int, str] = {5: "A", 4: "B", 3: "C", 2: "D", 1: "E"}
LETTER_LEVELS: dict[str, int] = {letter: level for level, letter in LEVEL_LETTERS.items()}

GLOBAL = "Global"
UNABLE_TO_DETERMINE = "Unable to determine"

_SEVERITY_SYNONYMS = {
    "no": "none",
    "absent": "none",
    "not present": "none",
    "mild": "slight",
    "minor": "slight",
    "light": "slight",
    "low": "slight",
    "medium": "moderate",
    "heavy": "severe",
    "strong": "severe",
    "high": "severe",
    "very severe": "extreme",
}

# Each synonym is a whole word or phrase in lower case; inflected forms are listed where people use them.
_CATEGORY_SYNONYMS: dict[str, tuple[str, ...]] = {
    "Blurs": (
        "blur", "blurs", "blurry", "blurred", "blurring", "blurriness", "defocus", "defocused", "out of focus",
        "focus", "motion blur", "gaussian blur", "lens blur", "camera shake", "softness", "soft",
    ),
    "Color distortions": (
        "color distortion", "color distortions", "colour distortion", "colour distortions", "color", "colour",
        "colors", "colours", "color cast", "colour cast", "white balance", "saturation", "oversaturation",
        "undersaturation", "desaturation", "color shift", "colour shift", "color diffusion", "colour diffusion",
        "color quantization", "hue", "tint", "chromatic aberration",
    ),
    "Compression": (
        "compression", "compression artifact", "compression artifacts", "compression artefact",
        "compression artefacts", "jpeg", "jpeg artifacts", "jpeg artefacts", "jpeg compression", "jpeg2000",
        "jpeg 2000", "blocking", "blockiness", "block artifacts", "block artefacts", "ringing", "banding",
    ),
    "Noise": (
        "noise", "noisy", "grain", "grainy", "graininess", "white noise", "impulse noise", "gaussian noise",
        "salt and pepper noise", "multiplicative noise", "color noise", "colour noise", "iso noise",
    ),
    "Brightness change": (
        "brightness change", "brightness changes", "brightness", "exposure", "overexposure", "over-exposure",
        "overexposed", "over exposure", "underexposure", "under-exposure", "underexposed", "under exposure", "dark",
        "darkness", "too dark", "too bright", "brighten", "darken", "mean shift", "lighting", "illumination",
        "low light", "dim",
    ),
    "Sharpness": (
        "sharpness", "sharp", "oversharpening", "over-sharpening", "oversharpened", "sharpening", "halo", "halos",
        "lack of sharpness", "clarity", "detail", "details",
    ),
    "Contrast": ("contrast", "contrast change", "low contrast", "high contrast", "haze", "hazy", "fog", "washed out"),
    "Spatial distortions": (
        "spatial distortion", "spatial distortions", "jitter", "pixelate", "pixelated", "pixelation", "blocks",
        "color block", "patches", "non-eccentricity patch", "aliasing", "moire", "moiré", "geometric distortion",
        "distortion", "warping", "quantization",
    ),
}  # fmt: skip

_CATEGORY_BY_WORD = {
    **{word: category for category, words in _CATEGORY_SYNONYMS.items() for word in words},
    **{category.lower(): category for category in CATEGORIES},
}


def _plain(text: str) -> str:
    return re.sub(r"[\s_]+", " ", text.strip().lower())


def canonical_category(text: str) -> str | None:
    """The category a word belongs to, or None when it names no distortion we know.

    >>> canonical_category("Motion blur"), canonical_category("over-exposure"), canonical_category("beauty")
    ('Blurs', 'Brightness change', None)
    """
    return _CATEGORY_BY_WORD.get(_plain(text))


def canonical_severity(text: str) -> str | None:
    """One of the five severities, or None.

    >>> canonical_severity("Mild"), canonical_severity("heavy"), canonical_severity("terrible")
    ('slight', 'severe', None)
    """
    word = _plain(text)
    return word if word in SEVERITIES else _SEVERITY_SYNONYMS.get(word)


def same_name(left: str, right: str) -> bool:
    """Object names compare trimmed and without case.

    >>> same_name(" Vehicle", "vehicle")
    True
    """
    return left.strip().casefold() == right.strip().casefold()


DEFAULT_QUERY = "Rate the perceptual quality of the image."
"""What is asked where nobody asks anything else."""
