"""Standard streams, exit codes, tables and JSON.

Streams may be redirected, full, left by their reader, or closed. A result that cannot be delivered ends the command
with a message and an exit code of its own. Messages that cannot be delivered end nothing: the result may still be.
"""

from __future__ import annotations

import errno
import io
import json
import logging
import os
import sys
import time
from collections.abc import Collection, Iterable, Sequence
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from agenticiqa.errors import AgenticIQAError, OutputError
from agenticiqa.runtime.files import is_standard_output, open_stream
from agenticiqa.runtime.logs import OWN_HANDLER, PACKAGE_LOGGER, RedactingFilter, StandardErrorHandler, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


IN, OUT, ERR = 0, 1, 2
STANDARD_OUTPUT = Path("-")
"""How a command line says standard output."""
_GONE = (errno.EPIPE, errno.EBADF, errno.ECONNRESET)


class StandardOutputError(OutputError):
    """Standard output cannot be written: its disk is full, or the device fails."""

    exit_code = 74
    default_hint = "Free some space, or send the output elsewhere."


class StandardOutputClosedError(StandardOutputError):
    """The reader of standard output has gone."""

    # What a shell reports of a program that was ended by its reader.
    exit_code = 141
    default_hint = "What was still to be written is lost; a file keeps it all."


class InputClosedError(AgenticIQAError):
    """Standard input was asked for, and there is none."""

    default_hint = "Name a file instead of -."


def prepare_standard_streams() -> None:
    """Make sure that all three are there, and that failures of output and messages are told apart from all others."""
    for number, way in ((IN, os.O_WRONLY), (OUT, os.O_RDONLY), (ERR, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            # A closed one is opened in a way that fails when used: else the next file opened, a database perhaps, would
            # take its number, and whatever is printed would be written there. The lowest free number is given out, and
            # those below are taken by now.
            os.open(os.devnull, way)
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(_ClosedInput(IN, closefd=False)), encoding="utf-8")
    # Where a character cannot be held (a pipe on Windows, LC_ALL=C), a question mark or an escape takes its place.
    for name, number, kind, errors in (
        ("stdout", OUT, _Output, "replace"),
        ("stderr", ERR, _Messages, "backslashreplace"),
    ):
        if getattr(sys, name) is None:
            plain = io.TextIOWrapper(io.BufferedWriter(io.FileIO(number, "w", closefd=False)), encoding="utf-8")
            setattr(sys, name, plain)
            setattr(sys, f"__{name}__", plain)
        stream = getattr(sys, name)
        if stream is not getattr(sys, f"__{name}__") or not isinstance(stream, io.TextIOWrapper):
            continue
        if stream.isatty():
            # A terminal is never full and keeps its own way of writing.
            stream.reconfigure(errors=errors)
            continue
        raw = io.BufferedWriter(kind(stream.fileno(), "w", closefd=False))
        at_once = stream.line_buffering or stream.write_through
        setattr(sys, name, io.TextIOWrapper(raw, stream.encoding, errors, line_buffering=at_once))


def output_stream(path: Path) -> BinaryIO:
    """A pipe or a device instead of standard output, with the same errors."""
    if path == STANDARD_OUTPUT or is_standard_output(path):
        return sys.stdout.buffer
    with open_stream(path) as opened:
        raw = _Output(os.dup(opened.fileno()), "w")
    raw.called = f"the output {str(path)!r}"
    return io.BufferedWriter(raw)


def discard_standard_output() -> None:
    """What is still waiting to be written goes nowhere: Python would try once more at its end, and complain again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, OUT)
    os.close(nowhere)


class _Output(io.FileIO):
    """Says with an error of ours that it was the output that failed."""

    called = "standard output"

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if error.errno in _GONE:
                raise StandardOutputClosedError(f"{self.called.capitalize()} was closed by its reader.") from error
            raise StandardOutputError(
                f"{self.called.capitalize()} cannot be written: {error.strerror or error}."
            ) from error


class _Messages(io.FileIO):
    """Standard error; messages are dropped once it is closed."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


class _ClosedInput(io.FileIO):
    """Stands where standard input would be."""

    def readinto(self, _: Any = None, /) -> Any:
        raise InputClosedError("Standard input is closed.")

    readall = readinto


# --- What all commands share: consoles, exit codes, JSON output ---


class ExitCode(IntEnum):
    """What commands end with."""

    OK = 0
    ERROR = 1
    USAGE = 2
    SOME = 2
    """Some samples have an answer, or can get one."""
    BELOW_THRESHOLD = 3
    INTERNAL = 70
    HOME_FULL = 73
    """The answer, if there is one, was given; it could not be recorded."""
    INTERRUPTED = 130


def error_console() -> Console:
    """Progress, warnings and errors go to standard error, so that results can be piped."""
    return output_console(stderr=True)


def output_console(*, stderr: bool = False) -> Console:
    """Results go to standard output."""
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


def print_message(line: str) -> None:
    """A line on standard error, as it is: brackets are no markup, and a path is not broken in two."""
    error_console().print(line, highlight=False, markup=False, soft_wrap=True)


def print_lines(lines: Iterable[str]) -> None:
    """Lines on standard output, likewise."""
    console = output_console()
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    whole: Collection[str] = (),
    console: Console | None = None,
    **style: Any,
) -> None:
    """A table on standard output: cells are markup, long ones are broken, those of ``whole`` columns are not."""
    from rich.table import Table

    table = Table(title_justify="left", **style)
    for column in columns:
        table.add_column(column, no_wrap=column in whole, overflow="fold")
    for row in rows:
        table.add_row(*row)
    (console or output_console()).print(table)


def print_json(value: Any) -> None:
    """Plain JSON on standard output, readable by other programs."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        # Half a character, or a terminal of another encoding: escapes say the same.
        text = json.dumps(value, indent=2)
    sys.stdout.write(text + "\n")


def print_result(value: Any, *lines: str, as_json: bool) -> None:
    """What a command found, as JSON or in words, on standard output."""
    if as_json:
        print_json(value)
    else:
        sys.stdout.write("".join(f"{line}\n" for line in lines))


class Interval:
    """Tells when so many seconds have passed since it last did."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._last = seconds, time.monotonic()

    def passed(self) -> bool:
        if time.monotonic() - self._last < self._seconds:
            return False
        self._last = time.monotonic()
        return True


def show_warnings(secrets: Iterable[str] = (), *, of: str = PACKAGE_LOGGER) -> None:
    """Let warnings of the package, or of one module, reach the terminal, through the same filter as the log file."""
    logger = logging.getLogger(of)
    for earlier in [each for each in logger.handlers if isinstance(each, StandardErrorHandler)]:
        logger.removeHandler(earlier)
    handler = StandardErrorHandler()
    handler.setFormatter(logging.Formatter("Warning: %(message)s"))
    handler.addFilter(RedactingFilter(secrets))
    # Errors end a run, and the command prints that itself.
    handler.addFilter(lambda record: record.levelno == logging.WARNING)
    handler.name = OWN_HANDLER
    logger.addHandler(handler)
