"""Facts that the package ships as YAML: word lists, tables, figures."""

from __future__ import annotations

from importlib import resources
from typing import Any

import yaml

# The parser in C is about eight times as fast; PyYAML has it wherever libyaml was there when it was built.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_data(package: str, name: str) -> Any:
    """The content of a YAML file of ours; its readers keep what they make of it."""
    text = resources.files(package).joinpath(name).read_text(encoding="utf-8")
    return parse_yaml(text)


def parse_yaml(text: str) -> Any:
    """Plain values from YAML, as ``yaml.safe_load`` gives them.

    >>> parse_yaml("{blur: [soft, hazy]}")
    {'blur': ['soft', 'hazy']}
    """
    return yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader, in C or in Python
