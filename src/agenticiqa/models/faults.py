"""From what a provider's SDK raises to this package's errors. Key material never enters a message."""

import errno
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

from agenticiqa import errors

MAX_DETAIL = 500


def scrubbed(text: str, secret: str | None) -> str:
    """A provider's words without the key, on one line and of bounded length."""
    if secret:
        text = text.replace(secret, "***")
    text = " ".join(text.split())
    return text if len(text) <= MAX_DETAIL else f"{text[:MAX_DETAIL]}…"


def error_for_status(
    provider: str, status: int, detail: str, *, retry_after: float | None = None, secret: str | None = None
) -> errors.BackendError:
    """The error for an HTTP status outside 2xx."""
    words = scrubbed(detail, secret) or "no reason given"
    if status in (401, 403):
        # Providers like to quote a part of the key in these messages, so none of their words are repeated.
        return errors.AuthenticationError(f"{provider} refused the API key (HTTP {status}).")
    if status == 429:
        return errors.RateLimitError(f"{provider} asks to slow down: {words}", retry_after=retry_after)
    if status == 408:
        return errors.BackendTimeoutError(f"{provider} gave up waiting (HTTP 408): {words}")
    if status >= 500:
        return errors.BackendServerError(f"{provider} failed (HTTP {status}): {words}")
    return errors.RequestRejectedError(f"{provider} rejected the request (HTTP {status}): {words}")


def connection_error(
    provider: str, error: BaseException, *, secret: str | None = None
) -> errors.BackendConnectionError:
    """A connection that failed or broke. One that is refused is not worth another try: the server is not there."""
    causes = list(_chain(error))
    words = scrubbed(str(causes[-1]) or type(causes[-1]).__name__, secret)
    mapped = errors.BackendConnectionError(f"The connection to {provider} failed: {words}.")
    mapped.retryable = not any(_is_unreachable(cause) for cause in causes)
    return mapped


def unreadable_reply(provider: str, error: Exception, *, secret: str | None) -> errors.BadResponseError:
    return errors.BadResponseError(f"The reply of {provider} cannot be read: {scrubbed(str(error), secret)}")


def timeout_or_unreachable(provider: str, error: BaseException, seconds: float) -> errors.BackendError:
    """No answer in time; or, where not even the connection came about, no such server."""
    if any(type(cause).__name__ == "ConnectTimeout" for cause in _chain(error)):
        unreachable = errors.BackendConnectionError(f"{provider} cannot be reached.")
        unreachable.retryable = False
        return unreachable
    return timeout_error(provider, seconds)


def timeout_error(provider: str, seconds: float) -> errors.BackendTimeoutError:
    return errors.BackendTimeoutError(f"{provider} did not answer within {seconds:.3g} s.")


def _is_unreachable(cause: BaseException) -> bool:
    if isinstance(cause, socket.gaierror):
        return cause.errno != socket.EAI_AGAIN
    return isinstance(cause, ConnectionRefusedError) or (
        isinstance(cause, OSError) and cause.errno in (errno.ECONNREFUSED, errno.EHOSTUNREACH)
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def retry_after_seconds(headers: Mapping[str, str] | None, now: datetime | None = None) -> float | None:
    """The provider's own figure: ``retry-after-ms``, or ``retry-after`` in seconds or as a date."""
    given = headers or {}
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        with suppress(ValueError):
            seconds = float(given.get(name, "")) / unit
            if 0 <= seconds < float("inf"):
                return seconds
    try:
        moment = parsedate_to_datetime(given.get("retry-after", ""))
    except (TypeError, ValueError):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    return max(0.0, (moment - (now or datetime.now(timezone.utc))).total_seconds())
