"""``agenticiqa mcp``: serve the tools to other agents."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from agenticiqa.cli.options import BackendOption, ConfigOption, MemoryOption
from agenticiqa.cli.terminal import error_console
from agenticiqa.errors import BackendUnavailableError, ConfigError

LOOPBACK = ("127.0.0.1", "::1", "localhost")

HttpOption = Annotated[bool, typer.Option("--http", help="Serve streamable HTTP instead of standard input and output.")]
HostOption = Annotated[str, typer.Option("--host", help="Address for --http; loopback only.")]
PortOption = Annotated[int, typer.Option("--port", min=0, max=65535, help="Port for --http.")]
RootOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--allowed-root",
        help="Folder whose pictures may be opened by path; give one for each. Default with standard input: the "
        "client's roots, or the working folder where it names none; with --http: none.",
        show_default=False,
    ),
]


def mcp(
    http: HttpOption = False,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8001,
    allowed_root: RootOption = None,
    backend: BackendOption = None,
    memory: MemoryOption = None,
    config: ConfigOption = None,
) -> None:
    """Serve assess_image, measure_image, compare_images and list_tools through the Model Context Protocol."""
    if http and host not in LOOPBACK:
        raise ConfigError(
            f"--host {host} would let others on the network use this machine.",
            hint="Keep to loopback and put a reverse proxy that asks for a key in front of it; see docs/mcp.md.",
        )
    try:
        from agenticiqa.serve.mcp.server import build_server
    except ImportError as error:
        raise BackendUnavailableError(
            "The MCP server is not installed.", hint="pip install 'agenticiqa[mcp]'"
        ) from error
    from agenticiqa.api.assessor import AgenticIQA
    from agenticiqa.runtime.scratch import ScratchFolder
    from agenticiqa.serve.mcp.pictures import MAX_REQUEST_BYTES, PictureStore

    # Pictures that clients send are for this user alone.
    os.umask(0o077)
    roots = allowed_root or ([] if http else None)
    with (
        ScratchFolder("mcp") as folder,
        AgenticIQA(backend, config_dir=config, overrides={"pipeline.memory": memory}) as own,
    ):
        pictures = PictureStore(folder, roots)
        server = build_server(own, pictures)
        error_console().print(pictures.allowed_folders(), highlight=False, markup=False, soft_wrap=True)
        if http:
            server.run("streamable-http", host=host, port=port, max_request_body_size=MAX_REQUEST_BYTES)
        else:
            server.run("stdio")
