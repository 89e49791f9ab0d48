"""What all commands share: consoles, exit codes, JSON output."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from agenticiqa.runtime.logs import OWN_HANDLER, PACKAGE_LOGGER, RedactingFilter
from agenticiqa.runtime.shown_text import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

EXIT_OK = 0
EXIT_ERROR = 1
EXIT_USAGE = 2
EXIT_SOME = 2
"""Of a batch: some samples have an answer, or can get one."""
EXIT_BELOW_THRESHOLD = 3
EXIT_INTERNAL = 70
EXIT_HOME_FULL = 73
"""The answer, if there is one, was given; it could not be recorded."""
EXIT_INTERRUPTED = 130


def output_console() -> Console:
    """Results go to standard output."""
    return _console()


def error_console() -> Console:
    """Progress, warnings and errors go to standard error, so that results can be piped."""
    return _console(stderr=True)


def _console(*, stderr: bool = False) -> Console:
    # Imported here: commands that print plain text or JSON start faster without.
    from rich.console import Console

    class ShowingConsole(Console):
        """A name, an id or a model's reply is shown, and never steers the terminal."""

        def render_str(self, text: str, **kwargs: Any) -> Text:
            return super().render_str(printable(text), **kwargs)

    return ShowingConsole(stderr=stderr)


def print_error(message: str) -> None:
    """Square brackets in a message (as in file names) are text and not markup; a path is not broken in two."""
    from rich.text import Text

    error_console().print(Text.assemble(("Error: ", "bold red"), printable(message)), highlight=False, soft_wrap=True)


def print_json(value: Any) -> None:
    """Plain JSON on standard output, readable by other programs."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        # Half a character, or a terminal of another encoding: escapes say the same.
        text = json.dumps(value, indent=2)
    sys.stdout.write(text + "\n")


class _TerminalHandler(logging.Handler):
    """Writes to whatever standard error is at that moment."""

    def emit(self, record: logging.LogRecord) -> None:
        sys.stderr.write(self.format(record) + "\n")


def show_warnings(secrets: Iterable[str] = (), *, of: str = PACKAGE_LOGGER) -> None:
    """Let warnings of the package, or of one module, reach the terminal, through the same filter as the log file."""
    logger = logging.getLogger(of)
    for earlier in [each for each in logger.handlers if isinstance(each, _TerminalHandler)]:
        logger.removeHandler(earlier)
    handler = _TerminalHandler()
    handler.setFormatter(logging.Formatter("Warning: %(message)s"))
    handler.addFilter(RedactingFilter(secrets))
    # Errors end a run, and the command prints that itself.
    handler.addFilter(lambda record: record.levelno == logging.WARNING)
    handler.name = OWN_HANDLER
    logger.addHandler(handler)
