"""Every failure that this package raises on purpose, below :class:`AgenticIQAError`.

Each error carries a message (what happened) and a hint (what to do next), both also in a form for clients of a service.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_FOR_CLIENT: ContextVar[bool] = ContextVar("agenticiqa_errors_to_a_client", default=False)


@contextmanager
def client_messages() -> Iterator[None]:
    """Inside, errors are worded for clients, who have no terminal here: without what only the operator can do."""
    token = _FOR_CLIENT.set(True)
    try:
        yield
    finally:
        _FOR_CLIENT.reset(token)


# One slash: what a path makes of an address. Two letters before it: a Windows drive has one.
_CREDENTIALS = re.compile(r"\b([a-z][a-z0-9+.-]+:/{1,2})[^\s/?#\"'<>]+@", re.IGNORECASE)
_SIGNED = re.compile(
    r"([?&](?:[a-z0-9_.-]*(?:signature|credential|token|secret|password|passwd|api[_-]?key)|sig|key|auth)=)[^\s&#\"'<>]+",
    re.IGNORECASE,
)
REDACTED = "[redacted]"


def without_credentials(text: str) -> str:
    """The text with its addresses as they may be shown: no user and password, no signature that opens them."""
    if ":/" not in text:
        return text
    return _SIGNED.sub(rf"\1{REDACTED}", _CREDENTIALS.sub(rf"\1{REDACTED}@", text))


class AgenticIQAError(Exception):
    """Base of all errors of this package.

    ``hint`` says what to do next, ``client_hint`` the same for clients of a service; a class whose hints are about this
    machine gives clients another one, or none. ``operator_detail`` ends the message where no client reads it.

    >>> str(AgenticIQAError("The file is empty.", hint="Choose another file."))
    'The file is empty. Choose another file.'
    >>> error = AgenticIQAError("X cannot be used.", operator_detail="X_KEY is not set", hint="Set it.", client_hint="")
    >>> with client_messages():
    ...     str(error)
    'X cannot be used.'
    >>> str(error)
    'X cannot be used: X_KEY is not set. Set it.'
    """

    default_hint = ""
    client_hint: str | None = None
    """What to do next for a client; None: the same as the hint."""

    def __init__(
        self, message: str, *, hint: str | None = None, client_hint: str | None = None, operator_detail: str = ""
    ) -> None:
        self._message = without_credentials(message)
        self.operator_detail = without_credentials(operator_detail).removesuffix(".")
        self.hint = self.default_hint if hint is None else hint
        if client_hint is not None:
            self.client_hint = client_hint
        super().__init__(self.message)

    @property
    def message(self) -> str:
        if not self.operator_detail or _FOR_CLIENT.get():
            return self._message
        return f"{self._message.removesuffix('.')}: {self.operator_detail}."

    @message.setter
    def message(self, text: str) -> None:
        self._message, self.operator_detail = text, ""

    def __str__(self) -> str:
        hint = self.client_hint if _FOR_CLIENT.get() and self.client_hint is not None else self.hint
        return f"{self.message} {hint}".strip()

    @property
    def kind(self) -> str:
        """A stable, machine-readable name of the failure, such as ``authentication``."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__.removesuffix("Error")).lower()


# --- what the user gave us -------------------------------------------------------------------------------


class ConfigError(AgenticIQAError):
    """A configuration file, environment variable or option is wrong."""


class QueryError(AgenticIQAError):
    """The question cannot be worked with."""


class ImageError(AgenticIQAError):
    """A picture cannot be used."""


class ImageNotFoundError(ImageError):
    default_hint = "Check the path."


class ImageFormatError(ImageError):
    default_hint = "Give a complete picture file."


class ImageTooLargeError(ImageError):
    default_hint = "Scale it down, crop it, or raise images.max_pixels in pipeline.yaml."
    client_hint = "Scale it down or crop it."


class MemoryLimitError(AgenticIQAError):
    """Work would need more memory than it may have; ``needed`` and ``largest`` are bytes."""

    default_hint = "Scale the picture down, measure a region, run fewer tools, or give more with --memory."
    client_hint = "Scale the picture down, measure a region, or run fewer tools."

    def __init__(self, what: str, needed: int, largest: int) -> None:
        gigabyte = 1024**3
        super().__init__(
            f"{what} needs about {needed / gigabyte:.1f} GB of memory, and a run may take {largest / gigabyte:.1f} GB."
        )
        self.what, self.needed, self.largest = what, needed, largest


class QuotaFullError(AgenticIQAError):
    """What somebody keeps here takes as much room as they may have."""

    default_hint = "Delete some of it, or try again when it is gone."


class RegionError(AgenticIQAError):
    """A region lies outside the picture or is written wrongly."""

    default_hint = "Write NAME=x,y,width,height in pixels, inside the picture."
    client_hint = "A region is [x, y, width, height] in pixels, inside the picture."


# --- model backends --------------------------------------------------------------------------------------


class BackendError(AgenticIQAError):
    """A model backend failed. ``retryable`` tells whether the same call may succeed later."""

    retryable = False


class PictureTooSmallError(BackendError):
    """The model sees nothing in so few pixels."""

    default_hint = "Use a larger picture, or a vision-language model."
    client_hint = "Use a larger picture."


class BackendUnavailableError(BackendError):
    """The backend cannot be used here: unknown name, missing extra, missing key, missing weights."""

    client_hint = ""


class AuthenticationError(BackendError):
    default_hint = "Check the API key (see `agenticiqa backends check`)."
    client_hint = "The operator of this server has to look at the key of its model."


class RateLimitError(BackendError):
    """The provider asked us to slow down; ``retry_after`` is its own figure in seconds, if it gave one."""

    retryable = True
    default_hint = "Wait, lower the request rate, or name a fallback_backend."
    client_hint = "Wait, or lower the request rate."

    def __init__(self, message: str, *, retry_after: float | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class BackendTimeoutError(BackendError):
    retryable = True
    default_hint = "Raise timeout_s for this role, or use a faster model."
    client_hint = ""


class BackendConnectionError(BackendError):
    retryable = True
    default_hint = "Check that the server is running and that base_url is right."
    client_hint = ""


class BackendServerError(BackendError):
    """The provider answered with a 5xx."""

    retryable = True
    default_hint = "Try again later or name a fallback_backend."
    client_hint = "Try again later."


class RequestRejectedError(BackendError):
    """The provider refused the request itself (4xx): unknown model, picture too large, bad parameter."""

    default_hint = "Check the model name and its limits."


# The next three describe a reply that arrived but cannot be used; asking again may help.


class BadResponseError(BackendError):
    """The reply is empty, not JSON, or not of the required shape. ``output`` is what the model wrote."""

    def __init__(
        self, message: str, *, output: str = "", hint: str | None = None, client_hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint, client_hint=client_hint)
        self.output = output


class TruncatedReplyError(BadResponseError):
    default_hint = "Raise max_tokens for this role."
    client_hint = ""


class RefusalError(BadResponseError):
    default_hint = "The model declined to answer; rephrase the question or use another backend."


# --- measuring tools and the rest ------------------------------------------------------------------------


class ToolError(AgenticIQAError):
    """A measuring tool failed or cannot run here."""


class ToolUnavailableError(ToolError):
    """The tool is unknown, or its extra or weights are missing."""

    client_hint = ""


class AssessmentFailedError(AgenticIQAError):
    """An answer was asked of a run that has none."""


class FollowUpError(AgenticIQAError):
    """A question cannot follow on a result that has lost its picture."""

    default_hint = 'Give the picture again, as in assess(picture, "why?", earlier=result.turns).'
    client_hint = "Give the picture again."


class HomeFullError(AgenticIQAError):
    """There is no room left for what is kept in the home."""

    default_hint = "Free some space there, or set AGENTICIQA_HOME to a folder on another disk."
    client_hint = ""


class RunNotFoundError(AgenticIQAError):
    default_hint = "`agenticiqa runs list` shows the recorded runs."
    client_hint = ""


# --- batches ---------------------------------------------------------------------------------------------


class ManifestError(AgenticIQAError):
    """A list of samples cannot be read, or some of its rows make no sense."""

    default_hint = "`agenticiqa batch INPUT --dry-run` lists every problem."
    client_hint = ""


class OutputError(AgenticIQAError):
    """A file cannot be written, belongs to something else, or is in use."""

    client_hint = ""


class WorkerDiedError(AgenticIQAError):
    """The process that worked on a sample ended by itself."""

    default_hint = "Too little memory is the usual cause: use fewer --workers or smaller pictures."
    client_hint = "Too little memory is the usual cause: use smaller pictures."


class SampleTimeoutError(AgenticIQAError):
    """A sample took longer than it was allowed to."""

    default_hint = "Raise --timeout."
    client_hint = ""


class MissingExtraError(AgenticIQAError):
    """An optional part of this package is not installed."""

    client_hint = ""
