"""What can be asked about a picture: the entries of ``properties.yaml``, one for each label of the question reader."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Literal

from agenticiqa._data import listed, read_data
from agenticiqa.vocabulary import CategoryName, distortion_terms, plain_words

Good = Literal["much", "little", "middle"]


@dataclass(frozen=True)
class Property:
    """One entry: an axis from little to much of something, or a choice between values."""

    name: str
    title: str
    good: Good = "middle"
    """The end that people want."""
    has_scale: bool = True
    ends: Mapping[int, str] = field(default_factory=dict)
    """What a picture with much of it (1), little of it (-1) or too much of it (2) is called."""
    kind: str | None = None
    """The finer kind of damage that it is, where it is damage or the lack of it."""
    reading: Mapping[str, str] = field(default_factory=dict)
    implied_by: Mapping[str, int] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    """From a word to the value it means."""
    papers: Mapping[str, float] = field(default_factory=dict)
    """From a size of paper to the amount it stands for."""
    sentence: str = ""
    mild: str = ""
    """What its bad end is called where people say so and nothing is broken: "soft" of a blurry one."""
    fix: str = ""
    """What helps against its bad end, whatever the cause."""
    fix_much: str = ""
    """What helps where there is much of it already."""

    @property
    def is_general(self) -> bool:
        """Quality and flaws as such: any particular property says more."""
        return self.name in ("quality", "flaw", "flaw_count")

    @property
    def is_of_frame(self) -> bool:
        """Whether it belongs to the whole frame, whatever part a question names: "is the horizon straight?"."""
        return self.name in ("level", "aspect", "rule_of_thirds", "file_format", "camera_settings", "time_of_day")

    @property
    def bad_end(self) -> int:
        """The end that is a fault; 0 where neither is."""
        return {"much": -1, "little": 1, "middle": 0}[self.good] if self.has_scale else 0

    @cached_property
    def category(self) -> CategoryName | None:
        """The category of damage that its kind belongs to."""
        return next((term.category for term in distortion_terms().values() if term.kind == self.kind), None)

    def word(self, end: int) -> str:
        """What an end is called.

        >>> properties()["sharp"].word(-1), properties()["hazy"].word(1)
        ('blurry', 'hazy')
        """
        return self.ends.get(end) or (self.title if end > 0 else f"no {self.title}")

    def value_in(self, text: str) -> str | None:
        """The value that a text names; of several words the longest counts.

        >>> properties()["picture_kind"].value_in("an oil painting"), properties()["mood"].value_in("blue")
        ('painting', None)
        """
        padded = f" {re.sub(r'[^a-z0-9]+', ' ', plain_words(text)).strip()} "
        found = [word for word in self.values if f" {word} " in padded or f" {word}s " in padded]
        return self.values[max(found, key=len)] if found else None


@cache
def properties() -> dict[str, Property]:
    return {name: _property(name, entry) for name, entry in read_data("embedded/properties.yaml").items()}


def _property(name: str, entry: dict[str, Any]) -> Property:
    values = {plain_words(word): value for value, words in entry.get("values", {}).items() for word in listed(words)}
    as_written = ("good", "kind", "implied_by", "papers", "mild", "fix", "fix_much")
    return Property(
        name,
        entry["title"],
        has_scale="good" in entry,
        ends={end: entry[key] for key, end in (("high", 1), ("low", -1), ("too_much", 2)) if key in entry},
        reading=entry["reading"],
        values=values,
        sentence=entry["sentence"],
        **{key: entry[key] for key in as_written if key in entry},
    )
