"""Lengths that a model's reply is asked to keep to.

Servers with grammars enforce them, so that a small model cannot ramble until its tokens run out. They are requests,
not rules: a longer reply is still read.
"""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import Field

Name = Annotated[str, Field(json_schema_extra={"minLength": 1, "maxLength": 80})]
Sentences = Annotated[str, Field(min_length=1, json_schema_extra={"maxLength": 800})]

T = TypeVar("T")
Few = Annotated[list[T], Field(json_schema_extra={"maxItems": 16})]
