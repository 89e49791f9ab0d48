"""What the routes tell about themselves."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from agenticiqa.serve.http.problems import MEDIA_TYPE

COMPONENTS = "#/components/schemas/"
_PROBLEM = {"$ref": f"{COMPONENTS}Problem"}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Responses that are problem documents."""
    words = {
        400: "Malformed request",
        401: "No valid key",
        403: "A page of another origin, or a key without the role for this",
        404: "Not found, or somebody else's",
        408: "The body came too slowly",
        409: "Cancelled, or not ended yet",
        413: "Too large",
        415: "Not a picture, or a body of another kind",
        421: "Asked under a name that is not this machine's",
        422: "Not valid",
        429: "Busy: see Retry-After",
        500: "The server failed",
        502: "The model's backend failed",
        503: "Stopping, not ready, or short of memory: see Retry-After",
        504: "Out of time",
        507: "No room left on the server's disk",
    }
    always = (400, 401, 403, 421, 500)
    return {
        status: {"description": words[status], "content": {MEDIA_TYPE: {"schema": _PROBLEM}}}
        for status in sorted({*always, *statuses})
    }


WORK_PROBLEMS = problems(408, 409, 413, 415, 422, 429, 502, 503, 504, 507)


def body_of(json_form: type[BaseModel], fields: type[BaseModel], pictures: dict[str, bool]) -> dict[str, Any]:
    """The request body of a route that takes pictures, for ``openapi_extra``."""
    json_schema = {"$ref": f"{COMPONENTS}{json_form.__name__}"}
    return {
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": json_schema, "examples": examples_of(json_form)},
                "multipart/form-data": {"schema": _form(fields, pictures)},
            },
        }
    }


def examples_of(model: type[BaseModel]) -> dict[str, Any]:
    extra = model.model_config.get("json_schema_extra")
    given = extra.get("examples", []) if isinstance(extra, dict) else []
    return (
        {f"example {place}": {"value": value} for place, value in enumerate(given, 1)}
        if isinstance(given, list)
        else {}
    )


def _form(fields: type[BaseModel], pictures: dict[str, bool]) -> dict[str, Any]:
    schema = fields.model_json_schema(ref_template=COMPONENTS + "{model}")
    properties: dict[str, Any] = {}
    for name, needed in pictures.items():
        wanted = "A picture file" if needed else "A picture file, optional"
        properties[name] = {"type": "string", "format": "binary", "description": wanted}
    for name, form in schema["properties"].items():
        kinds = [form, *form.get("anyOf", [])]
        plain = next((kind for kind in kinds if kind.get("type") not in (None, "null")), form)
        properties[name] = {**plain, "description": form.get("description", "")}
        if plain.get("type") == "object" or name == "region":
            # A form has text only: an object or a box comes as JSON.
            properties[name] = {
                "type": "string",
                "contentMediaType": "application/json",
                "description": f"{form.get('description', '')} (as JSON)",
            }
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name, needed in pictures.items() if needed],
        "additionalProperties": False,
    }
