"""What answers rest on: a question's meaning, and readings of properties, of the whole picture or of a part of it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from agenticiqa.embedded.advising import advice_for
from agenticiqa.embedded.findings import Finder
from agenticiqa.embedded.parts import Part, singular
from agenticiqa.embedded.properties import Property
from agenticiqa.embedded.question import Meaning
from agenticiqa.embedded.readings.base import PropertyReading, reader_of
from agenticiqa.state import Advice
from agenticiqa.vision.locators import load_locators
from agenticiqa.vision.quality_map import WorstPlace, quality_map, worst_place
from agenticiqa.vlm_client import Verdict
from agenticiqa.vocabulary import GLOBAL, UNABLE_TO_DETERMINE, same_name

CLOSE = 0.1
"""Answers whose chances lie nearer together than this are a close call."""
OTHER_MODELS = "A vision-language model could tell more."
WHAT_CAN_BE_ASKED = (
    "Ask me how the picture looks: sharpness, light, colours, noise, compression, composition, what is wrong with it, "
    "or how good it is."
)


class SeenEvidence:
    """Readings of looks at the picture, each made once, when it is first needed."""

    def __init__(self, find: Finder) -> None:
        self._find = find
        self._told: dict[tuple[str, str], PropertyReading | None] = {}

    def told(self, name: str, part: str = GLOBAL) -> PropertyReading | None:
        """A property of a part; None where nothing reads it."""
        if (name, part) not in self._told:
            read = reader_of(name)
            self._told[name, part] = read(self._find(part).look) if read else None
        return self._told[name, part]

    def located(self, part: str) -> bool:
        """Whether a part was found; where it was not, its readings are those of the whole picture."""
        return same_name(part, GLOBAL) or self._find(part).look.box is not None

    def note(self, part: str) -> str | None:
        """What is to be said of how a part was found, or of the picture."""
        return self._find(part).note

    def share(self, category: str, kind: str, part: str = GLOBAL) -> float | None:
        """How much of a category's damage is of a finer kind; None where the kind is not told apart."""
        look = self._find(part).look
        return look.scene.kind_share(category, kind, look.reading)

    def damage(self, category: str, part: str = GLOBAL) -> tuple[float, ...] | None:
        """The chances of none, slight, moderate, severe and extreme damage of a category."""
        return self._find(part).look.reading.severity_probabilities.get(category)

    def advice(self, category: str | None = None) -> Sequence[Advice]:
        """What to do about the picture, or about one category of damage in it, what matters most first."""
        return advice_for(self._find(GLOBAL).look, thorough=category is None, category=category)

    def faces(self) -> int:
        """How many faces were found."""
        return len(load_locators().faces(self._find(GLOBAL).look.image.rgb))

    def is_guess(self, part: str) -> bool:
        """Whether what was taken for a part is only perhaps it."""
        return self._find(part).guess

    def is_assumed(self, part: str) -> bool:
        """Whether a part was taken for what stands out, for want of anything better."""
        return self._find(part).assumed

    def is_absent(self, part: str) -> bool:
        """Whether a part that was not found can be said not to be there."""
        return self._find(part).absent

    def worst_place(self) -> WorstPlace:
        """Where the whole picture is worst, by the map that reports and the page draw: both say the same."""
        look = self._find(GLOBAL).look
        return worst_place(quality_map(look.image, look.scene), look.image.size)


@dataclass(frozen=True)
class EmbeddedAnswer:
    """What is answered, why, and what makes it uncertain."""

    text: str
    """An option's letter, yes, no, or words."""
    sentences: tuple[str, ...] = ()
    """The answer in a sentence, and why; in plain words."""
    chances: Mapping[str, float] = field(default_factory=dict)
    """Of each option, or of yes and no."""
    doubts: tuple[str, ...] = ()
    """What makes it uncertain; said behind the answer."""
    notes: tuple[str, ...] = ()
    """What is to be said beside it and casts no doubt: that a part was not found, or how it was."""
    measured: tuple[str, ...] = ()
    """The numbers behind it."""

    def verdict(self) -> Verdict:
        doubts = tuple(dict.fromkeys(self.doubts))
        said = dict.fromkeys((*self.sentences, *self.notes, *doubts))
        measured = tuple(text for text in dict.fromkeys(self.measured) if text not in said)
        return Verdict(self.text, " ".join(said), self.chances, doubt=" ".join(doubts) or None, measured=measured)


@dataclass(frozen=True)
class AnswerProblem:
    """A question's meaning, and the readings to answer it from."""

    meaning: Meaning
    evidence: SeenEvidence
    marked: tuple[str, ...] = ()
    """The parts that the user marked and asks about, by name."""

    @property
    def asked(self) -> Property | None:
        return self.meaning.known()

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The parts asked about by name; the whole picture where none is."""
        if self.asked and self.asked.is_of_frame:
            return (GLOBAL,)
        named = [name for part in self.meaning.parts for name in self._each(part)]
        return self.marked or tuple(named) or (GLOBAL,)

    def _each(self, part: Part) -> list[str]:
        """Of faces every one is asked about, of other things what stands for them all."""
        faces = self.evidence.faces() if part.name.casefold().endswith("faces") else 0
        return [f"face {number} of {faces}" for number in range(1, faces + 1)] if faces > 1 else [part.name]

    @property
    def subject(self) -> str:
        """How a sentence about the answer begins: "The picture is", "The eyes are"."""
        return subject_of(self.parts[0]) if self.evidence.located(self.parts[0]) else subject_of(GLOBAL)

    def told(self, name: str, part: str | None = None) -> PropertyReading | None:
        return self.evidence.told(name, part or self.parts[0])

    def missing_parts(self, parts: Sequence[str] | None = None) -> tuple[str, ...]:
        """One sentence for each part that was not found, or only perhaps."""
        seen = self.evidence
        doubted = [p for p in parts or self.parts if not seen.located(p) or seen.is_guess(p) or seen.is_assumed(p)]
        missing = "I could not find {!r}, so this is about the whole picture"
        notes = ((self.evidence.note(part) or missing.format(part)).partition(" (pip ")[0] for part in doubted)
        return tuple(f"{note[0].upper()}{note[1:]}." for note in notes)

    def notes(self) -> tuple[str, ...]:
        """How the parts that were found were found, and what is to be said of the picture."""
        found = (self.evidence.note(part) for part in self.parts)
        return tuple(f"{note[0].upper()}{note[1:]}." for note in found if note)


def subject_of(part: str) -> str:
    """
    >>> subject_of("Global"), subject_of("eyes of the girl"), subject_of("grass")
    ('The picture is', 'The eyes of the girl are', 'The grass is')
    """
    if same_name(part, GLOBAL):
        return "The picture is"
    if re.fullmatch(r"face \d+ of \d+", part):
        return f"{part.capitalize()} (from the left) is"
    head = re.split(r" (?:of|in|on|at|behind|with) ", part)[0].rsplit(maxsplit=1)[-1]
    several = head.endswith("s") and singular(head) != head.casefold() and not head.endswith(("'s", "’s"))
    return f"The {part} {'are' if several else 'is'}"


def statement(problem: AnswerProblem, asked: Property, end: int, *, because: str = "") -> str:
    """What is said of the part asked about: "The sky is noisy: its smooth areas show grain."."""
    if problem.subject.endswith(" are"):
        because = because.replace("its ", "their ").replace("it is ", "they are ")
    return f"{problem.subject} {asked.word(end)}{f': {because}' if because else ''}."


def guessed(asked: Property) -> str:
    return f"Take what is said of {asked.title} as a guess."


def unread(asked: Property | None) -> EmbeddedAnswer:
    """No answer, and why: nothing reads the property, or this picture does not let it be read."""
    if asked is None:
        return EmbeddedAnswer(
            UNABLE_TO_DETERMINE, doubts=("That is not about how the picture looks.", WHAT_CAN_BE_ASKED, OTHER_MODELS)
        )
    reason = asked.reading.get("nothing")
    why = f"I cannot judge {asked.title}: {reason}." if reason else f"This picture does not let {asked.title} be read."
    return EmbeddedAnswer(UNABLE_TO_DETERMINE, doubts=(why, OTHER_MODELS))


def close_call(chances: Mapping[str, float], best: str = "") -> tuple[str, ...]:
    """A doubt where the two likeliest answers are nearly as likely; ``best`` says the likelier one in words."""
    ranked = sorted(chances.values(), reverse=True)
    if len(ranked) < 2 or ranked[0] - ranked[1] >= CLOSE:
        return ()
    return (f"It is a close call{f', if anything {best}' if best else ': the next answer is nearly as likely'}.",)
