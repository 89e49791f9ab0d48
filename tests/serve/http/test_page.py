"""The files of the web page, without a browser: what is served and under which policy. See also browser/."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

from agenticiqa.serve.http.app import WEB
from agenticiqa.serve.http.page.files import POLICY

SCRIPTS = sorted(WEB.glob("js/*.js"))
STYLES = sorted(WEB.glob("css/*.css"))
FILES = [WEB / "index.html", *SCRIPTS, *STYLES]


def test_page_and_its_files_are_served_under_the_strict_policy(client: httpx.Client):
    kinds = {"/": "text/html", "/static/js/main.js": "text/javascript", "/static/css/base.css": "text/css"}
    for address, kind in kinds.items():
        reply = client.get(address)
        assert reply.status_code == 200
        assert reply.headers["content-type"].startswith(kind)
        assert reply.headers["content-security-policy"] == POLICY
        assert reply.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("address", ["/", "/healthz", "/readyz"])
def test_watchdogs_may_ask_with_head(client: httpx.Client, address: str):
    asked, told = client.head(address), client.get(address)
    assert (asked.status_code, asked.content) == (200, b"")
    assert asked.headers["content-type"] == told.headers["content-type"]


def test_unchanged_file_is_not_sent_again(client: httpx.Client):
    tag = client.get("/static/js/main.js").headers["etag"]
    again = client.get("/static/js/main.js", headers={"If-None-Match": tag})
    assert again.status_code == 304
    assert again.headers["content-security-policy"] == POLICY


@pytest.mark.parametrize("address", ["/static/js/", "/static/..%2fapp.py", "/static/../app.py", "/static/nothing.js"])
def test_nothing_but_the_files_is_served(client: httpx.Client, address: str):
    assert client.get(address).status_code == 404


def test_policy_allows_nothing_inline_and_nothing_foreign():
    assert "unsafe" not in POLICY
    assert "http" not in POLICY
    assert "default-src 'none'" in POLICY
    assert "require-trusted-types-for 'script'" in POLICY


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_files_name_no_other_host_and_turn_no_text_into_markup(file: Path):
    text = file.read_text("utf-8")
    assert re.findall(r"(?:https?:)?//(?!www\.w3\.org/2000/svg)[a-z0-9.-]+\.[a-z]{2,}", text) == []
    assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text) == []
    assert re.findall(r"<script(?! (?:type=\"module\" )?src=)|<style|\bstyle=|\bon[a-z]+=\"", text) == []


def test_everything_that_is_named_is_there():
    page = (WEB / "index.html").read_text("utf-8")
    named = [WEB / name for name in re.findall(r'"/static/([^"]+)"', page)]
    for script in SCRIPTS:
        named += [script.parent / name for name in re.findall(r'from "\./([^"]+)"', script.read_text("utf-8"))]
    assert len(named) > 40
    assert [name for name in named if not name.is_file()] == []
    assert [script.name for script in SCRIPTS if script not in named] == []
