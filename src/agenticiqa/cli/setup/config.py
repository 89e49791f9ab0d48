"""``agenticiqa config``: what the settings are and whether they are right."""

from __future__ import annotations

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
    from agenticiqa.models.client import BackendName, find_provider
    from agenticiqa.runtime.config import load_settings

    settings = load_settings(config)
    for role in ("planner", "executor", "summarizer"):
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
