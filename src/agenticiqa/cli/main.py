"""``agenticiqa``: puts the command groups together and turns errors into exit codes."""

from __future__ import annotations

import logging
import sys
from importlib import metadata
from typing import Annotated

import typer

from agenticiqa.cli.many import batch, benchmark, datasets, evaluate, gate, report
from agenticiqa.cli.one import assess, compare, distort, measure
from agenticiqa.cli.serving import mcp, serve
from agenticiqa.cli.setup import backends, config, doctor, graph, runs, tools
from agenticiqa.cli.terminal import (
    EXIT_ERROR,
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    error_console,
    print_error,
    tolerate_narrow_encodings,
)
from agenticiqa.errors import AgenticIQAError

app = typer.Typer(
    name="agenticiqa",
    help="Ask how good a picture is, what is wrong with it, where, and why.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("assess")(assess.assess)
app.command("compare")(compare.compare)
app.command("measure")(measure.measure)
app.command("batch")(batch.batch)
app.command("distort")(distort.distort)
app.command("mcp")(mcp.mcp)
app.command("evaluate")(evaluate.evaluate)
app.command("benchmark")(benchmark.benchmark)
app.command("report")(report.report)
app.command("gate")(gate.gate)
app.command("doctor")(doctor.doctor)
app.add_typer(tools.app, name="tools")
app.add_typer(graph.app, name="graph")
app.add_typer(runs.app, name="runs")
app.add_typer(datasets.app, name="datasets")
app.add_typer(backends.app, name="backends")
app.add_typer(config.app, name="config")
app.add_typer(serve.app, name="serve")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(metadata.version("agenticiqa"))
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Options that stand before a command."""


def main() -> None:
    """Entry point; no failure reaches the user as a traceback."""
    tolerate_narrow_encodings()
    try:
        app()
    except AgenticIQAError as error:
        print_error(error.message)
        if error.hint:
            error_console().print(error.hint, highlight=False, markup=False, soft_wrap=True)
        sys.exit(EXIT_ERROR)
    except KeyboardInterrupt:
        error_console().print("Interrupted. `agenticiqa runs list` shows runs that can be resumed.")
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output (head, say) has seen enough.
        sys.stderr.close()
        sys.exit(EXIT_ERROR)
    except Exception as error:
        logging.getLogger("agenticiqa").exception("Internal error")
        print_error(
            f"internal, {type(error).__name__}: {error}\n"
            "This is a defect of AgenticIQA. The log file (`agenticiqa doctor` shows where) has the details."
        )
        sys.exit(EXIT_INTERNAL)
