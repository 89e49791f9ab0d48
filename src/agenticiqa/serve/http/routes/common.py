"""What the routes share: how they are described in the OpenAPI document, and what a client is shown of a run."""

import re
from collections.abc import Collection, Mapping
from hashlib import sha256
from typing import Annotated, Any

from fastapi import Depends, Path
from pydantic import BaseModel

from agenticiqa._data import read_data
from agenticiqa.serve.http.app_state import AppState, AssessCaller, State, own_job
from agenticiqa.serve.http.problems import MEDIA_TYPE, title_of
from agenticiqa.serve.http.store.job_record import JobRow
from agenticiqa.serve.http.wire import PictureRequest, Run
from agenticiqa.serve.http.work.jobs import ServiceJob

COMPONENTS = "#/components/schemas/"
Responses = dict[int | str, dict[str, Any]]
_EXAMPLES = read_data("serve/http/routes/examples.yaml")


# --- the OpenAPI document ---


def problems(*statuses: int) -> Responses:
    content = {MEDIA_TYPE: {"schema": {"$ref": f"{COMPONENTS}Problem"}}}
    return {
        status: {"description": title_of("", status), "content": content}
        for status in sorted({400, 401, 403, 421, 500, *statuses})
    }


WORK_PROBLEMS = problems(404, 408, 409, 413, 415, 422, 429, 502, 503, 504, 507)


def reply_of(media_type: str, description: str, schema: Mapping[str, Any] | None = None) -> Responses:
    """The reply of a route that answers with something else than JSON; text where no schema is given."""
    return {200: {"content": {media_type: {"schema": schema or {"type": "string"}}}, "description": description}}


FILE = {"type": "string", "format": "binary"}
JSON_TEXT = {"type": "string", "contentMediaType": "application/json"}
# No schema: a stream is neither a text nor one object, and generated clients would read it as what the schema says.
EVENTS: Responses = {200: {"content": {"text/event-stream": {}}, "description": "Events, each with id, event and data"}}
PNG = reply_of("image/png", "PNG", FILE)


def body_of(model: type[PictureRequest]) -> dict[str, Any]:
    """The request body of a route that takes pictures, for ``openapi_extra``."""
    pictures = model.pictures()
    properties = {name: {**FILE, "description": "A picture file"} for name in pictures}
    for name, field in model.model_json_schema(ref_template=COMPONENTS + "{model}")["properties"].items():
        if name in pictures:
            continue
        kinds = [field, *field.get("anyOf", [])]
        plain = next((kind for kind in kinds if kind.get("type") not in (None, "null")), field)
        about = field.get("description", "")
        properties[name] = {**plain, "description": about}
        if plain.get("type") == "object" or name == "region":
            # A form has text only: an object or a box comes as JSON.
            properties[name] = {**JSON_TEXT, "description": f"{about} (as JSON)"}
    needed = [name for name, required in pictures.items() if required]
    return request_body({"properties": properties, "required": needed, "additionalProperties": False}, model)


def request_body(form_schema: dict[str, Any], model: type[BaseModel] | None = None) -> dict[str, Any]:
    """A body that comes as a form or, where there is a model for it, as JSON."""
    content: dict[str, Any] = {"multipart/form-data": {"schema": {"type": "object", **form_schema}}}
    if model is not None:
        given = _EXAMPLES[model.__name__]
        examples = {f"example {place}": {"value": value} for place, value in enumerate(given, 1)}
        json_body = {"schema": {"$ref": f"{COMPONENTS}{model.__name__}"}, "examples": examples}
        content = {"application/json": json_body, **content}
    return {"requestBody": {"required": True, "content": content}}


# --- runs ---

RUN_KINDS = ("assess", "compare")
JobId = Annotated[str, Path(pattern="^[0-9a-f]{12}$", description="Its id")]


async def find_run(state: AppState, run_id: str, owner: str | None) -> JobRow:
    return await own_job(state, run_id, owner, RUN_KINDS, "run")


async def _own_run(state: State, run_id: JobId, caller: AssessCaller) -> JobRow:
    return await find_run(state, run_id, caller.owner)


OwnRun = Annotated[JobRow, Depends(_own_run)]
"""The run of the address, which must be the caller's."""


def links_of(run_id: str, kind: str, pictures: Collection[str]) -> dict[str, str]:
    here = f"/v1/runs/{run_id}"
    links = {"self": here, "events": f"{here}/events", "cancel": f"{here}/cancel", "report": f"{here}/report"}
    if kind == "assess":
        links |= {name: f"{here}/{name}" for name in ("image", "map", "view", "worst", "file", "smaller")}
    else:
        links["map"] = f"{here}/map?tool=difference"
        links |= {f"{name}_{side}": f"{here}/{name}?which={side}" for name in ("image", "file") for side in "ab"}
    if "reference" in pictures:
        links["reference"] = f"{here}/reference"
    return links


def job_state(row: JobRow, job: ServiceJob | None) -> dict[str, Any]:
    return {
        "id": row.id,
        # The record learns of a job's end only: what happens before is known to the queue.
        "status": row.status if row.finished_at or job is None else job.status,
        "created_at": row.created_at,
        "finished_at": row.finished_at,
        "seconds": row.seconds,
    }


def run_summary(state: AppState, row: JobRow) -> dict[str, Any]:
    pictures = row.request.get("pictures", {})
    names = {name: picture["name"] for name, picture in pictures.items()}
    shown = "\n".join(picture["file"] for name, picture in pictures.items() if name != "reference")
    return {
        **job_state(row, state.queue.find(row.id)),
        "kind": row.kind,
        "query": row.request.get("query"),
        "picture": sha256(shown.encode()).hexdigest()[:12],
        "image_name": names.get("image") or names.get("image_a") or "picture",
        "image_b_name": names.get("image_b"),
        "reference_name": names.get("reference"),
        "pinned": row.pinned,
        **_answer(row),
        "links": links_of(row.id, row.kind, pictures),
    }


def run_view(state: AppState, row: JobRow) -> Run:
    """What was asked, without the server's paths, and what came of it."""
    pictures = {name: entry["name"] for name, entry in row.request.get("pictures", {}).items()}
    request = {**row.request, "pictures": pictures}
    return Run(**run_summary(state, row), request=request, result=row.result, error=row.error)


_ONE_ALONE = re.compile(r"Rated is (.+?) alone\b")
"""The embedded model's own words on what it rated."""
_WHOLE_AFTER_ALL = "The whole quality was rated, not "
_PROPERTIES = {
    "Blurs": "sharpness",
    "Color distortions": "colour",
    "Brightness change": "brightness",
    "Sharpness": "oversharpening",
    "Spatial distortions": "geometric distortion",
}
"""What is rated where a plan looks at these distortions alone; others have the name of what they damage."""


def rated_alone(result: Mapping[str, Any]) -> str | None:
    """What the score of an assessment rates: a part, a property or several; None for the whole quality."""
    plan, summary = result.get("plan") or {}, result.get("summarizer_result") or {}
    scope, reasoning = plan.get("query_scope"), summary.get("quality_reasoning") or ""
    named = [part for part in scope if part != "Global"] if isinstance(scope, list) else []
    if said := _ONE_ALONE.match(reasoning):
        named.append(said[1].lower())
    elif plan.get("distortion_source") == "Explicit" and _WHOLE_AFTER_ALL not in reasoning:
        categories = [each for found in (plan.get("distortions") or {}).values() for each in found]
        named += dict.fromkeys(_PROPERTIES.get(each, each.lower()) for each in categories)
    return ", ".join(named) or None


def _answer(row: JobRow) -> dict[str, Any]:
    result = row.result or {}
    if row.kind == "compare":
        rated = rated_alone(result.get("a") or {})
        return {"answer": result.get("winner"), "answer_text": result.get("verdict"), "score": None, "rated": rated}
    summary = result.get("summarizer_result") or {}
    # In a list there is room for one number: of two readings in conflict, the one that gates count.
    score = summary["score_interval"][0] if summary.get("conflict") else summary.get("quality_score")
    answer = None if row.status == "error" else summary.get("final_answer")
    options = (summary.get("used_evidence") or {}).get("options") or {}
    # A chosen option as its text: a bare letter says nothing without the question beside it.
    text = f"{answer}. {options[answer]}" if answer in options else answer
    rated = None if score is None else rated_alone(result)
    return {"answer": answer, "answer_text": text, "score": score, "rated": rated}
