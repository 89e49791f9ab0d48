"""Asking over HTTP: the answers are the package's own, and everything about a run can be seen again."""

from __future__ import annotations

import base64
import json
import subprocess
from contextlib import ExitStack
from io import BytesIO
from itertools import permutations
from pathlib import Path

import httpx
import numpy as np
import pytest
from PIL import Image

from agenticiqa.errors import AuthenticationError
from agenticiqa.runtime.config import load_settings
from agenticiqa.serve.http.page.files import EXAMPLES
from agenticiqa.serve.http.work.pipeline_work import MOST_OF_SEVERAL, Pipeline
from cli.model_server import ModelServer
from support.http_service import (
    PICTURE,
    REFERENCE,
    Running,
    assess,
    encoded,
    is_problem,
    serving,
    sse_events,
    wait_until,
)
from support.pictures import distorted, scene
from support.scripted import ScriptedClient


def test_upload_is_assessed(client: httpx.Client):
    reply = assess(client, data={"query": "Rate it", "max_replan": "0"})
    assert reply.status_code == 200, reply.text
    result = reply.json()
    assert result["status"] == "ok"
    assert result["query"] == "Rate it"
    assert result["image_path"] == "photo.png"
    assert result["summarizer_result"]["final_answer"] == "C"
    assert reply.headers["location"] == f"/v1/runs/{result['metadata']['run_id']}"


def test_the_bare_model_and_parts_left_out(client: httpx.Client):
    direct = assess(client, data={"query": "Rate it", "mode": "direct"}).json()
    assert (direct["metadata"]["mode"], direct["metadata"]["calls"]) == ("direct", 1)
    data = {"query": "Rate the quality", "without": ["tools", "planner"]}
    assert assess(client, data=data).json()["metadata"]["without"] == ["planner", "tools"]
    is_problem(assess(client, data={"mode": "direct", "without": "tools"}), 422, "invalid_request")


def test_json_body_with_reference_options_and_regions(client: httpx.Client, server: Running):
    body = {
        "image": {"base64": base64.b64encode(PICTURE).decode(), "name": "mine.png"},
        "reference": {"base64": base64.b64encode(REFERENCE).decode()},
        "query": "What is wrong?",
        "options": ["Blur", "Noise", "Nothing"],
        "regions": {"vehicle": [0, 0, 40, 32]},
    }
    reply = client.post("/v1/assess", json=body)
    assert reply.status_code == 200, reply.text
    result = reply.json()
    assert result["metadata"]["options"] == ["Blur", "Noise", "Nothing"]
    assert result["metadata"]["regions"] == {"vehicle": [0, 0, 40, 32]}
    assert result["image_path"] == "mine.png"
    assert len(server.model.script.of("plan")[-1].images) == 2


def test_form_takes_options_and_regions(client: httpx.Client):
    data = {"query": "What is wrong?", "options": ["Blur", "Noise", "Nothing"], "regions": '{"sky": [0, 0, 8, 8]}'}
    result = assess(client, data=data).json()
    assert result["metadata"]["options"] == ["Blur", "Noise", "Nothing"]
    assert result["metadata"]["regions"] == {"sky": [0, 0, 8, 8]}


def test_picture_by_path_inside_an_allowed_folder(client: httpx.Client, server: Running):
    path = server.home / "allowed" / "inside.png"
    path.write_bytes(PICTURE)
    reply = client.post("/v1/assess", json={"image": {"path": str(path)}})
    assert reply.status_code == 200, reply.text
    assert reply.json()["image_path"] == "inside.png"
    assert str(server.home) not in reply.text


def test_curl_uploads_a_file(server: Running, tmp_path):
    (tmp_path / "p.png").write_bytes(PICTURE)
    done = subprocess.run(
        ["curl", "-sS", "-F", f"image=@{tmp_path / 'p.png'}", "-F", "query=Rate it", f"{server.url}/v1/assess"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert json.loads(done.stdout)["status"] == "ok"


def test_async_run_streams_its_steps(client: httpx.Client):
    reply = assess(client, params={"async": "true"})
    assert reply.status_code == 202
    run = reply.json()
    assert run["status"] in ("queued", "running")
    assert reply.headers["location"] == run["links"]["self"]
    with client.stream("GET", run["links"]["events"]) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        text = "".join(stream.iter_text())
    events = sse_events(text)
    names = [(event, data.get("name")) for event, data in events]
    assert names[0] == ("status", None)
    for node in ("planner", "executor", "summarizer"):
        assert ("node", node) in names
    assert events[-1] == ("done", {"status": "ok"})
    shown = client.get(run["links"]["self"]).json()
    assert shown["status"] == "ok"
    assert shown["answer"] == "C"
    assert shown["result"]["summarizer_result"]["final_answer"] == "C"


def test_events_continue_behind_the_last_one_seen(client: httpx.Client):
    run_id = assess(client).json()["metadata"]["run_id"]
    whole = sse_events(client.get(f"/v1/runs/{run_id}/events").text)
    rest = sse_events(client.get(f"/v1/runs/{run_id}/events", headers={"Last-Event-ID": "3"}).text)
    assert rest == whole[3:]


def test_pictures_of_a_run_come_as_png(client: httpx.Client):
    files = {"reference": ("clean.png", REFERENCE, "image/png")}
    links_of = assess(client, files=files, params={"async": "true"}).json()["links"]
    for address in (links_of["image"], links_of["reference"], f"{links_of['map']}?tool=SSIM"):
        reply = wait_until(lambda address=address: client.get(address))
        assert reply.status_code == 200, reply.text
        assert reply.headers["content-type"] == "image/png"
        assert Image.open(BytesIO(reply.content)).size == (80, 64)
    image = np.asarray(Image.open(BytesIO(client.get(links_of["image"]).content)))
    assert np.array_equal(image, distorted(scene()))
    small = Image.open(BytesIO(client.get(f"{links_of['image']}?max_side=20").content))
    assert small.size == (20, 16)


def test_map_of_a_tool_without_one_says_so(client: httpx.Client):
    run_id = assess(client).json()["metadata"]["run_id"]
    is_problem(client.get(f"/v1/runs/{run_id}/map", params={"tool": "brightness"}), 422, "tool")
    is_problem(client.get(f"/v1/runs/{run_id}/map", params={"tool": "nonsense"}), 422, "tool_unavailable")
    is_problem(client.get(f"/v1/runs/{run_id}/reference"), 404, "no_such_picture")


def test_runs_are_listed_page_by_page(client: httpx.Client):
    ids = [assess(client).json()["metadata"]["run_id"] for _ in range(3)]
    first = client.get("/v1/runs", params={"limit": 2}).json()
    assert [run["id"] for run in first["runs"]] == ids[:0:-1]
    second = client.get(first["next"]).json()
    assert second["runs"][0]["id"] == ids[0]


def test_comparison_says_which_is_better_and_where(client: httpx.Client, server: Running):
    files = {"image_a": ("noisy.png", PICTURE), "image_b": ("clean.png", REFERENCE), "reference": ("r.png", REFERENCE)}
    reply = client.post("/v1/compare", files=files)
    assert reply.status_code == 200, reply.text
    found = reply.json()
    assert (found["winner"], found["image_a"], found["image_b"]) == ("B", "noisy.png", "clean.png")
    assert found["reasons"]
    run = client.get(reply.headers["location"]).json()
    assert (run["kind"], run["answer"]) == ("compare", "B")
    shown = Image.open(BytesIO(client.get(run["links"]["map"]).content))
    assert shown.size == (80, 64)
    assert Image.open(BytesIO(client.get(run["links"]["image_b"]).content)).size == (80, 64)
    page = client.get(run["links"]["report"])
    assert page.status_code == 200
    assert "noisy.png or clean.png?" in page.text
    assert str(server.home) not in page.text + reply.text
    sides = {data.get("side") for _, data in sse_events(client.get(run["links"]["events"]).text)}
    assert {"A", "B"} <= sides


def test_measure_gives_the_tools_numbers(client: httpx.Client):
    files = {"image": ("a.png", PICTURE), "reference": ("b.png", REFERENCE)}
    reply = client.post("/v1/measure", files=files, data={"tools": ["PSNR", "ssim"]})
    assert reply.status_code == 200, reply.text
    measured = {each["tool"]: each for each in reply.json()["measurements"]}
    error = (distorted(scene()).astype(float) - scene()) / 255
    assert measured["PSNR"]["raw"] == pytest.approx(-10 * np.log10((error**2).mean()), rel=1e-6)
    assert set(measured) == {"PSNR", "SSIM"}
    assert measured["PSNR"]["image"] == "a.png"


def test_measure_names_an_unknown_tool(client: httpx.Client):
    reply = client.post("/v1/measure", files={"image": ("a.png", PICTURE)}, data={"tools": "NONSENSE"})
    is_problem(reply, 422, "tool_unavailable")


def test_region_outside_the_picture_is_the_requests_fault(client: httpx.Client):
    document = is_problem(assess(client, data={"regions": '{"sky": [0, 0, 9999, 8]}'}), 422, "region")
    assert "9999" in document["detail"]


@pytest.mark.parametrize(
    "data",
    [
        {"options": "only one"},
        {"regions": "{"},
        {"regions": '{"a": [1, 2]}'},
        {"max_replan": "-1"},
        {"mode": "bare"},
        {"without": "planer"},
        {"unknown": "field"},
        {"query": ""},
    ],
)
def test_wrong_fields_are_named(client: httpx.Client, data):
    document = is_problem(assess(client, data=data), 422, "invalid_request")
    assert next(iter(data)) in document["detail"] or "query" in document["detail"]


def test_backend_that_nobody_allowed_is_refused(client: httpx.Client):
    for name in ("qwen./etc", "openai.gpt-4o", "compatible.http://169.254.169.254/"):
        is_problem(assess(client, data={"backend": name}), 422, "backend_not_selectable")


@pytest.mark.hard
def test_several_models_answer_together(tmp_path):
    """Each is one of the selectable ones; the result has every one's answer, and a follow-up asks the same ones."""
    with ExitStack() as stack:
        model = stack.enter_context(ModelServer())
        compatible = {"providers.compatible.base_url": model.base_url}
        served = serving(tmp_path, None, overrides=compatible, allowed_backends=("compatible.one",))
        client = stack.enter_context(stack.enter_context(served).client())
        both = {"backends": ["embedded", "compatible.one"]}
        reply = assess(client, data={"query": "Rate the quality.", **both}).json()
        told = reply["summarizer_result"]
        assert [each["backend"] for each in told["models"]] == both["backends"]
        assert told["agreement"] in told["quality_reasoning"]
        more = client.post("/v1/assess", json={"after": reply["metadata"]["run_id"], "query": "Why?"}).json()
        assert [each["backend"] for each in more["summarizer_result"]["models"]] == both["backends"]
        alone = {"after": reply["metadata"]["run_id"], "query": "Why?", "backend": "embedded"}
        assert client.post("/v1/assess", json=alone).json()["summarizer_result"]["models"] == []
        named = {"image_a": PICTURE, "image_b": REFERENCE}
        pictures = {name: {"base64": base64.b64encode(data).decode()} for name, data in named.items()}
        compared = client.post("/v1/compare", json={**pictures, **both}).json()
        assert len(compared["b"]["summarizer_result"]["models"]) == 2
        # The addresses of servers behind this one are nobody's business.
        model.status, model.fault = 400, "upstream http://10.0.0.5:8000/v1 says no"
        lost = assess(client, data={"query": "Rate it now.", **both}).json()
        assert (lost["status"], lost["summarizer_result"]["models"][0]["weight"]) == ("partial", 1)
        assert "upstream [address] says no" in lost["summarizer_result"]["models"][1]["error"]
        assert "10.0.0.5" not in json.dumps(lost)
        twice = {"backends": ["embedded", "embedded"]}
        is_problem(assess(client, data=twice), 422, "invalid_request")
        other = {"backends": ["embedded", "openai.gpt-4o"]}
        is_problem(assess(client, data=other), 422, "backend_not_selectable")
        is_problem(assess(client, data={"backends": ["embedded"]}), 422, "invalid_request")


def test_catalogues(client: httpx.Client):
    tools = {tool["name"] for tool in client.get("/v1/tools").json()["tools"]}
    assert {"PSNR", "SSIM", "AIQA_NR"} <= tools
    backends = client.get("/v1/backends").json()
    assert backends["default"]["planner"] == "scripted.model"
    assert backends["selectable"] == ["embedded"]
    for example in client.get("/v1/examples").json()["examples"]:
        assert min(Image.open(BytesIO(client.get(example["image"]).content)).size) >= 300


def test_examples_are_the_demonstrations_pictures():
    root = Path(__file__).resolve().parents[3]
    for example in (EXAMPLES["dandelion"], EXAMPLES["dandelion_compressed"]):
        assert example.data() == (root / "examples" / "pictures" / example.file).read_bytes()


def test_report_is_a_page_without_scripts(client: httpx.Client, server: Running):
    run_id = assess(client).json()["metadata"]["run_id"]
    reply = client.get(f"/v1/runs/{run_id}/report")
    assert reply.status_code == 200
    assert "photo.png" in reply.text
    assert "<script" not in reply.text
    assert str(server.home) not in reply.text
    assert "sandbox" in reply.headers["content-security-policy"]


def test_health_readiness_and_metrics(client: httpx.Client):
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json()["workers"] == 2
    assess(client)
    text = client.get("/metrics").text
    assert 'agenticiqa_jobs_total{key="local",kind="assess",status="ok"}' in text
    assert 'route="/v1/assess"' in text


def test_model_that_fails_is_no_answer(tmp_path):
    broken = ScriptedClient(plan=AuthenticationError("http://10.1.2.3/v1 refused the key."))
    with serving(tmp_path, broken) as running, running.client() as client:
        document = is_problem(assess(client), 502, "assessment_failed")
        assert "10.1.2.3" not in document["detail"]
        assert client.get(f"/v1/runs/{document['run_id']}").json()["status"] == "error"


LARGER = encoded(scene(96, 120))


def test_a_reference_of_another_size_is_refused_or_the_picture_scaled_to_it(client: httpx.Client):
    """Regions count in the scaled picture; its map is that of the scaled picture too."""
    files = {"reference": ("larger.png", LARGER)}
    refused = is_problem(assess(client, files=files), 422, "image")
    assert "align: resize" in refused["detail"]
    corner = {"query": "Rate it", "align": "resize", "regions": '{"corner": [100, 80, 20, 16]}'}
    result = assess(client, files=files, data=corner).json()
    assert result["metadata"]["image_size"] == [120, 96]
    assert "to its reference's 120×96" in result["metadata"]["image_notes"][-1]
    run = client.get(f"/v1/runs/{result['metadata']['run_id']}").json()
    assert run["request"]["align"] == "resize"
    drawn = client.get(run["links"]["map"], params={"tool": "SSIM", "region": "corner"})
    assert Image.open(BytesIO(drawn.content)).size == (20, 16)
    is_problem(assess(client, data={"align": "stretch"}), 422, "invalid_request")


def test_few_assessors_of_several_models_are_kept(isolated):
    names = ("openai.a", "openai.b", "openai.c", "openai.d")
    settings = load_settings(overrides={"providers.openai.api_key": "sk-x"}, environment={})
    pipeline = Pipeline(settings, names)
    for several in permutations(names):
        pipeline.assessor(None, several)
    assert pipeline.assessor(None, several) is pipeline.assessor(None, several)
    assert len(pipeline._assessors) == MOST_OF_SEVERAL
    pipeline.close()
