"""What answers rest on: readings of properties, of the whole picture or of a part of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from agenticiqa.embedded.advising import advice_for
from agenticiqa.embedded.findings import Finder
from agenticiqa.embedded.language.meaning.claims import claim_with_amount
from agenticiqa.embedded.language.meaning.properties import Property, properties
from agenticiqa.embedded.language.meaning.reader import Meaning
from agenticiqa.embedded.language.options import Option
from agenticiqa.embedded.readings.base import PropertyReading, reader_of
from agenticiqa.state import Advice
from agenticiqa.vision.quality_map import WorstPlace, quality_map, worst_place
from agenticiqa.vlm_client import Verdict
from agenticiqa.vocabulary import GLOBAL, UNABLE_TO_DETERMINE, same_name


class Evidence(ABC):
    """Readings, each made once, when somebody asks for it."""

    @abstractmethod
    def told(self, name: str, part: str = GLOBAL) -> PropertyReading | None:
        """A property of a part; None where nothing reads it."""

    @abstractmethod
    def located(self, part: str) -> bool:
        """Whether a part was found; where it was not, its readings are those of the whole picture."""

    def is_guess(self, part: str) -> bool:  # noqa: ARG002 - most readings are of parts that are known
        """Whether what was taken for a part is only perhaps it."""
        return False

    @abstractmethod
    def note(self, part: str) -> str | None:
        """What is to be said of how a part was found, or of the picture."""

    @abstractmethod
    def share(self, category: str, kind: str, part: str = GLOBAL) -> float | None:
        """How much of a category's damage is of a finer kind; None where the kind is not told apart."""

    @abstractmethod
    def damage(self, category: str, part: str = GLOBAL) -> tuple[float, ...] | None:
        """The chances of none, slight, moderate, severe and extreme damage of a category."""

    def worst_place(self) -> WorstPlace | None:
        """Where the whole picture is worst; None where no picture is at hand."""
        return None

    @abstractmethod
    def advice(self) -> Sequence[Advice]:
        """What to do about the picture, what matters most first."""


class SeenEvidence(Evidence):
    """Readings of looks at the picture."""

    def __init__(self, find: Finder) -> None:
        self._find = find
        self._told: dict[tuple[str, str], PropertyReading | None] = {}

    def told(self, name: str, part: str = GLOBAL) -> PropertyReading | None:
        if (name, part) not in self._told:
            read = reader_of(name)
            self._told[name, part] = read(self._find(part).look) if read else None
        return self._told[name, part]

    def located(self, part: str) -> bool:
        return same_name(part, GLOBAL) or self._find(part).look.box is not None

    def is_guess(self, part: str) -> bool:
        return self._find(part).guess

    def note(self, part: str) -> str | None:
        return self._find(part).note

    def share(self, category: str, kind: str, part: str = GLOBAL) -> float | None:
        look = self._find(part).look
        return look.scene.kind_share(category, kind, look.reading)

    def damage(self, category: str, part: str = GLOBAL) -> tuple[float, ...] | None:
        return self._find(part).look.reading.severity_probabilities.get(category)

    def worst_place(self) -> WorstPlace:
        # The same map that reports and the page draw, so that what is marked there is what is said here.
        look = self._find(GLOBAL).look
        return worst_place(quality_map(look.image, look.scene), look.image.size)

    def advice(self) -> Sequence[Advice]:
        return advice_for(self._find(GLOBAL).look, thorough=True)


# --- A question ready to be answered, and what an answer is made of ---


CANNOT_JUDGE = "This backend cannot judge that; use a vision-language model (see `agenticiqa backends list`)."
COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "gray", "black", "white")
CLOSE = 0.1
"""Answers whose chances lie nearer together than this are a close call."""


@dataclass(frozen=True)
class EmbeddedAnswer:
    """What is answered, why, and what makes it uncertain."""

    text: str
    """An option's letter, yes, no, or words."""
    sentences: tuple[str, ...] = ()
    chances: Mapping[str, float] = field(default_factory=dict)
    """Of each option, or of yes and no."""
    doubts: tuple[str, ...] = ()
    """Said first."""
    remarks: tuple[str, ...] = ()
    """Said last; they cast no doubt."""

    def verdict(self) -> Verdict:
        doubts = tuple(dict.fromkeys(self.doubts))
        said = dict.fromkeys((*doubts, *self.sentences, *self.remarks))
        return Verdict(self.text, " ".join(said), self.chances, doubt=" ".join(doubts) or None)


@dataclass(frozen=True)
class AnswerProblem:
    """A question's meaning, what its options claim beyond it, and the readings to answer from."""

    meaning: Meaning
    evidence: Evidence
    lettered: bool = True
    """Whether the options were offered with letters; else they are alternatives within the question itself."""
    claims: Sequence[Option] = ()
    """The same options, with the finer kinds of damage that they name."""
    marked: tuple[str, ...] = ()
    """The parts that the user marked and asks about, by name."""

    @property
    def asked(self) -> Property | None:
        return self.meaning.known()

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The parts asked about by name; the whole picture where none is."""
        return self.marked or tuple(part.name for part in self.meaning.parts) or (GLOBAL,)

    def told(self, name: str, part: str | None = None) -> PropertyReading | None:
        return self.evidence.told(name, part or self.parts[0])

    def missing_parts(self, parts: Sequence[str] | None = None) -> tuple[str, ...]:
        """One sentence for each part that was not found, or only perhaps."""
        wanted = self.parts if parts is None else parts
        doubted = (p for p in wanted if not self.evidence.located(p) or self.evidence.is_guess(p))
        return tuple(map(self._missing, doubted))

    def stands_in(self) -> tuple[str, ...]:
        """A doubt where the quality on the whole answers for something that is praised and that nobody reads."""
        praised = self.meaning.praised
        return (f"Nothing here reads {praised!r}; the quality of the picture was taken as a hint.",) if praised else ()

    def notes(self) -> tuple[str, ...]:
        """How the parts that were found were found, and what is to be said of the picture."""
        found = (self.evidence.note(part) for part in self.parts if self.evidence.located(part))
        return tuple(f"{note[0].upper()}{note[1:]}." for note in found if note)

    def _missing(self, part: str) -> str:
        note = self.evidence.note(part) or f"{part!r} cannot be located, so the whole picture was judged"
        return f"{note[0].upper()}{note[1:]}."

    def by_own_words(self) -> AnswerProblem:
        """The same question with options that claim what they say themselves, not an amount of what is asked."""
        own = {option.letter: claim_with_amount(option.text) for option in self.meaning.options}
        options = tuple(
            replace(option, property=said[0], amount=said[1], claim=option.claim or said[0])
            if (said := own[option.letter])
            else option
            for option in self.meaning.options
        )
        return replace(self, meaning=replace(self.meaning, options=options))

    def names_damage(self, letter: str) -> bool:
        """Whether an option names damage, and neither praises nor denies."""
        claims = (option.claim for option in self.claims if option.letter == letter)
        return any(claim.polarity != "good" and not claim.negated for claim in claims)

    def kind_of(self, letter: str) -> tuple[str, str] | None:
        """The category and finer kind of damage that an option names."""
        for option in self.claims:
            if option.letter == letter and option.claim.category and option.claim.distortion:
                return option.claim.category, option.claim.distortion
        return None


def unread(asked: Property | None) -> str:
    """Why a property has no reading."""
    if asked is None:
        return CANNOT_JUDGE
    if reason := asked.reading.get("nothing"):
        return f"Nothing here reads {asked.title}: {reason}. {CANNOT_JUDGE}"
    return f"This picture does not let {asked.title} be read. {CANNOT_JUDGE}"


def guessed(asked: Property) -> str:
    return f"What is said of {asked.title} is a guess: it rests on hints, not on a reading that was checked."


def close_call(chances: Mapping[str, float]) -> tuple[str, ...]:
    """A doubt where the two likeliest answers are nearly as likely."""
    ranked = sorted(chances.values(), reverse=True)
    if len(ranked) < 2 or ranked[0] - ranked[1] >= CLOSE:
        return ()
    return (f"It is a close call: the next answer is nearly as likely ({ranked[0]:.0%} and {ranked[1]:.0%}).",)


def likeliest(chances: Mapping[str, float], texts: Mapping[str, str]) -> str:
    """The likeliest letter; among equals the words decide, so that their order does not."""
    return max(chances, key=lambda letter: (round(chances[letter], 9), texts.get(letter, letter)))


def unable(*doubts: str) -> EmbeddedAnswer:
    return EmbeddedAnswer(UNABLE_TO_DETERMINE, doubts=doubts or (CANNOT_JUDGE,))


def property_named(name: str) -> Property:
    return properties()[name]
