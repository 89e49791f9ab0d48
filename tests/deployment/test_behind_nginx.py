"""The service as its systemd unit starts it, behind a real nginx with the shipped block. `make nginx` runs it."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(os.environ.get("AGENTICIQA_COMMAND") or Path(sys.executable).with_name("agenticiqa")).resolve()
PICTURE = ROOT / "examples" / "pictures" / "dandelion_compressed.jpg"
SITE = "iqa.example.org"
# A user of every system that owns nothing; tried as that user where this test may, with no home either way.
NOBODY = 65534


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def unit() -> configparser.SectionProxy:
    parsed = configparser.ConfigParser(strict=False, interpolation=None)
    parsed.optionxform = str  # type: ignore[assignment]
    parsed.read(ROOT / "deploy" / "agenticiqa.service", encoding="utf-8")
    return parsed["Service"]


@dataclass(frozen=True)
class Installed:
    """What the unit names, at places that a test may use."""

    state: Path
    port: int

    def placed(self, text: str) -> str:
        text = text.replace("/opt/agenticiqa/bin/agenticiqa", str(COMMAND))
        return re.sub(r"--port \d+", f"--port {self.port}", text.replace("/var/lib/agenticiqa", str(self.state)))

    @property
    def environment(self) -> dict[str, str]:
        """What systemd hands to a unit with a user that has no home, and no more."""
        name, _, value = self.placed(unit()["Environment"]).partition("=")
        return {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/nonexistent", name: value}

    def run(self, *words: str) -> subprocess.Popen[str]:
        user = service_user()
        return subprocess.Popen(
            words,
            env=self.environment,
            cwd=self.state,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
            umask=int(unit()["UMask"], 8),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@cache
def service_user() -> int | None:
    """A user without a home, where this test may become one and that user can read the installation."""
    if os.getuid() != 0:
        return None
    tried = subprocess.run(
        [COMMAND, "--version"], user=NOBODY, group=NOBODY, capture_output=True, text=True, check=False
    )
    assert tried.returncode == 0, f"{COMMAND} cannot be run by another user: {tried.stderr}"
    return NOBODY


def documented_key_command() -> list[str]:
    """As docs/running/deployment.md writes it for the unit, from the program's own words on."""
    text = (ROOT / "docs" / "running" / "deployment.md").read_text(encoding="utf-8")
    line = next(each for each in text.splitlines() if "sudo -u agenticiqa" in each)
    return shlex.split(line[line.index("/opt/agenticiqa/bin/agenticiqa") :])


@pytest.fixture(scope="module")
def nginx() -> str:
    found = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    assert found, "nginx is not installed here: apt-get install nginx-light"
    return found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, nginx: str) -> Iterator[tuple[httpx.Client, Installed]]:
    """A client that speaks TLS with nginx, which speaks with the service."""
    folder = tmp_path_factory.mktemp("site")
    for parent in (folder, *folder.parents[:2]):
        # pytest makes its folders private; the service's user must pass through.
        parent.chmod(0o755)
    installed = Installed(folder / "state", free_port())
    installed.state.mkdir(mode=int(unit()["StateDirectoryMode"], 8))
    if service_user() is not None:
        os.chown(installed.state, NOBODY, NOBODY)
    added = installed.run(*(installed.placed(word) for word in documented_key_command()))
    key, problems = added.communicate(timeout=60)
    assert added.returncode == 0, problems
    service = installed.run(*shlex.split(installed.placed(unit()["ExecStart"])))
    try:
        wait_for(f"http://127.0.0.1:{installed.port}/readyz", service)
        with proxied(nginx, folder, installed.port) as (address, certificate):
            trusted = ssl.create_default_context(cafile=str(certificate))
            headers = {"Authorization": f"Bearer {key.strip()}", "Host": SITE}
            with httpx.Client(base_url=address, verify=trusted, headers=headers, timeout=60) as client:
                yield client, installed
    finally:
        service.terminate()
        _, log = service.communicate(timeout=60)
    assert service.returncode == 0, log
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    assert any(line.get("path") == "/v1/assess" and line["status"] == 200 for line in lines), log


def wait_for(address: str, process: subprocess.Popen[str]) -> None:
    for _ in range(1200):
        assert process.poll() is None, process.communicate()[1]
        try:
            if httpx.get(address).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise AssertionError("the service did not get ready")


@contextmanager
def proxied(nginx: str, folder: Path, service_port: int) -> Iterator[tuple[str, Path]]:
    """nginx with the shipped server block, at a port and with a certificate of the test's own."""
    certificate, private = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", str(private),
         "-out", str(certificate), "-subj", f"/CN={SITE}", "-addext", f"subjectAltName=DNS:{SITE},IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    port = free_port()
    block = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")
    for shipped, own in (
        ("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;"),
        ("/etc/ssl/agenticiqa", str(folder)),
        ("http://127.0.0.1:8000", f"http://127.0.0.1:{service_port}"),
    ):
        assert shipped in block
        block = block.replace(shipped, own)
    config = folder / "whole.conf"
    places = "".join(
        f"{name}_temp_path {folder / name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    config.write_text(
        f"daemon off;\npid {folder / 'nginx.pid'};\nerror_log {folder / 'error.log'};\n"
        f"events {{}}\nhttp {{\naccess_log off;\n{places}{block}}}\n"
    )
    checked = subprocess.run([nginx, "-t", "-c", str(config)], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    process = subprocess.Popen([nginx, "-c", str(config)], stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"https://127.0.0.1:{port}", certificate
    finally:
        process.terminate()
        process.wait(timeout=30)


def test_a_picture_is_assessed_through_the_proxy(site):
    client, _ = site
    with PICTURE.open("rb") as file:
        # As a browser sends it from the site's own page.
        reply = client.post("/v1/assess", files={"image": file}, headers={"Origin": f"https://{SITE}"})
    assert reply.status_code == 200, reply.text
    assert reply.json()["status"] == "ok"
    shown = client.get(reply.headers["location"])
    assert shown.json()["result"]["summarizer_result"]["final_answer"]
    assert client.delete(reply.headers["location"]).status_code == 204


def test_the_proxy_does_not_make_strangers_local(site):
    client, _ = site
    assert client.get("/v1/tools", headers={"Authorization": ""}).status_code == 401
    assert client.get("/v1/tools", headers={"Origin": "https://elsewhere.example"}).status_code == 403
    assert client.get("/").status_code == 200
    assert client.head("/healthz").status_code == 200


def test_steps_arrive_as_they_happen(site):
    client, _ = site
    with PICTURE.open("rb") as file:
        run = client.post("/v1/assess", files={"image": file}, params={"async": "true"}).json()
    with client.stream("GET", run["links"]["events"]) as stream:
        lines = [line for line in stream.iter_lines() if line.startswith("event:")]
    assert lines[0] == "event: status"
    assert lines[-1] == "event: done"


def test_what_is_kept_is_for_the_services_user_alone(site):
    _, installed = site
    kept = [path for path in installed.state.rglob("*") if path.is_file()]
    assert {"keys.json", "service.sqlite"} <= {path.name for path in kept}
    assert [path for path in (installed.state, *kept) if path.stat().st_mode & 0o077] == []
