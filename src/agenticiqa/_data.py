"""Facts that the package ships as YAML: word lists, tables, figures; and what other packages add to it."""

import sys
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import yaml

_FOLDER = Path(__file__).parent
# The parser in C is about eight times as fast; PyYAML has it wherever libyaml was there when it was built.
YAML_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_data(name: str) -> Any:
    """The content of one of the package's YAML files, by its path from the package's folder; nothing is cached here."""
    # importlib.resources would take longer to import than all files to read.
    return parse_yaml((_FOLDER / name).read_text(encoding="utf-8"))


def parse_yaml(text: str) -> Any:
    """Plain values from YAML, as ``yaml.safe_load`` gives them.

    >>> parse_yaml("{blur: [soft, hazy]}")
    {'blur': ['soft', 'hazy']}
    """
    return yaml.load(text, Loader=YAML_LOADER)  # noqa: S506 - a safe loader, in C or in Python


def plug_ins(group: str) -> tuple[metadata.EntryPoint, ...]:
    """What installed packages add under this name; one that is installed later counts from the next process on."""
    return _plug_ins(group, tuple(sys.path))


@lru_cache(maxsize=8)
def _plug_ins(group: str, _: tuple[str, ...]) -> tuple[metadata.EntryPoint, ...]:
    # The description of every package on Python's paths is read: up to 50 ms.
    return tuple(metadata.entry_points(group=group))


def listed(text: str) -> tuple[str, ...]:
    """Words and phrases between commas, as the word lists are written.

    >>> listed("blur, out of focus")
    ('blur', 'out of focus')
    """
    return tuple(each.strip() for each in text.split(","))


def by_word(groups: dict[Any, str]) -> dict[str, Any]:
    """From a group's words to each word's group.

    >>> by_word({5: "excellent, perfect", 4: "good"})
    {'excellent': 5, 'perfect': 5, 'good': 4}
    """
    return {word: group for group, words in groups.items() for word in listed(words)}
