"""``agenticiqa``: puts the command groups together and turns errors into exit codes."""

import gc
import logging
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Annotated

import typer

from agenticiqa.cli import terminal
from agenticiqa.errors import AgenticIQAError, HomeFullError

COMMANDS = {
    "assess": "assess:assess",
    "compare": "assess:compare",
    "ask": "assess:app",
    "measure": "tools:measure",
    "encode": "encode:encode",
    "batch": "batch:batch",
    "rate": "rate:rate",
    "audit": "audit:audit",
    "check": "check:check",
    "mcp": "serve:mcp",
    "evaluate": "results:evaluate",
    "report": "results:report",
    "gate": "results:gate",
    "calibrate": "results:calibrate",
    "doctor": "setup:doctor",
    "tools": "tools:app",
    "graph": "setup:graph_app",
    "runs": "runs:app",
    "backends": "setup:app",
    "config": "setup:config_app",
    "serve": "serve:app",
}
"""Every command, or group of commands, and where it lives below this package."""


def build_app(names: Iterable[str] = tuple(COMMANDS)) -> typer.Typer:
    """The command line with these commands: a program that runs one of them need not import the others."""
    app = typer.Typer(
        name="agenticiqa",
        help="Ask how good a picture is, what is wrong with it, where, and why.",
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    for name in names:
        module, _, attribute = COMMANDS[name].partition(":")
        found = getattr(import_module(f"agenticiqa.cli.{module}"), attribute)
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name)
        else:
            app.command(name)(found)
    return app


def _named(arguments: Sequence[str]) -> Iterable[str]:
    """The command that stands in the arguments; all of them where none does: for help, completion and typing errors."""
    first = next((each for each in arguments if not each.startswith("-")), "")
    return [first] if first in COMMANDS else COMMANDS


def _print_version(wanted: bool) -> None:
    if wanted:
        from agenticiqa import __version__

        typer.echo(__version__)
        raise typer.Exit


def _root(
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Options that stand before a command."""


def main(app: typer.Typer | None = None) -> None:
    """Entry point; no failure reaches the user as a traceback. ``app`` stands in for the package's own commands."""
    # Starting makes many objects and hardly any garbage: the usual search after every 700 takes a sixth of the start.
    gc.set_threshold(20_000)
    terminal.prepare_standard_streams()
    if "--quiet" not in sys.argv:
        # Which files count is decided before a command knows where its own warnings go.
        terminal.show_warnings(of="agenticiqa.runtime.config")
    try:
        sys.exit(_exit_code(app))
    finally:
        # Everything ends with the process: looking through it all for garbage once more would take a fifth of a second.
        gc.freeze()


def _exit_code(app: typer.Typer | None) -> int:
    """Run the command; whatever it ends in becomes a message and a number."""
    code = 0
    try:
        try:
            if app is None:
                build_app(_named(sys.argv[1:]))(prog_name="agenticiqa")
            else:
                app()
        except SystemExit as ended:
            # Commands end so, whatever their code.
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        # Here rather than at Python's end, where a failure would be told in Python's words.
        sys.stdout.flush()
    except terminal.StandardOutputError as error:
        terminal.discard_standard_output()
        _print_failure(error)
        return error.exit_code
    except AgenticIQAError as error:
        _print_failure(error)
        return terminal.ExitCode.HOME_FULL if isinstance(error, HomeFullError) else terminal.ExitCode.ERROR
    except KeyboardInterrupt:
        terminal.print_message("Interrupted.")
        return terminal.ExitCode.INTERRUPTED
    except Exception as error:
        logging.getLogger("agenticiqa").exception("Internal error")
        terminal.print_error(
            f"internal, {type(error).__name__}: {error}\n"
            "This is a defect of AgenticIQA. The log file (`agenticiqa doctor` shows where) has the details."
        )
        return terminal.ExitCode.INTERNAL
    return code


def _print_failure(error: AgenticIQAError) -> None:
    terminal.print_error(error.message)
    if error.hint:
        terminal.print_message(error.hint)
