"""The words the agents agree on: distortion categories, severities, quality levels, and their synonyms.

Models write "Blur", "defocus" or "JPEG artefacts"; everything behind the models sees the canonical names only. The
synonyms stand in ``vocabulary.yaml`` and are read when first needed.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeVar, get_args

from agenticiqa._data import by_word, listed, read_data

V = TypeVar("V")
CategoryName = Literal[
    "Blurs",
    "Color distortions",
    "Compression",
    "Noise",
    "Brightness change",
    "Sharpness",
    "Contrast",
    "Spatial distortions",
]
CATEGORIES: tuple[CategoryName, ...] = get_args(CategoryName)

SeverityName = Literal["none", "slight", "moderate", "severe", "extreme"]
SEVERITIES: tuple[SeverityName, ...] = get_args(SeverityName)

LEVEL_NAMES: dict[int, str] = {5: "Excellent", 4: "Good", 3: "Fair", 2: "Poor", 1: "Bad"}
LEVEL_LETTERS: dict[int, str] = {5: "A", 4: "B", 3: "C", 2: "D", 1: "E"}
LETTER_LEVELS: dict[str, int] = {letter: level for level, letter in LEVEL_LETTERS.items()}

CATEGORY_WORDS: dict[str, str] = {
    "Blurs": "blur",
    "Color distortions": "colour distortion",
    "Compression": "compression damage",
    "Noise": "noise",
    "Brightness change": "wrong brightness",
    "Sharpness": "oversharpening",
    "Contrast": "wrong contrast",
    "Spatial distortions": "spatial distortion",
}
"""What people call damage of a category."""
GLOBAL = "Global"
OVERALL = "Overall"
UNABLE_TO_DETERMINE = "Unable to determine"
UNCHANGED_OPINION = 4.6
"""What people give a photograph that nothing was done to, on the scale of 1 to 5 (KADID-10k)."""
DEFAULT_QUERY = "Rate the perceptual quality of the image."
"""What is asked where the user gives no question."""


def damage_in_words(kind: str) -> str:
    """A kind of damage as people say it: the agents' own names are for models.

    >>> damage_in_words("Blurs"), damage_in_words("Overall"), damage_in_words("moiré")
    ('blur', 'overall', 'moiré')
    """
    return "overall" if kind == OVERALL else CATEGORY_WORDS.get(kind, kind)


_ADVERBS = {"none": "not", "slight": "slightly", "moderate": "moderately", "severe": "severely", "extreme": "extremely"}


def severity_in_words(severity: str, kind: str) -> str:
    """How strong which damage is.

    >>> severity_in_words("severe", "Blurs"), severity_in_words("moderate", "Contrast")
    ('severe blur', 'moderately wrong contrast')
    """
    words = damage_in_words(kind)
    return f"{_ADVERBS[severity] if words.startswith('wrong ') else severity} {words}"


def part_in_words(name: str) -> str:
    """A part of the picture as people say it."""
    return "whole picture" if name == GLOBAL else name


Polarity = Literal["bad", "good", "neutral"]
"""``bad`` names damage ("blurry"), ``good`` its absence ("sharp"), ``neutral`` an attribute ("exposure")."""


@dataclass(frozen=True)
class DistortionTerm:
    """What one word or phrase says about a picture's quality."""

    category: CategoryName
    kind: str
    polarity: Polarity


@cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = read_data("vocabulary.yaml")
    if tuple(data["distortions"]) != CATEGORIES or not {*data["severities"]} <= {*SEVERITIES}:
        raise ValueError("vocabulary.yaml names other categories or severities than vocabulary.py.")
    return data


@cache
def distortion_terms() -> dict[str, DistortionTerm]:
    """Every word and phrase for a distortion, in plain spelling.

    >>> distortion_terms()["noisier"]
    DistortionTerm(category='Noise', kind='noise', polarity='bad')
    """
    terms = {
        plain_spelling(word): DistortionTerm(category, kind, polarity)
        for category, kinds in _data()["distortions"].items()
        for kind, words in kinds.items()
        for polarity in get_args(Polarity)
        for word in listed(words.get(polarity, "")) if word
    }  # fmt: skip
    for adjective in listed(_data()["compared"]):
        for form in compared(adjective):
            terms[form] = terms[adjective]
    return terms


def compared(adjective: str) -> tuple[str, str]:
    """Comparative and superlative of a short adjective.

    >>> compared("noisy"), compared("dim"), compared("sharp")
    (('noisier', 'noisiest'), ('dimmer', 'dimmest'), ('sharper', 'sharpest'))
    """
    stem = adjective[:-1] + "i" if adjective.endswith("y") else adjective.removesuffix("e")
    if adjective in ("dim", "flat", "big", "thin", "red", "hot", "wet"):
        stem += adjective[-1]
    return stem + "er", stem + "est"


@cache
def kinds_seen_as() -> dict[str, frozenset[str]]:
    """The kinds that the vision model tells apart, by the finer kind of damage that people name.

    >>> sorted(kinds_seen_as()["defocus"])
    ['gaussian_blur', 'lens_blur']
    """
    return {name: frozenset(facts["seen_as"]) for name, facts in _kinds().items() if "seen_as" in facts}


@cache
def kind_titles() -> dict[str, str]:
    """What people call the kinds that the vision model tells apart."""
    return dict(_data()["kind_titles"])


def flaw_titles() -> dict[str, str]:
    """What people call the flaws of photographs that say more than their category."""
    return dict(_data()["flaw_titles"])


@cache
def flaws_meant() -> dict[str, str]:
    """The flaw of photographs as taken that a finer kind of damage means, where the vision model knows one.

    >>> flaws_meant()["motion blur"], "pixelation" in flaws_meant()
    ('motion_blur', False)
    """
    return {name: str(facts["flaw"]) for name, facts in _kinds().items() if "flaw" in facts}


def _kinds() -> dict[str, dict[str, Any]]:
    return {name: facts for kinds in _data()["distortions"].values() for name, facts in kinds.items()}


def plain_spelling(word: str) -> str:
    """Lower case, no accents, American spelling.

    >>> [plain_spelling(w) for w in ("Colours", "moiré", "ARTEFACT", "centre")]
    ['colors', 'moire', 'artifact', 'center']
    """
    text = word.casefold()
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    for british, american in _data()["spellings"].items():
        if british in text:
            text = text.replace(british, american)
    return text


def canonical_category(text: str) -> CategoryName | None:
    """The category a word belongs to, or None when it names no distortion we know.

    >>> canonical_category("Motion blur"), canonical_category("over-exposure"), canonical_category("beauty")
    ('Blurs', 'Brightness change', None)
    """
    words = plain_words(text)
    term = distortion_terms().get(words)
    return term.category if term else _category_names().get(words)


@cache
def _category_names() -> dict[str, CategoryName]:
    return {category.lower(): category for category in CATEGORIES} | by_word(_data()["in_replies"])


def canonical_severity(text: str) -> SeverityName | None:
    """One of the five severities, or None.

    >>> canonical_severity("Mild"), canonical_severity("heavy"), canonical_severity("terrible")
    ('slight', 'severe', None)
    """
    return _severity_names().get(plain_words(text))


@cache
def _severity_names() -> dict[str, SeverityName]:
    return {name: name for name in SEVERITIES} | by_word(_data()["severities"])


def plain_words(text: str) -> str:
    """In plain spelling, with single blanks where there were blanks, hyphens or underscores.

    >>> plain_words("Colour_shift"), plain_words(" JPEG-2000 ")
    ('color shift', 'jpeg 2000')
    """
    return " ".join(plain_spelling(text).replace("_", " ").replace("-", " ").split())


def same_name(left: str, right: str) -> bool:
    """Object names compare trimmed and without case."""
    return left.strip().casefold() == right.strip().casefold()


def find_by_name(entries: Mapping[str, V] | None, name: str) -> V | None:
    """The entry of an object, however its name is spelled; None where there is none."""
    return next((entry for other, entry in (entries or {}).items() if same_name(name, other)), None)


def letters_and_digits(text: str) -> str:
    """Lower case, and nothing but letters and digits: names compare so however they are spelled.

    >>> letters_and_digits("MS-SSIM") == letters_and_digits("ms_ssim"), letters_and_digits("No-reference")
    (True, 'noreference')
    """
    return "".join(character for character in text.casefold() if character.isalnum())
