"""``agenticiqa serve``: the HTTP service, and the keys to it; ``agenticiqa mcp``: the tools for other agents."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agenticiqa.cli.options import BackendOption, BackendsOption, ConfigOption, JsonOption, MemoryOption, finite
from agenticiqa.cli.terminal import print_json, print_message, print_result, print_table
from agenticiqa.errors import BackendUnavailableError, ConfigError
from agenticiqa.runtime.logs import LogForm, log_to_standard_error

if TYPE_CHECKING:
    from agenticiqa.serve.http.keys import KeyFile

app = typer.Typer(help="Serve AgenticIQA over HTTP, with a web page.", invoke_without_command=True)
keys_app = typer.Typer(help="Make, list and revoke API keys.", no_args_is_help=True)
app.add_typer(keys_app, name="keys")

KeysFileOption = Annotated[
    Path | None, typer.Option(help="Keys that are let in; needed unless serving on a loopback address.")
]
NameArgument = Annotated[str, typer.Argument(help="Whose key it is.")]


@app.callback()
def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option(help="Address to serve on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free one.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Runs at the same time.")] = 2,
    queue: Annotated[int, typer.Option(min=0, help="Runs that may wait; then 429.")] = 16,
    timeout: Annotated[float, typer.Option(callback=finite, min=1, help="Seconds from acceptance to answer.")] = 120,
    grace: Annotated[
        float, typer.Option(callback=finite, min=0, help="Seconds to stop in; runs get most of it to finish.")
    ] = 30,
    max_upload_mb: Annotated[int, typer.Option(min=1, help="Limit on a request's body.")] = 32,
    max_megapixels: Annotated[float, typer.Option(callback=finite, min=0.01, help="Limit on a picture.")] = 50,
    api_keys_file: KeysFileOption = None,
    allowed_origin: Annotated[
        list[str] | None, typer.Option(help="A web origin whose pages may call; one for each.")
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None, typer.Option(help="Address of a proxy whose X-Forwarded-For is believed in the log.")
    ] = None,
    allowed_root: Annotated[
        list[Path] | None, typer.Option(help="A folder whose pictures may be named by path.")
    ] = None,
    allow_backend: Annotated[list[str] | None, typer.Option(help="A further backend that requests may name.")] = None,
    keep_uploads_hours: Annotated[
        float, typer.Option(callback=finite, min=0, help="How long pictures that were sent are kept.")
    ] = 24,
    keep_runs_days: Annotated[
        float, typer.Option(callback=finite, min=1, help="How long questions and results are kept.")
    ] = 90,
    memory: MemoryOption = None,
    log_format: Annotated[LogForm, typer.Option(help="How the log on standard error is written.")] = "text",
    access_log: Annotated[
        bool, typer.Option("--access-log/--no-access-log", help="A line on standard error for every request.")
    ] = True,
    backend: BackendOption = None,
    backends: BackendsOption = None,
    json_output: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Serve over HTTP until interrupted. On a loopback address no key is needed; elsewhere keys are a must."""
    if context.invoked_subcommand is not None:
        return
    _require_extra()
    from agenticiqa.runtime.config import load_settings
    from agenticiqa.runtime.files import clear_abandoned
    from agenticiqa.serve.http.server import bind
    from agenticiqa.serve.http.settings import MEGABYTE, ServiceSettings

    settings = load_settings(config, {"backend": backend, "backends": backends, "pipeline.memory": memory})
    service = ServiceSettings(
        data_folder=settings.home / "service",
        host=host,
        port=port,
        workers=workers,
        queue=queue,
        timeout_s=timeout,
        grace_s=grace,
        max_upload_bytes=max_upload_mb * MEGABYTE,
        max_pixels=round(max_megapixels * 1_000_000),
        keep_uploads_hours=keep_uploads_hours,
        keep_runs_days=keep_runs_days,
        api_keys_file=api_keys_file,
        allowed_origins=tuple(allowed_origin or ()),
        trusted_proxies=tuple(trusted_proxy or ()),
        allowed_roots=(*settings.pipeline.allowed_roots, *(allowed_root or ())),
        allowed_backends=tuple(allow_backend or ()),
    )
    service.check()
    # Whatever the service writes (uploads, results, what a form spools to the disk) is for its own user alone.
    os.umask(0o077)
    clear_abandoned()

    with log_to_standard_error(log_format, settings.pipeline.logging.level, settings.secrets, access=access_log):
        bound = bind(service, settings)
        if json_output:
            print_json({"url": bound.address})
            sys.stdout.flush()
        else:
            print_message(f"Serving on {bound.address} (Ctrl+C stops)")
        bound.run()


def _require_extra() -> None:
    from importlib.util import find_spec

    missing = [name for name in ("fastapi", "uvicorn", "prometheus_client", "python_multipart") if not find_spec(name)]
    if missing:
        raise ConfigError(
            f"The service needs {', '.join(missing)}, not installed here.", hint="pip install 'agenticiqa[serve]'"
        )


def _key_file(path: Path | None) -> KeyFile:
    from agenticiqa.runtime.config import home_folder
    from agenticiqa.serve.http.keys import KeyFile

    return KeyFile(path or home_folder() / "service" / "keys.json")


@keys_app.command("add")
def add_key(
    name: NameArgument,
    api_keys_file: KeysFileOption = None,
    role: Annotated[
        list[str] | None,
        typer.Option(
            help="What it may do, one for each: assess (also measure and compare), batch (audits), admin (metrics, "
            "deleting any owner's runs). Default: assess and batch.",
        ),
    ] = None,
    days: Annotated[
        float | None, typer.Option(callback=finite, min=0.0001, help="It expires after so many days.")
    ] = None,
    at_once: Annotated[int | None, typer.Option(min=1, help="Runs it may have waiting or running at a time.")] = None,
    per_minute: Annotated[int | None, typer.Option(min=1, help="Runs it may ask for in a minute.")] = None,
    json_output: JsonOption = False,
) -> None:
    """Make a key and print it, once: only its hash is kept."""
    from agenticiqa.serve.http.keys import DEFAULT_ROLES

    file = _key_file(api_keys_file)
    key = file.add(name, roles=role or DEFAULT_ROLES, days=days, at_once=at_once, per_minute=per_minute)
    print_result({"name": name, "key": key, "file": str(file.path)}, key, as_json=json_output)
    if not json_output:
        print_message(f"Kept as a hash in {file.path}. This is the only time the key is shown.")


@keys_app.command("list")
def list_keys(api_keys_file: KeysFileOption = None, json_output: JsonOption = False) -> None:
    """List keys: names and dates, never the keys themselves."""
    records = _key_file(api_keys_file).records()
    if json_output:
        print_json([{k: v for k, v in asdict(record).items() if k != "sha256"} for record in records])
        return
    if not records:
        typer.echo("There are no keys yet. `agenticiqa serve keys add NAME` makes one.")
        return
    rows = []
    for record in records:
        at_once = f"{record.at_once} at once" if record.at_once else ""
        per_minute = f"{record.per_minute}/min" if record.per_minute else ""
        expires = f"{record.expires_at or ''}{' (expired)' if record.has_expired else ''}"
        limits = ", ".join(filter(None, (at_once, per_minute)))
        roles = ", ".join(record.roles)
        rows.append([record.name, record.id, roles, record.created_at, expires, limits, record.revoked_at or ""])
    print_table(("Name", "Id", "Roles", "Made", "Expires", "Limits", "Revoked"), rows)


@keys_app.command("revoke")
def revoke_key(name: NameArgument, api_keys_file: KeysFileOption = None, json_output: JsonOption = False) -> None:
    """Revoke a key; a running server refuses it from its next request on."""
    record = _key_file(api_keys_file).revoke(name)
    revoked = {"name": record.name, "id": record.id, "revoked_at": record.revoked_at}
    print_result(revoked, f"Revoked {record.name}.", as_json=json_output)


def mcp(
    http: Annotated[
        bool, typer.Option("--http", help="Serve streamable HTTP instead of standard input and output.")
    ] = False,
    host: Annotated[str, typer.Option(help="Address for --http; loopback only.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port for --http.")] = 8001,
    allowed_root: Annotated[
        list[Path] | None,
        typer.Option(
            help="Folder whose pictures may be opened by path; give one for each. Default with standard input: the "
            "client's roots, or the working folder where it names none; with --http: none."
        ),
    ] = None,
    backend: BackendOption = None,
    backends: BackendsOption = None,
    memory: MemoryOption = None,
    config: ConfigOption = None,
) -> None:
    """Serve assess_image, measure_image, compare_images and list_tools through the Model Context Protocol."""
    from agenticiqa.serve.http.settings import is_loopback

    if http and not is_loopback(host):
        raise ConfigError(
            f"--host {host} would let others on the network use this machine.",
            hint="Keep to loopback, behind a reverse proxy that asks for a key; see docs/running/mcp.md.",
        )
    try:
        from agenticiqa.serve.mcp.server import build_server
    except ImportError as error:
        raise BackendUnavailableError(
            "The MCP server is not installed.", hint="pip install 'agenticiqa[mcp]'"
        ) from error
    from agenticiqa.api.assessor import AgenticIQA
    from agenticiqa.pictures.isolation import isolated_reading
    from agenticiqa.runtime.files import ScratchFolder
    from agenticiqa.serve.mcp.replies import MAX_REQUEST_BYTES, PictureStore

    # Pictures that clients send are for this user alone.
    os.umask(0o077)
    roots = allowed_root or ([] if http else None)
    with (
        isolated_reading(most=8, kept=2),
        ScratchFolder("mcp") as folder,
        AgenticIQA(backend, config_dir=config, overrides={"backends": backends, "pipeline.memory": memory}) as own,
    ):
        pictures = PictureStore(folder, roots)
        server = build_server(own, pictures)
        print_message(pictures.allowed_folders())
        if http:
            server.run("streamable-http", host=host, port=port, max_request_body_size=MAX_REQUEST_BYTES)
        else:
            server.run("stdio")
