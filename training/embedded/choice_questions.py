"""Multiple-choice questions whose right answers are known, because the damage was made on purpose.

Each picture is a photograph that training has not seen, damaged by the KADID-10k protocol; how bad a damage is follows
from the protocol's published mean opinions. The same photographs and seed give the same questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image
from training.distortions import DISTORTIONS, PROTOCOL, UNCHANGED_OPINION, combine
from training.embedded.kinds import severity_of
from training.embedded.recipes import amount_is_neutral

from agenticiqa.vocabulary import LEVEL_NAMES, SEVERITIES

Bytes = npt.NDArray[np.uint8]

# How people name what the protocol's kinds do. Kinds without a word that people would choose are left out.
SPOKEN = {
    "gaussian_blur": "Blur", "lens_blur": "Out-of-focus blur", "motion_blur": "Motion blur",
    "jpeg": "JPEG compression", "jpeg2000": "JPEG 2000 compression",
    "white_noise": "Noise", "white_noise_color": "Colour noise", "impulse_noise": "Salt-and-pepper noise",
    "brighten": "Overexposure", "darken": "Underexposure",
    "color_saturation_1": "Desaturation", "color_saturation_2": "Oversaturation",
    "color_quantization": "Posterization", "pixelate": "Pixelation", "high_sharpen": "Oversharpening",
}  # fmt: skip
# Said of the whole picture, for yes/no questions: (word, words for its absence).
ADJECTIVES = {
    "gaussian_blur": ("blurry", "sharp"), "lens_blur": ("out of focus", "in focus"),
    "motion_blur": ("blurred by motion", "sharp"), "white_noise": ("noisy", "free of noise"),
    "impulse_noise": ("noisy", "noise-free"), "darken": ("too dark", "well exposed"),
    "brighten": ("overexposed", "well exposed"), "jpeg": ("damaged by compression", "free of compression artifacts"),
    "pixelate": ("pixelated", "free of pixelation"), "color_saturation_2": ("oversaturated", "natural in colour"),
}  # fmt: skip
# Kinds of one category that people tell apart.
SIBLINGS = (
    ("motion_blur", "lens_blur"),
    ("jpeg", "jpeg2000"),
    ("brighten", "darken"),
    ("color_saturation_1", "color_saturation_2", "color_quantization"),
    ("impulse_noise", "white_noise"),
)
# Damage that shows in any part of any photograph, for questions of place.
PLACED = ("gaussian_blur", "lens_blur", "white_noise", "impulse_noise", "jpeg", "pixelate", "darken")
DEGREE_NOUNS = {
    "gaussian_blur": "blur", "motion_blur": "motion blur", "white_noise": "noise", "jpeg": "JPEG compression damage",
    "jpeg2000": "compression damage", "pixelate": "pixelation",
}  # fmt: skip
LEVEL_WORDS = tuple(LEVEL_NAMES[level] for level in (5, 4, 3, 2, 1))
CORNERS = {"Top left": (0, 0), "Top right": (0, 1), "Bottom left": (1, 0), "Bottom right": (1, 1)}
CLEAR, GONE = 3.3, 4.4
"""Mean opinions at or below which damage is clearly there, and at or above which nobody sees it."""


@dataclass(frozen=True)
class ChoiceQuestion:
    """One question about one picture. ``truth`` is the place of the right option."""

    type: str
    text: str
    options: tuple[str, ...]
    truth: int
    picture: Bytes
    reference: Bytes | None = None
    made: str = ""
    """What was done to the photograph, for whoever reads the errors."""

    @property
    def chance(self) -> float:
        return 1 / len(self.options)


@dataclass
class Maker:
    """Draws questions from photographs."""

    rng: np.random.Generator

    def photograph(self, photographs: Sequence[Path]) -> Bytes:
        with Image.open(photographs[int(self.rng.integers(len(photographs)))]) as picture:
            return np.asarray(picture.convert("RGB"))

    def one_of(self, names: Sequence[str]) -> str:
        return str(names[int(self.rng.integers(len(names)))])

    def clear_level(self, kind: str) -> int:
        """A level at which the damage is clearly there."""
        levels = [n for n in range(1, 6) if DISTORTIONS[kind].opinions[n - 1] <= CLEAR]
        return int(self.rng.choice(levels or [5]))

    def damaged(self, photograph: Bytes, *steps: tuple[str, int]) -> Bytes:
        return combine(photograph, [(kind, float(level)) for kind, level in steps], int(self.rng.integers(1 << 30)))

    def others(self, taken: Sequence[str], count: int, names: Sequence[str] = tuple(SPOKEN)) -> list[str]:
        """Kinds of categories that none of ``taken`` belongs to, each of another category."""
        categories = {DISTORTIONS[kind].category for kind in taken} | _look_alikes(taken)
        found: list[str] = []
        for kind in self.rng.permutation(names):
            if DISTORTIONS[str(kind)].category not in categories:
                found.append(str(kind))
                categories.add(DISTORTIONS[str(kind)].category)
        return found[:count]

    def asked(
        self,
        type_: str,
        text: str,
        right: str,
        wrong: Sequence[str],
        picture: Bytes,
        reference: Bytes | None = None,
        made: str = "",
    ) -> ChoiceQuestion:
        options = [right, *wrong]
        order = [int(place) for place in self.rng.permutation(len(options))]
        return ChoiceQuestion(type_, text, tuple(options[p] for p in order), order.index(0), picture, reference, made)


def _look_alikes(taken: Sequence[str]) -> set[str]:
    """Categories whose damage is partly the same to the eye: strong compression and pixelation also blur."""
    categories = {DISTORTIONS[kind].category for kind in taken}
    if categories & {"Compression", "Blurs", "Spatial distortions"}:
        return {"Blurs", "Compression", "Spatial distortions"} - categories if "Blurs" not in categories else set()
    return set()


# --- one function a type; each makes one question of one photograph ---


def what(maker: Maker, photograph: Bytes) -> ChoiceQuestion:
    kind = maker.one_of(tuple(SPOKEN))
    level = maker.clear_level(kind)
    text = maker.one_of(
        ("Which distortion is the most severe in the picture?", "What is the main quality problem of this image?")
    )
    wrong = [SPOKEN[other] for other in maker.others([kind], 3)]
    return maker.asked(
        "what", text, SPOKEN[kind], wrong, maker.damaged(photograph, (kind, level)), made=f"{kind} {level}"
    )


def what_with_reference(maker: Maker, photograph: Bytes) -> ChoiceQuestion:
    kind = maker.one_of(tuple(SPOKEN))
    level = maker.clear_level(kind)
    text = "Compared with the reference, which distortion has been added to the picture?"
    wrong = [SPOKEN[other] for other in maker.others([kind], 3)]
    picture = maker.damaged(photograph, (kind, level))
    return maker.asked("what, with reference", text, SPOKEN[kind], wrong, picture, photograph, f"{kind} {level}")


def which_kind(maker: Maker, photograph: Bytes) -> ChoiceQuestion:
    siblings = SIBLINGS[int(maker.rng.integers(len(SIBLINGS)))]
    kind = maker.one_of(siblings)
    level = maker.clear_level(kind)
    wrong = [SPOKEN[other] for other in siblings if other != kind]
    picture = maker.damaged(photograph, (kind, level))
    return maker.asked(
        "which kind", "Which of these affects the picture?", SPOKEN[kind], wrong, picture, made=f"{kind} {level}"
    )


def dominant_of_two(maker: Maker, photograph: Bytes) -> ChoiceQuestion:
    """Strong damage beside slight damage; both are options."""
    strong = maker.one_of([kind for kind in SPOKEN if DISTORTIONS[kind].opinions[4] < 2.6])
    (faint,) = maker.others([strong], 1)
    steps = sorted([(strong, 5), (faint, 1)], key=lambda step: DISTORTIONS[step[0]].category == "Compression")
    wrong = [SPOKEN[faint], *(SPOKEN[other] for other in maker.others([strong, faint], 1))]
    picture = maker.damaged(photograph, *steps)
    return maker.asked("what, of two", "Which distortion dominates?", SPOKEN[strong], wrong, picture, made=str(steps))


def degree(maker: Maker, photograph: Bytes) -> ChoiceQuestion:
    words = ("None", "Slight", "Moderate", "Severe")
    kind = maker.one_of(tuple(DEGREE_NOUNS))
    wanted = int(maker.rng.integers(4))
    levels = [n for n in range(1, 6) if min(3, severity_of(DISTORTIONS[kind].opinions[n - 1])) == wanted]
    level = int(maker.rng.choice(levels)) if levels else 0 if wanted == 0 else 5
    truth = min(3, severity_of(DISTORTIONS[kind].opinions[level - 1])) if level else 0
    picture = maker.damaged(photograph, (kind, level)) if level else photograph
    text = f"How severe is the {DEGREE_NOUNS[kind]} in the picture?"
    return ChoiceQuestion("how severe", text, words, truth, picture, made=f"{kind} {level}")


def yes_no(maker: Maker, photograph: Bytes) -> ChoiceQuestion:
    """Half with the damage asked about, a quarter with other damage, a quarter untouched; half ask for its absence."""
    kind = maker.one_of(tuple(ADJECTIVES))
    there, praised = bool(maker.rng.integers(2)), bool(maker.rng.integers(2))
    shown = kind if there else maker.one_of(["", *maker.others([kind], 1)])
    level = maker.clear_level(shown) if shown else 0
    picture = maker.damaged(photograph, (shown, level)) if shown else photograph
    word = ADJECTIVES[kind][praised]
    right, wrong = ("Yes", "No") if there != praised else ("No", "Yes")
    return maker.asked("yes/no", f"Is the picture {word}?", right, [wrong], picture, made=f"{shown} {level}")


def changed_from_reference(maker: Maker, photograph: Bytes) -> ChoiceQuestion:
    there = bool(maker.rng.integers(2))
    kind = maker.one_of(tuple(SPOKEN))
    level = maker.clear_level(kind)
    picture = maker.damaged(photograph, (kind, level)) if there else photograph
    right, wrong = ("Yes", "No") if there else ("No", "Yes")
    text = "Is the quality of the picture visibly worse than that of the reference?"
    return maker.asked(
        "yes/no, with reference", text, right, [wrong], picture, photograph, f"{kind} {level if there else 0}"
    )


def quality(maker: Maker, photograph: Bytes) -> ChoiceQuestion:
    wanted = int(maker.rng.integers(1, 6))
    steps = [
        (kind.name, n)
        for kind in PROTOCOL
        for n in range(1, 6)
        if round(kind.opinions[n - 1]) == wanted and abs(kind.opinions[n - 1] - wanted) < 0.3
    ]
    steps = [step for step in steps if not amount_is_neutral(step[0], float(step[1]))]
    step = steps[int(maker.rng.integers(len(steps)))] if wanted < 5 and steps else None
    picture = maker.damaged(photograph, step) if step else photograph
    truth = round(DISTORTIONS[step[0]].opinions[step[1] - 1] if step else UNCHANGED_OPINION)
    text = "What is the overall quality of the picture?"
    return ChoiceQuestion("quality level", text, LEVEL_WORDS, 5 - truth, picture, made=str(step))


def half(maker: Maker, photograph: Bytes) -> ChoiceQuestion:
    sides = [("Left half", "Right half"), ("Top half", "Bottom half")][int(maker.rng.integers(2))]
    kind = maker.one_of(PLACED)
    level = maker.clear_level(kind)
    place = int(maker.rng.integers(2))
    picture = _half_replaced(photograph, maker.damaged(photograph, (kind, level)), sides[place])
    text = f"Which half of the picture is affected by {SPOKEN[kind].lower()}?"
    return maker.asked("where, halves", text, sides[place], [sides[1 - place]], picture, made=f"{kind} {level}")


def corner(maker: Maker, photograph: Bytes) -> ChoiceQuestion:
    kind = maker.one_of(PLACED)
    level = maker.clear_level(kind)
    right = maker.one_of(tuple(CORNERS))
    damaged = maker.damaged(photograph, (kind, level))
    down, across = CORNERS[right]
    high, wide = photograph.shape[0] // 2, photograph.shape[1] // 2
    picture = photograph.copy()
    window = slice(down * high, (down + 1) * high), slice(across * wide, (across + 1) * wide)
    picture[window] = damaged[window]
    wrong = [name for name in CORNERS if name != right]
    text = "Where is the picture damaged most?"
    return maker.asked("where, corners", text, right, wrong, picture, made=f"{kind} {level}")


def sharper_side(maker: Maker, photograph: Bytes) -> ChoiceQuestion:
    sides = ("Left", "Right") if maker.rng.integers(2) else ("Top", "Bottom")
    place = int(maker.rng.integers(2))
    kind = maker.one_of(("gaussian_blur", "lens_blur", "motion_blur"))
    level = maker.clear_level(kind)
    picture = _half_replaced(photograph, maker.damaged(photograph, (kind, level)), f"{sides[1 - place]} half")
    text = "Which side of the picture is sharper?"
    return maker.asked("which is sharper", text, sides[place], [sides[1 - place]], picture, made=f"{kind} {level}")


def region_yes_no(maker: Maker, photograph: Bytes) -> ChoiceQuestion:
    side = maker.one_of(("left", "right", "upper", "lower"))
    kind = maker.one_of([kind for kind in PLACED if kind in ADJECTIVES])
    level = maker.clear_level(kind)
    there = bool(maker.rng.integers(2))
    opposite = {"left": "right", "right": "left", "upper": "lower", "lower": "upper"}[side]
    plain = {"left": "Left half", "right": "Right half", "upper": "Top half", "lower": "Bottom half"}
    picture = _half_replaced(photograph, maker.damaged(photograph, (kind, level)), plain[side if there else opposite])
    right, wrong = ("Yes", "No") if there else ("No", "Yes")
    text = f"Is the {side} half of the picture {ADJECTIVES[kind][0]}?"
    return maker.asked("yes/no of a part", text, right, [wrong], picture, made=f"{kind} {level} {there}")


def absent(maker: Maker, photograph: Bytes) -> ChoiceQuestion:
    """Two kinds of damage are there, the third option is not."""
    first = maker.one_of(tuple(SPOKEN))
    (second,) = maker.others([first], 1)
    (right,) = maker.others([first, second], 1)
    steps = sorted(
        [(first, maker.clear_level(first)), (second, maker.clear_level(second))],
        key=lambda step: DISTORTIONS[step[0]].category == "Compression",
    )
    picture = maker.damaged(photograph, *steps)
    text = "Which of these distortions is NOT present in the picture?"
    wrong = [SPOKEN[first], SPOKEN[second]]
    return maker.asked("which is not there", text, SPOKEN[right], wrong, picture, made=str(steps))


def _half_replaced(photograph: Bytes, damaged: Bytes, side: str) -> Bytes:
    result = photograph.copy()
    high, wide = photograph.shape[0] // 2, photograph.shape[1] // 2
    window = {
        "Left half": (slice(None), slice(0, wide)),
        "Right half": (slice(None), slice(wide, None)),
        "Top half": (slice(0, high), slice(None)),
        "Bottom half": (slice(high, None), slice(None)),
    }[side]
    result[window] = damaged[window]
    return result


TYPES: tuple[Callable[[Maker, Bytes], ChoiceQuestion], ...] = (
    what,
    what_with_reference,
    dominant_of_two,
    which_kind,
    degree,
    yes_no,
    region_yes_no,
    changed_from_reference,
    quality,
    half,
    corner,
    sharper_side,
    absent,
)


def choice_questions(
    photographs: Sequence[Path], each: int, seed: int, share: int = 0, shares: int = 1
) -> Iterator[ChoiceQuestion]:
    """``each`` questions of every type, of photographs drawn at random; or every ``shares``-th of them."""
    for place in range(each):
        for number, make in enumerate(TYPES):
            if (place * len(TYPES) + number) % shares == share:
                maker = Maker(np.random.default_rng([seed, number, place]))
                yield make(maker, maker.photograph(photographs))


assert SEVERITIES[:4] == ("none", "slight", "moderate", "severe")
