"""Small files that take minutes to read: nobody else waits for them, and the server stops when it is told to."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from agenticiqa.serve.http.keys import KeyFile
from support.http_service import PICTURE, Running, assess, command_serving, is_problem, serving
from support.scripted import ScriptedClient
from support.slow_pictures import many_pages, many_scans

pytestmark = pytest.mark.hard

SLOW = many_pages(250_000, side=400)
"""Not too many bytes for its pixels; reading it takes most of a minute."""


def preview(client: httpx.Client, data: bytes) -> httpx.Response:
    return client.post("/v1/preview", files={"image": ("photo", data)})


@pytest.fixture
def two_keys(tmp_path: Path) -> Iterator[tuple[Running, httpx.Client, httpx.Client]]:
    keys = KeyFile(tmp_path / "keys.json")
    headers = [{"Authorization": f"Bearer {keys.add(name)}"} for name in ("rude", "polite")]
    with serving(tmp_path / "home", ScriptedClient(), api_keys_file=keys.path, timeout_s=3.0) as running:
        rude, polite = (running.client(headers=each) for each in headers)
        with rude, polite:
            yield running, rude, polite


def test_repeated_scans_are_refused_at_once(two_keys):
    _, rude, _ = two_keys
    data = many_scans()
    is_problem(preview(rude, data), 415, "image_format")
    is_problem(rude.post("/v1/assess", files={"image": ("photo.jpg", data)}), 415, "image_format")


def test_a_picture_that_is_mostly_something_else_is_refused(two_keys):
    _, rude, _ = two_keys
    is_problem(preview(rude, many_pages(50_000)), 413, "image_too_large")


def test_others_draw_while_one_key_sends_slow_pictures(two_keys):
    _, rude, polite = two_keys
    with ThreadPoolExecutor(4) as pool:
        slow = [pool.submit(preview, rude, SLOW) for _ in range(4)]
        time.sleep(0.5)
        for _ in range(3):
            assert preview(polite, PICTURE).status_code == 200
        assert not all(each.done() for each in slow)
        # Each in its time: those behind the first have waited too long.
        assert {each.result().status_code for each in slow} <= {422, 504}


def test_a_run_ends_with_its_time_and_frees_its_worker(tmp_path: Path):
    with serving(tmp_path, ScriptedClient(), workers=1, timeout_s=2.0) as running, running.client() as client:
        is_problem(client.post("/v1/assess", files={"image": ("photo", SLOW)}), 504, "timed_out")
        assert assess(client).status_code == 200


def test_a_server_that_draws_slow_pictures_stops_in_time(tmp_path: Path):
    with (
        command_serving(tmp_path, "--grace", "1") as (process, url),
        httpx.Client(base_url=url, timeout=120) as client,
        ThreadPoolExecutor(1) as pool,
    ):
        drawing = pool.submit(preview, client, SLOW)
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=1 + 5 + 10) == 0
        # Told before the connection closes: that it stops, or that the picture is no good.
        assert drawing.result().status_code in (422, 503)
