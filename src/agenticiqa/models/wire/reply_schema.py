"""The JSON schema a provider enforces, made from a Pydantic model.

Providers accept a small part of JSON schema: every property required, no further properties, no limits on numbers or
lengths. What is left out here is still checked when the reply is parsed into the model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

_KEPT = ("type", "enum", "description", "$ref")
_LIMITS = ("minLength", "maxLength", "minItems", "maxItems")
Schema = dict[str, Any]


@dataclass(frozen=True)
class ReplySchema:
    """A schema for the wire. Not ``strict`` when it holds a map with free keys, which strict modes cannot express."""

    name: str
    schema: Schema
    strict: bool

    @property
    def instruction(self) -> str:
        """The same in words, for a model whose provider does not enforce schemas."""
        compact = json.dumps(self.schema, ensure_ascii=False, separators=(",", ":"))
        return f"Reply with one JSON object and nothing else. It must fit this JSON schema:\n{compact}"


@lru_cache(maxsize=64)
def reply_schema(model: type[BaseModel], *, limits: bool = False) -> ReplySchema:
    """The enforceable schema of a model's replies; ``limits`` keeps the limits on lengths as well."""
    full = model.model_json_schema()
    kept = (*_KEPT, *_LIMITS) if limits else _KEPT
    schema = _converted(full, kept)
    if "$defs" in full:
        schema["$defs"] = {name: _converted(part, kept) for name, part in full["$defs"].items()}
    return ReplySchema(model.__name__, schema, strict=not _has_map(schema))


def _converted(part: Mapping[str, Any], kept: tuple[str, ...]) -> Schema:
    if "$ref" in part:
        # Providers refuse any other keyword beside a reference.
        return {"$ref": part["$ref"]}
    if len(part.get("allOf", ())) == 1:
        return _converted(part["allOf"][0], kept)
    result: Schema = {key: part[key] for key in kept if key in part}
    if "const" in part:
        result["enum"] = [part["const"]]
    choices = part.get("anyOf") or part.get("oneOf")
    if choices:
        result["anyOf"] = [_converted(choice, kept) for choice in choices]
    if part.get("type") == "array":
        result["items"] = _items(part, kept)
    if part.get("type") == "object":
        result.update(_object(part, kept))
    return result


def _object(part: Mapping[str, Any], kept: tuple[str, ...]) -> Schema:
    required = part.get("required", ())
    properties = {
        name: _converted(value, kept)
        for name, value in part.get("properties", {}).items()
        if name in required or not _is_free_form(value)
    }
    values = part.get("additionalProperties", False)
    if properties or values is False:
        return {"properties": properties, "required": list(properties), "additionalProperties": False}
    return {"additionalProperties": _converted(values, kept) if isinstance(values, dict) else True}


def _items(part: Mapping[str, Any], kept: tuple[str, ...]) -> Schema:
    if "prefixItems" not in part:
        return _converted(part.get("items", {}), kept)
    # Tuples: the order of the types cannot be expressed, the set of types can.
    choices: list[Schema] = []
    for item in (_converted(each, kept) for each in part["prefixItems"]):
        if item not in choices:
            choices.append(item)
    return choices[0] if len(choices) == 1 else {"anyOf": choices}


def _is_free_form(value: Mapping[str, Any]) -> bool:
    """A map of anything: it says nothing about the reply, so an optional one is not asked for."""
    parts = value.get("anyOf", [value])
    return any(part.get("additionalProperties") is True and "properties" not in part for part in parts)


def _has_map(part: Any) -> bool:
    if isinstance(part, dict):
        is_map = part.get("additionalProperties", False) is not False
        return is_map or any(_has_map(value) for value in part.values())
    return isinstance(part, list) and any(_has_map(value) for value in part)
