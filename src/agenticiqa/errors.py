"""Every failure this package raises on purpose.

Each error carries a message (what happened) and a hint (what to do next). A failure never becomes an answer:
callers either handle the type they understand or let it reach the user.
"""

from __future__ import annotations


class AgenticIQAError(Exception):
    """Base of all errors of this package.

    >>> str(AgenticIQAError("The file is empty.", hint="Choose another file."))
    'The file is empty. Choose another file.'
    """

    default_hint = ""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        self.message = message
        self.hint = self.default_hint if hint is None else hint
        super().__init__(message)

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()

    @property
    def kind(self) -> str:
        """A stable, machine-readable name of the failure, such as ``authentication``."""
        return _snake_case(type(self).__name__.removesuffix("Error"))


def _snake_case(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


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


class RegionError(AgenticIQAError):
    """A region lies outside the picture or is written wrongly."""

    default_hint = "Write NAME=x,y,width,height in pixels, inside the picture."


# --- model backends --------------------------------------------------------------------------------------


class BackendError(AgenticIQAError):
    """A model backend failed. ``retryable`` tells whether the same call may succeed later."""

    retryable = False


class BackendUnavailableError(BackendError):
    """The backend cannot be used here: unknown name, missing extra, missing key, missing weights."""


class AuthenticationError(BackendError):
    default_hint = "Check the API key (see `agenticiqa backends check`)."


class RateLimitError(BackendError):
    """The provider asked us to slow down; ``retry_after`` is its own figure in seconds, if it gave one."""

    retryable = True
    default_hint = "Wait, lower the request rate, or name a fallback_backend."

    def __init__(self, message: str, *, retry_after: float | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class BackendTimeoutError(BackendError):
    retryable = True
    default_hint = "Raise timeout_s for this role, or use a faster model."


class BackendConnectionError(BackendError):
    retryable = True
    default_hint = "Check that the server is running and that base_url is right."


class BackendServerError(BackendError):
    """The provider answered with a 5xx."""

    retryable = True
    default_hint = "Try again later or name a fallback_backend."


class RequestRejectedError(BackendError):
    """The provider refused the request itself (4xx): unknown model, picture too large, bad parameter."""

    default_hint = "Check the model name and its limits."


# The next three describe a reply that arrived but cannot be used; asking again may help.


class BadResponseError(BackendError):
    """The reply is empty, not JSON, or not of the required shape. ``output`` is what the model wrote."""

    def __init__(self, message: str, *, output: str = "", hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.output = output


class TruncatedReplyError(BadResponseError):
    default_hint = "Raise max_tokens for this role."


class RefusalError(BadResponseError):
    default_hint = "The model declined to answer; rephrase the question or use another backend."


# --- measuring tools and the rest ------------------------------------------------------------------------


class ToolError(AgenticIQAError):
    """A measuring tool failed or cannot run here."""


class ToolUnavailableError(ToolError):
    """The tool is unknown, or its extra or weights are missing."""


class AssessmentFailedError(AgenticIQAError):
    """An answer was asked of a run that has none."""


class HomeFullError(AgenticIQAError):
    """There is no room left for what is kept in the home."""

    default_hint = "Free some space there, or set AGENTICIQA_HOME to a folder on another disk."


class RunNotFoundError(AgenticIQAError):
    default_hint = "`agenticiqa runs list` shows the recorded runs."


# --- batches ---------------------------------------------------------------------------------------------


class ManifestError(AgenticIQAError):
    """A list of samples cannot be read, or some of its rows make no sense."""

    default_hint = "`agenticiqa batch INPUT --dry-run` lists every problem."


class OutputError(AgenticIQAError):
    """A file cannot be written, belongs to something else, or is in use."""


class WorkerDiedError(AgenticIQAError):
    """The process that worked on a sample ended by itself."""

    default_hint = "Too little memory is the usual cause: use fewer --workers or smaller pictures."


class SampleTimeoutError(AgenticIQAError):
    """A sample took longer than it was allowed to."""

    default_hint = "Raise --timeout."


class MissingExtraError(AgenticIQAError):
    """An optional part of this package is not installed."""
