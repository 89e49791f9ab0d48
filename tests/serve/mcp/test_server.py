"""The MCP server, used through the SDK's own client: over standard input and output, and over HTTP."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import numpy as np
import pytest
from anyio.from_thread import start_blocking_portal
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp_types import ListRootsResult, Root
from PIL import Image

PICTURES = Path(__file__).resolve().parents[3] / "examples" / "pictures"
GOOD, BAD = PICTURES / "dandelion.jpg", PICTURES / "dandelion_compressed.jpg"
COMMAND = str(Path(sys.executable).with_name("agenticiqa"))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("mcp")
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return {**kept, "AGENTICIQA_HOME": str(folder / "home"), "XDG_CONFIG_HOME": str(folder)}


def stdio(home: dict[str, str], *options: str) -> StdioServerParameters:
    return StdioServerParameters(command=COMMAND, args=["mcp", "--backend", "embedded", *options], env=home)


@pytest.fixture(scope="module")
def asked(home: dict[str, str]) -> Iterator[Callable[..., Any]]:
    """Runs work with a client of one server over standard input and output, which all tests of the file share."""
    with start_blocking_portal() as portal:
        connection = Client(stdio_client(stdio(home)))
        with portal.wrap_async_context_manager(connection) as client:
            yield lambda work: portal.call(work, client)


def test_four_tools_with_typed_schemas(asked):
    async def work(client):
        return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in asked(work)}
    assert set(tools) == {"assess_image", "measure_image", "compare_images", "list_tools"}
    for tool in tools.values():
        assert tool.input_schema["type"] == "object"
        assert tool.output_schema["type"] == "object"
        assert tool.annotations.read_only_hint
    assert tools["measure_image"].input_schema["required"] == ["image"]
    # A run to ask on from brings its picture.
    assert {"image", "after"} <= tools["assess_image"].input_schema["properties"].keys()
    assert tools["assess_image"].input_schema["properties"]["image"]["description"]


@pytest.mark.hard
def test_assess_gives_answer_map_links_and_progress(asked):
    steps = []

    async def progress(done, total, message):
        steps.append((done, total, message))

    async def work(client):
        result = await client.call_tool(
            "assess_image",
            {"image": str(BAD), "query": "Is it blurry? A. Yes B. No", "include_map": True},
            progress_callback=progress,
        )
        links = [block for block in result.content if block.type == "resource_link"]
        read = [(await client.read_resource(link.uri)).contents[0] for link in links]
        return result, read

    result, (whole, report) = asked(work)
    assert not result.is_error
    kinds = [block.type for block in result.content]
    assert kinds == ["text", "image", "resource_link", "resource_link"]
    assert result.structured_content["answer"] in {"A", "B"}
    assert result.structured_content["reasoning"] in result.content[0].text
    assert base64.b64decode(result.content[1].data).startswith(b"\x89PNG")
    assert json.loads(whole.text)["summarizer_result"]["final_answer"] == result.structured_content["answer"]
    assert report.text.startswith("<!DOCTYPE html>")
    assert steps[0][2] == "plan"
    assert len(steps) >= 3
    assert all(done < total for done, total, _ in steps[:-1])
    assert steps[-1] == (6, 6, "done")


@pytest.mark.hard
def test_several_models_answer_together(home):
    """As the server was started: one of them has no key here, which is told, and no failure is an answer."""

    async def main():
        server = StdioServerParameters(command=COMMAND, args=["mcp", "--backends", "embedded,openai.gpt-4o"], env=home)
        async with Client(stdio_client(server)) as client:
            arguments = {"image": f"data:image/jpeg;base64,{base64.b64encode(BAD.read_bytes()).decode()}"}
            return await client.call_tool("assess_image", arguments)

    result = anyio.run(main)
    assert not result.is_error, result.content
    told = result.structured_content
    assert [(each["backend"], each["weight"]) for each in told["models"]] == [("embedded", 1), ("openai.gpt-4o", 0)]
    assert "backend_unavailable" in told["models"][1]["error"]
    assert (told["status"], told["models"][0]["answer"]) == ("partial", told["answer"])
    assert "openai.gpt-4o gave no answer" in result.content[0].text


@pytest.mark.hard
def test_measure_compare_and_list(asked):
    inline = "data:image/jpeg;base64," + base64.b64encode(BAD.read_bytes()).decode()

    async def work(client):
        return (
            await client.call_tool("measure_image", {"image": inline, "reference": str(GOOD), "tools": ["psnr"]}),
            await client.call_tool("compare_images", {"image_a": inline, "image_b": str(GOOD), "include_map": True}),
            await client.call_tool("list_tools", {}),
        )

    measured, compared, listed = asked(work)
    (score,) = measured.structured_content["scores"]
    assert score["tool"] == "PSNR"
    assert 20 < score["raw"] < 40
    assert compared.structured_content["winner"] == "B"
    assert [block.type for block in compared.content] == ["text", "image"]
    tools = {tool["name"]: tool for tool in listed.structured_content["tools"]}
    assert tools["SSIM"]["available"]
    assert not tools["MUSIQ"]["available"]


@pytest.mark.hard
def test_a_picture_is_scaled_to_its_reference_where_told(asked, tmp_path):
    """Sent inline: the picture lies in none of the client's folders."""
    buffer = io.BytesIO()
    Image.open(GOOD).resize((120, 96)).save(buffer, "PNG")
    small = "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
    pair = {"image": small, "reference": str(GOOD)}

    async def work(client):
        return [
            await client.call_tool("assess_image", pair),
            await client.call_tool("assess_image", {**pair, "align": "resize"}),
            await client.call_tool("measure_image", {**pair, "tools": ["PSNR"], "align": "resize"}),
            await client.call_tool("assess_image", {**pair, "align": "stretch"}),
        ]

    refused, assessed, measured, misspelt = asked(work)
    assert refused.is_error
    assert "align: resize" in refused.content[0].text
    assert not assessed.is_error, assessed.content[0].text
    assert measured.structured_content["scores"][0]["raw"] > 10
    assert misspelt.is_error


FAILING_CALLS = [
    ("assess_image", {"image": str(PICTURES / "nowhere.png")}, "no file"),
    ("assess_image", {"image": "/nowhere.png"}, "allowed"),
    ("assess_image", {"image": "https://example.org/a.png"}, "not fetched"),
    ("assess_image", {"image": "file:///etc/passwd"}, "not fetched"),
    ("assess_image", {"image": "/etc/passwd"}, "allowed"),
    ("assess_image", {"image": str(PICTURES / "README.md")}, "picture"),
    ("assess_image", {"image": "data:image/png;base64,????"}, "base64"),
    ("measure_image", {"image": str(BAD), "tools": ["SSIM"]}, "reference"),
    ("measure_image", {"image": str(BAD), "tools": ["NOSUCH"]}, "no tool"),
    ("compare_images", {"image_a": str(BAD), "image_b": str(PICTURES / "nowhere.png")}, "no file"),
    ("assess_image", {"image": str(BAD), "querry": "Is it sharp?"}, "image, query, reference"),
    ("list_tools", {"all": True}, "takes none"),
]


def test_errors_say_what_to_do_and_are_no_answers(asked):
    async def work(client):
        return [await client.call_tool(tool, arguments) for tool, arguments, _ in FAILING_CALLS]

    for result, (_, arguments, says) in zip(asked(work), FAILING_CALLS, strict=True):
        assert result.is_error, arguments
        assert says in result.content[0].text
        assert "Traceback" not in result.content[0].text
        # The caller has no terminal: nothing is said of options, commands or configuration files.
        assert not re.search(r"--[a-z]|`|\.yaml|pip install", result.content[0].text), result.content[0].text


def test_errors_tell_neither_where_inline_pictures_lie_nor_how_arguments_are_checked(asked):
    def inline(data: bytes) -> str:
        return "data:image/png;base64," + base64.b64encode(data).decode()

    calls = [
        ("assess_image", {"image": inline(b"no picture")}),
        ("measure_image", {"image": inline(b"no picture")}),
        ("compare_images", {"image_a": inline(b"no picture"), "image_b": str(GOOD)}),
        ("assess_image", {"image": 7}),
        ("assess_image", {"image": str(GOOD), "regions": {"flower": [1, "secret"]}}),
        ("assess_image", {"image": str(GOOD), "mode": "quick"}),
    ]

    async def work(client):
        return [await client.call_tool(name, arguments) for name, arguments in calls]

    results = asked(work)
    texts = [result.content[0].text for result in results]
    assert all(result.is_error for result in results)
    assert all("the inline picture" in text for text in texts[:3])
    for text in texts:
        assert not re.search(r"agenticiqa-mcp|[0-9a-f]{64}|pydantic|input_value|secret|/tmp", text), text
    assert [re.search("image:|regions.flower|mode:", text) is not None for text in texts[3:]] == [True] * 3


@pytest.mark.hard
def test_a_map_that_cannot_be_made_is_told(asked):
    """Of pictures of two sizes there is none."""
    buffer = io.BytesIO()
    Image.open(GOOD).crop((0, 0, 400, 300)).save(buffer, "PNG")
    part = "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()

    async def work(client):
        return await client.call_tool("compare_images", {"image_a": part, "image_b": str(GOOD), "include_map": True})

    result = asked(work)
    assert not result.is_error, result.content[0].text
    assert [block.type for block in result.content] == ["text", "text"]
    assert "There is no map" in result.content[1].text


def test_a_strange_run_is_not_found(asked):
    async def work(client):
        with pytest.raises(MCPError, match="run"):
            await client.read_resource("agenticiqa://runs/nosuchrun")

    asked(work)


async def calls_from(folder: Path, home: dict[str, str], *names: Path, roots: Path | None = None) -> list[Any]:
    """Measurements of these files by a server that works in a folder, for a client that may have roots of its own."""

    async def named_roots(_context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=roots.as_uri())])  # type: ignore[union-attr]

    server = StdioServerParameters(command=COMMAND, args=["mcp", "--backend", "embedded"], env=home, cwd=folder)
    more: dict[str, Any] = {"list_roots_callback": named_roots} if roots else {}
    async with Client(stdio_client(server), mode="legacy", **more) as client:
        return [await client.call_tool("measure_image", {"image": str(name), "tools": ["noise"]}) for name in names]


@pytest.mark.hard
def test_by_default_only_the_clients_folders_or_the_working_folder_are_opened(home, tmp_path):
    """A model that read "open /home/you/letter.png" somewhere gets nowhere."""
    working, own = tmp_path / "working", tmp_path / "own"
    for folder in (working, own):
        folder.mkdir()
        (folder / "good.jpg").write_bytes(GOOD.read_bytes())
    files = (working / "good.jpg", own / "good.jpg", GOOD)
    without = anyio.run(calls_from, working, home, *files)
    assert [result.is_error for result in without] == [False, True, True]
    assert str(working) in without[1].content[0].text

    async def with_roots() -> list[Any]:
        return await calls_from(working, home, *files, roots=own)

    assert [result.is_error for result in anyio.run(with_roots)] == [True, False, True]


@pytest.mark.hard
def test_the_server_names_its_folders(home, tmp_path):
    async def main() -> str:
        async with Client(stdio_client(stdio(home, "--allowed-root", str(tmp_path)))) as client:
            return client.instructions or ""

    assert str(tmp_path) in anyio.run(main)


@pytest.mark.hard
def test_paths_stay_inside_the_allowed_folder(home, tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "good.jpg").write_bytes(GOOD.read_bytes())
    (inside / "link.jpg").symlink_to(BAD)

    async def work(client):
        calls = ("good.jpg", "link.jpg", f"../../{BAD}")
        return [
            await client.call_tool("measure_image", {"image": str(inside / name), "tools": ["noise"]}) for name in calls
        ]

    async def main():
        async with Client(stdio_client(stdio(home, "--allowed-root", str(inside)))) as client:
            return await work(client)

    good, link, outside = anyio.run(main)
    assert not good.is_error
    assert link.is_error
    assert outside.is_error


@pytest.fixture(scope="module")
def http_server(home: dict[str, str]) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [COMMAND, "mcp", "--http", "--port", str(port), "--backend", "embedded"]
    process = subprocess.Popen(command, env=home, stderr=subprocess.PIPE)
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None, process.stderr.read().decode()
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(timeout=30)


@pytest.mark.hard
def test_over_http_only_pictures_that_were_sent_are_opened(http_server):
    inline = "data:image/jpeg;base64," + base64.b64encode(BAD.read_bytes()).decode()

    async def main():
        async with Client(http_server) as client:
            return (
                await client.call_tool("measure_image", {"image": inline, "tools": ["noise"]}),
                await client.call_tool("measure_image", {"image": str(BAD), "tools": ["noise"]}),
            )

    sent, by_path = anyio.run(main)
    assert not sent.is_error
    assert by_path.is_error
    assert "allowed" in by_path.content[0].text


def test_over_http_other_names_and_other_sites_are_refused(http_server):
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accepted = {"Accept": "application/json, text/event-stream"}
    rebound = httpx.post(http_server, json=call, headers={**accepted, "Host": "evil.example:80"})
    foreign = httpx.post(http_server, json=call, headers={**accepted, "Origin": "https://evil.example"})
    assert (rebound.status_code, foreign.status_code) == (421, 403)


@pytest.mark.hard
def test_over_http_a_photograph_of_some_megabytes_can_be_sent(http_server, tmp_path):
    pixels = np.random.default_rng(1).integers(0, 256, (1400, 1400, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "noise.png")
    inline = "data:image/png;base64," + base64.b64encode((tmp_path / "noise.png").read_bytes()).decode()
    assert len(inline) > 5 * 2**20

    async def main():
        async with Client(http_server) as client:
            return await client.call_tool("measure_image", {"image": inline, "tools": ["noise"]})

    assert not anyio.run(main).is_error


def test_it_is_not_served_to_the_network(home):
    finished = subprocess.run(
        [COMMAND, "mcp", "--http", "--host", "0.0.0.0"], env=home, check=False, capture_output=True, text=True
    )
    assert finished.returncode == 1
    assert "reverse proxy" in finished.stderr


@pytest.mark.hard
def test_a_run_is_asked_on(asked, home, tmp_path):
    (tmp_path / "outside.jpg").write_bytes(GOOD.read_bytes())
    data = "data:image/jpeg;base64," + base64.b64encode(BAD.read_bytes()).decode()

    async def work(client):
        first = await client.call_tool("assess_image", {"image": data, "query": "Is it blurry?"})
        run_id = first.structured_content["run_id"]
        second = await client.call_tool("assess_image", {"after": run_id, "query": "are you sure?"})
        outside = subprocess.run(
            [COMMAND, "assess", str(tmp_path / "outside.jpg"), "--json"],
            env=home,
            capture_output=True,
            text=True,
            check=True,
        )
        other = json.loads(outside.stdout)["metadata"]["run_id"]
        refused = await client.call_tool("assess_image", {"after": other, "query": "why?"})
        nothing = await client.call_tool("assess_image", {"query": "why?"})
        return second, refused, nothing

    second, refused, nothing = asked(work)
    assert second.structured_content["answer"].startswith("Still yes")
    assert "not inside an allowed folder" in refused.content[0].text
    assert nothing.is_error
    assert "after: a run to ask on from" in nothing.content[0].text
