"""What opens an address (a password, a signature) is used to open it, and is in nothing that is shown or kept."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import agenticiqa
from agenticiqa.errors import AgenticIQAError, without_credentials
from support.batches import write_jsonl
from support.command_line import CommandLine
from support.pictures import distorted, save, scene

pytestmark = pytest.mark.hard

PASSWORD, SIGNATURE = "hunter2secret", "topsecretsignature"
DEAD = f"http://me:{PASSWORD}@127.0.0.1:9/there.png?X-Amz-Signature={SIGNATURE}"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A picture on a server, with all that it takes to open it."""
    (tmp_path / "served").mkdir()
    save(tmp_path / "served" / "here.png", distorted(scene()))
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "served")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://me:{PASSWORD}@127.0.0.1:{server.server_port}/here.png?token={SIGNATURE}"
    server.shutdown()
    server.server_close()


def leaks(*texts: str, folders: tuple[Path, ...] = (), but: tuple[str, ...] = ()) -> list[str]:
    """Where one of the secrets stands, of texts and of all files in folders."""
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file() and path.name not in but]
    named = [*((text, text) for text in texts), *((str(path), path.read_bytes().decode("latin-1")) for path in files)]
    return [name for name, text in named if PASSWORD in text or SIGNATURE in text]


def test_a_picture_is_fetched_and_its_password_forgotten(command_line: CommandLine, address: str) -> None:
    done = command_line("assess", address, "--json", "--report", "page.html")
    assert done.code == 0, done.err
    assert json.loads(done.out)["image_path"].startswith("http://[redacted]@127.0.0.1")
    home = Path(command_line.environment["AGENTICIQA_HOME"])
    assert leaks(done.out, done.err, folders=(home, command_line.folder)) == []


@pytest.mark.parametrize("command", ["assess", "measure", "compare", "batch"])
def test_an_address_that_does_not_answer_is_named_without_its_password(command_line: CommandLine, command: str) -> None:
    words = {"compare": [DEAD, DEAD], "batch": [DEAD, "-o", "r.jsonl"]}.get(command, [DEAD])
    done = command_line(command, *words)
    assert done.code != 0
    home = Path(command_line.environment["AGENTICIQA_HOME"])
    assert leaks(done.out, done.err, folders=(home, command_line.folder)) == []


def test_batches_name_samples_without_passwords(command_line: CommandLine, address: str) -> None:
    """Also where a sample has no id but its address, and after a resume."""
    rows = [{"image_path": address}, {"image_path": DEAD}, {"image_path": address, "query": "Is it blurry?"}]
    write_jsonl(command_line.folder / "m.jsonl", rows)
    done = command_line("batch", "m.jsonl", "-o", "r.jsonl", "--measure", "noise", "-w", "1")
    again = command_line("batch", "m.jsonl", "-o", "r.jsonl", "--measure", "noise", "-w", "1", "--resume")
    lines = [json.loads(line) for line in (command_line.folder / "r.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["status"] for line in lines] == ["ok", "error", "ok"]
    assert len({line["sample_id"] for line in lines}) == 3
    home = Path(command_line.environment["AGENTICIQA_HOME"])
    shown = (done.out, done.err, again.out, again.err)
    assert leaks(*shown, folders=(home, command_line.folder), but=("m.jsonl",)) == []


def test_the_address_of_a_model_is_shown_without_its_password(command_line: CommandLine) -> None:
    command_line.environment["COMPATIBLE_BASE_URL"] = f"http://me:{PASSWORD}@127.0.0.1:9/v1"
    save(command_line.folder / "p.png", distorted(scene()))
    shown = command_line("config", "show", "--json")
    assert "http://[redacted]@127.0.0.1:9/v1" in shown.out
    failed = command_line("assess", "p.png", "--backend", "compatible.m", "--json")
    told = command_line("backends", "check", "compatible.m")
    home = Path(command_line.environment["AGENTICIQA_HOME"])
    assert leaks(shown.out, failed.out, failed.err, told.out, told.err, folders=(home,)) == []


def test_python_names_no_password_either(isolated: Path) -> None:
    result = agenticiqa.assess(DEAD)
    assert result.status == "error"
    assert leaks(result.model_dump_json()) == []
    with agenticiqa.AgenticIQA("embedded") as iqa:
        iqa.assess(DEAD)
    assert leaks(folders=(isolated,)) == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("s3://key:se/cret@bucket", "s3://key:se/cret@bucket"),  # no password: a slash ends the host
        ("https://me@example.org/a", "https://[redacted]@example.org/a"),
        ("https://me:a@b@example.org/a@2x.png", "https://[redacted]@example.org/a@2x.png"),
        ("zip://a.png::https://me:pw@example.org/x.zip", "zip://a.png::https://[redacted]@example.org/x.zip"),
        ("C:/me@home/a.png and mail me@example.org", "C:/me@home/a.png and mail me@example.org"),
        ("https://example.org/?sig=abc&se=1#x", "https://example.org/?sig=[redacted]&se=1#x"),
    ],
)
def test_only_what_opens_an_address_goes(text: str, shown: str) -> None:
    assert without_credentials(text) == shown
    assert AgenticIQAError(text).message == shown
