"""What commands about single pictures share: an assessor, progress while it works, its result, an exit code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from agenticiqa.cli.terminal import (
    EXIT_BELOW_THRESHOLD,
    EXIT_ERROR,
    EXIT_INTERRUPTED,
    EXIT_OK,
    error_console,
    output_console,
    print_error,
    print_json,
    show_warnings,
)

if TYPE_CHECKING:
    from agenticiqa.api.assessor import AgenticIQA
    from agenticiqa.nodes.results import Assessment


def open_assessor(
    backend: str | None,
    config: Path | None,
    *,
    no_cache: bool,
    quiet: bool,
    memory: str | None = None,
    profile: str | None = None,
) -> AgenticIQA:
    """The assessor a command works with; its warnings reach the terminal unless quiet."""
    from agenticiqa.api.assessor import AgenticIQA

    overrides = {"pipeline.cache.enabled": False if no_cache else None, "pipeline.memory": memory}
    assessor = AgenticIQA(backend, config_dir=config, overrides=overrides, profile=profile)
    if not quiet:
        show_warnings(assessor.settings.secrets)
    return assessor


def run_with_progress(assessor: AgenticIQA, *, quiet: bool, **request: Any) -> Assessment:
    """Run and, unless quiet, show each step on standard error as it happens."""
    from agenticiqa.cli.one.rendering import StepLines

    if quiet:
        return assessor.assess(**request)
    with StepLines(error_console()) as steps:
        return assessor.assess(**request, on_event=steps.show)


@contextmanager
def interruptible(*, json_output: bool) -> Iterator[None]:
    """Ctrl-C ends the command with what is known by then and how to continue."""
    from agenticiqa.api.assessor import RunInterrupted
    from agenticiqa.cli.one.rendering import print_evidence

    try:
        yield
    except RunInterrupted as stopped:
        known = stopped.known
        if json_output:
            print_json(known.model_dump(mode="json"))
        elif known.executor_evidence:
            print_evidence(output_console(), known.executor_evidence)
        run_id, calls = known.metadata["run_id"], known.metadata["calls"]
        said = f"Interrupted after {calls} calls. `agenticiqa runs resume {run_id}` continues the run."
        error_console().print(said, highlight=False, markup=False, soft_wrap=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None


def unless_full(code: int, assessor: AgenticIQA) -> int:
    """The exit code; where all went well but for the home, which has no room, that is the end of the command."""
    if code == EXIT_OK and assessor.home_full is not None:
        raise assessor.home_full
    return code


def show(result: Assessment, *, json_output: bool, quiet: bool) -> None:
    from agenticiqa.cli.one.rendering import print_assessment

    if json_output:
        print_json(result.model_dump(mode="json"))
    elif quiet and result.status != "error":
        typer.echo(_short(result))
    elif result.status == "error":
        print_error(result.error or "The run failed.")
    else:
        print_assessment(output_console(), result)


def _short(result: Assessment) -> str:
    if result.conflict:
        low, high = result.conflict.interval
        return f"{result.answer} {low:.2f} to {high:.2f} (conflict)"
    return result.answer if result.score is None else f"{result.answer} {result.score:.2f}"


def exit_code(result: Assessment, fail_under: float | None) -> int:
    if result.status == "error":
        return EXIT_ERROR
    if fail_under is None:
        return EXIT_OK
    if result.gate_score is None:
        error_console().print(
            "--fail-under: this question has no score. Ask for a rating.", highlight=False, soft_wrap=True
        )
        return EXIT_ERROR
    return EXIT_BELOW_THRESHOLD if result.gate_score < fail_under else EXIT_OK
