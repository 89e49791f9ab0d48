"""What the model tells apart: kinds of damage, their categories, and severities by what people think of them."""

from __future__ import annotations

from dataclasses import dataclass

from training.distortions import PROTOCOL, UNCHANGED_OPINION

from agenticiqa.vocabulary import CATEGORIES, SEVERITIES

UNCHANGED = "unchanged"

# An opinion at or above the first bound is "none", at or above the second "slight", and so on.
SEVERITY_BOUNDS = (4.4, 3.6, 2.8, 2.0)


@dataclass(frozen=True)
class Kind:
    """One answer of the finer head."""

    name: str
    title: str
    category: str | None


# Damage that the published protocol lacks and pictures have; how each is made stands in extra_damage.py.
EXTRA_KINDS: tuple[Kind, ...] = (
    Kind("pink_noise", "Low-frequency noise", "Noise"),
    Kind("sensor_noise", "Sensor noise", "Noise"),
    Kind("smear", "Smeared detail", "Noise"),
    Kind("underexposure", "Underexposure", "Brightness change"),
    Kind("overexposure", "Overexposure", "Brightness change"),
    Kind("haze", "Haze", "Contrast"),
    Kind("low_contrast", "Low contrast", "Contrast"),
    Kind("color_cast", "Color cast", "Color distortions"),
    Kind("aberration", "Chromatic aberration", "Color distortions"),
    Kind("upscaling", "Upscaling", "Blurs"),
    Kind("webp", "WebP", "Compression"),
    Kind("block_loss", "Lost blocks", "Spatial distortions"),
)

KINDS: tuple[Kind, ...] = (
    Kind(UNCHANGED, "Unchanged", None),
    *(Kind(distortion.name, distortion.title, distortion.category) for distortion in PROTOCOL),
    *EXTRA_KINDS,
)
KIND_INDEX = {kind.name: index for index, kind in enumerate(KINDS)}
CATEGORY_INDEX = {category: index for index, category in enumerate(CATEGORIES)}


def severity_of(opinion: float) -> int:
    """The place in ``SEVERITIES`` of damage that people give this opinion.

    >>> [SEVERITIES[severity_of(value)] for value in (UNCHANGED_OPINION, 4.0, 3.0, 2.5, 1.3)]
    ['none', 'slight', 'moderate', 'severe', 'extreme']
    """
    return sum(opinion < bound for bound in SEVERITY_BOUNDS)


def joined(opinions: list[float]) -> float:
    """The opinion of several damages together: what each leaves of the way from bad to unchanged, multiplied.

    >>> joined([4.6, 2.8]), round(joined([2.8, 2.8]), 3)
    (2.8, 1.9)
    """
    left = 1.0
    for opinion in opinions:
        left *= (min(opinion, UNCHANGED_OPINION) - 1) / (UNCHANGED_OPINION - 1)
    return round(1 + left * (UNCHANGED_OPINION - 1), 6)


assert len(SEVERITIES) == len(SEVERITY_BOUNDS) + 1
