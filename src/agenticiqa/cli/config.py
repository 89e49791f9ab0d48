"""``agenticiqa config``: what the settings are and whether they are right."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agenticiqa.cli.options import ConfigOption, JsonOption
from agenticiqa.cli.terminal import print_json

app = typer.Typer(help="Show and check the configuration.", no_args_is_help=True)


@app.command("show")
def show(json_output: JsonOption = False, config: ConfigOption = None) -> None:
    """Print the settings in force after defaults, files and environment; keys are masked."""
    import yaml

    from agenticiqa.runtime.config import effective_settings, load_settings

    settings = effective_settings(load_settings(config))
    if json_output:
        print_json(settings)
    else:
        typer.echo(yaml.safe_dump(settings, sort_keys=False, allow_unicode=True).rstrip())


@app.command("check")
def check(json_output: JsonOption = False, config: ConfigOption = None) -> None:
    """Check the configuration files; a wrong key is named with its file and line."""
    from agenticiqa.errors import ConfigError
    from agenticiqa.models.backends import BackendName, find_provider
    from agenticiqa.nodes.prompts import SHIPPED, read_prompts
    from agenticiqa.runtime.config import ROLES, load_settings

    settings = load_settings(config)
    read_prompts(settings.pipeline.prompts, SHIPPED)
    for role in ROLES:
        for backend in (settings.role(role).backend, settings.role(role).fallback_backend):
            if backend:
                try:
                    find_provider(BackendName.parse(backend).provider)
                except Exception as error:
                    raise ConfigError(f"{role}: {error}") from error
    if json_output:
        print_json({"ok": True})
    else:
        typer.echo("The configuration is right.")


@app.command("prompts")
def prompts(
    folder: Annotated[Path, typer.Argument(help="A folder for the files; it may be new.", show_default=False)],
    json_output: JsonOption = False,
) -> None:
    """Write the shipped prompts as files, one for each step, to change and use with `prompts: FOLDER`."""
    from agenticiqa.nodes.prompts import SHIPPED, write_prompts

    written = write_prompts(folder, SHIPPED)
    if json_output:
        print_json({"files": [str(file) for file in written]})
        return
    for file in written:
        typer.echo(str(file))
    typer.echo(f"Use them with `prompts: {folder}` in pipeline.yaml. Delete those that you do not change.")
