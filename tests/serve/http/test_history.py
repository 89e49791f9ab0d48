"""Earlier runs: found by their words, pinned, shown with the chosen option's text."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import httpx
import pytest

from agenticiqa.serve.http.routes.common import rated_alone
from agenticiqa.serve.http.store.job_record import JobRecord
from support.http_service import PICTURE, Running, assess, is_problem, serving
from support.scripted import ScriptedClient


@pytest.fixture(scope="module")
def runs(client: httpx.Client) -> dict[str, str]:
    """The ids of three runs by what they are about."""
    ids = {}
    for name, question in (("holiday", "Is it sharp?"), ("office", "How noisy is it?"), ("garden", "Too dark? 100 %_")):
        reply = assess(client, files={"image": (f"{name}.png", PICTURE)}, data={"query": question})
        ids[name] = reply.headers["location"].rpartition("/")[2]
    return ids


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("HOLIDAY", ["holiday"]),
        ("noisy", ["office"]),
        (".png", ["garden", "office", "holiday"]),
        ("%_", ["garden"]),
        ("pictures", []),
    ],
)
def test_search_in_questions_and_names(client: httpx.Client, runs: dict[str, str], words: str, names: list[str]):
    found = client.get("/v1/runs", params={"q": words}).json()["runs"]
    assert [run["id"] for run in found] == [runs[name] for name in names]


def test_search_goes_on_over_pages(client: httpx.Client, runs: dict[str, str]):
    first = client.get("/v1/runs", params={"q": ".png", "limit": 2}).json()
    second = client.get(first["next"]).json()
    assert [run["id"] for run in first["runs"] + second["runs"]] == [
        runs[name] for name in ("garden", "office", "holiday")
    ]


def test_pinned_runs_are_listed_and_outlive_the_others(server: Running, client: httpx.Client, runs: dict[str, str]):
    pinned = client.post(f"/v1/runs/{runs['office']}/pin").json()
    assert pinned["pinned"]
    assert [run["id"] for run in client.get("/v1/runs?pinned=true").json()["runs"]] == [runs["office"]]
    assert runs["office"] not in [run["id"] for run in client.get("/v1/runs?pinned=false").json()["runs"]]
    record: JobRecord = server.bound.state.record
    gone = record.forget_ended_before(datetime.now(tz=timezone.utc) + timedelta(days=1))
    assert runs["office"] not in {row.id for row in gone}
    assert not client.delete(f"/v1/runs/{runs['office']}/pin").json()["pinned"]
    assert runs["office"] in {
        row.id for row in record.forget_ended_before(datetime.now(tz=timezone.utc) + timedelta(days=1))
    }


def test_nobody_pins_what_is_not_there(client: httpx.Client):
    is_problem(client.post("/v1/runs/0123456789ab/pin"), 404, "run_not_found")


def test_chosen_option_is_told_with_its_text(tmp_path: Path):
    model = ScriptedClient()
    model.script.replies["answer"] = {"final_answer": "B", "quality_reasoning": "Blocks."}
    with serving(tmp_path, model) as running, running.client() as client:
        assess(client, data={"query": "What is worst? A. Blur B. Compression"})
        (run,) = client.get("/v1/runs").json()["runs"]
    assert (run["answer"], run["answer_text"]) == ("B", "B. Compression")


def test_record_of_an_earlier_version_is_opened(tmp_path: Path):
    record = JobRecord(tmp_path / "service.sqlite")
    record.begin("0123456789ab", "me", "assess", {"query": "Old?"})
    record._connection.execute("ALTER TABLE jobs DROP COLUMN pinned")
    record._connection.commit()
    record.close()
    again = JobRecord(tmp_path / "service.sqlite")
    assert [row.pinned for row in again.latest("me", ("assess",), 5)] == [False]
    again.close()


@pytest.mark.parametrize(
    ("scope", "source", "reasoning", "rated"),
    [
        ("Global", "Explicit", "Moderate blur is visible.", "sharpness, noise"),
        ("Global", "Explicit", "The whole quality was rated, not brightness.", None),
        ("Global", "Inferred", "Moderate blur is visible.", None),
        ("Global", "Inferred", "Rated is Colour strength alone (5: no fault of it can be seen).", "colour strength"),
        (["sky"], "Inferred", "Moderate blur is visible.", "sky"),
        (["sky"], "Explicit", "Rated is noise alone.", "sky, noise"),
        (["Global"], "Inferred", "", None),
    ],
)
def test_what_a_score_rates_is_what_the_result_says(
    scope: str | list[str], source: str, reasoning: str, rated: str | None
):
    plan = {"query_scope": scope, "distortion_source": source, "distortions": {"Global": ["Blurs", "Noise", "Blurs"]}}
    assert rated_alone({"plan": plan, "summarizer_result": {"quality_reasoning": reasoning}}) == rated


def test_a_run_without_a_result_rates_nothing():
    assert rated_alone({}) is None
