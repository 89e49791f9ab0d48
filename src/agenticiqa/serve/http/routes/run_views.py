"""What a client is shown of a run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any

from fastapi import Path

from agenticiqa.serve.http.app_state import AppState, own_job, public_request
from agenticiqa.serve.http.store.job_record import JobRow
from agenticiqa.serve.http.wire import Run, RunSummary
from agenticiqa.serve.http.work.jobs import ServiceJob

RUN_KINDS = ("assess", "compare")
RunId = Annotated[str, Path(pattern="^[0-9a-f]{12}$", description="The run's id")]


async def own_run(parts: AppState, run_id: str, caller: str | None) -> JobRow:
    return await own_job(parts, run_id, caller, RUN_KINDS, "run")


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
        "id": row.id,
        "kind": row.kind,
        # The record learns of a job's end only: what happens before is known to the queue.
        "status": row.status if row.finished_at or job is None else job.status,
        "created_at": row.created_at,
        "finished_at": row.finished_at,
        "seconds": row.seconds,
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
