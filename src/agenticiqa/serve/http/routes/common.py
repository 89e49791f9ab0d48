"""What the routes share: how they are described in the OpenAPI document, and what a client is shown of a run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any

from fastapi import Depends, Path
from pydantic import BaseModel

from agenticiqa.serve.http.access import AssessCaller
from agenticiqa.serve.http.app_state import AppState, State, own_job, public_request
from agenticiqa.serve.http.problems import MEDIA_TYPE, title_of
from agenticiqa.serve.http.store.job_record import JobRow
from agenticiqa.serve.http.wire import Run, RunSummary
from agenticiqa.serve.http.work.intake import RequestForm
from agenticiqa.serve.http.work.jobs import ServiceJob

COMPONENTS = "#/components/schemas/"
Responses = dict[int | str, dict[str, Any]]


# --- the OpenAPI document ---


def problems(*statuses: int) -> Responses:
    """Responses that are problem documents."""
    content = {MEDIA_TYPE: {"schema": {"$ref": f"{COMPONENTS}Problem"}}}
    return {
        status: {"description": title_of("", status), "content": content}
        for status in sorted({400, 401, 403, 421, 500, *statuses})
    }


WORK_PROBLEMS = problems(408, 409, 413, 415, 422, 429, 502, 503, 504, 507)


def reply_of(media_type: str, description: str, schema: Mapping[str, Any] | None = None) -> Responses:
    """The reply of a route that answers with something else than JSON; text where no schema is given."""
    return {200: {"content": {media_type: {"schema": schema or {"type": "string"}}}, "description": description}}


FILE = {"type": "string", "format": "binary"}
JSON_TEXT = {"type": "string", "contentMediaType": "application/json"}
PNG = reply_of("image/png", "PNG", FILE)
JSON_LINES = reply_of("application/jsonl", "JSON lines")


def body_of(form: RequestForm[Any]) -> dict[str, Any]:
    """The request body of a route that takes pictures, for ``openapi_extra``."""
    return request_body(_form_schema(form), form.body)


def request_body(form_schema: dict[str, Any], model: type[BaseModel] | None = None) -> dict[str, Any]:
    """A body that comes as a form or, where there is a model for it, as JSON."""
    content: dict[str, Any] = {"multipart/form-data": {"schema": {"type": "object", **form_schema}}}
    if model is not None:
        schema = {"$ref": f"{COMPONENTS}{model.__name__}"}
        content = {"application/json": {"schema": schema, "examples": _examples(model)}, **content}
    return {"requestBody": {"required": True, "content": content}}


def _examples(model: type[BaseModel]) -> dict[str, Any]:
    extra = model.model_config.get("json_schema_extra")
    given = extra.get("examples") if isinstance(extra, dict) else None
    return {
        f"example {place}": {"value": value} for place, value in enumerate(given if isinstance(given, list) else (), 1)
    }


def _form_schema(form: RequestForm[Any]) -> dict[str, Any]:
    schema = form.fields.model_json_schema(ref_template=COMPONENTS + "{model}")
    properties: dict[str, Any] = {}
    for name, needed in form.pictures.items():
        wanted = "A picture file" if needed else "A picture file, optional"
        properties[name] = {**FILE, "description": wanted}
    for name, field in schema["properties"].items():
        kinds = [field, *field.get("anyOf", [])]
        plain = next((kind for kind in kinds if kind.get("type") not in (None, "null")), field)
        about = field.get("description", "")
        properties[name] = {**plain, "description": about}
        if plain.get("type") == "object" or name == "region":
            # A form has text only: an object or a box comes as JSON.
            properties[name] = {**JSON_TEXT, "description": f"{about} (as JSON)"}
    return {
        "properties": properties,
        "required": [name for name, needed in form.pictures.items() if needed],
        "additionalProperties": False,
    }


# --- runs ---

RUN_KINDS = ("assess", "compare")
RunId = Annotated[str, Path(pattern="^[0-9a-f]{12}$", description="The run's id")]


async def find_run(state: AppState, run_id: str, owner: str | None) -> JobRow:
    return await own_job(state, run_id, owner, RUN_KINDS, "run")


async def _own_run(state: State, run_id: RunId, caller: AssessCaller) -> JobRow:
    return await find_run(state, run_id, caller.owner)


OwnRun = Annotated[JobRow, Depends(_own_run)]
"""The run of the address, which must be the caller's."""


def links_of(run_id: str, kind: str, pictures: Collection[str]) -> dict[str, str]:
    """Where the rest of a run is."""
    here = f"/v1/runs/{run_id}"
    links = {"self": here, "events": f"{here}/events", "cancel": f"{here}/cancel", "report": f"{here}/report"}
    if kind == "assess":
        links |= {"image": f"{here}/image", "map": f"{here}/map", "worst": f"{here}/worst", "file": f"{here}/file"}
    else:
        links |= {"image_a": f"{here}/image?which=a", "image_b": f"{here}/image?which=b"}
        links["map"] = f"{here}/map?tool=difference"
        links |= {f"file_{side}": f"{here}/file?which={side}" for side in ("a", "b")}
    if "reference" in pictures:
        links["reference"] = f"{here}/reference"
    return links


def job_state(row: JobRow, job: ServiceJob | None) -> dict[str, Any]:
    """What is told of every recorded job."""
    return {
        "id": row.id,
        # The record learns of a job's end only: what happens before is known to the queue.
        "status": row.status if row.finished_at or job is None else job.status,
        "created_at": row.created_at,
        "finished_at": row.finished_at,
        "seconds": row.seconds,
    }


def run_summary(row: JobRow, job: ServiceJob | None) -> RunSummary:
    return RunSummary.model_validate(_summary(row, job))


def run_view(row: JobRow, job: ServiceJob | None) -> Run:
    return Run.model_validate(
        {**_summary(row, job), "request": public_request(row), "result": row.result, "error": row.error}
    )


def _summary(row: JobRow, job: ServiceJob | None) -> dict[str, Any]:
    pictures = row.request.get("pictures", {})
    first = pictures.get("image") or pictures.get("image_a") or {"name": "picture"}
    second, reference = pictures.get("image_b"), pictures.get("reference")
    return {
        **job_state(row, job),
        "kind": row.kind,
        "query": row.request.get("query"),
        "image_name": first["name"],
        "image_b_name": second["name"] if second else None,
        "reference_name": reference["name"] if reference else None,
        "pinned": row.pinned,
        **_answer(row),
        "links": links_of(row.id, row.kind, pictures),
    }


def _answer(row: JobRow) -> dict[str, Any]:
    result = row.result or {}
    if row.kind == "compare":
        return {"answer": result.get("winner"), "answer_text": result.get("verdict"), "score": None}
    summary = result.get("summarizer_result") or {}
    failed = row.status == "error"
    # In a list there is room for one number: of two readings in conflict, the one that gates count.
    score = summary["score_interval"][0] if summary.get("conflict") else summary.get("quality_score")
    answer = None if failed else summary.get("final_answer")
    return {"answer": answer, "answer_text": _in_words(answer, summary), "score": score}


def _in_words(answer: str | None, summary: Mapping[str, Any]) -> str | None:
    """A chosen option as its text: a bare letter says nothing without the question beside it."""
    options = (summary.get("used_evidence") or {}).get("options") or {}
    return f"{answer}. {options[answer]}" if answer in options else answer
