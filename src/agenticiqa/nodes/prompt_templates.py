"""Templates of prompts with named fields: the shipped ones, and a user's own from a folder, checked when it is read."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from agenticiqa.errors import ConfigError
from agenticiqa.runtime.files import write_whole

# Only {name} is a field: the braces of JSON in a prompt hold more than one bare word.
_FIELD = re.compile(r"\{([a-z_]+)\}")
_USER_LINE = re.compile(r"^User:[ \t]*$", re.MULTILINE)
SUFFIX = ".txt"
LONGEST_FILE = 200_000
"""In bytes: no model reads a longer prompt for every step."""


@dataclass(frozen=True)
class PromptTemplate:
    """One step's prompt. ``fields`` are those it may use, ``needed`` those without which it asks nothing."""

    name: str
    system: str
    user: str
    fields: tuple[str, ...]
    needed: tuple[str, ...] = ("query",)

    def filled(self, values: Mapping[str, str]) -> tuple[str, str]:
        """(system, user). A paragraph of the user message whose fields are all empty is left out.

        >>> template = PromptTemplate("x", "Answer.", "Q: {query}\\n\\nOptions: {options}", ("query", "options"))
        >>> template.filled({"query": "Is {it} sharp?", "options": ""})
        ('Answer.', 'Q: Is {it} sharp?')
        """
        paragraphs = [each for each in self.user.split("\n\n") if not _is_empty(each, values)]
        return _filled(self.system, values), _filled("\n\n".join(paragraphs), values)

    def used_fields(self) -> set[str]:
        return {*_FIELD.findall(f"{self.system}\n{self.user}")}

    def as_file(self) -> str:
        """The text of the file that :func:`read_prompts` reads it from."""
        return f"{self.system}\n\nUser:\n{self.user}\n"

    def replaced(self, text: str, where: str) -> PromptTemplate:
        """The same step with the words of a file: a system text and, behind a line ``User:``, the user message."""
        system, *behind = _USER_LINE.split(text.removeprefix("System:"), maxsplit=1)
        own = PromptTemplate(
            self.name, system.strip(), behind[0].strip() if behind else self.user, self.fields, self.needed
        )
        unknown = sorted(own.used_fields() - {*self.fields})
        if unknown:
            raise ConfigError(
                f"{where} has a field {{{unknown[0]}}} that nobody fills in.",
                hint=f"Fields of {self.name}: {', '.join(f'{{{name}}}' for name in self.fields)}.",
            )
        missing = [name for name in self.needed if name not in own.used_fields()]
        if missing or not own.system:
            lacks = f"the field {{{missing[0]}}}" if missing else "a system text"
            raise ConfigError(
                f"{where} lacks {lacks}.", hint="`agenticiqa config prompts FOLDER` writes the shipped ones."
            )
        return own


def _is_empty(paragraph: str, values: Mapping[str, str]) -> bool:
    names = _FIELD.findall(paragraph)
    return bool(names) and not any(values.get(name) for name in names)


def _filled(text: str, values: Mapping[str, str]) -> str:
    """In one pass: braces inside a value are the user's words, not fields."""
    return _FIELD.sub(lambda field: values.get(field[1], ""), text)


@dataclass(frozen=True)
class PromptBook:
    """The prompts of a run: the shipped ones, some of them replaced."""

    replaced: Mapping[str, PromptTemplate] = field(default_factory=dict)
    shipped: tuple[PromptTemplate, ...] = ()

    def fill(self, template: PromptTemplate, values: Mapping[str, str]) -> tuple[str, str]:
        """(system, user) of a step, in the words of whoever wrote the prompt."""
        return self.replaced.get(template.name, template).filled(values)

    @cached_property
    def sha256(self) -> str:
        """Of all templates in use; the same words give the same hash, wherever they stand."""
        texts = [self.replaced.get(each.name, each).as_file() for each in self.shipped]
        return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def read_prompts(folder: Path | None, shipped: tuple[PromptTemplate, ...]) -> PromptBook:
    """The shipped prompts, replaced by those that a folder holds; every file in it is checked."""
    if folder is None:
        return PromptBook({}, shipped)
    known = {f"{each.name}{SUFFIX}": each for each in shipped}
    if not folder.is_dir():
        raise ConfigError(f"There is no folder {str(folder)!r} with prompts.", hint="Check `prompts` in pipeline.yaml.")
    files = sorted(folder.glob(f"*{SUFFIX}"))
    strangers = [file.name for file in files if file.name not in known]
    if strangers or not files:
        what = f"{strangers[0]}, which no step uses" if strangers else "no prompt"
        raise ConfigError(f"{folder} holds {what}.", hint=f"Known: {', '.join(known)}.")
    return PromptBook({known[f.name].name: known[f.name].replaced(_text(f), str(f)) for f in files}, shipped)


def write_prompts(folder: Path, shipped: Iterable[PromptTemplate]) -> list[Path]:
    """Write prompts as files to start from; a file that is there stays, and is an error."""
    targets = {folder / f"{each.name}{SUFFIX}": each.as_file() for each in shipped}
    taken = [file for file in targets if file.exists()]
    if taken:
        raise ConfigError(f"{taken[0]} is there already.", hint="Name another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in targets.items():
        write_whole(file, text)
    return list(targets)


def _text(file: Path) -> str:
    try:
        content = file.read_bytes()
        if len(content) > LONGEST_FILE:
            raise ConfigError(f"{file} has {len(content):,} bytes, more than the limit of {LONGEST_FILE:,}.")
        return content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read as UTF-8 text ({error}).") from None
