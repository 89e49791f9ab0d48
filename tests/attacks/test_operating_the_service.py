"""What an operator needs: keys with roles and limits, deletion, logs, a page about the interface, plain errors."""

from __future__ import annotations

import io
import json
import re
import signal
import subprocess
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
from PIL import Image

from agenticiqa.errors import AgenticIQAError, ConfigError, ImageTooLargeError, ToolUnavailableError, client_messages
from agenticiqa.runtime.logs import log_to_standard_error
from agenticiqa.runtime.runs import RunStore
from agenticiqa.serve.http.keys import KeyFile
from agenticiqa.serve.http.work.pipeline_work import Pipeline
from support.http_service import (
    PICTURE,
    REFERENCE,
    Gate,
    Running,
    assess,
    audit,
    command_serving,
    encoded,
    is_problem,
    serving,
    wait_until,
)
from support.scripted import ScriptedClient, plan_reply

pytestmark = pytest.mark.hard

LOCAL_MEANS = re.compile(r"--[a-z]|`|\.yaml|pip install|max_pixels|allowed_roots|DOS attack|pydantic|Traceback|/tmp/")


def with_key(running: Running, key: str) -> httpx.Client:
    return running.client(headers={"Authorization": f"Bearer {key}"})


# --- keys ---


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, dict[str, str]]]:
    home = tmp_path_factory.mktemp("keyed")
    file = KeyFile(home / "keys.json")
    keys = {
        "asker": file.add("asker", roles=("assess",)),
        "batcher": file.add("batcher", roles=("batch",)),
        "operator": file.add("operator", roles=("assess", "batch", "admin")),
        "hurried": file.add("hurried", per_minute=2),
        "short": file.add("short", days=0.5 / 86400),
    }
    with serving(home, ScriptedClient(), api_keys_file=file.path) as running:
        yield running, keys


def test_a_key_does_what_its_role_allows(keyed):
    running, keys = keyed
    with with_key(running, keys["asker"]) as asker, with_key(running, keys["batcher"]) as batcher:
        assert assess(asker).status_code == 200
        is_problem(audit(asker), 403, "role_missing")
        is_problem(asker.get("/metrics"), 403, "role_missing")
        assert audit(batcher).status_code == 202
        is_problem(assess(batcher), 403, "role_missing")
        is_problem(batcher.get("/v1/runs"), 403, "role_missing")
        assert batcher.get("/v1/tools").status_code == 200
    with with_key(running, keys["operator"]) as operator:
        text = operator.get("/metrics").text
    assert 'agenticiqa_jobs_total{key="asker",kind="assess",status="ok"} 1.0' in text
    assert re.search(r'agenticiqa_http_requests_total\{key="batcher",.*status="403"\}', text)


def test_a_key_expires(keyed):
    running, keys = keyed
    time.sleep(1.2)
    with with_key(running, keys["short"]) as client:
        is_problem(client.get("/v1/tools"), 401, "unauthorized")


def test_a_key_has_a_rate_of_its_own(keyed):
    running, keys = keyed
    with with_key(running, keys["hurried"]) as client:
        assert [assess(client).status_code for _ in range(2)] == [200, 200]
        refused = assess(client)
        is_problem(refused, 429, "too_often")
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert client.get("/v1/runs").status_code == 200


def test_a_key_has_a_number_of_runs_of_its_own(tmp_path):
    gate = Gate(plan_reply())
    file = KeyFile(tmp_path / "keys.json")
    key = file.add("one-at-a-time", at_once=1)
    with (
        serving(tmp_path, ScriptedClient(plan=gate), api_keys_file=file.path) as running,
        with_key(running, key) as client,
    ):
        assert assess(client, params={"async": "true"}).status_code == 202
        is_problem(assess(client), 429, "share_full")
        gate.open.set()


def test_keys_of_the_first_version_keep_what_they_could_do(tmp_path):
    file = KeyFile(tmp_path / "keys.json")
    key = file.add("old")
    kept = json.loads(file.path.read_text())
    for name in ("roles", "expires_at", "at_once", "per_minute"):
        del kept["keys"][0][name]
    file.path.write_text(json.dumps(kept))
    record = KeyFile(file.path).owner_of(key)
    assert record is not None
    assert record.roles == ("assess", "batch", "admin")


def test_the_commands_make_and_show_such_keys(tmp_path):
    from support.http_service import COMMAND

    file = str(tmp_path / "keys.json")
    add = [str(COMMAND), "serve", "keys", "add", "ci", "--api-keys-file", file, "--role", "assess", "--days", "30"]
    subprocess.run([*add, "--at-once", "2", "--per-minute", "60"], check=True, capture_output=True, timeout=60)
    listed = subprocess.run(
        [str(COMMAND), "serve", "keys", "list", "--api-keys-file", file, "--json"],
        check=True, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    (record,) = json.loads(listed.stdout)
    assert (record["roles"], record["at_once"], record["per_minute"]) == (["assess"], 2, 60)
    assert record["expires_at"] > record["created_at"]
    wrong = subprocess.run([*add[:-4], "--role", "king"], check=False, capture_output=True, text=True, timeout=60)
    assert wrong.returncode == 1
    assert "assess, batch, admin" in wrong.stderr


# --- deletion ---


def stored(running: Running) -> set[str]:
    return {path.name for path in (running.home / "service" / "pictures").glob("*/*")}


def test_a_run_and_its_pictures_are_deleted(tmp_path):
    with serving(tmp_path, ScriptedClient()) as running, running.client() as client:
        first = client.get(assess(client).headers["location"]).json()
        both = {"image_a": ("a.png", PICTURE), "image_b": ("b.png", REFERENCE)}
        second = client.get(client.post("/v1/compare", files=both).headers["location"]).json()
        assert len(stored(running)) == 2
        assert client.delete(first["links"]["self"]).status_code == 204
        is_problem(client.get(first["links"]["self"]), 404, "run_not_found")
        is_problem(client.get(first["links"]["events"]), 404, "run_not_found")
        # The comparison shows the same picture.
        assert len(stored(running)) == 2
        assert client.delete(second["links"]["self"]).status_code == 204
        assert stored(running) == set()
        assert client.get("/v1/runs").json()["runs"] == []
        is_problem(client.delete(first["links"]["self"]), 404, "run_not_found")
    assert RunStore(tmp_path / "runs.sqlite").latest(10) == []


def test_a_run_at_work_is_not_deleted_under_its_hands(tmp_path):
    gate = Gate(plan_reply())
    with serving(tmp_path, ScriptedClient(plan=gate)) as running, running.client() as client:
        run = assess(client, params={"async": "true"}).json()
        gate.wait_until_reached()
        is_problem(client.delete(run["links"]["self"]), 409, "not_ended")
        gate.open.set()
        wait_until(lambda: client.get(run["links"]["self"]).json()["status"] == "ok")
        assert client.delete(run["links"]["self"]).status_code == 204


def test_an_audit_is_deleted_with_its_results(tmp_path):
    with serving(tmp_path, ScriptedClient()) as running, running.client() as client:
        made = audit(client).json()
        wait_until(lambda: client.get(made["links"]["self"]).json()["status"] == "ok")
        assert list((tmp_path / "service" / "batches").iterdir()) != []
        assert client.delete(made["links"]["self"]).status_code == 204
        assert list((tmp_path / "service" / "batches").iterdir()) == []
        is_problem(client.get(made["links"]["self"]), 404, "audit_not_found")


def test_only_its_owner_or_an_operator_deletes_a_run(keyed):
    running, keys = keyed
    with (
        with_key(running, keys["asker"]) as asker,
        with_key(running, keys["hurried"]) as other,
        with_key(running, keys["operator"]) as operator,
    ):
        address = assess(asker).headers["location"]
        is_problem(other.delete(address), 404, "run_not_found")
        assert operator.delete(address).status_code == 204
        is_problem(asker.get(address), 404, "run_not_found")


# --- logs ---


def logged(home: Path, *options: str) -> tuple[str, str]:
    """What a server writes to standard error while it answers some requests, one of which makes it fail."""
    with command_serving(home, *options) as (process, url):
        httpx.get(f"{url}/v1/tools")
        httpx.get(f"{url}/no%0Asuch", params={"secret": "question"})
        httpx.get(f"{url}/v1/examples", headers={"X-Forwarded-For": "6.6.6.6, 203.0.113.7"})
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    return out, err


def test_the_log_on_standard_error_is_json_if_wanted(tmp_path):
    _, text = logged(tmp_path, "--log-format", "json", "--trusted-proxy", "127.0.0.1")
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    access = [line for line in lines if line["logger"] == "agenticiqa.access"]
    tools = next(line for line in access if line["path"] == "/v1/tools")
    assert (tools["status"], tools["method"], tools["key"]) == (200, "GET", "local")
    assert re.fullmatch("[0-9a-f]{12}", tools["request"])
    assert next(line for line in access if line["path"] == "/v1/examples")["client"] == "203.0.113.7"
    assert "question" not in text
    assert "agenticiqa.access" not in (tmp_path / "log.jsonl").read_text()


def test_where_a_request_came_from_is_believed_of_no_other_proxy(tmp_path):
    _, text = logged(tmp_path, "--log-format", "json", "--trusted-proxy", "192.0.2.1")
    access = [json.loads(line) for line in text.splitlines() if "agenticiqa.access" in line]
    assert {line["client"] for line in access} == {"127.0.0.1"}


def test_the_log_on_standard_error_is_lines_otherwise_and_access_is_left_out_if_wanted(tmp_path):
    _, silent = logged(tmp_path, "--no-access-log")
    assert "agenticiqa.access" not in silent
    assert not [line for line in silent.splitlines() if line.startswith("{")]


@pytest.fixture(params=["json"])
def log_of_this_process(request: pytest.FixtureRequest) -> Iterator[None]:
    """On standard error while a test runs, and as it was afterwards."""
    with log_to_standard_error(request.param, access=True):
        yield


@pytest.mark.usefixtures("log_of_this_process")
@pytest.mark.parametrize("log_of_this_process", ["text"], indirect=True)
def test_a_request_is_one_line_for_a_person(tmp_path, capsys):
    with serving(tmp_path, ScriptedClient()) as running, running.client() as client:
        client.get("/v1/tools")
        client.get("/no%0Asuch", params={"secret": "question"})
    text = capsys.readouterr().err
    assert re.search(r'^\S+ INFO agenticiqa\.access: \S+ local "GET /v1/tools" 200 [\d.]+ s [0-9a-f]{12}$', text, re.M)
    # A line break in an address cannot begin a line of its own.
    assert "such" in text
    assert not re.search("^such", text, re.M)
    assert "question" not in text


@pytest.mark.usefixtures("log_of_this_process")
def test_a_failure_is_logged_with_its_traceback_and_told_without(tmp_path, monkeypatch, capsys):
    def defect(*_: object) -> None:
        raise RuntimeError("a defect at /srv/secret/place")

    with serving(tmp_path, ScriptedClient()) as running, running.client() as client:
        # Once it serves: the first assessment, which it makes by itself, is to succeed.
        monkeypatch.setattr(Pipeline, "check_backends", defect)
        document = is_problem(assess(client), 500, "internal")
    assert "secret" not in json.dumps(document)
    name = document["instance"].rpartition(":")[2]
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith("{")]
    (failure,) = [line for line in lines if "exception" in line]
    assert name in failure["message"]
    assert "RuntimeError: a defect" in failure["exception"]


# --- the page about the interface ---


# --- errors in the language of the door ---


def bomb() -> bytes:
    """A header that announces four hundred megapixels."""
    buffer = io.BytesIO()
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(buffer, "PNG")
    data = bytearray(buffer.getvalue())
    data[16:24] = (20000).to_bytes(4, "big") + (20000).to_bytes(4, "big")
    data[29:33] = zlib.crc32(bytes(data[12:29])).to_bytes(4, "big")
    return bytes(data)


def test_errors_of_the_service_speak_of_requests_only(tmp_path):
    wide = encoded(np.zeros((100, 700, 3), np.uint8))
    with serving(tmp_path, ScriptedClient(), max_pixels=60_000) as running, running.client() as client:
        replies = [
            client.post("/v1/assess", files={"image": ("wide.png", wide)}),
            client.post("/v1/assess", files={"image": ("bomb.png", bomb())}),
            client.post("/v1/assess", files={"image": ("text.png", b"hello")}),
            client.post("/v1/assess", json={"image": {"path": "/etc/passwd"}}),
            client.post("/v1/measure", files={"image": ("p.png", PICTURE)}, data={"tools": "SSIM"}),
            client.post("/v1/measure", files={"image": ("p.png", PICTURE)}, data={"tools": "MUSIQ"}),
            client.post("/v1/measure", files={"image": ("p.png", PICTURE)}, data={"tools": "NOSUCH"}),
            assess(client, data={"regions": json.dumps({"sky": [0, 0, 900, 900]})}),
            assess(client, data={"backend": "openai.gpt-4o"}),
            assess(client, data={"query": "x" * 30_000}),
            assess(client, data={"max_replan": "many"}),
        ]
    for reply in replies:
        told = reply.text
        assert not LOCAL_MEANS.search(told), told
    assert [reply.status_code for reply in replies[:2]] == [413, 413]


def test_hints_are_for_whoever_reads_them():
    too_large = ImageTooLargeError("'a.png' has 9 pixels.")
    unavailable = ToolUnavailableError(
        "MUSIQ cannot run here.",
        operator_detail="pyiqa is not installed: pip install 'agenticiqa[pyiqa]'",
        hint="`agenticiqa tools list` shows what can.",
    )
    assert "images.max_pixels" in str(too_large)
    with client_messages():
        assert str(too_large) == "'a.png' has 9 pixels. Scale it down or crop it."
        assert str(unavailable) == "MUSIQ cannot run here."
        assert str(AgenticIQAError("Broken.", hint="Try again.")) == "Broken. Try again."
    assert "pip install" in str(unavailable)


def test_an_unknown_role_in_the_file_is_not_taken_for_none(tmp_path):
    file = KeyFile(tmp_path / "keys.json")
    file.add("one")
    file.path.write_text(file.path.read_text().replace('"batch"', '"king"'))
    with pytest.raises(ConfigError, match="damaged"):
        KeyFile(file.path).records()
