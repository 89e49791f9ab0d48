"""The KADID-10k protocol as numbers: 25 distortions in five levels, and what people thought of each.

Parameters and mean opinions are those published by Lin, Hosu and Saupe, KADID-10k: A large-scale artificially
distorted IQA database, QoMEX, 2019. The opinions are means over 81 photographs of 512×384 pixels, on the scale from
1 (bad) to 5 (excellent); people gave an unchanged photograph about 4.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from agenticiqa.errors import AgenticIQAError
from agenticiqa.vocabulary import plain_words

SOURCE = "Lin, Hosu and Saupe, KADID-10k: A large-scale artificially distorted IQA database, QoMEX, 2019"
LEVELS = (1, 2, 3, 4, 5)

Five = tuple[float, float, float, float, float]


class DistortionError(AgenticIQAError):
    """The picture, the kind or the level cannot be used."""


@dataclass(frozen=True)
class Distortion:
    """One kind of damage. ``amounts``, ``opinions`` and ``deviations`` have one entry per level."""

    number: int
    name: str
    title: str
    category: str
    parameter: str
    amounts: Five
    opinions: Five
    deviations: Five
    """How much photographs differ in mean opinion at the same level (standard deviation)."""
    aliases: tuple[str, ...] = ()
    neutral: float | None = None
    """The amount between the levels that changes nothing, where there is one: damage grows both ways."""

    def amount(self, level: float) -> float:
        """The parameter at a level; between two levels, on the straight line.

        >>> find("jpeg").amount(4), find("gaussian_blur").amount(3.5)
        (7.0, 1.5)
        """
        return _between(self.amounts, self._checked(level))

    def opinion(self, level: float) -> float:
        """The mean opinion at a level; between two levels on the straight line, if damage runs one way there."""
        below = int(self._checked(level))
        if self.neutral is not None and below < level:
            first, second = self.amounts[below - 1] - self.neutral, self.amounts[below] - self.neutral
            if first * second < 0:
                raise DistortionError(
                    f"{self.title} passes through the unchanged picture between levels {below} and {below + 1}; "
                    "opinions cannot be interpolated there.",
                    hint="Use a whole level.",
                )
        return _between(self.opinions, level)

    def _checked(self, level: float) -> float:
        if not LEVELS[0] <= level <= LEVELS[-1]:
            raise DistortionError(
                f"{level} is not a level of {self.title}.", hint="Levels go from 1 (weakest) to 5 (strongest)."
            )
        return level


def _between(values: Five, level: float) -> float:
    below = min(int(level), 4)
    share = level - below
    return float((1 - share) * values[below - 1] + share * values[below])


PROTOCOL: tuple[Distortion, ...] = (
    Distortion(
        number=1,
        name="gaussian_blur",
        title="Gaussian blur",
        category="Blurs",
        parameter="sigma in pixels",
        amounts=(0.1, 0.5, 1, 2, 5),
        opinions=(4.6122, 4.3817, 2.9111, 1.873, 1.3027),
        deviations=(0.1296, 0.2192, 0.4253, 0.2727, 0.1385),
        aliases=(
            "blur",
            "gaussian blur",
        ),
    ),
    Distortion(
        number=2,
        name="lens_blur",
        title="Lens blur",
        category="Blurs",
        parameter="radius of the disk in pixels",
        amounts=(1, 2, 4, 6, 8),
        opinions=(3.8625, 2.6536, 1.7558, 1.4419, 1.2991),
        deviations=(0.3592, 0.4037, 0.246, 0.1693, 0.1453),
        aliases=(
            "defocus",
            "out of focus",
        ),
    ),
    Distortion(
        number=3,
        name="motion_blur",
        title="Motion blur",
        category="Blurs",
        parameter="length in pixels, at a random angle",
        amounts=(1, 2, 4, 6, 10),
        opinions=(4.6041, 4.0952, 2.8479, 2.1751, 1.6679),
        deviations=(0.1283, 0.3407, 0.4315, 0.349, 0.2597),
        aliases=("camera shake",),
    ),
    Distortion(
        number=4,
        name="color_diffusion",
        title="Color diffusion",
        category="Color distortions",
        parameter="amount: a and b of L*a*b* blurred by 1.5 × amount + 2 pixels, then multiplied by it",
        amounts=(1, 3, 6, 8, 12),
        opinions=(4.4951, 2.602, 1.7559, 1.6052, 1.3938),
        deviations=(0.1811, 0.425, 0.367, 0.3622, 0.2943),
        aliases=(),
    ),
    Distortion(
        number=5,
        name="color_shift",
        title="Color shift",
        category="Color distortions",
        parameter="pixels by which the green channel slips along edges",
        amounts=(1, 3, 6, 8, 12),
        opinions=(4.2267, 2.5454, 1.9163, 1.8537, 1.8638),
        deviations=(0.3939, 0.5193, 0.3996, 0.45, 0.4987),
        aliases=("chromatic aberration",),
    ),
    Distortion(
        number=6,
        name="color_quantization",
        title="Color quantization",
        category="Color distortions",
        parameter="colours of the palette",
        amounts=(64, 48, 32, 16, 8),
        opinions=(4.1081, 3.9733, 3.7186, 3.2028, 2.4249),
        deviations=(0.3088, 0.3459, 0.3945, 0.4085, 0.4017),
        aliases=("palette",),
    ),
    Distortion(
        number=7,
        name="color_saturation_1",
        title="Color saturation 1",
        category="Color distortions",
        parameter="factor of the HSV saturation",
        amounts=(0.4, 0.2, 0.1, 0, -0.4),
        opinions=(2.7463, 2.3346, 2.262, 2.2435, 2.0274),
        deviations=(0.3168, 0.2715, 0.3132, 0.2595, 0.3058),
        aliases=(
            "saturation",
            "desaturation",
        ),
    ),
    Distortion(
        number=8,
        name="color_saturation_2",
        title="Color saturation 2",
        category="Color distortions",
        parameter="factor of a and b of L*a*b*",
        amounts=(1, 2, 3, 6, 9),
        opinions=(4.5798, 3.3305, 2.6484, 1.8156, 1.5249),
        deviations=(0.1357, 0.366, 0.4387, 0.3809, 0.3095),
        aliases=("oversaturation",),
    ),
    Distortion(
        number=9,
        name="jpeg2000",
        title="JPEG 2000",
        category="Compression",
        parameter="compression ratio",
        amounts=(16, 32, 45, 120, 400),
        opinions=(4.5531, 4.2047, 3.8733, 2.4448, 1.3938),
        deviations=(0.1637, 0.4483, 0.6069, 0.6798, 0.2533),
        aliases=(
            "jp2",
            "jpeg 2000",
        ),
    ),
    Distortion(
        number=10,
        name="jpeg",
        title="JPEG",
        category="Compression",
        parameter="quality factor",
        amounts=(43, 36, 24, 7, 4),
        opinions=(4.338, 4.2456, 3.8658, 1.9454, 1.3502),
        deviations=(0.221, 0.228, 0.3058, 0.3225, 0.1811),
        aliases=("jpg",),
    ),
    Distortion(
        number=11,
        name="white_noise",
        title="White noise",
        category="Noise",
        parameter="variance, on 0..1",
        amounts=(0.001, 0.002, 0.003, 0.005, 0.01),
        opinions=(3.8932, 3.3904, 3.0451, 2.7096, 2.3007),
        deviations=(0.3628, 0.4128, 0.3633, 0.3155, 0.2682),
        aliases=(
            "noise",
            "gaussian noise",
        ),
    ),
    Distortion(
        number=12,
        name="white_noise_color",
        title="White noise in color component",
        category="Noise",
        parameter="variance in YCbCr, on 0..1",
        amounts=(0.0001, 0.0005, 0.001, 0.002, 0.003),
        opinions=(4.4684, 3.6825, 3.17, 2.6872, 2.3799),
        deviations=(0.1954, 0.4042, 0.4141, 0.3201, 0.2895),
        aliases=(
            "color noise",
            "white noise in color component",
        ),
    ),
    Distortion(
        number=13,
        name="impulse_noise",
        title="Impulse noise",
        category="Noise",
        parameter="share of the samples hit",
        amounts=(0.001, 0.005, 0.01, 0.02, 0.03),
        opinions=(3.5838, 2.9304, 2.6126, 2.3123, 2.1319),
        deviations=(0.3818, 0.3148, 0.2375, 0.2015, 0.1808),
        aliases=(
            "salt and pepper",
            "salt and pepper noise",
        ),
    ),
    Distortion(
        number=14,
        name="multiplicative_noise",
        title="Multiplicative noise",
        category="Noise",
        parameter="variance of the factor",
        amounts=(0.001, 0.005, 0.01, 0.02, 0.05),
        opinions=(4.4044, 3.5815, 3.0842, 2.6394, 2.1173),
        deviations=(0.2636, 0.4904, 0.4925, 0.4282, 0.3436),
        aliases=("speckle",),
    ),
    Distortion(
        number=15,
        name="denoise",
        title="Denoise",
        category="Noise",
        parameter="variance of the noise that was removed",
        amounts=(0.01, 0.03, 0.05, 0.1, 0.15),
        opinions=(3.6677, 2.7272, 2.2027, 1.6549, 1.4665),
        deviations=(0.3264, 0.3858, 0.3495, 0.2362, 0.1746),
        aliases=("denoising",),
    ),
    Distortion(
        number=16,
        name="brighten",
        title="Brighten",
        category="Brightness change",
        parameter="curve amount: 0.5 becomes 0.5 + amount / 2",
        amounts=(0.1, 0.2, 0.4, 0.7, 1.1),
        opinions=(4.5057, 4.2875, 3.6323, 2.7009, 1.8093),
        deviations=(0.1574, 0.228, 0.3329, 0.4641, 0.3756),
        aliases=(
            "brightness",
            "overexposure",
        ),
    ),
    Distortion(
        number=17,
        name="darken",
        title="Darken",
        category="Brightness change",
        parameter="curve amount: 0.5 becomes 0.5 - amount / 2",
        amounts=(0.05, 0.1, 0.2, 0.4, 0.8),
        opinions=(4.6004, 4.5275, 4.2309, 3.5349, 2.221),
        deviations=(0.1291, 0.1415, 0.2238, 0.2912, 0.4041),
        aliases=(
            "darkness",
            "underexposure",
        ),
    ),
    Distortion(
        number=18,
        name="mean_shift",
        title="Mean shift",
        category="Brightness change",
        parameter="added to every value, on 0..1",
        amounts=(0.15, 0.08, 0, -0.08, -0.15),
        opinions=(4.218, 4.5188, 4.603, 4.3695, 3.9033),
        deviations=(0.2951, 0.1766, 0.1355, 0.1927, 0.2941),
        aliases=(),
        neutral=0.0,
    ),
    Distortion(
        number=19,
        name="jitter",
        title="Jitter",
        category="Spatial distortions",
        parameter="standard deviation of the pixels' scatter",
        amounts=(0.05, 0.1, 0.2, 0.5, 1),
        opinions=(4.4194, 4.0864, 3.2352, 1.8485, 1.3386),
        deviations=(0.1995, 0.2889, 0.4522, 0.3209, 0.1667),
        aliases=(),
    ),
    Distortion(
        number=20,
        name="non_eccentricity_patch",
        title="Non-eccentricity patch",
        category="Spatial distortions",
        parameter="number of 16×16 patches moved by up to 8 pixels",
        amounts=(20, 40, 60, 80, 100),
        opinions=(4.3333, 3.9379, 3.7726, 3.4644, 3.2612),
        deviations=(0.31, 0.4963, 0.5485, 0.6395, 0.6507),
        aliases=("patches",),
    ),
    Distortion(
        number=21,
        name="pixelate",
        title="Pixelate",
        category="Spatial distortions",
        parameter="strength: scaled to 0.95 - strength^0.6 and back",
        amounts=(0.01, 0.05, 0.1, 0.2, 0.5),
        opinions=(3.8891, 3.0983, 2.8998, 2.7943, 1.4957),
        deviations=(0.4492, 0.4756, 0.4448, 0.4925, 0.2585),
        aliases=("pixelation",),
    ),
    Distortion(
        number=22,
        name="quantization",
        title="Quantization",
        category="Spatial distortions",
        parameter="number of thresholds",
        amounts=(20, 16, 13, 10, 7),
        opinions=(4.1685, 3.9335, 3.6859, 3.3728, 2.799),
        deviations=(0.451, 0.5862, 0.5815, 0.6366, 0.6746),
        aliases=(
            "posterize",
            "posterization",
        ),
    ),
    Distortion(
        number=23,
        name="color_block",
        title="Color block",
        category="Spatial distortions",
        parameter="number of 32×32 blocks",
        amounts=(2, 4, 6, 8, 10),
        opinions=(2.687, 2.359, 2.2995, 2.1262, 2.0352),
        deviations=(0.3879, 0.2954, 0.2548, 0.2321, 0.2277),
        aliases=("blocks",),
    ),
    Distortion(
        number=24,
        name="high_sharpen",
        title="High sharpen",
        category="Sharpness",
        parameter="amount of unsharp masking, radius 3",
        amounts=(1, 2, 3, 6, 12),
        opinions=(3.579, 2.6359, 2.1364, 1.6133, 1.3359),
        deviations=(0.4084, 0.4338, 0.3641, 0.2465, 0.1585),
        aliases=(
            "sharpen",
            "oversharpening",
        ),
    ),
    Distortion(
        number=25,
        name="contrast_change",
        title="Contrast change",
        category="Contrast",
        parameter="curve amount: 0.3 becomes 0.25 - amount / 4, 0.7 becomes 0.75 + amount / 4",
        amounts=(0.3, 0.15, 0, -0.4, -0.6),
        opinions=(3.4194, 3.8584, 4.2901, 4.1415, 3.3238),
        deviations=(0.342, 0.2747, 0.2479, 0.273, 0.3737),
        aliases=("contrast",),
        neutral=-0.2,
    ),
)

DISTORTIONS: dict[str, Distortion] = {distortion.name: distortion for distortion in PROTOCOL}


@cache
def _by_word() -> dict[str, Distortion]:
    return {
        plain_words(word): distortion
        for distortion in PROTOCOL
        for word in (distortion.name, distortion.title, *distortion.aliases)
    }


def find(kind: str) -> Distortion:
    """A distortion by its name, title or alias; British spelling is welcome.

    >>> find("Colour shift").name, find("blur").name, find("JPEG 2000").name
    ('color_shift', 'gaussian_blur', 'jpeg2000')
    """
    found = _by_word().get(plain_words(kind))
    if found is None:
        raise DistortionError(f"There is no distortion {kind!r}.", hint=f"Choose from {', '.join(DISTORTIONS)}.")
    return found


def expected_opinion(kind: str, level: float) -> float:
    """What people think, on average, of a photograph with this damage: 1 (bad) to 5 (excellent).

    >>> expected_opinion("jpeg", 4)
    1.9454
    """
    return find(kind).opinion(level)
