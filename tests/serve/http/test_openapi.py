"""The OpenAPI document tells the truth: schemathesis tries it against a real server with keys."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from agenticiqa.serve.http.keys import KeyFile
from agenticiqa.serve.http.page.files import ExamplePicture
from support.http_service import PICTURE, Running, serving
from support.scripted import ScriptedClient

COMMAND = Path(sys.executable).with_name("schemathesis")
# A schema cannot say which strings are pictures, so what fits the schema may still be refused.
NOT_CHECKED = "positive_data_acceptance"


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, str]]:
    home = tmp_path_factory.mktemp("openapi")
    keys = KeyFile(home / "keys.json")
    key = keys.add("tester")
    with pytest.MonkeyPatch.context() as patch:
        # The examples of the document name pictures of half a megapixel; small ones take the same way.
        patch.setattr(ExamplePicture, "data", lambda _: PICTURE)
        with serving(home, ScriptedClient(), api_keys_file=keys.path, queue=64) as running:
            yield running, key


def try_document(keyed: tuple[Running, str], folder: Path, phases: str, examples: int) -> None:
    """No server error, and no answer that the document does not know."""
    running, key = keyed
    done = subprocess.run(
        [
            str(COMMAND), "run", f"{running.url}/openapi.json", "-H", f"Authorization: Bearer {key}",
            "--phases", phases, "--max-examples", str(examples), "--seed", "7", "--no-shrink",
            "--continue-on-failure", "--exclude-checks", NOT_CHECKED, "--request-timeout", "60",
        ],
        capture_output=True, text=True, timeout=1200, check=False, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


@pytest.mark.hard
def test_the_examples_and_some_invented_requests_are_answered_as_the_document_says(
    keyed: tuple[Running, str], tmp_path: Path
):
    try_document(keyed, tmp_path, "examples,fuzzing,stateful", 2)


@pytest.mark.fuzz
@pytest.mark.parametrize(("phase", "examples"), [("coverage", 6), ("fuzzing", 60), ("stateful", 30)])
def test_many_requests_are_answered_as_the_document_says(
    keyed: tuple[Running, str], phase: str, examples: int, tmp_path: Path
):
    try_document(keyed, tmp_path, phase, examples)


def test_document_describes_bodies_problems_and_keys(keyed: tuple[Running, str]):
    document = httpx.get(f"{keyed[0].url}/openapi.json").json()
    for path in ("/v1/assess", "/v1/measure", "/v1/compare"):
        operation = document["paths"][path]["post"]
        content = operation["requestBody"]["content"]
        assert set(content) == {"application/json", "multipart/form-data"}
        assert content["application/json"]["examples"]
        assert "application/problem+json" in operation["responses"]["429"]["content"]
        assert operation["security"]
    assert "Problem" in document["components"]["schemas"]
    assert set(document["paths"]) >= {
        "/healthz", "/readyz", "/metrics", "/v1/tools", "/v1/backends", "/v1/examples", "/v1/runs",
        "/v1/runs/{run_id}", "/v1/runs/{run_id}/events", "/v1/runs/{run_id}/image", "/v1/runs/{run_id}/reference",
        "/v1/runs/{run_id}/map", "/v1/runs/{run_id}/report", "/v1/audits/{job_id}",
    }  # fmt: skip


def test_server_without_keys_claims_none(client: httpx.Client):
    document = client.get("/openapi.json").json()
    assert "securitySchemes" not in document["components"]
    assert "security" not in document["paths"]["/v1/assess"]["post"]
