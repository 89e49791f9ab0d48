"""Logging, and texts that others wrote (file names, ids, model replies) made safe to show."""

import json
import logging
import re
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, timezone
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Literal

from agenticiqa.errors import REDACTED, without_credentials
from agenticiqa.runtime.files import make_private, make_private_folder

_UNSHOWABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def printable(text: str) -> str:
    """Control characters would steer a terminal, and halves of characters cannot be written: a mark takes their place.

    >>> printable("a\\x1b[31mb\\ud800\\n")
    'a�[31mb�\\n'
    """
    return _UNSHOWABLE.sub("\ufffd", text)


def in_one_line(text: str) -> str:
    """
    >>> in_one_line(" a\\n b ")
    'a b'
    """
    return " ".join(printable(text).split())


def markdown_text(text: str) -> str:
    """Text inside Markdown that becomes no tag.

    >>> markdown_text("<img src=x> & more")
    '&lt;img src=x> &amp; more'
    """
    return in_one_line(text).replace("&", "&amp;").replace("<", "&lt;")


# --- Logging ---


PACKAGE_LOGGER = "agenticiqa"
OWN_HANDLER = "made by agenticiqa"
"""Marks handlers that a new set-up replaces; those of the calling program stay."""
ACCESS_LOGGER = "agenticiqa.access"
LogForm = Literal["json", "text"]
MAX_LOG_BYTES = 20 * 1024 * 1024
TRY_AGAIN_S = 60.0
"""How long a log file that cannot be written is left alone."""
SHORTEST_SECRET = 8

_SECRETS = re.compile(
    r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{8,}"  # OpenAI, Anthropic and others
    r"|\bAIza[A-Za-z0-9_-]{20,}"  # Google
    r"|(?<=Bearer )[A-Za-z0-9._~+/-]{8,}=*"
    r"|(?i:(?<=api_key=)|(?<=api-key: )|(?<=apikey=))[^\s&\"',]{4,}"
)
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4}){40,}[A-Za-z0-9+/]{0,3}={0,2}")


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without keys and without encoded pictures."""
    for secret in secrets:
        # Very short strings would tear holes into ordinary words.
        if len(secret) >= SHORTEST_SECRET:
            text = text.replace(secret, REDACTED)
    text = _SECRETS.sub(REDACTED, without_credentials(text))
    return _BASE64.sub(lambda match: f"[{len(match[0])} base64 characters]", text)


_RUN_ID: ContextVar[str | None] = ContextVar("agenticiqa_run_id", default=None)


@contextmanager
def run_id_for_logs(run_id: str) -> Iterator[None]:
    """Records written inside carry the run's id."""
    token = _RUN_ID.set(run_id)
    try:
        yield
    finally:
        _RUN_ID.reset(token)


class RedactingFilter(logging.Filter):
    """Rewrites a record's message before any handler formats it."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__()
        self.secrets = tuple(secrets)

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = redact(record.getMessage(), self.secrets), None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = redact(record.exc_text, self.secrets)
        return True


def _moment(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, tz=timezone.utc).isoformat(timespec="milliseconds")


class JsonLinesFormatter(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": _moment(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "run_id": _RUN_ID.get(),
        }
        entry |= getattr(record, "fields", {})
        if record.exc_text:
            entry["exception"] = record.exc_text
        return json.dumps({key: value for key, value in entry.items() if value is not None}, ensure_ascii=False)


class TextFormatter(logging.Formatter):
    """One line for a person, and the traceback below it; what a stranger sent cannot begin a line of its own."""

    def format(self, record: logging.LogRecord) -> str:
        message = printable(record.getMessage()).replace("\r", "\\r").replace("\n", "\\n")
        line = f"{_moment(record)} {record.levelname} {record.name}: {message}"
        return f"{line}\n{record.exc_text}" if record.exc_text else line


class StandardErrorHandler(logging.Handler):
    """Writes to whatever standard error is at that moment."""

    def emit(self, record: logging.LogRecord) -> None:
        sys.stderr.write(self.format(record) + "\n")
        sys.stderr.flush()


@contextmanager
def log_to_standard_error(
    form: LogForm, level: str = "INFO", secrets: Iterable[str] = (), *, access: bool
) -> Iterator[None]:
    """A server's log, its HTTP server's and with ``access`` that of requests; afterwards logging is as before."""
    handler = StandardErrorHandler()
    handler.setFormatter(JsonLinesFormatter() if form == "json" else TextFormatter())
    handler.addFilter(RedactingFilter(secrets))
    levels = {PACKAGE_LOGGER: level, "uvicorn.error": "WARNING", ACCESS_LOGGER: "INFO" if access else "ERROR"}
    loggers = {name: logging.getLogger(name) for name in levels}
    before = {name: (logger.level, logger.propagate) for name, logger in loggers.items()}
    for name, logger in loggers.items():
        logger.addHandler(handler)
        logger.setLevel(levels[name])
        # The log file keeps what happened, not who asked.
        logger.propagate = name == PACKAGE_LOGGER
    try:
        yield
    finally:
        for name, logger in loggers.items():
            logger.removeHandler(handler)
            logger.setLevel(before[name][0])
            logger.propagate = before[name][1]


class _LogFile(RotatingFileHandler):
    """For its owner alone; one that cannot be written costs one warning, and is tried again after a while."""

    _silent_until = 0.0
    _failure_reported = False

    def emit(self, record: logging.LogRecord) -> None:
        if time.monotonic() >= self._silent_until:
            super().emit(record)

    def _open(self) -> TextIOWrapper:
        make_private(Path(self.baseFilename))
        return super()._open()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name is logging's
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            super().handleError(record)
            return
        self._silent_until = time.monotonic() + TRY_AGAIN_S
        if not self._failure_reported:
            self._failure_reported = True
            text = "No log file: %s cannot be written (%s)"
            logging.getLogger(PACKAGE_LOGGER).warning(text, self.baseFilename, error)


def configure_logging(file: Path | None, level: str = "INFO", secrets: Iterable[str] = ()) -> None:
    """Send the package's records to a JSON-lines file. Calling it again replaces the earlier set-up."""
    logger = logging.getLogger(PACKAGE_LOGGER)
    for handler in [handler for handler in logger.handlers if handler.name == OWN_HANDLER]:
        logger.removeHandler(handler)
        handler.close()
    logger.setLevel(level)
    if file is None:
        return
    try:
        make_private_folder(file.parent)
        handler = _LogFile(file, maxBytes=MAX_LOG_BYTES, backupCount=2, encoding="utf-8", delay=True)
    except OSError as error:
        logger.warning("No log file: %s cannot be written (%s)", file, error)
        return
    handler.setFormatter(JsonLinesFormatter())
    handler.addFilter(RedactingFilter(secrets))
    handler.name = OWN_HANDLER
    logger.addHandler(handler)
