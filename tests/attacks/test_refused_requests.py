"""What a refused or hostile request leaves behind, costs, or reaches."""

from __future__ import annotations

import hashlib
import io
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pytest

from agenticiqa.errors import ImageError
from agenticiqa.runtime.config import ImageLimits
from agenticiqa.serve.http.keys import KeyFile, RefusedWork
from agenticiqa.serve.http.problems import ServiceError
from agenticiqa.serve.http.settings import ServiceSettings
from agenticiqa.serve.http.store.uploads import UploadStore
from agenticiqa.serve.http.work.intake import RequestReader
from support.http_service import PICTURE, Running, assess, audit, encoded, is_problem, serving, wait_until
from support.scripted import ScriptedClient

MEGABYTE = 1024 * 1024


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, dict[str, httpx.Client]]]:
    """A server with a store of four megabytes, and clients by the names of their keys."""
    home = tmp_path_factory.mktemp("keyed")
    keys = KeyFile(home / "keys.json")
    roles = {"one": ["assess", "batch"], "other": ["assess"], "keeper": ["admin"]}
    headers = {name: {"Authorization": f"Bearer {keys.add(name, roles=given)}"} for name, given in roles.items()}
    with serving(home, ScriptedClient(), api_keys_file=keys.path, store_bytes=4 * MEGABYTE) as running:
        clients = {name: running.client(headers=each) for name, each in headers.items()}
        yield running, clients
        for client in clients.values():
            client.close()


def picture(number: int, side: int = 400) -> bytes:
    """Half a megabyte that no other test sends."""
    return encoded(np.random.default_rng(number).integers(0, 256, (side, side, 3), np.uint8))


def stored(running: Running) -> set[Path]:
    return {path for path in (running.home / "service" / "pictures").rglob("*") if path.is_file()}


# --- what is kept ---


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/v1/measure", {"tools": "no_such_tool"}),
        ("/v1/assess", {"backend": "no_such_backend"}),
        ("/v1/assess", {"query": "x" * 100_000}),
        ("/v1/assess", {"after": "0123456789ab"}),
        ("/v1/assess", {"mode": "direct", "without": "planner"}),
    ],
)
def test_nothing_of_a_refused_request_is_stored(keyed, path: str, fields: dict[str, str]):
    running, clients = keyed
    before, unseen = stored(running), picture(1000 + sum(map(ord, str(fields))))
    reply = clients["one"].post(path, files={"image": ("a.png", unseen)}, data=fields)
    assert reply.status_code in (404, 422), reply.text
    assert stored(running) == before


def test_previews_and_measurements_leave_nothing(keyed):
    running, clients = keyed
    before = stored(running)
    files = {"image": ("a.png", picture(2))}
    assert clients["one"].post("/v1/preview", files=files).status_code == 200
    measured = clients["one"].post("/v1/measure", files=files, data={"tools": "NIQE"})
    assert measured.json()["measurements"][0]["image"] == "a.png"
    assert stored(running) == before


def test_an_audit_that_is_refused_leaves_nothing(keyed):
    running, clients = keyed
    before = stored(running)
    files = [("files", (f"{number}.png", picture(number))) for number in range(10, 16)]
    # Six times half a megabyte: more than one key may keep.
    is_problem(clients["one"].post("/v1/audits", files=files), 429, "quota_full")
    assert stored(running) == before


@pytest.mark.hard
def test_files_that_look_like_a_dataset_lead_nowhere(tmp_path: Path):
    """Arrow rows with paths in the place of bytes: the folder of an audit is a folder of pictures and nothing else."""
    (tmp_path / "private").mkdir()
    secret = tmp_path / "private" / "secret.png"
    secret.write_bytes(picture(99))
    table, sink = pa.table({"image": [{"bytes": None, "path": str(secret)}]}), io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    state = json.dumps({"_data_files": [{"filename": "d.arrow"}]}).encode()
    sent = {"state.json": state, "dataset_info.json": b"{}", "d.arrow": sink.getvalue(), "a.png": PICTURE}
    files = [("files", (name, data)) for name, data in sent.items()]
    with serving(tmp_path / "home", ScriptedClient()) as running, running.client() as client:
        made = client.post("/v1/audits", files=files, data={"quick": "true"}).json()["links"]
        wait_until(lambda: client.get(made["self"]).json()["status"] in ("done", "ok", "partial", "error", "failed"))
        rows = [json.loads(line) for line in client.get(made["rows"]).text.splitlines()]
    assert "a.png" in {row["path"] for row in rows}
    assert hashlib.sha256(secret.read_bytes()).hexdigest() not in json.dumps(rows)
    assert "secret" not in json.dumps(rows)


@pytest.mark.hard
def test_one_key_pushes_out_its_own_pictures_only(keyed):
    running, clients = keyed
    kept = assess(clients["other"])
    assert kept.status_code == 200
    of_other = stored(running)
    for number in range(20, 28):
        reply = clients["one"].post("/v1/assess", files={"image": ("a.png", picture(number))})
        assert reply.status_code == 200, reply.text
    assert of_other <= stored(running)
    assert sum(path.stat().st_size for path in stored(running) - of_other) <= 2 * MEGABYTE
    assert clients["other"].get(f"{kept.headers['location']}/image").status_code == 200


def test_the_same_picture_of_two_keys_is_deleted_for_one(keyed):
    _, clients = keyed
    data = picture(30)
    runs = [
        clients[name].post("/v1/assess", files={"image": ("a.png", data)}).headers["location"]
        for name in ("one", "other")
    ]
    assert clients["one"].delete(runs[0]).status_code == 204
    assert clients["other"].get(f"{runs[1]}/image").status_code == 200
    assert clients["one"].get(f"{runs[0]}/image").status_code == 404


# --- who may delete ---


def test_a_key_of_role_admin_alone_deletes_runs_and_audits_of_others(keyed):
    _, clients = keyed
    run = assess(clients["one"]).headers["location"]
    made = audit(clients["one"]).json()["links"]["self"]
    wait_until(lambda: clients["one"].get(made).json()["status"] == "ok")
    for address in (run, made):
        is_problem(clients["keeper"].get(address), 403, "role_missing")
        assert clients["keeper"].delete(address).status_code == 204
        assert clients["one"].get(address).status_code == 404


# --- what it costs ---


@pytest.mark.parametrize("hidden", ["regions", "options", "image"])
def test_json_is_counted_before_it_is_built(keyed, hidden: str, monkeypatch):
    _, clients = keyed
    many = {str(number): [0, 0, 1, 1] for number in range(40_000)}
    body = {"image": {"example": "dandelion"}, hidden: many if hidden == "regions" else [*many.values()]}
    built = []
    monkeypatch.setattr("pydantic.BaseModel.model_validate_json", lambda *_, **__: built.append(1))
    is_problem(clients["one"].post("/v1/assess", json=body), 413, "body_too_large")
    assert not built


def test_pictures_in_json_may_be_large_however_they_are_written(keyed):
    import base64

    _, clients = keyed
    text = base64.b64encode(picture(40)).decode()
    for written in (text, text.replace("/", "\\/")):
        body = '{"image": {"base64": "' + written + '"}, "query": "Rate it."}'
        reply = clients["one"].post("/v1/assess", content=body, headers={"Content-Type": "application/json"})
        assert reply.status_code == 200, reply.text
    assert len(json.loads(body)["image"]["base64"]) > 300_000


# --- what it reaches ---


@pytest.fixture
def reader(tmp_path: Path) -> RequestReader:
    (tmp_path / "root" / "day").mkdir(parents=True)
    (tmp_path / "root" / "day" / "a.png").write_bytes(PICTURE)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.png").write_bytes(b"secret")
    settings = ServiceSettings(tmp_path, allowed_roots=(tmp_path / "root",))
    uploads = UploadStore(tmp_path / "store", keep_s=60, max_bytes=MEGABYTE, least_s=1)
    return RequestReader(settings, uploads, ImageLimits(), RefusedWork())


def test_links_inside_the_root_are_followed_and_others_are_not(reader: RequestReader, tmp_path: Path):
    root = tmp_path / "root"
    (root / "again").symlink_to(root / "day")
    (root / "out").symlink_to(tmp_path / "outside")
    os.mkfifo(root / "pipe")
    assert reader._read_allowed("image", str(root / "again" / "a.png")) == PICTURE
    for path in ("out/a.png", "day", "pipe", "missing.png", "../outside/a.png", ""):
        with pytest.raises(ServiceError, match="not a picture this server may read"):
            reader._read_allowed("image", str(root / path))


@pytest.mark.hard
def test_a_link_that_is_swapped_all_the_time_never_leads_outside(reader: RequestReader, tmp_path: Path):
    root = tmp_path / "root"
    for name, target in (("in", "root/day"), ("out", "outside")):
        (tmp_path / name).symlink_to(tmp_path / target)
    swapped, stop = root / "swapped", threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for name in ("in", "out"):
                os.link(tmp_path / name, tmp_path / "next", follow_symlinks=False)
                (tmp_path / "next").replace(swapped)

    thread = threading.Thread(target=swap)
    thread.start()
    read = []
    try:
        for _ in range(20_000):
            try:
                read.append(reader._read_allowed("image", str(swapped / "a.png")))
            except ServiceError:
                continue
    finally:
        stop.set()
        thread.join()
    assert read
    assert set(read) == {PICTURE}


# --- what it costs ---


def unknown_tool(client: httpx.Client) -> httpx.Response:
    return client.post("/v1/measure", files={"image": ("a.png", PICTURE)}, data={"tools": "no_such_tool"})


def test_a_key_that_wastes_much_has_to_wait_and_no_other(keyed, monkeypatch):
    running, clients = keyed
    # What other tests had refused under these keys is no debt here.
    monkeypatch.setattr(running.bound.state.refused, "_debts", {})
    monkeypatch.setattr(RefusedWork, "ALLOWED_S", 5 * RefusedWork.EACH_S)
    monkeypatch.setattr(RefusedWork, "ANSWER_S", 0.01)
    statuses = [unknown_tool(clients["other"]).status_code for _ in range(10)]
    assert statuses[0] == 422
    assert statuses[-3:] == [429] * 3
    refused = assess(clients["other"])
    is_problem(refused, 429, "too_much_refused")
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert clients["other"].get("/v1/runs").status_code == 200
    assert assess(clients["one"]).status_code == 200
    monkeypatch.setattr(RefusedWork, "REPAID", 100.0)
    assert assess(clients["other"]).status_code == 200


@pytest.mark.parametrize("way", ["intake", "drawing", "run"])
def test_what_takes_long_to_be_refused_is_charged_with_its_time(keyed, way: str, monkeypatch):
    running, clients = keyed
    charged: list[float] = []
    monkeypatch.setattr(running.bound.state.refused, "add", lambda _owner, seconds: charged.append(seconds))
    monkeypatch.setattr(running.bound.state.render_queue, "failed", running.bound.state.refused.add)

    def slow(*_: object, **__: object) -> None:
        time.sleep(0.3)
        raise ImageError("It takes too long.")

    where = {
        "intake": "agenticiqa.serve.http.work.intake.check_header",
        "drawing": "agenticiqa.serve.http.routes.work.decode_image",
        "run": "agenticiqa.serve.http.work.pipeline_work.decode_image",
    }
    monkeypatch.setattr(where[way], slow)
    path, fields = ("/v1/preview", {}) if way == "drawing" else ("/v1/measure", {"tools": "NIQE"})
    reply = clients["one"].post(path, files={"image": ("a.png", picture(77))}, data=fields)
    assert reply.status_code == 422, reply.text
    assert 0.3 <= max(charged) < 30


@pytest.mark.hard
def test_who_has_a_server_to_themselves_may_err(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(RefusedWork, "ALLOWED_S", 0.0)
    with serving(tmp_path, ScriptedClient()) as running, running.client() as client:
        assert [unknown_tool(client).status_code for _ in range(3)] == [422] * 3
