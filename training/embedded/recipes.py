"""What is made of each photograph: which damage, how strong, and what people would say of it."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image
from training.distortions import DISTORTIONS, PROTOCOL, UNCHANGED_OPINION
from training.distortions.apply import CHANGES
from training.embedded.extra_damage import EXTRA_DAMAGE, damage
from training.embedded.further_damage import FURTHER_CATEGORIES, FURTHER_DAMAGE
from training.embedded.kinds import CATEGORY_INDEX, KIND_INDEX, KINDS, joined
from training.embedded.opinion_map import load, measured

from agenticiqa.tools.metrics import Picture
from agenticiqa.vocabulary import CATEGORIES

Bytes = npt.NDArray[np.uint8]
Pixels = npt.NDArray[np.float32]

PROTOCOL_NAMES = tuple(distortion.name for distortion in PROTOCOL)
EXTRA_NAMES = tuple(EXTRA_DAMAGE)
FURTHER_NAMES = tuple(FURTHER_DAMAGE)
# Kinds whose damage goes on growing past the fifth level in the same way; other sets go further than KADID-10k.
UNBOUNDED = ("white_noise", "white_noise_color", "impulse_noise", "multiplicative_noise", "jitter", "motion_blur")
STRONGEST = 7.0
# Damage in some places only: a small window may not show it.
LOCAL = (
    "non_eccentricity_patch", "color_block", "block_loss", "transmission_errors", "wavelet_errors", "local_blocks",
)  # fmt: skip
# The metrics' estimate ranks kinds of damage against each other better than one set of opinions does, except where it
# is far off: the overall target takes this share of it.
METRICS_SHARE, FAR = 0.35, 1.2
NEUTRAL = ("mean_shift", "contrast_change")


@dataclass(frozen=True)
class Recipe:
    """Damage in order, as (kind, level); ``chain`` is shared by pictures that differ in level alone."""

    steps: tuple[tuple[str, float], ...]
    chain: int
    seed: int
    full_range: bool = False
    reencode: int | None = None


@dataclass
class Made:
    """One training picture with its targets."""

    picture: Bytes
    opinion: float
    kind: int
    level: float
    chain: int
    local: bool
    category_opinions: Pixels = field(default_factory=lambda: np.full(len(CATEGORIES), UNCHANGED_OPINION, np.float32))


def protocol_recipes(kinds: tuple[str, ...], levels: int, rng: np.random.Generator) -> Iterator[Recipe]:
    """Some whole levels of each kind, as published: stretched to the full range before and after."""
    for name in kinds:
        chain, seed = int(rng.integers(1 << 40)), int(rng.integers(1 << 30))
        for level in rng.choice(5, levels, replace=False) + 1:
            yield Recipe(((name, float(level)),), chain, seed, full_range=True)


def graded_recipes(count: int, rng: np.random.Generator) -> Iterator[Recipe]:
    """Two levels anywhere on the scale, and past its end where that makes sense."""
    for name in rng.choice(PROTOCOL_NAMES, count, replace=False):
        chain, seed = int(rng.integers(1 << 40)), int(rng.integers(1 << 30))
        top = STRONGEST if name in UNBOUNDED else 5.0
        for _ in range(2):
            level = float(rng.integers(1, 6)) if name in NEUTRAL else float(rng.uniform(1, top))
            yield Recipe(((str(name), level),), chain, seed)


def extra_recipes(count: int, rng: np.random.Generator, names: tuple[str, ...] = EXTRA_NAMES) -> Iterator[Recipe]:
    """Two levels anywhere on the scale of damage that the protocol lacks."""
    for name in rng.choice(names, count, replace=False):
        chain, seed = int(rng.integers(1 << 40)), int(rng.integers(1 << 30))
        for level in rng.uniform(1, 5, 2):
            yield Recipe(((str(name), float(level)),), chain, seed)


def combined_recipes(count: int, rng: np.random.Generator) -> Iterator[Recipe]:
    """Two kinds of different categories; compression, where it takes part, comes last, as in life."""
    for _ in range(count):
        while True:
            first, second = (str(name) for name in rng.choice(PROTOCOL_NAMES + EXTRA_NAMES, 2, replace=False))
            categories = [KINDS[KIND_INDEX[name]].category for name in (first, second)]
            if categories[0] != categories[1]:
                break
        if categories[0] == "Compression":
            first, second = second, first
        levels = rng.integers(1, 6, 2).astype(float)
        yield Recipe(((first, levels[0]), (second, levels[1])), int(rng.integers(1 << 40)), int(rng.integers(1 << 30)))


def unchanged_recipes(count: int, rng: np.random.Generator) -> Iterator[Recipe]:
    """As it is, once stretched, and stored again at a quality at which nobody sees it."""
    for index in range(count):
        quality = None if index < 2 else int(rng.integers(88, 98))
        yield Recipe((), int(rng.integers(1 << 40)), 0, full_range=index == 1, reencode=quality)


def amount_of(name: str, level: float) -> float:
    kind = DISTORTIONS[name]
    if level <= 5:
        return kind.amount(level)
    return kind.amounts[4] * (kind.amounts[4] / kind.amounts[3]) ** (level - 5)


def opinion_of(name: str, level: float) -> float:
    """The published mean, between levels and a little past the last one.

    >>> opinion_of("white_noise", 5), round(opinion_of("white_noise", 6), 2)
    (2.3007, 1.99)
    """
    kind = DISTORTIONS[name]
    if level <= 5:
        return kind.opinion(level)
    last, before = kind.opinions[4] - 1, kind.opinions[3] - 1
    return 1 + last * (last / before) ** (level - 5)


def stretched(rgb: Pixels) -> Pixels:
    low, high = rgb.min(), rgb.max()
    return np.asarray((rgb - low) / (high - low), np.float32) if high > low else rgb


def damaged(rgb: Pixels, recipe: Recipe) -> Bytes:
    """``rgb`` in 0..1 through all steps of a recipe."""
    pixels = stretched(rgb) if recipe.full_range else rgb
    for position, (name, level) in enumerate(recipe.steps):
        if name in EXTRA_DAMAGE or name in FURTHER_DAMAGE:
            pixels = damage(pixels, name, level, np.random.default_rng([recipe.seed, 99, position]))
        else:
            rng = np.random.default_rng([recipe.seed, DISTORTIONS[name].number, position])
            pixels = CHANGES[name](pixels, amount_of(name, level), rng).clip(0, 1)
    if recipe.full_range:
        pixels = stretched(pixels)
    result = np.asarray(np.rint(pixels * 255), np.uint8)
    if recipe.reencode:
        buffer = io.BytesIO()
        Image.fromarray(result).save(buffer, "JPEG", quality=recipe.reencode)
        result = np.asarray(Image.open(buffer))
    return result


def made(rgb: Pixels, reference: Picture, recipe: Recipe) -> Made:
    """The damaged picture and what is to be learnt from it."""
    picture = damaged(rgb, recipe)
    names = [name for name, _ in recipe.steps]
    if not names:
        return Made(picture, UNCHANGED_OPINION, KIND_INDEX["unchanged"], 0.0, recipe.chain, local=False)
    values = measured(picture, reference)
    guess = float(load().estimate(values)[0])
    parts = []
    for name, level in recipe.steps:
        if name not in DISTORTIONS:
            # Alone, the metrics' estimate; in company, what its level is usually worth.
            parts.append(guess if len(names) == 1 else 5.2 - 0.75 * level)
        else:
            mean = opinion_of(name, level)
            alone = len(names) == 1
            parts.append(load().for_photograph(PROTOCOL_NAMES.index(name), level, mean, values) if alone else mean)
    opinion = parts[0]
    if names[0] in DISTORTIONS and abs(guess - opinion) < FAR:
        opinion = (1 - METRICS_SHARE) * opinion + METRICS_SHARE * guess
    if len(parts) > 1:
        opinion = min(0.5 * joined(parts) + 0.5 * guess, min(parts) + 0.1)
    result = Made(picture, opinion, -1, 0.0, recipe.chain, local=any(name in LOCAL for name in names))
    if len(names) == 1 and names[0] in KIND_INDEX:
        unseen = amount_is_neutral(*recipe.steps[0])
        result.kind = KIND_INDEX["unchanged" if unseen else names[0]]
        result.level = recipe.steps[0][1]
    for name, part in zip(names, parts, strict=True):
        for category in categories_of(name):
            place = CATEGORY_INDEX[category]
            result.category_opinions[place] = min(part, result.category_opinions[place])
    return result


def categories_of(name: str) -> tuple[str, ...]:
    """
    >>> categories_of("jpeg"), categories_of("compressed_noise")
    (('Compression',), ('Noise', 'Compression'))
    """
    return FURTHER_CATEGORIES[name] if name in FURTHER_CATEGORIES else (str(KINDS[KIND_INDEX[name]].category),)


def amount_is_neutral(name: str, level: float) -> bool:
    """Whether a level of the protocol leaves the picture as it is.

    >>> [amount_is_neutral(name, 1) for name in ("gaussian_blur", "motion_blur", "color_saturation_2", "jpeg")]
    [True, True, True, False]
    """
    return (name in ("gaussian_blur", "motion_blur", "color_saturation_2") and level < 1.05) or (
        name == "mean_shift" and level == 3
    )


def prepared(photograph: Bytes, way: str, rng: np.random.Generator) -> Bytes:
    """The photograph as it is, somewhat enlarged and cut to size (as large originals are softer), or reduced."""
    height, width = photograph.shape[:2]
    if way == "reduced":
        return np.asarray(cv2.resize(photograph, (width * 3 // 4, height * 3 // 4), interpolation=cv2.INTER_AREA))
    if way == "enlarged":
        scale = float(rng.uniform(1.0, 1.35))
        large = cv2.resize(photograph, (round(width * scale), round(height * scale)), interpolation=cv2.INTER_CUBIC)
        top = int(rng.integers(large.shape[0] - height + 1))
        left = int(rng.integers(large.shape[1] - width + 1))
        return np.asarray(large[top : top + height, left : left + width])
    return photograph


def recipes_for(way: str, rng: np.random.Generator) -> list[Recipe]:
    """The plan of one preparation of one photograph."""
    if way == "plain":
        # Contrast is the category of a single kind of the protocol, and the hardest to tell: always there.
        others = [name for name in PROTOCOL_NAMES if name != "contrast_change"]
        kinds = ("contrast_change", *(str(name) for name in rng.choice(others, 17, replace=False)))
        return [*protocol_recipes(kinds, 2, rng), *unchanged_recipes(3, rng)]
    if way == "enlarged":
        plan = [*graded_recipes(6, rng), *extra_recipes(4, rng), *combined_recipes(5, rng)]
        return [*plan, *extra_recipes(5, rng, FURTHER_NAMES), *unchanged_recipes(4, rng)]
    if way == "reduced":
        plan = [*graded_recipes(4, rng), *extra_recipes(2, rng), *combined_recipes(2, rng)]
        return [*plan, *extra_recipes(2, rng, FURTHER_NAMES), *unchanged_recipes(2, rng)]
    if way == "rated":
        return [*graded_recipes(1, rng), *extra_recipes(1, rng)]
    if way == "chains":
        return [
            *(Recipe(((name, float(level)),), index, 0, full_range=True)
              for index, name in enumerate(PROTOCOL_NAMES) for level in range(1, 6)),
            *unchanged_recipes(2, rng),
        ]  # fmt: skip
    raise ValueError(way)
