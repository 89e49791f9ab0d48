"""Layers of settings: the values of one source with the line of every key, read from YAML and put over each other."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from agenticiqa._data import YAML_LOADER
from agenticiqa.errors import ConfigError

BACKENDS_FILE = "model_backends.yaml"
PIPELINE_FILE = "pipeline.yaml"
FILES = (BACKENDS_FILE, PIPELINE_FILE)
_VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<value>[^}]*))?\}")


@dataclass(frozen=True)
class Layer:
    """One source of settings: its values and, for files, the line of every key."""

    name: str
    values: dict[str, Any]
    lines: Mapping[tuple[str, ...], int] = field(default_factory=dict)

    def has(self, *path: str) -> bool:
        """Whether this layer set the key at ``path``."""
        values: Any = self.values
        for part in path:
            if not isinstance(values, dict) or part not in values:
                return False
            values = values[part]
        return True

    def where(self, path: tuple[str, ...]) -> str:
        """'file.yaml, line 3', for a key that it set."""
        line = self.lines.get(path)
        return f"{self.name}, line {line}" if line else self.name


def parse_layer(content: bytes, source: str, file_name: str, environment: Mapping[str, str]) -> Layer:
    """The settings of one file, ``${VAR}`` filled in; raises ConfigError with the line of what cannot be read."""
    try:
        root = yaml.compose(content.decode("utf-8"), Loader=YAML_LOADER)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{source} cannot be read as UTF-8 text ({error}).") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise ConfigError(f"{source}{line} is not valid YAML: {getattr(error, 'problem', error)}.") from None
    if root is None:
        return Layer(source, {})
    if not isinstance(root, yaml.MappingNode):
        raise ConfigError(f"{source} must hold keys and values.")
    lines: dict[tuple[str, ...], int] = {}
    scalars = yaml.SafeLoader("")

    def construct(node: yaml.Node, path: tuple[str, ...]) -> Any:
        """Plain values of a YAML node, noting the line of each key and filling in ``${VAR}``."""
        if isinstance(node, yaml.MappingNode):
            values: dict[str, Any] = {}
            for key_node, value_node in node.value:
                key, line = str(key_node.value), key_node.start_mark.line + 1
                if key in values:
                    raise ConfigError(f"{source}, line {line}: {key!r} is given twice.")
                lines[(*path, key)] = line
                values[key] = construct(value_node, (*path, key))
            return values
        if isinstance(node, yaml.SequenceNode):
            return [construct(item, path) for item in node.value]
        if "${" in str(node.value):
            return _interpolated(str(node.value), f"{source}, line {node.start_mark.line + 1}", environment)
        return scalars.construct_object(node, deep=True)

    values = construct(root, ())
    if file_name == PIPELINE_FILE:
        return Layer(source, {"pipeline": values}, {("pipeline", *path): line for path, line in lines.items()})
    if "pipeline" in values:
        raise ConfigError(f"{source}, line {lines[('pipeline',)]}: 'pipeline' belongs into {PIPELINE_FILE}.")
    return Layer(source, values, lines)


def _interpolated(text: str, where: str, environment: Mapping[str, str]) -> Any:
    def replacement(match: re.Match[str]) -> str:
        value = environment.get(match["name"]) or match["value"]
        if value is None:
            hint = f"Set it, or write ${{{match['name']}:-default}}."
            raise ConfigError(f"{where}: the environment variable {match['name']} is not set.", hint=hint)
        return value

    # Looked for in the text itself: the value of a variable is not itself interpolated.
    if "${" in _VARIABLE.sub("", text):
        raise ConfigError(f"{where}: {text!r} is not a variable of the form ${{NAME}} or ${{NAME:-default}}.")
    return _VARIABLE.sub(replacement, text)


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted keys as nested ones; what is said of one part by several keys is put together."""
    result: dict[str, Any] = {}
    for key, value in flat.items():
        for part in reversed(key.split(".")):
            value = {part: value}  # noqa: PLW2901
        merge(result, value, contradiction=f"{key!r} contradicts another setting.")
    return result


def merge(target: dict[str, Any], source: Mapping[str, Any], *, contradiction: str = "") -> None:
    """Put ``source`` over ``target``; a part that replaces a plain value, or the reverse, raises a contradiction."""
    for key, value in source.items():
        if contradiction and key in target and isinstance(target[key], dict) != isinstance(value, Mapping):
            raise ConfigError(contradiction)
        if isinstance(value, Mapping):
            if not isinstance(target.get(key), dict):
                target[key] = {}
            merge(target[key], value, contradiction=contradiction)
        else:
            target[key] = value
