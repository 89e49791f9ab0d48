"""What answers rest on: readings of properties, of the whole picture or of a part of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from agenticiqa.models.offline.advising import advice_for
from agenticiqa.models.offline.executor import Finder
from agenticiqa.models.offline.readings.told import Told, reader_of
from agenticiqa.state import Advice
from agenticiqa.vision.quality_map import quality_map
from agenticiqa.vision.worst_place import WorstPlace, worst_place
from agenticiqa.vocabulary import GLOBAL, same_name


class Evidence(ABC):
    """Readings, each made once, when somebody asks for it."""

    @abstractmethod
    def told(self, name: str, part: str = GLOBAL) -> Told | None:
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
        self._told: dict[tuple[str, str], Told | None] = {}

    def told(self, name: str, part: str = GLOBAL) -> Told | None:
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
