"""Which of two pictures has more of what a question asks for: "which is brighter?", "which one is less noisy?"."""

import math
from dataclasses import dataclass

from agenticiqa.embedded.looking import Looker
from agenticiqa.embedded.properties import Property
from agenticiqa.embedded.question import understand
from agenticiqa.embedded.readings.base import PropertyReading, reader_of
from agenticiqa.pictures.images import LoadedImage
from agenticiqa.vision.network import load_vision
from agenticiqa.vocabulary import compared

SLOPE = 12.0
"""Odds of e for a lead of a twelfth of the axis: half a place of five makes about three of four people agree."""
_SHORT = 7
"""Letters of adjectives that are compared with -er."""


@dataclass(frozen=True)
class AskedLead:
    """How far one of two pictures leads in what was asked for."""

    asked: Property
    end: int
    a: PropertyReading
    b: PropertyReading

    @property
    def chance_a(self) -> float:
        """The chance that A has more of what the question names."""
        sizes = [float(told.numbers.get("megapixels", 0.0)) for told in (self.a, self.b)]
        # Pixels are counted, however few or many there are.
        lead = math.log2(sizes[0] / sizes[1]) if all(sizes) else (self.a.amount or 0.0) - (self.b.amount or 0.0)
        return 1 / (1 + math.exp(-SLOPE * lead * self.end))

    @property
    def word(self) -> str:
        """ "brighter", "less noisy", "more evenly lit"."""
        word = self.asked.word(self.end)
        return compared(word)[0] if word.isalpha() and len(word) <= _SHORT else f"more {word}"

    def reasons(self) -> list[str]:
        sides = (("A", self.a), ("B", self.b))
        return [" ".join(dict.fromkeys((f"{side}: {told.sentence}", *told.measured))) for side, told in sides]


def asked_lead(query: str, a: LoadedImage, b: LoadedImage) -> AskedLead | None:
    """What a question about two pictures asks for, read in both; None where it asks which is better, or is not read."""
    meaning = understand(query).meaning
    asked = meaning.known()
    of_both = meaning.form in ("compare", "which", "where")  # "Is it sharp?" is asked of each
    read = reader_of(asked.name) if asked and of_both and asked.has_scale and not asked.is_general else None
    if asked is None or read is None:
        return None
    looker = Looker(load_vision())
    told = [read(looker.look(picture)) for picture in (a, b)]
    if any(each is None or each.amounts is None for each in told):
        return None
    first, second = (each for each in told if each is not None)
    return AskedLead(asked, meaning.polarity, first, second)
