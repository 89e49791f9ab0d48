"""The KADID-10k protocol as numbers: 25 distortions in five levels, and what people thought of each.

Parameters and mean opinions are those published by Lin, Hosu and Saupe, KADID-10k: A large-scale artificially
distorted IQA database, QoMEX, 2019. The opinions are means over 81 photographs of 512×384 pixels, on the scale from
1 (bad) to 5 (excellent); people gave an unchanged photograph about 4.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agenticiqa._data import parse_yaml
from agenticiqa.errors import AgenticIQAError
from agenticiqa.vocabulary import plain_words

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


def _distortion(row: dict[str, Any]) -> Distortion:
    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    return Distortion(**fields)


_FILE = Path(__file__).with_name("protocol.yaml")
PROTOCOL: tuple[Distortion, ...] = tuple(map(_distortion, parse_yaml(_FILE.read_text(encoding="utf-8"))))
DISTORTIONS: dict[str, Distortion] = {distortion.name: distortion for distortion in PROTOCOL}
_BY_WORD = {plain_words(word): each for each in PROTOCOL for word in (each.name, each.title, *each.aliases)}


def find(kind: str) -> Distortion:
    """A distortion by its name, title or alias; British spelling is welcome.

    >>> find("Colour shift").name, find("blur").name, find("JPEG 2000").name
    ('color_shift', 'gaussian_blur', 'jpeg2000')
    """
    found = _BY_WORD.get(plain_words(kind))
    if found is None:
        raise DistortionError(f"There is no distortion {kind!r}.", hint=f"Choose from {', '.join(DISTORTIONS)}.")
    return found


def expected_opinion(kind: str, level: float) -> float:
    """What people think, on average, of a photograph with this damage: 1 (bad) to 5 (excellent).

    >>> expected_opinion("jpeg", 4)
    1.9454
    """
    return find(kind).opinion(level)
