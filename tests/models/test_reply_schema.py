"""The schema that providers enforce."""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from agenticiqa.models.replies import reply_schema
from agenticiqa.state import ExecutorOutput, PlannerOutput, SummarizerOutput


class Colour(str, Enum):
    RED = "red"
    BLUE = "blue"


class Inner(BaseModel):
    """An inner thing."""

    number: int = Field(3, ge=1, le=5, title="N")
    pair: tuple[str, float] = ("a", 1.0)
    words: list[str] = []


class Outer(BaseModel):
    name: str = Field(min_length=1, max_length=9, pattern="^a", description="A name", examples=["ab"])
    kind: Literal["one"] = "one"
    colour: Colour = Colour.RED
    inner: Inner | None = Field(None, description="Perhaps an inner thing")
    many: list[Inner] = Field(default_factory=list)
    anything: dict[str, Any] | None = None


ALLOWED = {"type", "enum", "description", "$ref", "anyOf", "items", "properties", "required", "additionalProperties"}


def schemas_in(part: Any) -> list[dict[str, Any]]:
    """Every schema inside a schema; the names of properties and definitions are not keywords."""
    found = [{key: value for key, value in part.items() if key != "$defs"}]
    for table in ("properties", "$defs"):
        for value in part.get(table, {}).values():
            found += schemas_in(value)
    for choice in part.get("anyOf", []):
        found += schemas_in(choice)
    if "items" in part:
        found += schemas_in(part["items"])
    if isinstance(part.get("additionalProperties"), dict):
        found += schemas_in(part["additionalProperties"])
    return found


@pytest.mark.parametrize("model", [Outer, Inner, SummarizerOutput, PlannerOutput, ExecutorOutput])
def test_only_keywords_that_every_provider_takes(model):
    for schema in schemas_in(reply_schema(model).schema):
        assert set(schema) <= ALLOWED
        if "$ref" in schema:
            assert set(schema) == {"$ref"}
        if schema.get("type") == "object" and "properties" in schema:
            assert schema["required"] == list(schema["properties"])
            assert schema["additionalProperties"] is False


def test_strict_means_no_free_keys():
    assert reply_schema(Outer).strict
    assert reply_schema(SummarizerOutput).strict
    assert not reply_schema(PlannerOutput).strict


def test_optional_maps_of_anything_are_not_asked_for():
    assert "anything" not in reply_schema(Outer).schema["properties"]
    assert "used_evidence" not in reply_schema(SummarizerOutput).schema["properties"]
    assert "distortions" in reply_schema(PlannerOutput).schema["properties"]


def test_constants_tuples_and_descriptions():
    schema = reply_schema(Outer).schema
    assert schema["properties"]["kind"]["enum"] == ["one"]
    assert schema["properties"]["name"] == {"type": "string", "description": "A name"}
    assert schema["$defs"]["Inner"]["properties"]["pair"]["items"] == {
        "anyOf": [{"type": "string"}, {"type": "number"}]
    }


def test_the_answer_comes_first():
    assert next(iter(reply_schema(SummarizerOutput).schema["properties"])) == "final_answer"


def test_a_reply_inside_the_schema_fits_the_model():
    reply = {
        "final_answer": "B",
        "quality_reasoning": "x",
        "need_replan": False,
        "replan_reason": None,
        "quality_score": None,
        "score_interval": None,
        "conflict": None,
        "advice": [],
        "doubt": None,
        "error": None,
    }
    assert set(reply) == set(reply_schema(SummarizerOutput).schema["required"])
    assert SummarizerOutput.model_validate(reply)


def test_words_for_models_without_enforcement():
    assert '"final_answer"' in reply_schema(SummarizerOutput).instruction
    assert "JSON" in reply_schema(SummarizerOutput).instruction
