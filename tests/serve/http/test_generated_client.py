"""A client that a generator makes of the service's own document calls every route."""

from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from support.http_service import PICTURE, REFERENCE, Running, serving, wait_until
from support.scripted import ScriptedClient

pytestmark = pytest.mark.hard
COMMAND = Path(sys.executable).with_name("openapi-python-client")
BYTES = dict.fromkeys(("image/png", "image/jpeg", "image/webp"), "application/octet-stream")
"""Types of content that the generator does not know, and what it takes them for."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(tmp_path_factory.mktemp("home"), ScriptedClient()) as found:
        yield found


@pytest.fixture(scope="module")
def made(running: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The package that the generator writes, without a word of warning."""
    folder = tmp_path_factory.mktemp("generated")
    with running.client() as client:
        (folder / "openapi.json").write_text(client.get("/openapi.json").text)
    overrides = {"content_type_overrides": {**BYTES, "application/jsonl": "text/plain"}, "post_hooks": []}
    (folder / "config.json").write_text(json.dumps(overrides))
    ended = subprocess.run(
        [COMMAND, "generate", "--path", "openapi.json", "--config", "config.json", "--output-path", "made",
         "--meta", "none"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert "warning" not in ended.stdout.lower() + ended.stderr.lower()
    for file in (folder / "made" / "api").rglob("*.py"):
        # The generator (0.29) writes Unset for a body of two types, and imports it only for other reasons.
        text = file.read_text()
        if "Unset" in text and "import UNSET, Unset" not in text:
            file.write_text(text.replace("from ...types import", "from ...types import UNSET, Unset,", 1))
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module("made")
    finally:
        sys.path.remove(str(folder))


def operations(made: ModuleType) -> dict[str, Callable[..., Any]]:
    """Every route's function by its name, without the address that the generator puts behind it."""
    found = {}
    for info in pkgutil.walk_packages(importlib.import_module("made.api").__path__, "made.api."):
        if not info.ispkg:
            name = info.name.rsplit(".", 1)[1].partition("_v1_")[0]
            method = info.name.rsplit("_", 1)[1]
            found[f"{name}:{method}"] = importlib.import_module(info.name).sync_detailed
    return found


def test_a_generated_client_calls_every_route(running: Running, made: ModuleType) -> None:
    calls, client = operations(made), made.Client(base_url=running.url, timeout=120)
    models, file = importlib.import_module("made.models"), importlib.import_module("made.types").File
    called: set[str] = set()

    def call(name: str, /, *given: Any, status: int = 200, **named: Any) -> Any:
        reply = calls[name](*given, client=client, **named)
        assert reply.status_code == status, (name, reply.content[:500])
        called.add(name)
        return reply.parsed

    def upload(data: bytes) -> Any:
        return file(payload=BytesIO(data), file_name="a.png", mime_type="image/png")

    example = models.PictureSource(example="dandelion_compressed")
    for name in ("list_tools:get", "list_examples:get", "list_backends:get", "limits:get"):
        call(name)
    for name in ("healthz_healthz_get:get", "readyz_readyz_get:get", "metrics_metrics_get:get"):
        call(name)
    call("example_picture:get", "dandelion")
    call("make_preview:post", body=models.PreviewBody(image=example))
    call("measure:post", body=models.MeasureBody(image=example, tools=["sharpness"]))
    beside = models.CompareBody(image_a=example, image_b=models.PictureSource(example="dandelion"))
    call("compare:post", body=beside)

    call(
        "assess:post", idempotency_key="once",
        body=models.AssessV1AssessPostFilesBody(
            image=upload(PICTURE), reference=upload(REFERENCE), query="Is it sharp?"
        ),
    )  # fmt: skip
    run = call("list_runs:get").runs[0].id
    shown = ("file", "worst", "report", "image", "reference", "map", "smaller")
    for name in ("show_run", *(f"run_{name}" for name in shown)):
        call(f"{name}:get", run)
    call("run_smaller_image:get", run, quality=80)
    for name in ("run_fix:get", "run_fixed_image:get"):
        # The scripted model gives no advice.
        call(name, run, 0, status=404)
    # The picture is seen whole.
    call("run_view:get", run, status=404)
    call("run_events:get", run)
    call("pin_run:post", run)
    call("pin_run:delete", run)
    call("cancel_run:post", run)
    call("delete_run_route:delete", run, status=204)

    audit = call("make_audit:post", status=202, body=models.MakeAuditV1AuditsPostBody(files=[upload(PICTURE)]))
    with running.client() as plain:
        wait_until(lambda: plain.get(f"/v1/audits/{audit.id}").json()["status"] not in ("queued", "running"))
        sheet = plain.get(f"/v1/audits/{audit.id}").json()["links"]["sheet"]
    word = sheet.partition("pass=")[2]
    assert call("latest:get").audits
    call("show:get", audit.id)
    call("audit_rows:get", audit.id)
    call("audit_sheet:get", audit.id, pass_=word)
    call("audit_picture:get", audit.id, name="a.png", pass_=word)
    call("cancel:post", audit.id)
    # All of it is done.
    call("resume_audit:post", audit.id, status=409)
    call("delete:delete", audit.id, status=204)
    assert called == set(calls)
